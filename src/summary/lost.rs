//! Processes of the tree that ended while the server was used, as far as that matters for the figures.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::record::{Checkpoint, EndCause, Nanos, PhaseRef, Process, ProcessEnd};

use super::Summary;
use super::tree::{Live, Tree};

/// A process that crashed, or that held most of the tree's memory and ended although nobody asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostProcess {
    /// Program, for an interpreter with its script: `node tsserver.js`.
    pub name: String,
    pub pid: u32,
    pub at: Nanos,
    /// The phase in which it ended.
    pub phase: Option<PhaseRef>,
    pub cause: EndCause,
    /// Private memory at its last sample, in bytes.
    pub private: Option<u64>,
    /// Private memory of the rest of the tree just after its end, in bytes.
    pub rest: Option<u64>,
    /// True if it held more than half of the tree's private memory at the last checkpoint or sample.
    pub held_most: bool,
    /// True if a process with the same name began later.
    pub replaced: bool,
}

impl LostProcess {
    /// True if its end fails the run.
    pub fn crashed(&self) -> bool {
        self.cause.is_crash()
    }
}

/// Remembers what is needed to judge the end of a process.
#[derive(Debug, Default)]
pub(super) struct Losses {
    pub list: Vec<LostProcess>,
    phase: Option<PhaseRef>,
    shuts_down: bool,
    /// Process id that held most of the tree's memory at the last checkpoint.
    holder: Option<u32>,
    /// Numbers of the processes that were there when the server was ready or at a checkpoint. Others may be workers that
    /// end when their work is done, such as compilers.
    rested: HashSet<u32>,
    /// Places in the list of processes that the tree lacks.
    missing: Vec<usize>,
}

impl Losses {
    /// A server starts, with helpers of its own.
    pub fn spawned(&mut self) {
        self.shuts_down = false;
        self.missing.clear();
    }

    /// The server is ready with these processes.
    pub fn ready(&mut self, tree: &Tree) {
        self.rested.extend(tree.live().map(|(process, _)| process));
    }

    /// A process begins, perhaps in the place of a lost one.
    pub fn appeared(&mut self, process: &Process) {
        let title = process.title();
        let Some(at) = self.missing.iter().position(|place| self.list[*place].name == title) else {
            return;
        };
        let place = self.missing.remove(at);
        self.list[place].replaced = true;
    }

    /// True while a process is missing that crashed or held most of the memory.
    pub fn is_incomplete(&self) -> bool {
        !self.missing.is_empty()
    }

    pub fn shutdown_began(&mut self) {
        self.shuts_down = true;
    }

    pub fn phase_started(&mut self, phase: &PhaseRef) {
        self.phase = Some(phase.clone());
    }

    pub fn checkpoint(&mut self, checkpoint: &Checkpoint, tree: &Tree) {
        self.ready(tree);
        let held: Vec<(u32, u64)> = tree
            .held(checkpoint)
            .filter_map(|(live, private)| Some((live.pid, private?)))
            .collect();
        let total = held
            .iter()
            .fold(0_u64, |sum, (_, private)| sum.saturating_add(*private));
        let largest = held.into_iter().max_by_key(|(_, private)| *private);
        self.holder = largest.filter(|(_, private)| *private > total / 2).map(|(pid, _)| pid);
    }

    /// Judges the end of a process; `live` is its last state and `tree` what is left.
    pub fn ended(&mut self, at: Nanos, end: &ProcessEnd, live: &Live, tree: &Tree) {
        // Older records do not say how processes ended, nor when the shutdown began.
        let Some(cause) = end.cause else { return };
        // It may have grown since the checkpoint.
        let held_last = self.rested.contains(&end.process) && live.last_private > Some(last_known(tree));
        let held_most = self.holder == Some(live.pid) || held_last;
        if self.shuts_down || live.server || !(cause.is_crash() || held_most) {
            return;
        }
        self.missing.push(self.list.len());
        self.list.push(LostProcess {
            name: live.title.clone(),
            pid: live.pid,
            at,
            phase: self.phase.clone(),
            cause,
            private: live.last_private,
            rest: tree.sums().private,
            held_most,
            replaced: false,
        });
    }
}

/// Removes memory from the idle windows of incomplete phases: what a lost process had was not released.
pub(super) fn forget_windows(summary: &mut Summary) {
    let incomplete: HashSet<&PhaseRef> = summary
        .phases
        .iter()
        .filter(|phase| phase.incomplete)
        .map(|phase| &phase.phase)
        .collect();
    for window in &mut summary.windows {
        if incomplete.contains(&window.phase) {
            (window.private, window.resident) = (None, None);
            (window.lazily_before, window.lazily_freed) = (None, None);
            window.curve.clear();
        }
    }
}

