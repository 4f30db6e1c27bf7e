//! Judges for each step of a repeated part if the server had its work to do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::growth::{PASSIVE, is_control};
use crate::stats::WARM_UP_CYCLES;
use crate::summary::{PhaseSummary, StepSummary};

/// Whether a part gave the server all the work that it repeats. Growth can be denied only of what was asked and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// Every step was, in most rounds; or the part is a control, in which nothing is asked.
    Yes,
    /// Some steps were, others were not.
    Partly,
    /// Requests were sent, and most were not answered.
    Unanswered,
    /// Nothing was sent.
    No,
}

/// A step that gave the server no work in most rounds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Unasked {
    /// Name of the step, or the method of a `request` or `notification`.
    pub step: String,
    pub why: WhyUnasked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhyUnasked {
    /// The server does not offer it.
    NotOffered,
    /// The open files have no place for it.
    NoPlace,
    /// The step sent nothing, for example a save that the server does not want to know of.
    NothingSent,
    /// The server kept the requests open.
    KeptOpen,
    /// Requests ended with an error, a timeout, or with the session.
    Failed,
}

impl WhyUnasked {
    pub fn is_unanswered(self) -> bool {
        matches!(self, WhyUnasked::KeptOpen | WhyUnasked::Failed)
    }

    /// The reason, for people.
    pub fn reason(self) -> &'static str {
        match self {
            WhyUnasked::NotOffered => "the server does not offer it",
            WhyUnasked::NoPlace => "the files have no place for it",
            WhyUnasked::NothingSent => "there was nothing to send",
            WhyUnasked::KeptOpen => "the server kept the requests open",
            WhyUnasked::Failed => "the requests failed",
        }
    }
}

/// Steps that give the server no work by themselves, or replace it.
const EXEMPT: [&str; 2] = ["start", "restart"];

/// Place of a step in the scenario: its phase, and its number in the phase.
type Place = (u32, u32);

/// The work of one step in one round.
#[derive(Debug, Default)]
struct Work {
    name: String,
    requests: u64,
    answered: u64,
    kept_open: u64,
    /// Notifications, and files changed on disk.
    changes: u64,
    is_offered: bool,
    has_place: bool,
}

impl Work {
    fn add(&mut self, step: &StepSummary) {
        let kept_open = step.parked.unwrap_or(0);
        let written = step.others.unwrap_or(0).saturating_sub(kept_open);
        self.name.clone_from(step.method.as_ref().unwrap_or(&step.name));
        self.requests += step.requests.unwrap_or(0) + kept_open;
        self.answered += step.answered.unwrap_or(0);
        self.kept_open += kept_open;
        // A written file is work where the step is about files on disk; a `save` is asked by its notification.
        let written = if step.name == "touch" { written } else { 0 };
        self.changes += step.notifications.unwrap_or(0) + written;
        self.is_offered |= !step.skipped;
        self.has_place |= step.looked_for.is_none();
    }

    /// Why the step was not asked or not answered in this round; `None` if at least half of its requests were answered,
    /// or if it needs no answer.
    fn shortfall(&self) -> Option<WhyUnasked> {
        if self.requests > 0 {
            return if self.answered * 2 >= self.requests {
                None
            } else if self.kept_open * 2 >= self.requests - self.answered {
                Some(WhyUnasked::KeptOpen)
            } else {
                Some(WhyUnasked::Failed)
            };
        }
        if !self.is_offered {
            Some(WhyUnasked::NotOffered)
        } else if !self.has_place {
            Some(WhyUnasked::NoPlace)
        } else if self.changes == 0 {
            Some(WhyUnasked::NothingSent)
        } else {
            None
        }
    }
}

/// The state of a part, and its steps that were not asked or not answered. The rounds that growth is judged by count.
pub(super) fn asked(rounds: &[&[PhaseSummary]]) -> (Asked, Vec<Unasked>) {
    let counted = match rounds.get(WARM_UP_CYCLES..) {
        Some(counted) if !counted.is_empty() => counted,
        _ => rounds,
    };
    if is_control(rounds) {
        return (Asked::Yes, Vec::new());
    }
    let mut steps: BTreeMap<Place, StepRounds> = BTreeMap::new();
    for round in counted {
        for (place, work) in works(round) {
            let step = steps.entry(place).or_default();
            step.name.clone_from(&work.name);
            step.rounds += 1;
            if let Some(why) = work.shortfall() {
                *step.shortfalls.entry(why).or_default() += 1;
            }
        }
    }
    let all = steps.len();
    let mut unasked: Vec<Unasked> = steps.into_values().filter_map(StepRounds::unasked).collect();
    let is_none_asked = all > 0 && unasked.len() == all;
    unasked.sort();
    unasked.dedup();
    let state = if unasked.is_empty() {
        Asked::Yes
    } else if !is_none_asked {
        Asked::Partly
    } else if unasked.iter().any(|step| step.why.is_unanswered()) {
        Asked::Unanswered
    } else {
        Asked::No
    };
    (state, unasked)
}

/// The work of one round by step.
fn works(round: &[PhaseSummary]) -> BTreeMap<Place, Work> {
    let mut works: BTreeMap<Place, Work> = BTreeMap::new();
    for phase in round {
        for step in &phase.steps {
            let name = step.name.as_str();
            if !PASSIVE.contains(&name) && !EXEMPT.contains(&name) {
                works.entry((phase.phase.phase, step.step)).or_default().add(step);
            }
        }
    }
    works
}

/// The rounds of one step.
#[derive(Debug, Default)]
struct StepRounds {
    name: String,
    rounds: usize,
    shortfalls: BTreeMap<WhyUnasked, usize>,
}

impl StepRounds {
    /// The step with its commonest reason if it fell short in at least half of the rounds.
    fn unasked(self) -> Option<Unasked> {
        let short: usize = self.shortfalls.values().sum();
        if short * 2 < self.rounds {
            return None;
        }
        let (why, _) = self.shortfalls.into_iter().max_by_key(|(_, rounds)| *rounds)?;
        Some(Unasked { step: self.name, why })
    }
}
