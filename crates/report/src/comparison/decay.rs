//! Idle windows of all servers.

use crate::charts::rows::Curves;
use crate::run::decay;
use analysis::compare::{Cell as Figures, Comparison, Decayed, Given, Side};
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

struct Line<'c> {
    name: String,
    /// Whether it is the first server's.
    first: bool,
    server: &'c str,
    /// The curve of its middle run.
    curve: String,
    decayed: &'c Decayed,
}

/// The table of windows, a row for each window and server, those of one window on one scale; `None` where there was none.
pub fn columns(comparison: &Comparison) -> Option<Vec<Column>> {
    let lines = lines(comparison);
    let against = |line: &Line| match line.decayed.floor.ratio.as_ref().filter(|_| !line.first) {
        Some(ratio) => {
            let difference = figures::against(ratio);
            Cell::toned(difference.tone(), difference.range)
        }
        None => Cell::plain(""),
    };
    let size = |value: f64| figures::value(value, Unit::Bytes);
    let time = |value: f64| decay::time(value.round() as u64);
    let lazily = |one: &Decayed| {
        let much = one.lazily_freed.median.zip(one.before.median);
        let much = much.is_some_and(|(lazily, before)| lazily.median > before.median / 100.0);
        if much {
            with(&one.lazily_freed, size)
        } else {
            HOLE.to_owned()
        }
    };
    let table = Table::new(&lines)
        .text("window", 0, |line| (Tone::Strong, &line.name))
        .text("server", 0, |line| line.server)
        .sketch(decay::CURVE, 3, |line| line.curve.clone())
        .number("from", 6, |line| middle(&line.decayed.before, size));
    let table = AFTER.iter().enumerate().fold(table, |table, (place, seconds)| {
        table.number(format!("+{seconds} s"), 8, move |line| {
            middle(&line.decayed.at[place], size)
        })
    });
    let table = table
        .text("floor", 0, |line| {
            figures::with_interval(&line.decayed.floor, Unit::Bytes)
        })
        .text("vs baseline", 4, against)
        .text("t50", 7, |line| with(&line.decayed.t50, time))
        .text("t90", 5, |line| with(&line.decayed.t90, time))
        .text("settle time", 2, |line| with(&line.decayed.settle_time, time))
        .number(decay::LAZILY, 8, |line| lazily(line.decayed))
        .text(decay::IN_WINDOW, 2, |line| with(&line.decayed.share, units::percent))
        .grouped(decay::RETURNED)
        .text(decay::BY_THEN, 6, |line| with(&line.decayed.returned, units::percent))
        .grouped(decay::RETURNED)
        .text("ended", 1, |line| ends(&line.decayed.ends))
        .filled(HOLE);
    (!lines.is_empty()).then_some(table)
}

/// A line for each window and server, those of one window together and on one scale.
fn lines<'c>(comparison: &'c Comparison) -> Vec<Line<'c>> {
    let lines = comparison.decays.iter().flat_map(|window| {
        let shown = window.sides.iter().filter_map(|side| side.shown.as_ref());
        let curves = Curves::new(shown.map(decay::curve));
        let sides = comparison.sides.iter().zip(&window.sides).enumerate();
        let line = |(place, (side, decayed)): (usize, (&'c Side, &'c Decayed))| {
            let curve = decayed
                .shown
                .as_ref()
                .map(|shown| curves.draw(decay::curve(shown), CURVE));
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

/// The median alone; a gap is `–`.
fn middle(cell: &Figures, text: impl Fn(f64) -> String) -> String {
    known(cell, |median| text(median.median))
}

fn with(cell: &Figures, text: impl Fn(f64) -> String) -> String {
    known(cell, |median| figures::around(median, &text))
}

/// The text of a figure, with the number of runs that have it if not all do. Below half it is not shown: `– (2 of 5)`.
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
        .then_some("2 of 5: so many runs have this value; below half it is not shown");
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

/// How much servers released in which windows: a line for those that did the same.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    grouped(comparison, &brief)
}

/// The same with every run, in more words.
pub fn details(comparison: &Comparison) -> Vec<String> {
    let all = grouped(comparison, &sentence);
    let brief = verdict(comparison);
    all.into_iter().filter(|sentence| !brief.contains(sentence)).collect()
}

fn grouped(comparison: &Comparison, sentence: &dyn Fn(&[Given]) -> Option<String>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for side in &comparison.sides {
        let Some(sentence) = sentence(&side.gave) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, servers)) => servers.push(&side.label),
            None => groups.push((sentence, vec![&side.label])),
        }
    }
    let sentences = groups.into_iter();
    sentences
        .map(|(sentence, servers)| format!("{}: {sentence}", servers.join(", ")))
        .collect()
}

