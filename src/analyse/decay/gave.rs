//! In which window memory came back.

use crate::record::{Nanos, WindowEnd};

use super::{Course, Window, WindowKind};

/// What windows of one kind gave back together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gave {
    /// Which kind.
    pub kind: WindowKind,
    /// Bytes of private memory that came back; less than nothing if more was taken.
    pub bytes: f64,
    /// Their part of what the run had taken.
    pub share: Option<f64>,
    /// More than memory moves by itself.
    pub much: bool,
    /// More was taken than memory moves by itself.
    pub took: bool,
    /// Nothing could come back, as far as is known of the allocator.
    pub held: bool,
    /// Bytes that became lazily freed; `None` where that is not known of each window.
    pub lazily: Option<f64>,
    /// More than memory moves by itself did in one of the windows, also where it is not known how much in all of them.
    pub much_lazily: bool,
}

/// What came back by kind, in the order in which kinds came. Of a phase that repeats the last round counts, and no
/// control does.
pub fn gave(windows: &[Window]) -> Vec<Gave> {
    let mut gave: Vec<Gave> = Vec::new();
    for one in windows.iter().filter(|window| counts(window, windows)).filter_map(of) {
        match gave.iter_mut().find(|sum| sum.kind == one.kind) {
            None => gave.push(one),
            Some(sum) => {
                let bytes = sum.bytes + one.bytes;
                *sum = Gave {
                    kind: sum.kind,
                    bytes,
                    share: sum.share.zip(one.share).map(|(sum, one)| sum + one),
                    much: bytes > 0.0 && (sum.much || one.much),
                    took: bytes < 0.0 && (sum.took || one.took),
                    held: sum.held && one.held,
                    lazily: sum.lazily.zip(one.lazily).map(|(sum, one)| sum + one),
                    much_lazily: sum.much_lazily || one.much_lazily,
                }
            }
        }
    }
    gave
}

/// Less than this and nothing is said of a window in which nothing came back: documents that are closed just before a
/// silence, or a pause between rounds. A forced release takes no time, and that it gave nothing is its answer.
const SHORT: Nanos = 1_000_000_000;

/// Whether a window is of the last round of its phase, long enough to say something, and no control.
pub fn counts(window: &Window, windows: &[Window]) -> bool {
    let later = |other: &Window| other.phase.phase == window.phase.phase && other.phase.cycle > window.phase.cycle;
    let long = window.took >= SHORT || window.kind == WindowKind::Released;
    let much = window.became_much_lazy() || window.private.as_ref().is_some_and(Course::gave_much);
    let says = long || much;
    !window.control && says && !windows.iter().any(later)
}

fn of(window: &Window) -> Option<Gave> {
    let course = window.private.as_ref()?;
    Some(Gave {
        kind: window.kind,
        bytes: course.gave() as f64,
        share: course.share,
        much: course.gave_much(),
        took: course.took_much(),
        held: window.end == Some(WindowEnd::Held),
        lazily: window.became_lazy().map(|bytes| bytes as f64),
        much_lazily: window.became_much_lazy(),
    })
}
