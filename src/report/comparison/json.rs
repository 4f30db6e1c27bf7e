//! A comparison as JSON, for programs: versioned, with a schema in `docs/schemas/comparison-report.json`.
//!
//! Sizes are bytes and times nanoseconds, as in the summary of one run. What is not known is `null`, never 0. Most of it
//! is the comparison itself; here is what is put beside, such as the records that groups and outliers are of.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare;
use crate::compare::{Comparison, Inequality, Played, Side};
use crate::lens::Lens;
use crate::record::{Version, WindowEnd};
use crate::report::json;

use super::notes::{record, strained};

/// The version of this format. The minor one rises when something is added, the major one when a reader would
/// misread.
pub const FORMAT: Version = Version { major: 2, minor: 0 };

/// Servers compared, and every run that they are compared by. Sizes are bytes, times nanoseconds. What is not known is
/// `null`.
#[derive(Serialize, JsonSchema)]
struct Report<'c> {
    /// Version of this format.
    format: Version,
    /// Every scenario that was played, in the order of their names.
    scenarios: Vec<Scenario<'c>>,
    /// Every run that was read, also those that do not count.
    runs: Vec<Run<'c>>,
}

/// One record.
#[derive(Serialize, JsonSchema)]
struct Run<'c> {
    /// Its name.
    record: &'c str,
    /// What it says, as `lsp-soak report --format json` prints it.
    summary: json::Report,
}

/// One scenario.
#[derive(Serialize, JsonSchema)]
struct Scenario<'c> {
    /// Its name.
    name: &'c str,
    /// Every target that it was played on: ratios are taken within one, never across.
    targets: Vec<Target<'c>>,
}

/// The servers on one target.
#[derive(Serialize, JsonSchema)]
struct Target<'c> {
    #[serde(flatten)]
    target: &'c compare::Target,
    /// What memory was looked at through.
    lens: Lens,
    /// The servers, the baseline first.
    servers: Vec<Server<'c>>,
    /// Every figure that at least one run has, in the order of the scenario.
    rows: Vec<Row<'c>>,
    /// What came back while the servers were left alone, window by window.
    decay: Vec<Decay<'c>>,
    #[serde(flatten)]
    comparison: &'c Comparison,
    /// What about the machines makes figures less sure, a sentence each: a load, memory that was short, inexact counters.
    machine_doubts: Vec<String>,
}

/// One server.
#[derive(Serialize, JsonSchema)]
struct Server<'c> {
    #[serde(flatten)]
    side: &'c Side,
    /// Work that it did not do as the baseline did; of a server without `runs`, or beside such a baseline, nothing is known.
    work: Vec<Work<'c>>,
}

/// A piece of work that a server did not do as the baseline did.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Work<'c> {
    #[serde(flatten)]
    inequality: &'c Inequality,
    /// Whether it did less, so that less memory is no merit of it.
    less: bool,
}

impl<'c> From<&'c Inequality> for Work<'c> {
    fn from(inequality: &'c Inequality) -> Work<'c> {
        Work {
            inequality,
            less: inequality.is_less(),
        }
    }
}

/// One figure of all servers.
#[derive(Serialize, JsonSchema)]
struct Row<'c> {
    #[serde(flatten)]
    row: &'c compare::Row,
    /// One for each server, in their order.
    cells: Vec<Cell<'c>>,
}

/// One figure of one server.
#[derive(Serialize, JsonSchema)]
struct Cell<'c> {
    #[serde(flatten)]
    cell: &'c compare::Cell,
    /// The groups that the values fall into: one, unless they are apart; none of less than two values, and over several
    /// machines.
    groups: Vec<Group<'c>>,
    /// Values far from the others of their machine. They are counted too.
    outliers: Vec<Outlier<'c>>,
}

/// Values that lie together.
#[derive(Serialize, JsonSchema)]
struct Group<'c> {
    /// The smallest.
    low: f64,
    /// The largest.
    high: f64,
    /// Names of their records.
    runs: Vec<&'c str>,
}

/// A value far from the others.
#[derive(Serialize, JsonSchema)]
struct Outlier<'c> {
    /// Name of its record.
    run: &'c str,
    /// The value.
    value: f64,
    /// Its distance from the median in robust standard deviations of the logs, negative below.
    distance: f64,
}

