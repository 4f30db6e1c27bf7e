//! Releases by kind of window.

use base::band;
use record::{Delay, Nanos, Runtime, WindowEnd};

use super::{Course, TooShortFor, Window, WindowKind};

/// The release of all windows of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowRelease {
    pub kind: WindowKind,
    /// Bytes of private memory that windows released.
    pub released: f64,
    /// Their share of the growth so far, as tables show it for each window. `None` if work between windows took the
    /// released memory again, so that they released more than the growth.
    pub share: Option<f64>,
    /// The fall of one window to its floor, in bytes, if a table shows it but no release.
    pub fell: f64,
    /// Bytes that one window released and took again, beyond the noise.
    pub for_a_while: f64,
    /// Bytes by which memory grew in other windows.
    pub taken: f64,
    /// The noise of memory, in bytes.
    pub noise: f64,
    /// True if one window released more than noise.
    pub much: bool,
    /// True if memory grew by more than noise in one window.
    pub took: bool,
    /// True if the allocator is known not to purge in this kind of window.
    pub held: bool,
    /// True if the allocator is set never to purge.
    pub never: bool,
    /// True if it is unknown when the allocator purges.
    pub unknown: bool,
    /// The runtime that releases nothing by itself.
    pub passive: Option<Runtime>,
    /// The shortest window that ended before a garbage collector's clock did: it may release later what it kept.
    pub short: Option<ShortWindow>,
    /// Bytes that became lazily freed; `None` unless known for each window.
    pub lazily: Option<f64>,
    /// Bytes of shared memory freed, if more than noise: no private figure counts them.
    pub shared: f64,
    /// True if more than noise became lazily freed in one window, even if the total is unknown.
    pub much_lazily: bool,
}

impl WindowRelease {
    /// The release of a single window; `None` if its private memory is unknown.
    fn from_window(window: &Window) -> Option<WindowRelease> {
        let private = window.private.as_ref()?;
        let is_held = window.end == Some(WindowEnd::Held);
        Some(WindowRelease {
            kind: window.kind,
            released: private.released().max(0) as f64,
            share: private.share.map(|share| share.max(0.0)),
            fell: private.fell_as_shown() as f64,
            for_a_while: private.gave_for_a_while() as f64,
            taken: private.released().min(0).unsigned_abs() as f64,
            noise: band::tolerated_difference(private.before) as f64,
            much: private.gave_much(),
            took: private.grew_much(),
            held: is_held,
            never: is_held && window.decay.is_some_and(|decay| decay.delay == Delay::Never),
            unknown: window.decay.is_none() && matches!(window.kind, WindowKind::Silent | WindowKind::Simmer),
            passive: window.decay.filter(|decay| !decay.idle).and_then(|decay| decay.runtime),
            short: window.too_short_for.as_ref().map(TooShortFor::short),
            shared: freed_shared_memory(window),
            lazily: window.became_lazy().map(|bytes| bytes as f64),
            much_lazily: window.became_much_lazy(),
        })
    }

    /// Adds the release of another window of this kind.
    fn merge(self, other: WindowRelease) -> WindowRelease {
        let share = self.share.zip(other.share).map(|(a, b)| a + b);
        WindowRelease {
            kind: self.kind,
            released: self.released + other.released,
            share: share.filter(|share| *share <= 1.0),
            fell: self.fell.max(other.fell),
            for_a_while: self.for_a_while.max(other.for_a_while),
            taken: self.taken + other.taken,
            noise: self.noise + other.noise,
            much: self.much || other.much,
            took: self.took || other.took,
            held: self.held && other.held,
            never: self.never && other.never,
            unknown: self.unknown && other.unknown,
            passive: self.passive.filter(|runtime| other.passive == Some(*runtime)),
            short: shorter(self.short, other.short),
            shared: self.shared + other.shared,
            lazily: self.lazily.zip(other.lazily).map(|(a, b)| a + b),
            much_lazily: self.much_lazily || other.much_lazily,
        }
    }
}

/// A window too short for a garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortWindow {
    pub took: Nanos,
    pub needed: Nanos,
    pub runtime: Runtime,
    /// True if `--full-decay` makes it long enough.
    pub full_decay_helps: bool,
}

/// The shorter one of two, where one of them may have been long enough.
fn shorter(one: Option<ShortWindow>, other: Option<ShortWindow>) -> Option<ShortWindow> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Releases by kind, in the order of first appearance. Of a repeated phase the last round counts; controls do not.
pub fn releases(windows: &[Window]) -> Vec<WindowRelease> {
    let mut releases: Vec<WindowRelease> = Vec::new();
    for release in reported(windows).filter_map(WindowRelease::from_window) {
        match releases.iter_mut().find(|sum| sum.kind == release.kind) {
            None => releases.push(release),
            Some(sum) => *sum = sum.merge(release),
        }
    }
    releases
}

/// A shorter window without a release is not reported, such as a closing just before an idle window or a pause between
/// rounds. A forced release takes no time, and its lack of effect is a result.
const SHORT: Nanos = 1_000_000_000;

/// True if a window is reported: it is no control, belongs to the last round of its phase, and is long enough or released
/// something.
pub fn is_reported_window(window: &Window, windows: &[Window]) -> bool {
    let is_long = window.took >= SHORT || window.kind == WindowKind::Released;
    let released_much = window.became_much_lazy()
        || window.private.as_ref().is_some_and(Course::gave_much)
        || freed_shared_memory(window) > 0.0;
    let has_later_round = windows
        .iter()
        .any(|other| other.phase.phase == window.phase.phase && other.phase.cycle > window.phase.cycle);
    !window.control && (is_long || released_much) && !has_later_round
}

/// The windows that are reported, see [`is_reported_window`].
pub fn reported(windows: &[Window]) -> impl DoubleEndedIterator<Item = &Window> {
    windows.iter().filter(|window| is_reported_window(window, windows))
}

/// Bytes of shared memory that were freed in a window; 0 if that is within noise.
fn freed_shared_memory(window: &Window) -> f64 {
    match &window.shared {
        Some(course) if course.gave_much() => course.released() as f64,
        _ => 0.0,
    }
}
