//! One run: the driver plays while the sampler reads, and everything goes into one journal. The only place that
//! knows both LSP and memory.

#[cfg(target_os = "linux")]
mod cgroup;
mod holder;
mod incidents;
mod interrupt;
mod java;
mod library;
mod live;
mod survivors;
mod watch;

use std::io;
use std::path::Path;

use crate::config::step::StopBy;
use crate::drive::documents::OpenDocuments;
use crate::drive::other_windows::OtherWindow;
use crate::drive::session::Session;
use crate::drive::{Job, Player, Stop, command, shutdown};
use crate::progress::Progress;
use crate::trace::Trace;
use allocator::preload::is_asked;
use proctree::host;
use record::{Clock, Ending, Event, Header, Journal};

pub use interrupt::Interrupt;
use live::Live;
pub use watch::{Watched, watch};

/// The place of an excess after all phases.
const SHUTDOWN: &str = "the shutdown";

/// Why lsp-soak could not do its job. What the server does is never one of these.
#[derive(Debug, thiserror::Error)]
pub enum SoakError {
    /// The journal could not be written.
    #[error("cannot go on recording")]
    Record(#[from] record::WriteError),
    /// Something of our own could not be done: the program not started, a file not read or written.
    #[error("cannot {what}")]
    Failed {
        what: String,
        #[source]
        error: io::Error,
    },
}

/// Plays `job` with nothing on the `documents` and writes its journal to `path`, which must not exist. The moment of the
/// start goes into the header here, for all that comes before a run takes seconds to minutes.
pub async fn soak(
    job: &Job,
    documents: OpenDocuments,
    mut header: Header,
    path: &Path,
    options: proctree::Options,
    interrupt: &Interrupt,
    progress: Progress,
) -> Result<(), SoakError> {
    let clock = Clock::start();
    header.started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
    let (journal, end) = Journal::create(path, &header, clock)?;
    let trace = job.trace.as_deref().map(|path| Trace::listen(path, clock)).transpose();
    let trace = trace.map_err(|error| SoakError::Failed {
        what: "make a pipe for the tracer".to_owned(),
        error,
    })?;
    let preload = header.server.preload.as_ref();
    let accounts = preload.map(|preload| is_asked(preload.family, &job.launch.env));
    let live = Live::new(journal, clock, options, progress, trace, job.library.clone(), accounts);
    tell_pressure(&live);
    let mut player = Player::new(job, &live, documents);
    let stop = tokio::select! {
        biased;
        () = interrupt.pressed(1) => Some(Stop::Ended(Ending::Interrupted)),
        // The ending cannot be written. Closing the journal reports the reason.
        () = live.unwritable() => Some(Stop::Failed {
            what: "write the record".to_owned(),
            error: io::ErrorKind::StorageFull.into(),
        }),
        result = play(job, &mut player, &live) => result.err(),
    };
    let (during, began) = (std::mem::take(&mut player.during), player.began());
    let session = player.session.take();
    let other_windows = std::mem::take(&mut player.other_windows);
    drop(player);

    let ending = ending(stop.as_ref(), session.as_ref(), &live, &during).await;
    if let Some(session) = session {
        let by = match ending {
            Some(Ending::Completed) => job.scenario.end,
            _ => StopBy::Shutdown,
        };
        leave_other_windows(other_windows, by, job, interrupt, &live).await;
        leave(session, ending.as_ref(), by, job, interrupt, &live).await;
    }
    live.stop_sampling();
    live.stop_tracing();
    live.tell_holders(job, &header.server, interrupt.second_press());
    tell_pressure(&live);
    // Requests that were cut off are known only now, and so is an excess during the shutdown.
    let ending = match ending {
        Some(Ending::Interrupted) => ending,
        Some(Ending::OverLimit { .. }) => live.over_limit(&during),
        ending => live.over_limit(SHUTDOWN).or(ending),
    };
    // A run is over with its shutdown and its record. One that ended in another way has more to say by that.
    let cut_short = ending == Some(Ending::Completed) && interrupt.is_pressed(1);
    if let Some(ending) = if cut_short { Some(Ending::Interrupted) } else { ending } {
        live.write(Event::Ended(ending));
    }
    drop(live);
    end.finish()?;
    let Some(Stop::Failed { what, error }) = stop else {
        return Ok(());
    };
    if !began {
        // Nothing was seen, and a record without an end would say that lsp-soak was killed. If it stays, it says no more.
        let _ = std::fs::remove_file(path);
    }
    Err(SoakError::Failed { what, error })
}

/// Stops the servers of the other windows, one after the other; at a second ctrl-c they are killed with the first.
async fn leave_other_windows(
    other_windows: Vec<OtherWindow>,
    by: StopBy,
    job: &Job,
    interrupt: &Interrupt,
    live: &Live,
) {
    if other_windows.is_empty() {
        return;
    }
    live.write(Event::ShutdownBegan);
    let patience = job.scenario.deadline().0;
    for mut window in other_windows {
        tokio::select! {
            () = window.leave(by, patience, live) => {}
            () = interrupt.pressed(2) => {}
        }
    }
}

/// Shuts the server down, at once if it was killed for its memory.
async fn leave(
    mut session: Session,
    ending: Option<&Ending>,
    by: StopBy,
    job: &Job,
    interrupt: &Interrupt,
    live: &Live,
) {
    use Ending::{Disconnected, OverLimit, TimedOut, Wedged};
    if let Some(Wedged { .. } | TimedOut { .. } | Disconnected { .. }) = ending {
        session.give_up();
    }
    live.driven();
    let is_killed = matches!(ending, Some(OverLimit { .. }));
    let at_once = async {
        if !is_killed {
            pressed_twice(interrupt, live).await;
        }
    };
    shutdown::stop(&mut session, live, by, job.scenario.deadline().0, at_once).await;
}

/// Plays the scenario on the server, or runs the command to its end.
async fn play(job: &Job, player: &mut Player<'_, Live>, live: &Live) -> Result<(), Stop> {
    match &job.choice.command {
        Some(plan) => command::play(job, plan, live).await,
        None => player.play().await,
    }
}

/// Waits for the second ctrl-c; after the first one the terminal says what another one does.
async fn pressed_twice(interrupt: &Interrupt, live: &Live) {
    interrupt.pressed(1).await;
    live.closing();
    interrupt.pressed(2).await;
}

/// How the run ended; `None` where lsp-soak itself failed.
async fn ending(stop: Option<&Stop>, session: Option<&Session>, live: &Live, during: &str) -> Option<Ending> {
    if let Some(Stop::Ended(Ending::Interrupted)) = stop {
        return Some(Ending::Interrupted);
    }
    // The end of a server that lsp-soak killed says nothing.
    if let Some(ending) = live.over_limit(during) {
        return Some(ending);
    }
    match (stop, session) {
        (None, _) => Some(Ending::Completed),
        (Some(Stop::Ended(ending)), _) => Some(placed(ending.clone(), during.to_owned())),
        (Some(Stop::Gone), Some(session)) => Some(session.ending_after_exit(during.to_owned()).await),
        (Some(Stop::Gone), None) => Some(Ending::Disconnected {
            reason: "no server is running".to_owned(),
        }),
        (Some(Stop::Failed { .. }), _) => None,
    }
}

/// A fault that has a place, with it.
fn placed(ending: Ending, place: String) -> Ending {
    match ending {
        Ending::Wedged {
            method, after, unsent, ..
        } => Ending::Wedged {
            method,
            after,
            unsent,
            during: place,
        },
        Ending::TimedOut {
            method, after, unsent, ..
        } => Ending::TimedOut {
            method,
            after,
            unsent,
            during: place,
        },
        Ending::ReportedFailure { reason, .. } => Ending::ReportedFailure { reason, during: place },
        Ending::ProcessCrashed { name, pid, cause, .. } => Ending::ProcessCrashed {
            name,
            pid,
            cause,
            during: place,
        },
        other => other,
    }
}

/// Writes down how much the machine has waited so far: what a run adds is the difference of its end and its start.
fn tell_pressure(live: &Live) {
    if let Some(pressure) = host::pressure() {
        live.write(Event::Pressure(pressure));
    }
}
