//! Idle windows, over all runs of each server.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::summary::Summary;
use crate::summary::decay::{self, AFTER, Course, Gave, TooShortFor, Window, WindowKind};
use base::band::NoiseFloor;
use record::{Nanos, WindowEnd};
use stats::MedianInterval;

use super::Cell;
use super::cell::{Values, cell, median};
use super::played::Played;

/// One window of the scenario, of all servers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Decayed {
    /// How many runs ended how.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "std::collections::BTreeMap<String, u64>")]
    pub ends: Vec<(WindowEnd, u64)>,
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
    /// The window of the run with the median floor.
    #[serde(skip)]
    pub shown: Option<Window>,
}

fn by_name<S: Serializer>(ends: &[(WindowEnd, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(ends.iter().map(|(end, count)| (end, count)))
}

/// The identity of a window in a scenario.
type Key = (u32, u32, WindowKind, bool);

fn key(window: &Window) -> Key {
    (window.phase.phase, window.step, window.kind, window.control)
}

/// The windows that are compared: of a phase that repeats the last round.
fn told(summary: &Summary) -> impl Iterator<Item = &Window> {
    let all = &summary.windows;
    all.iter().filter(|window| window.control || decay::counts(window, all))
}

/// Every window that a run has, in the order of the scenario; `compared` says of each side whether it is set in a ratio.
pub(super) fn decays(arms: &[Vec<&Played>], compared: &[bool]) -> Vec<Decay> {
    let mut keys: Vec<(Key, String)> = Vec::new();
    for window in arms.iter().flatten().flat_map(|run| told(&run.summary)) {
        if !keys.iter().any(|(seen, _)| *seen == key(window)) {
            keys.push((key(window), window.phase.name.clone()));
        }
    }
    keys.sort_by_key(|(key, _)| (key.0, key.1));
    keys.into_iter()
        .map(|(key, phase)| decay_of(key, phase, arms, compared))
        .collect()
}

fn decay_of(of: Key, phase: String, arms: &[Vec<&Played>], compared: &[bool]) -> Decay {
    let (.., kind, control) = of;
    let windows: Vec<Vec<Found>> = arms
        .iter()
        .map(|arm| {
            let found = |run: &&Played| told(&run.summary).find(|window| key(window) == of).cloned();
            arm.iter().map(|run| (run.machine(), found(run))).collect()
        })
        .collect();
    Decay {
        phase,
        kind,
        control,
        sides: (0..windows.len())
            .map(|place| side(&windows, place, place > 0 && compared[place]))
            .collect(),
    }
}

/// A run's machine, and its window if it has it.
type Found = (String, Option<Window>);

fn side(windows: &[Vec<Found>], place: usize, compared: bool) -> Decayed {
    let values = |side: usize, value: &dyn Fn(&Window) -> Option<f64>| -> Values {
        let of = |(machine, window): &Found| (machine.clone(), window.as_ref().and_then(value));
        windows[side].iter().map(of).collect()
    };
    let of_window = |floor: NoiseFloor, value: &dyn Fn(&Window) -> Option<f64>| {
        let baseline = compared.then(|| values(0, value));
        cell(&values(place, value), baseline.as_ref(), floor)
    };
    let figure = |floor: NoiseFloor, value: &dyn Fn(&Course) -> Option<f64>| {
        of_window(floor, &|window| window.private.as_ref().and_then(value))
    };
    let time = |value: fn(&Course) -> Option<Nanos>| {
        figure(NoiseFloor::RELATIVE, &move |course| {
            value(course).map(|time| time as f64)
        })
    };
    let floor = figure(NoiseFloor::MEMORY, &|course| Some(course.floor as f64));
    let mut ends: Vec<(WindowEnd, u64)> = Vec::new();
    for end in windows[place].iter().filter_map(|(_, window)| window.as_ref()?.why()) {
        match ends.iter_mut().find(|(seen, _)| *seen == end) {
            Some((_, count)) => *count += 1,
            None => ends.push((end, 1)),
        }
    }
    ends.sort_unstable();
    let short = windows[place]
        .iter()
        .filter_map(|(_, window)| window.as_ref()?.too_short_for.clone());
    Decayed {
        too_short_for: short.min_by_key(|short| short.took),
        ends,
        shown: middle(&windows[place], floor.median.map(|median| median.median)),
        floor,
        before: figure(NoiseFloor::MEMORY, &|course| Some(course.before as f64)),
        at: std::array::from_fn(|place| {
            figure(NoiseFloor::MEMORY, &move |course| course.at[place].map(|at| at as f64))
        }),
        t50: time(|course| course.t50),
        t90: time(|course| course.t90),
        settle_time: of_window(NoiseFloor::RELATIVE, &|window| {
            window.settle_time().map(|time| time as f64)
        }),
        returned: figure(NoiseFloor::RELATIVE, &|course| course.returned),
        lazily_freed: of_window(NoiseFloor::MEMORY, &|window| {
            window.lazily_freed.map(|bytes| bytes as f64)
        }),
        share: figure(NoiseFloor::RELATIVE, &|course| course.share),
    }
}

/// The window whose floor is nearest to the median.
fn middle(windows: &[Found], median: Option<f64>) -> Option<Window> {
    let median = median?;
    let far = |window: &Window| {
        window
            .private
            .as_ref()
            .map_or(f64::INFINITY, |course| (course.floor as f64 - median).abs())
    };
    let known = windows.iter().filter_map(|(_, window)| window.as_ref());
    known.min_by(|a, b| far(a).total_cmp(&far(b))).cloned()
}

/// The cost of light traffic alone, in bytes a minute over the runs with a control window; `None` without any.
pub(super) fn traffic(runs: &[&Summary]) -> Option<MedianInterval> {
    let costs = runs.iter().filter_map(|run| decay::traffic(&run.windows));
    median(costs.map(|cost| cost.per_minute()))
}

/// Memory released in windows of one kind, over the runs of a server with such windows.
#[derive(Clone, Debug)]
pub struct Given {
    /// Of each run, in the order of the runs.
    pub runs: Vec<Gave>,
    /// The medians of the runs, and what all of them say.
    pub middle: Gave,
}

impl Given {
    /// Whether all runs agree: released, grown or neither, and whether pages were left to the kernel. If they differ,
    /// a median would state for some runs what did not happen in them.
    pub fn is_unanimous(&self) -> bool {
        let says = |one: &Gave| (one.much, one.took, one.much_lazily, one.for_a_while > 0.0);
        self.runs.windows(2).all(|pair| says(&pair[0]) == says(&pair[1]))
    }
}

/// Releases by kind of window.
pub(super) fn gave(runs: &[&Summary]) -> Vec<Given> {
    let all: Vec<Vec<Gave>> = runs.iter().map(|run| decay::gave(&run.windows)).collect();
    let mut kinds: Vec<WindowKind> = Vec::new();
    for one in all.iter().flatten() {
        if !kinds.contains(&one.kind) {
            kinds.push(one.kind);
        }
    }
    let of = |kind: WindowKind| {
        let runs: Vec<Gave> = all.iter().flatten().filter(|one| one.kind == kind).copied().collect();
        let middle = Gave {
            kind,
            released: median(runs.iter().map(|one| one.released))?.median,
            share: median(runs.iter().filter_map(|one| one.share)).map(|share| share.median),
            fell: median(runs.iter().map(|one| one.fell))?.median,
            for_a_while: median(runs.iter().map(|one| one.for_a_while))?.median,
            taken: median(runs.iter().map(|one| one.taken))?.median,
            noise: runs.iter().map(|one| one.noise).fold(0.0, f64::max),
            much: runs.iter().all(|one| one.much),
            took: runs.iter().all(|one| one.took),
            held: runs.iter().all(|one| one.held),
            never: runs.iter().all(|one| one.never),
            unknown: runs.iter().all(|one| one.unknown),
            passive: runs[0]
                .passive
                .filter(|runtime| runs.iter().all(|one| one.passive == Some(*runtime))),
            short: runs.iter().fold(None, |short, one| decay::shorter(short, one.short)),
            shared: median(runs.iter().map(|one| one.shared))?.median,
            lazily: median(runs.iter().filter_map(|one| one.lazily)).map(|lazily| lazily.median),
            much_lazily: runs.iter().all(|one| one.much_lazily),
        };
        Some(Given { runs, middle })
    };
    kinds.into_iter().filter_map(of).collect()
}
