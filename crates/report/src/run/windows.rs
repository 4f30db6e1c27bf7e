//! Idle windows, one by one and in a sentence.

use crate::charts::rows::Curves;
use crate::run::{decay as words, release};
use analysis::summary::Summary;
use analysis::summary::decay::{self, AFTER, Course, Window};
use base::text::Tone;
use base::text::table::{Column, Table};
use base::units;
use record::{Nanos, WindowEnd};

/// What the table of windows is of.
pub const SUBJECT: &str = "MiB, private, from the start of each window";

/// Most rows: of many windows the last.
const ROWS: usize = 12;

const CURVE: usize = 20;

/// A row for each window, if there were any.
pub fn columns(summary: &Summary) -> Option<Vec<Column>> {
    let shown = shown(&summary.windows);
    (!shown.is_empty()).then(|| rows(&shown))
}

/// Which windows released memory.
pub fn released(summary: &Summary) -> Option<String> {
    words::sentence(&decay::gave(&summary.windows))
}

/// What else there is to say of windows, and of memory that was released by force.
pub fn remarks(summary: &Summary) -> Vec<String> {
    let forced = release::sentences(summary);
    let lazily = shown(&summary.windows).into_iter().filter_map(words::lazily);
    let left_out = shown(&summary.windows).into_iter().filter_map(words::left_out);
    let cost = decay::traffic(&summary.windows).as_ref().map(words::cost);
    let after = cost.into_iter().chain(left_out).chain(lazily).chain(forced);
    after.collect()
}

/// The windows with a row.
pub fn shown(all: &[Window]) -> Vec<&Window> {
    let shown: Vec<&Window> = all
        .iter()
        .filter(|one| one.control || decay::counts(one, all))
        .collect();
    shown[shown.len().saturating_sub(ROWS)..].to_vec()
}

fn rows(windows: &[&Window]) -> Vec<Column> {
    let curves = Curves::new(windows.iter().map(|window| words::curve(window)));
    let size = |value: fn(&Course) -> Option<u64>| known(value, units::mib);
    let when = |value: fn(&Course) -> Option<Nanos>| known(value, words::time);
    let share = |value: fn(&Course) -> Option<f64>| known(value, units::percent);
    let table = Table::new(windows)
        .text("window", 0, |window| words::name(window))
        .sketch(words::CURVE, 2, |window| curves.draw(words::curve(window), CURVE))
        .number("from", 1, size(|course| Some(course.before)));
    let table = (0..AFTER.len()).fold(table, |table, place| {
        let at = known(move |course| course.at[place], units::mib);
        table.number(format!("+{} s", AFTER[place]), 6, at)
    });
    let resident = |window: &&Window| units::or_unknown(window.resident.as_ref(), |course| units::mib(course.floor));
    table
        .number("floor", 0, size(|course| Some(course.floor)))
        .number("t50", 4, when(|course| course.t50))
        .number("t90", 3, when(|course| course.t90))
        .number(words::IN_WINDOW, 1, share(|course| course.share))
        .grouped(words::RETURNED)
        .number(words::BY_THEN, 2, share(|course| course.returned))
        .grouped(words::RETURNED)
        .number("resident", 5, resident)
        .text("", 0, |window| (tone(window), words::end(window)))
        .filled(units::UNKNOWN)
}

/// A figure of private memory.
fn known<T>(value: impl Fn(&Course) -> Option<T>, text: fn(T) -> String) -> impl Fn(&&Window) -> String {
    move |window| units::or_unknown(window.private.as_ref().and_then(&value), text)
}

fn tone(window: &Window) -> Tone {
    match window.why() {
        Some(WindowEnd::Settled) => Tone::Good,
        Some(WindowEnd::Held | WindowEnd::TimedOut | WindowEnd::TooShort) => Tone::Warning,
        Some(WindowEnd::Ended) | None => Tone::Plain,
    }
}
