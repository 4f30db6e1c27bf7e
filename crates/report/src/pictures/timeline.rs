//! The timeline of runs: their lines, the phases and windows behind them, and the checkpoints.

use crate::charts::rows::Memory;
use crate::charts::timeline::{Coded, Phase, Quantities, Run, Server, Stretch, Timeline, Typical, Window};
use crate::document::page::Keys;
use analysis::summary::{self, PhaseSummary, PrivateMetric, Quantity, Summary, common_time};
use base::curve::Columns;
use base::text::clean;
use record::{IdleKind, Nanos};

/// A run with the name of its record.
pub type Named<'s> = (&'s str, &'s Summary);

/// The timeline of one run, with the rows that terminals draw too.
pub fn from_run(summary: &Summary, record: &str) -> Option<Timeline> {
    let servers = [(summary.header.server.label.as_str(), vec![(record, summary)])];
    let phases = summary.phases.iter();
    let only = Memory {
        private: summary.memory.curves.private.clone(),
        resident: summary.memory.curves.resident.clone(),
        until: summary.duration,
        phases: phases.map(|phase| (phase.started, phase.phase.name.clone())).collect(),
        resident_name: if summary.processes.most_at_once > 1 {
            "resident (a lower bound)"
        } else {
            "resident"
        },
    };
    let mut timeline = from_servers(&servers, Keys::ALIKE)?;
    timeline.only = Some(only);
    Some(timeline)
}

/// The timeline of all runs on one grid of time; `None` if nothing was sampled.
pub fn from_servers(servers: &[(&str, Vec<Named>)], keys: Keys) -> Option<Timeline> {
    let all: Vec<&Summary> = servers
        .iter()
        .flat_map(|(_, runs)| runs.iter().map(|(_, summary)| *summary))
        .collect();
    let width = summary::grid(all.iter().copied())?;
    let mut drawn = Vec::new();
    for (place, (label, runs)) in servers.iter().enumerate() {
        drawn.extend(server(label, place, keys.is_rest(place), runs, width));
    }
    if drawn.is_empty() {
        return None;
    }
    Some(Timeline {
        width: seconds(width),
        exact: all.iter().any(|run| run.memory.private_metric == PrivateMetric::Exact),
        servers: drawn,
        only: None,
    })
}

fn server(label: &str, place: usize, rest: bool, runs: &[Named], width: Nanos) -> Option<Server> {
    let (name, typical) = common_time::typical(runs, |(_, summary)| summary)?;
    let mut drawn = Vec::new();
    for (name, summary) in runs {
        let bounds = common_time::bounds(summary).into_iter().skip(1);
        drawn.push(Run {
            name: clean(name),
            bounds: bounds.map(|at| seconds(at as Nanos)).collect(),
            lines: Quantities::new(),
        });
    }
    for quantity in Quantity::ALL {
        let lines: Vec<Columns> = runs
            .iter()
            .map(|(_, run)| summary::columns(run, quantity, width))
            .collect();
        if lines.iter().flatten().all(Option::is_none) {
            continue;
        }
        let (key, unit) = key(quantity);
        for (run, line) in drawn.iter_mut().zip(&lines) {
            run.lines.insert(key, delta_coded(line, unit));
        }
    }
    Some(Server {
        label: clean(label),
        place,
        rest,
        runs: drawn,
        typical: describe_typical(name, typical, runs, width),
    })
}

/// The name of a quantity in the script, and the unit of its values.
fn key(quantity: Quantity) -> (&'static str, u64) {
    match quantity {
        Quantity::Private => ("private", 1 << 10),
        Quantity::Resident => ("resident", 1 << 10),
        Quantity::Proportional => ("proportional", 1 << 10),
        Quantity::HugePages => ("huge", 1 << 10),
        Quantity::Cpu => ("cpu", 1),
        Quantity::Faults => ("faults", 1),
    }
}

fn delta_coded(line: &Columns, unit: u64) -> Coded {
    let mut before = 0;
    let (mut first, mut then) = (Vec::with_capacity(line.len()), Vec::with_capacity(line.len()));
    for span in line {
        let Some(span) = span else {
            first.push(None);
            then.push(0);
            continue;
        };
        let (span_first, span_then) = (in_units(span.first, unit), in_units(span.then, unit));
        first.push(Some(span_first - before));
        then.push(span_then - span_first);
        before = span_first;
    }
    if then.iter().all(|more| *more == 0) {
        then.clear();
    }
    Coded { first, then }
}

fn in_units(value: u64, unit: u64) -> i64 {
    (value / unit).cast_signed()
}

fn describe_typical(run: &str, summary: &Summary, runs: &[Named], width: Nanos) -> Typical {
    let all: Vec<&Summary> = runs.iter().map(|(_, summary)| *summary).collect();
    let repeats = summary.phases.iter().any(|phase| phase.phase.cycle > 0);
    let windows = summary.memory.curves.windows.iter().map(|window| Window {
        from: seconds(window.from),
        to: seconds(window.to),
        kind: match window.kind {
            IdleKind::Silent => "silent",
            IdleKind::Simmer => "simmer",
        },
    });
    let stretches = common_time::stretches(summary).into_iter().map(|stretch| Stretch {
        name: clean(&stretch.name),
        from: seconds(stretch.from),
        to: seconds(stretch.to),
    });
    let phases = summary.phases.iter().map(|round| draw_phase(round, &all, repeats));
    Typical {
        run: clean(run),
        phases: phases.collect(),
        stretches: stretches.collect(),
        windows: windows.collect(),
        requests: summary::requests(summary, width),
    }
}

fn draw_phase(phase: &PhaseSummary, runs: &[&Summary], repeats: bool) -> Phase {
    let middle = common_time::phase(runs, &phase.phase);
    let taken = phase.checkpoint.as_ref();
    let round = if repeats {
        format!(" #{}", u64::from(phase.phase.cycle) + 1)
    } else {
        String::new()
    };
    Phase {
        name: clean(&format!("{}{round}", phase.phase.name)),
        from: seconds(phase.started),
        to: seconds(phase.ended),
        checkpoint: taken.map(|taken| seconds(taken.at)),
        settled: middle.settled,
        private: middle.private.map(|bytes| bytes / 1024),
        resident: middle.resident.map(|bytes| bytes / 1024),
        peak: middle.peak.map(|bytes| bytes / 1024),
    }
}

fn seconds(time: Nanos) -> f64 {
    // To a millisecond, which is less than the distance of two samples.
    (time / 1_000_000) as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::curve::Span;

    fn span(first: u64, then: u64) -> Option<Span> {
        Some(Span {
            first: first << 10,
            then: then << 10,
        })
    }

    #[test]
    fn differences_go_over_what_is_not_known() {
        let line = vec![span(10, 10), span(14, 20), None, span(12, 5)];
        let coded = delta_coded(&line, 1 << 10);
        assert_eq!(coded.first, [Some(10), Some(4), None, Some(-2)]);
        assert_eq!(coded.then, [0, 6, 0, -7]);
        assert!(delta_coded(&vec![span(1, 1)], 1).then.is_empty());
    }
}
