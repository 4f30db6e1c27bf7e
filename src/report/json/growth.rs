//! How memory grows with what a scenario repeats.

use schemars::JsonSchema;
use serde::Serialize;

/// Something that the scenario repeats, with a checkpoint for each round.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Growth {
    /// The phase, or `whole rounds` of the scenario.
    pub name: String,
    /// Place in the scenario of the phase whose checkpoints count, from 0.
    pub phase: u32,
    /// Private memory at the end of each round, in the metric of the run.
    pub rounds: Vec<Option<u64>>,
    /// Requests in a round, on average; `null` if that is not known or there are none.
    pub requests: Option<f64>,
    /// Notifications in a round without requests; `null` if that is not known or there are none.
    pub notifications: Option<f64>,
    /// The slope; `null` of fewer than 8 rounds, or where a value is not known.
    pub slope: Option<Slope>,
}

/// A slope by Theil and Sen over the rounds after the first two, in bytes per round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Slope {
    /// The median of the slopes between all pairs of rounds.
    pub per_round: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// The chance that such an interval has the true slope in it.
    pub coverage: f64,
    /// The slope per request, or per notification where there are no requests.
    pub per_message: Option<f64>,
    /// Growth over the last half of the rounds that count, in bytes.
    pub late: f64,
    /// How it grows.
    pub shape: Shape,
    /// Whether it grows, by this run alone: that goes on in the last half of at least 20 rounds, neither slowing down nor falling again.
    pub grows: Grows,
}

/// How memory grows over rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Not, or by less than matters.
    Flat,
    /// Once.
    Step,
    /// Slower and slower.
    Decelerating,
    /// Evenly.
    Linear,
    /// Faster and faster.
    Runaway,
}

/// What one run says of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grows {
    /// It is shown to grow.
    Yes,
    /// 64 KiB per round are ruled out for the last half.
    No,
    /// Neither is shown.
    Unclear,
}
