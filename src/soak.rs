//! One run: the driver plays while the sampler reads, and everything goes into one journal. The only place that
//! knows both LSP and memory.

mod interrupt;
mod live;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::drive::desk::Desk;
use crate::drive::session::Session;
use crate::drive::{Job, Player, Stop};
use crate::lsp;
use crate::progress::Progress;
use crate::record::{self, Clock, Close, Ending, Event, Header, Journal, Shutdown, Survivor, Warning, WarningKind};
use crate::sample::{self, Living};
use crate::units;

pub use interrupt::Interrupt;
use live::Live;

/// How long processes of the tree may take to follow their server.
const FOLLOW: Duration = Duration::from_secs(2);

/// Why lsp-soak could not do its job. What the server does is never one of these.
#[derive(Debug, thiserror::Error)]
pub enum SoakError {
    /// The journal could not be written.
    #[error("cannot go on recording")]
    Record(#[from] record::WriteError),
    /// Something of our own could not be done: the program not started, a file not read or written.
    #[error("cannot {what}")]
    Failed {
        /// What.
        what: String,
        /// The system's answer.
        #[source]
        error: std::io::Error,
    },
}

/// Plays `job` and writes its journal to `path`, which must not exist.
pub async fn soak(
    job: &Job,
    header: &Header,
    path: &Path,
    options: sample::Options,
    interrupt: &Interrupt,
    progress: Arc<Progress>,
) -> Result<(), SoakError> {
    // Looks into files, which takes its time; the clock begins with the server.
    let desk = Desk::new(job);
    let clock = Clock::start();
    let (journal, end) = Journal::create(path, header, clock)?;
    let live = Live::new(journal, clock, options, progress);
    let mut player = Player::new(job, &live, desk);
    let stop = tokio::select! {
        biased;
        () = interrupt.pressed(1) => Some(Stop::Ended(Ending::Interrupted)),
        () = live.unwritable() => Some(Stop::Ended(Ending::Interrupted)),
        result = player.play() => result.err(),
    };
    let during = std::mem::take(&mut player.during);
    let session = player.session.take();
    drop(player);

    let ending = match (&stop, &session) {
        (None, _) => Ok(Ending::Completed),
        (Some(Stop::Ended(ending)), _) => Ok(ending.clone()),
        (Some(Stop::Gone), Some(session)) => Ok(session.epitaph(during).await),
        (Some(Stop::Gone), None) => Ok(Ending::Disconnected {
            reason: "no server is running".to_owned(),
        }),
        (Some(Stop::Failed { .. }), _) => Err(()),
    };
    if let Some(mut session) = session {
        if let Ok(Ending::Wedged { .. } | Ending::TimedOut { .. } | Ending::Disconnected { .. }) = ending {
            session.give_up();
        }
        close(session, &live, interrupt).await;
    }
    live.stop_sampling();
    if let Ok(ending) = ending {
        live.write(Event::Ended(ending));
    }
    drop(live);
    end.finish()?;
    match stop {
        Some(Stop::Failed { what, error }) => Err(SoakError::Failed { what, error }),
        _ => Ok(()),
    }
}

/// Brings the server down, with everything that it started, and writes down how.
async fn close(session: Session, live: &Live, interrupt: &Interrupt) {
    let mut shutdown = tokio::select! {
        biased;
        shutdown = session.shut_down() => shutdown,
        () = interrupt.pressed(2) => session.kill().await,
    };
    shutdown.survivors = survivors(live, interrupt).await;
    if let Some(text) = advice(&shutdown) {
        live.write(Event::Warning(Warning {
            kind: WarningKind::Protocol,
            text,
        }));
    }
    live.write(Event::Shutdown(shutdown));
    let totals = session.totals().await;
    if totals.noise > 0 {
        live.write(Event::Warning(Warning {
            kind: WarningKind::Noise,
            text: noise(&totals),
        }));
    }
    live.write(Event::Closed(totals));
}

/// Processes of the tree that are still there after their server and some patience. They are killed.
async fn survivors(live: &Live, interrupt: &Interrupt) -> Vec<Survivor> {
    let begun = Instant::now();
    let mut left = live.alive();
    while !left.is_empty() && begun.elapsed() < FOLLOW && !interrupt.is_pressed(2) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        left = live.alive();
    }
    kill(&left);
    // What these started meanwhile has become ours and goes the same way.
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let more = live.alive();
        if more.is_empty() {
            break;
        }
        kill(&more);
    }
    left.into_iter().map(|(pid, _, name)| Survivor { pid, name }).collect()
}

fn kill(processes: &[Living]) {
    for (pid, started, _) in processes {
        // One that is gone meanwhile is what was wanted; one that may not be killed is looked for again.
        let _ = lsp::process::kill_pid(*pid, *started);
    }
    lsp::process::reap_orphans();
}

/// The sentence for a server that writes to its stdout what belongs elsewhere.
fn noise(totals: &Close) -> String {
    const SHOWN: usize = 60;
    let mut lines = totals.noise_sample.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let first: String = first.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    format!(
        "the server wrote {} to its stdout that are not LSP, beginning with `{first}`; they were skipped, but an editor may \
         give up there: such text belongs on stderr",
        units::bytes(totals.noise)
    )
}

/// The sentence for a server that had to be forced.
fn advice(shutdown: &Shutdown) -> Option<String> {
    use record::ShutdownStage::{AlreadyGone, Exit, Killed, StdinClosed, Terminated};
    match shutdown.stage {
        AlreadyGone | Exit => None,
        StdinClosed => Some("the server ignored `exit` and left only when its input was closed".to_owned()),
        Terminated => Some("the server ignored `exit` and a closed input; it left on SIGTERM".to_owned()),
        Killed => Some("the server ignored `exit`, a closed input and SIGTERM; it was killed".to_owned()),
    }
}
