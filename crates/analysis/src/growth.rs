//! Growth of memory from round to round of a repeated phase or scenario: the values that leak rules judge.

mod counts;
mod last_growth;
mod unasked_steps;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::summary::{PhaseSummary, Summary};
use base::band::LeakLimit;
use base::shown;
use record::EmptyStep;

use self::last_growth::{Failure, is_complete};
use self::unasked_steps::Work;
use stats::{Answer, Growth, LeakVerdict, Open, RunGrowth, WARM_UP_CYCLES, run_growth};

pub use crate::growth::unasked_steps::{Asked, Reservation, Unasked, WhyUnasked, reserved_in_all};

pub use self::counts::{Counted, RepeatedCount, repeated_counts};
pub use self::last_growth::{End, LastGrowth};

pub const WHOLE: &str = "whole rounds";

/// A repeated part of a scenario, with one checkpoint per round.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeated {
    /// Name of the phase, or `whole rounds` for the scenario.
    pub name: String,
    /// Place of the checkpoints' phase in the scenario, from 0.
    pub phase: u32,
    /// Private memory at the end of each round, in the run's private metric.
    #[serde(rename = "rounds")]
    pub values: Vec<Option<u64>>,
    /// Messages per counted round; `None` if unknown.
    #[serde(flatten, serialize_with = "shown::<MessageCounts, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "MessageCounts"))]
    pub sent: Option<Sent>,
    pub asked: Asked,
    /// Steps that were not asked or not answered in most rounds.
    pub unasked: Vec<Unasked>,
    /// What is said with a denial of growth: the steps were asked, and requests failed or found nothing.
    #[serde(skip)]
    pub reserved: Vec<Reservation>,
    /// Rounds before a crash, a lost process or the end of the run: the rest is not of the whole tree.
    #[serde(skip)]
    pub whole: usize,
    /// Growth up to a crash, to the memory limit, or to the end of the process that held most of the memory.
    pub up_to_end: Option<LastGrowth>,
}

/// Average messages per round, without light traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sent {
    /// Requests, and any notifications with them.
    Requests(f64),
    Notifications(f64),
    /// Neither, but light traffic, requests that the editor sent by itself, files changed on disk, or commands for memory.
    Others,
    /// Nothing in a part that asks nothing, while the server keeps a request open.
    Waiting,
    /// Answers to requests that the server sent by itself, and nothing else.
    Answers(f64),
    /// Nothing reached the server: a control, which grows only if the server grows by itself.
    Nothing,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MessageCounts {
    /// Average requests per round; `null` if unknown or zero.
    requests: Option<f64>,
    /// Average notifications per round without requests; `null` if unknown or zero.
    notifications: Option<f64>,
}

impl From<&Option<Sent>> for MessageCounts {
    fn from(sent: &Option<Sent>) -> MessageCounts {
        let (requests, notifications) = match *sent {
            Some(Sent::Requests(count)) => (Some(count), None),
            Some(Sent::Notifications(count)) => (None, Some(count)),
            Some(Sent::Others | Sent::Waiting | Sent::Answers(_) | Sent::Nothing) | None => (None, None),
        };
        MessageCounts {
            requests,
            notifications,
        }
    }
}

impl Sent {
    pub fn per_message(self, slope: f64) -> Option<f64> {
        match self {
            Sent::Requests(count) | Sent::Notifications(count) => Some(slope / count),
            Sent::Others | Sent::Waiting | Sent::Answers(_) | Sent::Nothing => None,
        }
    }

    fn answers(self) -> f64 {
        match self {
            Sent::Answers(count) => count,
            Sent::Requests(_) | Sent::Notifications(_) | Sent::Others | Sent::Waiting | Sent::Nothing => 0.0,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Sent::Requests(_) => "request",
            Sent::Notifications(_) => "notification",
            Sent::Others | Sent::Waiting | Sent::Answers(_) | Sent::Nothing => "",
        }
    }
}

/// The unit that growth is counted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    #[default]
    Round,
    Request,
    Notification,
}

impl Per {
    pub const ALL: [Per; 3] = [Per::Round, Per::Request, Per::Notification];

