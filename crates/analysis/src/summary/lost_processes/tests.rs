//! Ends of processes in invented sessions.

use super::*;
use crate::figures::{Figure, Measure};
use crate::findings::{Severity, findings};
use crate::golden::summarised;
use crate::summary::exit_of_run;
use base::exit::Exit;
use record::golden::Session;
use record::{Counters, Ending, Event, IdleKind, Sample};

fn signalled(signal: i32, out_of_memory: bool) -> EndCause {
    EndCause::Signalled { signal, out_of_memory }
}

/// A launcher of 12 MiB whose helper of 3,000 MiB ends like this within the second phase.
fn helper_ends(cause: EndCause) -> Summary {
    let mut session = Session::new("launcher");
    session.spawn(0, "launcher", None, 12, 4);
    session.spawn(1, "helper", Some(0), 300, 4);
    session.phase("start");
    session.move_memory(1, 1_000, 2, 50);
    session.settle(true);
    session.phase("edit");
    session.move_memory(1, 3_000, 2, 50);
    session.vanish_by(1, cause);
    session.move_memory(0, 13, 1, 1);
    session.settle(true);
    session.put(Event::Ended(Ending::Completed));
    summarised(&session)
}

#[test]
fn a_helper_that_aborts_fails_a_run_that_was_played_to_its_end() {
    let summary = helper_ends(signalled(6, false));
    assert_eq!(exit_of_run(&summary), Exit::ServerFailed);
    let [lost] = summary.processes.lost.as_slice() else {
        panic!("{:?}", summary.processes.lost)
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
    assert_eq!(exit_of_run(&helper_ends(signalled(9, true))), Exit::ServerFailed);
    assert_eq!(exit_of_run(&helper_ends(signalled(9, false))), Exit::Passed);
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
    session.move_memory(1, 3_000, 2, 50);
    session.vanish_by(1, cause);
    session.settle(true);
    session.phase("close");
    session.settle(true);
    session.put(Event::Ended(Ending::Completed));
    summarised(&session)
}

#[test]
fn a_helper_that_grew_after_the_last_checkpoint_held_the_memory() {
    let summary = helper_grows_and_ends(true, EndCause::Exited { code: 1 });
    let [lost] = summary.processes.lost.as_slice() else {
        panic!("{:?}", summary.processes.lost)
    };
    assert!(lost.held_most, "{lost:?}");
    assert_eq!(lost.private, Some(3_000 << 20));
    let marks: Vec<bool> = summary.phases.iter().map(|phase| phase.incomplete).collect();
    assert_eq!(marks, [false, true, true]);
}

#[test]
fn a_compiler_that_comes_and_goes_between_two_checkpoints_is_no_loss() {
    let summary = helper_grows_and_ends(false, EndCause::Exited { code: 0 });
    assert_eq!(summary.processes.lost, []);
    assert!(summary.phases.iter().all(|phase| !phase.incomplete));
}

#[test]
fn a_helper_that_began_late_and_failed_is_a_loss() {
    for cause in [EndCause::Exited { code: 3 }, EndCause::Unknown, signalled(15, false)] {
        let summary = helper_grows_and_ends(false, cause);
        assert_eq!(summary.processes.lost.len(), 1, "{cause:?}");
        assert!(summary.processes.lost[0].held_most && !summary.processes.lost[0].replaced);
        let marks: Vec<bool> = summary.phases.iter().map(|phase| phase.incomplete).collect();
        assert_eq!(marks, [false, true, true], "{cause:?}");
    }
}

/// Tools of 100 and 300 MiB beside a server of 12 MiB, which come one after the other in one phase and end like this.
fn tools_end(first: EndCause, second: EndCause) -> Summary {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 12, 4);
    session.phase("start");
    session.settle(true);
    session.phase("save");
    for (process, size, cause) in [(1, 100, first), (2, 300, second)] {
        session.spawn(process, "rustc", Some(0), 2, 4);
        session.move_memory(process, size, 2, 50);
        session.vanish_by(process, cause);
    }
    session.settle(true);
    session.put(Event::Ended(Ending::Completed));
    summarised(&session)
}

#[test]
fn a_tool_that_fails_once_or_is_cancelled_is_no_loss() {
    let (success, failure) = (EndCause::Exited { code: 0 }, EndCause::Exited { code: 1 });
    for (first, second) in [(success, failure), (signalled(9, false), signalled(9, false))] {
        let summary = tools_end(first, second);
        assert_eq!(summary.processes.lost, [], "{second:?}");
        assert!(!summary.phases[1].incomplete);
    }
    let summary = tools_end(failure, failure);
    assert_eq!(summary.processes.lost.len(), 2, "it never succeeded");
    assert!(summary.phases[1].incomplete);
}

