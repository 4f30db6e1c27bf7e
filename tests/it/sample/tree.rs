//! Which processes belong to the server.

use std::collections::BTreeMap;
use std::time::Duration;

use record::{Event, Process};

use super::child::Child;
use super::{Kept, next_round, often, options, rarely, wait_until, watch};

/// The last record of each process.
fn processes(kept: &Kept) -> BTreeMap<u32, Process> {
    kept.events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Process(process) => Some((process.process, process)),
            _ => None,
        })
        .collect()
}

fn running(kept: &Kept, program: &str) -> Option<Process> {
    processes(kept)
        .into_values()
        .find(|process| process.command.iter().any(|argument| argument == program))
}

fn has_ended(kept: &Kept, process: u32) -> bool {
    kept.events()
        .iter()
        .any(|event| matches!(event, Event::ProcessEnded(end) if end.process == process))
}

#[test]
fn children_and_grandchildren_come_with_their_parents() {
    let child = Child::shell("sh -c 'sleep 311 & sleep 312 & wait' & wait");
    let (sampler, kept) = watch(child.pid(), often());
    wait_until("two sleeps", || {
        running(&kept, "311").is_some() && running(&kept, "312").is_some()
    });
    let all = processes(&kept);
    assert_eq!(all[&0].pid, child.pid());
    for time in ["311", "312"] {
        let sleep = running(&kept, time).unwrap();
        assert_eq!(
            (sleep.name.as_str(), &sleep.command[..]),
            ("sleep", &["sleep".to_owned(), time.to_owned()][..])
        );
        let shell = &all[&sleep.parent.unwrap()];
        assert_eq!((shell.name.as_str(), shell.parent), ("sh", Some(0)));
    }
    next_round(&sampler);
    assert_eq!(sampler.pulse().processes(), 4);
    assert_eq!(sampler.living_processes().len(), 4);
}

#[test]
fn a_child_that_comes_later_is_found_and_its_end_is_seen() {
    let mut child = Child::shell("read line; sleep 321 & read line; kill $!; wait; read line");
    let (sampler, kept) = watch(child.pid(), often());
    next_round(&sampler);
    assert_eq!(sampler.pulse().processes(), 1);
    child.say("");
    wait_until("the child", || running(&kept, "321").is_some());
    let sleep = running(&kept, "321").unwrap();
    child.say("");
    wait_until("its end", || has_ended(&kept, sleep.process));
    next_round(&sampler);
    assert_eq!(sampler.pulse().processes(), 1);
}

#[test]
fn a_child_that_is_born_between_two_deadlines_is_found_within_two_intervals() {
    let mut child = Child::shell("read line; sleep 322 & echo born; read line");
    let (sampler, kept) = watch(child.pid(), options(Duration::from_secs(1)));
    child.say("");
    child.hear("born");
    next_round(&sampler);
    assert!(running(&kept, "322").is_some(), "{:?}", processes(&kept));
}

#[test]
fn a_fork_is_told_from_a_program_and_an_exec_is_written() {
    // A subshell that reads is a fork without exec, before it runs another program.
    let mut child = Child::shell("(read line; exec sleep 331); read line");
    let (sampler, kept) = watch(child.pid(), often());
    wait_until("the fork", || sampler.pulse().processes() == 2);
    next_round(&sampler);
    assert_eq!((kept.last(0).forked, kept.last(1).forked), (Some(false), Some(true)));
    assert_eq!(processes(&kept)[&1].command, processes(&kept)[&0].command);
    child.say("");
    wait_until("the exec", || processes(&kept)[&1].name == "sleep");
    assert_eq!(processes(&kept)[&1].command, ["sleep", "331"]);
    next_round(&sampler);
    assert_eq!((kept.last(1).forked, processes(&kept).len()), (Some(false), 2));
}

#[test]
fn a_child_whose_parent_ended_at_once_is_not_lost() {
    let mut child = Child::shell("read line; (sleep 341 &); echo started; read line");
    let (sampler, kept) = watch(child.pid(), often());
    next_round(&sampler);
    child.say("");
    child.hear("started");
    wait_until("the orphan", || running(&kept, "341").is_some());
}

#[test]
fn a_daemon_that_lsp_soak_adopts_belongs_and_its_own_helpers_do_not() {
    let mut child = Child::obedient();
    assert_eq!(child.perform("adopt"), "sleep");
}

#[test]
fn a_daemon_of_a_server_that_nobody_saw_is_adopted_too() {
    let mut child = Child::obedient();
    assert_eq!(child.perform("adopt-late"), "sleep");
}

#[test]
fn what_outlives_the_server_is_still_there_and_a_zombie_is_not() {
    let mut child = Child::shell("sleep 351 & echo started; wait");
    child.hear("started");
    let (sampler, kept) = watch(child.pid(), often());
    wait_until("the child", || running(&kept, "351").is_some());
    next_round(&sampler);
    let cpu = sampler.pulse().cpu();
    // Nobody waits for it, so it stays a zombie.
    child.kill();
    wait_until("the end", || has_ended(&kept, 0));
    let alive = sampler.living_processes();
    let sleep = running(&kept, "351").unwrap();
    assert_eq!(alive, [(sleep.pid, sleep.started, "sleep".to_owned())]);
    assert!(sampler.pulse().cpu() >= cpu);
}

#[test]
fn a_server_that_is_gone_is_no_error() {
    let mut child = Child::shell("exit 3");
    child.process.wait().unwrap();
    let (sampler, kept) = watch(child.pid(), often());
    next_round(&sampler);
    assert_eq!(
        (
            sampler.pulse().processes(),
            sampler.pulse().resident(),
            sampler.living_processes().len()
        ),
        (0, None, 0)
    );
    assert!(sampler.peak(super::phase()).wait());
    let events = kept.events();
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Peak(peak) if peak.marks.is_empty()))
    );
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Process(_) | Event::Sample(_))),
        "{events:?}"
    );
}

#[test]
fn a_server_in_place_of_another_is_followed_under_its_own_number() {
    let mut first = Child::shell("read line");
    let second = Child::shell("read line");
    let (sampler, kept) = watch(first.pid(), often());
    first.kill();
    first.process.wait().unwrap();
    sampler.follow(second.pid());
    wait_until("the second", || {
        sampler
            .living_processes()
            .iter()
            .map(|living| living.0)
            .eq([second.pid()])
    });
    let numbers: Vec<_> = processes(&kept)
        .into_values()
        .map(|process| (process.process, process.pid))
        .collect();
    assert_eq!(numbers, [(0, first.pid()), (1, second.pid())]);
}

#[test]
fn children_that_came_and_went_are_told_of() {
    let mut child = Child::obedient();
    let (sampler, kept) = watch(child.pid(), rarely());
    child.perform("short 5");
    sampler.stop();
    let events = kept.events();
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Unseen(unseen) if (1..=5).contains(&unseen.total))),
        "{events:?}"
    );
}

#[test]
fn a_hundred_processes_are_no_trouble() {
    let script = "i=0; while [ $i -lt 120 ]; do sleep 361 & i=$((i+1)); done; echo started; wait";
    let mut child = Child::shell(script);
    let (sampler, kept) = watch(child.pid(), often());
    child.hear("started");
    assert_eq!(sampler.living_processes().len(), 121);
    next_round(&sampler);
    assert_eq!(sampler.pulse().processes(), 121);
    assert!(sampler.pulse().resident().is_some());
    let events = kept.events();
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::ReadFailed(_) | Event::Warning(_))),
        "{events:?}"
    );
}
