//! The whole pass, on synthetic sessions with a known truth.

mod lines;
mod tree;
mod unset;

use crate::findings::{self, Severity};
use base::exit::Exit;
use record::golden::{self, Session};
use record::{Ending, Event, ShutdownStage};

use crate::golden::summarised;

use super::decay::WindowKind;
use super::{Peak, PrivateMetric, exit_of_run, read};

const MIB: u64 = 1 << 20;

fn private(mib: u64) -> u64 {
    mib * MIB - mib * MIB / 50
}

#[test]
fn increments_add_up_to_last_minus_first() {
    for session in [
        golden::completed(),
        golden::tree(),
        golden::crashed(),
        golden::interrupted(),
    ] {
        let summary = summarised(&session);
        let known: Vec<u64> = summary.phases.iter().filter_map(|phase| phase.private).collect();
        let sum: i64 = summary.phases.iter().filter_map(|phase| phase.increment).sum();
        assert_eq!(sum, *known.last().unwrap() as i64 - known[0] as i64);
    }
}

#[test]
fn increments_add_up_across_a_phase_without_a_checkpoint() {
    let mut session = golden::completed();
    session
        .entries
        .retain(|entry| !matches!(&entry.event, Event::Checkpoint(taken) if taken.phase.phase == 2));
    let summary = summarised(&session);
    assert_eq!(summary.phases[2].private, None);
    let sum: i64 = summary.phases.iter().filter_map(|phase| phase.increment).sum();
    assert_eq!(sum, private(150) as i64 - private(21) as i64);
}

#[test]
fn a_checkpoint_is_private_memory_without_what_is_lazily_freed() {
    let summary = summarised(&golden::completed());
    assert_eq!(summary.memory.private_metric, PrivateMetric::Exact);
    let values: Vec<u64> = summary.phases.iter().map(|phase| phase.private.unwrap()).collect();
    assert_eq!(values, [21, 134, 152, 193, 150].map(private));
    let taken = summary.phases[1].checkpoint.as_ref().unwrap();
    assert_eq!(
        (taken.private_sampled, taken.resident),
        (Some(134 * MIB), Some(148 * MIB))
    );
    assert_eq!((taken.threads, taken.processes), (Some(5), 1));
}

#[test]
fn without_exact_counters_the_whole_run_uses_the_sampled_ones() {
    let mut session = golden::completed();
    for entry in &mut session.entries {
        if let Event::Checkpoint(taken) = &mut entry.event
            && taken.phase.phase == 3
        {
            taken.rollups.clear();
        }
    }
    let summary = summarised(&session);
    assert_eq!(summary.memory.private_metric, PrivateMetric::Sampled);
    assert_eq!(summary.phases[0].private, Some(21 * MIB));
    // An exact value is kept, for comparison with fully exact runs.
    let exact: Vec<Option<u64>> = summary.phases.iter().map(|phase| phase.exact).collect();
    assert_eq!(
        exact,
        [Some(21), Some(134), Some(152), None, Some(150)].map(|mib| mib.map(private))
    );
}

#[test]
fn what_came_back_is_a_share_of_what_was_taken_in_one_metric() {
    let summary = summarised(&golden::completed());
    let returned = summary.phases[4].returned;
    // Resident, with the spike of the marks: (226 − 164) / (226 − 35). Private by the curve: (193 − 150) / (193 − 21).
    assert!((returned.resident.unwrap() - 62.0 / 191.0).abs() < 1e-9);
    assert!((returned.private.unwrap() - 43.0 / 172.0).abs() < 1e-9);
    assert_eq!(summary.phases[0].returned.private, None);
}

#[test]
fn no_more_than_all_of_what_was_taken_is_returned() {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 400, 20);
    for (name, mib) in [("start", 400), ("work", 410), ("less", 100), ("more", 255)] {
        session.phase(name);
        session.move_memory(0, mib, 2, 50);
        session.settle(true);
    }
    let returned: Vec<_> = summarised(&session).phases.iter().map(|phase| phase.returned).collect();
    assert_eq!(
        returned.iter().map(|one| one.private).collect::<Vec<_>>(),
        [None, Some(0.0), Some(1.0), Some(0.5)]
    );
    assert_eq!(returned[2].resident, Some(1.0));
}

#[test]
fn next_to_nothing_taken_gives_no_share() {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 60, 0);
    for name in ["one", "two"] {
        session.phase(name);
        session.move_memory(0, 60, 1, 10);
        session.settle(true);
    }
    assert_eq!(summarised(&session).phases[1].returned, super::Returned::default());
}

