//! Checks whether a server is idle: no request, progress or message, and almost no processor time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use base::band;
use lsp::Client;
use record::ReadyRule;

use super::{Activity, Stage};

/// Interval of the checks: well below any useful period, well above the cost of a check.
const LOOK: Duration = Duration::from_millis(50);

/// When a server counts as idle.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Time in which nothing may happen.
    pub period: Duration,
    /// Share of one processor that the tree may use over the period.
    pub cpu: f64,
}

/// Watches one server over a rolling period.
pub struct IdleWatch<'a, S> {
    client: &'a Client,
    stage: &'a S,
    rules: Rules,
    observed: Observations,
}

/// A watch's observations of a server. Another watch goes on from it if nothing was sent in between.
pub struct Observations {
    /// Past readings. The oldest is at least one period old once enough exist.
    readings: VecDeque<Activity>,
    /// Last time that a request or a begun progress was open.
    busy: Instant,
    /// Last time that a begun progress was open.
    worked: Option<Instant>,
    rests: Rests,
}

/// The longest rest that is waited through for more work, where no time is set.
pub const LONGEST_REST: Duration = Duration::from_secs(3);

/// A server that rested for a while between two bursts of work may rest this many times as long before the next.
const REST_FACTOR: u32 = 4;

/// Rests between bursts of processor time.
#[derive(Clone, Copy, Debug)]
struct Rests {
    /// End of the last burst, or the beginning.
    since: Instant,
    longest: Duration,
}

impl Rests {
    fn begin(now: Instant) -> Rests {
        Rests {
            since: now,
            longest: Duration::ZERO,
        }
    }

    fn burst(&mut self, now: Instant) {
        self.longest = self.longest.max(now.saturating_duration_since(self.since));
        self.since = now;
    }

    /// True if more work is not expected.
    fn expects_no_more_work(&self, now: Instant, least: Duration) -> bool {
        let needed = (self.longest * REST_FACTOR).clamp(least.min(LONGEST_REST), LONGEST_REST);
        now.saturating_duration_since(self.since) >= needed
    }
}

impl Observations {
    /// True if private memory is known for the whole period, and kept within the band.
    fn is_still(&self, period: Duration) -> bool {
        let (Some(first), Some(last)) = (self.readings.front(), self.readings.back()) else {
            return false;
        };
        if u128::from(last.at - first.at) < period.as_nanos() {
            return false;
        }
        let (mut least, mut most) = (u64::MAX, 0);
        for reading in &self.readings {
            let Some(private) = reading.private else { return false };
            least = least.min(private);
            most = most.max(private);
        }
        most - least <= band::tolerated_difference(most)
    }
}

/// The reason why a server is not idle: the violated rule and its sentence.
pub type Unrest = (ReadyRule, String);

