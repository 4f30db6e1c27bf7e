//! Charts of idle windows: every run's curve faint behind the median, with the times of half and nine tenths of the
//! fall.

use crate::charts::axis::{self, Axis};
use crate::charts::{Chart, Ground, Mark, Series, Shape, Up, line};
use crate::comparison::idle_windows::{label, time};
use crate::document::Block;
use crate::document::page::Keys;
use analysis::compare::{Comparison, Decay};
use analysis::summary::common_time;
use analysis::summary::decay::{self, Course, Window};
use base::curve::Columns;
use base::units::{self, median_of};
use record::Nanos;

use super::Named;

/// Columns of the longest window.
const COLUMNS: u64 = 128;

const LEGEND: &str = "Private memory from the start of each window. Faint lines: runs. Strong line: their median; a \
                      run whose window is over keeps its last value. ○ half and ● nine tenths of the fall, at the \
                      median of the runs. Axes do not start at 0.";

/// One server's runs of a window.
struct Decaying<'w> {
    label: &'w str,
    /// CSS classes: colour and dash.
    class: String,
    windows: Vec<&'w Window>,
}

/// A plot for each window of all runs of several servers.
pub fn all_runs(comparison: &Comparison, servers: &[(&str, Vec<Named>)], keys: Keys) -> Block {
    let mut plots = Vec::new();
    for (place, window) in comparison.decays.iter().enumerate() {
        let before = &comparison.decays[..place];
        let number = before.iter().filter(|other| is_alike(other, window)).count();
        let mut decaying = Vec::new();
        for (place, (label, runs)) in servers.iter().enumerate() {
            let windows = runs
                .iter()
                .filter_map(|(_, summary)| window_of_run(&summary.windows, window, number));
            decaying.push(Decaying {
                label,
                class: keys.class(place),
                windows: windows.collect(),
            });
        }
        let title = label(&window.phase, window.kind, window.control);
        plots.extend(plot(title, &decaying));
    }
    Block::charts(LEGEND, "plots wide", plots.into_iter())
}

fn is_alike(one: &Decay, other: &Decay) -> bool {
    (&one.phase, one.kind, one.control) == (&other.phase, other.kind, other.control)
}

/// The window of a run in the last round of its phase. `number` counts the windows of one kind in a phase.
fn window_of_run<'w>(windows: &'w [Window], wanted: &Decay, number: usize) -> Option<&'w Window> {
    windows
        .iter()
        .filter(|window| window.control || decay::is_reported_window(window, windows))
        .filter(|window| {
            (&window.phase.name, window.kind, window.control) == (&wanted.phase, wanted.kind, wanted.control)
        })
        .nth(number)
}

fn plot(title: String, servers: &[Decaying]) -> Option<Chart> {
    const MIB: f64 = (1 << 20) as f64;
    let windows = servers.iter().flat_map(|server| &server.windows);
    let known = windows.filter(|window| window.private_curve.is_whole());
    let longest = known.clone().map(|window| window.took).max()?.max(1);
    let column = longest / COLUMNS + 1;
    // A change of less than a MiB is drawn flat.
    let points = known.flat_map(|window| window.private_curve.points());
    let up = Axis::around(points.filter_map(|(_, value)| Some((*value)? as f64)), |_| MIB);
    let sizes = axis::round(up.low, up.high, MIB);
    let sizes = sizes.into_iter().map(|size| (size, units::mib(size as u64)));
    let times = axis::times(longest as f64 / 1e9).into_iter();
    Some(Chart {
        title,
        unit: "MiB",
        across: Axis {
            ticks: times.map(|(at, text)| (at * 1e9, text)).collect(),
            ..Axis::new(0.0, longest as f64)
        },
        up: Up::Axis(up.with_grid(sizes), (480.0, 214.0)),
        series: servers.iter().map(|server| series(server, column)).collect(),
        ground: Ground::default(),
    })
}

