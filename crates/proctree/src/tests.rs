//! Tests the real loop on a simulated system and clock: what it writes, when, and how much.

mod memory;
mod schedule;
mod world;

use record::{Event, PhaseRef};

use super::schedule::SamplerCommand;
use world::{MILLISECOND, SECOND, Scene, World, counters};

fn phase() -> PhaseRef {
    PhaseRef {
        phase: 0,
        cycle: 0,
        name: "start".to_owned(),
    }
}

fn kinds(events: &[(u64, Event)]) -> Vec<&'static str> {
    // Each scene ends with the delays of its samples.
    let others = events.iter().filter(|(_, event)| !matches!(event, Event::Delays(_)));
    others.map(|(_, event)| kind(event)).collect()
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Process(_) => "process",
        Event::ProcessEnded(_) => "ended",
        Event::Sample(_) => "sample",
        Event::Rollup(_) => "rollup",
        Event::Late(_) => "late",
        Event::ReadFailed(_) => "read-failed",
        Event::Unseen(_) => "unseen",
        Event::Warning(_) => "warning",
        Event::Peak(_) => "peak",
        Event::Checkpoint(_) => "checkpoint",
        Event::OverLimit(_) => "over-limit",
        _ => "other",
    }
}

#[test]
fn a_sample_is_written_when_a_value_changed_and_not_otherwise() {
    let scene = Scene::new().until(SECOND);
    scene.change_at(500 * MILLISECOND, |world| world.set(100, counters(7 << 20)));
    let events = scene.play();
    assert_eq!(kinds(&events), ["process", "sample", "sample"]);
    assert_eq!(events[2].0, 500 * MILLISECOND);
}

#[test]
fn processor_time_below_a_tick_makes_no_sample() {
    let below: &[&str] = &["process", "sample"];
    let above: &[&str] = &["process", "sample", "sample"];
    for (cpu, events) in [(9_000_000, below), (10_000_000, above)] {
        let scene = Scene::new().until(SECOND);
        scene.change_at(500 * MILLISECOND, move |world| {
            let read = &mut world.process(100).counters;
            (read.cpu, read.threads) = (Some(cpu), Some(4 + cpu / 10_000_000));
        });
        assert_eq!(kinds(&scene.play()), events, "{cpu}");
    }
}

#[test]
fn an_idle_process_has_a_heartbeat_each_minute() {
    let events = Scene::new().until(180 * SECOND).play();
    let samples: Vec<u64> = events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Sample(_)))
        .map(|e| e.0)
        .collect();
    assert_eq!(samples, [0, 60 * SECOND, 120 * SECOND, 180 * SECOND]);
}

#[test]
fn a_child_of_a_child_is_numbered_after_its_parent_and_an_end_is_written_once() {
    let scene = Scene::new().until(SECOND);
    scene.change_at(100 * MILLISECOND, |world| {
        // The system lists the youngest first.
        world.spawn(200, 100);
        world.spawn(300, 200);
        world.spawn(400, 1);
    });
    scene.change_at(300 * MILLISECOND, |world| world.kill(200));
    let events = scene.play();
    let processes: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Process(process) => Some((process.process, process.pid, process.parent)),
            _ => None,
        })
        .collect();
    assert_eq!(processes, [(0, 100, None), (1, 200, Some(0)), (2, 300, Some(1))]);
    assert_eq!(kinds(&events).iter().filter(|kind| **kind == "ended").count(), 1);
}

#[test]
fn a_process_id_given_again_is_another_process() {
    let scene = Scene::new().until(SECOND);
    scene.change_at(100 * MILLISECOND, |world| world.spawn(200, 100));
    scene.change_at(300 * MILLISECOND, |world| {
        world.kill(200);
        world.spawn(200, 1);
    });
    scene.change_at(600 * MILLISECOND, |world| {
        world.kill(200);
        world.spawn(200, 100);
    });
    let events = scene.play();
    let numbers: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Process(process) => Some((process.process, process.pid, process.started)),
            Event::ProcessEnded(end) => Some((end.process, 0, 0)),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [(0, 100, 1), (1, 200, 2), (1, 0, 0), (2, 200, 4)]);
}

#[test]
fn processor_time_of_the_tree_never_decreases() {
    let scene = Scene::new().until(SECOND);
    scene.change_at(100 * MILLISECOND, |world| {
        world.spawn(200, 100);
        world.work(200, 5 * SECOND);
        world.work(100, SECOND);
    });
    scene.change_at(300 * MILLISECOND, |world| world.kill(200));
    let (_, pulse) = scene.play_with_pulse();
    assert_eq!(pulse.cpu(), Some(6 * SECOND));
    assert_eq!((pulse.processes(), pulse.resident()), (1, Some(1 << 20)));
}

