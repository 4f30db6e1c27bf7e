//! Doubts about a run, which every comparison of the run repeats.

use crate::summary::Summary;

use super::{release, settings};

/// Something that the run should have had but did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Groups doubts whose sentences differ only in process ids and sizes.
    pub kind: String,
    pub text: String,
}

impl Doubt {
    pub(super) fn new(kind: impl Into<String>, text: String) -> Doubt {
        let kind = kind.into();
        Doubt { kind, text }
    }
}

/// All doubts of a run, except allocator settings that were not in force.
pub fn doubts(summary: &Summary) -> Vec<Doubt> {
    let mut doubts = settings::helpers(summary);
    doubts.extend(settings::partly_served(summary));
    doubts.extend(release::library_not_loaded(summary));
    doubts.extend(release::not_purged(summary));
    doubts.extend(unprinted(summary));
    doubts
}

/// A command was to print figures, and printed none.
fn unprinted(summary: &Summary) -> Option<Doubt> {
    let printed = summary.lifecycle.command.as_ref()?.printed.as_ref()?;
    if !printed.is_empty() {
        return None;
    }
    let text = "it printed no figures: --figures json reads the last line that is a JSON object with numbers";
    Some(Doubt::new("figures", text.to_owned()))
}
