//! Idle windows: how much was released, when, and in which window.

mod course;
mod idle_windows;
mod lazy;
mod traffic;
mod window_release;

#[cfg(test)]
mod tests;

use serde::Serialize;

use base::band;
use base::curve::Curve;
use base::shown;
use record::{AllocatorDecay, Nanos, PhaseRef, RoundName, Runtime, WindowEnd};

pub use crate::summary::decay::course::{AFTER, Course};
pub(super) use crate::summary::decay::idle_windows::{Extremes, WindowTracker};
pub use crate::summary::decay::traffic::{Traffic, traffic};
pub use crate::summary::decay::window_release::{ShortWindow, WindowRelease, is_reported_window, releases, reported};

/// Points of the curve that a report draws of a window.
pub const POINTS: usize = 64;

/// One idle window and its release.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Window {
    #[serde(flatten, serialize_with = "shown::<RoundName, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "RoundName"))]
    pub phase: PhaseRef,
    /// Place of its step in the phase.
    pub step: u32,
    /// The kind of window.
    pub kind: WindowKind,
    /// Whether it is the control of light traffic, played before there was anything to release.
    pub control: bool,
    /// Why it ended; `None` in a record that does not say.
    pub end: Option<WindowEnd>,
    /// Whether memory had become steady; `None` for a window of fixed length or one too short to tell.
    #[serde(skip)]
    pub settled: Option<bool>,
    /// What was still changing at its time limit; empty otherwise.
    pub moving: String,
    /// How long one that was too short would have had to be at least; `None` of all others.
    pub needed: Option<Nanos>,
    /// Messages of light traffic sent in it.
    pub sent: u64,
    /// Messages of it that were due and not sent.
    pub left_out: u64,
    /// The allocator's decay, as far as known.
    #[serde(rename = "allocator")]
    pub decay: Option<AllocatorDecay>,
    /// The program by which that was decided, because its processes have most of the memory; empty of the server's own.
    pub holder: String,
    /// Why this window proves nothing of what the server releases later; `null` where it was long enough, and where no
    /// garbage collector has a clock.
    pub too_short_for: Option<TooShortFor>,
    /// Part of the private memory at its start, in bytes, that was freed with `MADV_FREE` and not yet reclaimed by the
    /// kernel. `None` where exact counters were not read: in traffic, soon after work, and on systems without them.
    #[serde(rename = "lazily_freed_before")]
    pub lazily_before: Option<u64>,
    /// The same at its end.
    pub lazily_freed: Option<u64>,
    /// When it began.
    pub started: Nanos,
    /// How long it was.
    pub took: Nanos,
    /// Processor time of the tree in it; `None` where it is not known.
    pub cpu: Option<Nanos>,
    /// Its part in the second half of the window.
    #[serde(skip)]
    pub late_cpu: Option<Nanos>,
    /// Private memory of the tree by the sampled curve; `None` where it is not known, or its pages may count twice.
    pub private: Option<Course>,
    /// Resident memory; `None` for a tree, whose sum counts shared pages several times.
    pub resident: Option<Course>,
    /// Resident shared memory that private memory leaves out, of the process with the most; `None` where the system does not
    /// tell it.
    #[serde(skip)]
    pub shared: Option<Course>,
    /// Private memory at [`POINTS`] moments from its beginning to its end; empty where it is not known.
    pub curve: Vec<u64>,
    /// Private memory since its beginning, as charts draw it; empty where it was not known throughout.
    #[serde(skip)]
    pub private_curve: Curve,
}

/// A window that ended before a garbage collector's clock did: what it did not release in it may be released later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TooShortFor {
    /// The runtime whose clock it is.
    pub runtime: Runtime,
    /// The program of the tree with that runtime, where it is not the server's own; empty otherwise.
    pub program: String,
    /// How long the window was.
    pub took: Nanos,
    /// How long it must be.
    pub needed: Nanos,
    /// Whether `--full-decay` makes it last as long: not if the scenario fixes its length.
    pub full_decay_helps: bool,
}

