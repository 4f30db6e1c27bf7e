//! What came back, by itself and by force, and what servers account for, as JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::analyse::compare;
use crate::analyse::stats::MedianInterval;
use crate::record::WindowEnd;
use crate::report::json::decay::{WindowKind, kind};

use super::Cell;
use super::from::cell;

/// One window of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Decay {
    /// Its phase.
    pub phase: String,
    /// What gave the servers the occasion.
    pub kind: WindowKind,
    /// Whether it is the control of light traffic.
    pub control: bool,
    /// One for each server, in their order.
    pub servers: Vec<Decayed>,
}

/// One window of one server, over its runs; all of private memory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Decayed {
    /// How many runs ended how.
    pub ends: BTreeMap<String, u64>,
    /// When it began, in bytes.
    pub before: Cell,
    /// The lowest, in bytes.
    pub floor: Cell,
    /// After 1 s, in bytes; here and below `null` in runs in which it was over by then.
    pub after_1s: Cell,
    /// After 5 s.
    pub after_5s: Cell,
    /// After 10 s.
    pub after_10s: Cell,
    /// After 30 s.
    pub after_30s: Cell,
    /// Until half of what fell had come back, in nanoseconds.
    pub t50: Cell,
    /// Until nine tenths of what fell had come back, in nanoseconds.
    pub t90: Cell,
    /// Until it had settled, in nanoseconds.
    pub settle_time: Cell,
    /// What was above the floor times how long, in byte seconds.
    pub held_above_floor: Cell,
    /// Half-life, of the runs whose curve has one with R² over 0.98, in nanoseconds.
    pub half_life: Cell,
    /// Returned by then of all that the run had taken: a part of one.
    pub returned: Cell,
    /// Of the private memory at its end what was freed with `MADV_FREE` and not taken yet, in bytes; `null` with traffic,
    /// and where exact counters were not read.
    pub lazily_freed: Cell,
    /// Returned in the window, of the same; less than nothing where more was taken.
    pub share: Cell,
}

/// The cost of light traffic over the runs, in bytes a minute.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrafficCost {
    /// The median.
    pub per_minute: f64,
    /// The lower end of its interval; of few runs the lowest.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Runs with a control window.
    pub runs: u64,
}

/// A middle over the runs of a server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Middle {
    /// The median.
    pub median: f64,
    /// The lower end of its interval; of few runs the lowest.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many runs it stands on.
    pub runs: u64,
}

/// A forced release, over the runs. Bytes of private memory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Forced {
    /// Its phase; of one that repeats the last round.
    pub phase: String,
    /// Place of its step in the phase, from 0; `null` of one before the phase's checkpoint.
    pub step: Option<u32>,
    /// What was used; empty where nothing was done.
    pub by: Vec<String>,
    /// Why something was not used or could do nothing.
    pub missing: Vec<String>,
    /// Before it.
    pub before: Option<Middle>,
    /// After it.
    pub after: Option<Middle>,
    /// What came back; less than nothing where more was taken.
    pub gave: Option<Middle>,
}

/// What a server accounts for by its own words, over the runs. Bytes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Accounted {
    /// In which phase; of one that repeats the last round.
    pub phase: String,
    /// Place of its step in the phase, from 0.
    pub step: u32,
    /// What it was asked; `null` where nothing is known to ask.
    pub asked: Option<String>,
    /// Why there is no answer.
    pub missing: Vec<String>,
    /// What it accounts for; `null` where no answer has a total.
    pub accounted: Option<Middle>,
    /// What it had.
    pub of: Option<Middle>,
    /// Whether that is resident memory, and not private.
    pub resident: bool,
    /// The share: a part of one.
    pub ratio: Option<Middle>,
}

pub(super) fn decay(decay: &compare::Decay, sides: &[compare::Side]) -> Decay {
    let servers = sides.iter().zip(&decay.sides).map(|(side, one)| Decayed {
        ends: one
            .ends
            .iter()
            .map(|(end, count)| (word(*end).to_owned(), *count))
            .collect(),
        before: cell(side, &one.before),
        floor: cell(side, &one.floor),
        after_1s: cell(side, &one.at[0]),
        after_5s: cell(side, &one.at[1]),
        after_10s: cell(side, &one.at[2]),
        after_30s: cell(side, &one.at[3]),
        t50: cell(side, &one.t50),
        t90: cell(side, &one.t90),
        settle_time: cell(side, &one.settle_time),
        held_above_floor: cell(side, &one.held),
        half_life: cell(side, &one.half_life),
        returned: cell(side, &one.returned),
        lazily_freed: cell(side, &one.lazily_freed),
        share: cell(side, &one.share),
    });
    Decay {
        phase: decay.phase.clone(),
        kind: kind(decay.kind),
        control: decay.control,
        servers: servers.collect(),
    }
}

/// As in the summary of a run.
fn word(end: WindowEnd) -> &'static str {
    match end {
        WindowEnd::Settled => "settled",
        WindowEnd::Held => "held",
        WindowEnd::TimedOut => "timed-out",
        WindowEnd::TooShort => "too-short",
        WindowEnd::Ended => "ended",
    }
}

fn middle(median: MedianInterval) -> Middle {
    Middle {
        median: median.median,
        low: median.low,
        high: median.high,
        runs: median.n as u64,
    }
}

pub(super) fn cost(cost: MedianInterval) -> TrafficCost {
    TrafficCost {
        per_minute: cost.median,
        low: cost.low,
        high: cost.high,
        runs: cost.n as u64,
    }
}

pub(super) fn forced(forced: &compare::Forced) -> Forced {
    Forced {
        phase: forced.phase.clone(),
        step: forced.step,
        by: forced.by.clone(),
        missing: forced.missing.clone(),
        before: forced.before.map(middle),
        after: forced.after.map(middle),
        gave: forced.gave.map(middle),
    }
}

pub(super) fn accounted(accounted: &compare::Accounted) -> Accounted {
    Accounted {
        phase: accounted.phase.clone(),
        step: accounted.step,
        asked: accounted.asked.clone(),
        missing: accounted.missing.clone(),
        accounted: accounted.accounted.map(middle),
        of: accounted.of.map(middle),
        resident: accounted.resident,
        ratio: accounted.ratio.map(middle),
    }
}