#[test]
fn silent_and_simmering_idle_are_told_apart() {
    let summary = summarised(&golden::completed());
    let [silent, simmer] = summary.windows.as_slice() else {
        panic!("{:?}", summary.windows)
    };
    assert_eq!((silent.kind, simmer.kind), (WindowKind::Silent, WindowKind::Simmer));
    let (silent, simmer) = (silent.private.as_ref().unwrap(), simmer.private.as_ref().unwrap());
    assert_eq!(
        (silent.released() / MIB as i64, simmer.released() / MIB as i64),
        (0, 43)
    );
    assert!((simmer.share.unwrap() - 43.0 / 172.0).abs() < 1e-9);
}

#[test]
fn requests_are_counted_by_how_they_ended() {
    let summary = summarised(&golden::crashed());
    let [method] = &summary.traffic.methods[..] else {
        panic!("{:?}", summary.traffic.methods)
    };
    assert_eq!((method.count, method.hits, method.null, method.lost), (32, 30, 1, 1));
    assert_eq!(method.answered, 31);
    assert!(method.p50 <= method.p95 && method.p95 <= method.max);
}

#[test]
fn a_crash_tells_the_signal_and_what_stderr_said_last() {
    let summary = summarised(&golden::crashed());
    assert_eq!(exit_of_run(&summary), Exit::ServerFailed);
    let last = findings::findings(&summary).pop().unwrap();
    assert_eq!(last.severity, Severity::Failure);
    assert!(
        last.text.contains("SIGSEGV") && last.text.contains("phase `goto`"),
        "{}",
        last.text
    );
    assert!(
        last.details
            .iter()
            .any(|line| line.contains("PLEASE submit a bug report"))
    );
    assert!(summary.phases[1].checkpoint.is_none());
    assert_eq!(
        summary.phases[1].peak,
        Some(Peak {
            lower: 340 * MIB,
            upper: None,
            unseen: false
        })
    );
}

#[test]
fn exit_codes_follow_the_ending() {
    let mut session = golden::completed();
    assert_eq!(exit_of_run(&summarised(&session)).code(), 0);
    session.entries.pop();
    assert_eq!(exit_of_run(&summarised(&session)).code(), 2);
    assert_eq!(exit_of_run(&summarised(&golden::interrupted())).code(), 130);
    assert_eq!(
        exit_of_run(&summarised(&golden::tree())).code(),
        4,
        "a process was left behind"
    );
    let mut killed = Session::new("server");
    killed.shut_down(ShutdownStage::Killed, Vec::new(), Ending::Completed, "");
    assert_eq!(exit_of_run(&summarised(&killed)).code(), 0);
    assert_eq!(Exit::ServerFailed.worse(Exit::Interrupted), Exit::Interrupted);
    assert_eq!(Exit::OwnFailure.worse(Exit::Passed), Exit::OwnFailure);
}

#[test]
fn a_truncated_record_has_the_phases_until_there() {
    let summary = read(golden::open("truncated")).unwrap();
    assert!(summary.unread.truncated && summary.ending.is_none());
    assert!(summary.phases.iter().filter(|phase| phase.checkpoint.is_some()).count() >= 2);
    assert!(
        findings::findings(&summary)
            .pop()
            .unwrap()
            .text
            .contains("ends before the run did")
    );
}

#[test]
fn an_empty_record_has_no_figures_and_no_panic() {
    let summary = summarised(&Session::new("server"));
    assert!(summary.phases.is_empty() && summary.memory.peak.is_none() && summary.processes.programs.is_empty());
}

/// Processor time, minor and major page faults of the last phase.
fn usage_of_last_phase(session: &Session) -> (Option<u64>, Option<u64>, Option<u64>) {
    let phase = summarised(session).phases.pop().unwrap();
    (phase.cpu, phase.minor_faults, phase.major_faults)
}

#[test]
fn what_a_phase_used_that_a_crash_cut_short_is_all_or_unknown() {
    let mut session = golden::crashed();
    // 4 s of one processor, plus the time reported at its end; 266 MiB in pages, and as much again.
    assert_eq!(
        usage_of_last_phase(&session),
        (Some(4_220_000_000), Some(266 * 256 + 1_800), Some(0))
    );
    for entry in &mut session.entries {
        if let Event::ProcessEnded(end) = &mut entry.event {
            end.used = None;
        }
    }
    assert_eq!(usage_of_last_phase(&session), (None, None, None));
    let before = &summarised(&session).phases[0];
    assert!(before.cpu.is_some() && before.minor_faults.is_some());
}
