//! Idle windows, over all runs of each server.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::summary::Summary;
use crate::summary::decay::{self, AFTER, Course, TooShortFor, Window, WindowKind, WindowRelease};
use base::band::NoiseFloor;
use record::{Nanos, WindowEnd};
use stats::MedianInterval;

use super::Cell;
use super::cell::{Values, cell, median};
use super::played::Played;

/// One window of the scenario, of all servers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decay {
    /// Its phase.
    pub phase: String,
    /// The kind of window.
    pub kind: WindowKind,
    /// Whether it is the control of light traffic.
    pub control: bool,
    /// One for each side, in their order.
    #[serde(rename = "servers")]
    pub sides: Vec<Decayed>,
}

/// One window of one server, over its runs. All of private memory.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decayed {
    /// How many runs ended how.
    pub ends: BTreeMap<WindowEnd, u64>,
    /// When it began, in bytes.
    pub before: Cell,
    /// The lowest, in bytes.
    pub floor: Cell,
    /// Private memory this many seconds after the start, in bytes, at each of [`AFTER`]; only runs whose window lasted
    /// so long.
    pub at: [Cell; AFTER.len()],
    /// Time until half of the fall to the floor, in nanoseconds.
    pub t50: Cell,
    /// Time until nine tenths of the fall, in nanoseconds.
    pub t90: Cell,
    /// Until it had settled, in nanoseconds.
    pub settle_time: Cell,
    /// Share of the growth so far that was released by the floor, 0 to 1.
    pub returned: Cell,
    /// Lazily freed part of the private memory at the end, in bytes.
    pub lazily_freed: Cell,
    /// Share of the growth so far that this window released; negative if memory grew.
    pub share: Cell,
    /// Why windows prove nothing of what the server releases later: that of the run with the shortest one. `null` where all
    /// were long enough, and where no garbage collector has a clock.
    pub too_short_for: Option<TooShortFor>,
    /// The lowest resident memory, in bytes; unknown of a tree.
    #[serde(skip)]
    pub resident: Cell,
    /// The window of the run with the median floor.
    #[serde(skip)]
    pub shown: Option<Window>,
}

/// The identity of a window in a scenario.
type Key = (u32, u32, WindowKind, bool);

fn key(window: &Window) -> Key {
    (window.phase.phase, window.step, window.kind, window.control)
}

/// The windows that are compared: of a phase that repeats the last round.
fn compared_windows(summary: &Summary) -> impl Iterator<Item = &Window> {
    let all = &summary.windows;
    all.iter()
        .filter(|window| window.control || decay::is_reported_window(window, all))
}

/// Every window that a run has, in the order of the scenario; `compared` says of each side whether it is set in a ratio.
pub(super) fn decays(arms: &[Vec<&Played>], compared: &[bool]) -> Vec<Decay> {
    let mut keys: Vec<(Key, String)> = Vec::new();
    for window in arms.iter().flatten().flat_map(|run| compared_windows(&run.summary)) {
        if !keys.iter().any(|(seen, _)| *seen == key(window)) {
            keys.push((key(window), window.phase.name.clone()));
        }
    }
    keys.sort_by_key(|(key, _)| (key.0, key.1));
    keys.into_iter()
        .map(|(key, phase)| decay_of(key, phase, arms, compared))
        .collect()
}

fn decay_of(identity: Key, phase: String, arms: &[Vec<&Played>], compared: &[bool]) -> Decay {
    let (.., kind, control) = identity;
    let sides: Vec<Vec<RunWindow>> = arms
        .iter()
        .map(|arm| arm.iter().map(|run| run_window(run, identity)).collect())
        .collect();
    let mut decayed = Vec::new();
    for (place, runs) in sides.iter().enumerate() {
        let baseline = if place > 0 && compared[place] {
            sides.first().map(Vec::as_slice)
        } else {
            None
        };
        decayed.push(SideWindows { runs, baseline }.decayed());
    }
    Decay {
        phase,
        kind,
        control,
        sides: decayed,
    }
}

/// One window of the scenario in one run.
struct RunWindow {
    machine: String,
    /// `None` where the run does not have it.
    window: Option<Window>,
}

fn run_window(run: &Played, identity: Key) -> RunWindow {
    RunWindow {
        machine: run.machine(),
        window: compared_windows(&run.summary)
            .find(|window| key(window) == identity)
            .cloned(),
    }
}

/// One window of the scenario in the runs of a side.
struct SideWindows<'w> {
    runs: &'w [RunWindow],
    /// The window in the runs of the baseline; `None` for the baseline itself, and for sides that are in no ratio.
    baseline: Option<&'w [RunWindow]>,
}

