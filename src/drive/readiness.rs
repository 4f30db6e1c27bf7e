//! Waits until a server is ready: its own signal, progress from *create* on, silence, idle processors, then a
//! barrier request, with a grace for work to begin and an end to all patience.
//!
//! The three limits follow the only generic algorithm found in use: a server's progress tokens run dry for a second
//! between two of its start-up tasks, so readiness is "nothing outstanding for a while", not "nothing outstanding".

use std::time::{Duration, Instant};

use crate::config::ReadinessLimits;
use crate::lsp::{Ask, Client, Reply};
use crate::record::{Readiness, ReadyOutcome, ReadyRule};

use super::Stage;
use super::quiet::{Rules, Watch};
use super::signal::Signals;

/// No server has this method: every one answers that it is unknown, and only once what came before is done.
const BARRIER: &str = "lspSoak/barrier";

/// How many start graces of complete rest stand in for a signal that does not come.
const SIGNAL: u32 = 5;

/// Waits and says how it went; `spawned` is when the server was started.
pub async fn wait(
    client: &Client,
    stage: &impl Stage,
    limits: &ReadinessLimits,
    signals: &Signals,
    spawned: Instant,
) -> Readiness {
    let rules = Rules {
        period: limits.quiet.0,
        cpu: limits.cpu.0,
    };
    let mut watch = Watch::new(client, stage, rules);
    let begun = Instant::now();
    let mut rest: Option<Instant> = None;
    let mut worked = false;
    let verdict = |outcome, rule, missing: String| Readiness {
        outcome,
        rule,
        after: spawned.elapsed().as_nanos() as u64,
        progress: created(client),
        missing,
    };
    loop {
        let unrest = watch.look().await;
        if let Some(reason) = signals.failure(client) {
            return verdict(ReadyOutcome::Failed, ReadyRule::Signal, reason);
        }
        rest = if unrest.is_none() {
            rest.or_else(|| Some(Instant::now()))
        } else {
            None
        };
        // On a trivial project some servers never give their signal: silence long enough will do instead,
        // unless the server said that it is busy.
        let patient = signals.busy() || rest.is_none_or(|since| since.elapsed() < limits.start_grace.0 * SIGNAL);
        let pending = signals
            .waiting(client)
            .filter(|_| patient)
            .map(|signal| (ReadyRule::Signal, signal))
            .or(unrest);
        worked |= matches!(pending, Some((ReadyRule::Progress | ReadyRule::Cpu, _))) || created(client) > 0;
        let missing = match pending {
            None if worked || signals.positive(client) || begun.elapsed() >= limits.start_grace.0 => None,
            None => Some((
                ReadyRule::Quiet,
                "no start-up work was seen within the start grace".to_owned(),
            )),
            pending => pending,
        };
        match missing {
            None => break,
            Some((rule, missing)) if begun.elapsed() >= limits.timeout.0 => {
                return verdict(ReadyOutcome::Timeout, rule, missing);
            }
            Some(_) => {}
        }
    }
    let left = limits
        .timeout
        .0
        .saturating_sub(begun.elapsed())
        .max(Duration::from_secs(5));
    match client.request(BARRIER, &(), Ask::within(left)).await {
        Reply::Answer { .. } | Reply::Error { .. } => {
            let outcome = if worked || signals.positive(client) {
                ReadyOutcome::Ready
            } else {
                ReadyOutcome::NoWork
            };
            verdict(outcome, ReadyRule::Barrier, String::new())
        }
        Reply::TimedOut | Reply::Parked | Reply::Lost => verdict(
            ReadyOutcome::Timeout,
            ReadyRule::Barrier,
            "the barrier request was not answered".to_owned(),
        ),
    }
}

fn created(client: &Client) -> u64 {
    client.with_progress(|progress| progress.created)
}
