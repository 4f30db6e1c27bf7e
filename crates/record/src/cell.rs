//! One setting of a sweep: what it changes about the server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Nanos;

/// The cell of a sweep that a run belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CellFacts {
    /// Number of cells in the sweep, including the default.
    pub of: u32,
    /// Whether this cell is the default: the unchanged server.
    pub default: bool,
    /// Environment variables that the cell sets, each with its whole value.
    pub env: BTreeMap<String, String>,
    /// Environment variables of the server that all cells share, including those for preloaded libraries.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<String, String>,
    /// Arguments that the cell adds.
    pub args: Vec<String>,
    /// Settings that the cell merges over the server's, as JSON text.
    pub settings: Option<String>,
    /// Initialization options that the cell merges over the server's, as JSON text.
    pub init_options: Option<String>,
    /// Processors that the cell restricts the server to, such as `0-1`.
    pub cpus: Option<String>,
    /// Allocator that the cell preloads, as requested.
    pub preload: Option<String>,
    /// The sweep; `None` in older records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepFacts>,
}

/// A sweep as planned: its records alone explain its decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SweepFacts {
    /// SHA-256 over every cell and its server, in hexadecimal: two different grids have different hashes.
    pub cells: String,
    /// Runs per cell at each interim analysis that eliminates cells.
    pub rungs: Vec<u32>,
    /// Limit of private memory, in bytes.
    pub max_private: Option<u64>,
    /// Printed figure of a command that settings are weighed by, a time in nanoseconds; `None` for the wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// Time budget of the sweep.
    pub time_budget: Option<Nanos>,
    /// What is to be known of the sweep, such as settings that were not tried, a sentence each; in the default cell only.
    pub notes: Vec<String>,
}

/// Calls `each` with the dotted path and value of every leaf.
pub fn leaves(value: &Value, path: &str, each: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                leaves(member, &path, each);
            }
        }
        value => each(path, value),
    }
}
