//! Judges for each step of a repeated part if the server had its work to do.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::growth::{PASSIVE, Repeated, is_control};
use crate::summary::{PhaseSummary, StepSummary, Summary};
use record::{EmptyStep, Ending};
use stats::WARM_UP_CYCLES;

/// Whether a part gave the server all the work that it repeats. Growth can be denied only of what was asked and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// Every step was, in most rounds; or the part is a control, in which nothing is asked.
    Yes,
    /// Some steps were, others were not.
    Partly,
    /// Requests were sent, and most were not answered, or found nothing where results are required; or files changed of which
    /// the server was not told.
    Unanswered,
    /// Nothing was sent.
    No,
}

/// A step that gave the server no work in most rounds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unasked {
    /// Name of the step, or the method of a `request` or `notification`.
    pub step: String,
    pub why: WhyUnasked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WhyUnasked {
    /// The server does not offer it.
    NotOffered,
    /// The open files have no place for it.
    NoPlace,
    /// The step sent nothing, for example a save that the server does not want to know of.
    NothingSent,
    /// Files were changed on disk, and no watcher that the server asked for matches them: it knows of the change only if it
    /// watches by itself.
    NotTold,
    /// The server kept the requests open.
    KeptOpen,
    /// Requests ended with an error, a timeout, or with the session.
    Failed,
    /// Results are required, and none came.
    FoundNothing,
}

impl WhyUnasked {
    /// True if something was sent or done, in vain.
    pub fn is_in_vain(self) -> bool {
        self.heading() != "not asked"
    }

    /// The heading of steps of which growth is not denied for this reason.
    pub fn heading(self) -> &'static str {
        match self {
            WhyUnasked::NotOffered | WhyUnasked::NoPlace | WhyUnasked::NothingSent => "not asked",
            WhyUnasked::KeptOpen | WhyUnasked::Failed => "not answered",
            WhyUnasked::NotTold | WhyUnasked::FoundNothing => "not decided",
        }
    }

    /// The reason, for people.
    pub fn reason(self) -> &'static str {
        match self {
            WhyUnasked::NotOffered => "the server does not offer it",
            WhyUnasked::NoPlace => "the files have no place for it",
            WhyUnasked::NothingSent => "there was nothing to send",
            WhyUnasked::NotTold => "the server asked for no watcher of these files",
            WhyUnasked::KeptOpen => "the server kept the requests open",
            WhyUnasked::Failed => "the requests failed",
            WhyUnasked::FoundNothing => "nothing was found",
        }
    }
}

/// A step of which growth is denied with a reservation.
#[derive(Clone, Debug, PartialEq)]
pub struct Reservation {
    pub step: String,
    /// The share of its requests that failed, if it is worth saying.
    pub failed: Option<f64>,
    /// True if it found nothing in most rounds, though that may be right.
    pub found_nothing: bool,
}

/// The least share of failed requests that is said.
const LEAST_FAILED: f64 = 0.01;

/// The reservations of all these runs, each step once, with its largest share.
pub fn reserved_in_all<'r>(runs: impl Iterator<Item = &'r Repeated>) -> Vec<Reservation> {
    let mut all: Vec<Reservation> = Vec::new();
    for reservation in runs.flat_map(|run| &run.reserved) {
        match all.iter_mut().find(|known| known.step == reservation.step) {
            None => all.push(reservation.clone()),
            Some(known) => {
                known.failed = known.failed.into_iter().chain(reservation.failed).reduce(f64::max);
                known.found_nothing |= reservation.found_nothing;
            }
        }
    }
    all
}

/// Steps that found nothing in some round though results are required, and not for errors alone.
pub(super) fn empty_steps(summary: &Summary) -> Vec<&EmptyStep> {
    let Some(Ending::Empty { steps }) = &summary.ending else {
        return Vec::new();
    };
    steps.iter().filter(|step| step.requests > step.errors).collect()
}

/// The work that a repeated part gave the server.
pub(super) struct Work {
    pub asked: Asked,
    pub unasked: Vec<Unasked>,
    pub reserved: Vec<Reservation>,
}

/// Steps that give the server no work by themselves, or replace it.
const EXEMPT: [&str; 2] = ["start", "restart"];

/// Place of a step in the scenario: its phase, and its number in the phase.
type Place = (u32, u32);

/// The work of one step in one round.
#[derive(Debug, Default)]
struct StepWork {
    name: String,
    requests: u64,
    answered: u64,
    hits: u64,
    /// Results are required, and some round had none.
    must_find: bool,
    kept_open: u64,
    notifications: u64,
    /// Files changed on disk.
    written: u64,
    is_offered: bool,
    has_place: bool,
}

