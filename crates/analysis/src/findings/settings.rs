//! Findings about requested allocator settings and preloads that were not in force.

use crate::summary::{Partly, Summary};
use base::units;
use record::KnobFacts;

use super::{Doubt, Finding, Severity, finding};

/// Settings that were not seen in force before the run, or in the process with the memory.
pub(super) fn unconfirmed(summary: &Summary, list: &mut Vec<Finding>) {
    for knob in &summary.header.server.knobs {
        if knob.taken != Some(true) {
            list.push(finding(Severity::Warning, setting(knob)));
        }
    }
}

/// Processes without the preloaded libraries. The process with most memory is in its setting's finding instead.
pub(super) fn helpers(summary: &Summary) -> Vec<Doubt> {
    let mut doubts: Vec<Doubt> = Vec::new();
    for unloaded in &summary.processes.unloaded {
        let has_setting_finding = summary
            .allocator
            .unset
            .iter()
            .any(|unset| unset.library && unset.program == unloaded.program);
        if has_setting_finding {
            continue;
        }
        let text = format!(
            "`{}` was started without {}: it uses its own allocator",
            unloaded.program,
            unloaded.libraries.join(" and ")
        );
        let doubt = Doubt::new(text.clone(), text);
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    doubts
}

pub(super) fn partly_served(summary: &Summary) -> Option<Doubt> {
    let Partly { program, held, private } = summary.allocator.partly.as_ref()?;
    let (held, private) = (units::mib(*held), units::mib(*private));
    Some(Doubt::new(
        "served partly",
        format!(
            "the preloaded allocator served at most {held} of the {private} MiB of `{program}`, by its own \
                 statistics"
        ),
    ))
}

/// A setting with the value in force: `GOGC=50 was set; whether it is in force is not known, only its syntax was
/// checked`.
pub fn setting(knob: &KnobFacts) -> String {
    let written = knob.assignment();
    let seen = knob.seen.as_deref();
    let effective = knob.effective.as_deref().unwrap_or(units::UNKNOWN);
    match (knob.taken, seen) {
        (Some(true), Some(seen)) => format!("{written}, seen in {seen}"),
        (Some(true), None) => format!("{written}, seen"),
        (Some(false), Some(seen)) if knob.effective.is_none() => {
            format!("{written} was set, but is not in {seen}")
        }
        (Some(false), seen) => format!(
            "{written} was set, but {effective} is in force according to {}",
            seen.unwrap_or("what was seen")
        ),
        (None, Some(seen)) => format!(
            "{written} was set; whether it is in force is not known, only {seen} was \
                                       checked"
        ),
        (None, None) => format!("{written} was set; whether it is in force is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use crate::summary::Unloaded;
    use crate::summary::Unset;
    use record::golden::Session;
    use record::golden::knob;
    use record::{Ending, ShutdownStage};

    fn all(summary: &Summary) -> Vec<String> {
        let mut list = Vec::new();
        unconfirmed(summary, &mut list);
        let doubts = super::super::doubts(summary).into_iter().map(|doubt| doubt.text);
        list.into_iter().map(|finding| finding.text).chain(doubts).collect()
    }

    fn warnings(knob: KnobFacts, stderr: &str) -> Vec<String> {
        let mut session = Session::new("server");
        session.shut_down(ShutdownStage::Exit, Vec::new(), Ending::Completed, stderr);
        let mut summary = summarised(&session);
        summary.header.server.knobs = vec![knob];
        all(&summary)
    }

    fn unloaded(program: &str) -> Unloaded {
        Unloaded {
            program: program.to_owned(),
            libraries: vec!["/lib/je.so".to_owned()],
        }
    }

    #[test]
    fn whoever_was_started_without_what_was_preloaded_is_told_once() {
        let mut summary = summarised(&Session::new("server"));
        summary.processes.unloaded = vec![unloaded("server"), unloaded("helper"), unloaded("helper")];
        let helper = "`helper` was started without /lib/je.so: it uses its own allocator";
        assert_eq!(all(&summary), [helper.replace("helper", "server").as_str(), helper]);
        // The finding about its setting already covers it.
        summary.allocator.unset = vec![Unset {
            variable: "LD_PRELOAD".to_owned(),
            value: None,
            library: true,
            program: "server".to_owned(),
            private: 2,
            tree: 3,
            held: None,
        }];
        assert_eq!(all(&summary), [helper]);
    }

    #[test]
    fn a_setting_that_was_not_seen_is_told() {
        let mut other = knob(Some(false));
        other.effective = Some("10000".to_owned());
        let words = "_RJEM_MALLOC_CONF=dirty_decay_ms:0 was set, but 10000 is in force according to its statistics";
        assert_eq!(warnings(other, ""), [words]);
        let unseen = KnobFacts {
            variable: "TCMALLOC_RELEASE_RATE".to_owned(),
            requested: "5".to_owned(),
            ..KnobFacts::default()
        };
        assert_eq!(
            warnings(unseen, ""),
            ["TCMALLOC_RELEASE_RATE=5 was set; whether it is in force is not known"]
        );
    }
}
