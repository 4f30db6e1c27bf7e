//! What tells a setting of a sweep from the server as it is, so that a report can print it again as a line to ship.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cell of a sweep that a run belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CellFacts {
    /// How many cells the sweep has, the default among them.
    pub of: u32,
    /// Whether this is the default: the server with nothing changed.
    pub default: bool,
    /// Environment variables that it sets, each with its whole value.
    pub env: BTreeMap<String, String>,
    /// Environment variables that the server is given whatever the cell sets, what is preloaded into it among them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<String, String>,
    /// Arguments that it adds.
    pub args: Vec<String>,
    /// Settings that it puts over the server's, as JSON text.
    pub settings: Option<String>,
    /// Initialization options that it puts over the server's, as JSON text.
    pub init_options: Option<String>,
    /// Processors that it keeps the server to, such as `0-1`.
    pub cpus: Option<String>,
    /// The allocator that it preloads, as it was asked for.
    pub preload: Option<String>,
}
