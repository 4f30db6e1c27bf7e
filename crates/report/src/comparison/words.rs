//! A comparison in sentences.

use analysis::compare::{Cell, Comparison, Ratio, Row, Side, Why};
use analysis::figures::{Figure, Measure, MeasuredPart};
use analysis::findings::setting;
use analysis::summary::is_denied;
use base::text::any_of;
use base::units;

use super::figures;

/// A conclusion for each server against the baseline, or a sentence that no run counts.
pub fn conclusions(comparison: &Comparison) -> Vec<String> {
    if let Some(nothing) = no_run_counts(comparison) {
        return vec![nothing];
    }
    (1..comparison.sides.len())
        .filter_map(|place| verdict(comparison, place))
        .collect()
}

/// The conclusion for one server against the baseline: how far the figures that a choice hangs on differ, or why nothing is
/// concluded. `None` for the baseline itself.
pub fn verdict(comparison: &Comparison, place: usize) -> Option<String> {
    let (baseline, side) = (comparison.sides.first()?, comparison.sides.get(place)?);
    if place == 0 {
        return None;
    }
    if !side.is_purged_as(baseline) {
        return Some(purged_differently(side, baseline));
    }
    if let Some(sentence) = denied_setting(side).or_else(|| denied_setting(baseline)) {
        return Some(sentence);
    }
    let mut known: Vec<(&Row, &Ratio)> = Vec::new();
    for row in decisive_rows(comparison) {
        known.extend(bounded(row, place).map(|ratio| (row, ratio)));
    }
    let Some((_, first)) = known.first() else {
        return Some(why_not_compared(comparison, place));
    };
    let all = (baseline.runs.len(), side.runs.len());
    let runs = runs_of(first, all);
    let have_same_runs = known.iter().all(|(_, ratio)| runs_of(ratio, all) == runs);
    let (mut shown, mut open, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for (row, ratio) in &known {
        let figure = figure_and_place(row);
        let difference = how_much(ratio);
        let mut details: Vec<String> = figures::medians(row, place).into_iter().collect();
        if !have_same_runs {
            details.push(runs_of(ratio, all));
        }
        if ratio.differs() {
            shown.push(format!("{figure} {difference}{}", in_brackets(&details)));
            continue;
        }
        details.insert(0, difference);
        let text = format!("{figure}{}", in_brackets(&details));
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
    let runs = if have_same_runs {
        format!(" ({runs})")
    } else {
        String::new()
    };
    Some(format!("{}: {}{runs}", side.label, figures.join("; ")))
}

/// ` (41.2 against 49.3 MiB, 8 runs each)`; empty without details.
fn in_brackets(details: &[String]) -> String {
    if details.is_empty() {
        String::new()
    } else {
        format!(" ({})", details.join(", "))
    }
}

/// True if nothing may be concluded about a server against the baseline: they were purged in different ways, or a setting was
/// not in force.
pub fn is_refused(comparison: &Comparison, place: usize) -> bool {
    let (baseline, side) = (&comparison.sides[0], &comparison.sides[place]);
    !side.is_purged_as(baseline) || denied_setting(side).is_some() || denied_setting(baseline).is_some()
}

fn bounded(row: &Row, place: usize) -> Option<&Ratio> {
    row.cells[place].ratio.as_ref().filter(|ratio| ratio.high.is_finite())
}

/// The sentence if a server ran without a wanted setting, or could not confirm one, so that no conclusion is drawn.
/// `None` if all settings were in force as far as known.
fn denied_setting(side: &Side) -> Option<String> {
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
fn purged_differently(side: &Side, baseline: &Side) -> String {
    format!(
        "{} and {} are not compared: the purged lens compares versions of one server, and these use {} and {}, which \
         purge differently; compare allocators as shipped",
        side.label,
        baseline.label,
        side.purged.join(" and "),
        baseline.purged.join(" and ")
    )
}

/// The reason why no figure of two servers can be compared.
fn why_not_compared(comparison: &Comparison, place: usize) -> String {
    let (baseline, side) = (&comparison.sides[0], &comparison.sides[place]);
    let pair = format!("{} cannot be compared with {}", side.label, baseline.label);
    let too_few: Vec<&Side> = [side, baseline]
        .into_iter()
        .filter(|side| side.runs.len() < 2)
        .collect();
    if let Some(failed) = too_few.iter().find(|side| has_failures(side)) {
        return format!("{pair}: {}", failed_runs(failed));
    }
    match too_few.last() {
        Some(side) if side.runs.is_empty() => format!("{pair}: no run of {} counts", side.label),
        Some(side) => format!("{pair}: {} has 1 run, a comparison needs 2 of each", side.label),
        None if are_on_different_machines(comparison, place) => {
            format!("{pair}: no machine has 2 runs of both in one part of the plan, and others are not compared")
        }
        None => format!("{pair}: they have no figure in common"),
    }
}

/// The reason why there is no result at all: no run of any server counts. `None` if one does.
pub fn no_run_counts(comparison: &Comparison) -> Option<String> {
    let sides = &comparison.sides;
    if sides.iter().any(|side| !side.runs.is_empty()) {
        return None;
    }
    let failures: Vec<String> = sides.iter().filter(|side| has_failures(side)).map(failures).collect();
    let why = if !failures.is_empty() {
        failures.join(", ")
    } else if sides.iter().any(|side| excluded_runs(side, Why::Unfinished) > 0) {
        "the first was not played to its end".to_owned()
    } else {
        "allow more time or more runs".to_owned()
    };
    Some(format!("no run counts, so there is no result: {why}"))
}

pub fn has_failures(side: &Side) -> bool {
    excluded_runs(side, Why::Failed) > 0
}

/// The number of runs that a server failed, and the first failure.
pub fn failures(side: &Side) -> String {
    let failed_runs = failed_runs(side);
    match side.left.iter().find_map(|excluded| excluded.how.as_deref()) {
        Some(how) => format!("{failed_runs}: {how}"),
        None => failed_runs,
    }
}

fn failed_runs(side: &Side) -> String {
    format!(
        "{} failed in {}",
        side.label,
        units::count_of(excluded_runs(side, Why::Failed), "run")
    )
}

/// The number of runs that do not count for this reason.
fn excluded_runs(side: &Side, why: Why) -> u64 {
    side.left.iter().filter(|excluded| excluded.why == why).count() as u64
}

/// `8 runs + 1 warm-up`: the runs of a side that count, and those that do not.
pub fn runs(side: &Side) -> String {
    let mut text = units::count_of(side.runs.len() as u64, "run");
    for (why, what) in [
        (Why::WarmUp, "warm-up"),
        (Why::Traced, "traced"),
        (Why::Failed, "failed"),
        (Why::Unfinished, "not finished"),
    ] {
        let excluded = excluded_runs(side, why);
        if excluded > 0 {
            text.push_str(&format!(" + {} {what}", units::count(excluded)));
        }
    }
    text
}

/// The figures that a choice hangs on: private memory at the result, the peak, CPU.
fn decisive_rows(comparison: &Comparison) -> Vec<&Row> {
    let mut rows: Vec<&Row> = comparison.result_row().into_iter().collect();
    for figure in Figure::OF_RUNS {
        // Runs that shared the machine took each other's time.
        if comparison.is_shared() && figure.is_time() {
            continue;
        }
        let place = MeasuredPart::Run;
        rows.extend(comparison.row(&Measure { place, figure }));
    }
    rows
}

/// `private memory after decay`.
fn figure_and_place(row: &Row) -> String {
    format!("{}{}", row.measure.figure.words(), row.measure.place.suffix())
}

/// `−16 to −7 %`.
fn how_much(ratio: &Ratio) -> String {
    figures::difference(ratio).unwrap_or_default() + &by_machine(ratio)
}

/// True if both have enough runs of a figure, so that only their machines can keep them from being compared.
fn are_on_different_machines(comparison: &Comparison, place: usize) -> bool {
    decisive_rows(comparison)
        .iter()
        .any(|row| has_enough_runs(&row.cells[0]) && has_enough_runs(&row.cells[place]))
}

fn has_enough_runs(cell: &Cell) -> bool {
    cell.median.is_some_and(|median| median.n > 1 && median.low > 0.0)
}

/// `8 runs each`, `7 of 8 runs against 8`: the runs behind a ratio, which are those of machines with two of both.
fn runs_of(ratio: &Ratio, (of_baseline, of_side): (usize, usize)) -> String {
    let (baseline, side) = ratio.runs;
    let noun = if of_side == 1 { "run" } else { "runs" };
    let side_runs = some_of(side, of_side);
    if baseline == side && of_baseline == of_side {
        format!("{side_runs} {noun} each")
    } else {
        format!("{side_runs} {noun} against {}", some_of(baseline, of_baseline))
    }
}

fn some_of(runs: usize, all: usize) -> String {
    if runs == all {
        units::count(all as u64)
    } else {
        format!("{runs} of {all}")
    }
}

/// `, on 2 machines +3 to +5 %`; empty for one machine.
fn by_machine(ratio: &Ratio) -> String {
    match figures::spread(ratio) {
        Some(spread) => format!(", on {} machines {spread}", ratio.machines.len()),
        None => String::new(),
    }
}
