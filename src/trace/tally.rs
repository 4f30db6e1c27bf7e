//! Counts calls by phase.

use std::collections::BTreeMap;

use record::{CallCount, CallKind, Nanos, PhaseRef, SystemCalls};

use super::line::Call;

#[derive(Debug)]
pub(super) struct Tally {
    /// Wall clock at the journal's zero, in nanoseconds.
    zero: u64,
    /// In order. The first is the time before all phases.
    phases: Vec<PhaseCalls>,
    /// Lines that could not be read, which the reader counts.
    pub garbled: u64,
}

#[derive(Debug, Default)]
struct PhaseCalls {
    began: Nanos,
    /// `None` outside of phases.
    phase: Option<PhaseRef>,
    calls: BTreeMap<CallKind, CallCount>,
}

impl Tally {
    /// `zero` is the wall clock's reading at the journal's zero, in nanoseconds.
    pub fn new(zero: u64) -> Tally {
        Tally {
            zero,
            phases: vec![PhaseCalls::default()],
            garbled: 0,
        }
    }

    /// Starts a phase; `None` for the time between phases.
    pub fn begin(&mut self, began: Nanos, phase: Option<PhaseRef>) {
        self.phases.push(PhaseCalls {
            began,
            phase,
            calls: BTreeMap::new(),
        });
    }

    pub fn add(&mut self, call: &Call) {
        let at = call.wall.saturating_sub(self.zero);
        let index = self.phases.iter().rposition(|phase| phase.began <= at).unwrap_or(0);
        let count = self.phases[index].calls.entry(call.kind).or_default();
        *count = count.added_to(CallCount {
            calls: u64::from(call.bytes.is_some()),
            bytes: call.bytes.unwrap_or(0),
            failed: u64::from(call.bytes.is_none()),
        });
    }

    /// The counts in the order of time.
    pub fn counts(&self) -> Vec<SystemCalls> {
        let mut counts = Vec::new();
        for PhaseCalls { phase, calls, .. } in &self.phases {
            if phase.is_some() || !calls.is_empty() {
                counts.push(SystemCalls {
                    phase: phase.clone(),
                    calls: calls.clone(),
                });
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(number: u32, name: &str) -> PhaseRef {
        PhaseRef {
            phase: number,
            cycle: 0,
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_call_belongs_to_the_phase_in_which_it_was_made_however_late_it_is_known() {
        let mut tally = Tally::new(1_000);
        let call = |at: u64| Call {
            wall: 1_000 + at,
            kind: CallKind::MadviseFree,
            bytes: Some(at),
        };
        tally.begin(10, Some(phase(0, "start")));
        tally.add(&call(12));
        tally.begin(20, Some(phase(1, "open")));
        tally.add(&call(21));
        tally.add(&call(19));
        tally.begin(30, None);
        tally.add(&call(31));
        tally.add(&Call {
            bytes: None,
            ..call(32)
        });
        let counted: Vec<(Option<String>, u64, u64, u64)> = tally
            .counts()
            .into_iter()
            .map(|one| {
                let count = one.calls[&CallKind::MadviseFree];
                (
                    one.phase.map(|phase| phase.name),
                    count.calls,
                    count.bytes,
                    count.failed,
                )
            })
            .collect();
        let expected = [
            (Some("start".to_owned()), 2, 31, 0),
            (Some("open".to_owned()), 1, 21, 0),
            (None, 1, 31, 1),
        ];
        assert_eq!(counted, expected);
    }
}
