//! Why a setting is not recommended, in one sentence, and why the default stays.

use crate::comparison::figures;
use analysis::figures::Figure;
use analysis::findings::setting;
use analysis::tune::MOST_RUNS;
use analysis::tune::{CellResult, LEAST_RUNS, Sweep, WhyNot, runs_to_settle};
use base::units;

use super::columns::{amount, in_brackets, stop};

/// Why a cell is not recommended; `None` of one that is, and of the default where nothing is.
pub fn why_not(sweep: &Sweep, cell: &CellResult) -> Option<String> {
    let why = cell.why_not.as_ref()?;
    let private = in_brackets(&difference(cell, Figure::Private));
    let memory = sweep.places.memory();
    Some(match why {
        WhyNot::NotLess if is_more(cell) => format!("it needs more {memory} than the default{private}"),
        WhyNot::NotLess => format!("it shows no less {memory}{private}"),
        WhyNot::NotWorth { .. } => format!("it needs less {memory}{private}, but {}", clause(sweep, cell, why)),
        _ => clause(sweep, cell, why),
    })
}

/// Why the default stays although this cell is shown to need less, for a reason that is none of cost.
pub(crate) fn barred(sweep: &Sweep, cell: &CellResult) -> String {
    format!("keep the default: {}", less_but(sweep, cell))
}

/// That a cell needs less memory, and why it is not recommended.
fn less_but(sweep: &Sweep, cell: &CellResult) -> String {
    let why = cell.why_not.as_ref().map(|why| clause(sweep, cell, why));
    format!(
        "{} needs less {}{}, but {}",
        cell.label,
        sweep.places.memory(),
        in_brackets(&difference(cell, Figure::Private)),
        why.unwrap_or_else(|| units::UNKNOWN.to_owned())
    )
}

/// Why nothing is recommended if the cost of a better cell is not shown, and what would show it.
pub(crate) fn cost_open(sweep: &Sweep, cell: &CellResult) -> String {
    let text = format!("nothing is recommended yet: {}", less_but(sweep, cell));
    match cell.why_not {
        Some(WhyNot::CostOpen(_)) => format!("{text}; {}", to_settle(sweep, cell)),
        _ => text,
    }
}

/// How many runs of a cell would show its cost.
pub(crate) fn to_settle(sweep: &Sweep, cell: &CellResult) -> String {
    let runs = sweep
        .cells
        .first()
        .and_then(|default| runs_to_settle(cell, default, &sweep.rules));
    match runs.filter(|runs| *runs <= MOST_RUNS) {
        Some(runs) => {
            let runs = runs.max(cell.runs.len() + 1);
            format!(
                "about {} of each would show it: `--rungs 1,3,{runs}`",
                units::counted(runs as u64, "run")
            )
        }
        None => format!("{MOST_RUNS} runs of each do not decide: measure on a quieter machine"),
    }
}

/// A cell's cost in these figures, beside the limits.
pub(crate) fn limits(sweep: &Sweep, cell: &CellResult, of: &[Figure]) -> String {
    let allowed = sweep
        .rules
        .allowed()
        .into_iter()
        .filter(|(figure, _)| of.contains(figure));
    let parts = allowed.map(|(figure, most)| {
        let shown = difference(cell, figure);
        let shown = shown.first().map_or(units::UNKNOWN, String::as_str);
        format!(
            "{} {shown}, at most +{} allowed",
            sweep.places.name(figure),
            units::percent(most)
        )
    });
    parts.collect::<Vec<String>>().join("; ")
}

fn difference(cell: &CellResult, figure: Figure) -> Vec<String> {
    let ratio = cell.figure(figure).ratio.as_ref();
    ratio.and_then(figures::difference).into_iter().collect()
}

fn is_more(cell: &CellResult) -> bool {
    let ratio = cell.figure(Figure::Private).ratio.as_ref();
    ratio.is_some_and(|ratio| ratio.low > 1.0)
}

fn in_percent(ratio: f64) -> String {
    format!("{} %", figures::signed((ratio - 1.0) * 100.0, 0))
}

/// The processor time of a cell and of another.
fn cpus(sweep: &Sweep, cell: &CellResult, label: &str) -> String {
    let other = sweep.cells.iter().find(|other| other.label == label);
    let cpu = |cell: &CellResult| units::or_unknown(cell.median(Figure::Cpu), |value| amount(value, Figure::Cpu));
    let other = other.map_or_else(|| units::UNKNOWN.to_owned(), cpu);
    format!("CPU {}, {label} {other}", cpu(cell))
}

/// The reason, without the remark on memory that stands elsewhere.
fn clause(sweep: &Sweep, cell: &CellResult, why: &WhyNot) -> String {
    let bytes = |value: f64| amount(value, Figure::Private);
    let (memory, time) = (sweep.places.memory(), sweep.places.name(Figure::P95));
    let costs = |of: &[Figure]| limits(sweep, cell, of);
    let cpu_of = |label: &str| cpus(sweep, cell, label);
    match why {
        WhyNot::Stopped => format!("it stopped {}", cell.stopped.as_ref().map(stop).unwrap_or_default()),
        WhyNot::DidLess => "it did less work than the default".to_owned(),
        WhyNot::Refused => cell.refused().map(setting).collect::<Vec<String>>().join(" and "),
        WhyNot::TooFew => format!(
            "{}, a recommendation needs {LEAST_RUNS}",
            units::counted(cell.runs.len() as u64, "run")
        ),
        WhyNot::NoDefault => format!("fewer than {LEAST_RUNS} runs of the default count"),
        WhyNot::NotMeasured => format!("its {memory} is not known"),
        WhyNot::NotLess => format!("it shows no less {memory}"),
        WhyNot::NotWorth { saved, worth } => {
            let saved = if *saved > 0.0 {
                bytes(*saved)
            } else {
                "nothing".to_owned()
            };
            format!(
                "saves {saved} by the median, and a recommendation needs {}",
                bytes(*worth)
            )
        }
        WhyNot::Dearer(of) => format!("it costs more than the limits allow: {}", costs(of)),
        WhyNot::CostOpen(of) => format!("its runs do not show whether it keeps within the limits: {}", costs(of)),
        WhyNot::CostUnknown(of) => format!("its cost is not known: {}", costs(of)),
        WhyNot::OverLimit => format!(
            "its {memory} may be {}, over the limit of {}",
            units::or_unknown(cell.most_private(), bytes),
            units::or_unknown(sweep.rules.max_private, units::exact_bytes)
        ),
        WhyNot::Beaten(other) => format!("{other} is as good in all figures and clearly better in one"),
        WhyNot::NeedsMore(other) => format!("{other} needs less {memory}"),
        WhyNot::MoreCpu(other) if sweep.rules.max_private.is_some() => {
            format!("{other} is as fast and needs no more CPU ({})", cpu_of(other))
        }
        WhyNot::MoreCpu(other) => format!(
            "{other} is within 1 % of its {memory} and needs no more CPU ({})",
            cpu_of(other)
        ),
        WhyNot::Slower {
            than,
            ratio: Some(ratio),
        } => {
            format!(
                "its {time} is {} against {than}, the fastest, by the means",
                in_percent(*ratio)
            )
        }
        WhyNot::Slower { ratio: None, .. } => format!("its {time} is not known"),
    }
}
