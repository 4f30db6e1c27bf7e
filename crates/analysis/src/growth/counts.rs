//! Counts of processes, zombies, threads and open descriptors from round to round of what repeats.

use serde::Serialize;

use crate::summary::{CheckpointSummary, PhaseSummary, Summary};
use stats::{CountGrowth, count_growth};

use super::last_growth::is_complete;
use super::rounds;

/// What a server holds beside memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    Zombies,
    Processes,
    Threads,
    Descriptors,
}

impl Counted {
    /// All of them, the strangest first.
    pub const ALL: [Counted; 4] = [
        Counted::Zombies,
        Counted::Processes,
        Counted::Threads,
        Counted::Descriptors,
    ];

    /// The count of the process tree at a checkpoint; `None` if unknown.
    pub fn count(self, taken: &CheckpointSummary) -> Option<u64> {
        match self {
            Counted::Zombies => taken.zombies,
            Counted::Processes => Some(taken.processes),
            Counted::Threads => taken.threads,
            Counted::Descriptors => taken.descriptors,
        }
    }
}

/// A count of a repeated part of a scenario, with one value per round.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatedCount {
    /// Name of the phase, or `whole rounds` for the scenario.
    pub name: String,
    pub counted: Counted,
    /// The count at the end of each round; `null` if unknown.
    #[serde(rename = "rounds")]
    pub values: Vec<Option<u64>>,
    /// `null` of fewer than 8 rounds, or where a value is not known.
    pub slope: Option<CountGrowth>,
}

impl RepeatedCount {
    pub fn grows(&self) -> bool {
        self.slope.is_some_and(|slope| slope.grows)
    }

    pub fn last(&self) -> Option<u64> {
        self.values.iter().rev().copied().flatten().next()
    }
}

/// Every count of every repeated part, in scenario order.
pub fn repeated_counts(summary: &Summary) -> Vec<RepeatedCount> {
    let mut all = Vec::new();
    for (name, rounds) in rounds(summary) {
        for counted in Counted::ALL {
            // A round that a failure cut short has no counts.
            let whole = rounds.iter().take_while(|round| is_complete(round));
            let ends = whole.filter_map(|round| round.last());
            let values: Vec<Option<u64>> = ends.map(|end| count_at_end(end, counted)).collect();
            let series: Vec<Option<f64>> = values.iter().map(|value| value.map(|value| value as f64)).collect();
            all.push(RepeatedCount {
                name: name.clone(),
                counted,
                values,
                slope: count_growth(&series),
            });
        }
    }
    all
}

fn count_at_end(end: &PhaseSummary, counted: Counted) -> Option<u64> {
    counted.count(end.checkpoint.as_ref()?)
}
