//! Peaks, sums and the curve of one process and of several.

use crate::findings;
use record::golden::{self, Session};
use record::{
    AddressSpaceRule, Counters, Ending, Entry, Event, IdleKind, PeakMark, ProcessEnd, Sample, SharedMemory,
    ShutdownStage,
};

use super::super::{Peak, ResidentMetric, Summary};
use crate::golden::summarised;

use super::MIB;

#[test]
fn the_peak_of_one_process_is_its_mark_even_between_samples() {
    let summary = summarised(&golden::completed());
    let peaks: Vec<Peak> = summary.phases.iter().map(|phase| phase.peak.unwrap()).collect();
    assert!(peaks.iter().all(Peak::is_exact), "{peaks:?}");
    let values: Vec<u64> = peaks.iter().map(|peak| peak.lower / MIB).collect();
    assert_eq!(values, [35, 148, 166, 226, 207]);
    assert_eq!(summary.memory.peak.map(|peak| peak.lower), Some(226 * MIB));
}

#[test]
fn a_spike_shorter_than_a_tick_is_seen_in_its_phase_only() {
    let mut session = golden::completed();
    for entry in &mut session.entries {
        if let Event::Peak(mark) = &mut entry.event
            && mark.phase.phase == 2
        {
            mark.marks[0].counters.high_water = Some(400 * MIB);
        }
    }
    let values: Vec<u64> = summarised(&session)
        .phases
        .iter()
        .map(|phase| phase.peak.unwrap().lower / MIB)
        .collect();
    assert_eq!(values, [35, 148, 400, 226, 207]);
}

/// One process, marks never reset: 100 MiB in the first phase, of which the sampler sees 60, then 50.
fn without_reset() -> Session {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 60, 0);
    for (name, spike) in [("one", 40), ("two", 0)] {
        session.phase(name);
        session.spike(0, spike);
        session.move_memory(0, 50, 1, 10);
        session.settle(true);
    }
    for entry in &mut session.entries {
        match &mut entry.event {
            Event::Peak(mark) => {
                mark.reset = false;
                mark.marks[0].counters.high_water = Some(100 * MIB);
            }
            Event::Sample(sample) => sample.counters.high_water = Some(60 * MIB),
            Event::Checkpoint(taken) => {
                for sample in taken.rounds.iter_mut().flatten() {
                    sample.counters.high_water = Some(100 * MIB);
                }
            }
            _ => {}
        }
    }
    session
}

#[test]
fn a_mark_that_was_not_reset_counts_only_where_it_rose() {
    let summary = summarised(&without_reset());
    assert_eq!(
        summary.phases[0].peak,
        Some(Peak {
            lower: 100 * MIB,
            upper: Some(100 * MIB),
            unseen: false
        })
    );
    assert_eq!(
        summary.phases[1].peak,
        Some(Peak {
            lower: 50 * MIB,
            upper: None,
            unseen: false
        })
    );
}

#[test]
fn a_mark_that_could_not_be_reset_leaves_the_others_as_sure_as_they_were() {
    let mut session = Session::new("server");
    session.spawn(0, "a", None, 100, 0);
    session.spawn(1, "b", Some(0), 30, 0);
    for name in ["one", "two"] {
        session.phase(name);
        session.move_memory(0, 120, 1, 10);
        session.settle(true);
    }
    // The one was reset from 200 MiB and rose to 180; the other keeps its mark of 90 from the first phase.
    for entry in &mut session.entries {
        if let Event::Peak(mark) = &mut entry.event {
            let first = mark.phase.phase == 0;
            mark.kept = vec![1];
            mark.marks[0].counters.high_water = Some(if first { 200 * MIB } else { 180 * MIB });
            mark.marks[1].counters.high_water = Some(90 * MIB);
        }
    }
    let peak = summarised(&session).phases[1].peak;
    // A mark from before the phase is still an upper bound.
    assert_eq!(
        peak.map(|peak| (peak.lower, peak.upper)),
        Some((180 * MIB, Some(270 * MIB)))
    );
}

