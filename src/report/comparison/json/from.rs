//! From the comparison to the types of the format.

use crate::analyse::compare::{self, Task};
use crate::analyse::stats;
use crate::report::json;

use super::super::notes::{record, strained};
use super::{
    Answer, Cell, Count, Difference, Figure, Group, Growth, Inequality, LeftOut, Median, Outlier, Place, Ratio, Row,
    Server, Target, Unit, Why, gave,
};

pub(super) fn target(target: &compare::Target) -> Target {
    let comparison = &target.comparison;
    Target {
        triple: target.triple.clone(),
        lens: target.lens.name,
        machines: target.machines.clone(),
        servers: comparison.sides.iter().map(server).collect(),
        rows: comparison
            .rows
            .iter()
            .map(|line| row(line, &comparison.sides))
            .collect(),
        decay: comparison
            .decays
            .iter()
            .map(|one| gave::decay(one, &comparison.sides))
            .collect(),
        differences: comparison.differences.iter().map(difference).collect(),
        machine_doubts: comparison.strains.iter().map(strained).collect(),
    }
}

pub(in crate::report) fn difference(difference: &compare::Difference) -> Difference {
    Difference {
        what: difference.what.to_string(),
        values: difference.values.clone(),
        decisive: difference.is_decisive(),
    }
}

fn server(side: &compare::Side) -> Server {
    let left_out = side.left.iter().map(|left| LeftOut {
        record: left.record.clone(),
        why: match left.why {
            compare::Why::WarmUp => Why::WarmUp,
            compare::Why::Traced => Why::Traced,
            compare::Why::Unfinished => Why::Unfinished,
            compare::Why::Failed => Why::Failed,
        },
    });
    Server {
        label: side.label.clone(),
        version: side.version.clone(),
        preload: side.preload.clone(),
        runs: side.runs.clone(),
        left_out: left_out.collect(),
        work: side.work.iter().map(inequality).collect(),
        unseen_settings: side.unseen.clone(),
        doubts: side.doubts.clone(),
        growth: side.growth.iter().map(growth).collect(),
        forced: side.forced.iter().map(gave::forced).collect(),
        forced_before_checkpoints: side.forced_before_checkpoints.iter().map(gave::forced).collect(),
        self_reports: side.accounted.iter().map(gave::accounted).collect(),
        traffic_cost: side.traffic.map(gave::cost),
        system_calls: side.traced.as_ref().map(json::calls::traced),
    }
}

fn growth(grown: &compare::Grown) -> Growth {
    let finite = |number: f64| Some(number).filter(|number| number.is_finite());
    let (slope, late) = (grown.verdict.slope, grown.verdict.late);
    Growth {
        name: grown.name.clone(),
        rounds: grown.rounds as u64,
        slope: slope.and_then(|(slope, ..)| finite(slope)),
        low: slope.and_then(|(_, low, _)| finite(low)),
        high: slope.and_then(|(.., high)| finite(high)),
        answer: answer(grown.verdict.answer),
        late: late.and_then(|(late, ..)| finite(late)),
        late_lower: late.and_then(|(_, lower, _)| finite(lower)),
        late_upper: late.and_then(|(.., upper)| finite(upper)),
        needed_rounds: grown.verdict.needed.map(|rounds| rounds as u64),
    }
}

pub(in crate::report) fn answer(answer: stats::Answer) -> Answer {
    match answer {
        stats::Answer::Pass => Answer::Pass,
        stats::Answer::Fail => Answer::Fail,
        stats::Answer::Inconclusive => Answer::Inconclusive,
    }
}

pub(in crate::report) fn inequality(work: &compare::Inequality) -> Inequality {
    let (phase, step, method) = match &work.task {
        Task::Step { phase, name, .. } => (Some(phase.clone()), Some(name.clone()), None),
        Task::Method(method) => (None, None, Some(method.clone())),
    };
    Inequality {
        phase,
        step,
        method,
        count: match work.count {
            compare::Count::Requests => Count::Requests,
            compare::Count::Hits => Count::Hits,
            compare::Count::Items => Count::Items,
            compare::Count::Bytes => Count::Bytes,
        },
        baseline: work.baseline,
        candidate: work.candidate,
        less: work.is_less(),
    }
}

fn row(row: &compare::Row, sides: &[compare::Side]) -> Row {
    let (place, name) = match &row.measure.place {
        compare::Place::Phase { name, .. } => (Place::Phase, Some(name.clone())),
        compare::Place::Run => (Place::Run, None),
        compare::Place::Method(method) => (Place::Method, Some(method.clone())),
    };
    Row {
        place,
        name,
        figure: figure(row.measure.figure),
        unit: unit(row.measure.figure.unit()),
        cells: sides
            .iter()
            .zip(&row.cells)
            .map(|(side, shown)| cell(side, shown))
            .collect(),
    }
}

pub(in crate::report) fn figure(figure: compare::Figure) -> Figure {
    match figure {
        compare::Figure::Private => Figure::Private,
        compare::Figure::Peak => Figure::Peak,
        compare::Figure::Resident => Figure::Resident,
        compare::Figure::Cpu => Figure::Cpu,
        compare::Figure::Faults => Figure::Faults,
        compare::Figure::P50 => Figure::P50,
        compare::Figure::P95 => Figure::P95,
    }
}

pub(in crate::report) fn unit(unit: compare::Unit) -> Unit {
    match unit {
        compare::Unit::Bytes => Unit::Bytes,
        compare::Unit::Nanos | compare::Unit::CpuNanos => Unit::Nanoseconds,
        compare::Unit::Count => Unit::Count,
    }
}

pub(super) fn cell(side: &compare::Side, cell: &compare::Cell) -> Cell {
    let name = |run: usize| record(side, cell, run).to_owned();
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
        values: cell.values.clone(),
        median: cell.median.map(median),
        ratio: cell.ratio.as_ref().map(ratio),
        groups: groups.collect(),
        outliers: outliers.collect(),
    }
}

fn median(median: stats::MedianInterval) -> Median {
    Median {
        value: median.median,
        low: median.low,
        high: median.high,
        coverage: median.coverage,
        runs: median.n as u64,
    }
}

fn ratio(ratio: &compare::Ratio) -> Ratio {
    let machines = ratio
        .machines
        .iter()
        .map(|machine| (machine.machine.clone(), machine.ratio));
    Ratio {
        value: ratio.ratio,
        low: ratio.low,
        high: Some(ratio.high).filter(|high| high.is_finite()),
        p: ratio.p,
        machines: machines.collect(),
    }
}
