//! The options of steps that give memory back by force, or ask a server of its memory.

use serde::Deserialize;

use base::units::Span;

/// Gives memory back by force, by whatever is there for this server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Release {
    /// By what, in this order; when not given, by the server's own command where it has one, then by its allocator if the
    /// library for that is preloaded. Naming `allocator` preloads it.
    pub by: Option<Vec<PurgeMethod>>,
    /// Time limit of each; the scenario's deadline when not given.
    pub deadline: Option<Span>,
}

/// A means to give memory back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PurgeMethod {
    /// A command of the server that its profile knows.
    Server,
    /// Its allocator, through a preloaded library (Linux).
    Allocator,
}

impl Release {
    /// The methods to use, in order.
    pub fn purge_methods(&self) -> Vec<PurgeMethod> {
        self.by
            .clone()
            .unwrap_or_else(|| vec![PurgeMethod::Server, PurgeMethod::Allocator])
    }

    /// True if the library must be preloaded.
    pub fn preloads(&self) -> bool {
        self.by.as_ref().is_some_and(|by| by.contains(&PurgeMethod::Allocator))
    }
}

/// Asks the server what memory it accounts for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SelfReport {
    /// Asks even if that frees the counted memory: in the last step of the last phase only.
    pub destructive: bool,
    /// Time limit of the answer; the scenario's deadline when not given.
    pub deadline: Option<Span>,
}
