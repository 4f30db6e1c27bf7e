//! In which window memory came back.

use crate::band;
use crate::record::{Nanos, WindowEnd};

use super::{Course, Window, WindowKind};

/// What windows of one kind gave back together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gave {
    pub kind: WindowKind,
    /// Bytes of private memory that windows released.
    pub released: f64,
    /// Their part of what the run had taken, as tables have it of each window. `None` where work between them took again
    /// what they released, so that they released more than that.
    pub share: Option<f64>,
    /// Bytes that one fell to its floor, where a table shows that and nothing of what was released.
    pub fell: f64,
    /// Bytes that one released and took again, beyond the noise.
    pub for_a_while: f64,
    /// Bytes that were taken in other windows.
    pub taken: f64,
    /// How much memory moves by itself, in bytes.
    pub noise: f64,
    /// One of them released more than that.
    pub much: bool,
    /// In one of them more than that was taken.
    pub took: bool,
    /// Nothing could come back, as far as is known of the allocator.
    pub held: bool,
    /// Bytes that became lazily freed; `None` where that is not known of each window.
    pub lazily: Option<f64>,
    /// Bytes of shared memory that were freed, if more than memory moves by itself: no private figure counts them.
    pub shared: f64,
    /// More than memory moves by itself did in one of the windows, also where it is not known how much in all of them.
    pub much_lazily: bool,
}

/// What came back by kind, in the order in which kinds came. Of a phase that repeats the last round counts, and no
/// control does.
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
                    shared: sum.shared + one.shared,
                    lazily: sum.lazily.zip(one.lazily).map(|(sum, one)| sum + one),
                    much_lazily: sum.much_lazily || one.much_lazily,
                }
            }
        }
    }
    releases
}

/// Less than this and nothing is said of a window in which nothing came back: documents that are closed just before a
/// silence, or a pause between rounds. A forced release takes no time, and that it gave nothing is its answer.
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
        shared: shared(window),
        lazily: window.became_lazy().map(|bytes| bytes as f64),
        much_lazily: window.became_much_lazy(),
    })
}
