//! The timeline of runs: their lines, the phases and windows behind them, and the checkpoints.

use std::collections::BTreeMap;

use crate::charts::rows::Memory;
use crate::charts::timeline::{Coded, Phase, Quantities, Run, Server, Stretch, Timeline, Typical, Window};
use crate::document::page::Keys;
use analysis::summary::lines::{self, Line, Quantity};
use analysis::summary::{Bucket, PhaseSummary, PrivateMetric, Summary, together};
use base::text::clean;
use record::{IdleKind, Nanos};

/// A run with the name of its record.
pub type Named<'s> = (&'s str, &'s Summary);

/// The timeline of one run, which terminals have too.
pub fn from_run(summary: &Summary, record: &str) -> Option<Timeline> {
    let servers = [(summary.header.server.label.as_str(), vec![(record, summary)])];
    let bucket = |bucket: &Option<Bucket>| bucket.map(|one| (one.private.high(), one.resident.high()));
    let phases = summary.phases.iter();
    let only = Memory {
        width: summary.timeline.width,
        buckets: summary.timeline.buckets.iter().map(bucket).collect(),
        until: summary.duration,
        phases: phases.map(|phase| (phase.started, phase.phase.name.clone())).collect(),
        resident: match summary.most_processes > 1 {
            true => "resident (a lower bound)",
            false => "resident",
        },
    };
    from_servers(&servers, Keys::ALIKE).map(|timeline| Timeline {
        only: Some(only),
        ..timeline
    })
}

/// All runs on one grid of time. `None` where nothing was sampled.
pub fn from_servers(servers: &[(&str, Vec<Named>)], keys: Keys) -> Option<Timeline> {
    let all = || {
        servers
            .iter()
            .flat_map(|(_, runs)| runs.iter().map(|(_, summary)| *summary))
    };
    let width = lines::grid(all())?;
    let servers = servers.iter().enumerate();
    let servers = servers.filter_map(|(place, (label, runs))| server(label, place, keys.is_rest(place), runs, width));
    let servers: Vec<Server> = servers.collect();
    (!servers.is_empty()).then(|| Timeline {
        width: seconds(width),
        exact: all().any(|run| run.private_metric == PrivateMetric::Exact),
        servers,
        only: None,
    })
}

fn server(label: &str, place: usize, rest: bool, runs: &[Named], width: Nanos) -> Option<Server> {
    let (name, typical) = together::typical(runs, |(_, summary)| summary)?;
    let of = |quantity: Quantity| -> Vec<Line> {
        let lines = runs.iter().map(|(_, summary)| lines::line(summary, quantity, width));
        lines.collect()
    };
    let mut drawn: Vec<Run> = runs
        .iter()
        .map(|(name, summary)| Run {
            name: clean(name),
            bounds: together::bounds(summary)
                .into_iter()
                .skip(1)
                .map(|at| seconds(at as Nanos))
                .collect(),
            lines: Quantities::new(),
        })
        .collect();
    for quantity in Quantity::ALL {
        let lines = of(quantity);
        if lines.iter().flatten().all(Option::is_none) {
            continue;
        }
        let (key, unit) = key(quantity);
        for (run, line) in drawn.iter_mut().zip(&lines) {
            run.lines.insert(key, coded(line, unit));
        }
    }
    Some(Server {
        label: clean(label),
        place,
        rest,
        runs: drawn,
        typical: self::typical(name, typical, runs, width),
    })
}

/// The name of a quantity for the script, and what one of its values stands for.
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

fn coded(line: &Line, unit: u64) -> Coded {
    let mut before = 0;
    let whole = |value: u64| (value / unit).cast_signed();
    let (mut first, mut then) = (Vec::with_capacity(line.len()), Vec::with_capacity(line.len()));
    for span in line {
        first.push(span.map(|span| {
            let more = whole(span.first) - before;
            before += more;
            more
        }));
        then.push(span.map_or(0, |span| whole(span.then) - whole(span.first)));
    }
    if then.iter().all(|more| *more == 0) {
        then.clear();
    }
    Coded { first, then }
}

fn typical(run: &str, summary: &Summary, runs: &[Named], width: Nanos) -> Typical {
    let all: Vec<&Summary> = runs.iter().map(|(_, summary)| *summary).collect();
    let repeats = summary.phases.iter().any(|phase| phase.phase.cycle > 0);
    let mut requests: BTreeMap<u64, u64> = BTreeMap::new();
    for (place, slot) in (0..).zip(&summary.curves.slots) {
        if slot.requests > 0 {
            *requests.entry(place * summary.curves.width / width).or_default() += slot.requests;
        }
    }
    let windows = summary.curves.windows.iter().map(|window| Window {
        from: seconds(window.from),
        to: seconds(window.to),
        kind: match window.kind {
            IdleKind::Silent => "silent",
            IdleKind::Simmer => "simmer",
        },
    });
    let stretches = together::stretches(summary).into_iter().map(|one| Stretch {
        name: clean(&one.name),
        from: seconds(one.from),
        to: seconds(one.to),
    });
    Typical {
        run: clean(run),
        phases: summary.phases.iter().map(|one| phase(one, &all, repeats)).collect(),
        stretches: stretches.collect(),
        windows: windows.collect(),
        requests: requests
            .into_iter()
            .filter_map(|(place, count)| Some((usize::try_from(place).ok()?, count)))
            .collect(),
    }
}

fn phase(phase: &PhaseSummary, runs: &[&Summary], repeats: bool) -> Phase {
    let middle = together::phase(runs, &phase.phase);
    let taken = phase.checkpoint.as_ref();
    let round = match repeats {
        true => format!(" #{}", u64::from(phase.phase.cycle) + 1),
        false => String::new(),
    };
    let kib = |value: u64| value / 1024;
    Phase {
        name: clean(&format!("{}{round}", phase.phase.name)),
        from: seconds(phase.started),
        to: seconds(phase.ended),
        checkpoint: taken.map(|taken| seconds(taken.at)),
        settled: middle.settled,
        private: middle.private.map(kib),
        resident: middle.resident.map(kib),
        peak: middle.peak.map(kib),
    }
}

fn seconds(time: Nanos) -> f64 {
    // To a millisecond, which is less than the distance of two samples.
    (time / 1_000_000) as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::summary::Span;

    #[test]
    fn differences_go_over_what_is_not_known() {
        let at = |first: u64, then: u64| {
            Some(Span {
                first: first << 10,
                then: then << 10,
            })
        };
        let line = vec![at(10, 10), at(14, 20), None, at(12, 5)];
        let coded = coded(&line, 1 << 10);
        assert_eq!(coded.first, [Some(10), Some(4), None, Some(-2)]);
        assert_eq!(coded.then, [0, 6, 0, -7]);
        assert!(self::coded(&vec![at(1, 1)], 1).then.is_empty());
    }
}