impl TooShortFor {
    /// Drops the program, so that windows of several programs can be compared.
    pub fn short(&self) -> ShortWindow {
        ShortWindow {
            took: self.took,
            needed: self.needed,
            runtime: self.runtime,
            full_decay_helps: self.full_decay_helps,
        }
    }
}

impl Window {
    /// Removes its sizes, which are no measurement of the server.
    pub(super) fn forget_memory(&mut self) {
        (self.private, self.resident) = (None, None);
        (self.lazily_before, self.lazily_freed) = (None, None);
        self.curve.clear();
        self.private_curve = Curve::default();
    }

    /// Computes the field of this name. All other fields must be filled in.
    fn too_short_for(&self) -> Option<TooShortFor> {
        let decay = self.decay?;
        let (runtime, needed) = (decay.runtime?, decay.needed()?);
        if !decay.idle || self.took >= needed {
            return None;
        }
        let is_idle_step = matches!(self.kind, WindowKind::Silent | WindowKind::Simmer);
        Some(TooShortFor {
            runtime,
            program: self.holder.clone(),
            took: self.took,
            needed,
            full_decay_helps: is_idle_step && self.end_reason() != Some(WindowEnd::Ended),
        })
    }

    /// Growth over the second half of a silent window, in bytes per second; `None` unless its first half and both quarters of
    /// its second half grew by more than noise, as they do where a timer takes memory now and then.
    pub(super) fn growth_rate(&self) -> Option<u64> {
        if self.kind != WindowKind::Silent {
            return None;
        }
        let last = self.curve.len().checked_sub(1)?;
        let values = [0, last / 2, last * 3 / 4, last].map(|place| self.curve[place]);
        let grew_throughout = values
            .windows(2)
            .all(|pair| pair[1] > pair[0].saturating_add(band::tolerated_difference(pair[0])));
        if !grew_throughout {
            return None;
        }
        let nanos = u128::from(self.took / 2).max(1);
        u64::try_from(u128::from(values[3] - values[1]) * 1_000_000_000 / nanos).ok()
    }

    /// Bytes that became lazily freed in this window; 0 if the kernel reclaimed more, or the server reused more. `None` if
    /// the figure is unknown at the window's start or end.
    pub fn became_lazy(&self) -> Option<u64> {
        Some(self.lazily_freed?.saturating_sub(self.lazily_before?))
    }

    /// True if lazily freed memory grew by more than noise.
    pub fn became_much_lazy(&self) -> bool {
        let (Some(private), Some(became_lazy)) = (&self.private, self.became_lazy()) else {
            return false;
        };
        became_lazy > band::tolerated_difference(private.before)
    }

    /// Time until private memory settled; `None` for a held window, in which nothing settled.
    pub fn settle_time(&self) -> Option<Nanos> {
        self.private.as_ref()?.settle_time
    }

    /// The reason why the window ended. Older records have only `settled`, from which it follows. `None` for a window that
    /// lasted until the next step or checkpoint.
    pub fn end_reason(&self) -> Option<WindowEnd> {
        let end_by_settled = match self.settled {
            Some(true) => WindowEnd::Settled,
            Some(false) => WindowEnd::TimedOut,
            None => WindowEnd::Ended,
        };
        match self.kind {
            WindowKind::Silent | WindowKind::Simmer => Some(self.end.unwrap_or(end_by_settled)),
            WindowKind::Closed | WindowKind::Released => None,
        }
    }
}

/// What a window gives the server the occasion to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WindowKind {
    /// Nothing was sent.
    Silent,
    /// Light, harmless traffic.
    Simmer,
    /// All documents have been closed; it lasts until the next step or the phase's checkpoint.
    Closed,
    /// A forced release; it lasts as long.
    Released,
}

impl WindowKind {
    /// True if the server was left to itself, but for light traffic.
    pub fn is_idle(self) -> bool {
        matches!(self, WindowKind::Silent | WindowKind::Simmer)
    }

    /// Its name in reports and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            WindowKind::Silent => "silent",
            WindowKind::Simmer => "simmer",
            WindowKind::Closed => "closed",
            WindowKind::Released => "released",
        }
    }
}