    pub fn name(self) -> &'static str {
        match self {
            Per::Round => "round",
            Per::Request => "request",
            Per::Notification => "notification",
        }
    }

    /// Their number in a round, as a mean over these runs; `None` where that is not known or 0.
    pub fn count_per_round(self, parts: &[&Repeated]) -> Option<f64> {
        let mut sum = 0.0;
        for part in parts {
            sum += match (self, part.sent) {
                (Per::Round, _) => 1.0,
                (Per::Request, Some(Sent::Requests(count))) | (Per::Notification, Some(Sent::Notifications(count))) => {
                    count
                }
                (Per::Request | Per::Notification, _) => return None,
            };
        }
        if sum > 0.0 {
            Some(sum / parts.len() as f64)
        } else {
            None
        }
    }
}

/// Messages per round in all these runs; `None` if unknown or different. How often a server asks by itself is a matter
/// of time, so those numbers are averaged.
pub fn sent_in_all<'r>(runs: impl Iterator<Item = &'r Repeated>) -> Option<Sent> {
    let all: Vec<Sent> = runs.map(|run| run.sent).collect::<Option<_>>()?;
    let first = *all.first()?;
    let answers: f64 = all.iter().map(|sent| sent.answers()).sum();
    let asks_by_itself = all.iter().all(|sent| matches!(sent, Sent::Answers(_) | Sent::Nothing));
    if asks_by_itself && answers > 0.0 {
        Some(Sent::Answers(answers / all.len() as f64))
    } else if all.iter().all(|sent| *sent == first) {
        Some(first)
    } else {
        None
    }
}

impl Repeated {
    /// Growth of one run against the default limit. A verdict needs several runs.
    pub fn growth(&self) -> Option<RunGrowth> {
        let mut growth = run_growth(&self.series(), &LeakLimit::default())?;
        if self.asked != Asked::Yes && growth.growth == Growth::Below {
            growth.growth = Growth::Unclear;
        }
        Some(growth)
    }

    /// The values that are judged.
    pub fn series(&self) -> Vec<Option<f64>> {
        self.values
            .iter()
            .take(self.whole)
            .map(|value| value.map(|value| value as f64))
            .collect()
    }
}

/// All repeated parts in scenario order: phases with consecutive rounds, and the rounds of the whole scenario with
/// the value of their last phase.
pub fn repeated_parts(summary: &Summary) -> Vec<Repeated> {
    let failure = Failure::first(summary);
    let empty = unasked_steps::empty_steps(summary);
    let mut all = Vec::new();
    for (name, rounds) in rounds(summary) {
        all.push(repeated_rounds(&name, &rounds, failure.as_ref(), &empty));
    }
    all
}

/// The rounds of each repeated part, with its name. A round has one phase, or all phases of the scenario that repeat.
fn rounds(summary: &Summary) -> Vec<(String, Vec<&[PhaseSummary]>)> {
    // Each stretch is one phase, played once or several times in a row.
    let stretches: Vec<&[PhaseSummary]> = summary.phases.chunk_by(|a, b| number(a) == number(b)).collect();
    let mut times: BTreeMap<u32, usize> = BTreeMap::new();
    for stretch in &stretches {
        *times.entry(number(&stretch[0])).or_default() += 1;
    }
    let mut all = Vec::new();
    for stretch in &stretches {
        if stretch.len() > 1 && times[&number(&stretch[0])] == 1 {
            let rounds: Vec<&[PhaseSummary]> = stretch.chunks(1).collect();
            all.push((stretch[0].phase.name.clone(), rounds));
        }
    }
    let begin = summary.phases.iter().position(|phase| times[&number(phase)] > 1);
    let last = times.iter().rfind(|(_, times)| **times > 1).map(|(number, _)| *number);
    if let (Some(begin), Some(last)) = (begin, last) {
        let rounds = summary.phases[begin..].chunk_by(|a, b| number(a) <= number(b));
        // Incomplete rounds do not count.
        let complete = rounds.filter(|round| round.last().is_some_and(|phase| number(phase) == last));
        all.push((WHOLE.to_owned(), complete.collect()));
    }
    all
}

/// The work that these phases gave the server, taken as one round.
pub fn work_of(phases: &[PhaseSummary], run: &Summary) -> (Asked, Vec<Unasked>) {
    let work = unasked_steps::work(&[phases], &unasked_steps::empty_steps(run));
    (work.asked, work.unasked)
}

