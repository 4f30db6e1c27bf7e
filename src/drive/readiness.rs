//! Waits until a server is ready: its own signal, no begun progress, no messages, idle processors, then a barrier
//! request. Has a grace for work to begin, and a deadline.
//!
//! A server may have no open progress token for a second between two start-up tasks. So ready means "nothing
//! outstanding for a while", not "nothing outstanding".

use std::time::{Duration, Instant};

use crate::config::ReadinessLimits;
use lsp::{Client, Reply};
use record::{Readiness, ReadyOutcome, ReadyRule};

use super::quiet::{IdleWatch, LONGEST_REST, Observations, Rules, Unrest};
use super::signal::Signals;
use super::{Stage, barrier};

/// An idle time of this many start graces replaces a missing signal.
const SIGNAL: u32 = 5;

/// A barrier answered within this time did not wait for other work.
const AT_ONCE: Duration = Duration::from_millis(200);

/// Waits and returns the result; `spawned` is when the server was started. Returns also what was observed of its rest, unless
/// it did not rest or had work to do before it answered the last request.
pub async fn wait(
    client: &Client,
    stage: &impl Stage,
    limits: &ReadinessLimits,
    signals: &Signals,
    spawned: Instant,
) -> (Readiness, Option<Observations>) {
    let mut wait = Wait {
        client,
        limits,
        signals,
        spawned,
        begun: Instant::now(),
        rest: None,
        worked: false,
        last: ReadyRule::Handshake,
    };
    let mut watch = IdleWatch::begin(
        client,
        stage,
        Rules {
            period: limits.quiet.0,
            cpu: limits.cpu.0,
        },
    )
    .await;
    let ready = loop {
        let unrest = watch.check_after_interval().await;
        if let Some(reason) = signals.failure(client) {
            break wait.verdict(ReadyOutcome::Failed, ReadyRule::Signal, reason);
        }
        let rested = watch.has_rested(wait.begun, limits.start_grace.map(|grace| grace.0));
        let Some((rule, missing)) = wait.missing(unrest, rested) else {
            break wait.barrier().await;
        };
        if wait.begun.elapsed() >= limits.timeout.0 {
            break wait.verdict(ReadyOutcome::Timeout, rule, missing);
        }
        wait.last = rule;
    };
    let rested = ready.outcome != ReadyOutcome::Timeout && ready.rule != ReadyRule::Barrier;
    let observed = if rested { Some(watch.observed()) } else { None };
    (ready, observed)
}

struct Wait<'a> {
    client: &'a Client,
    limits: &'a ReadinessLimits,
    signals: &'a Signals,
    spawned: Instant,
    begun: Instant,
    /// Since when only the signal is missing.
    rest: Option<Instant>,
    /// True if any start-up work was seen.
    worked: bool,
    /// The last rule that was violated.
    last: ReadyRule,
}

impl Wait<'_> {
    /// The first violated rule, given whether the server has rested so long that no work is expected; the server's own signal comes before rules observed from outside.
    fn missing(&mut self, unrest: Option<Unrest>, rested: bool) -> Option<Unrest> {
        self.rest = if unrest.is_none() {
            self.rest.or_else(|| Some(Instant::now()))
        } else {
            None
        };
        self.worked |= matches!(unrest, Some((ReadyRule::Progress | ReadyRule::Cpu, _))) || self.has_worked();
        let grace = self.limits.start_grace.map_or(LONGEST_REST, |grace| grace.0);
        // On a trivial project some servers never send their signal. A long idle time replaces it, unless the server
        // reported that it is busy.
        let patient = self.signals.is_busy() || self.rest.is_none_or(|since| since.elapsed() < grace * SIGNAL);
        let pending = match self.signals.missing_signal(self.client) {
            Some(signal) if patient => Some((ReadyRule::Signal, signal)),
            _ => unrest,
        };
        if pending.is_none() && !self.active() && !rested {
            return Some((
                ReadyRule::Quiet,
                "no start-up work appeared within the start grace".to_owned(),
            ));
        }
        pending
    }

    /// Sends a request that a server answers only after all earlier work.
    async fn barrier(&self) -> Readiness {
        let asked = Instant::now();
        let remaining = self
            .limits
            .timeout
            .0
            .saturating_sub(self.begun.elapsed())
            .max(Duration::from_secs(5));
        match barrier::ask(self.client, remaining).await {
            Reply::Answer { .. } | Reply::Error { .. } | Reply::Unreadable { .. } => {
                let outcome = if self.active() {
                    ReadyOutcome::Ready
                } else {
                    ReadyOutcome::NoWork
                };
                // An immediate answer did not cause the delay.
                let rule = if asked.elapsed() > AT_ONCE {
                    ReadyRule::Barrier
                } else {
                    self.last
                };
                self.verdict(outcome, rule, String::new())
            }
            // The fault watcher reports this in more detail.
            Reply::Lost => std::future::pending().await,
            Reply::TimedOut | Reply::Parked => {
                let missing = "the barrier request was not answered".to_owned();
                self.verdict(ReadyOutcome::Timeout, ReadyRule::Barrier, missing)
            }
        }
    }

    /// True if the server did any start-up work.
    fn active(&self) -> bool {
        self.worked || self.signals.positive(self.client)
    }

    /// True if any work began, or ended after another kind of announcement. A created token alone is no work: some
    /// servers never begin it.
    fn has_worked(&self) -> bool {
        self.client
            .with_progress(|progress| progress.started + progress.finished > 0)
    }

    fn created(&self) -> u64 {
        self.client.with_progress(|progress| progress.created)
    }

    fn verdict(&self, outcome: ReadyOutcome, rule: ReadyRule, missing: String) -> Readiness {
        let after = self.spawned.elapsed().as_nanos() as u64;
        Readiness {
            outcome,
            rule,
            after,
            progress: self.created(),
            missing,
        }
    }
}
