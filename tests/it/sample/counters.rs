//! Sizes, marks, processor time and threads of one process.

use record::{Event, PeakMark, Resources, Sample};
use std::fs;
use std::time::Duration;

use super::child::Child;
use super::{Kept, MIB, SLACK, next_round, often, options, phase, rarely, wait_until, watch};

fn near(value: Option<u64>, expected: u64) {
    let value = value.expect("Linux says it");
    assert!(value.abs_diff(expected) <= SLACK, "{value} is not near {expected}");
}

/// The kernel's resident counters and marks lack what each processor has not yet added, up to the pages in METHOD.md.
/// Beside other tests this one moves between processors.
fn near_sum(value: Option<u64>, expected: u64) {
    let value = value.expect("Linux says it");
    let processors = fs::read_to_string("/proc/cpuinfo")
        .expect("Linux has it")
        .matches("processor\t")
        .count() as u64;
    let pages = (2 * processors).max(32) * processors;
    let slack = SLACK + pages * rustix::param::page_size() as u64;
    assert!(value.abs_diff(expected) <= slack, "{value} is not near {expected}");
}

#[test]
fn counters_move_by_what_the_process_touched() {
    let mut child = Child::obedient();
    let (sampler, kept) = watch(child.pid(), often());
    next_round(&sampler);
    let before = kept.last(0);
    child.perform("touch 64");
    next_round(&sampler);
    let held = kept.last(0);
    child.perform("drop");
    next_round(&sampler);
    let after = kept.last(0);
    let (resident, private) = (before.resident.unwrap(), before.private.unwrap());
    near_sum(held.resident, resident + 64 * MIB);
    near(held.private, private + 64 * MIB);
    near_sum(after.resident, resident);
    near(after.private, private);
    near(held.virtual_size, before.virtual_size.unwrap() + 64 * MIB);
    assert!(held.minor_faults > before.minor_faults && held.high_water >= held.resident);
    assert_eq!((held.forked, held.swap.is_some()), (Some(false), true));
    assert_eq!(sampler.pulse().resident(), after.resident);
}

fn peaks(events: &[Event]) -> Vec<&PeakMark> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Peak(peak) => Some(peak),
            _ => None,
        })
        .collect()
}

#[test]
fn a_peak_between_two_samples_is_seen_whole_and_belongs_to_its_phase_alone() {
    let mut child = Child::obedient();
    let (sampler, kept) = watch(child.pid(), rarely());
    let base = kept.last(0).resident.unwrap();
    child.perform("spike 96");
    assert!(sampler.peak(phase()).wait());
    child.perform("spike 48");
    assert!(sampler.peak(phase()).wait());
    assert!(sampler.peak(phase()).wait());
    let events = kept.events();
    let peaks = peaks(&events);
    assert!(peaks.iter().all(|peak| peak.reset));
    near_sum(peaks[0].marks[0].counters.high_water, base + 96 * MIB);
    near_sum(peaks[1].marks[0].counters.high_water, base + 48 * MIB);
    near_sum(peaks[2].marks[0].counters.high_water, base);
}

#[test]
fn what_a_process_used_in_the_end_is_read_of_one_that_nobody_has_waited_for() {
    let mut child = Child::obedient();
    let (sampler, kept) = watch(child.pid(), rarely());
    let seen = kept.last(0);
    child.perform("burn 200");
    child.perform("spike 96");
    child.kill();
    wait_until("its end", || proctree::start_time(child.pid()).is_none());
    assert!(sampler.sample().wait());
    let used = kept.events().into_iter().find_map(|event| match event {
        Event::ProcessEnded(end) => end.used,
        _ => None,
    });
    let used = used.expect("a zombie still says what it used");
    let before = seen.user.zip(seen.system).map(|(user, system)| user + system).unwrap();
    assert!(
        used.user + used.system >= before + 200_000_000,
        "{used:?} after {seen:?}"
    );
    assert!(
        used.minor_faults > seen.minor_faults.unwrap(),
        "{used:?} after {seen:?}"
    );
}