/// A launcher of 8 MiB with helpers of 47 MiB, of which each of these ends by SIGTERM in the phase of its place.
fn helpers_end(helpers: u32, ends: &[u32]) -> Summary {
    let mut session = Session::new("launcher");
    session.spawn(0, "launcher", None, 8, 4);
    for process in 1..=helpers {
        session.spawn(process, "helper", Some(0), 47, 4);
    }
    session.phase("start");
    session.settle(true);
    session.move_memory(0, 8, 10, 0);
    let mut process = helpers;
    for ended in ends {
        session.phase("work");
        for _ in 0..*ended {
            session.vanish_by(process, signalled(15, false));
            process -= 1;
        }
        session.settle(true);
    }
    session.put(Event::Ended(Ending::Completed));
    summarised(&session)
}

#[test]
fn helpers_that_held_most_together_are_lost() {
    let summary = helpers_end(4, &[3]);
    assert_eq!(summary.processes.lost.len(), 3);
    assert!(summary.processes.lost.iter().all(|lost| lost.held_most));
    assert!(summary.phases[1].incomplete);
    let text = &findings(&summary)[0].text;
    let words = "3 processes (`helper`) ended, the first in `work`, with 141.0 MiB of 196.0 MiB private memory";
    assert!(text.contains(words), "{text}");
}

#[test]
fn helpers_that_end_one_after_another_add_up() {
    let summary = helpers_end(4, &[1, 1, 1]);
    assert_eq!(summary.processes.lost.len(), 3);
    let marks: Vec<bool> = summary.phases.iter().map(|phase| phase.incomplete).collect();
    assert_eq!(marks, [false, false, false, true]);
}

#[test]
fn a_lost_part_is_told_from_a_quarter_of_the_tree() {
    let summary = helpers_end(2, &[1]);
    assert_eq!(summary.processes.lost.len(), 1);
    assert!(!summary.processes.lost[0].held_most && !summary.phases[1].incomplete);
    assert_eq!(helpers_end(4, &[1]).processes.lost, []);
}

/// A helper of 100 MiB that its launcher ends; the next is in the record before that end, after so many seconds.
fn helper_is_replaced(early: u64) -> Summary {
    let mut session = Session::new("launcher");
    session.spawn(0, "launcher", None, 8, 4);
    session.spawn(1, "helper", Some(0), 100, 4);
    session.phase("start");
    session.settle(true);
    session.phase("work");
    session.spawn(2, "helper", Some(0), 10, 4);
    if early > 0 {
        session.move_memory(0, 8, early, 0);
    }
    session.vanish_by(1, signalled(15, false));
    session.settle(true);
    session.put(Event::Ended(Ending::Completed));
    summarised(&session)
}

#[test]
fn a_successor_is_known_that_one_look_saw_before_the_end() {
    let summary = helper_is_replaced(0);
    assert!(summary.processes.lost[0].replaced && !summary.phases[1].incomplete);
    let summary = helper_is_replaced(5);
    assert!(!summary.processes.lost[0].replaced && summary.phases[1].incomplete);
}

#[test]
fn a_short_job_of_the_same_name_takes_nobodys_place() {
    let mut session = Session::new("launcher");
    session.spawn(0, "launcher", None, 8, 4);
    session.spawn(1, "python3", Some(0), 100, 4);
    session.phase("start");
    session.settle(true);
    session.phase("work");
    session.vanish_by(1, EndCause::Exited { code: 3 });
    session.spawn(2, "python3", Some(0), 10, 4);
    session.vanish_by(2, EndCause::Exited { code: 0 });
    session.settle(true);
    session.put(Event::Ended(Ending::Completed));
    let summary = summarised(&session);
    assert_eq!(summary.processes.lost.len(), 1);
    assert!(!summary.processes.lost[0].replaced && summary.phases[1].incomplete);
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
    assert_eq!(summarised(&session).processes.lost, []);
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
        session.move_memory(1, 3_000, 2, 50);
        session.settle(true);
        session.phase("idle");
        session.step("idle");
        session.window();
        if is_lost {
            session.vanish_by(1, EndCause::Exited { code: 0 });
            session.move_memory(0, 12, 5, 0);
        } else {
            session.move_memory(1, 20, 5, 0);
        }
        session.idle_end(IdleKind::Silent, 5);
        session.settle(true);
        session.put(Event::Ended(Ending::Completed));
        let summary = summarised(&session);
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
        assert_eq!(exit_of_run(&summary), Exit::Passed, "{cause:?}");
        assert!(summary.processes.lost[0].held_most && !summary.processes.lost[0].crashed());
    }
}

#[test]
fn a_process_that_ends_with_its_crashed_parent_is_not_named() {
    let mut session = Session::new("launcher");
    session.spawn(0, "launcher", None, 8, 4);
    session.spawn(1, "tsserver", Some(0), 100, 4);
    session.spawn(2, "installer", Some(1), 20, 4);
    session.phase("start");
    session.settle(true);
    session.phase("edit");
    session.vanish_by(2, EndCause::Exited { code: 0 });
    session.vanish_by(1, signalled(5, false));
    session.settle(true);
    session.put(Event::Ended(Ending::Completed));
    let names: Vec<String> = summarised(&session)
        .processes
        .lost
        .into_iter()
        .map(|lost| lost.name)
        .collect();
    assert_eq!(names, ["tsserver"]);
}
