//! What came back while servers were left alone, of all servers.

use crate::analyse::compare::{Cell as Figures, Comparison, Decayed, Given, Side, Unit};
use crate::analyse::decay::{AFTER, Gave, Window};
use crate::analyse::stats::MedianInterval;
use crate::record::WindowEnd;
use crate::report::decay;
use crate::report::spark::Scale;
use crate::report::table::{Cell, Column};
use crate::report::text::Tone;
use crate::units;

use super::figures::{self, HOLE, MARK};

/// What the table is of.
pub const SUBJECT: &str = "private, MiB, from the beginning of each window";

/// Columns of a curve.
const CURVE: usize = 20;

/// One window of one server.
struct Line<'c> {
    /// The name of the window.
    name: String,
    /// Whether it is the first server's.
    first: bool,
    server: &'c str,
    /// The curve of its middle run.
    curve: String,
    decayed: &'c Decayed,
}

/// How often the name of a window stands in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Once, beside its first server: a terminal is read downwards.
    Once,
    /// Beside each server: a table that is copied and sorted.
    Always,
}

/// The table of windows, a row for each window and server, those of one window on one scale; `None` where there was none.
pub fn columns(comparison: &Comparison, named: Named) -> Option<Vec<Column>> {
    let lines = lines(comparison);
    let cells = |cell: &dyn Fn(&Line) -> Cell| lines.iter().map(cell).collect::<Vec<Cell>>();
    let plain = |text: &dyn Fn(&Decayed) -> String| cells(&|line| Cell::plain(text(line.decayed)));
    let name = |line: &Line| match (named, line.first) {
        (Named::Once, false) => Cell::plain(""),
        (Named::Once, true) | (Named::Always, _) => Cell::toned(Tone::Strong, &line.name),
    };
    let against = |line: &Line| match line.decayed.floor.ratio.as_ref().filter(|_| !line.first) {
        Some(ratio) => Cell::toned(
            figures::tone(ratio),
            figures::difference(ratio).unwrap_or_else(|| HOLE.to_owned()),
        ),
        None => Cell::plain(""),
    };
    let size = |value: f64| figures::value(value, Unit::Bytes);
    let mut table = vec![
        Column::text("window", 0, cells(&name)),
        Column::text("server", 0, cells(&|line| Cell::plain(line.server))),
        Column::text(decay::CURVE, 3, cells(&|line| Cell::plain(&line.curve))),
        Column::number("from", 6, plain(&|one| middle(&one.before, size))),
    ];
    for (place, seconds) in AFTER.iter().enumerate() {
        let at = plain(&|one| middle(&one.at[place], size));
        table.push(Column::number(format!("+{seconds} s"), 8, at));
    }
    let time = |value: f64| decay::time(value.round() as u64);
    table.extend([
        Column::text(
            "floor",
            0,
            plain(&|one| figures::with_interval(&one.floor, Unit::Bytes)),
        ),
        Column::text("vs baseline", 4, cells(&against)),
        Column::text("t50", 7, plain(&|one| with(&one.t50, time))),
        Column::text("t90", 5, plain(&|one| with(&one.t90, time))),
        Column::text("half-life", 10, plain(&|one| with(&one.half_life, time))),
        Column::text("MiB·s held", 9, plain(&|one| with(&one.held, decay::held))),
        Column::text("settle time", 2, plain(&|one| with(&one.settle_time, time))),
        Column::number(
            decay::LAZILY,
            8,
            plain(&|one| {
                let much = one.lazily_freed.median.zip(one.before.median);
                let much = much.is_some_and(|(lazily, before)| lazily.median > before.median / 100.0);
                if much {
                    with(&one.lazily_freed, size)
                } else {
                    HOLE.to_owned()
                }
            }),
        ),
        Column::text(decay::IN_WINDOW, 2, plain(&|one| with(&one.share, units::percent))).of(decay::RETURNED),
        Column::text(decay::BY_THEN, 6, plain(&|one| with(&one.returned, units::percent))).of(decay::RETURNED),
        Column::text("ended", 1, plain(&|one| ends(&one.ends))),
    ]);
    table.retain(|column| column.is_filled(HOLE));
    (!lines.is_empty()).then_some(table)
}

