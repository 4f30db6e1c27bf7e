//! Which runs are compared, and which never are.

use base::lens::Lens;
use record::CommandEnd;

use super::*;

fn changed(mut runs: Vec<Played>, change: impl Fn(&mut Summary)) -> Vec<Played> {
    for run in &mut runs {
        change(run.summary_mut());
    }
    runs
}

fn names(scenarios: &Scenarios) -> Vec<(&str, Vec<String>)> {
    let mut names = Vec::new();
    for (scenario, targets) in scenarios {
        names.push((scenario.as_str(), targets.iter().map(Target::name).collect()));
    }
    names
}

/// Runs of `a` and `b` as they are, those of another target, through another lens, and of another scenario.
fn mixed() -> Vec<Played> {
    let plain = runs(&[100, 100], &[110, 110]);
    [
        changed(plain.clone(), |run| run.header.scenario.name = "second".to_owned()),
        changed(plain.clone(), |run| run.header.scenario.name = "first".to_owned()),
        changed(plain.clone(), |run| {
            run.header.scenario.name = "first".to_owned();
            run.header.host.target = "aarch64-apple-darwin".to_owned();
        }),
        changed(plain.clone(), |run| {
            run.header.scenario.name = "first".to_owned();
            run.header.server.lens.name = Lens::Purged;
            run.header.server.lens.allocator = Some("jemalloc".to_owned());
        }),
    ]
    .concat()
}

#[test]
fn scenarios_targets_and_lenses_are_apart_and_the_usual_lens_needs_no_word() {
    let triple = run("a", 1, 100).summary.header.host.target.clone();
    let first = vec![
        "aarch64-apple-darwin".to_owned(),
        format!("{triple}, purged"),
        triple.clone(),
    ];
    assert_eq!(
        names(&compare_by_target(mixed(), None)),
        [("first", first), ("second", vec![triple])]
    );
}

#[test]
fn each_target_has_its_own_runs_and_says_through_which_lens_they_were_made() {
    let scenarios = compare_by_target(mixed(), Some("b"));
    for target in scenarios.values().flatten() {
        let sides: Vec<(&str, usize)> = target
            .comparison
            .sides
            .iter()
            .map(|side| (side.label.as_str(), side.runs.len()))
            .collect();
        assert_eq!(sides, [("b", 2), ("a", 2)], "{}", target.name());
        let purged = target.lens.name == Lens::Purged;
        assert_eq!(target.lens.allocator.as_deref() == Some("jemalloc"), purged);
    }
    assert_eq!(scenarios["second"][0].comparison.scenario, "second");
}

#[test]
fn machines_are_named_once_each_in_their_order() {
    let mut all = runs(&[100, 100], &[110, 110]);
    for (run, cpu) in all.iter_mut().zip(["z", "y", "z", "y"]) {
        run.summary_mut().header.host.cpu = Some(cpu.to_owned());
    }
    let scenarios = compare_by_target(all, None);
    let machines = &scenarios.values().next().unwrap()[0].machines;
    let first: Vec<&str> = machines.iter().map(|machine| &machine[..1]).collect();
    assert_eq!(first, ["y", "z"]);
}

#[test]
fn the_parts_of_a_plan_are_machines_of_their_own() {
    let [first, second] = ["1/2", "2/2"].map(|partition| {
        let mut run = run("a", 1, 100);
        run.summary_mut().header.plan.partition = Some(partition.to_owned());
        run.machine()
    });
    assert!(first.starts_with("part 1/2 on "));
    assert_ne!(first, second);
    let mut other = run("a", 1, 100);
    for change in [
        |run: &mut Summary| run.header.host.cpus = Some(1),
        |run: &mut Summary| run.header.host.memory.total = None,
        |run: &mut Summary| run.header.host.kernel = None,
    ] {
        let before = other.machine();
        change(other.summary_mut());
        assert_ne!(other.machine(), before);
    }
}

#[test]
fn servers_that_purge_in_different_ways_are_in_no_ratio_and_the_lens_names_them_all() {
    let runs = [
        purged("a", "jemalloc", Some(true)),
        purged("b", "jemalloc", Some(true)),
        purged("c", "system", None),
    ];
    let scenarios = compare_by_target(runs.concat(), None);
    let target = &scenarios.values().next().unwrap()[0];
    assert_eq!(target.lens.allocator.as_deref(), Some("jemalloc and system"));
    assert_eq!(target.lens.verified, None);
    let rows = &target.comparison.rows;
    assert!(rows.iter().any(|row| row.cells[1].ratio.is_some()));
    assert!(rows.iter().all(|row| row.cells[2].ratio.is_none()));
    let sides = &target.comparison.sides;
    assert!(sides[1].is_purged_as(&sides[0]) && !sides[2].is_purged_as(&sides[0]));
}

/// Two runs of a server whose allocator was purged.
fn purged(label: &str, allocator: &str, verified: Option<bool>) -> Vec<Played> {
    changed(vec![run(label, 1, 100), run(label, 2, 101)], |run| {
        let lens = &mut run.header.server.lens;
        (lens.name, lens.allocator, lens.verified) = (Lens::Purged, Some(allocator.to_owned()), verified);
    })
}

/// A run of a command in a project.
fn timed(label: &str, number: u32, project: &str, wall: u64) -> Played {
    let mut played = run(label, number, 100);
    project.clone_into(&mut played.summary_mut().header.scenario.name);
    played.summary_mut().lifecycle.command = Some(CommandEnd {
        wall,
        ..CommandEnd::default()
    });
    played
}

#[test]
fn the_fastest_command_is_the_baseline_of_all_projects() {
    // By its medians pooled over projects `a` would be the fastest, and `c` lacks the slow one.
    let walls = [
        ("small", [("a", 1000), ("b", 500), ("c", 100)]),
        ("middle", [("a", 2000), ("b", 2100), ("c", 100)]),
        ("large", [("a", 9000), ("b", 4000), ("c", 0)]),
    ];
    let mut runs: Vec<Played> = Vec::new();
    for (project, walls) in walls {
        for (label, wall) in walls.into_iter().filter(|(_, wall)| *wall > 0) {
            runs.extend((1..=2).map(|number| timed(label, number, project, wall)));
        }
    }
    for (asked, expected) in [(None, "b"), (Some("a"), "a")] {
        let scenarios = compare_by_target(runs.clone(), asked);
        let targets = scenarios.values().flatten();
        let baselines: Vec<&str> = targets
            .map(|target| target.comparison.sides[0].label.as_str())
            .collect();
        assert_eq!(baselines, [expected; 3]);
    }
}
