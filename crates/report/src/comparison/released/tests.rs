use super::*;
use WindowKind::{Closed, Released, Silent, Simmer};

const MIB: f64 = (1 << 20) as f64;

/// A window of a run that released so many MiB, or took them if negative.
fn a_run(kind: WindowKind, mib: f64) -> WindowRelease {
    WindowRelease {
        kind,
        released: mib.max(0.0) * MIB,
        share: Some(mib.max(0.0) / 200.0),
        fell: 0.0,
        for_a_while: 0.0,
        taken: -mib.min(0.0) * MIB,
        noise: MIB / 2.0,
        much: mib > 0.5,
        took: mib < -0.5,
        held: false,
        never: false,
        unknown: false,
        passive: None,
        short: None,
        shared: 0.0,
        lazily: None,
        much_lazily: false,
    }
}

/// The windows of one run.
fn of_one_run(windows: &[WindowRelease]) -> String {
    let mut given = Vec::new();
    for window in windows {
        given.push(ReleaseOfRuns {
            kind: window.kind,
            runs: vec![*window],
        });
    }
    sentence(&given).unwrap()
}

/// A window in which each run released so many MiB, or took them if negative.
fn a_window(kind: WindowKind, mib: &[f64]) -> ReleaseOfRuns {
    ReleaseOfRuns {
        kind,
        runs: mib.iter().map(|mib| a_run(kind, *mib)).collect(),
    }
}

fn light_traffic(mib: &[f64]) -> String {
    sentence(&[a_window(Simmer, mib)]).unwrap()
}

/// The window with so many MiB that became lazily freed.
fn lazy(window: WindowRelease, mib: f64) -> WindowRelease {
    WindowRelease {
        lazily: Some(mib * MIB),
        much_lazily: mib > 1.0,
        ..window
    }
}

#[test]
fn without_windows_there_is_no_sentence() {
    assert_eq!(sentence(&[]), None);
}

#[test]
fn the_largest_release_comes_first_and_each_has_its_share() {
    assert_eq!(
        of_one_run(&[a_run(Silent, 30.0), a_run(Simmer, 0.01), a_run(Closed, 40.0)]),
        "40.0 MiB released after closing all documents (20 % of the growth so far); 30.0 MiB released while idle (15 % \
         of the growth so far); nothing released in light traffic"
    );
}

#[test]
fn a_share_that_prints_as_nothing_is_left_out() {
    let large = WindowRelease {
        share: Some(0.003),
        ..a_run(Simmer, 41.4)
    };
    assert_eq!(of_one_run(&[large]), "41.4 MiB released in light traffic");
}

#[test]
fn windows_that_released_nothing_for_one_reason_share_a_clause() {
    let held = WindowRelease {
        held: true,
        ..a_run(Silent, 0.0)
    };
    let passive = |kind| WindowRelease {
        passive: Some(Runtime::G1),
        ..a_run(kind, 0.0)
    };
    for (windows, words) in [
        (
            &[held, a_run(Simmer, 43.0)][..],
            "43.0 MiB released in light traffic (22 % of the growth so far); nothing released while idle (purges only on \
             activity)",
        ),
        (
            &[WindowRelease { never: true, ..held }],
            "nothing released while idle (set never to purge)",
        ),
        (
            &[a_run(Silent, 0.0), a_run(Released, 0.0)],
            "nothing released while idle or by a forced release",
        ),
        (
            &[passive(Silent), passive(Simmer)],
            "nothing released while idle or in light traffic (G1 releases nothing by itself)",
        ),
        (
            &[
                WindowRelease {
                    unknown: true,
                    ..a_run(Silent, 0.0)
                },
                passive(Simmer),
            ],
            "nothing released while idle (when its allocator releases is not known); nothing released in light traffic \
             (G1 releases nothing by itself)",
        ),
    ] {
        assert_eq!(of_one_run(windows), words);
    }
}