impl<'a, S: Stage> IdleWatch<'a, S> {
    /// Begins to watch; the first period starts now.
    pub async fn begin(client: &'a Client, stage: &'a S, rules: Rules) -> IdleWatch<'a, S> {
        let observed = Observations {
            readings: stage.activity().await.into_iter().collect(),
            busy: Instant::now(),
            worked: None,
            rests: Rests::begin(Instant::now()),
        };
        IdleWatch {
            client,
            stage,
            rules,
            observed,
        }
    }

    /// Goes on from what another watch saw, unless nobody has looked for a whole period.
    pub async fn resume(
        client: &'a Client,
        stage: &'a S,
        rules: Rules,
        observed: Option<Observations>,
    ) -> IdleWatch<'a, S> {
        let now = u128::from(stage.now());
        if let Some(observed) = observed
            && let Some(last) = observed.readings.back()
            && now.saturating_sub(last.at.into()) < rules.period.as_nanos()
        {
            return IdleWatch {
                client,
                stage,
                rules,
                observed,
            };
        }
        IdleWatch::begin(client, stage, rules).await
    }

    pub fn observed(self) -> Observations {
        self.observed
    }

    /// True if the server has rested so long that more work is not expected: for `grace`, counted from `begun`, or for a time
    /// that follows from the rests seen so far.
    pub fn has_rested(&self, begun: Instant, grace: Option<Duration>) -> bool {
        match grace {
            Some(grace) => begun.elapsed() >= grace,
            None => self
                .observed
                .rests
                .expects_no_more_work(Instant::now(), self.rules.period),
        }
    }

    /// Waits one interval and checks again; `None` if the server was idle for the whole period.
    pub async fn check_after_interval(&mut self) -> Option<Unrest> {
        tokio::time::sleep(LOOK).await;
        self.unrest(Instant::now()).await
    }

    /// The reason why the server is not idle now; `None` if it is.
    pub async fn unrest(&mut self, now: Instant) -> Option<Unrest> {
        let cpu = self.take_cpu_reading().await;
        if let Some(unrest) = self.open_work(now) {
            return Some(unrest);
        }
        self.recent_messages(now).or_else(|| self.processor_use(cpu))
    }

    /// The reason why the server is not idle, apart from its messages.
    pub async fn unrest_except_messages(&mut self, now: Instant) -> Option<Unrest> {
        let cpu = self.take_cpu_reading().await;
        self.open_work(now).or_else(|| self.processor_use(cpu))
    }

    pub fn open_progress(&self) -> Option<Unrest> {
        let work = self.client.with_progress(|progress| {
            let work = progress.begun_work().next()?;
            Some(if work.title.is_empty() {
                work.token.to_string()
            } else {
                work.title.clone()
            })
        });
        work.map(|work| (ReadyRule::Progress, format!("progress `{work}` has not ended")))
    }

    /// An open progress or request.
    fn open_work(&mut self, now: Instant) -> Option<Unrest> {
        if let Some(progress) = self.open_progress() {
            self.observed.busy = now;
            self.observed.worked = Some(now);
            return Some(progress);
        }
        let open = self.client.traffic().oldest?;
        self.observed.busy = now;
        Some((ReadyRule::Quiet, format!("`{}` is not answered", open.method)))
    }

    /// A request or message within the period.
    fn recent_messages(&self, now: Instant) -> Option<Unrest> {
        let last = match self.client.traffic().last_unprompted {
            Some(message) => message.max(self.observed.busy),
            None => self.observed.busy,
        };
        if now.duration_since(last) >= self.rules.period {
            return None;
        }
        // The message that ends a progress arrives between two checks.
        let ended_progress = self.observed.worked.is_some_and(|worked| last <= worked + 2 * LOOK);
        Some(if ended_progress {
            (ReadyRule::Progress, "the last progress ended a moment ago".to_owned())
        } else {
            (ReadyRule::Quiet, "the server is still sending messages".to_owned())
        })
    }

    fn processor_use(&self, cpu: Option<f64>) -> Option<Unrest> {
        match cpu {
            // An unknown share is neither idle nor a sign of work.
            None => Some((
                ReadyRule::Quiet,
                "CPU time is not known for a whole period yet".to_owned(),
            )),
            Some(share) if share > self.rules.cpu => Some((
                ReadyRule::Cpu,
                format!("the process tree uses {} of one CPU", base::units::percent(share)),
            )),
            Some(_) => None,
        }
    }

    /// The reason why private memory was not still for the whole period; `None` if it was.
    pub fn memory_unrest(&self) -> Option<Unrest> {
        if self.observed.is_still(self.rules.period) {
            return None;
        }
        let is_known = self.observed.readings.iter().all(|reading| reading.private.is_some());
        let what = if is_known {
            "its memory moves"
        } else {
            "its memory is not known"
        };
        Some((ReadyRule::Quiet, what.to_owned()))
    }

    /// Reads the processor time, notes a burst, and returns the share of one processor over the last period; `None` before one
    /// whole period.
    async fn take_cpu_reading(&mut self) -> Option<f64> {
        let period = self.rules.period.as_nanos() as u64;
        let reading = self.stage.activity().await?;
        let observed = &mut self.observed;
        if let Some(last) = observed.readings.back() {
            let share =
                reading.used.saturating_sub(last.used) as f64 / reading.at.saturating_sub(last.at).max(1) as f64;
            if share > self.rules.cpu {
                observed.rests.burst(Instant::now());
            }
        }
        if observed.readings.back().is_none_or(|last| last.at < reading.at) {
            observed.readings.push_back(reading);
        }
        while observed
            .readings
            .get(1)
            .is_some_and(|next| reading.at - next.at >= period)
        {
            observed.readings.pop_front();
        }
        let first = observed.readings.front()?;
        let window = reading.at.saturating_sub(first.at);
        if window < period {
            return None;
        }
        Some(reading.used.saturating_sub(first.used) as f64 / window as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rest_between_bursts_says_how_long_to_wait_for_the_next() {
        let begun = Instant::now();
        let at = |millis: u64| begun + Duration::from_millis(millis);
        let second = Duration::from_secs(1);
        let mut rests = Rests::begin(begun);
        assert!(
            !rests.expects_no_more_work(at(900), second) && rests.expects_no_more_work(at(1_000), second),
            "no less than asked for"
        );
        rests.burst(at(100));
        assert!(rests.expects_no_more_work(at(1_100), second));
        rests.burst(at(600));
        assert!(
            !rests.expects_no_more_work(at(2_500), second) && rests.expects_no_more_work(at(2_600), second),
            "500 ms seen, so 2 s"
        );
        rests.burst(at(3_000));
        assert!(
            !rests.expects_no_more_work(at(5_900), second) && rests.expects_no_more_work(at(6_000), second),
            "never more than 3 s"
        );
        assert!(rests.expects_no_more_work(at(6_000), Duration::from_secs(9)));
    }

    /// Judges values that were read every 100 ms, with a period of 500 ms.
    fn is_still(values: &[Option<u64>]) -> bool {
        let readings = values.iter().zip(0..).map(|(private, tenth)| Activity {
            at: tenth * 100_000_000,
            used: 0,
            private: *private,
        });
        let observed = Observations {
            readings: readings.collect(),
            busy: Instant::now(),
            worked: None,
            rests: Rests::begin(Instant::now()),
        };
        observed.is_still(Duration::from_millis(500))
    }

    #[test]
    fn memory_is_still_once_it_is_known_for_a_whole_period_and_kept_within_the_band() {
        const MIB: u64 = 1 << 20;
        let flat = [Some(100 * MIB); 6];
        assert!(
            is_still(&flat) && !is_still(&flat[1..]),
            "a tenth of a second too short"
        );
        let mut values = flat;
        values[2] = Some(100 * MIB + 1_000);
        assert!(is_still(&values), "a page or two may move");
        values[2] = Some(101 * MIB);
        assert!(!is_still(&values));
        values[2] = None;
        assert!(!is_still(&values), "what nobody saw may have moved");
        assert!(!is_still(&[]));
    }
}
