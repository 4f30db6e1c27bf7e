//! A comparison in sentences.

use analysis::compare::{Cell, Comparison, Ratio, Row, Side, Why};
use analysis::figures::{Figure, Measure, Place};
use analysis::findings::setting;
use analysis::summary::is_denied;
use base::text::any_of;
use base::units;

use super::figures::{self, digits};

/// What to conclude of each server against the baseline, or that no run counts.
pub fn conclusions(comparison: &Comparison) -> Vec<String> {
    match no_run_counts(comparison) {
        Some(nothing) => vec![nothing],
        None => (1..comparison.sides.len())
            .filter_map(|place| verdict(comparison, place))
            .collect(),
    }
}

/// What to conclude of one server against the baseline: how far the figures that a choice hangs on differ, or why nothing is
/// concluded. Nothing of the baseline itself.
pub fn verdict(comparison: &Comparison, place: usize) -> Option<String> {
    let (baseline, side) = (comparison.sides.first()?, comparison.sides.get(place)?);
    if !side.is_purged_as(baseline) {
        return Some(apart(side, baseline));
    }
    if place == 0 {
        return None;
    }
    if let Some(sentence) = [side, baseline].into_iter().find_map(without) {
        return Some(sentence);
    }
    let known = telling(comparison).into_iter();
    let known: Vec<(&Row, &Ratio)> = known.filter_map(|row| Some((row, bounded(row, place)?))).collect();
    let Some((_, first)) = known.first() else {
        return Some(nothing(comparison, place));
    };
    let all = (baseline.runs.len(), side.runs.len());
    let runs_of = |ratio: &Ratio| runs_of(ratio, all);
    let runs = runs_of(first);
    let alike = known.iter().all(|(_, ratio)| runs_of(ratio) == runs);
    let (mut shown, mut open, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for (row, ratio) in &known {
        let mut details: Vec<String> = figures::medians(row, place).into_iter().collect();
        if !alike {
            details.push(runs_of(ratio));
        }
        if ratio.differs() {
            let details = if details.is_empty() {
                String::new()
            } else {
                format!(" ({})", details.join(", "))
            };
            shown.push(format!("{} {}{details}", what(row), how_much(ratio)));
            continue;
        }
        details.insert(0, how_much(ratio));
        let text = format!("{} ({})", what(row), details.join(", "));
        if ratio.excludes_large() {
            open.push(text);
        } else {
            unknown.push(text);
        }
    }
    let mut figures: Vec<String> = Vec::new();
    if !shown.is_empty() {
        figures.push(shown.join(", "));
    }
    if !open.is_empty() {
        figures.push(format!("no measurable difference in {}", any_of(&open)));
    }
    if !unknown.is_empty() {
        figures.push(format!("not known without more runs: {}", unknown.join(", ")));
    }
    let runs = if alike { format!(" ({runs})") } else { String::new() };
    Some(format!("{}: {}{runs}", side.label, figures.join("; ")))
}

/// Whether nothing may be concluded of a server against the baseline: they were purged in different ways, or a setting was not
/// in force.
pub fn is_refused(comparison: &Comparison, place: usize) -> bool {
    let (baseline, side) = (&comparison.sides[0], &comparison.sides[place]);
    !side.is_purged_as(baseline) || [side, baseline].into_iter().any(|side| without(side).is_some())
}

fn bounded(row: &Row, place: usize) -> Option<&Ratio> {
    row.cells[place].ratio.as_ref().filter(|ratio| ratio.high.is_finite())
}

/// A server ran without a wanted setting, or could not confirm one, so no conclusion is drawn. `None` if all were in
/// force as far as known.
fn without(side: &Side) -> Option<String> {
    let knob = side.unseen.iter().find(|knob| is_denied(knob))?;
    let why = match knob.taken {
        Some(_) => "ran without its setting",
        None => "did not show its setting",
    };
    Some(format!(
        "{} {why}, so it is not compared: {}",
        side.label,
        setting(knob)
    ))
}

/// Servers that were purged in different ways are not compared.
fn apart(side: &Side, baseline: &Side) -> String {
    format!(
        "{} and {} are not compared: the purged lens compares versions of one server, and these use {} and {}, which \
         purge differently; compare allocators as shipped",
        side.label,
        baseline.label,
        side.purged.join(" and "),
        baseline.purged.join(" and ")
    )
}

fn nothing(comparison: &Comparison, place: usize) -> String {
    let (baseline, side) = (&comparison.sides[0], &comparison.sides[place]);
    let pair = format!("{} cannot be compared with {}", side.label, baseline.label);
    let mut short = [side, baseline].into_iter().filter(|side| side.runs.len() < 2);
    let failed = |side: &&Side| left(side, Why::Failed) > 0;
    if let Some(failed) = short.clone().find(failed) {
        return format!("{pair}: {}", failed_runs(failed));
    }
    match short.next_back() {
        Some(short) if short.runs.is_empty() => format!("{pair}: no run of {} counts", short.label),
        Some(short) => format!("{pair}: {} has 1 run, a comparison needs 2 of each", short.label),
        None if are_apart(comparison, place) => {
            format!("{pair}: no machine has 2 runs of both in one part of the plan, and others are not compared")
        }
        None => format!("{pair}: they have no figure in common"),
    }
}

/// That no run of any server counts, and why; `None` where one does.
pub fn no_run_counts(comparison: &Comparison) -> Option<String> {
    let sides = &comparison.sides;
    if sides.iter().any(|side| !side.runs.is_empty()) {
        return None;
    }
    let failed = sides.iter().filter(|side| left(side, Why::Failed) > 0).map(failures);
    let why: Vec<String> = failed.collect();
    Some(match why.as_slice() {
        [] if sides.iter().any(|side| left(side, Why::Unfinished) > 0) => {
            "no run counts, so there is no result: the first was not played to its end".to_owned()
        }
        [] => "no run counts, so there is no result: allow more time or more runs".to_owned(),
        why => format!("no run counts, so there is no result: {}", why.join(", ")),
    })
}

pub fn has_failures(side: &Side) -> bool {
    left(side, Why::Failed) > 0
}

/// The number of runs that a server failed, and the first failure.
pub fn failures(side: &Side) -> String {
    let how = side.left.iter().find_map(|excluded| excluded.how.as_deref());
    let how = how.map_or_else(String::new, |how| format!(": {how}"));
    failed_runs(side) + &how
}

fn failed_runs(side: &Side) -> String {
    format!(
        "{} failed in {}",
        side.label,
        units::counted(left(side, Why::Failed), "run")
    )
}

fn left(side: &Side, why: Why) -> u64 {
    side.left.iter().filter(|left| left.why == why).count() as u64
}

/// How many runs of a side count, and why others do not.
pub fn runs(side: &Side) -> String {
    let mut text = units::counted(side.runs.len() as u64, "run");
    for (why, what) in [
        (Why::WarmUp, "warm-up"),
        (Why::Traced, "traced"),
        (Why::Failed, "failed"),
        (Why::Unfinished, "not finished"),
    ] {
        let left = left(side, why);
        if left > 0 {
            text.push_str(&format!(" + {} {what}", units::count(left)));
        }
    }
    text
}

/// The figures that a choice hangs on: private memory at the result, the peak, CPU.
pub fn telling(comparison: &Comparison) -> Vec<&Row> {
    let of_run = |figure| Measure {
        place: Place::Run,
        figure,
    };
    let of_runs = Figure::OF_RUNS.into_iter();
    let of_runs = of_runs.filter(|figure| !(comparison.is_shared() && figure.is_time()));
    let of_runs = of_runs.filter_map(|figure| comparison.row(&of_run(figure)));
    comparison.result_row().into_iter().chain(of_runs).collect()
}

/// `private memory after decay`.
fn what(row: &Row) -> String {
    format!("{}{}", row.measure.figure.words(), row.measure.place.suffix())
}

/// `−16 to −7 %`.
fn how_much(ratio: &Ratio) -> String {
    figures::difference(ratio).unwrap_or_default() + &by_machine(ratio)
}

/// Whether both have enough runs of a figure, and no machine has enough of both.
fn are_apart(comparison: &Comparison, place: usize) -> bool {
    let enough = |cell: &Cell| cell.median.is_some_and(|median| median.n > 1 && median.low > 0.0);
    telling(comparison)
        .iter()
        .any(|row| enough(&row.cells[0]) && enough(&row.cells[place]))
}

/// The runs that the ratio is of, which are those of machines that have two of both, and of how many where some are left out.
fn runs_of(ratio: &Ratio, (of_baseline, of_side): (usize, usize)) -> String {
    let number = |runs: usize, all: usize| match runs == all {
        true => units::count(all as u64),
        false => format!("{runs} of {all}"),
    };
    let noun = |all: usize| if all == 1 { "run" } else { "runs" };
    match ratio.runs {
        (a, b) if a == b && of_baseline == of_side => format!("{} {} each", number(a, of_side), noun(of_side)),
        (a, b) => format!(
            "{} {} against {}",
            number(b, of_side),
            noun(of_side),
            number(a, of_baseline)
        ),
    }
}

/// How far the machines are apart, where there are several.
fn by_machine(ratio: &Ratio) -> String {
    let several = figures::spread(ratio).map(|spread| format!(", on {} machines {spread}", ratio.machines.len()));
    several.unwrap_or_default()
}

/// The interval of a ratio in words: `28–31 % more`, `3–5 % less`, `between 2 % less and 3 % more`.
pub fn range(low: f64, high: f64) -> String {
    let (less, more) = ((1.0 - low) * 100.0, (high - 1.0) * 100.0);
    if figures::is_boundless(low, high) {
        let most = format!("more than {:.0} % more", figures::MOST);
        if low >= 1.0 {
            format!("between {:.0} % and {most}", (low - 1.0) * 100.0)
        } else {
            format!("between {less:.0} % less and {most}")
        }
    } else if low >= 1.0 {
        format!("{} more", between((low - 1.0) * 100.0, more))
    } else if high <= 1.0 {
        format!("{} less", between((1.0 - high) * 100.0, less))
    } else {
        let digits = digits(-less, more);
        format!("between {less:.digits$} % less and {more:.digits$} % more")
    }
}

fn between(low: f64, high: f64) -> String {
    let digits = digits(low, high);
    match (format!("{low:.digits$}"), format!("{high:.digits$}")) {
        (low, high) if low == high => format!("{low} %"),
        (low, high) => format!("{low}–{high} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_says_which_way_and_how_far() {
        assert_eq!(range(1.28, 1.314), "28–31 % more");
        assert_eq!(range(0.95, 0.97), "3.0–5.0 % less");
        assert_eq!(range(0.98, 1.03), "between 2 % less and 3 % more");
        assert_eq!(range(0.9995, 1.0004), "between 0.05 % less and 0.04 % more");
        assert_eq!(range(1.0300, 1.0301), "3.00–3.01 % more");
        assert_eq!(range(1e-9, 236_696.93), "between 100 % less and more than 1000 % more");
        assert_eq!(range(1.2, 12.1), "between 20 % and more than 1000 % more");
        assert_eq!(range(19.5, 20.5), "1850–1950 % more");
    }
}
