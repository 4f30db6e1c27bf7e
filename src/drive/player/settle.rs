//! Waits before a checkpoint until the server is idle.

use std::time::{Duration, Instant};

use crate::config::Phase;
use base::lens::Lens;
use record::{BARRIER, PhaseRef, ReadyRule};

use super::Player;
use crate::drive::quiet::{IdleWatch, Observations, Rules, Unrest};
use crate::drive::session::Session;
use crate::drive::{Frame, Stage, Stop, barrier, pull};

/// The end of a wait.
struct Rest {
    /// The reason why the server was not idle in time; `None` if it was.
    unsettled: Option<String>,
    observed: Option<Observations>,
}

impl<S: Stage> Player<'_, S> {
    /// Waits until the server has read everything and is idle, or until the phase's deadline. Of an allocator that releases
    /// at once, memory must be still too, and the rest before this call counts.
    pub(super) async fn settle(&mut self, phase: &Phase, place: PhaseRef) -> Result<Frame, Stop> {
        let limits = self.job.scenario.settle(phase);
        let observed = self.observed.take();
        let session = self.session.as_ref().ok_or(Stop::Gone)?;
        // A barrier request or a pull that is still to come ends the rest.
        let is_unbroken = self.is_purged() && session.client.has_heard_all() && !session.client.has_pulls();
        let before = if is_unbroken { observed } else { None };
        self.stage.quiet(true).await;
        let rules = Rules {
            period: limits.quiet.0,
            cpu: limits.cpu.0,
        };
        let begun = Instant::now();
        let rest = tokio::select! {
            biased;
            rest = self.wait_for_rest(session, rules, limits.at_most.0, before) => rest,
            stop = session.fault(self.stage, self.job.scenario.deadline().0) => return Err(stop),
        };
        // Nothing is sent between here and the checkpoint, nor before the next phase.
        session.client.hold_pulls(true);
        self.observed = rest.observed;
        Ok(Frame {
            phase: place,
            settled: rest.unsettled.is_none(),
            waited: begun.elapsed().as_nanos() as u64,
            unsettled: rest.unsettled.unwrap_or_default(),
            released: None,
        })
    }

    fn is_purged(&self) -> bool {
        self.job.choice.lens.lens == Lens::Purged
    }

    /// Lets pulls end, passes a barrier request, and watches until the server is idle or `at_most` is over.
    async fn wait_for_rest(
        &self,
        session: &Session,
        rules: Rules,
        at_most: Duration,
        before: Option<Observations>,
    ) -> Rest {
        let begun = Instant::now();
        pull::wait_and_hold(&session.client, at_most).await;
        session.client.hold_pulls(false);
        let remaining = at_most.saturating_sub(begun.elapsed());
        // A hung server that only receives notifications looks idle.
        if !barrier::wait_for_barrier(&session.client, self.job.scenario.deadline().0).await {
            return Rest {
                unsettled: Some(format!("the last barrier request is not answered (`{BARRIER}`)")),
                observed: None,
            };
        }
        let passed = Instant::now();
        let mut watch = IdleWatch::resume(&session.client, self.stage, rules, before).await;
        loop {
            let mut unrest = watch.check_after_interval().await;
            if self.is_purged() && unrest.is_none() {
                unrest = watch.memory_unrest();
            }
            if session.client.has_pulls() {
                // The server asked for it after the last pull: its rest begins anew.
                unrest = unrest.or_else(|| Some(pulled_again()));
                watch = IdleWatch::begin(&session.client, self.stage, rules).await;
            }
            if unrest.is_none() || passed.elapsed() >= remaining {
                return Rest {
                    unsettled: unrest.map(|(_, what)| what),
                    observed: Some(watch.observed()),
                };
            }
        }
    }
}

fn pulled_again() -> Unrest {
    let text = "the server asks for its diagnostics to be pulled again and again";
    (ReadyRule::Quiet, text.to_owned())
}
