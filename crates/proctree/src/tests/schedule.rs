//! Tests of deadlines, checkpoints, exact reads and the size of the record.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::schedule::SamplerCommand;
use record::{self, Clock, Delays, Environment, Event, Header, Journal, Nanos, Rollup, Sample, Warning, WarningKind};

use super::world::{MILLISECOND, SECOND, Scene, counters};

/// The inputs of a checkpoint.
type Taken = Arc<Mutex<Vec<(Vec<Vec<Sample>>, Vec<Rollup>)>>>;

fn checkpoint(taken: &Taken) -> SamplerCommand {
    let taken = Arc::clone(taken);
    let (done, _) = oneshot::channel();
    SamplerCommand::Checkpoint(
        Box::new(move |rounds, rollups, _| {
            taken.lock().unwrap().push((rounds, rollups));
            Event::Warning(Warning {
                kind: WarningKind::Host,
                text: "taken".to_owned(),
            })
        }),
        done,
    )
}

fn quiet(on: bool) -> SamplerCommand {
    SamplerCommand::Quiet(on, oneshot::channel().0)
}

/// Times of the exact reads that were written.
fn rollups(events: &[(Nanos, Event)]) -> Vec<Nanos> {
    events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Rollup(_)))
        .map(|(at, _)| *at)
        .collect()
}

fn late(events: &[(Nanos, Event)]) -> Vec<(Nanos, u64, Nanos)> {
    events
        .iter()
        .filter_map(|(at, event)| match event {
            Event::Late(ticks) => Some((*at, ticks.missed, ticks.late)),
            _ => None,
        })
        .collect()
}

#[test]
fn deadlines_are_absolute_and_missed_ones_are_counted_not_made_up_for() {
    let scene = Scene::new().until(SECOND);
    scene.oversleep(200 * MILLISECOND, 130 * MILLISECOND);
    let (events, pulse) = scene.play_with_pulse();
    assert_eq!(late(&events), [(330 * MILLISECOND, 2, 130 * MILLISECOND)]);
    // 0, 50, 100, 150, 330, then 350 … 1000 as scheduled, and the round at the end.
    assert_eq!(pulse.ticks(), 5 + 14 + 1);
}

fn delays(events: &[(Nanos, Event)]) -> Vec<(Nanos, Delays)> {
    events
        .iter()
        .filter_map(|(at, event)| match event {
            Event::Delays(delays) => Some((*at, *delays)),
            _ => None,
        })
        .collect()
}

#[test]
fn how_late_samples_are_is_told_in_sum_once_a_minute_and_at_the_end() {
    let scene = Scene::new().until(61 * SECOND);
    scene.oversleep(200 * MILLISECOND, 49 * MILLISECOND);
    let (events, pulse) = scene.play_with_pulse();
    assert_eq!(late(&events), []);
    let most = 49 * MILLISECOND;
    let first = Delays {
        samples: 1201,
        sum: most,
        most,
    };
    let rest = Delays {
        samples: 20,
        ..Delays::default()
    };
    assert_eq!(delays(&events), [(60 * SECOND, first), (61 * SECOND, rest)]);
    assert_eq!(pulse.ticks(), 1221 + 1);
}

#[test]
fn a_checkpoint_is_five_rounds_close_together_and_then_the_exact_counters() {
    let taken = Taken::default();
    let mut scene = Scene::new().until(30 * SECOND);
    scene.options.interval = Duration::from_secs(10);
    scene.change_at(0, |world| world.spawn(200, 100));
    // The rounds are at 3.00, 3.05, 3.10, 3.15 and 3.20 seconds.
    scene.change_at(3_090 * MILLISECOND, |world| world.set(100, counters(3 << 20)));
    scene.change_at(3_250 * MILLISECOND, |world| world.set(100, counters(9 << 20)));
    let command = checkpoint(&taken);
    scene.command(3 * SECOND, move || command);
    let (events, pulse) = scene.play_with_pulse();
    let taken = taken.lock().unwrap();
    let [(rounds, rollups)] = taken.as_slice() else {
        panic!("{taken:?}")
    };
    let resident: Vec<_> = rounds
        .iter()
        .map(|round| (round.len(), round[0].counters.resident))
        .collect();
    let low = (2, Some(1 << 20));
    let high = (2, Some(3 << 20));
    assert_eq!(resident, [low, low, high, high, high]);
    assert_eq!(
        rollups.iter().map(|rollup| rollup.anonymous).collect::<Vec<_>>(),
        [3 << 20, 1 << 20]
    );
    assert!(
        events
            .iter()
            .any(|(at, event)| *at == 3_200 * MILLISECOND && matches!(event, Event::Warning(_)))
    );
    // The regular schedule continued: 0, 10, 20, 30 s, five rounds, the end.
    assert_eq!((late(&events).len(), pulse.ticks()), (0, 4 + 5 + 1));
}