#[test]
fn without_leave_the_mark_stays_where_it_was() {
    let mut child = Child::obedient();
    let mut options = rarely();
    options.peak_reset = false;
    let (sampler, kept) = watch(child.pid(), options);
    child.perform("spike 96");
    assert!(sampler.peak(phase()).wait());
    assert!(sampler.peak(phase()).wait());
    let events = kept.events();
    let marks: Vec<_> = peaks(&events)
        .iter()
        .map(|peak| (peak.reset, peak.marks[0].counters.high_water))
        .collect();
    assert_eq!(marks[0], marks[1]);
    assert!(!marks[0].0 && marks[0].1 > Some(96 * MIB));
}

#[test]
fn processor_time_is_that_which_was_spent() {
    let mut child = Child::obedient();
    let (sampler, kept) = watch(child.pid(), often());
    next_round(&sampler);
    let before = sampler.pulse().cpu().unwrap();
    child.perform("burn 300");
    next_round(&sampler);
    let spent = Duration::from_nanos(sampler.pulse().cpu().unwrap() - before);
    assert!(spent >= Duration::from_millis(290), "{spent:?}");
    // The child may spend some more time while it reads its own clock, but not twice as much.
    assert!(spent < Duration::from_millis(600), "{spent:?}");
    let last = kept.last(0);
    assert_eq!(
        sampler.pulse().cpu(),
        last.user.zip(last.system).map(|(user, system)| user + system)
    );
}

#[test]
fn threads_are_counted() {
    let mut child = Child::obedient();
    let (sampler, kept) = watch(child.pid(), often());
    next_round(&sampler);
    let before = kept.last(0).threads.unwrap();
    child.perform("threads 7");
    next_round(&sampler);
    assert_eq!(kept.last(0).threads, Some(before + 7));
    assert_eq!(sampler.pulse().processes(), 1, "a thread is no process");
}

#[test]
fn a_checkpoint_has_five_rounds_and_the_exact_counters() {
    let mut child = Child::obedient();
    let (sampler, kept) = watch(child.pid(), options(Duration::from_secs(3600)));
    child.perform("touch 64");
    let (sender, taken) = std::sync::mpsc::channel();
    let done = sampler.checkpoint(move |rounds, rollups, resources| {
        sender.send((rounds.clone(), rollups.clone(), resources)).unwrap();
        let (phase, unsettled) = (phase(), String::new());
        Event::Checkpoint(record::Checkpoint {
            phase,
            settled: true,
            waited: 0,
            unsettled,
            rounds,
            rollups,
            resources,
            released: None,
        })
    });
    assert!(done.wait());
    let (rounds, rollups, resources) = taken.recv().unwrap();
    let resources: Resources = resources.unwrap();
    assert_eq!(resources.zombies, Some(0));
    assert!(resources.descriptors >= Some(3), "{resources:?}");
    assert!(kept.events().iter().any(|event| matches!(event, Event::Checkpoint(_))));
    assert_eq!((rounds.len(), rollups.len()), (5, 1));
    let Sample { counters, .. } = rounds[4][0];
    let rollup = rollups[0];
    near(Some(rollup.resident), counters.resident.unwrap());
    near(Some(rollup.anonymous), counters.private.unwrap());
    assert!(
        rollup
            .private()
            .is_some_and(|private| private >= 64 * MIB && private <= rollup.proportional)
    );
    assert!(rollup.proportional <= rollup.resident && rollup.cost > 0);
}

#[test]
fn exact_counters_are_written_in_quiet_windows() {
    let mut child = Child::obedient();
    let (sampler, kept) = watch(child.pid(), often());
    next_round(&sampler);
    assert_eq!(count_rollups(&kept), 0);
    assert!(sampler.set_quiet(true).wait());
    super::wait_until("a rollup", || count_rollups(&kept) > 0);
    child.perform("touch 64");
    super::wait_until("one more", || count_rollups(&kept) > 1);
}

fn count_rollups(kept: &Kept) -> usize {
    let events = kept.events();
    events.iter().filter(|event| matches!(event, Event::Rollup(_))).count()
}

#[test]
fn a_sampler_that_stopped_says_so_to_who_waits() {
    let child = Child::obedient();
    let (sampler, _) = watch(child.pid(), rarely());
    let done = sampler.checkpoint(|_, _, _| unreachable!("there is no time for five rounds"));
    sampler.stop();
    assert!(!done.wait());
}
