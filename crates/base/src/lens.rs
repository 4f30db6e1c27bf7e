//! The lens of a measurement: the allocator as shipped, or set to release at once.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Allocator settings of the server during a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Lens {
    /// The allocator releases at once, so memory is close to the live memory: did live memory grow?
    Purged,
    /// The server's own settings: memory as users see it, including what the allocator keeps.
    #[default]
    AsShipped,
}

impl Lens {
    /// In the order of reports.
    pub const ALL: [Lens; 2] = [Lens::Purged, Lens::AsShipped];

    pub fn name(self) -> &'static str {
        match self {
            Lens::AsShipped => "as-shipped",
            Lens::Purged => "purged",
        }
    }
}

impl fmt::Display for Lens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
