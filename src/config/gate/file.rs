//! The format of a gate file.

use serde::Deserialize;

use base::lens::Lens;
use base::units::Share;

/// A gate file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GateFile {
    /// Version of the format.
    pub format: u32,
    /// The rules that decide, and those that advise.
    #[serde(default)]
    pub endpoint: Vec<EndpointEntry>,
    /// Absolute limits, such as `peak <= 600 MiB`.
    #[serde(default)]
    pub budgets: Vec<String>,
    /// Tolerated growth from round to round.
    pub leak: Option<LeakEntry>,
    /// The tolerated difference of the work of the sides.
    #[serde(default)]
    pub work: WorkEntry,
}

/// The tolerated increase of one figure.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct EndpointEntry {
    /// Which figure.
    pub metric: Option<String>,
    /// In which phase.
    pub phase: Option<String>,
    /// Of which method.
    pub method: Option<String>,
    /// Through which lens.
    pub lens: Option<Lens>,
    /// The tolerated share.
    pub tol: Option<Share>,
    /// The share that must be ruled out.
    pub fail: Option<Share>,
    /// A difference that never matters, in the unit of the metric.
    pub floor: Option<String>,
    /// Reported, but deciding nothing.
    pub advisory: bool,
}

/// Tolerated growth.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LeakEntry {
    /// The phase whose rounds are judged; every repeated activity by default.
    pub phase: Option<String>,
    /// Growth per round that does not fail, with its unit: `64 KiB`. Any that is shown fails when left out.
    pub slope: Option<String>,
}

/// The tolerated difference of the work of the sides.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WorkEntry {
    /// Requests of a step.
    pub requests: Option<Share>,
    /// Requests with something in their result.
    pub hits: Option<Share>,
    /// Size of results.
    pub size: Option<Share>,
}
