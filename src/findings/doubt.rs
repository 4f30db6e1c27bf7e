//! What keeps a run from being what it was to be, so that it is told wherever the run is compared.

use crate::summary::Summary;

use super::{release, settings};

/// That something which a run was to have was not seen in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Of what kind: runs of one server share it where their sentences differ in process ids and sizes only.
    pub kind: String,
    pub text: String,
}

impl Doubt {
    pub(super) fn new(kind: impl Into<String>, text: String) -> Doubt {
        let kind = kind.into();
        Doubt { kind, text }
    }
}

/// Everything that a comparison of this run has to repeat, but for settings that were not seen in force.
pub fn doubts(summary: &Summary) -> Vec<Doubt> {
    let mut doubts = settings::helpers(summary);
    doubts.extend(settings::partly(summary));
    doubts.extend(release::silent(summary));
    doubts.extend(release::unreached(summary));
    doubts
}