/// Private memory in bytes of all processes, each as it was last known: one that cannot be read now has not lost it.
fn last_known(tree: &Tree) -> u64 {
    let own = tree.live().filter(|(_, live)| !live.borrows);
    own.filter_map(|(_, live)| live.last_private)
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use crate::figures::{Figure, Measure};
    use crate::findings::{Severity, findings};
    use crate::record::golden::Session;
    use crate::record::{Counters, Ending, Event, IdleKind, Sample};
    use crate::summary::exit;
    use crate::summary::tests::of;

    fn signalled(signal: i32, out_of_memory: bool) -> EndCause {
        EndCause::Signalled { signal, out_of_memory }
    }

    /// A launcher of 12 MiB whose helper of 3,000 MiB ends like this within the second phase.
    fn helper_ends(cause: EndCause) -> Summary {
        let mut session = Session::new("launcher");
        session.spawn(0, "launcher", None, 12, 4);
        session.spawn(1, "helper", Some(0), 300, 4);
        session.phase("start");
        session.go(1, 1_000, 2, 50);
        session.settle(true);
        session.phase("edit");
        session.go(1, 3_000, 2, 50);
        session.vanish_by(1, cause);
        session.go(0, 13, 1, 1);
        session.settle(true);
        session.put(Event::Ended(Ending::Completed));
        of(&session)
    }

    #[test]
    fn a_helper_that_aborts_fails_a_run_that_was_played_to_its_end() {
        let summary = helper_ends(signalled(6, false));
        assert_eq!(exit(&summary), Exit::ServerFailed);
        let [lost] = summary.lost.as_slice() else {
            panic!("{:?}", summary.lost)
        };
        assert_eq!(lost.private, Some(3_000 << 20));
        assert_eq!(lost.phase.as_ref().unwrap().name, "edit");
        let failures = findings(&summary)
            .into_iter()
            .filter(|one| one.severity == Severity::Failure);
        assert_eq!(failures.count(), 1);
    }

    #[test]
    fn a_kill_fails_the_run_only_when_memory_was_out() {
        assert_eq!(exit(&helper_ends(signalled(9, true))), Exit::ServerFailed);
        assert_eq!(exit(&helper_ends(signalled(9, false))), Exit::Passed);
    }

    /// A launcher of 12 MiB and a helper that was small at the last checkpoint, if it was there, and ends at 3,000 MiB.
    fn helper_grows_and_ends(was_there: bool, cause: EndCause) -> Summary {
        let mut session = Session::new("launcher");
        session.spawn(0, "launcher", None, 12, 4);
        if was_there {
            session.spawn(1, "helper", Some(0), 2, 4);
        }
        session.phase("start");
        session.ready();
        session.settle(true);
        session.phase("edit");
        if !was_there {
            session.spawn(1, "helper", Some(0), 2, 4);
        }
        session.go(1, 3_000, 2, 50);
        session.vanish_by(1, cause);
        session.settle(true);
        session.phase("close");
        session.settle(true);
        session.put(Event::Ended(Ending::Completed));
        of(&session)
    }

    #[test]
    fn a_helper_that_grew_after_the_last_checkpoint_held_the_memory() {
        let summary = helper_grows_and_ends(true, EndCause::Exited { code: 1 });
        let [lost] = summary.lost.as_slice() else {
            panic!("{:?}", summary.lost)
        };
        assert!(lost.held_most, "{lost:?}");
        assert_eq!(lost.private, Some(3_000 << 20));
        let marks: Vec<bool> = summary.phases.iter().map(|phase| phase.incomplete).collect();
        assert_eq!(marks, [false, true, true]);
    }

    #[test]
    fn a_compiler_that_comes_and_goes_between_two_checkpoints_is_no_loss() {
        let summary = helper_grows_and_ends(false, EndCause::Exited { code: 1 });
        assert_eq!(summary.lost, []);
        assert!(summary.phases.iter().all(|phase| !phase.incomplete));
    }

    #[test]
    fn a_small_helper_is_no_holder_beside_a_server_that_cannot_be_read() {
        let mut session = Session::new("launcher");
        session.spawn(0, "launcher", None, 500, 4);
        session.spawn(1, "helper", Some(0), 20, 4);
        session.phase("start");
        session.settle(true);
        session.phase("edit");
        session.put(Event::Sample(Sample {
            process: 0,
            counters: Counters::default(),
        }));
        session.vanish_by(1, EndCause::Exited { code: 0 });
        session.settle(true);
        session.put(Event::Ended(Ending::Completed));
        assert_eq!(of(&session).lost, []);
    }

    #[test]
    fn what_a_lost_process_had_was_not_released() {
        for is_lost in [true, false] {
            let mut session = Session::new("launcher");
            session.spawn(0, "launcher", None, 12, 4);
            session.spawn(1, "helper", Some(0), 20, 4);
            session.phase("start");
            session.settle(true);
            session.phase("work");
            session.go(1, 3_000, 2, 50);
            session.settle(true);
            session.phase("idle");
            session.step("idle");
            session.window();
            if is_lost {
                session.vanish_by(1, EndCause::Exited { code: 0 });
                session.go(0, 12, 5, 0);
            } else {
                session.go(1, 20, 5, 0);
            }
            session.idle_end(IdleKind::Silent, 5);
            session.settle(true);
            session.put(Event::Ended(Ending::Completed));
            let summary = of(&session);
            assert_eq!(summary.windows[0].private.is_none(), is_lost, "{:?}", summary.windows);
            assert_eq!(summary.phases[2].returned.private.is_none(), is_lost);
        }
    }

    #[test]
    fn figures_after_the_loss_are_unknown_to_comparisons() {
        let summary = helper_grows_and_ends(true, EndCause::Unknown);
        let known: Vec<bool> = Measure::all(&summary)
            .into_iter()
            .filter(|measure| measure.figure == Figure::Private)
            .map(|measure| measure.value(&summary).is_some())
            .collect();
        assert_eq!(known, [true, false, false]);
    }

    #[test]
    fn the_holder_of_the_memory_is_named_however_it_ended() {
        for cause in [EndCause::Exited { code: 0 }, signalled(15, false), EndCause::Unknown] {
            let summary = helper_ends(cause);
            assert_eq!(exit(&summary), Exit::Passed, "{cause:?}");
            assert!(summary.lost[0].held_most && !summary.lost[0].crashed());
        }
    }
}
