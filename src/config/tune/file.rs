//! A grid file as it is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::record::Preload;

/// A grid: every setting of a server that a sweep tries. Every axis is crossed with every other; the server with nothing
/// changed is always tried beside them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GridFile {
    /// Version of the format: 1.
    #[serde(default)]
    #[schemars(required)]
    pub format: u32,
    /// What is crossed.
    #[serde(default)]
    pub axis: Vec<AxisEntry>,
    /// Cells besides those that the axes make.
    #[serde(default)]
    pub cell: Vec<ValueEntry>,
    /// Combinations that are left out: of each axis that is named, the label of the value.
    #[serde(default)]
    pub exclude: Vec<BTreeMap<String, String>>,
}

/// One thing that is varied.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AxisEntry {
    /// What it is called.
    #[schemars(required)]
    pub name: String,
    /// What it may be.
    #[schemars(required)]
    pub values: Vec<ValueEntry>,
}

/// What is changed about the server. One that only has a label changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ValueEntry {
    /// Names it in reports and files; made from what it sets when not given.
    pub label: Option<String>,
    /// The allocator that is preloaded; `system` for the one that the server has.
    pub preload: Option<Preload>,
    /// Environment variables. `_RJEM_MALLOC_CONF`, `MALLOC_CONF`, `GLIBC_TUNABLES`, `GODEBUG` and `NODE_OPTIONS` hold
    /// lists, to which several axes may add.
    pub env: BTreeMap<String, String>,
    /// Arguments after the profile's.
    pub args: Vec<String>,
    /// Settings, over those that the server is given anyway.
    pub settings: Option<Value>,
    /// Initialization options, over those that the server is given anyway.
    pub init_options: Option<Value>,
    /// Processors that the server is kept to, such as `0-3,6` (Linux).
    pub cpus: Option<String>,
}
