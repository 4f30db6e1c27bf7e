//! Reasons that a setting is not recommended or that the default stays.

use crate::comparison::figures;
use analysis::figures::Figure;
use analysis::findings::setting;
use analysis::tune::MOST_RUNS;
use analysis::tune::{CellResult, Elimination, Failure, Sweep, Why, WhyNot, runs_to_settle};
use base::units;

use super::columns::amount;

/// The reason that a cell is not recommended in a few words, and the setting that is better, if it is because of one.
pub(crate) fn in_few_words(cell: &CellResult, why: &WhyNot) -> (&'static str, Option<String>) {
    match why {
        WhyNot::Stopped => cell.stopped.as_ref().map_or(("stopped", None), stop_in_few_words),
        WhyNot::DidLess => ("less work", None),
        WhyNot::Refused => ("not in force", None),
        WhyNot::TooFew | WhyNot::NoDefault => ("few runs", None),
        WhyNot::NotMeasured => ("memory unknown", None),
        WhyNot::Slower { ratio: None, .. } => ("time unknown", None),
        WhyNot::NotLess if needs_more(cell) => ("needs more", Some("default".to_owned())),
        WhyNot::NotLess => ("not less", None),
        WhyNot::NotWorth { .. } => ("saves little", None),
        WhyNot::Dearer(_) => ("costs more", None),
        WhyNot::CostOpen(_) | WhyNot::CostUnknown(_) => ("cost open", None),
        WhyNot::OverLimit => ("over limit", None),
        WhyNot::Beaten(other) => ("beaten", Some(other.clone())),
        WhyNot::NeedsMore(other) => ("needs more", Some(other.clone())),
        WhyNot::MoreCpu(other) => ("more CPU", Some(other.clone())),
        WhyNot::Slower { than, .. } => ("slower", Some(than.clone())),
    }
}

fn needs_more(cell: &CellResult) -> bool {
    let ratio = cell.figure(Figure::Private).ratio.as_ref();
    ratio.is_some_and(|ratio| ratio.low > 1.0)
}

pub(crate) fn stop_in_few_words(stopped: &Elimination) -> (&'static str, Option<String>) {
    match &stopped.why {
        Why::Failed(_) => ("failed", None),
        Why::Beaten(other) => ("stopped: beaten", Some(other.clone())),
        Why::WorseHalf(other) => ("stopped: needs more", Some(other.clone())),
        Why::OverLimit => ("stopped: over limit", None),
        Why::Slower(other) => ("stopped: slower", Some(other.clone())),
    }
}

/// The moment and the reason of a cell's stop, to stand after `stopped`.
pub fn elimination_clause(stopped: &Elimination) -> String {
    let after = match stopped.after {
        0 => "while it warmed up".to_owned(),
        runs => format!("after {}", units::count_of(u64::from(runs), "run")),
    };
    match &stopped.why {
        Why::Failed(Failure { record, how }) => {
            format!("{after}: it failed with this setting: {how} ({record})")
        }
        Why::Beaten(other) => format!("{after}: {other} is as good in all figures and clearly better in one"),
        Why::WorseHalf(other) => {
            format!("{after}: more memory than {other} and than half of all settings, and not better in any figure")
        }
        Why::OverLimit => format!("{after}: it needs more than the limit"),
        Why::Slower(other) => format!("{after}: {other} is faster and keeps the limit"),
    }
}

/// The reason that a cell is not recommended, with the numbers that the table does not show; `None` for the recommended
/// cell, or for the default if none is.
pub(crate) fn why_not(sweep: &Sweep, cell: &CellResult) -> Option<String> {
    let why = cell.why_not.as_ref()?;
    let (words, other) = in_few_words(cell, why);
    let detail = match why {
        WhyNot::Refused => Some(
            cell.ineffective_settings()
                .map(setting)
                .collect::<Vec<String>>()
                .join(" and "),
        ),
        WhyNot::NotLess => {
            let memory = sweep.places.memory();
            difference(cell, Figure::Private).map(|difference| format!("{memory} {difference}"))
        }
        WhyNot::NotWorth { saved, worth } => Some(format!(
            "{} of the {} that a setting is worth",
            amount(saved.max(0.0), Figure::Private),
            amount(*worth, Figure::Private)
        )),
        WhyNot::Dearer(figures) | WhyNot::CostOpen(figures) | WhyNot::CostUnknown(figures) => {
            Some(cost_clause(sweep, cell, figures))
        }
        WhyNot::OverLimit => Some(format!(
            "up to {}, limit {}",
            units::or_unknown(cell.most_private(), |most| amount(most, Figure::Private)),
            units::or_unknown(sweep.rules.max_private, units::exact_bytes)
        )),
        WhyNot::Slower {
            than,
            ratio: Some(ratio),
        } => Some(format!(
            "{} {} % against {than}, by the means",
            sweep.places.name(Figure::P95),
            figures::signed((ratio - 1.0) * 100.0, 0)
        )),
        _ => other,
    };
    Some(match detail {
        Some(detail) => format!("{words} ({detail})"),
        None => words.to_owned(),
    })
}

/// `dirty-0 needs less private memory (−30 %)`.
fn needs_less(sweep: &Sweep, cell: &CellResult) -> String {
    let difference = match difference(cell, Figure::Private) {
        Some(difference) => format!(" ({difference})"),
        None => String::new(),
    };
    format!("{} needs less {}{difference}", cell.label, sweep.places.memory())
}

/// The reason, other than cost, that the default stays although this cell is shown to need less.
pub(crate) fn barred(sweep: &Sweep, cell: &CellResult) -> String {
    let why = units::or_unknown(why_not(sweep, cell), |why| why);
    format!(
        "keep the default: {}, but is not recommended: {why}",
        needs_less(sweep, cell)
    )
}

/// Says that nothing is recommended because the cost of a better cell is not shown, and what would show it.
pub(crate) fn cost_open(sweep: &Sweep, cell: &CellResult) -> String {
    let (figures, to_settle) = match &cell.why_not {
        Some(WhyNot::CostOpen(figures)) => (figures.as_slice(), format!("; {}", to_settle(sweep, cell))),
        Some(WhyNot::CostUnknown(figures)) => (figures.as_slice(), String::new()),
        _ => (&[] as &[Figure], String::new()),
    };
    format!(
        "nothing is recommended yet: {}, but its cost is open: {}{to_settle}",
        needs_less(sweep, cell),
        cost_clause(sweep, cell, figures)
    )
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
                units::count_of(runs as u64, "run")
            )
        }
        None => format!("{MOST_RUNS} runs of each do not decide: measure on a quieter machine"),
    }
}

/// A cell's cost in these figures, beside the limits.
pub(crate) fn cost_clause(sweep: &Sweep, cell: &CellResult, figures: &[Figure]) -> String {
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
