//! Watches whether a server is at rest: nothing in flight, no progress, no message, next to no processor time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::lsp::Client;
use crate::record::ReadyRule;

use super::{Cpu, Stage};

/// How often the watch looks. Well below any period that a person would set, well above the cost of a look.
const LOOK: Duration = Duration::from_millis(50);

/// When a server counts as quiet.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// For this long nothing may have happened.
    pub period: Duration,
    /// Share of one processor that the tree may use over the period.
    pub cpu: f64,
}

/// A rolling look at one server.
pub struct Watch<'a, S> {
    client: &'a Client,
    stage: &'a S,
    rules: Rules,
    /// Processor time of the tree at past moments, the oldest at least one period ago once there is enough.
    cpu: VecDeque<Cpu>,
    /// Last moment at which a request or a begun progress was open.
    busy: Instant,
    /// Last moment at which a begun progress was.
    worked: Option<Instant>,
}

/// What is not at rest: the rule that is broken and the sentence for it.
pub type Unrest = (ReadyRule, String);

impl<'a, S: Stage> Watch<'a, S> {
    /// Begins to watch; the first period starts now.
    pub async fn begin(client: &'a Client, stage: &'a S, rules: Rules) -> Watch<'a, S> {
        Watch {
            client,
            stage,
            rules,
            cpu: stage.cpu().await.into_iter().collect(),
            busy: Instant::now(),
            worked: None,
        }
    }

    /// Waits a moment and looks again; `None` when all has been quiet for the period.
    pub async fn look(&mut self) -> Option<Unrest> {
        tokio::time::sleep(LOOK).await;
        self.judge(Instant::now()).await
    }

    /// What is not at rest at this moment.
    pub async fn judge(&mut self, now: Instant) -> Option<Unrest> {
        let cpu = self.cpu_share().await;
        self.open(now)
            .or_else(|| self.messages(now))
            .or_else(|| self.processors(cpu))
    }

    /// The same, whatever the server has to say meanwhile.
    pub async fn judge_work(&mut self, now: Instant) -> Option<Unrest> {
        let cpu = self.cpu_share().await;
        self.open(now).or_else(|| self.processors(cpu))
    }

    pub fn progress(&self) -> Option<Unrest> {
        let work = self.client.with_progress(|progress| {
            let work = progress.begun().next()?;
            Some(if work.title.is_empty() {
                work.token.to_string()
            } else {
                work.title.clone()
            })
        });
        work.map(|work| (ReadyRule::Progress, format!("progress `{work}` has not ended")))
    }

    /// A progress or a request that is open.
    fn open(&mut self, now: Instant) -> Option<Unrest> {
        if let Some(progress) = self.progress() {
            self.busy = now;
            self.worked = Some(now);
            return Some(progress);
        }
        let open = self.client.traffic().oldest?;
        self.busy = now;
        Some((ReadyRule::Quiet, format!("`{}` is not answered", open.method)))
    }

    /// That something was open or came within the period.
    fn messages(&self, now: Instant) -> Option<Unrest> {
        let last = self.client.traffic().last_unprompted;
        let last = last.map_or(self.busy, |news| news.max(self.busy));
        if now.duration_since(last) >= self.rules.period {
            return None;
        }
        // The message that ends the progress comes between two looks.
        Some(match self.worked.is_some_and(|worked| last <= worked + 2 * LOOK) {
            true => (ReadyRule::Progress, "the last progress ended a moment ago".to_owned()),
            false => (ReadyRule::Quiet, "the server is still sending messages".to_owned()),
        })
    }

    fn processors(&self, cpu: Option<f64>) -> Option<Unrest> {
        match cpu {
            // Not yet known is not yet quiet, and no sign of work either.
            None => Some((
                ReadyRule::Quiet,
                "CPU time is not known for a whole period yet".to_owned(),
            )),
            Some(share) if share > self.rules.cpu => Some((
                ReadyRule::Cpu,
                format!("the process tree uses {} of one CPU", crate::units::percent(share)),
            )),
            Some(_) => None,
        }
    }

    /// Share of one processor over the last period; `None` before a whole period was seen.
    async fn cpu_share(&mut self) -> Option<f64> {
        let period = self.rules.period.as_nanos() as u64;
        let reading = self.stage.cpu().await?;
        if self.cpu.back().is_none_or(|last| last.at < reading.at) {
            self.cpu.push_back(reading);
        }
        while self.cpu.get(1).is_some_and(|next| reading.at - next.at >= period) {
            self.cpu.pop_front();
        }
        let first = self.cpu.front()?;
        let window = reading.at.saturating_sub(first.at);
        (window >= period).then(|| reading.used.saturating_sub(first.used) as f64 / window as f64)
    }
}
