//! Idle windows of all servers, or of one run: their table, and remarks on single windows.

use std::time::Duration;

use crate::charts::rows::Curves;
use analysis::compare::{Cell as FigureCell, Comparison, Decay, Decayed};
use analysis::figures::Unit;
use analysis::summary::Summary;
use analysis::summary::decay::{self, AFTER, Course, TooShortFor, Window, WindowKind};
use base::curve::Curve;
use base::text::Tone;
use base::text::table::{Column, Table, TableCell};
use base::units;
use record::{Delay, Nanos, WindowEnd};
use stats::MedianInterval;

use super::figures::{self, HOLE};
use super::released::{about, is_nothing, size};

/// The note of the table of windows.
pub(crate) const SUBJECT: &str = "MiB, private, from the start of each window";

/// Columns of a drawn curve.
const CURVE: usize = 20;

/// The column for lazily freed memory at the end.
const LAZILY: &str = "lazily freed";

/// Two columns: the share that the window itself released, and the share released by its floor. Both are of the run's
/// growth so far.
const RETURNED: &str = "returned";

/// Meanings of the columns in a table of windows, where the head does not say it.
const MEANINGS: [(&str, &str); 7] = [
    ("floor", "the lowest"),
    ("t50", "time until half of the fall"),
    ("t90", "time until nine tenths of the fall"),
    ("settle time", "time until memory stayed near the floor"),
    (
        "returned in window",
        "share of the growth so far that this window released (growth: highest peak above the lowest checkpoint, or \
         above the floor if that is lower)",
    ),
    (
        "returned by then",
        "share of the growth so far that was released by the floor of this window",
    ),
    (LAZILY, "at its end, resident until the kernel reclaims it"),
];

struct WindowRow<'c> {
    window: String,
    server: &'c str,
    is_baseline: bool,
    /// The curve of the server's middle run.
    curve: String,
    decayed: &'c Decayed,
}

/// The table of windows, a row for each window and server; `None` without windows.
pub(crate) fn columns(comparison: &Comparison) -> Option<Vec<Column>> {
    let rows = rows(comparison);
    if rows.is_empty() {
        return None;
    }
    let has_intervals = rows.iter().any(|row| row.decayed.before.values.len() > 1);
    let mut table = Table::new(&rows).text("window", 0, |row| (Tone::Strong, &row.window));
    if comparison.sides.len() > 1 {
        table = table.text("server", 0, |row| row.server);
    }
    table = table
        .sketch("curve", 3, |row| row.curve.clone())
        .number("from", 4, |row| median(&row.decayed.before, mib));
    for (place, seconds) in AFTER.iter().enumerate() {
        table = table.number(format!("+{seconds} s"), 8, |row| median(&row.decayed.at[place], mib));
    }
    let columns = table
        .medians("floor", 0, has_intervals, |row| {
            figures::with_interval(&row.decayed.floor, Unit::Bytes)
        })
        .text("vs baseline", 4, difference_to_baseline)
        .medians("t50", 7, has_intervals, |row| {
            median_and_interval(&row.decayed.t50, seconds)
        })
        .medians("t90", 5, has_intervals, |row| {
            median_and_interval(&row.decayed.t90, seconds)
        })
        .medians("settle time", 2, has_intervals, |row| {
            median_and_interval(&row.decayed.settle_time, seconds)
        })
        .number(LAZILY, 3, |row| lazily_freed(row.decayed))
        .medians("in window", 2, has_intervals, |row| {
            median_and_interval(&row.decayed.share, units::percent)
        })
        .with_group_head(RETURNED)
        .medians("by then", 6, has_intervals, |row| {
            median_and_interval(&row.decayed.returned, units::percent)
        })
        .with_group_head(RETURNED)
        .number("resident", 8, |row| median(&row.decayed.resident, mib))
        .text("ended", 1, |row| ends(row.decayed))
        .non_blank_columns(HOLE);
    Some(columns)
}

/// The rows of one window follow one another.
fn rows(comparison: &Comparison) -> Vec<WindowRow<'_>> {
    let mut rows = Vec::new();
    for window in &comparison.decays {
        // Servers are compared within a window, windows within a run.
        let curves = if comparison.sides.len() > 1 {
            common_scale(std::slice::from_ref(window))
        } else {
            common_scale(&comparison.decays)
        };
        for (place, (side, decayed)) in comparison.sides.iter().zip(&window.sides).enumerate() {
            let curve = match &decayed.shown {
                Some(shown) => curves.draw(curve(shown), CURVE),
                None => String::new(),
            };
            rows.push(WindowRow {
                window: label(&window.phase, window.kind, window.control),
                server: &side.label,
                is_baseline: place == 0,
                curve,
                decayed,
            });
        }
    }
    rows
}

