//! Idle windows of all servers.

use crate::charts::rows::Curves;
use crate::run::decay;
use crate::run::decay::signed_size;
use analysis::compare::{Cell as FigureCell, Comparison, Decayed, Given};
use analysis::figures::Unit;
use analysis::summary::decay::{AFTER, Gave};
use base::text::Tone;
use base::text::table::{Cell, Column, Table};
use base::units;
use record::WindowEnd;
use stats::MedianInterval;

use super::figures::{self, HOLE, MARK};

pub const SUBJECT: &str = "private, MiB, from the start of each window";

const CURVE: usize = 20;

struct WindowRow<'c> {
    window: String,
    server: &'c str,
    is_baseline: bool,
    /// The curve of the server's middle run.
    curve: String,
    decayed: &'c Decayed,
}

/// The table of windows, a row for each window and server; `None` without windows.
pub fn columns(comparison: &Comparison) -> Option<Vec<Column>> {
    let rows = rows(comparison);
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new(&rows)
        .text("window", 0, |row| (Tone::Strong, &row.window))
        .text("server", 0, |row| row.server)
        .sketch(decay::CURVE, 3, |row| row.curve.clone())
        .number("from", 6, |row| median(&row.decayed.before, size));
    for (place, seconds) in AFTER.iter().enumerate() {
        table = table.number(format!("+{seconds} s"), 8, |row| median(&row.decayed.at[place], size));
    }
    let columns = table
        .text("floor", 0, |row| {
            figures::with_interval(&row.decayed.floor, Unit::Bytes)
        })
        .text("vs baseline", 4, difference_to_baseline)
        .text("t50", 7, |row| median_and_interval(&row.decayed.t50, seconds))
        .text("t90", 5, |row| median_and_interval(&row.decayed.t90, seconds))
        .text("settle time", 2, |row| {
            median_and_interval(&row.decayed.settle_time, seconds)
        })
        .number(decay::LAZILY, 8, |row| lazily_freed(row.decayed))
        .text(decay::IN_WINDOW, 2, |row| {
            median_and_interval(&row.decayed.share, units::percent)
        })
        .grouped(decay::RETURNED)
        .text(decay::BY_THEN, 6, |row| {
            median_and_interval(&row.decayed.returned, units::percent)
        })
        .grouped(decay::RETURNED)
        .text("ended", 1, |row| ends(&row.decayed.ends))
        .filled(HOLE);
    Some(columns)
}

/// The rows of one window follow one another, and their curves have one scale.
fn rows(comparison: &Comparison) -> Vec<WindowRow<'_>> {
    let mut rows = Vec::new();
    for window in &comparison.decays {
        let shown = window.sides.iter().filter_map(|side| side.shown.as_ref());
        let curves = Curves::new(shown.map(decay::curve));
        for (place, (side, decayed)) in comparison.sides.iter().zip(&window.sides).enumerate() {
            let curve = match &decayed.shown {
                Some(shown) => curves.draw(decay::curve(shown), CURVE),
                None => String::new(),
            };
            rows.push(WindowRow {
                window: decay::label(&window.phase, window.kind, window.control),
                server: &side.label,
                is_baseline: place == 0,
                curve,
                decayed,
            });
        }
    }
    rows
}

/// The difference of the floors; empty in the rows of the baseline itself.
fn difference_to_baseline(row: &WindowRow<'_>) -> Cell {
    match &row.decayed.floor.ratio {
        Some(ratio) if !row.is_baseline => {
            let difference = figures::against(ratio);
            Cell::toned(difference.tone(), difference.range)
        }
        _ => Cell::plain(""),
    }
}

/// Lazily freed memory, if it is more than a hundredth of the memory at the window's start.
fn lazily_freed(decayed: &Decayed) -> String {
    match (decayed.lazily_freed.median, decayed.before.median) {
        (Some(lazily), Some(before)) if lazily.median > before.median / 100.0 => {
            median_and_interval(&decayed.lazily_freed, size)
        }
        _ => HOLE.to_owned(),
    }
}