/// A line for each window and server, those of one window together and on one scale.
fn lines<'c>(comparison: &'c Comparison) -> Vec<Line<'c>> {
    let lines = comparison.decays.iter().flat_map(|window| {
        let shown: Vec<&Window> = window.sides.iter().filter_map(|side| side.shown.as_ref()).collect();
        let scale = Scale::of(shown.into_iter());
        let sides = comparison.sides.iter().zip(&window.sides).enumerate();
        let line = |(place, (side, decayed)): (usize, (&'c Side, &'c Decayed))| {
            let curve = decayed.shown.as_ref().map(|shown| scale.draw(shown, CURVE));
            Line {
                name: decay::label(&window.phase, window.kind, window.control),
                first: place == 0,
                server: &side.label,
                curve: curve.unwrap_or_default(),
                decayed,
            }
        };
        sides.map(line).collect::<Vec<Line>>()
    });
    lines.collect()
}

/// The middle by itself; a hole is `–`.
fn middle(cell: &Figures, text: impl Fn(f64) -> String) -> String {
    known(cell, |median| text(median.median))
}

/// The same with its interval.
fn with(cell: &Figures, text: impl Fn(f64) -> String) -> String {
    known(cell, |median| figures::around(median, &text))
}

/// What is known of all runs, or of how many. Of less than half of them it is no figure of the server: `– (2 of 5)`.
fn known(cell: &Figures, text: impl Fn(&MedianInterval) -> String) -> String {
    let (of, all) = (cell.values.iter().flatten().count(), cell.values.len());
    match cell.median {
        None => HOLE.to_owned(),
        Some(_) if of * 2 < all => format!("{HOLE} ({of} of {all})"),
        Some(median) if of < all => format!("{} ({of} of {all})", text(&median)),
        Some(median) => text(&median),
    }
}

/// What the columns of this table mean.
pub fn legend(table: &[Column]) -> String {
    let is_counted = |text: &str| text.ends_with(')') && text.contains(" of ");
    let figures = table.iter().filter(|column| column.name() != "server");
    let counted = figures
        .flat_map(Column::cells)
        .any(|cell| is_counted(&cell.text))
        .then_some("2 of 5: in so many of the runs there is such a value; in less than half of them it is not told");
    let meanings = Some(decay::legend(table)).filter(|meanings| !meanings.is_empty());
    let parts: Vec<&str> = meanings.as_deref().into_iter().chain(counted).collect();
    parts.join(" · ")
}

fn ends(ends: &[(WindowEnd, u64)]) -> String {
    let word = |end: WindowEnd| match end {
        WindowEnd::Settled => "settled",
        WindowEnd::Held => "held",
        WindowEnd::TimedOut => "timed out",
        WindowEnd::TooShort => "too short",
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
        let sentence = sentence(&side.gave)?;
        let cost = side.traffic.map(|cost| format!("; {}", traffic(&cost)));
        Some(format!("{}: {sentence}{}", side.label, cost.unwrap_or_default()))
    });
    said.collect()
}