/// One window of the scenario.
#[derive(Serialize, JsonSchema)]
struct Decay<'c> {
    #[serde(flatten)]
    decay: &'c compare::Decay,
    /// One for each server, in their order.
    servers: Vec<Decayed<'c>>,
}

/// One window of one server, over its runs; all of private memory.
#[derive(Serialize, JsonSchema)]
struct Decayed<'c> {
    /// How many runs ended how.
    ends: BTreeMap<&'static str, u64>,
    /// When it began, in bytes.
    before: Cell<'c>,
    /// The lowest, in bytes.
    floor: Cell<'c>,
    /// After 1 s, in bytes; here and below `null` in runs in which it was over by then.
    after_1s: Cell<'c>,
    /// After 5 s.
    after_5s: Cell<'c>,
    /// After 10 s.
    after_10s: Cell<'c>,
    /// After 30 s.
    after_30s: Cell<'c>,
    /// Until half of what fell had come back, in nanoseconds.
    t50: Cell<'c>,
    /// Until nine tenths of what fell had come back, in nanoseconds.
    t90: Cell<'c>,
    /// Until it had settled, in nanoseconds.
    settle_time: Cell<'c>,
    /// What was above the floor times how long, in byte seconds.
    held_above_floor: Cell<'c>,
    /// Half-life, of the runs whose curve has one with R² over 0.98, in nanoseconds.
    half_life: Cell<'c>,
    /// Returned by then of all that the run had taken: a part of one.
    returned: Cell<'c>,
    /// Of the private memory at its end what was freed with `MADV_FREE` and not taken yet, in bytes; `null` with traffic,
    /// and where exact counters were not read.
    lazily_freed: Cell<'c>,
    /// Returned in the window, of the same; less than nothing where more was taken.
    share: Cell<'c>,
}

/// The comparison of each scenario and the runs behind it, as indented JSON with a line end.
pub fn render(
    scenarios: &BTreeMap<String, Vec<compare::Target>>,
    runs: &[Played],
) -> Result<String, serde_json::Error> {
    let scenarios = scenarios.iter().map(|(name, targets)| Scenario {
        name,
        targets: targets.iter().map(target).collect(),
    });
    let runs = runs.iter().map(|run| Run {
        record: &run.record,
        summary: json::report(&run.summary),
    });
    json::lines(&Report {
        format: FORMAT,
        scenarios: scenarios.collect(),
        runs: runs.collect(),
    })
}

fn target(target: &compare::Target) -> Target<'_> {
    let comparison = &target.comparison;
    Target {
        target,
        lens: target.lens.name,
        servers: comparison.sides.iter().map(Server::from).collect(),
        rows: comparison
            .rows
            .iter()
            .map(|line| row(line, &comparison.sides))
            .collect(),
        decay: comparison
            .decays
            .iter()
            .map(|one| decay(one, &comparison.sides))
            .collect(),
        comparison,
        machine_doubts: comparison.strains.iter().map(strained).collect(),
    }
}

impl<'c> From<&'c Side> for Server<'c> {
    fn from(side: &'c Side) -> Server<'c> {
        Server {
            side,
            work: side.work.iter().map(Work::from).collect(),
        }
    }
}

fn row<'c>(row: &'c compare::Row, sides: &'c [Side]) -> Row<'c> {
    let cells = sides.iter().zip(&row.cells).map(|(side, shown)| cell(side, shown));
    Row {
        row,
        cells: cells.collect(),
    }
}

fn cell<'c>(side: &'c Side, cell: &'c compare::Cell) -> Cell<'c> {
    let name = |run: usize| record(side, cell, run);
    let groups = cell.clusters.iter().map(|group| Group {
        low: group.low,
        high: group.high,
        runs: group.runs.iter().map(|run| name(*run)).collect(),
    });
    let outliers = cell.outliers.iter().map(|outlier| Outlier {
        run: name(outlier.run),
        value: outlier.value,
        distance: outlier.distance,
    });
    Cell {
        cell,
        groups: groups.collect(),
        outliers: outliers.collect(),
    }
}

fn decay<'c>(decay: &'c compare::Decay, sides: &'c [Side]) -> Decay<'c> {
    let servers = sides.iter().zip(&decay.sides).map(|(side, one)| Decayed {
        ends: one.ends.iter().map(|(end, count)| (word(*end), *count)).collect(),
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
        decay,
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

pub fn schema() -> serde_json::Value {
    json::schema_of::<Report>()
}
