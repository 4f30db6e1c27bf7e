//! What tells a setting of a sweep from the server as it is, so that a report can print it again as a line to ship.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Nanos;

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
    /// The sweep that it is of; `None` in records of a time when that was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepFacts>,
}

/// A sweep as it was planned, so that its records alone say what was decided on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SweepFacts {
    /// SHA-256 over every cell with all that its server is given, in hexadecimal: runs of another grid have another.
    pub cells: String,
    /// After how many runs of each it was looked which are worth more.
    pub rungs: Vec<u32>,
    /// How much private memory there may be, in bytes.
    pub max_private: Option<u64>,
    /// How much time there was for it.
    pub time_budget: Option<Nanos>,
    /// What was not tried and why, a sentence each; with the default only.
    pub notes: Vec<String>,
}

/// Every value of an object with the path to it.
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
