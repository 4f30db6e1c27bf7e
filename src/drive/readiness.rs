//! Waits until a server is ready: its own signal, progress from its *begin* on, silence, idle processors, then a
//! barrier request, with a grace for work to begin and an end to all patience.
//!
//! The three limits follow the only generic algorithm found in use: a server's progress tokens run dry for a second
//! between two of its start-up tasks, so readiness is "nothing outstanding for a while", not "nothing outstanding".

use std::time::{Duration, Instant};

use crate::config::ReadinessLimits;
use crate::lsp::{Client, Reply};
use crate::record::{Readiness, ReadyOutcome, ReadyRule};

use super::quiet::{Rules, Unrest, Watch};
use super::signal::Signals;
use super::{Stage, barrier};

/// How many start graces of complete rest stand in for a signal that does not come.
const SIGNAL: u32 = 5;

/// A barrier that is answered within this time did not have to wait for anything.
const AT_ONCE: Duration = Duration::from_millis(200);

/// Waits and says how it went; `spawned` is when the server was started.
pub async fn wait(
    client: &Client,
    stage: &impl Stage,
    limits: &ReadinessLimits,
    signals: &Signals,
    spawned: Instant,
) -> Readiness {
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
    let mut watch = Watch::begin(
        client,
        stage,
        Rules {
            period: limits.quiet.0,
            cpu: limits.cpu.0,
        },
    )
    .await;
    loop {
        let unrest = watch.look().await;
        if let Some(reason) = signals.failure(client) {
            return wait.verdict(ReadyOutcome::Failed, ReadyRule::Signal, reason);
        }
        let Some((rule, missing)) = wait.missing(unrest) else {
            return wait.barrier().await;
        };
        if wait.begun.elapsed() >= limits.timeout.0 {
            return wait.verdict(ReadyOutcome::Timeout, rule, missing);
        }
        wait.last = rule;
    }
}

struct Wait<'a> {
    client: &'a Client,
    limits: &'a ReadinessLimits,
    signals: &'a Signals,
    spawned: Instant,
    begun: Instant,
    /// Since when nothing but the signal has been missing.
    rest: Option<Instant>,
    /// Whether any start-up work was seen.
    worked: bool,
    /// The rule that was the last not to hold.
    last: ReadyRule,
}

impl Wait<'_> {
    /// The first rule that does not hold yet, the server's own signal before what can be seen from outside.
    fn missing(&mut self, unrest: Option<Unrest>) -> Option<Unrest> {
        self.rest = if unrest.is_none() {
            self.rest.or_else(|| Some(Instant::now()))
        } else {
            None
        };
        self.worked |= matches!(unrest, Some((ReadyRule::Progress | ReadyRule::Cpu, _))) || self.has_worked();
        let grace = self.limits.start_grace.0;
        // On a trivial project some servers never give their signal: silence long enough will do instead,
        // unless the server said that it is busy.
        let patient = self.signals.busy() || self.rest.is_none_or(|since| since.elapsed() < grace * SIGNAL);
        let signal = self.signals.waiting(self.client).filter(|_| patient);
        let pending = signal.map(|signal| (ReadyRule::Signal, signal)).or(unrest);
        if pending.is_none() && !self.active() && self.begun.elapsed() < grace {
            return Some((
                ReadyRule::Quiet,
                "no start-up work appeared within the start grace".to_owned(),
            ));
        }
        pending
    }

    /// Asks what only a server that is done with everything before it answers.
    async fn barrier(&self) -> Readiness {
        let asked = Instant::now();
        let left = self
            .limits
            .timeout
            .0
            .saturating_sub(self.begun.elapsed())
            .max(Duration::from_secs(5));
        match barrier::ask(self.client, left).await {
            Reply::Answer { .. } | Reply::Error { .. } => {
                let outcome = if self.active() {
                    ReadyOutcome::Ready
                } else {
                    ReadyOutcome::NoWork
                };
                // An answer that comes at once was not what held things up.
                let rule = if asked.elapsed() > AT_ONCE {
                    ReadyRule::Barrier
                } else {
                    self.last
                };
                self.verdict(outcome, rule, String::new())
            }
            // Whoever watches for faults sees the same and says more.
            Reply::Lost => std::future::pending().await,
            Reply::TimedOut | Reply::Parked => {
                let missing = "the barrier request was not answered".to_owned();
                self.verdict(ReadyOutcome::Timeout, ReadyRule::Barrier, missing)
            }
        }
    }

    /// Whether the server did something to get ready.
    fn active(&self) -> bool {
        self.worked || self.signals.positive(self.client)
    }

    /// Whether any work was begun, or ended that was announced otherwise. A token that is only created is no work: some
    /// servers never begin what they create one for.
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
