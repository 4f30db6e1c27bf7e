//! What memory is looked at through: the allocator as the server ships it, or told to give back at once.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the allocator of a server is set while it is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lens {
    /// Told to give back at once, so that what stays is close to what is in use: did live memory grow?
    Purged,
    /// Left as it is: what people feel, with the noise of what the allocator keeps.
    #[default]
    AsShipped,
}

impl Lens {
    /// Both, the one that is read first before the other.
    pub const ALL: [Lens; 2] = [Lens::Purged, Lens::AsShipped];

    /// Its name on the command line, in gate files and in reports.
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
