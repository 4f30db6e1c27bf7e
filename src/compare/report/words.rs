//! A comparison in sentences.

use crate::compare::{Cell, Comparison, Ratio, Row, Side, Why};
use crate::figures::{Figure, Measure, Place, Unit};
use crate::findings::setting;
use crate::summary::is_denied;
use crate::units;

use super::figures::{self, digits};

/// What to conclude of one server against the baseline: a sentence for each figure that a choice hangs on, or why there
/// is none. Nothing of the baseline itself.
pub fn verdict(comparison: &Comparison, place: usize) -> Vec<String> {
    let (Some(baseline), Some(side)) = (comparison.sides.first(), comparison.sides.get(place)) else {
        return Vec::new();
    };
    if !side.is_purged_as(baseline) {
        return vec![apart(side, baseline)];
    }
    let both = [side, baseline];
    if let Some(sentences) = both.into_iter().filter(|_| place > 0).find_map(without) {
        return vec![sentences];
    }
    let sentences = telling(comparison).into_iter().filter_map(|row| {
        let ratio = bounded(row, place)?;
        let runs = runs_of(ratio) + &by_machine(ratio);
        Some(sentence(&side.label, &baseline.label, row, ratio, runs))
    });
    match sentences.collect::<Vec<String>>() {
        sentences if sentences.is_empty() && place > 0 => vec![nothing(comparison, place)],
        sentences => sentences,
    }
}

/// The ratio of a server against the baseline where something is concluded of it.
pub fn ratio<'c>(comparison: &'c Comparison, place: usize, row: &'c Row) -> Option<&'c Ratio> {
    let (baseline, side) = (comparison.sides.first()?, comparison.sides.get(place)?);
    let told = side.is_purged_as(baseline) && [side, baseline].into_iter().find_map(without).is_none();
    bounded(row, place).filter(|_| told)
}

fn bounded(row: &Row, place: usize) -> Option<&Ratio> {
    row.cells[place].ratio.as_ref().filter(|ratio| ratio.high.is_finite())
}

/// That a server ran without a setting that it was to have, or did not show one that it was to show, so that nothing is said
/// of it; `None` where it had them all as far as that is known.
fn without(side: &Side) -> Option<String> {
    let knob = side.unseen.iter().find(|knob| is_denied(knob))?;
    let why = match knob.taken {
        Some(_) => "ran without its setting",
        None => "did not show its setting",
    };
    Some(format!(
        "{} {why}, so nothing is said of it: {}",
        side.label,
        setting(knob)
    ))
}

/// That servers which were told to purge in different ways are not compared.
fn apart(side: &Side, baseline: &Side) -> String {
    format!(
        "{} and {} are not compared: the purged lens compares versions of one server, and these have {} and {}, which \
         purge in different ways; across allocators compare as shipped",
        side.label,
        baseline.label,
        side.purged.join(" and "),
        baseline.purged.join(" and ")
    )
}

fn nothing(comparison: &Comparison, place: usize) -> String {
    let (baseline, side) = (&comparison.sides[0], &comparison.sides[place]);
    let pair = format!("nothing can be said of {} against {}", side.label, baseline.label);
    let mut short = [side, baseline].into_iter().filter(|side| side.runs.len() < 2);
    let failed = |side: &&Side| left(side, Why::Failed) > 0;
    if let Some(failed) = short.clone().find(failed) {
        return format!("{pair}: {}", failures(failed));
    }
    match short.next_back() {
        Some(short) if short.runs.is_empty() => format!("{pair}: no run of {} counts", short.label),
        Some(short) => format!(
            "{pair}: {} has 1 run, and what differs from run to run takes 2 of each to be seen",
            short.label
        ),
        None if are_apart(comparison, place) => {
            format!("{pair}: no machine has 2 runs of both, and servers are compared within a machine only")
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
        [] => "no run counts, so nothing can be said: give it more time, or more runs".to_owned(),
        why => format!("no run counts, so nothing can be said: {}", why.join(", ")),
    })
}

/// That a server failed, and how often.
pub fn failures(side: &Side) -> String {
    let failed = units::counted(left(side, Why::Failed), "run");
    format!("{} failed the scenario in {failed}", side.label)
}

fn left(side: &Side, why: Why) -> u64 {
    side.left.iter().filter(|left| left.why == why).count() as u64
}

/// How many runs of a side count, and why others do not.
pub fn runs(side: &Side) -> String {
    let mut text = units::counted(side.runs.len() as u64, "run");
    for (why, what) in [
        (Why::WarmUp, "for warming up"),
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
    let of_runs = of_runs.filter_map(|figure| comparison.row(&of_run(figure)));
    comparison.result_row().into_iter().chain(of_runs).collect()
}

fn sentence(candidate: &str, baseline: &str, row: &Row, ratio: &Ratio, runs: String) -> String {
    let (what, place) = (row.measure.figure.words(), row.measure.place.suffix());
    let verb = match row.measure.figure.unit() {
        Unit::Bytes => "keeps",
        _ => "takes",
    };
    if !ratio.differs() {
        return format!(
            "{candidate} cannot be told from {baseline} by {what}{place}: {}, {runs}",
            range(ratio.low, ratio.high)
        );
    }
    format!(
        "{candidate} {verb} {} {what} than {baseline}{place}, {runs}",
        range(ratio.low, ratio.high)
    )
}

/// Whether both have enough runs of a figure, and no machine has enough of both.
fn are_apart(comparison: &Comparison, place: usize) -> bool {
    let enough = |cell: &Cell| cell.median.is_some_and(|median| median.n > 1 && median.low > 0.0);
    telling(comparison)
        .iter()
        .any(|row| enough(&row.cells[0]) && enough(&row.cells[place]))
}

/// The runs that the ratio is of: those of machines that have two of both.
pub fn runs_of(ratio: &Ratio) -> String {
    match ratio.runs {
        (a, b) if a == b => format!("{} each", units::counted(a as u64, "run")),
        (a, b) => format!("{} against {}", units::counted(b as u64, "run"), units::count(a as u64)),
    }
}

/// How far the machines are apart, where there are several.
fn by_machine(ratio: &Ratio) -> String {
    let several = figures::spread(ratio).map(|spread| format!(" on {} machines ({spread})", ratio.machines.len()));
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