/// The cost of light traffic alone, for each server.
pub fn costs(comparison: &Comparison) -> Vec<String> {
    let costs = comparison.sides.iter().filter_map(|side| Some((side, side.traffic?)));
    costs
        .map(|(side, cost)| format!("{}: {}", side.label, traffic(&cost)))
        .collect()
}

/// `released nothing while idle, ≤ 26.6 MiB in light traffic`. What only more words can say is said in them.
fn brief(gave: &[Given]) -> Option<String> {
    let unusual = |one: &Gave| one.shared > 0.0 || one.much_lazily || one.took || one.for_a_while > 0.0;
    let mut runs = gave.iter().flat_map(|given| &given.runs);
    if runs.clone().any(unusual) || !runs.any(|one| one.much) {
        return sentence(gave);
    }
    let middles: Vec<Gave> = gave.iter().map(|given| given.middle).collect();
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    for given in gave {
        let released = given.runs.iter().map(|one| if one.much { one.released } else { 0.0 });
        let (least, most) = released.fold((f64::INFINITY, 0.0_f64), |(least, most), one| {
            (least.min(one), most.max(one))
        });
        let size = |bytes: f64| {
            if bytes > 0.0 {
                units::mib(bytes.round() as u64)
            } else {
                "0".to_owned()
            }
        };
        let amount = match (size(least), size(most)) {
            // Nothing follows from a window that was too short.
            _ if most <= 0.0 && given.middle.short.is_some() => continue,
            _ if most <= 0.0 => "nothing".to_owned(),
            (least, most) if least == most => format!("{most} MiB"),
            (least, most) if least == "0" => format!("≤ {most} MiB"),
            (least, most) => format!("{least} to {most} MiB"),
        };
        let when = decay::when(given.middle.kind).to_owned();
        match parts.iter_mut().find(|(known, _)| *known == amount) {
            Some((_, windows)) => windows.push(when),
            None => parts.push((amount, vec![when])),
        }
    }
    let words = parts
        .iter()
        .map(|(amount, windows)| format!("{amount} {}", windows.join(" or ")));
    let words: Vec<String> = words.collect();
    let released = (!words.is_empty()).then(|| format!("released {}", words.join(", ")));
    let parts: Vec<String> = released.into_iter().chain(decay::not_known(&middles)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Which windows released memory, where all runs say the same; of the others, in how many runs.
fn sentence(gave: &[Given]) -> Option<String> {
    let (alike, apart): (Vec<&Given>, Vec<&Given>) = gave.iter().partition(|given| {
        let released = given.middle.much || given.runs.iter().all(is_nothing);
        given.is_unanimous() && released
    });
    let alike: Vec<Gave> = alike.into_iter().map(|given| given.middle).collect();
    let middles: Vec<Gave> = gave.iter().map(|given| given.middle).collect();
    let parts = decay::seen(&alike)
        .into_iter()
        .chain(apart.into_iter().map(divided))
        .chain(decay::not_known(&middles));
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn is_nothing(gave: &Gave) -> bool {
    decay::is_nothing(gave.released, gave.share, gave.fell)
}

/// `25.1 and 6.1 MiB released in light traffic in 2 of 5 runs, nothing in 3`.
fn divided(given: &Given) -> String {
    let (much, rest): (Vec<&Gave>, Vec<&Gave>) = given.runs.iter().partition(|one| one.much);
    let (when, all) = (decay::when(given.middle.kind), given.runs.len());
    let is_short = given.middle.short.is_some();
    let little = rest
        .iter()
        .filter(|one| !is_nothing(one))
        .map(|one| one.released.max(one.fell));
    let little = little
        .reduce(f64::max)
        .map(|most| format!("at most {}", decay::size(most)));
    let again = rest.iter().map(|one| one.for_a_while).filter(|fell| *fell > 0.0);
    let again: Vec<f64> = again.collect();
    let released = match (much.len(), little) {
        (0, None) if !again.is_empty() && !is_short => format!("nothing released for good {when}"),
        (0, None) if given.runs.iter().any(|one| one.shared > 0.0) => format!("only shared memory released {when}"),
        // Nothing follows from a window that was too short.
        (0, None) if is_short => String::new(),
        (0, None) => format!("nothing released {when}"),
        (0, Some(little)) => format!("{little} released {when}, {}", decay::noise(&given.middle)),
        (runs, little) => {
            let rest = match rest.len() {
                0 => String::new(),
                left => format!(", {} in {left}", little.unwrap_or_else(|| "nothing".to_owned())),
            };
            let much = amounts(much.iter().map(|one| one.released).collect());
            format!("{much} released {when} in {runs} of {all} runs{rest}")
        }
    };
    let taken: Vec<f64> = given.runs.iter().filter(|one| one.took).map(|one| one.taken).collect();
    let took = match taken.len() {
        0 => String::new(),
        runs => format!("; {} more taken in {runs} of {all} runs", amounts(taken)),
    };
    let again = match again.len() {
        0 => String::new(),
        runs => format!("; {} released and taken again in {runs} of {all} runs", amounts(again)),
    };
    let sentence = format!("{released}{again}{took}{}", left(given));
    sentence.trim_start_matches("; ").to_owned()
}

/// In how many runs some was left to the kernel: of those that know how much, and of those that do not.
fn left(given: &Given) -> String {
    let left: Vec<&Gave> = given.runs.iter().filter(|one| one.much_lazily).collect();
    let lazily: Vec<f64> = left.iter().filter_map(|one| one.lazily).collect();
    let (known, all) = (lazily.len(), given.runs.len());
    let sized = match known {
        0 => String::new(),
        runs => format!(
            "; {} left for the kernel to reclaim in {runs} of {all} runs",
            amounts(lazily)
        ),
    };
    let some = match left.len() - known {
        0 => String::new(),
        runs => format!("; {} in {runs} of {all} runs", decay::SOME_LEFT),
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

/// The cost of light traffic alone, with its interval over the runs.
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
        "light traffic alone: {} MiB a minute{span} in the control phase; no figure is corrected for this",
        size(cost.median)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::summary::decay::{Short, WindowKind};
    use record::Runtime;

    fn given(kind: WindowKind, mib: &[f64]) -> Given {
        let gave = |mib: f64| Gave {
            kind,
            released: mib.max(0.0) * f64::from(1 << 20),
            share: None,
            fell: 0.0,
            for_a_while: 0.0,
            taken: -mib.min(0.0) * f64::from(1 << 20),
            noise: f64::from(1 << 19),
            much: mib > 0.5,
            took: mib < -0.5,
            held: false,
            never: false,
            unknown: false,
            passive: None,
            short: None,
            shared: 0.0,
            lazily: None,
            much_lazily: false,
        };
        let runs: Vec<Gave> = mib.iter().map(|mib| gave(*mib)).collect();
        let middle = runs[runs.len() / 2];
        Given { runs, middle }
    }

    #[test]
    fn runs_that_disagree_on_what_they_released_are_counted() {
        use WindowKind::{Silent, Simmer};
        let sentences = |mib: &[f64]| sentence(&[given(Simmer, mib)]).unwrap();
        assert_eq!(
            sentence(&[
                given(Silent, &[0.0, 0.01, 0.0, 0.0, 0.0]),
                given(Simmer, &[25.1, 0.02, 6.1, 0.0, 0.0])
            ])
            .unwrap(),
            "nothing released while idle; 25.1 and 6.1 MiB released in light traffic in 2 of 5 runs, nothing in 3"
        );
        assert_eq!(
            sentences(&[7.0, 6.1, 25.1, 8.0, 0.0]),
            "6.1 to 25.1 MiB released in light traffic in 4 of 5 runs, nothing in 1"
        );
        assert_eq!(
            sentences(&[7.0, -3.0]),
            "7.0 MiB released in light traffic in 1 of 2 runs, nothing in 1; 3.0 MiB more taken in 1 of 2 runs"
        );
        assert_eq!(
            sentences(&[0.0, -3.0, -4.0]),
            "nothing released in light traffic; 4.0 and 3.0 MiB more taken in 2 of 3 runs"
        );
        let mut left = given(Silent, &[0.0, 0.0, 0.0]);
        (left.runs[1].lazily, left.runs[1].much_lazily) = (Some(f64::from(107 << 20)), true);
        assert_eq!(
            sentence(&[left]).unwrap(),
            "nothing released while idle; 107.0 MiB left for the kernel to reclaim in 1 of \
             3 runs"
        );
        assert_eq!(sentence(&[]), None);
    }

    #[test]
    fn what_the_table_of_any_run_prints_is_not_called_nothing() {
        let sentences = |mib: &[f64]| sentence(&[given(WindowKind::Simmer, mib)]).unwrap();
        assert_eq!(sentences(&[0.0, 0.0]), "nothing released in light traffic");
        assert_eq!(
            sentences(&[0.0, 0.2, 0.4]),
            "at most 0.4 MiB released in light traffic, within noise (0.5 MiB)"
        );
        assert_eq!(
            sentences(&[7.0, 0.2, 0.0]),
            "7.0 MiB released in light traffic in 1 of 3 runs, at most 0.2 MiB in 2"
        );
        let mut fell = given(WindowKind::Simmer, &[0.0, 0.0]);
        fell.runs[1].for_a_while = f64::from(3 << 20);
        assert_eq!(
            sentence(&[fell]).unwrap(),
            "nothing released for good in light traffic; 3.0 MiB released and taken again in 1 of 2 runs"
        );
        let mut shared = given(WindowKind::Simmer, &[0.04, 0.0]);
        shared.runs[0].share = Some(0.03);
        assert_eq!(
            sentence(&[shared]).unwrap(),
            "at most 41.0 KiB released in light traffic, within noise (0.5 MiB)"
        );
    }

    #[test]
    fn runs_that_left_an_unknown_size_to_the_kernel_are_counted() {
        let mut given = given(WindowKind::Silent, &[0.0, 0.0, 0.0]);
        given.runs[0].much_lazily = true;
        assert_eq!(
            sentence(&[given.clone()]).unwrap(),
            "nothing released while idle; an unknown amount left for the kernel to reclaim in 1 of 3 runs"
        );
        (given.runs[1].lazily, given.runs[1].much_lazily) = (Some(f64::from(107 << 20)), true);
        assert_eq!(
            sentence(&[given.clone()]).unwrap(),
            "nothing released while idle; 107.0 MiB left for the kernel to reclaim in 1 of \
             3 runs; \
             an unknown amount left for the kernel to reclaim in 1 of 3 runs"
        );
        given.runs.truncate(1);
        given.middle = given.runs[0];
        assert_eq!(
            sentence(&[given]).unwrap(),
            "nothing released while idle, but an unknown amount left for the kernel to reclaim"
        );
    }

    #[test]
    fn what_less_than_half_of_the_runs_have_is_no_figure() {
        let sentences = |values: &[Option<f64>]| {
            let known: Vec<f64> = values.iter().copied().flatten().collect();
            let median = stats::median_interval(&known, 0.95);
            let cell = Figures {
                values: values.to_vec(),
                median,
                ratio: None,
                clusters: Vec::new(),
                outliers: Vec::new(),
            };
            middle(&cell, |value| format!("{value}"))
        };
        assert_eq!(sentences(&[None, None]), "–");
        assert_eq!(sentences(&[Some(12.0), None, Some(12.0), None, None]), "– (2 of 5)");
        assert_eq!(sentences(&[Some(12.0), None]), "12 (1 of 2)");
        assert_eq!(sentences(&[Some(12.0), Some(12.0)]), "12");
    }

    #[test]
    fn nothing_follows_from_runs_whose_windows_were_too_short() {
        let short = |mib: &[f64], kind| {
            let mut given = given(kind, mib);
            let short = Some(Short {
                took: 9_000_000_000,
                needed: 17_000_000_000,
                runtime: Runtime::V8,
                full_decay_helps: true,
            });
            given.runs.iter_mut().for_each(|run| run.short = short);
            given.middle.short = short;
            given
        };
        let why = "not known: the window was 9 s, V8 needs about 17 s (`--full-decay`)";
        assert_eq!(
            brief(&[short(&[0.0, 0.0], WindowKind::Silent)]).unwrap(),
            format!("what is released while idle is {why}")
        );
        assert_eq!(
            brief(&[short(&[7.0, 9.0], WindowKind::Silent)]).unwrap(),
            format!("released 7.0 to 9.0 MiB while idle; what else is released while idle is {why}")
        );
        assert_eq!(
            sentence(&[short(&[0.0, -3.0], WindowKind::Silent)]).unwrap(),
            format!("3.0 MiB more taken in 1 of 2 runs; what is released while idle is {why}")
        );
        let both = [
            given(WindowKind::Simmer, &[0.0, 0.0]),
            short(&[0.0, 0.0], WindowKind::Silent),
        ];
        assert_eq!(
            brief(&both).unwrap(),
            format!("nothing released in light traffic; what is released while idle is {why}")
        );
    }
}