#[test]
fn the_peak_of_a_tree_is_bracketed_by_samples_and_marks() {
    let summary = summarised(&golden::tree());
    let goto = summary.phases[1].peak.unwrap();
    // The proportional sizes at the checkpoint: three quarters of every file part.
    assert_eq!(goto.lower, (48 + 240 + 25) * MIB + 3 * 42 * MIB * 3 / 4);
    // Marks of the three that live, and the last look at the one that ended.
    assert_eq!(goto.upper, Some((48 + 42 + 240 + 42 + 25 + 42 + 66 + 42) * MIB));
    assert!(goto.unseen && !goto.is_exact());
    assert_eq!(summary.phases[1].returned.resident, None);
}

#[test]
fn a_child_that_was_gone_at_every_checkpoint_makes_no_tree() {
    for (is_gone, metric) in [(true, ResidentMetric::Resident), (false, ResidentMetric::Proportional)] {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 100, 0);
        session.spawn(1, "uname", Some(0), 1, 0);
        for name in ["one", "two"] {
            session.phase(name);
            session.move_memory(0, 120, 1, 10);
            if name == "one" && is_gone {
                session.vanish(1);
            }
            session.settle(true);
        }
        let summary = summarised(&session);
        assert_eq!(
            (summary.processes.most_at_once, summary.memory.resident_metric),
            (2, metric)
        );
    }
}

#[test]
fn without_exact_counters_a_tree_had_its_anonymous_pages_and_one_file_part() {
    let mut session = golden::tree();
    for entry in &mut session.entries {
        if let Event::Checkpoint(taken) = &mut entry.event {
            taken.rollups.clear();
        }
    }
    assert_eq!(
        summarised(&session).phases[1].peak.unwrap().lower,
        (48 + 240 + 25 + 42) * MIB
    );
}

/// One process of 10 MiB and one of 100.
fn small_and_large() -> Session {
    let mut session = Session::new("server");
    session.spawn(0, "a", None, 10, 0);
    session.spawn(1, "b", Some(0), 100, 0);
    session.phase("one");
    session
}

/// The next sample of a process, with this private memory in MiB.
fn next_sample(process: u32, private: u64) -> Entry {
    let (size, zero) = (Some(private * MIB), Some(0));
    let counters = Counters {
        resident: size,
        private: size,
        file: zero,
        shared: zero,
        ..Counters::default()
    };
    Entry {
        // Each is stamped when it was read, a little after the one before.
        at: 1_000_000_000 + u64::from(process) * 1_000,
        event: Event::Sample(Sample { process, counters }),
    }
}

#[test]
fn memory_that_moves_between_processes_within_a_tick_is_not_counted_twice() {
    let mut session = small_and_large();
    session.entries.extend([next_sample(0, 100), next_sample(1, 10)]);
    let summary = summarised(&session);
    assert_eq!(summary.phases[0].peak.unwrap().lower, 110 * MIB);
    assert_eq!(summary.phases[0].private_peak, Some(110 * MIB));
}

#[test]
fn memory_that_moves_out_of_a_process_as_it_ends_is_not_counted_twice() {
    for (end, peak) in [
        // The round that reads the memory of one finds the other ended.
        (1_000_001_000, 110 * MIB),
        // A later round finds it gone: then it was there beside the other, unchanged.
        (1_200_000_000, 200 * MIB),
    ] {
        let mut session = small_and_large();
        session.entries.push(next_sample(0, 100));
        session.entries.push(Entry {
            at: end,
            event: Event::ProcessEnded(ProcessEnd {
                process: 1,
                used: None,
                cause: None,
            }),
        });
        let phase = summarised(&session).phases.remove(0);
        assert_eq!(phase.private_peak, Some(peak));
        assert_eq!(phase.peak.map(|peak| peak.lower), Some(peak));
    }
}

