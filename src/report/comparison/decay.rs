//! What came back while servers were left alone, of all servers.

use crate::analyse::compare::{Cell, Comparison, Decay, Decayed, Ratio, Unit};
use crate::analyse::decay::Window;
use crate::analyse::stats::MedianInterval;
use crate::record::WindowEnd;
use crate::report::decay::{self, Scale};
use crate::units;

use super::figures::{self, HOLE, MARK};

/// Columns of a curve.
const CURVE: usize = 20;

/// One window of one server, every cell as text.
pub struct Line {
    /// The window.
    pub window: String,
    /// Whether it is the first server's.
    pub first: bool,
    /// The server.
    pub server: String,
    /// The curve of its middle run.
    pub curve: String,
    /// The floor with its interval, in MiB.
    pub floor: String,
    /// The floor against the baseline's.
    pub ratio: Option<Ratio>,
    /// Until nine tenths had come back.
    pub t90: String,
    /// Until it had settled.
    pub settle_time: String,
    /// Returned of all that was taken.
    pub returned: String,
    /// How its runs ended.
    pub ends: String,
}

/// A line for each window and server, those of one window together and on one scale.
pub fn lines(comparison: &Comparison) -> Vec<Line> {
    let lines = comparison.decays.iter().flat_map(|window| {
        let shown: Vec<&Window> = window.sides.iter().filter_map(|side| side.shown.as_ref()).collect();
        let scale = Scale::of(shown.into_iter());
        let sides = comparison.sides.iter().zip(&window.sides).enumerate();
        let lines: Vec<Line> = sides
            .map(|(place, (side, decayed))| line(window, place, &side.label, decayed, scale))
            .collect();
        lines
    });
    lines.collect()
}

fn line(window: &Decay, place: usize, server: &str, decayed: &Decayed, scale: Scale) -> Line {
    let curve = decayed.shown.as_ref().map(|shown| scale.draw(shown, CURVE));
    Line {
        window: decay::label(&window.phase, window.kind, window.control),
        first: place == 0,
        server: server.to_owned(),
        curve: curve.unwrap_or_default(),
        floor: figures::with_interval(&decayed.floor, Unit::Bytes),
        ratio: decayed.floor.ratio.clone(),
        t90: with(&decayed.t90, |value| decay::time(value.round() as u64)),
        settle_time: with(&decayed.settle_time, |value| decay::time(value.round() as u64)),
        returned: with(&decayed.returned, units::percent),
        ends: ends(&decayed.ends),
    }
}

/// `2.3 s (2.1–2.6 s)`, marked where the interval is the range of too few runs; a hole is `–`.
fn with(cell: &Cell, text: fn(f64) -> String) -> String {
    let Some(median) = cell.median else {
        return HOLE.to_owned();
    };
    if median.n < 2 {
        return text(median.median);
    }
    let mark = if median.reached {
        String::new()
    } else {
        format!(" {MARK}")
    };
    format!(
        "{} ({}{mark})",
        text(median.median),
        figures::span(&text(median.low), &text(median.high))
    )
}

fn ends(ends: &[(WindowEnd, u64)]) -> String {
    let word = |end: WindowEnd| match end {
        WindowEnd::Settled => "settled",
        WindowEnd::Held => "held",
        WindowEnd::TimedOut => "timed out",
        WindowEnd::Ended => "ended",
    };
    match ends {
        [(end, _)] => word(*end).to_owned(),
        ends => {
            let parts: Vec<String> = ends
                .iter()
                .map(|(end, count)| format!("{count} {}", word(*end)))
                .collect();
            parts.join(", ")
        }
    }
}

/// In which windows each server gave memory back, in a sentence each.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    let sides = comparison.sides.iter();
    let said = sides.filter_map(|side| {
        let sentence = decay::sentence(&side.gave)?;
        let cost = side.traffic.map(|cost| format!("; {}", traffic(&cost)));
        Some(format!("{}: {sentence}{}", side.label, cost.unwrap_or_default()))
    });
    said.collect()
}

/// What light traffic cost by itself, with its interval over the runs.
fn traffic(cost: &MedianInterval) -> String {
    let size = |bytes: f64| units::signed_mib(bytes.round() as i64);
    let mark = if cost.reached {
        String::new()
    } else {
        format!(" {MARK}")
    };
    let span = match cost.n {
        1 => String::new(),
        _ => format!(" ({}{mark})", figures::span(&size(cost.low), &size(cost.high))),
    };
    format!(
        "light traffic by itself, as the control has it, {} MiB a minute{span}, taken off no figure",
        size(cost.median)
    )
}
