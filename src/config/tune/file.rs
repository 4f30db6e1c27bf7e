//! The grid file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use record::Preload;

/// A grid: every setting of a server that a sweep tries. Every axis is crossed with every other; the server with nothing
/// changed is always tried beside them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GridFile {
    /// Version of the format: 1.
    #[serde(default)]
    #[cfg_attr(test, schemars(required))]
    pub format: u32,
    /// The axes to cross.
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
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AxisEntry {
    /// The axis's name.
    #[cfg_attr(test, schemars(required))]
    pub name: String,
    /// The axis's values.
    #[cfg_attr(test, schemars(required))]
    pub values: Vec<ValueEntry>,
}

/// A change to the server. A cell with only a label changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ValueEntry {
    /// Its name in reports and files; by default made from its settings.
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
    /// The server's processors, such as `0-3,6` (Linux).
    pub cpus: Option<String>,
}