fn common_scale(windows: &[Decay]) -> Curves {
    let sides = windows.iter().flat_map(|window| &window.sides);
    Curves::new(sides.filter_map(|side| side.shown.as_ref()).map(curve))
}

/// The curve of a window, with how long it took.
fn curve(window: &Window) -> (Nanos, &Curve) {
    (window.took, &window.private_curve)
}

/// The difference of the floors; empty in the rows of the baseline itself.
fn difference_to_baseline(row: &WindowRow<'_>) -> TableCell {
    match &row.decayed.floor.ratio {
        Some(ratio) if !row.is_baseline => {
            let difference = figures::against(ratio);
            TableCell::toned(difference.tone(), difference.range)
        }
        _ => TableCell::plain(""),
    }
}

/// Lazily freed memory, if it is more than a hundredth of the memory at the window's start.
fn lazily_freed(decayed: &Decayed) -> String {
    match (decayed.lazily_freed.median, decayed.before.median) {
        (Some(lazily), Some(before)) if lazily.median > before.median / 100.0 => {
            median_and_interval(&decayed.lazily_freed, mib)
        }
        _ => HOLE.to_owned(),
    }
}

fn mib(bytes: f64) -> String {
    figures::value(bytes, Unit::Bytes)
}

fn seconds(nanos: f64) -> String {
    time(nanos.round() as u64)
}

/// A time within a window: to a tenth of a second, since memory is sampled twenty times a second.
pub(crate) fn time(time: Nanos) -> String {
    format!("{:.1} s", Duration::from_nanos(time).as_secs_f64())
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
pub(crate) fn legend(table: &[Column]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (name, meaning) in MEANINGS {
        if table.iter().any(|column| column.name() == name) {
            parts.push(format!("{name}: {meaning}"));
        }
    }
    let mut figures = table.iter().filter(|column| column.name() != "server");
    if figures.any(|column| column.cells().iter().any(|cell| has_known_runs(&cell.text))) {
        parts.push("2 of 5: so many runs have this value; below half it is not shown".to_owned());
    }
    parts.join(" · ")
}

/// True for a text with a number of runs, as [`with_known_runs`] writes it.
fn has_known_runs(text: &str) -> bool {
    text.ends_with(')') && text.contains(" of ")
}

/// `settled` if all runs ended alike, else `3 settled, 2 held`.
fn ends(decayed: &Decayed) -> TableCell {
    let ends = &decayed.ends;
    let is_too_short = decayed.too_short_for.is_some();
    let mut parts = Vec::new();
    for (end, count) in ends {
        let word = end_word(*end, is_too_short);
        parts.push(if ends.len() == 1 {
            word.to_owned()
        } else {
            format!("{count} {word}")
        });
    }
    let has_doubt = ends
        .keys()
        .any(|end| matches!(end, WindowEnd::Held | WindowEnd::TimedOut | WindowEnd::TooShort));
    let tone = if has_doubt {
        Tone::Warning
    } else if ends.contains_key(&WindowEnd::Settled) {
        Tone::Good
    } else {
        Tone::Plain
    };
    TableCell::toned(tone, parts.join(", "))
}

/// `is_too_short`: the clock of a garbage collector had not run out.
fn end_word(end: WindowEnd, is_too_short: bool) -> &'static str {
    match end {
        WindowEnd::Settled if is_too_short => "too short",
        WindowEnd::Settled => "settled",
        WindowEnd::Held => "held",
        WindowEnd::TimedOut => "timed out",
        WindowEnd::TooShort => "too short",
        WindowEnd::Ended => "ended",
    }
}

/// The name of a window of one or several runs. The kind comes first, since narrow tables cut the end off; a phase with the
/// name of its kind is not named twice.
pub(crate) fn label(phase: &str, kind: WindowKind, control: bool) -> String {
    let (kind, stem) = match kind {
        _ if control => ("control", "control"),
        WindowKind::Silent => ("idle", "idle"),
        WindowKind::Simmer => ("light traffic", "traffic"),
        WindowKind::Closed => ("closing", "clos"),
        WindowKind::Released => ("forced release", "release"),
    };
    if phase.contains(stem) {
        phase.to_owned()
    } else {
        format!("{kind} in {phase}")
    }
}

