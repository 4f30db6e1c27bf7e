//! The rules of a gate, checked before any run.

use serde::Serialize;

use base::band::{LeakLimit, Tolerance};
use base::lens::Lens;

use super::gated::GatedFigure;
use crate::growth::Per;

#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Lens of the rules that name none.
    pub lens: Lens,
    /// Rules that decide: at most three.
    pub primaries: Vec<Rule>,
    /// Rules that are reported but do not decide.
    pub advisory: Vec<Rule>,
    pub budgets: Vec<Limit>,
    /// Limit of the growth per round, if leaks are checked.
    pub leak: Option<Leak>,
    /// Tolerated differences in work.
    pub work: WorkLimits,
}

impl Rules {
    /// The lenses that the rules measure through.
    pub fn lenses(&self) -> Vec<Lens> {
        let rules = self
            .primaries
            .iter()
            .chain(&self.advisory)
            .map(|rule| rule.subject.lens);
        let limits = self.budgets.iter().map(|limit| limit.subject.lens);
        let leak = self.leak.as_ref().map(|_| None);
        let used: Vec<Lens> = rules
            .chain(limits)
            .chain(leak)
            .map(|lens| lens.unwrap_or(self.lens))
            .collect();
        Lens::ALL.into_iter().filter(|lens| used.contains(lens)).collect()
    }
}

/// A tolerated growth of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rule {
    #[serde(flatten)]
    pub subject: GatedFigure,
    #[serde(flatten)]
    pub tolerance: Tolerance,
}

/// An absolute limit of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    #[serde(flatten)]
    pub subject: GatedFigure,
    /// Bytes, nanoseconds or a number.
    pub limit: f64,
}

/// Tolerated growth from round to round.
#[derive(Clone, Debug, PartialEq)]
pub struct Leak {
    /// The phase to check; `null` checks everything that repeats.
    pub phase: Option<String>,
    pub limit: LeakLimit,
    /// What the limit is for.
    pub per: Per,
}

/// Tolerated differences in work between two sides, as shares of the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkLimits {
    pub requests: f64,
    /// Requests with a non-empty result, per step.
    pub hits: f64,
    /// Elements and bytes of a method's results, per answer.
    pub size: f64,
}

impl Default for WorkLimits {
    /// One more timeout or retry is no different work. Answers with a path or a time vary by some bytes.
    fn default() -> WorkLimits {
        WorkLimits {
            requests: 0.01,
            hits: 0.02,
            size: 0.05,
        }
    }
}