fn size(bytes: f64) -> String {
    figures::value(bytes, Unit::Bytes)
}

fn seconds(nanos: f64) -> String {
    decay::time(nanos.round() as u64)
}

fn median(cell: &FigureCell, text: impl Fn(f64) -> String) -> String {
    with_known_runs(cell, |median| text(median.median))
}

fn median_and_interval(cell: &FigureCell, text: impl Fn(f64) -> String) -> String {
    with_known_runs(cell, |median| figures::around(median, &text))
}

/// The text of a figure, with the number of runs that have it if not all do. Below half it is not shown: `– (2 of 5)`.
fn with_known_runs(cell: &FigureCell, text: impl Fn(&MedianInterval) -> String) -> String {
    let (known, all) = (cell.values.iter().flatten().count(), cell.values.len());
    match cell.median {
        None => HOLE.to_owned(),
        Some(_) if known * 2 < all => format!("{HOLE} ({known} of {all})"),
        Some(median) if known < all => format!("{} ({known} of {all})", text(&median)),
        Some(median) => text(&median),
    }
}

/// The meanings of this table's columns and of its numbers of runs.
pub fn legend(table: &[Column]) -> String {
    let mut parts = Vec::new();
    let meanings = decay::legend(table);
    if !meanings.is_empty() {
        parts.push(meanings.as_str());
    }
    let mut figures = table.iter().filter(|column| column.name() != "server");
    if figures.any(|column| column.cells().iter().any(|cell| has_known_runs(&cell.text))) {
        parts.push("2 of 5: so many runs have this value; below half it is not shown");
    }
    parts.join(" · ")
}

/// True for a text with a number of runs, as [`with_known_runs`] writes it.
fn has_known_runs(text: &str) -> bool {
    text.ends_with(')') && text.contains(" of ")
}

/// `settled` if all runs ended alike, else `3 settled, 2 held`.
fn ends(ends: &[(WindowEnd, u64)]) -> String {
    if let [(end, _)] = ends {
        return end_word(*end).to_owned();
    }
    let parts: Vec<String> = ends
        .iter()
        .map(|(end, count)| format!("{count} {}", end_word(*end)))
        .collect();
    parts.join(", ")
}

fn end_word(end: WindowEnd) -> &'static str {
    match end {
        WindowEnd::Settled => "settled",
        WindowEnd::Held => "held",
        WindowEnd::TimedOut => "timed out",
        WindowEnd::TooShort => "too short",
        WindowEnd::Ended => "ended",
    }
}

/// Brief sentences about the memory released in windows, one for all servers that released alike.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    sentences_of_servers(comparison, brief)
}

/// Sentences that count every run, without those that [`verdict`] has already.
pub fn details(comparison: &Comparison) -> Vec<String> {
    let mut sentences = sentences_of_servers(comparison, sentence);
    let brief = verdict(comparison);
    sentences.retain(|sentence| !brief.contains(sentence));
    sentences
}

/// `ty, pyright: …`: servers with the same sentence share it.
fn sentences_of_servers(
    comparison: &Comparison,
    sentence_of_windows: impl Fn(&[Given]) -> Option<String>,
) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for side in &comparison.sides {
        let Some(sentence) = sentence_of_windows(&side.gave) else {
            continue;
        };
        match groups.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, servers)) => servers.push(&side.label),
            None => groups.push((sentence, vec![&side.label])),
        }
    }
    groups
        .into_iter()
        .map(|(sentence, servers)| format!("{}: {sentence}", servers.join(", ")))
        .collect()
}

/// The cost of light traffic alone, for each server that has a control phase.
pub fn costs(comparison: &Comparison) -> Vec<String> {
    let costs = comparison.sides.iter().filter_map(|side| Some((side, side.traffic?)));
    costs
        .map(|(side, cost)| format!("{}: {}", side.label, traffic(&cost)))
        .collect()
}

