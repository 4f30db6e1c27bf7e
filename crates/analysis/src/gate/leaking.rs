//! Growth of the candidate, in itself: nothing is compared.

use serde::Serialize;

use crate::compare::Played;
use crate::growth::{
    Asked, Repeated, Reservation, Sent, Unasked, asked_in_all, deny_only_asked, repeated_parts, reserved_in_all,
    sent_in_all,
};
use base::band::{LEAST_ROUNDS, LeakLimit};
use stats::Schedule;
use stats::{Answer, LeakVerdict, Open, judge_leak_by_looks};

use crate::figures::rules::Leak;

use super::still_growing::{self, StillGrowing};

/// How many runs of each side a rule was judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Basis {
    /// At the look that answered it, or at the last one that was reached; `None` before the first.
    pub look: Option<usize>,
    /// All that there are to judge it by.
    #[serde(skip)]
    pub runs: usize,
}

/// Whether the candidate grows from round to round of one thing that the scenario repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leaking {
    /// The phase's name, or that of whole rounds.
    pub name: String,
    /// What one round sends; `None` where it is not known, or not the same in all runs.
    #[serde(skip)]
    pub sent: Option<Sent>,
    /// The least that any of the runs asked: growth is ruled out only of what all of them asked and the server answered.
    pub asked: Asked,
    /// Steps that a run did not ask or the server did not answer.
    pub unasked: Vec<Unasked>,
    /// What is said where growth is ruled out.
    #[serde(skip)]
    pub reserved: Vec<Reservation>,
    #[serde(skip)]
    pub limit: LeakLimit,
    /// How many runs of the candidate the verdict rests on.
    #[serde(flatten)]
    pub basis: Basis,
    /// True if more runs would change nothing: it has its answer, no run has the rounds that one takes, or a run did not
    /// ask.
    #[serde(skip)]
    pub settled: bool,
    #[serde(flatten)]
    pub verdict: LeakVerdict,
    /// Growth at the end of a run, which no round shows.
    #[serde(skip)]
    pub still_growing: Option<StillGrowing>,
}

/// Everything that is repeated and that the rule is about, judged over all runs.
pub(super) fn leaks(rule: &Leak, runs: &[&Played], looks: &Schedule) -> Vec<Leaking> {
    let still_growing = still_growing::at_end(runs);
    let runs: Vec<Vec<Repeated>> = runs.iter().map(|run| repeated_parts(&run.summary)).collect();
    let mut names: Vec<&str> = Vec::new();
    for part in runs.iter().flatten() {
        let is_checked = rule.phase.as_deref().is_none_or(|phase| phase == part.name);
        if is_checked && !names.contains(&part.name.as_str()) {
            names.push(&part.name);
        }
    }
    let mut leaks: Vec<Leaking> = names.into_iter().map(|name| leak(name, rule, &runs, looks)).collect();
    for leak in &mut leaks {
        StillGrowing::deny_pass(still_growing.as_ref(), &mut leak.verdict.answer);
        leak.still_growing.clone_from(&still_growing);
    }
    leaks
}

/// One part, judged over all runs.
fn leak(name: &str, rule: &Leak, runs: &[Vec<Repeated>], looks: &Schedule) -> Leaking {
    let parts: Vec<Option<&Repeated>> = runs
        .iter()
        .map(|run| run.iter().find(|part| part.name == name))
        .collect();
    let series: Vec<Vec<Option<f64>>> = parts
        .iter()
        .map(|part| part.map_or_else(Vec::new, Repeated::series))
        .collect();
    let known: Vec<&Repeated> = parts.iter().copied().flatten().collect();
    let messages = rule.per.count_per_round(&known);
    let limit = rule.limit.times(messages.unwrap_or(1.0));
    let verdict = judge_leak_by_looks(&series, &limit, looks);
    let judged = verdict.runs.len();
    let look = if looks.runs().contains(&judged) {
        Some(judged)
    } else {
        None
    };
    let (asked, unasked) = asked_in_all(parts[..judged].iter().copied().flatten());
    let mut verdict = deny_only_asked(verdict, asked);
    if messages.is_none() {
        verdict.answer = Answer::Inconclusive;
        verdict.open = Some(Open::Unasked);
    }
    let is_hopeless = look.is_some()
        && (asked != Asked::Yes || messages.is_none() || !series[..judged].iter().any(|run| has_rounds(run)));
    Leaking {
        name: name.to_owned(),
        sent: sent_in_all(parts.iter().copied().flatten()),
        asked,
        unasked,
        reserved: reserved_in_all(parts[..judged].iter().copied().flatten()),
        limit,
        basis: Basis {
            look,
            runs: series.len(),
        },
        settled: verdict.answer != Answer::Inconclusive || is_hopeless,
        verdict,
        still_growing: None,
    }
}

/// True if a run has the rounds that a verdict takes, all of known memory.
fn has_rounds(run: &[Option<f64>]) -> bool {
    run.len() >= LEAST_ROUNDS && run.iter().all(Option::is_some)
}
