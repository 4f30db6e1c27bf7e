//! What came back in windows of idleness, as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use crate::analyse::decay;
use crate::record::{AllocatorDecay, IdleKind, Nanos, WindowEnd};

/// A window in which the server was left alone, after all documents were closed, or after memory was released by force.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Window {
    /// Its phase.
    pub phase: String,
    /// Round of that phase, from 0.
    pub cycle: u32,
    /// Place of its step in the phase, from 0.
    pub step: u32,
    /// What gave the server the occasion to give memory back.
    pub kind: decay::WindowKind,
    /// Whether it is the control of light traffic, before there was anything to give back.
    pub control: bool,
    /// Why it ended; `null` where it lasted until the next step or checkpoint, and in old records.
    pub end: Option<WindowEnd>,
    /// What was still moving when its time was up; empty otherwise.
    pub moving: String,
    /// How long one that was too short would have had to be at least; `null` of all others.
    pub needed: Option<Nanos>,
    /// Messages of light traffic sent in it.
    pub sent: u64,
    /// Messages of it that were due and not sent, because the answer to one before was open, or lsp-soak late.
    pub left_out: u64,
    /// What was known of how the allocator gives memory back.
    pub allocator: Option<AllocatorDecay>,
    /// Of the private memory at its beginning what was freed with `MADV_FREE` and not taken yet; `null` with traffic, where
    /// exact counters were not read since the server last worked, and where they cannot be.
    pub lazily_freed_before: Option<u64>,
    /// The same at its end.
    pub lazily_freed: Option<u64>,
    /// When it began.
    pub started: Nanos,
    /// How long it was.
    pub took: Nanos,
    /// Private memory, by the sampled curve.
    pub private: Option<Course>,
    /// Resident memory; `null` of a tree.
    pub resident: Option<Course>,
    /// Private memory at even distances from beginning to end, each the highest since the one before.
    pub curve: Vec<u64>,
}

/// What one quantity did in a window. Times count from its beginning.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Course {
    /// When the window began.
    pub before: u64,
    /// When it ended.
    pub after: u64,
    /// The lowest in between.
    pub floor: u64,
    /// After 1 s; `null` here and below where the window was over by then.
    pub after_1s: Option<u64>,
    /// After 5 s.
    pub after_5s: Option<u64>,
    /// After 10 s.
    pub after_10s: Option<u64>,
    /// After 30 s.
    pub after_30s: Option<u64>,
    /// Until half of what fell to the floor had come back; `null` of no more than 0.5 % or 512 KiB.
    pub t50: Option<Nanos>,
    /// Until nine tenths had.
    pub t90: Option<Nanos>,
    /// (peak − floor) / (peak − base) of the run so far, base: its lowest checkpoint, or the floor where that is lower;
    /// `null` where less than 1 MiB was ever taken.
    pub returned: Option<f64>,
    /// (before − after) / (peak − base): the window's own part.
    pub share: Option<f64>,
    /// What was above the floor times how long, in byte seconds.
    pub held_above_floor: f64,
    /// When it came to within 0.5 % or 512 KiB of the floor for the last time; `null` of private memory in a held window.
    pub settle_time: Option<Nanos>,
    /// Half-life, where the curve has one with R² over 0.98.
    pub half_life: Option<Nanos>,
}

/// What light traffic cost by itself, by the control window. It is taken off no figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Traffic {
    /// Change of private memory over the control, in bytes.
    pub bytes: f64,
    /// Messages in it.
    pub sent: u64,
    /// How long it was.
    pub took: Nanos,
    /// In bytes a minute.
    pub per_minute: f64,
    /// The same for as many messages as the other windows of light traffic had; `null` if there are none.
    pub in_windows: Option<f64>,
}

pub(super) fn traffic(windows: &[decay::Window]) -> Option<Traffic> {
    decay::traffic(windows).map(|traffic| Traffic {
        bytes: traffic.bytes,
        sent: traffic.sent,
        took: traffic.took,
        per_minute: traffic.per_minute(),
        in_windows: traffic.in_windows,
    })
}

/// What one idle window gave back, by the sampled curve.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Idle {
    /// Its phase.
    pub phase: String,
    /// Round of that phase, from 0.
    pub cycle: u32,
    /// `silent` or `simmer`.
    pub kind: IdleKind,
    /// Whether memory had become steady; `null` for a window of fixed length or one too short to tell.
    pub settled: Option<bool>,
    /// How long it was.
    pub took: Nanos,
    /// Private memory when it began; `null` where it is not known, or its pages may count twice.
    pub before: Option<u64>,
    /// And when it ended.
    pub after: Option<u64>,
    /// Its part of what the run had taken.
    pub share: Option<f64>,
}

pub(super) fn idle(window: &decay::Window) -> Option<Idle> {
    let kind = match window.kind {
        decay::WindowKind::Silent => IdleKind::Silent,
        decay::WindowKind::Simmer => IdleKind::Simmer,
        decay::WindowKind::Closed | decay::WindowKind::Released => return None,
    };
    let private = window.private.as_ref();
    Some(Idle {
        phase: window.phase.name.clone(),
        cycle: window.phase.cycle,
        kind,
        settled: window.settled,
        took: window.took,
        before: private.map(|course| course.before),
        after: private.map(|course| course.after),
        share: private.and_then(|course| course.share),
    })
}

pub(super) fn window(window: &decay::Window) -> Window {
    Window {
        phase: window.phase.name.clone(),
        cycle: window.phase.cycle,
        step: window.step,
        kind: window.kind,
        control: window.control,
        end: window.end,
        moving: window.moving.clone(),
        needed: window.needed,
        sent: window.sent,
        left_out: window.left_out,
        allocator: window.decay,
        lazily_freed_before: window.lazily_before,
        lazily_freed: window.lazily_freed,
        started: window.started,
        took: window.took,
        private: window.private.as_ref().map(|private| Course {
            settle_time: window.settle_time(),
            ..course(private)
        }),
        resident: window.resident.as_ref().map(course),
        curve: window.curve.clone(),
    }
}

fn course(course: &decay::Course) -> Course {
    let [after_1s, after_5s, after_10s, after_30s] = course.at;
    Course {
        before: course.before,
        after: course.after,
        floor: course.floor,
        after_1s,
        after_5s,
        after_10s,
        after_30s,
        t50: course.t50,
        t90: course.t90,
        returned: course.returned,
        share: course.share,
        held_above_floor: course.held,
        settle_time: course.settle_time,
        half_life: course.half_life,
    }
}