/// Remarks on the windows of a run beyond their figures: traffic that was not sent, and ends that need a reason.
pub(crate) fn remarks(run: &Summary) -> Vec<String> {
    let all = &run.windows;
    let mut remarks = Vec::new();
    for window in all
        .iter()
        .filter(|window| window.control || decay::is_reported_window(window, all))
    {
        let name = label(&window.phase.name, window.kind, window.control);
        let texts = [unsent_traffic(window), end_remark(window)];
        remarks.extend(texts.into_iter().flatten().map(|text| format!("{name}: {text}")));
    }
    remarks
}

/// Light traffic of a window that was due and not sent.
fn unsent_traffic(window: &Window) -> Option<String> {
    if window.left_out == 0 {
        return None;
    }
    Some(format!(
        "{} of {} were not sent, because an answer was still open or lsp-soak was late",
        units::count(window.left_out),
        units::count_of(window.sent.saturating_add(window.left_out), "message")
    ))
}

/// The reason of a window's end, where its word alone could be misread.
fn end_remark(window: &Window) -> Option<String> {
    let Some(course) = &window.private else {
        let text = "released memory is not known, because a process could not be read or shares pages with its parent";
        return Some(text.to_owned());
    };
    if window.control {
        let more = units::signed_mib(course.released().saturating_neg());
        let messages = units::count_of(window.sent, "message");
        return Some(format!(
            "light traffic by itself changed private memory by {more} MiB in {messages}"
        ));
    }
    match window.end_reason()? {
        WindowEnd::TimedOut if window.moving.is_empty() => {
            // Memory that was not watched for long enough has no conclusion.
            let what = window.settled.map_or("not known to be at rest", |_| "still changing");
            Some(format!("memory was {what} when the time was up"))
        }
        WindowEnd::TooShort => Some(format!(
            "too short: memory was stable, but the window ended after {} of the {} needed",
            time(window.took),
            units::or_unknown(window.needed, time)
        )),
        WindowEnd::TimedOut => Some(format!("still changing when the time was up: {}", window.moving)),
        WindowEnd::Held => Some(held(window, course)),
        WindowEnd::Settled | WindowEnd::Ended => match &window.too_short_for {
            Some(short) => Some(too_short(short)),
            None if window.decay.is_some_and(|decay| decay.lazy) => Some(
                "the allocator leaves freed memory for the kernel to reclaim (MADV_FREE): until then the curve includes \
                 it, checkpoints do not"
                    .to_owned(),
            ),
            None => None,
        },
    }
}

/// A window that ended early because nothing more would be released.
fn held(window: &Window, course: &Course) -> String {
    let runtime = window.decay.and_then(|decay| decay.runtime);
    let why = match (runtime, window.decay.map(|decay| decay.delay)) {
        (Some(runtime), _) => format!("{} releases nothing by itself", runtime.name()),
        (None, Some(Delay::Never)) => "the allocator is set never to purge".to_owned(),
        (None, _) => "the allocator purges only on activity".to_owned(),
    };
    let took = time(window.took);
    // The driver ended the window by its own samples, from which the curve may differ.
    let released = course.released().max(course.gave_for_a_while().cast_signed()) as f64;
    let fell = course.fell_as_shown() as f64;
    if is_nothing(released, course.share, fell) {
        format!("ended early, because {why}; nothing was released in {took}")
    } else {
        let size = size(released.max(fell));
        format!("ended early, because {why}, but its curve shows {size} released in {took}")
    }
}

/// A remark on a window that ended before the clock of a garbage collector did.
fn too_short(short: &TooShortFor) -> String {
    let whose = match short.program.as_str() {
        "" => String::new(),
        program => format!(" of `{program}`, which has most of the memory,"),
    };
    let cure = if short.full_decay_helps {
        "; `--full-decay` waits"
    } else {
        ""
    };
    format!(
        "too short to tell what is released later: {}{whose} needs about {}, the window was {}{cure}",
        short.runtime.name(),
        about(short.needed),
        about(short.took)
    )
}

#[cfg(test)]
mod tests;
