//! The exit code that a run earns.

use crate::summary::{LostProcess, Summary};
use base::exit::Exit;
use record::{EmptyStep, Ending};

use super::departure::{Departure, departures};

/// The outcome of a run.
///
/// Processes that outlive the server fail it: in an editor they would keep their memory after the window closes. So
/// does a crash during shutdown. A server that needed a signal to end is reported but does not fail: its figures are
/// complete, and many well-known servers end that way.
pub fn exit_of_run(summary: &Summary) -> Exit {
    let process_crashed =
        summary.lifecycle.command.is_none() && summary.processes.lost.iter().any(LostProcess::crashed);
    let failed = process_crashed || departures(summary).iter().any(Departure::fails_run);
    match &summary.ending {
        None => Exit::OwnFailure,
        Some(Ending::Interrupted) => Exit::Interrupted,
        Some(Ending::Completed) if !failed => Exit::Passed,
        Some(Ending::Empty { steps }) if steps.iter().all(had_no_place) && !failed => Exit::OwnFailure,
        Some(
            Ending::Completed
            | Ending::Crashed { .. }
            | Ending::Disconnected { .. }
            | Ending::TimedOut { .. }
            | Ending::Wedged { .. }
            | Ending::Refused { .. }
            | Ending::ReportedFailure { .. }
            | Ending::ProcessCrashed { .. }
            | Ending::OverLimit { .. }
            | Ending::Emptied { .. }
            | Ending::Unsupported { .. }
            | Ending::Empty { .. },
        ) => Exit::ServerFailed,
    }
}

/// True if a step asked nothing because the files have no place for it: the scenario's fault, not the server's.
fn had_no_place(step: &EmptyStep) -> bool {
    step.requests == 0 && step.parked == 0 && step.lacks.is_none()
}
