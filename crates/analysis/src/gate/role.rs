//! The sides of a gate.

use serde::Serialize;

/// A part that a server plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Baseline,
    Candidate,
    Anchor,
}

impl Role {
    /// Its name, which is the label of a server that has none of its own.
    pub fn name(self) -> &'static str {
        match self {
            Role::Baseline => "baseline",
            Role::Candidate => "candidate",
            Role::Anchor => "anchor",
        }
    }
}