#[test]
fn a_process_that_begins_another_program_is_one_process() {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 30, 0);
    session.spawn(1, "server", Some(0), 10, 0);
    session.phase("one");
    session.spawn(1, "helper", Some(0), 10, 0);
    session.move_memory(1, 20, 1, 50);
    session.settle(true);
    let summary = summarised(&session);
    let programs: Vec<(&str, u64)> = summary
        .processes
        .programs
        .iter()
        .map(|one| (one.name.as_str(), one.count))
        .collect();
    assert_eq!(
        (programs, summary.processes.most_at_once),
        (vec![("helper", 1), ("server", 1)], 2)
    );
    assert_eq!(summary.phases[0].private_peak, Some(50 * MIB));
}

#[test]
fn a_program_that_begins_itself_again_keeps_its_peak() {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 30, 0);
    session.phase("one");
    session.move_memory(0, 100, 1, 50);
    session.spawn(0, "server", None, 20, 0);
    session.settle(true);
    let summary = summarised(&session);
    let programs: Vec<_> = summary
        .processes
        .programs
        .iter()
        .map(|one| (one.count, one.first_seen, one.peak))
        .collect();
    assert_eq!(programs, [(1, 0, Some(100 * MIB))]);
}

/// All samples of an event.
fn samples_of(event: &mut Event) -> Vec<&mut Sample> {
    match event {
        Event::Sample(sample) => vec![sample],
        Event::Checkpoint(taken) => taken.rounds.iter_mut().flatten().collect(),
        Event::Peak(mark) => mark.marks.iter_mut().collect(),
        _ => Vec::new(),
    }
}

#[test]
fn pages_of_a_forked_child_are_in_the_curve_but_not_in_what_is_told_of_it() {
    let mut session = Session::new("server");
    session.spawn(0, "a", None, 100, 0);
    session.spawn(1, "a", Some(0), 100, 0);
    for (name, private) in [("one", 110), ("two", 160), ("three", 120)] {
        session.phase(name);
        session.move_memory(0, private, 1, 10);
        session.settle(true);
    }
    session.phase("rest");
    session.idle(IdleKind::Silent, 0, 110, 1);
    session.vanish(1);
    session.settle(true);
    let all = summarised(&session);
    assert!(all.phases[2].returned.private.is_some() && all.windows[0].private.is_some());
    for entry in &mut session.entries {
        for sample in samples_of(&mut entry.event) {
            sample.counters.forked = Some(sample.process == 1);
        }
        if let Event::Checkpoint(taken) = &mut entry.event {
            taken.rollups.clear();
        }
    }
    let summary = summarised(&session);
    let one = &summary.phases[0];
    assert_eq!(
        (one.private_peak, one.peak.unwrap().lower),
        (Some(110 * MIB), 110 * MIB)
    );
    assert_eq!(summary.memory.curves.private.highest(), Some(260 * MIB));
    // Where it has gone, the sums say something again; but the start is one of sums that do not.
    assert!(summary.phases.iter().all(|phase| phase.returned.private.is_none()));
    assert_eq!(summary.windows[0].private, None);
}

#[test]
fn what_ended_is_out_of_the_curve_at_once() {
    let session = golden::tree();
    let gone = session
        .entries
        .iter()
        .find(|entry| matches!(entry.event, Event::ProcessEnded(_)))
        .unwrap()
        .at;
    let summary = summarised(&session);
    assert_eq!(
        summary.memory.curves.private.value_at(gone),
        Some((48 + 120 + 25) * MIB)
    );
    assert_eq!(
        summary.memory.curves.resident.value_at(gone),
        Some((48 + 120 + 25 + 42) * MIB)
    );
}

#[test]
fn when_the_last_process_has_ended_the_curve_ends() {
    let summary = summarised(&golden::crashed());
    let end = summary.duration;
    assert_eq!(summary.memory.curves.private.value_at(end), None);
    assert!(summary.memory.curves.private.highest().is_some());
}