impl SideWindows<'_> {
    fn decayed(&self) -> Decayed {
        let floor = self.memory_cell(|course| Some(course.floor));
        let windows: Vec<&Window> = self.runs.iter().filter_map(|run| run.window.as_ref()).collect();
        Decayed {
            too_short_for: windows
                .iter()
                .filter_map(|window| window.too_short_for.clone())
                .min_by_key(|short| short.took),
            ends: count_ends(&windows),
            shown: floor
                .median
                .and_then(|median| window_with_floor(&windows, median.median)),
            floor,
            before: self.memory_cell(|course| Some(course.before)),
            at: std::array::from_fn(|place| self.memory_cell(|course| course.at[place])),
            t50: self.time_cell(|window| window.private.as_ref()?.t50),
            t90: self.time_cell(|window| window.private.as_ref()?.t90),
            settle_time: self.time_cell(Window::settle_time),
            returned: self.cell(NoiseFloor::RELATIVE, |window| window.private.as_ref()?.returned),
            lazily_freed: self.cell(NoiseFloor::MEMORY, |window| {
                window.lazily_freed.map(|bytes| bytes as f64)
            }),
            share: self.cell(NoiseFloor::RELATIVE, |window| window.private.as_ref()?.share),
            resident: self.cell(NoiseFloor::MEMORY, |window| {
                Some(window.resident.as_ref()?.floor as f64)
            }),
        }
    }

    fn cell(&self, floor: NoiseFloor, figure: impl Fn(&Window) -> Option<f64>) -> Cell {
        let baseline = self.baseline.map(|runs| values(runs, &figure));
        cell(&values(self.runs, &figure), baseline.as_ref(), floor)
    }

    /// A figure of private memory, in bytes.
    fn memory_cell(&self, bytes: impl Fn(&Course) -> Option<u64>) -> Cell {
        self.cell(NoiseFloor::MEMORY, |window| {
            bytes(window.private.as_ref()?).map(|bytes| bytes as f64)
        })
    }

    fn time_cell(&self, time: impl Fn(&Window) -> Option<Nanos>) -> Cell {
        self.cell(NoiseFloor::RELATIVE, |window| time(window).map(|time| time as f64))
    }
}

/// The figure in each run, with the machine of the run.
fn values(runs: &[RunWindow], figure: &impl Fn(&Window) -> Option<f64>) -> Values {
    runs.iter()
        .map(|run| (run.machine.clone(), run.window.as_ref().and_then(figure)))
        .collect()
}

/// Counts the windows by the way they ended.
fn count_ends(windows: &[&Window]) -> BTreeMap<WindowEnd, u64> {
    let mut ends = BTreeMap::new();
    for end in windows.iter().filter_map(|window| window.end_reason()) {
        *ends.entry(end).or_default() += 1;
    }
    ends
}

/// The window whose floor is nearest to this one, in bytes.
fn window_with_floor(windows: &[&Window], floor: f64) -> Option<Window> {
    let nearest = windows
        .iter()
        .min_by(|a, b| floor_distance(a, floor).total_cmp(&floor_distance(b, floor)))?;
    Some((*nearest).clone())
}

/// Distance of a window's floor from this one, in bytes; infinite if the window has none.
fn floor_distance(window: &Window, floor: f64) -> f64 {
    match &window.private {
        Some(course) => (course.floor as f64 - floor).abs(),
        None => f64::INFINITY,
    }
}

/// The cost of light traffic alone, in bytes a minute over the runs with a control window; `None` without any.
pub(super) fn traffic_per_minute(runs: &[&Summary]) -> Option<MedianInterval> {
    let costs = runs.iter().filter_map(|run| decay::traffic(&run.windows));
    median(costs.map(|cost| cost.per_minute()))
}

/// The change that this cost explains in the windows of light traffic that are no controls, in bytes; `None` where no run
/// has both kinds.
pub(super) fn traffic_in_windows(runs: &[&Summary]) -> Option<MedianInterval> {
    let costs = runs.iter().filter_map(|run| decay::traffic(&run.windows)?.in_windows);
    median(costs)
}

/// Memory released in windows of one kind, in each run with such windows, in the order of the runs.
#[derive(Clone, Debug)]
pub struct ReleaseOfRuns {
    pub kind: WindowKind,
    pub runs: Vec<WindowRelease>,
}

/// Releases by kind of window.
pub fn releases(runs: &[&Summary]) -> Vec<ReleaseOfRuns> {
    let mut kinds: Vec<ReleaseOfRuns> = Vec::new();
    for release in runs.iter().flat_map(|run| decay::releases(&run.windows)) {
        match kinds.iter_mut().find(|known| known.kind == release.kind) {
            Some(known) => known.runs.push(release),
            None => kinds.push(ReleaseOfRuns {
                kind: release.kind,
                runs: vec![release],
            }),
        }
    }
    kinds
}
