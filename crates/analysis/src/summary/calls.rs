//! The memory calls of a traced run, by the names of its phases.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::summary::Summary;
use base::exit::Exit;
use record::{CallCount, CallKind, PhaseRef, SystemCalls, TracerFacts};

use super::exit::exit_of_run;

/// The calls of one phase, over all its rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseCalls {
    /// Its name; `None` before the first phase and after the last.
    #[serde(rename = "phase")]
    pub name: Option<String>,
    /// By kind; one that was not called is missing.
    pub calls: BTreeMap<CallKind, CallCount>,
    /// Minor page faults meanwhile, where they are known.
    pub minor_faults: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Traced {
    /// What traced it.
    pub tracer: TracerFacts,
    /// Whether it was played to its end and the server did not fail.
    pub whole: bool,
    /// Its phases in their order, each name once.
    pub phases: Vec<PhaseCalls>,
}

impl PhaseCalls {
    /// The calls of one kind.
    pub fn count(&self, kind: CallKind) -> CallCount {
        self.calls.get(&kind).copied().unwrap_or_default()
    }

    /// Adds another round of the phase. Page faults are known only if they are for each round.
    fn add_round(&mut self, calls: &BTreeMap<CallKind, CallCount>, minor_faults: Option<u64>) {
        self.minor_faults = self.minor_faults.zip(minor_faults).map(|(a, b)| a.saturating_add(b));
        for (kind, count) in calls {
            let sum = self.calls.entry(*kind).or_default();
            *sum = sum.added_to(*count);
        }
    }
}

impl Traced {
    /// The calls of a run; `None` if it was not traced.
    pub fn from_summary(summary: &Summary) -> Option<Traced> {
        let tracer = summary.header.plan.traced.clone()?;
        let mut phases: Vec<PhaseCalls> = Vec::new();
        for SystemCalls { phase, calls } in &summary.system_calls {
            let name = phase.as_ref().map(|phase| phase.name.clone());
            let minor_faults = phase.as_ref().and_then(|phase| minor_faults(summary, phase));
            match phases.iter_mut().find(|known| known.name == name) {
                None => phases.push(PhaseCalls {
                    name,
                    calls: calls.clone(),
                    minor_faults,
                }),
                Some(known) => known.add_round(calls, minor_faults),
            }
        }
        Some(Traced {
            tracer,
            whole: exit_of_run(summary) == Exit::Passed,
            phases,
        })
    }

    /// The calls of one kind in all phases.
    pub fn total(&self, kind: CallKind) -> CallCount {
        self.phases
            .iter()
            .map(|phase| phase.count(kind))
            .fold(CallCount::default(), CallCount::added_to)
    }

    /// Counts the calls that advise on mapped pages: `madvise` with any advice.
    pub fn advice(&self) -> u64 {
        CallKind::ALL
            .into_iter()
            .filter(|kind| kind.is_advice())
            .map(|kind| self.total(kind).calls)
            .sum()
    }

    /// The kinds with calls, in the order of reports.
    pub fn kinds(&self) -> impl Iterator<Item = CallKind> {
        CallKind::ALL
            .into_iter()
            .filter(|kind| self.total(*kind) != CallCount::default())
    }
}

/// Page faults of one round of a phase.
fn minor_faults(summary: &Summary, phase: &PhaseRef) -> Option<u64> {
    let played = summary.phases.iter().find(|played| played.phase == *phase)?;
    played.minor_faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::traced;

    #[test]
    fn rounds_of_a_phase_are_added_and_what_is_unknown_of_one_is_unknown_of_all() {
        let summary = crate::summary::read(record::golden::open("completed")).unwrap();
        assert_eq!(Traced::from_summary(&summary), None);
        let phases = summary.phases.len() as u64;
        let traced = Traced::from_summary(&traced(summary, 10)).unwrap();
        assert!(traced.whole);
        assert_eq!(traced.phases[1].count(CallKind::MadviseDontneed).calls, 20);
        assert_eq!(traced.phases[1].minor_faults, None);
        assert!(traced.phases[0].minor_faults.is_some());
        assert_eq!(traced.phases[0].count(CallKind::Munmap), CallCount::default());
        assert_eq!(traced.advice(), 10 * (phases + 2));
        assert_eq!(traced.total(CallKind::MadviseDontneed).bytes, 40_960 * (phases + 2));
        assert_eq!(
            traced.kinds().collect::<Vec<CallKind>>(),
            [CallKind::MadviseDontneed, CallKind::Mmap]
        );
    }
}