#[test]
fn a_glance_between_deadlines_tells_the_driver_what_is_now_and_writes_no_sample() {
    let mut scene = Scene::new().until(30 * SECOND);
    scene.options.interval = Duration::from_secs(10);
    scene.change_at(2 * SECOND, |world| world.spawn(200, 100));
    scene.change_at(2 * SECOND, |world| world.set(100, counters(3 << 20)));
    let (answer, mut answered) = oneshot::channel();
    scene.command(3 * SECOND, move || SamplerCommand::Glance(answer));
    let (events, _) = scene.play_with_pulse();
    let glance = answered.try_recv().unwrap();
    assert_eq!((glance.at, glance.private), (3 * SECOND, Some(4 << 20)));
    let sampled = events.iter().filter(|(_, event)| matches!(event, Event::Sample(_)));
    let at: Vec<Nanos> = sampled.map(|(at, _)| *at).collect();
    assert!(at.iter().all(|at| at % (10 * SECOND) == 0), "{at:?}");
    // The change is written at the next deadline although a glance saw it.
    assert_eq!(at.iter().filter(|at| **at == 10 * SECOND).count(), 2);
}

#[test]
fn exact_reads_are_made_in_quiet_windows_only() {
    let scene = Scene::new().until(60 * SECOND);
    let world = scene.world.clone();
    for tick in 0..600 {
        scene.change_at(tick * 100 * MILLISECOND, move |world| {
            world.set(100, counters(tick << 20))
        });
    }
    scene.command(20 * SECOND, || quiet(true));
    scene.command(40 * SECOND, || quiet(false));
    let at = rollups(&scene.play());
    assert!(
        at.iter()
            .all(|at| (20 * SECOND..40 * SECOND + 50 * MILLISECOND).contains(at)),
        "{at:?}"
    );
    // Once a second while something moves.
    assert!(
        (19..=21).contains(&at.len()) && world.borrow().rollups == at.len(),
        "{at:?}"
    );
}

#[test]
fn exact_reads_take_no_more_than_their_share_of_the_time() {
    let scene = Scene::new().until(100 * SECOND);
    let world = scene.world.clone();
    world.borrow_mut().rollup_cost = 30 * MILLISECOND;
    for tick in 0..1000 {
        scene.change_at(tick * 100 * MILLISECOND, move |world| {
            world.set(100, counters(tick << 20))
        });
    }
    scene.command(0, || quiet(true));
    let events = scene.play();
    let cost: Nanos = events
        .iter()
        .map(|(_, event)| match event {
            Event::Rollup(rollup) => rollup.cost,
            _ => 0,
        })
        .sum();
    // 1 % and the one at the start.
    assert!(cost > 0 && cost <= SECOND + 60 * MILLISECOND, "{cost}");
}

#[test]
fn the_exact_reads_of_a_checkpoint_put_the_next_one_off() {
    let taken = Taken::default();
    let scene = Scene::new().until(10 * SECOND);
    scene.world.borrow_mut().rollup_cost = 40 * MILLISECOND;
    scene.change_at(SECOND, |world| world.set(100, counters(3 << 20)));
    let command = checkpoint(&taken);
    scene.command(SECOND, move || command);
    scene.command(2 * SECOND, || quiet(true));
    let events = scene.play();
    let first = events.iter().find(|(_, event)| matches!(event, Event::Rollup(_)));
    // The checkpoint's began at 1.2 s and took 40 ms: 1 % of 4 s.
    let first = first.map(|(at, _)| *at / (100 * MILLISECOND));
    assert_eq!((taken.lock().unwrap().len(), first), (1, Some(52)));
}

#[test]
fn when_quiet_is_over_no_exact_read_is_under_way() {
    let scene = Scene::new().until(4 * SECOND);
    scene.world.borrow_mut().rollup_cost = 300 * MILLISECOND;
    let (done, mut over) = oneshot::channel();
    scene.command(0, || quiet(true));
    // In the middle of the first one.
    scene.command(100 * MILLISECOND, move || SamplerCommand::Quiet(false, done));
    let world = scene.world.clone();
    let reads = std::rc::Rc::new(std::cell::Cell::new(None));
    let seen = std::rc::Rc::clone(&reads);
    scene.change_at(301 * MILLISECOND, move |world| {
        seen.set(over.try_recv().ok().map(|()| world.rollups));
    });
    scene.play();
    assert_eq!((reads.get(), world.borrow().rollups), (Some(1), 1));
}

#[test]
fn an_exact_read_that_says_the_same_is_not_written_and_becomes_rarer() {
    let scene = Scene::new().until(600 * SECOND);
    let world = scene.world.clone();
    scene.command(0, || quiet(true));
    scene.change_at(500 * SECOND, |world| world.set(100, counters(2 << 20)));
    let at = rollups(&scene.play());
    // The cost differs with every read and does not count; changes are read without delay.
    assert_eq!(at, [0, 500 * SECOND]);
    assert!((30..80).contains(&world.borrow().rollups), "{}", world.borrow().rollups);
}