#[test]
fn what_is_taken_is_no_release() {
    assert_eq!(
        of_one_run(&[a_run(Simmer, -3.0)]),
        "3.0 MiB more taken in light traffic"
    );
    // One of two windows released what the other took again.
    let both = WindowRelease {
        taken: 5.0 * MIB,
        took: true,
        ..a_run(Silent, 5.0)
    };
    assert_eq!(
        of_one_run(&[both]),
        "5.0 MiB released while idle (2 % of the growth so far); 5.0 MiB more taken while idle"
    );
    let again = WindowRelease {
        for_a_while: 3.0 * MIB,
        ..a_run(Simmer, 0.0)
    };
    assert_eq!(
        of_one_run(&[a_run(Silent, 0.0), again]),
        "3.0 MiB released in light traffic and taken again; nothing released while idle"
    );
}

#[test]
fn what_the_table_prints_is_not_called_nothing() {
    let small = WindowRelease {
        share: Some(0.16),
        ..a_run(Simmer, 0.2)
    };
    let smaller = WindowRelease {
        released: 4096.0,
        ..small
    };
    let rounded = WindowRelease {
        share: None,
        fell: f64::from(80 << 10),
        ..smaller
    };
    for (window, words) in [
        (
            small,
            "0.2 MiB released in light traffic (16 % of the growth so far), within noise (0.5 MiB)",
        ),
        (
            smaller,
            "4.0 KiB released in light traffic (16 % of the growth so far), within noise (0.5 MiB)",
        ),
        (rounded, "0.1 MiB released in light traffic, within noise (0.5 MiB)"),
    ] {
        assert_eq!(of_one_run(&[window]), words);
    }
    assert_eq!(light_traffic(&[0.0, 0.0]), "nothing released in light traffic");
    assert_eq!(
        light_traffic(&[0.0, 0.2, 0.4]),
        "at most 0.4 MiB released in light traffic, within noise (0.5 MiB)"
    );
    let mut shared = a_window(Simmer, &[0.04, 0.0]);
    shared.runs[0].share = Some(0.03);
    assert_eq!(
        sentence(&[shared]).unwrap(),
        "at most 41.0 KiB released in light traffic, within noise (0.5 MiB)"
    );
}

#[test]
fn of_runs_that_agree_the_least_and_the_most_are_told() {
    assert_eq!(
        light_traffic(&[40.0, 43.0, 44.0]),
        "40.0 to 44.0 MiB released in light traffic (22 % of the growth so far)"
    );
    assert_eq!(
        light_traffic(&[43.0, 43.0]),
        "43.0 MiB released in light traffic (22 % of the growth so far)"
    );
}

#[test]
fn runs_that_disagree_are_counted() {
    for (mib, words) in [
        (
            &[25.1, 0.02, 6.1, 0.0, 0.0][..],
            "25.1 and 6.1 MiB released in light traffic in 2 of 5 runs",
        ),
        (
            &[7.0, 6.1, 25.1, 8.0, 0.0],
            "6.1 to 25.1 MiB released in light traffic in 4 of 5 runs",
        ),
        (
            &[7.0, -3.0],
            "7.0 MiB released in light traffic in 1 of 2 runs; 3.0 MiB more taken in light traffic in 1 of 2 runs",
        ),
        (
            &[0.0, -3.0, -4.0],
            "nothing released in light traffic; 4.0 and 3.0 MiB more taken in light traffic in 2 of 3 runs",
        ),
    ] {
        assert_eq!(light_traffic(mib), words);
    }
    let mut again = a_window(Simmer, &[0.0, 0.0]);
    again.runs[1].for_a_while = 3.0 * MIB;
    assert_eq!(
        sentence(&[again]).unwrap(),
        "3.0 MiB released in light traffic and taken again in 1 of 2 runs"
    );
}