#[test]
fn with_a_process_that_cannot_be_read_sums_are_not_known_and_bounds_are() {
    let mut session = Session::new("server");
    session.spawn(0, "a", None, 100, 0);
    session.spawn(1, "b", Some(0), 30, 0);
    session.phase("one");
    session.step("wait");
    session.move_memory(0, 110, 1, 10);
    let at = session.at;
    for entry in &mut session.entries {
        if let Event::Sample(sample) = &mut entry.event
            && sample.process == 1
        {
            sample.counters = Counters::default();
        }
    }
    let summary = summarised(&session);
    assert_eq!(summary.memory.curves.private.reduce(&[at / 2, at]), [None]);
    let phase = &summary.phases[0];
    assert_eq!((phase.private_peak, phase.cpu), (Some(110 * MIB), None));
    assert_eq!(phase.peak.map(|peak| (peak.lower, peak.upper)), Some((110 * MIB, None)));
    assert_eq!(summary.processes.programs[1].cpu, None);
}

#[test]
fn with_no_process_known_nothing_is_said_of_its_processor_time() {
    let mut session = Session::new("server");
    session.phase("one");
    session.settle(true);
    assert_eq!(
        (
            summarised(&session).phases[0].cpu,
            summarised(&session).phases[0].minor_faults
        ),
        (None, None)
    );
    session.spawn(0, "a", None, 100, 0);
    session.entries.retain(|entry| !matches!(entry.event, Event::Sample(_)));
    let summary = summarised(&session);
    assert_eq!((summary.phases[0].cpu, summary.processes.programs[0].cpu), (None, None));
}

#[test]
fn processor_time_of_processes_that_are_gone_still_counts() {
    let summary = summarised(&golden::tree());
    let goto = &summary.phases[1];
    assert_eq!(goto.cpu, Some(600_000_000 + 6_000_000_000));
    let installer = summary
        .processes
        .programs
        .iter()
        .find(|program| program.name == "typings-installer")
        .unwrap();
    assert_eq!(
        (installer.count, installer.ended, installer.cpu),
        (1, 1, Some(600_000_000))
    );
}

#[test]
fn a_mark_for_a_process_never_seen_is_passed_over() {
    let mut session = golden::completed();
    let stranger = Sample {
        process: 99,
        counters: Counters {
            high_water: Some(u64::MAX),
            ..Counters::default()
        },
    };
    for entry in &mut session.entries {
        if let Event::Peak(PeakMark { marks, .. }) = &mut entry.event {
            marks.push(stranger);
        }
    }
    assert_eq!(
        summarised(&session).memory.peak,
        summarised(&golden::completed()).memory.peak
    );
}

#[test]
fn a_peak_while_the_server_is_shut_down_is_of_no_phase() {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 60, 0);
    session.phase("one");
    session.spike(0, 50);
    session.move_memory(0, 60, 1, 10);
    session.settle(true);
    let without = session.entries.clone();
    session.move_memory(0, 90, 1, 10);
    session.spike(0, 40);
    session.move_memory(0, 20, 1, 10);
    session.vanish(0);
    session.shut_down(ShutdownStage::Exit, Vec::new(), Ending::Completed, "");
    let summary = summarised(&session);
    assert_eq!(summary.memory.peak.map(|peak| peak.lower), Some(110 * MIB));
    assert_eq!(summary.memory.shutdown_peak, Some(130 * MIB));
    let list = findings::findings(&summary);
    let words = "at least 130.0 MiB, more than the 110.0 MiB of any phase";
    assert!(list.iter().any(|finding| finding.text.contains(words)), "{list:?}");
    // It ended before the next reading, so only its memory at the reset of its mark is known.
    session.entries = without;
    session.vanish(0);
    session.shut_down(ShutdownStage::Exit, Vec::new(), Ending::Completed, "");
    assert_eq!(summarised(&session).memory.shutdown_peak, Some(60 * MIB));
}