fn series(server: &Decaying, column: Nanos) -> Series {
    let median = median_curve(server, column);
    let mut marks = Vec::new();
    if server.windows.len() > 1 {
        for window in &server.windows {
            let curve = window.private_curve.columns(column, window.took);
            marks.push(Mark::Line("fell faint", line(&curve, column as f64)));
        }
    }
    marks.push(Mark::Line("fell", line(&median, column as f64)));
    for (class, share) in [("reached", FallShare::Half), ("reached full", FallShare::NineTenths)] {
        if let Some((moment, value)) = reached_at(server, &median, column, share) {
            let time = time(moment as Nanos);
            let text = format!("{}: {} after {time}", server.label, share.name());
            marks.push(Mark::Dot(class, (moment, value), Shape::Circle(4.0), text));
        }
    }
    Series {
        label: server.label.to_owned(),
        class: server.class.clone(),
        words: in_words(server, &median, column).unwrap_or_default(),
        marks,
    }
}

/// The share of a fall whose time is marked.
#[derive(Clone, Copy)]
enum FallShare {
    Half,
    NineTenths,
}

impl FallShare {
    fn name(self) -> &'static str {
        match self {
            FallShare::Half => "half",
            FallShare::NineTenths => "nine tenths",
        }
    }

    fn time(self, course: &Course) -> Option<Nanos> {
        match self {
            FallShare::Half => course.t50,
            FallShare::NineTenths => course.t90,
        }
    }
}

/// The median of all runs while any lasts. A run whose window is over keeps its last value: without it the median
/// would jump where no run did.
fn median_curve(server: &Decaying, column: Nanos) -> Columns {
    let windows = server.windows.iter().copied();
    let known: Vec<&Window> = windows.filter(|window| window.private_curve.is_whole()).collect();
    let last = known.iter().map(|window| window.took).max().unwrap_or(0);
    let curves: Vec<Columns> = known
        .iter()
        .map(|window| window.private_curve.columns(column, last))
        .collect();
    common_time::median(&curves)
}

/// The median time of half, or nine tenths, of the fall, and the median curve there; `None` if fewer than half of the
/// runs released enough.
fn reached_at(server: &Decaying, median: &Columns, column: Nanos, share: FallShare) -> Option<(f64, f64)> {
    let times: Vec<f64> = server
        .windows
        .iter()
        .filter_map(|window| share.time(window.private.as_ref()?))
        .map(|time| time as f64)
        .collect();
    if times.is_empty() || times.len() * 2 < server.windows.len() {
        return None;
    }
    let moment = median_of(times);
    let place = moment / column as f64;
    let span = (*median.get(place as usize)?)?;
    let value = if place.fract() < 0.5 { span.first } else { span.then };
    Some((moment, value as f64))
}

/// `ty from 140.0 to 60.0 MiB, half back after 2.0 s`
fn in_words(server: &Decaying, median: &Columns, column: Nanos) -> Option<String> {
    let mut known = median.iter().flatten();
    let first = known.next()?;
    let last = known.next_back().unwrap_or(first);
    let mut text = format!(
        "{} from {} to {} MiB",
        server.label,
        units::mib(first.first),
        units::mib(last.then)
    );
    for share in [FallShare::Half, FallShare::NineTenths] {
        if let Some((moment, _)) = reached_at(server, median, column, share) {
            let time = time(moment as Nanos);
            text.push_str(&format!(", {} back after {time}", share.name()));
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::summary;
    use record::golden::Session;
    use record::{IdleKind, Reader};

    /// A silent window in which memory falls from 140 MiB to `floor`.
    fn window(floor: u64, seconds: u64) -> Window {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 140, 20);
        session.phase("decay");
        session.idle(IdleKind::Silent, 0, floor, seconds);
        let bytes = session.bytes();
        summary::read(Reader::new(bytes.as_slice()).unwrap())
            .unwrap()
            .windows
            .swap_remove(0)
    }

    #[test]
    fn a_median_does_not_move_where_a_run_leaves_it() {
        let windows = [window(60, 10), window(140, 20), window(90, 15)];
        let server = Decaying {
            label: "server",
            class: Keys::ALIKE.class(0),
            windows: windows.iter().collect(),
        };
        let longest = windows[1].took;
        let line = median_curve(&server, longest / COLUMNS);
        assert_eq!(line.len() as u64, COLUMNS + 1);
        let values: Vec<u64> = line.iter().flatten().flat_map(|span| [span.first, span.then]).collect();
        assert!(values.is_sorted_by(|earlier, later| earlier >= later), "{line:?}");
        assert_eq!(values.last().copied(), windows[2].private_curve.value_at(Nanos::MAX));
    }
}
