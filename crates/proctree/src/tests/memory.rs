//! Memory that must count once: shared memory, and processes in one address space.

use record::{Counters, Event, Resources, Rollup, Sample, SharedMemory};

use super::super::schedule::SamplerCommand;
use super::world::{MILLISECOND, SECOND, Scene, World, counters};
use super::{kinds, phase};

const MIB: u64 = 1 << 20;

/// A parent of 200 MiB, and a fork with the same counters.
fn spawn_lookalike(world: &mut World) {
    let own = Counters {
        file: Some(9 * MIB),
        virtual_size: Some(900 * MIB),
        ..counters(200 * MIB)
    };
    world.set(100, own);
    world.spawn(200, 100);
    let forked = Some(true);
    world.set(200, Counters { forked, ..own });
}

/// The number of the process whose memory the second process has, by its last sample, and the sum of both.
fn judged(scene: Scene) -> (Option<u32>, Option<u64>) {
    let (events, pulse) = scene.until(SECOND).play_with_pulse();
    let mut samples = events.iter().rev().filter_map(|(_, event)| match event {
        Event::Sample(sample) if sample.process == 1 => Some(sample.counters.memory_of),
        _ => None,
    });
    (samples.next().flatten(), pulse.private())
}

#[test]
fn the_kernel_decides_whose_memory_a_fork_has() {
    let clone = Scene::new();
    spawn_lookalike(&mut clone.world.borrow_mut());
    clone.world.borrow_mut().process(200).memory_of = Some(100);
    assert_eq!(judged(clone), (Some(0), Some(200 * MIB)));
    let rewritten = Scene::new();
    spawn_lookalike(&mut rewritten.world.borrow_mut());
    assert_eq!(judged(rewritten), (None, Some(400 * MIB)));
}

#[test]
fn equal_counters_decide_where_the_kernel_may_not_be_asked() {
    let refused = Scene::new();
    spawn_lookalike(&mut refused.world.borrow_mut());
    refused.world.borrow_mut().refuses_to_compare = true;
    assert_eq!(judged(refused), (Some(0), Some(200 * MIB)));
}

#[test]
fn a_clone_has_its_memory_itself_once_its_parent_has_ended_or_it_runs_a_program() {
    let orphaned = Scene::new();
    spawn_lookalike(&mut orphaned.world.borrow_mut());
    orphaned.world.borrow_mut().process(200).memory_of = Some(100);
    orphaned.change_at(500 * MILLISECOND, |world| world.kill(100));
    assert_eq!(judged(orphaned), (None, Some(200 * MIB)));
    let begun = Scene::new();
    spawn_lookalike(&mut begun.world.borrow_mut());
    begun.world.borrow_mut().process(200).memory_of = Some(100);
    begun.change_at(500 * MILLISECOND, |world| {
        world.exec(200, "another");
        world.process(200).memory_of = None;
        world.set(200, counters(5 * MIB));
    });
    assert_eq!(judged(begun), (None, Some(205 * MIB)));
}

/// A server with 50 MiB anonymous and 230 MiB shared memory, of which exact readings see this.
fn sharing(shared_memory: SharedMemory) -> Scene {
    let scene = Scene::new();
    let shared = Some(230 * MIB);
    let mut world = scene.world.borrow_mut();
    world.set(
        100,
        Counters {
            shared,
            ..counters(50 * MIB)
        },
    );
    world.process(100).shared_memory = shared_memory;
    drop(world);
    scene
}

fn checkpoint() -> SamplerCommand {
    let (done, _) = tokio::sync::oneshot::channel();
    SamplerCommand::Checkpoint(Box::new(made_checkpoint), done)
}

fn made_checkpoint(rounds: Vec<Vec<Sample>>, rollups: Vec<Rollup>, resources: Option<Resources>) -> Event {
    Event::Checkpoint(record::Checkpoint {
        phase: phase(),
        settled: true,
        waited: 0,
        unsettled: String::new(),
        rounds,
        rollups,
        resources,
        released: None,
    })
}

#[test]
fn samples_count_shared_memory_less_the_named_files_of_the_checkpoint() {
    let scene = sharing(SharedMemory {
        own: 200 * MIB,
        own_resident: 200 * MIB,
        own_swap: 0,
        named: 30 * MIB,
    });
    scene.command(500 * MILLISECOND, checkpoint);
    let (events, pulse) = scene.until(SECOND).play_with_pulse();
    let first = events.iter().find_map(|(_, event)| match event {
        Event::Sample(sample) => sample.counters.private,
        _ => None,
    });
    assert_eq!(first, Some(280 * MIB), "no checkpoint has seen the named files");
    assert_eq!(pulse.private(), Some(250 * MIB));
    let taken = events.iter().find_map(|(_, event)| match event {
        Event::Checkpoint(taken) => Some(taken),
        _ => None,
    });
    let taken = taken.expect("it was taken");
    assert_eq!(taken.rollups[0].private(), Some(250 * MIB));
    for sample in taken.rounds.iter().flatten() {
        assert_eq!(
            sample.counters.private,
            Some(250 * MIB),
            "they are counted by what it saw"
        );
    }
}

/// A second of a server with a limit of 150 MiB, whose 230 MiB of mappings are this much memory.
fn limited(own: u64) -> Scene {
    let mut scene = sharing(SharedMemory {
        own,
        own_resident: 230 * MIB,
        own_swap: 0,
        named: 0,
    });
    scene.options.memory_limit = Some(150 * MIB);
    scene.until(SECOND)
}

#[test]
fn memory_that_samples_count_thrice_exceeds_no_limit() {
    assert!(!kinds(&limited(77 * MIB).play()).contains(&"over-limit"));
    let exceeded = kinds(&limited(230 * MIB).play());
    assert_eq!(exceeded, ["process", "sample", "over-limit", "ended"]);
}

#[test]
fn a_process_that_cannot_be_read_hides_no_excess() {
    let mut scene = Scene::new();
    scene.world.borrow_mut().set(100, counters(200 * MIB));
    scene.world.borrow_mut().spawn(200, 100);
    scene.world.borrow_mut().process(200).fails = true;
    scene.options.memory_limit = Some(150 * MIB);
    assert!(kinds(&scene.until(SECOND).play()).contains(&"over-limit"));
}