impl StepWork {
    fn add(&mut self, step: &StepSummary) {
        let kept_open = step.parked.unwrap_or(0);
        let written = step.others.unwrap_or(0).saturating_sub(kept_open);
        self.name.clone_from(step.method.as_ref().unwrap_or(&step.name));
        self.requests += step.requests.unwrap_or(0) + kept_open;
        self.answered += step.answered.unwrap_or(0);
        self.hits += step.hits.unwrap_or(0);
        self.kept_open += kept_open;
        // A written file is work where the step is about files on disk; a `save` is asked by its notification.
        let changes_files = ["touch", "disk", "checkout", "shell"].contains(&step.name.as_str());
        let written = if changes_files { written } else { 0 };
        // A server that watches by itself needs no notification.
        self.notifications += step.notifications.unwrap_or(0) + step.files_watched.unwrap_or(0);
        self.written += written;
        self.is_offered |= !step.skipped;
        self.has_place |= step.looked_for.is_none();
    }

    /// The reason that the step was not asked or not answered in this round; `None` if at least half of its requests were answered,
    /// or if it needs no answer.
    fn shortfall(&self) -> Option<WhyUnasked> {
        if self.requests > 0 {
            return if self.must_find && self.hits == 0 && self.answered > 0 {
                Some(WhyUnasked::FoundNothing)
            } else if self.answered * 2 >= self.requests {
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
        } else if self.notifications > 0 {
            None
        } else if self.written > 0 {
            Some(WhyUnasked::NotTold)
        } else {
            Some(WhyUnasked::NothingSent)
        }
    }
}

/// The state of a part, and its steps that were not asked or not answered. The rounds that growth is judged by count.
pub(super) fn work(rounds: &[&[PhaseSummary]], empty: &[&EmptyStep]) -> Work {
    let counted = match rounds.get(WARM_UP_CYCLES..) {
        Some(counted) if !counted.is_empty() => counted,
        _ => rounds,
    };
    if is_control(rounds) {
        return Work {
            asked: Asked::Yes,
            unasked: Vec::new(),
            reserved: Vec::new(),
        };
    }
    let mut steps: BTreeMap<Place, StepRounds> = BTreeMap::new();
    for round in counted {
        for (place, work) in works(round, empty) {
            let step = steps.entry(place).or_default();
            step.name.clone_from(&work.name);
            step.rounds += 1;
            step.requests += work.requests;
            step.failed += work.requests.saturating_sub(work.answered + work.kept_open);
            step.rounds_without_hit += usize::from(work.requests > 0 && work.hits == 0);
            if let Some(why) = work.shortfall() {
                *step.shortfalls.entry(why).or_default() += 1;
            }
        }
    }
    let all = steps.len();
    let (mut unasked, mut reserved) = (Vec::new(), Vec::new());
    for step in steps.into_values() {
        match step.unasked() {
            Some(step) => unasked.push(step),
            None => reserved.extend(step.reservation()),
        }
    }
    let is_none_asked = all > 0 && unasked.len() == all;
    unasked.sort();
    unasked.dedup();
    let state = if unasked.is_empty() {
        Asked::Yes
    } else if !is_none_asked {
        Asked::Partly
    } else if unasked.iter().any(|step| step.why.is_in_vain()) {
        Asked::Unanswered
    } else {
        Asked::No
    };
    Work {
        asked: state,
        unasked,
        reserved,
    }
}

/// The work of one round by step.
fn works(round: &[PhaseSummary], empty: &[&EmptyStep]) -> BTreeMap<Place, StepWork> {
    let mut works: BTreeMap<Place, StepWork> = BTreeMap::new();
    for phase in round {
        for step in &phase.steps {
            let name = step.name.as_str();
            if !PASSIVE.contains(&name) && !EXEMPT.contains(&name) {
                let work = works.entry((phase.phase.phase, step.step)).or_default();
                work.add(step);
                work.must_find |= empty
                    .iter()
                    .any(|empty| empty.phase == phase.phase.name && empty.step == step.name);
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
    requests: u64,
    failed: u64,
    rounds_without_hit: usize,
    shortfalls: BTreeMap<WhyUnasked, usize>,
}

impl StepRounds {
    /// The step with its commonest reason if it fell short in at least half of the rounds.
    fn unasked(&self) -> Option<Unasked> {
        let short: usize = self.shortfalls.values().sum();
        if short * 2 < self.rounds {
            return None;
        }
        let (why, _) = self.shortfalls.iter().max_by_key(|(_, rounds)| **rounds)?;
        Some(Unasked {
            step: self.name.clone(),
            why: *why,
        })
    }

    /// The reservation with which growth of the step is denied; `None` if there is none.
    fn reservation(self) -> Option<Reservation> {
        let share = self.failed as f64 / self.requests.max(1) as f64;
        let failed = if share >= LEAST_FAILED { Some(share) } else { None };
        let found_nothing = self.rounds_without_hit * 2 > self.rounds;
        if failed.is_none() && !found_nothing {
            return None;
        }
        Some(Reservation {
            step: self.name,
            failed,
            found_nothing,
        })
    }
}
