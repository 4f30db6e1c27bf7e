//! Charts of idle windows: every run's curve faint behind the median, with the times of half and nine tenths of the
//! fall.

use crate::charts::axis::{self, Axis};
use crate::charts::{Chart, Mark, Series, Shape, Up};
use crate::document::Block;
use crate::document::page::{self, Keys};
use crate::run::decay as words;
use analysis::compare::{Comparison, Decay};
use analysis::summary::Summary;
use analysis::summary::decay::{self, Course, Window};
use base::units::{self, middle};
use record::Nanos;

use super::Named;

const MOMENTS: usize = 128;

const LEGEND: &str = "Private memory from the start of each window. Faint lines: runs. Strong line: their median; a \
                      run whose window is over keeps its last value. ○ half and ● nine tenths of the fall, at the \
                      median of the runs. Axes do not start at 0.";

/// One server's runs of a window.
struct Decaying<'w> {
    label: &'w str,
    /// Its classes, which are its colour and its dash.
    class: String,
    windows: Vec<&'w Window>,
}

/// A plot for each of these windows of one run.
pub fn one_run(summary: &Summary, windows: &[&Window]) -> Block {
    let plot = |window: &&Window| {
        let one = Decaying {
            label: &summary.header.server.label,
            class: page::class(0),
            windows: vec![window],
        };
        plot(words::name(window), &[one])
    };
    Block::charts(LEGEND, "plots wide", windows.iter().filter_map(plot))
}

/// A plot for each window of all runs of several servers.
pub fn all_runs(comparison: &Comparison, servers: &[(&str, Vec<Named>)], keys: Keys) -> Block {
    let plots = comparison.decays.iter().enumerate().filter_map(|(place, window)| {
        let before = &comparison.decays[..place];
        let number = before.iter().filter(|other| is_alike(other, window)).count();
        let servers = servers.iter().enumerate().map(|(place, (label, runs))| Decaying {
            label,
            class: keys.class(place),
            windows: runs
                .iter()
                .filter_map(|run| found(&run.1.windows, window, number))
                .collect(),
        });
        let title = words::label(&window.phase, window.kind, window.control);
        plot(title, &servers.collect::<Vec<Decaying>>())
    });
    Block::charts(LEGEND, "plots wide", plots)
}

fn is_alike(one: &Decay, other: &Decay) -> bool {
    (&one.phase, one.kind, one.control) == (&other.phase, other.kind, other.control)
}

/// The window of a run, the last round of its phase; a phase may have several of a kind.
fn found<'w>(windows: &'w [Window], of: &Decay, number: usize) -> Option<&'w Window> {
    let is_it = |one: &&Window| (&one.phase.name, one.kind, one.control) == (&of.phase, of.kind, of.control);
    let shown = windows.iter().filter(|one| one.control || decay::counts(one, windows));
    shown.filter(is_it).nth(number)
}

fn plot(title: String, servers: &[Decaying]) -> Option<Chart> {
    const MIB: f64 = (1 << 20) as f64;
    let windows = servers.iter().flat_map(|one| &one.windows);
    let known = windows.filter(|window| !window.curve.is_empty());
    let longest = known.clone().map(|window| window.took).max()?.max(1) as f64;
    // What moves less than a MiB is drawn flat.
    let values = known.flat_map(|window| window.curve.iter().map(|value| *value as f64));
    let up = Axis::around(values, |_| MIB);
    let sizes = axis::round(up.low, up.high, MIB);
    let sizes = sizes.into_iter().map(|size| (size, units::mib(size as u64)));
    let times = axis::times(longest / 1e9).into_iter();
    Some(Chart {
        title,
        unit: "MiB",
        across: Axis {
            ticks: times.map(|(at, text)| (at * 1e9, text)).collect(),
            ..Axis::new(0.0, longest)
        },
        up: Up::Axis(up.with_grid(sizes), (480.0, 214.0)),
        series: servers.iter().map(|one| series(one, longest)).collect(),
    })
}

fn series(one: &Decaying, longest: f64) -> Series {
    let middle = middles(one, longest);
    let several = one.windows.iter().filter(|_| one.windows.len() > 1);
    let faint = several.map(|window| Mark::Line("fell faint", own(window)));
    let reached = [("reached", "half", false), ("reached full", "nine tenths", true)];
    let reached = reached.into_iter().filter_map(|(class, name, most)| {
        let (moment, value) = reached_at(one, &middle, most)?;
        let text = format!("{}: {name} after {}", one.label, words::time(moment as Nanos));
        Some(Mark::Dot(class, (moment, value), Shape::Circle(4.0), text))
    });
    let reached: Vec<Mark> = reached.collect();
    Series {
        label: one.label.to_owned(),
        class: one.class.clone(),
        words: in_words(one).unwrap_or_default(),
        marks: faint.chain([Mark::Line("fell", middle)]).chain(reached).collect(),
    }
}