#[test]
fn a_sum_with_an_unknown_part_is_unknown() {
    let scene = Scene::new().until(SECOND);
    scene.change_at(100 * MILLISECOND, |world| {
        world.spawn(200, 100);
        world.set(200, Default::default());
    });
    let (_, pulse) = scene.play_with_pulse();
    assert_eq!((pulse.processes(), pulse.resident(), pulse.private()), (2, None, None));
}

#[test]
fn a_failed_read_is_written_once_and_its_values_are_unknown_while_it_lasts() {
    let scene = Scene::new().until(SECOND);
    scene.change_at(100 * MILLISECOND, |world| world.process(100).fails = true);
    scene.change_at(500 * MILLISECOND, |world| world.process(100).fails = false);
    let events = scene.play();
    assert_eq!(kinds(&events), ["process", "sample", "read-failed", "sample", "sample"]);
    let Event::Sample(during) = &events[3].1 else {
        panic!("{events:?}")
    };
    assert_eq!(during.counters, Default::default());
}

#[test]
fn a_program_that_execs_is_written_again_under_its_number() {
    let scene = Scene::new().until(SECOND);
    scene.change_at(500 * MILLISECOND, |world| world.exec(100, "node"));
    let events = scene.play();
    let programs: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Process(process) => Some((process.process, process.command.join(" "))),
            _ => None,
        })
        .collect();
    assert_eq!(programs, [(0, "server".to_owned()), (0, "node".to_owned())]);
}

#[test]
fn children_that_were_never_seen_are_told_at_most_once_a_minute() {
    let scene = Scene::new().until(130 * SECOND);
    for second in 1..125 {
        scene.change_at(second * SECOND, |world| world.process(100).reaped += 1);
    }
    let totals = scene.play().into_iter().filter_map(|(_, event)| match event {
        Event::Unseen(unseen) => Some(unseen.total),
        _ => None,
    });
    // The total at the first one, after one and two minutes, and at the end.
    assert_eq!(totals.collect::<Vec<u64>>(), [1, 61, 121, 124]);
}

#[test]
fn a_known_child_that_is_waited_for_is_no_reason_to_warn() {
    let scene = Scene::new().until(SECOND);
    scene.change_at(100 * MILLISECOND, |world| world.spawn(200, 100));
    scene.change_at(300 * MILLISECOND, |world| world.kill(200));
    scene.change_at(700 * MILLISECOND, |world| world.process(100).reaped += 12);
    assert!(!kinds(&scene.play()).contains(&"unseen"));
}

#[test]
fn peaks_are_read_before_they_are_reset() {
    let scene = Scene::new().until(SECOND);
    scene.change_at(100 * MILLISECOND, |world| {
        world.process(100).counters.high_water = Some(50 << 20)
    });
    scene.command(120 * MILLISECOND, || {
        SamplerCommand::Peak(phase(), tokio::sync::oneshot::channel().0)
    });
    scene.command(160 * MILLISECOND, || {
        SamplerCommand::Peak(phase(), tokio::sync::oneshot::channel().0)
    });
    let marks: Vec<_> = scene
        .play()
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::Peak(peak) => Some((peak.marks[0].counters.high_water, peak.reset)),
            _ => None,
        })
        .collect();
    assert_eq!(marks, [(Some(50 << 20), true), (Some(1 << 20), true)]);
}

#[test]
fn without_leave_nothing_is_reset() {
    let mut scene = Scene::new().until(SECOND);
    scene.options.peak_reset = false;
    scene.command(120 * MILLISECOND, || {
        SamplerCommand::Peak(phase(), tokio::sync::oneshot::channel().0)
    });
    let events = scene.play();
    assert!(
        events
            .iter()
            .any(|(_, event)| matches!(event, Event::Peak(peak) if !peak.reset && peak.marks.len() == 1))
    );
    assert_eq!(World::resets(&events), 0);
}

#[test]
fn a_reset_that_is_refused_is_said_once_and_is_of_that_process_alone() {
    let scene = Scene::new().until(SECOND);
    scene.change_at(0, |world| {
        world.spawn(200, 100);
        world.process(200).refuses_reset = true;
    });
    for at in [120, 220] {
        scene.command(at * MILLISECOND, || {
            SamplerCommand::Peak(phase(), tokio::sync::oneshot::channel().0)
        });
    }
    let events = scene.play();
    let kinds = kinds(&events);
    assert_eq!(
        kinds.iter().filter(|kind| **kind == "read-failed").count(),
        1,
        "{kinds:?}"
    );
    let marks: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Peak(peak) => Some((peak.marks.len(), peak.reset, peak.kept.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(marks, [(2, true, vec![1]), (2, true, vec![1])]);
}