/// `released nothing while idle, ≤ 26.6 MiB in light traffic`; the full [`sentence`] where that would hide something.
fn brief(windows: &[Given]) -> Option<String> {
    let runs: Vec<&Gave> = windows.iter().flat_map(|window| &window.runs).collect();
    let is_much_released = runs.iter().any(|run| run.much);
    if !is_much_released || runs.iter().any(|run| is_unusual(run)) {
        return sentence(windows);
    }
    let mut released: Vec<(String, Vec<&str>)> = Vec::new();
    for window in windows {
        let Some(amount) = released_amount(window) else {
            continue;
        };
        let when = decay::when(window.middle.kind);
        match released.iter_mut().find(|(known, _)| *known == amount) {
            Some((_, whens)) => whens.push(when),
            None => released.push((amount, vec![when])),
        }
    }
    let released: Vec<String> = released
        .iter()
        .map(|(amount, whens)| format!("{amount} {}", whens.join(" or ")))
        .collect();
    let mut parts = Vec::new();
    if !released.is_empty() {
        parts.push(format!("released {}", released.join(", ")));
    }
    parts.extend(decay::not_known(&middles(windows)));
    joined(&parts)
}

/// True if a run did more in a window than release private memory for good.
fn is_unusual(run: &Gave) -> bool {
    run.shared > 0.0 || run.much_lazily || run.took || run.for_a_while > 0.0
}

/// `≤ 26.6 MiB`: the memory that runs released in a window. `None` if nothing was released in a window that was too
/// short, from which nothing follows.
fn released_amount(window: &Given) -> Option<String> {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for run in &window.runs {
        let released = if run.much { run.released } else { 0.0 };
        least = least.min(released);
        most = most.max(released);
    }
    if most <= 0.0 {
        let is_short = window.middle.short.is_some();
        return if is_short { None } else { Some("nothing".to_owned()) };
    }
    let most = units::mib(most.round() as u64);
    if least <= 0.0 {
        return Some(format!("≤ {most} MiB"));
    }
    let least = units::mib(least.round() as u64);
    if least == most {
        Some(format!("{most} MiB"))
    } else {
        Some(format!("{least} to {most} MiB"))
    }
}

/// Which windows released memory, where all runs agree; of the others, in how many runs.
fn sentence(windows: &[Given]) -> Option<String> {
    let (agreed, divided): (Vec<&Given>, Vec<&Given>) = windows.iter().partition(|window| runs_agree(window));
    let agreed: Vec<Gave> = agreed.into_iter().map(|window| window.middle).collect();
    let mut parts = decay::released_parts(&agreed);
    parts.extend(divided.into_iter().map(divided_runs));
    parts.extend(decay::not_known(&middles(windows)));
    parts.retain(|part| !part.is_empty());
    joined(&parts)
}

/// True if the middle run of a window speaks for all: all released much, or all printed as nothing.
fn runs_agree(window: &Given) -> bool {
    window.is_unanimous() && (window.middle.much || window.runs.iter().all(is_nothing))
}

fn middles(windows: &[Given]) -> Vec<Gave> {
    windows.iter().map(|window| window.middle).collect()
}

fn joined(parts: &[String]) -> Option<String> {
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}

fn is_nothing(run: &Gave) -> bool {
    decay::is_nothing(run.released, run.share, run.fell)
}

/// `25.1 and 6.1 MiB released in light traffic in 2 of 5 runs, nothing in 3`. May be empty.
fn divided_runs(window: &Given) -> String {
    let runs = &window.runs;
    let all = runs.len();
    let taken: Vec<f64> = runs.iter().filter(|run| run.took).map(|run| run.taken).collect();
    let taken_again: Vec<f64> = runs
        .iter()
        .filter(|run| !run.much && run.for_a_while > 0.0)
        .map(|run| run.for_a_while)
        .collect();
    let mut parts: Vec<String> = released_in_runs(window).into_iter().collect();
    if !taken_again.is_empty() {
        let count = taken_again.len();
        let amounts = amounts(taken_again);
        parts.push(format!("{amounts} released and taken again in {count} of {all} runs"));
    }
    if !taken.is_empty() {
        let count = taken.len();
        parts.push(format!("{} more taken in {count} of {all} runs", amounts(taken)));
    }
    parts.extend(left_to_kernel(runs));
    parts.join("; ")
}

