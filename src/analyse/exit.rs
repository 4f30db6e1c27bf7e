//! The exit code that a run earns.

use crate::record::{EmptyStep, Ending};

use super::departure::{Departure, departures};
use super::summary::Summary;

/// What a run comes to, as a number for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The scenario was played to its end and the server left cleanly.
    Passed,
    /// A gate failed: more of something than is tolerated.
    GateFailed,
    /// A gate could not be decided.
    Inconclusive,
    /// The record does not say how the run ended: lsp-soak itself was stopped or its disk failed. Or the scenario had no
    /// place to ask at in the files that it opened.
    OwnFailure,
    /// The server failed the scenario, crashed while it was shut down, or left processes behind that had to be killed.
    ServerFailed,
    Interrupted,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Passed => 0,
            Exit::GateFailed => 1,
            Exit::OwnFailure => 2,
            Exit::Inconclusive => 3,
            Exit::ServerFailed => 4,
            Exit::Interrupted => 130,
        }
    }

    /// Which of two outcomes of one invocation decides: 130 > 2 > 4 > 1 > 3 > 0.
    pub fn worse(self, other: Exit) -> Exit {
        let rank = |exit| match exit {
            Exit::Passed => 0,
            Exit::Inconclusive => 1,
            Exit::GateFailed => 2,
            Exit::ServerFailed => 3,
            Exit::OwnFailure => 4,
            Exit::Interrupted => 5,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

/// What a run comes to.
///
/// Processes that outlive the server fail it: in an editor they would keep their memory after the window is
/// closed. So does a server that crashes while it is shut down. One that had to be killed or told by a signal is
/// reported but does not fail: its figures are whole, and many well-known servers leave that way.
pub fn exit(summary: &Summary) -> Exit {
    let left_badly = departures(summary).iter().any(Departure::failed);
    match &summary.ending {
        None => Exit::OwnFailure,
        Some(Ending::Interrupted) => Exit::Interrupted,
        Some(Ending::Completed) if !left_badly => Exit::Passed,
        Some(Ending::Empty { steps }) if steps.iter().all(had_no_place) && !left_badly => Exit::OwnFailure,
        Some(
            Ending::Completed
            | Ending::Crashed { .. }
            | Ending::Disconnected { .. }
            | Ending::TimedOut { .. }
            | Ending::Wedged { .. }
            | Ending::Refused { .. }
            | Ending::Emptied { .. }
            | Ending::Unsupported { .. }
            | Ending::Empty { .. },
        ) => Exit::ServerFailed,
    }
}

/// Whether a step asked nothing because the files have no place for it, which is nobody's fault but the scenario's.
pub(super) fn had_no_place(step: &EmptyStep) -> bool {
    step.requests == 0 && step.lacks.is_none()
}