/// The curve of a window: when, and how much.
fn own(window: &Window) -> Vec<(f64, f64)> {
    let step = window.took as f64 / window.curve.len().max(1) as f64;
    let points = window.curve.iter().enumerate();
    points
        .map(|(place, value)| (place as f64 * step, *value as f64))
        .collect()
}

/// The median of all runs while any lasts. A run whose window is over keeps its last value: without it the median
/// would jump where no run did.
fn middles(one: &Decaying, longest: f64) -> Vec<(f64, f64)> {
    let known: Vec<&Window> = one
        .windows
        .iter()
        .copied()
        .filter(|window| !window.curve.is_empty())
        .collect();
    if known.is_empty() {
        return Vec::new();
    }
    let last = known.iter().map(|window| window.took as f64).fold(0.0, f64::max);
    let moments = (0..=MOMENTS).map(|moment| longest * moment as f64 / MOMENTS as f64);
    let at = |moment: f64| {
        (
            moment,
            middle(known.iter().map(|window| value(window, moment)).collect()),
        )
    };
    moments.take_while(|moment| *moment <= last).map(at).collect()
}

/// What its drawn line has at a moment: straight between its points, so that a median is never outside of the lines.
fn value(window: &Window, moment: f64) -> f64 {
    let place = moment / window.took.max(1) as f64 * window.curve.len() as f64;
    let at = |place: usize| window.curve[place.min(window.curve.len() - 1)] as f64;
    let (before, after) = (at(place as usize), at(place as usize + 1));
    before + (after - before) * place.fract()
}

/// The median time of half, or nine tenths, of the fall, and the median curve there; `None` if fewer than half of the
/// runs released enough.
fn reached_at(one: &Decaying, curve: &[(f64, f64)], most: bool) -> Option<(f64, f64)> {
    let time = |course: &Course| if most { course.t90 } else { course.t50 };
    let times = one.windows.iter().filter_map(|window| time(window.private.as_ref()?));
    let times: Vec<f64> = times.map(|time| time as f64).collect();
    let enough = !times.is_empty() && times.len() * 2 >= one.windows.len();
    let moment = enough.then(|| middle(times))?;
    let value = curve.iter().rev().find(|(at, _)| *at <= moment)?.1;
    Some((moment, value))
}

fn in_words(one: &Decaying) -> Option<String> {
    let curve = middles(one, one.windows.iter().map(|window| window.took).max()? as f64);
    let (first, last) = (curve.first()?.1, curve.last()?.1);
    let times = [("half", false), ("nine tenths", true)]
        .into_iter()
        .filter_map(|(name, most)| {
            let (moment, _) = reached_at(one, &curve, most)?;
            Some(format!(", {name} back after {}", words::time(moment as Nanos)))
        });
    let times: String = times.collect();
    Some(format!(
        "{} from {} to {} MiB{times}",
        one.label,
        units::mib(first as u64),
        units::mib(last as u64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::summary;
    use record::golden::Session;
    use record::{IdleKind, Reader};

    /// A silent window in which memory falls from 140 MiB to `floor`.
    fn window(to: u64, seconds: u64) -> Window {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 140, 20);
        session.phase("decay");
        session.idle(IdleKind::Silent, 0, to, seconds);
        let bytes = session.bytes();
        summary::read(Reader::new(bytes.as_slice()).unwrap())
            .unwrap()
            .windows
            .swap_remove(0)
    }

    #[test]
    fn a_median_does_not_move_where_a_run_leaves_it() {
        let windows = [window(60, 10), window(140, 20), window(90, 15)];
        let one = Decaying {
            label: "server",
            class: page::class(0),
            windows: windows.iter().collect(),
        };
        let longest = windows[1].took as f64;
        let line = middles(&one, longest);
        assert_eq!(line.last().map(|(moment, _)| *moment), Some(longest));
        assert!(line.windows(2).all(|pair| pair[1].1 <= pair[0].1), "{line:?}");
        assert_eq!(
            line.last().map(|(_, value)| *value as u64),
            windows[2].curve.last().copied()
        );
    }
}