/// Which windows gave memory back, where all runs say the same; of the others, in how many runs.
fn sentence(gave: &[Given]) -> Option<String> {
    let (alike, apart): (Vec<&Given>, Vec<&Given>) = gave.iter().partition(|given| given.is_unanimous());
    let alike: Vec<Gave> = alike.into_iter().map(|given| given.middle).collect();
    let parts = decay::sentence(&alike)
        .into_iter()
        .chain(apart.into_iter().map(divided));
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `light traffic gave back 25.1 and 6.1 MiB in 2 of 5 runs, nothing in 3`.
fn divided(given: &Given) -> String {
    let sizes = |says: fn(&Gave) -> bool| -> Vec<f64> {
        let those = given.runs.iter().filter(|one| says(one));
        those.map(|one| one.bytes.abs()).collect()
    };
    let (back, took) = (sizes(|one| one.much), sizes(|one| one.took));
    let (noun, all) = (decay::noun(given.middle.kind), given.runs.len());
    let nothing = match all - back.len() - took.len() {
        0 => String::new(),
        left => format!(", nothing in {left}"),
    };
    let gave = match back.len() {
        0 => format!("{noun} gave back nothing"),
        runs => format!("{noun} gave back {} in {runs} of {all} runs{nothing}", amounts(back)),
    };
    let took = match took.len() {
        0 => String::new(),
        runs => format!("; during it {} more were taken in {runs} of {all} runs", amounts(took)),
    };
    format!("{gave}{took}{}", left(given))
}

/// In how many runs some was left to the kernel: of those that know how much, and of those that do not.
fn left(given: &Given) -> String {
    let left: Vec<&Gave> = given.runs.iter().filter(|one| one.much_lazily).collect();
    let lazily: Vec<f64> = left.iter().filter_map(|one| one.lazily).collect();
    let (known, all) = (lazily.len(), given.runs.len());
    let sized = match known {
        0 => String::new(),
        runs => format!(
            "; it left {} to the kernel, to take when it needs them, in {runs} of {all} runs",
            amounts(lazily)
        ),
    };
    let some = match left.len() - known {
        0 => String::new(),
        runs => format!("; it left {}, in {runs} of {all} runs", decay::SOME_LEFT),
    };
    format!("{sized}{some}")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::decay::WindowKind;

    fn given(kind: WindowKind, mib: &[f64]) -> Given {
        let gave = |mib: f64| Gave {
            kind,
            bytes: mib * f64::from(1 << 20),
            share: None,
            much: mib > 1.0,
            took: mib < -1.0,
            held: false,
            lazily: None,
            much_lazily: false,
        };
        let runs: Vec<Gave> = mib.iter().map(|mib| gave(*mib)).collect();
        let middle = runs[runs.len() / 2];
        Given { runs, middle }
    }

    #[test]
    fn runs_that_disagree_on_what_came_back_are_counted() {
        use WindowKind::{Silent, Simmer};
        let said = |mib: &[f64]| sentence(&[given(Simmer, mib)]).unwrap();
        assert_eq!(
            sentence(&[
                given(Silent, &[0.0, 0.1, 0.0, 0.0, 0.0]),
                given(Simmer, &[25.1, 0.4, 6.1, 0.2, 0.0])
            ])
            .unwrap(),
            "silence gave back nothing; light traffic gave back 25.1 and 6.1 MiB in 2 of 5 runs, nothing in 3"
        );
        assert_eq!(
            said(&[7.0, 6.1, 25.1, 8.0, 0.0]),
            "light traffic gave back 6.1 to 25.1 MiB in 4 of 5 runs, nothing in 1"
        );
        assert_eq!(
            said(&[7.0, -3.0]),
            "light traffic gave back 7.0 MiB in 1 of 2 runs; during it 3.0 MiB more were taken in 1 of 2 runs"
        );
        assert_eq!(
            said(&[0.0, -3.0, -4.0]),
            "light traffic gave back nothing; during it 4.0 and 3.0 MiB more were taken in 2 of 3 runs"
        );
        assert_eq!(said(&[0.0, 0.2]), "light traffic gave back nothing");
        let mut left = given(Silent, &[0.0, 0.1, 0.0]);
        (left.runs[1].lazily, left.runs[1].much_lazily) = (Some(f64::from(107 << 20)), true);
        assert_eq!(
            sentence(&[left]).unwrap(),
            "silence gave back nothing; it left 107.0 MiB to the kernel, to take when it needs them, in 1 of 3 runs"
        );
        assert_eq!(sentence(&[]), None);
    }

    #[test]
    fn runs_that_left_an_unknown_size_to_the_kernel_are_counted() {
        let mut given = given(WindowKind::Silent, &[0.0, 0.1, 0.0]);
        given.runs[0].much_lazily = true;
        assert_eq!(
            sentence(&[given.clone()]).unwrap(),
            "silence gave back nothing; it left some to the kernel, how much is not known, in 1 of 3 runs"
        );
        (given.runs[1].lazily, given.runs[1].much_lazily) = (Some(f64::from(107 << 20)), true);
        assert_eq!(
            sentence(&[given.clone()]).unwrap(),
            "silence gave back nothing; it left 107.0 MiB to the kernel, to take when it needs them, in 1 of 3 runs; it left \
             some to the kernel, how much is not known, in 1 of 3 runs"
        );
        given.runs.truncate(1);
        given.middle = given.runs[0];
        assert_eq!(
            sentence(&[given]).unwrap(),
            "silence gave back nothing, but left some to the kernel, how much is not known"
        );
    }

    #[test]
    fn what_less_than_half_of_the_runs_have_is_no_figure() {
        let said = |values: &[Option<f64>]| {
            let known: Vec<f64> = values.iter().copied().flatten().collect();
            let median = crate::analyse::stats::median_interval(&known, 0.95);
            let cell = Figures {
                values: values.to_vec(),
                median,
                ratio: None,
                clusters: Vec::new(),
                outliers: Vec::new(),
            };
            middle(&cell, |value| format!("{value}"))
        };
        assert_eq!(said(&[None, None]), "–");
        assert_eq!(said(&[Some(12.0), None, Some(12.0), None, None]), "– (2 of 5)");
        assert_eq!(said(&[Some(12.0), None]), "12 (1 of 2)");
        assert_eq!(said(&[Some(12.0), Some(12.0)]), "12");
    }
}