/// The memory released in a window, in how many runs; `None` if nothing was released in a window that was too short,
/// from which nothing follows.
fn released_in_runs(window: &Given) -> Option<String> {
    let (much, rest): (Vec<&Gave>, Vec<&Gave>) = window.runs.iter().partition(|run| run.much);
    let when = decay::when(window.middle.kind);
    let most_of_rest = rest
        .iter()
        .filter(|run| !is_nothing(run))
        .map(|run| run.released.max(run.fell))
        .reduce(f64::max);
    let little = most_of_rest.map(|most| format!("at most {}", decay::size(most)));
    if !much.is_empty() {
        let amounts = amounts(much.iter().map(|run| run.released).collect());
        let others = match rest.len() {
            0 => String::new(),
            others => format!(", {} in {others}", little.unwrap_or_else(|| "nothing".to_owned())),
        };
        let (count, all) = (much.len(), window.runs.len());
        return Some(format!("{amounts} released {when} in {count} of {all} runs{others}"));
    }
    if let Some(little) = little {
        return Some(format!("{little} released {when}, {}", decay::noise(&window.middle)));
    }
    let is_short = window.middle.short.is_some();
    if !is_short && rest.iter().any(|run| run.for_a_while > 0.0) {
        Some(format!("nothing released for good {when}"))
    } else if rest.iter().any(|run| run.shared > 0.0) {
        Some(format!("only shared memory released {when}"))
    } else if is_short {
        None
    } else {
        Some(format!("nothing released {when}"))
    }
}

/// In how many runs memory was left to the kernel: of those that know how much, and of those that do not.
fn left_to_kernel(runs: &[Gave]) -> Vec<String> {
    let all = runs.len();
    let leaving: Vec<&Gave> = runs.iter().filter(|run| run.much_lazily).collect();
    let sizes: Vec<f64> = leaving.iter().filter_map(|run| run.lazily).collect();
    let (sized, unsized_runs) = (sizes.len(), leaving.len() - sizes.len());
    let mut parts = Vec::new();
    if sized > 0 {
        let amounts = amounts(sizes);
        parts.push(format!(
            "{amounts} left for the kernel to reclaim in {sized} of {all} runs"
        ));
    }
    if unsized_runs > 0 {
        parts.push(format!("{} in {unsized_runs} of {all} runs", decay::SOME_LEFT));
    }
    parts
}

/// Each of a few sizes, the span of many.
fn amounts(mut sizes: Vec<f64>) -> String {
    /// More than these are no longer read one by one.
    const FEW: usize = 3;
    sizes.sort_by(|a, b| b.total_cmp(a));
    let texts: Vec<String> = sizes.iter().map(|size| units::mib(size.round() as u64)).collect();
    match texts.as_slice() {
        [most, .., least] if texts.len() > FEW => format!("{least} to {most} MiB"),
        few => format!("{} MiB", decay::list(few)),
    }
}

/// The cost of light traffic alone, with its interval over the runs.
fn traffic(cost: &MedianInterval) -> String {
    let span = if cost.n == 1 {
        String::new()
    } else {
        let mark = if cost.reached {
            String::new()
        } else {
            format!(" {MARK}")
        };
        let span = figures::span(&signed_size(cost.low), &signed_size(cost.high));
        format!(" ({span}{mark})")
    };
    format!(
        "light traffic alone: {} MiB a minute{span} in the control phase; no figure is corrected for this",
        signed_size(cost.median)
    )
}

#[cfg(test)]
mod tests;