#[test]
fn exact_reads_that_are_asked_for_are_made_at_once_and_written_whatever_they_say() {
    let scene = Scene::new().until(20 * SECOND);
    scene.command(0, || quiet(true));
    // Nothing was said by the read just before, and none is due before another second.
    scene.command(100 * MILLISECOND, || SamplerCommand::Exact(oneshot::channel().0));
    scene.command(120 * MILLISECOND, || SamplerCommand::Exact(oneshot::channel().0));
    let at = rollups(&scene.play());
    assert_eq!(at, [0, 100 * MILLISECOND, 120 * MILLISECOND]);
}

#[test]
fn a_day_of_idling_fits_in_five_mebibytes() {
    const DAY: Nanos = 24 * 3600 * SECOND;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("idle.jsonl");
    let (journal, end) = Journal::create(&path, &Header::default(), Clock::start()).unwrap();
    let scene = Scene::new().until(DAY);
    scene.change_at(0, |world| {
        world.spawn(200, 100);
        world.spawn(300, 200);
    });
    // A timer of the server's costs a clock tick of processor time every half minute.
    for tick in 0..2 * 24 * 60 {
        scene.change_at(tick * 30 * SECOND, move |world| {
            world.work(100, tick * 10 * MILLISECOND)
        });
    }
    scene.command(0, || quiet(true));
    let pulse = scene.play_into(Box::new(journal));
    end.finish().unwrap();

    assert_eq!(pulse.ticks(), DAY / (50 * MILLISECOND) + 2);
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 5 << 20, "{size} bytes");
    let entries: Vec<_> = record::open(&path).unwrap().map(Result::unwrap).collect();
    assert!(
        entries
            .iter()
            .all(|entry| !matches!(entry.event, Event::Warning(_) | Event::Late(_)))
    );
    let last = entries.iter().map(|entry| entry.at).max();
    assert!(last.is_some_and(|last| last >= DAY - 60 * SECOND), "{last:?}");
}

#[test]
fn every_process_is_looked_at_once_for_what_was_preloaded_and_again_when_it_runs_another_program() {
    let mut scene = Scene::new().until(5 * SECOND);
    scene.options.libraries = vec!["/lib/je.so".into(), "/lib/shim.so".into()];
    scene.change_at(MILLISECOND, |world| {
        world.process(100).mapped = vec!["/lib/je.so".into(), "/lib/shim.so".into(), "/bin/server".into()];
        world.spawn(200, 100);
    });
    let taken = Taken::default();
    for at in [SECOND, 2 * SECOND, 4 * SECOND] {
        let taken = Arc::clone(&taken);
        scene.command(at, move || checkpoint(&taken));
    }
    scene.change_at(3 * SECOND, |world| world.exec(200, "another-program"));
    let events = scene.play();
    let looked: Vec<(u32, usize, usize)> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Libraries(found) => Some((found.process, found.mapped.len(), found.missing.len())),
            _ => None,
        })
        .collect();
    assert_eq!(looked, [(0, 2, 0), (1, 0, 2), (1, 0, 2)]);
}

#[test]
fn every_process_is_asked_for_the_variables_that_were_given_and_for_no_other() {
    let mut scene = Scene::new().until(5 * SECOND);
    scene.options.variables = [("A", "1"), ("B", "2"), ("C", "")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    scene.change_at(MILLISECOND, |world| {
        world.process(100).environment = vec!["A=1", "AB=3", "B=5", "B=2", "C=", "TOKEN=secret"];
        world.spawn(200, 100);
        world.process(200).environment = vec!["A=1"];
    });
    let taken = Taken::default();
    for at in [SECOND, 2 * SECOND, 4 * SECOND] {
        let taken = Arc::clone(&taken);
        scene.command(at, move || checkpoint(&taken));
    }
    scene.change_at(3 * SECOND, |world| {
        world.process(200).environment.clear();
        world.exec(200, "another-program");
    });
    let events = scene.play();
    let seen: Vec<Environment> = events
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::Environment(seen) => Some(seen),
            _ => None,
        })
        .collect();
    let own = Environment {
        process: 0,
        given: ["A", "C"].map(str::to_owned).into(),
        other: [("B".to_owned(), "5".to_owned())].into(),
        missing: Vec::new(),
    };
    let before = Environment {
        process: 1,
        given: vec!["A".to_owned()],
        missing: ["B", "C"].map(str::to_owned).into(),
        ..Environment::default()
    };
    let after = Environment {
        process: 1,
        missing: ["A", "B", "C"].map(str::to_owned).into(),
        ..Environment::default()
    };
    assert_eq!(seen, [own, before, after]);
}