/// A parent of 200 MiB and a fork of as much, with equal counters throughout, by this rule; `borrowed` is what the sampler
/// says of the fork.
fn two_alike(rule: Option<AddressSpaceRule>, borrowed: bool) -> Summary {
    let mut session = Session::new("server");
    session.header.settings.address_spaces = rule;
    session.spawn(0, "a", None, 200, 9);
    session.spawn(1, "a", Some(0), 200, 9);
    for name in ["one", "two"] {
        session.phase(name);
        session.move_memory(0, 200, 1, 10);
        session.move_memory(1, 200, 1, 10);
        session.settle(true);
    }
    for entry in &mut session.entries {
        for sample in samples_of(&mut entry.event) {
            if sample.process == 1 {
                sample.counters.forked = Some(true);
                sample.counters.memory_of = if borrowed { Some(0) } else { None };
            }
        }
    }
    summarised(&session)
}

/// Exact and sampled private memory at the last checkpoint and on the curve at its end, in MiB.
fn in_mib(summary: &Summary) -> [u64; 3] {
    let taken = summary.phases.last().and_then(|phase| phase.checkpoint.as_ref());
    let taken = taken.expect("it was taken");
    // A fiftieth is lazily freed.
    let exact = taken.private_exact.map(|exact| exact + taken.lazy_free.unwrap_or(0));
    [exact, taken.private_sampled, summary.memory.curves.private.highest()].map(|bytes| bytes.unwrap_or(0) / MIB)
}

#[test]
fn checkpoint_and_curve_count_a_shared_address_space_once_by_one_rule() {
    assert_eq!(in_mib(&two_alike(Some(AddressSpaceRule::Kernel), true)), [200; 3]);
    assert_eq!(in_mib(&two_alike(Some(AddressSpaceRule::Kernel), false)), [400; 3]);
    // Records that do not say: equal counters decide.
    assert_eq!(in_mib(&two_alike(None, false)), [200; 3]);
}

#[test]
fn a_fork_that_the_kernel_tells_apart_has_returned_nothing() {
    let summary = two_alike(Some(AddressSpaceRule::Kernel), false);
    assert!(summary.phases.iter().all(|phase| phase.returned.private.is_none()));
    let taken = summary.phases[1].checkpoint.as_ref().unwrap();
    assert_eq!((taken.processes, taken.forked), (2, 1));
    let taken = two_alike(Some(AddressSpaceRule::Kernel), true)
        .phases
        .remove(1)
        .checkpoint;
    assert_eq!(taken.map(|taken| (taken.processes, taken.forked)), Some((2, 0)));
}

fn count_shared(sample: &mut Sample, resident: u64) {
    sample.counters.own_shared = Some(resident * MIB);
    sample.counters.private = Some((50 + resident) * MIB);
}

/// The private peak of a server with 50 MiB anonymous and 100 MiB shared memory whose mappings have `resident` MiB, and the
/// MiB that samples count again.
fn peak_of_shared(resident: u64) -> (u64, u64) {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 50, 4);
    for name in ["one", "two"] {
        session.phase(name);
        session.move_memory(0, 50, 1, 10);
        session.settle(true);
    }
    for entry in &mut session.entries {
        for sample in samples_of(&mut entry.event) {
            count_shared(sample, resident);
        }
        if let Event::Checkpoint(taken) = &mut entry.event {
            for rollup in &mut taken.rollups {
                rollup.lazy_free = 0;
                rollup.shared_memory = Some(SharedMemory {
                    own: 100 * MIB,
                    own_resident: resident * MIB,
                    ..SharedMemory::default()
                });
            }
        }
    }
    let summary = summarised(&session);
    let again = summary.phases[1].checkpoint.as_ref().unwrap().shared_again;
    (summary.memory.private_peak.unwrap() / MIB, again.unwrap() / MIB)
}

#[test]
fn shared_memory_is_in_a_lower_bound_only_once_it_is_known_to_be_mapped_once() {
    assert_eq!(peak_of_shared(100), (150, 0));
    assert_eq!(peak_of_shared(300), (150, 200), "the exact reading alone is certain");
}
