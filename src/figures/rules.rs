//! What a gate holds a candidate to, checked before anything runs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::record::shown;

use crate::band::{LeakLimit, Tolerance};
use crate::lens::Lens;

use super::what::{Named, What};

#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// The lens that decides where a rule names none.
    pub lens: Lens,
    /// What decides: at most three.
    pub primaries: Vec<Rule>,
    /// What is judged and told, and decides nothing.
    pub advisory: Vec<Rule>,
    pub budgets: Vec<Limit>,
    /// What growth from round to round is tolerated, where that is looked at.
    pub leak: Option<Leak>,
    /// How far the work of the sides may be apart.
    pub work: WorkLimits,
}

/// How much more of something is tolerated.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rule {
    #[serde(flatten, serialize_with = "shown::<Named, _, _>")]
    #[schemars(with = "Named")]
    pub what: What,
    #[serde(flatten)]
    pub tolerance: Tolerance,
}

/// How much of something there may be.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Limit {
    #[serde(flatten, serialize_with = "shown::<Named, _, _>")]
    #[schemars(with = "Named")]
    pub what: What,
    /// In its unit: bytes, nanoseconds or a number.
    pub limit: f64,
}

/// What growth from round to round is tolerated.
#[derive(Clone, Debug, PartialEq)]
pub struct Leak {
    /// Of this phase alone; of everything that is repeated when `None`.
    pub phase: Option<String>,
    pub limit: LeakLimit,
}

/// How far two sides may be apart before their work counts as unequal, as a share of the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkLimits {
    pub requests: f64,
    /// Requests of a step whose result had something in it.
    pub hits: f64,
    /// Elements and bytes of the results of a method, per answer.
    pub size: f64,
}

impl Default for WorkLimits {
    /// A timeout or a retry more is no other work, and answers that carry a path or a time vary by bytes.
    fn default() -> WorkLimits {
        WorkLimits {
            requests: 0.01,
            hits: 0.02,
            size: 0.05,
        }
    }
}