#[test]
fn what_is_left_to_the_kernel_is_not_called_nothing() {
    let left = lazy(a_run(Silent, 0.0), 107.0);
    assert_eq!(
        of_one_run(&[left]),
        "while idle 107.0 MiB left for the kernel to reclaim"
    );
    let closed = lazy(a_run(Closed, 8.0), 40.0);
    assert_eq!(
        of_one_run(&[closed, left, a_run(Simmer, 0.0)]),
        "8.0 MiB released after closing all documents (4 % of the growth so far); nothing released in light traffic; \
         after closing all documents 40.0 MiB left for the kernel to reclaim; while idle 107.0 MiB left for the kernel to \
         reclaim"
    );
    assert_eq!(
        of_one_run(&[lazy(a_run(Silent, 0.0), 0.2)]),
        "nothing released while idle"
    );
    let unknown = WindowRelease {
        much_lazily: true,
        ..a_run(Silent, 0.0)
    };
    assert_eq!(
        of_one_run(&[unknown]),
        "while idle an unknown amount left for the kernel to reclaim"
    );
}

#[test]
fn runs_that_left_memory_to_the_kernel_are_counted() {
    let mut window = a_window(Silent, &[0.0, 0.0, 0.0]);
    window.runs[1] = lazy(window.runs[1], 107.0);
    assert_eq!(
        sentence(&[window.clone()]).unwrap(),
        "nothing released while idle; while idle 107.0 MiB left for the kernel to reclaim in 1 of 3 runs"
    );
    window.runs[2].much_lazily = true;
    assert_eq!(
        sentence(&[window]).unwrap(),
        "nothing released while idle; while idle an unknown amount left for the kernel to reclaim in 2 of 3 runs"
    );
}

#[test]
fn shared_memory_that_went_is_not_called_nothing() {
    let silent = WindowRelease {
        shared: 64.0 * MIB,
        ..a_run(Silent, 0.0)
    };
    assert_eq!(
        of_one_run(&[silent]),
        "64.0 MiB of shared memory released while idle (no private figure counts it)"
    );
}

/// A window that was too short for Go's clock.
fn short(kind: WindowKind, mib: f64, seconds: u64) -> WindowRelease {
    WindowRelease {
        short: Some(ShortWindow {
            took: seconds * 1_000_000_000,
            needed: 241_000_000_000,
            runtime: Runtime::Go,
            full_decay_helps: kind != Closed,
        }),
        ..a_run(kind, mib)
    }
}

#[test]
fn nothing_follows_from_a_window_that_was_too_short_for_the_collector() {
    for (windows, words) in [
        (
            &[short(Silent, 0.0, 9)][..],
            "what is released while idle is not known: the window was 9 s, Go needs about 4 min (`--full-decay`)",
        ),
        (
            &[short(Silent, 12.0, 9), short(Simmer, 0.0, 14)],
            "12.0 MiB released while idle (6 % of the growth so far); what else is released while idle or in light \
             traffic is not known: the windows were 9 s and 14 s, Go needs about 4 min (`--full-decay`)",
        ),
        // The idle window follows the closing, and was long enough.
        (
            &[short(Closed, 0.0, 1), a_run(Silent, 0.0)],
            "nothing released while idle",
        ),
        (
            &[short(Closed, 0.0, 1)],
            "what is released after closing all documents is not known: the window was 1 s, Go needs about 4 min",
        ),
        (
            &[short(Silent, -3.0, 9)],
            "3.0 MiB more taken while idle; what is released while idle is not known: the window was 9 s, Go needs about \
             4 min (`--full-decay`)",
        ),
    ] {
        assert_eq!(of_one_run(windows), words);
    }
}

#[test]
fn the_shortest_window_of_several_runs_is_told() {
    let runs = vec![short(Silent, 0.0, 14), short(Silent, 0.0, 9)];
    let window = ReleaseOfRuns { kind: Silent, runs };
    assert_eq!(
        sentence(&[window]).unwrap(),
        "what is released while idle is not known: the window was 9 s, Go needs about 4 min (`--full-decay`)"
    );
}

#[test]
fn times_are_short() {
    let times = [
        9_100_000_000, 17_000_000_000, 99_000_000_000, 121_000_000_000, 241_000_000_000,
    ];
    assert_eq!(times.map(about), ["9 s", "17 s", "99 s", "2 min", "4 min"]);
}