fn number(phase: &PhaseSummary) -> u32 {
    phase.phase.phase
}

/// The least that any of these runs asked, and the steps that a run did not ask.
pub fn asked_in_all<'r>(runs: impl Iterator<Item = &'r Repeated>) -> (Asked, Vec<Unasked>) {
    let (mut least, mut unasked) = (Asked::Yes, Vec::new());
    for run in runs {
        least = least.max(run.asked);
        unasked.extend(run.unasked.iter().cloned());
    }
    unasked.sort();
    unasked.dedup();
    (least, unasked)
}

/// A verdict that denies growth only of what was asked and answered in all runs. Growth that is shown stays.
pub fn deny_only_asked(mut verdict: LeakVerdict, asked: Asked) -> LeakVerdict {
    if asked != Asked::Yes && verdict.answer != Answer::Fail {
        verdict.answer = Answer::Inconclusive;
        verdict.open = Some(Open::Unasked);
        verdict.needed = None;
    }
    verdict
}

fn repeated_rounds(
    name: &str,
    rounds: &[&[PhaseSummary]],
    failure: Option<&Failure>,
    empty: &[&EmptyStep],
) -> Repeated {
    let ends: Vec<&PhaseSummary> = rounds.iter().filter_map(|round| round.last()).collect();
    let Work {
        asked,
        unasked,
        reserved,
    } = unasked_steps::work(rounds, empty);
    let whole = rounds.iter().take_while(|round| is_complete(round)).count();
    Repeated {
        name: name.to_owned(),
        phase: ends.first().map_or(0, |end| number(end)),
        values: ends.iter().map(|end| private_at_end(end)).collect(),
        sent: sent(rounds.get(WARM_UP_CYCLES..).unwrap_or_default()),
        asked,
        unasked,
        reserved,
        whole,
        up_to_end: failure.and_then(|failure| failure.growth(&rounds[..whole])),
    }
}

/// Private memory at the end of a phase that was played to its end.
fn private_at_end(phase: &PhaseSummary) -> Option<u64> {
    if is_complete(std::slice::from_ref(phase)) {
        phase.private
    } else {
        None
    }
}

/// Steps that neither ask nor change anything.
const PASSIVE: [&str; 4] = ["idle", "pause", "release", "self-report"];

fn is_control(rounds: &[&[PhaseSummary]]) -> bool {
    let mut steps = rounds.iter().copied().flatten().flat_map(|phase| &phase.steps);
    steps.all(|step| PASSIVE.contains(&step.name.as_str()))
}

/// Average messages of these rounds; `None` without rounds, and where a step did not end or the server does not offer
/// it.
fn sent(rounds: &[&[PhaseSummary]]) -> Option<Sent> {
    let (mut requests, mut notifications) = (0_u64, 0_u64);
    let (mut others, mut kept_open, mut answers) = (0_u64, 0_u64, 0_u64);
    for phase in rounds.iter().copied().flatten() {
        others += phase.commands + phase.editor_requests;
        kept_open += phase.kept_open;
        answers += phase.server_requests;
    }
    for step in rounds.iter().copied().flatten().flat_map(|phase| &phase.steps) {
        if step.skipped {
            return None;
        }
        others = others.saturating_add(step.others.unwrap_or(0));
        if step.name != "idle" {
            requests = requests.saturating_add(step.requests?);
            notifications = notifications.saturating_add(step.notifications?);
        }
    }
    let is_control = is_control(rounds);
    match (requests, notifications) {
        _ if rounds.is_empty() => None,
        (0, 0) if others > 0 => Some(Sent::Others),
        (0, 0) if !is_control && kept_open > 0 => Some(Sent::Others),
        (0, 0) if !is_control => None,
        (0, 0) if kept_open > 0 => Some(Sent::Waiting),
        (0, 0) if answers > 0 => Some(Sent::Answers(per_round(answers, rounds.len()))),
        (0, 0) => Some(Sent::Nothing),
        (0, notifications) => Some(Sent::Notifications(per_round(notifications, rounds.len()))),
        (requests, _) => Some(Sent::Requests(per_round(requests, rounds.len()))),
    }
}

fn per_round(count: u64, rounds: usize) -> f64 {
    count as f64 / rounds as f64
}
