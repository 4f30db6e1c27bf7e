//! Releases by kind of window.

use base::band;
use record::{Delay, Nanos, Runtime, WindowEnd};

use super::{Course, TooShortFor, Window, WindowKind};

/// The release of all windows of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gave {
    pub kind: WindowKind,
    /// Bytes of private memory that windows released.
    pub released: f64,
    /// Their share of the growth so far, as tables show it for each window. `None` if work between windows took the
    /// released memory again, so that they released more than the growth.
    pub share: Option<f64>,
    /// The fall of one window to its floor, in bytes, if a table shows it but no release.
    pub fell: f64,
    /// Bytes that one released and took again, beyond the noise.
    pub for_a_while: f64,
    /// Bytes by which memory grew in other windows.
    pub taken: f64,
    /// The noise of memory, in bytes.
    pub noise: f64,
    /// One of them released more than that.
    pub much: bool,
    /// Whether one of them grew by more than noise.
    pub took: bool,
    /// Whether the allocator is known not to purge in this kind of window.
    pub held: bool,
    /// Whether it is then set never to purge.
    pub never: bool,
    /// Whether nothing is known of when the allocator purges.
    pub unknown: bool,
    /// The runtime that releases nothing by itself.
    pub passive: Option<Runtime>,
    /// The shortest window that ended before the clock of a garbage collector did, so that nothing follows from what it
    /// did not release.
    pub short: Option<Short>,
    /// Bytes that became lazily freed; `None` where that is not known of each window.
    pub lazily: Option<f64>,
    /// Bytes of shared memory freed, if more than noise: no private figure counts them.
    pub shared: f64,
    /// Whether one window exceeded noise, even if the total is unknown.
    pub much_lazily: bool,
}

/// A window too short for a garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Short {
    pub took: Nanos,
    pub needed: Nanos,
    pub runtime: Runtime,
    /// Whether `--full-decay` makes it long enough.
    pub full_decay_helps: bool,
}

/// The shorter one of two, where one of them may have been long enough.
pub fn shorter(one: Option<Short>, other: Option<Short>) -> Option<Short> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Releases by kind, in the order of first appearance. Of a repeated phase the last round counts; controls do not.
pub fn gave(windows: &[Window]) -> Vec<Gave> {
    let mut releases: Vec<Gave> = Vec::new();
    for one in windows.iter().filter(|window| counts(window, windows)).filter_map(of) {
        match releases.iter_mut().find(|sum| sum.kind == one.kind) {
            None => releases.push(one),
            Some(sum) => {
                *sum = Gave {
                    kind: sum.kind,
                    released: sum.released + one.released,
                    share: sum
                        .share
                        .zip(one.share)
                        .map(|(sum, one)| sum + one)
                        .filter(|share| *share <= 1.0),
                    fell: sum.fell.max(one.fell),
                    for_a_while: sum.for_a_while.max(one.for_a_while),
                    taken: sum.taken + one.taken,
                    noise: sum.noise + one.noise,
                    much: sum.much || one.much,
                    took: sum.took || one.took,
                    held: sum.held && one.held,
                    never: sum.never && one.never,
                    unknown: sum.unknown && one.unknown,
                    passive: sum.passive.filter(|runtime| one.passive == Some(*runtime)),
                    short: shorter(sum.short, one.short),
                    shared: sum.shared + one.shared,
                    lazily: sum.lazily.zip(one.lazily).map(|(sum, one)| sum + one),
                    much_lazily: sum.much_lazily || one.much_lazily,
                }
            }
        }
    }
    releases
}

/// A shorter window without a release is not reported, such as a closing just before an idle window or a pause between
/// rounds. A forced release takes no time, and its lack of effect is a result.
const SHORT: Nanos = 1_000_000_000;

/// Whether a window is of the last round of its phase, long enough to say something, and no control.
pub fn counts(window: &Window, windows: &[Window]) -> bool {
    let later = |other: &Window| other.phase.phase == window.phase.phase && other.phase.cycle > window.phase.cycle;
    let long = window.took >= SHORT || window.kind == WindowKind::Released;
    let much = window.became_much_lazy() || window.private.as_ref().is_some_and(Course::gave_much);
    let says = long || much || shared(window) > 0.0;
    !window.control && says && !windows.iter().any(later)
}

/// The windows that say what a server did of its own accord.
pub fn own(windows: &[Window]) -> impl DoubleEndedIterator<Item = &Window> {
    windows.iter().filter(|window| counts(window, windows))
}

/// Shared memory that was freed in a window, if much.
fn shared(window: &Window) -> f64 {
    let much = window.shared.as_ref().filter(|course| course.gave_much());
    much.map_or(0.0, |course| course.gave() as f64)
}

fn of(window: &Window) -> Option<Gave> {
    let course = window.private.as_ref()?;
    Some(Gave {
        kind: window.kind,
        released: course.gave().max(0) as f64,
        share: course.share.map(|share| share.max(0.0)),
        fell: course.fell_as_shown() as f64,
        for_a_while: course.gave_for_a_while() as f64,
        taken: course.gave().min(0).unsigned_abs() as f64,
        noise: band::around(course.before) as f64,
        much: course.gave_much(),
        took: course.took_much(),
        held: window.end == Some(WindowEnd::Held),
        never: window.end == Some(WindowEnd::Held) && window.decay.is_some_and(|decay| decay.delay == Delay::Never),
        unknown: window.decay.is_none() && matches!(window.kind, WindowKind::Silent | WindowKind::Simmer),
        passive: window.decay.filter(|decay| !decay.idle).and_then(|decay| decay.runtime),
        short: window.too_short_for.as_ref().map(TooShortFor::short),
        shared: shared(window),
        lazily: window.became_lazy().map(|bytes| bytes as f64),
        much_lazily: window.became_much_lazy(),
    })
}
