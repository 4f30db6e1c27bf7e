//! The lens of a run in words.

use base::lens::Lens;
use record::LensFacts;

/// The way in which the allocator was purged, and how far that is verified; `None` as shipped, unless the scenario
/// collects garbage.
pub(crate) fn words(facts: &LensFacts) -> Option<String> {
    if facts.name == Lens::AsShipped {
        let command = facts.collected_by.as_ref()?;
        let set: Vec<String> = facts
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        return Some(format!(
            "as shipped with {}: garbage collected by `{command}` before each checkpoint",
            set.join(" ")
        ));
    }
    let allocator = facts.allocator.as_deref().unwrap_or("the allocator");
    if facts.forced {
        return Some(format!(
            "{} lens: {allocator} purged before each checkpoint",
            facts.name
        ));
    }
    if let Some(command) = &facts.collected_by {
        return Some(format!(
            "{} lens: garbage collected by `{command}` before each checkpoint",
            facts.name
        ));
    }
    let near = if facts.approximate { ", approximate" } else { "" };
    let taken = match facts.verified {
        Some(true) => "verified",
        Some(false) => "not taken over",
        None => "not verified",
    };
    Some(format!(
        "{} lens: {allocator} asked to purge{near}, {taken}",
        facts.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lens_says_how_far_it_can_be_relied_on() {
        let facts = LensFacts {
            name: Lens::Purged,
            allocator: Some("system".to_owned()),
            approximate: true,
            ..LensFacts::default()
        };
        let sentence = "purged lens: system asked to purge, approximate, not verified";
        assert_eq!(words(&facts).as_deref(), Some(sentence));
        let forced = LensFacts {
            approximate: false,
            forced: true,
            ..facts
        };
        let sentence = "purged lens: system purged before each checkpoint";
        assert_eq!(words(&forced).as_deref(), Some(sentence));
        let collected = LensFacts {
            name: Lens::Purged,
            collected_by: Some("gopls.mem_stats".to_owned()),
            ..LensFacts::default()
        };
        let sentence = "purged lens: garbage collected by `gopls.mem_stats` before each checkpoint";
        assert_eq!(words(&collected).as_deref(), Some(sentence));
        assert_eq!(words(&LensFacts::default()), None);
        let leak_hunt = LensFacts {
            env: [("GOMEMLIMIT".to_owned(), "1".to_owned())].into(),
            collected_by: Some("custom/runGC".to_owned()),
            ..LensFacts::default()
        };
        let sentence = "as shipped with GOMEMLIMIT=1: garbage collected by `custom/runGC` before each checkpoint";
        assert_eq!(words(&leak_hunt).as_deref(), Some(sentence));
    }
}
