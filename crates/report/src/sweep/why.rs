//! Reasons that a setting is not recommended or that the default stays, each in one sentence.

use crate::comparison::figures;
use analysis::figures::Figure;
use analysis::findings::setting;
use analysis::tune::MOST_RUNS;
use analysis::tune::{CellResult, LEAST_RUNS, Sweep, WhyNot, runs_to_settle};
use base::units;

use super::columns::{amount, stop};

/// The reason that a cell is not recommended; `None` for the recommended cell, or for the default if none is.
pub fn why_not(sweep: &Sweep, cell: &CellResult) -> Option<String> {
    let why = cell.why_not.as_ref()?;
    let private = in_brackets(difference(cell, Figure::Private));
    let memory = sweep.places.memory();
    Some(match why {
        WhyNot::NotLess if is_more(cell) => format!("it needs more {memory} than the default{private}"),
        WhyNot::NotLess => format!("it shows no less {memory}{private}"),
        WhyNot::NotWorth { .. } => format!("it needs less {memory}{private}, but {}", clause(sweep, cell, why)),
        _ => clause(sweep, cell, why),
    })
}

/// The reason, other than cost, that the default stays although this cell is shown to need less.
pub(crate) fn barred(sweep: &Sweep, cell: &CellResult) -> String {
    format!("keep the default: {}", less_but(sweep, cell))
}

/// `dirty-0 needs less private memory (−30 %), but …` with the reason that it is not recommended.
fn less_but(sweep: &Sweep, cell: &CellResult) -> String {
    format!(
        "{} needs less {}{}, but {}",
        cell.label,
        sweep.places.memory(),
        in_brackets(difference(cell, Figure::Private)),
        units::or_unknown(cell.why_not.as_ref(), |why| clause(sweep, cell, why))
    )
}

/// Says that nothing is recommended because the cost of a better cell is not shown, and what would show it.
pub(crate) fn cost_open(sweep: &Sweep, cell: &CellResult) -> String {
    let text = format!("nothing is recommended yet: {}", less_but(sweep, cell));
    match cell.why_not {
        Some(WhyNot::CostOpen(_)) => format!("{text}; {}", to_settle(sweep, cell)),
        _ => text,
    }
}

/// The number of runs that would show a cell's cost, in a clause.
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
pub(crate) fn limits(sweep: &Sweep, cell: &CellResult, figures: &[Figure]) -> String {
    let mut parts = Vec::new();
    for (figure, most) in sweep.rules.allowed() {
        if figures.contains(&figure) {
            parts.push(format!(
                "{} {}, at most +{} allowed",
                sweep.places.name(figure),
                units::or_unknown(difference(cell, figure), |difference| difference),
                units::percent(most)
            ));
        }
    }
    parts.join("; ")
}

/// The difference from the default; `None` if the runs cannot be compared.
fn difference(cell: &CellResult, figure: Figure) -> Option<String> {
    let ratio = cell.figure(figure).ratio.as_ref()?;
    figures::difference(ratio)
}

fn in_brackets(text: Option<String>) -> String {
    text.map_or_else(String::new, |text| format!(" ({text})"))
}

fn is_more(cell: &CellResult) -> bool {
    let ratio = cell.figure(Figure::Private).ratio.as_ref();
    ratio.is_some_and(|ratio| ratio.low > 1.0)
}

fn in_percent(ratio: f64) -> String {
    format!("{} %", figures::signed((ratio - 1.0) * 100.0, 0))
}

/// The processor times of a cell and of the cell with this label.
fn cpu_times(sweep: &Sweep, cell: &CellResult, label: &str) -> String {
    let other = sweep.cells.iter().find(|other| other.label == label);
    let other_cpu = other.map_or_else(|| units::UNKNOWN.to_owned(), cpu_time);
    format!("CPU {}, {label} {other_cpu}", cpu_time(cell))
}

fn cpu_time(cell: &CellResult) -> String {
    units::or_unknown(cell.median(Figure::Cpu), |value| amount(value, Figure::Cpu))
}

fn memory_size(bytes: f64) -> String {
    amount(bytes, Figure::Private)
}

/// The reason, without the remark on memory that stands elsewhere.
fn clause(sweep: &Sweep, cell: &CellResult, why: &WhyNot) -> String {
    let (memory, time) = (sweep.places.memory(), sweep.places.name(Figure::P95));
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
                memory_size(*saved)
            } else {
                "nothing".to_owned()
            };
            format!(
                "saves {saved} by the median, and a recommendation needs {}",
                memory_size(*worth)
            )
        }
        WhyNot::Dearer(figures) => format!("it costs more than the limits allow: {}", limits(sweep, cell, figures)),
        WhyNot::CostOpen(figures) => format!(
            "its runs do not show whether it keeps within the limits: {}",
            limits(sweep, cell, figures)
        ),
        WhyNot::CostUnknown(figures) => format!("its cost is not known: {}", limits(sweep, cell, figures)),
        WhyNot::OverLimit => format!(
            "its {memory} may be {}, over the limit of {}",
            units::or_unknown(cell.most_private(), memory_size),
            units::or_unknown(sweep.rules.max_private, units::exact_bytes)
        ),
        WhyNot::Beaten(other) => format!("{other} is as good in all figures and clearly better in one"),
        WhyNot::NeedsMore(other) => format!("{other} needs less {memory}"),
        WhyNot::MoreCpu(other) if sweep.rules.max_private.is_some() => {
            format!(
                "{other} is as fast and needs no more CPU ({})",
                cpu_times(sweep, cell, other)
            )
        }
        WhyNot::MoreCpu(other) => format!(
            "{other} is within 1 % of its {memory} and needs no more CPU ({})",
            cpu_times(sweep, cell, other)
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
