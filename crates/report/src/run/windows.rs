//! Idle windows, one by one and in a sentence.

use crate::charts::rows::Curves;
use crate::run::{decay as words, release};
use analysis::summary::Summary;
use analysis::summary::decay::{self, AFTER, Course, Window};
use base::text::Tone;
use base::text::table::{Column, Table};
use base::units;
use record::{Nanos, WindowEnd};

/// The note of the table of windows.
pub const SUBJECT: &str = "MiB, private, from the start of each window";

/// Most rows of the table: the last windows.
const ROWS: usize = 12;

const CURVE: usize = 20;

/// A row for each window, if there were any.
pub fn columns(summary: &Summary) -> Option<Vec<Column>> {
    let shown = shown(&summary.windows);
    if shown.is_empty() { None } else { Some(rows(&shown)) }
}

/// One sentence on the windows that released memory.
pub fn released(summary: &Summary) -> Option<String> {
    words::sentence(&decay::gave(&summary.windows))
}

/// Remarks on windows, and on memory that was released by force.
pub fn remarks(summary: &Summary) -> Vec<String> {
    let shown = shown(&summary.windows);
    let mut remarks = Vec::new();
    remarks.extend(decay::traffic(&summary.windows).as_ref().map(words::traffic_cost));
    remarks.extend(shown.iter().filter_map(|window| words::unsent_traffic(window)));
    remarks.extend(shown.iter().filter_map(|window| words::lazily_freed(window)));
    remarks.extend(release::sentences(summary));
    remarks
}

/// The windows with a row.
pub fn shown(all: &[Window]) -> Vec<&Window> {
    let shown: Vec<&Window> = all
        .iter()
        .filter(|window| window.control || decay::counts(window, all))
        .collect();
    shown[shown.len().saturating_sub(ROWS)..].to_vec()
}

fn rows(windows: &[&Window]) -> Vec<Column> {
    let curves = Curves::new(windows.iter().map(|window| words::curve(window)));
    let mut table = Table::new(windows)
        .text("window", 0, |window| words::name(window))
        .sketch(words::CURVE, 2, |window| curves.draw(words::curve(window), CURVE))
        .number("from", 1, |window| size(private(window, |course| Some(course.before))));
    for (place, seconds) in AFTER.iter().enumerate() {
        table = table.number(format!("+{seconds} s"), 6, |window| {
            size(private(window, |course| course.at[place]))
        });
    }
    table
        .number("floor", 0, |window| size(private(window, |course| Some(course.floor))))
        .number("t50", 4, |window| time(private(window, |course| course.t50)))
        .number("t90", 3, |window| time(private(window, |course| course.t90)))
        .number(words::IN_WINDOW, 1, |window| {
            share(private(window, |course| course.share))
        })
        .grouped(words::RETURNED)
        .number(words::BY_THEN, 2, |window| {
            share(private(window, |course| course.returned))
        })
        .grouped(words::RETURNED)
        .number("resident", 5, |window| {
            size(window.resident.as_ref().map(|course| course.floor))
        })
        .text("", 0, |window| (tone(window), words::end(window)))
        .filled(units::UNKNOWN)
}

/// A figure of private memory.
fn private<T>(window: &Window, figure: impl Fn(&Course) -> Option<T>) -> Option<T> {
    figure(window.private.as_ref()?)
}

fn size(bytes: Option<u64>) -> String {
    units::or_unknown(bytes, units::mib)
}

fn time(nanos: Option<Nanos>) -> String {
    units::or_unknown(nanos, words::time)
}

fn share(share: Option<f64>) -> String {
    units::or_unknown(share, units::percent)
}

fn tone(window: &Window) -> Tone {
    match window.why() {
        Some(WindowEnd::Settled) => Tone::Good,
        Some(WindowEnd::Held | WindowEnd::TimedOut | WindowEnd::TooShort) => Tone::Warning,
        Some(WindowEnd::Ended) | None => Tone::Plain,
    }
}
