//! Forced releases, against the fixture's own count of live memory.

use std::path::{Path, PathBuf};
use std::process::Command;

use analysis::summary::Summary;
use analysis::summary::decay::WindowKind;
use record::{Event, ReleasedBy};

use crate::outcome::{MIB, Outcome, private};
use crate::phases::{CLOSE_TWO, HOLDS, KEEPS, OPEN};
use crate::soak::{START, Soak};

/// The library, built once for all tests.
pub fn library() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("purge-shim");
    let built = Command::new(env!("CARGO"))
        .args([
            "build", "--locked", "--profile", "preloaded", "--quiet", "--manifest-path",
        ])
        .arg(root.join("purge-shim/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status();
    assert!(built.expect("cargo starts").success());
    target.join("preloaded/libpurge_shim.so")
}

fn shim() -> String {
    format!("--purge-shim={}", library().display())
}

/// The fixture's last report of live memory.
#[track_caller]
fn live(summary: &Summary) -> u64 {
    let last = summary.allocator.reported.last().expect("it was asked");
    last.report.accounted.expect("the fixture answers with a number")
}

/// Fails unless the growth since the start is the live memory. Pieces of 1 KiB cost 32 bytes more each.
#[track_caller]
fn is_live(summary: &Summary, phase: &str) {
    let taken = private(summary, phase) - private(summary, "start");
    let live = live(summary);
    assert!(
        taken.abs_diff(live) < live / 20 + 512 * 1024,
        "{taken} more than at the start, {live} live"
    );
}

fn played(phases: &str, options: &[&str]) -> Outcome {
    let soak = Soak::new(&format!("{START}{OPEN}{CLOSE_TWO}{phases}"));
    soak.server(&HOLDS).options(options).run()
}

#[test]
fn a_forced_release_leaves_what_is_live() {
    let phases = r#"
[[phase]]
name = "forced"
steps = [{ release = { by = ["allocator"] } }, { self-report = {} }]
"#;
    let shim = shim();
    let outcome = played(phases, &[&[shim.as_str()], KEEPS.as_slice()].concat());
    let summary = outcome.passed();
    let [released] = summary.allocator.released.as_slice() else {
        panic!("{:?}", summary.allocator.released)
    };
    let [used] = released.release.used.as_slice() else {
        panic!("{released:?}")
    };
    assert_eq!((used.by, used.what.as_str()), (ReleasedBy::Allocator, "malloc_trim"));
    assert!(
        released.released().is_some_and(|gave| gave > 30 * MIB.cast_signed()),
        "{released:?}"
    );
    assert_eq!(live(&summary), 16 * MIB);
    is_live(&summary, "forced");
    let windows: Vec<WindowKind> = summary.windows.iter().map(|window| window.kind).collect();
    assert_eq!(windows, [WindowKind::Released]);
    assert_eq!(summary.allocator.listening.len(), 1);
    let shim = summary.header.server.shim.as_ref().expect("it was preloaded");
    assert!(shim.sha256.is_some() && !summary.header.server.env.contains_key("LD_PRELOAD"));
    outcome.says(&["by a forced release", "a step malloc_trim", "fixture/liveBytes 16.0"]);
}

#[test]
fn neither_a_release_nor_a_report_is_a_request_of_the_scenario() {
    let phases = "[[phase]]\nname = \"forced\"\nsteps = [{ release = {} }, { self-report = {} }]\n";
    let outcome = played(phases, &[&shim()]);
    let summary = outcome.passed();
    assert!(
        summary.allocator.reported[0].report.took.is_some(),
        "{:?}",
        summary.allocator.reported
    );
    assert!(summary.traffic.methods.is_empty(), "{:?}", summary.traffic.methods);
    let requests = outcome
        .entries()
        .iter()
        .filter(|entry| matches!(entry.event, Event::Request(_)))
        .count();
    assert_eq!(requests, 0);
}

#[test]
fn where_nothing_can_give_back_that_is_said_and_is_no_window() {
    let phases = "[[phase]]\nname = \"forced\"\nsteps = [{ release = {} }]\n";
    let outcome = played(phases, &[]);
    let summary = outcome.passed();
    assert!(
        !summary.allocator.released[0].is_done() && summary.windows.is_empty(),
        "{:?}",
        summary.windows
    );
    assert!(summary.header.server.shim.is_none() && summary.allocator.listening.is_empty());
    outcome.says(&["forced release in forced: n/a", "run with --purge-shim"]);
}

#[test]
fn a_server_in_which_the_library_is_not_is_told_and_not_harmed() {
    let phases = "[[phase]]\nname = \"forced\"\nsteps = [{ release = {} }]\n";
    let soak = Soak::new(&format!("{START}{phases}"));
    let outcome = soak
        .script(r#"exec env -u LD_PRELOAD "$FIXTURE" "$@""#)
        .options(&[&shim()])
        .run();
    let summary = outcome.passed();
    assert!(
        !summary.allocator.released[0].is_done(),
        "{:?}",
        summary.allocator.released
    );
    outcome.says(&["was to be preloaded, but no process loaded it", "not seen to listen"]);
}

#[test]
fn each_process_of_the_tree_gives_back_its_own() {
    let phases = "[[phase]]\nname = \"forced\"\nsteps = [{ release = {} }]\n";
    let soak = Soak::new(&format!("{START}{phases}"));
    let outcome = soak.server(&["--children", "2,4MiB"]).options(&[&shim()]).run();
    let summary = outcome.passed();
    assert_eq!(
        summary.allocator.released[0].release.used.len(),
        3,
        "{:?}",
        summary.allocator.released
    );
    assert_eq!(summary.allocator.listening.len(), 3);
}

#[test]
fn the_purged_lens_of_the_c_library_shows_what_is_live() {
    let phases = "[[phase]]\nname = \"report\"\nsteps = [{ self-report = {} }]\n";
    let shim = shim();
    let options = [&["--lens", "purged", shim.as_str()], KEEPS.as_slice()].concat();
    let [first, second] = [(); 2].map(|()| {
        let outcome = played(phases, &options);
        let summary = outcome.passed();
        let lens = &summary.header.server.lens;
        assert!(lens.forced && !lens.approximate && lens.env.is_empty(), "{lens:?}");
        assert_eq!(summary.allocator.released.len(), 4, "one before each checkpoint");
        assert!(
            summary
                .allocator
                .released
                .iter()
                .all(|one| one.step.is_none() && one.is_done()),
            "{:?}",
            summary.allocator.released
        );
        assert!(summary.windows.is_empty(), "a checkpoint is no window");
        is_live(&summary, "close");
        outcome.says(&["purged before each checkpoint"]);
        private(&summary, "close")
    });
    assert!(
        first.abs_diff(second) < first / 100 + 256 * 1024,
        "{first} and {second}"
    );
}

/// The C library releases nothing when all documents are closed; only the release before the checkpoint does.
#[test]
fn what_the_lens_gives_back_is_not_credited_to_closing_documents() {
    let phases = "[[phase]]\nname = \"closed\"\nsteps = [{ close = {} }]\n";
    let shim = shim();
    let options = [&["--lens", "purged", shim.as_str()], KEEPS.as_slice()].concat();
    let outcome = Soak::new(&format!("{START}{OPEN}{phases}"))
        .server(&HOLDS)
        .options(&options)
        .run();
    let summary = outcome.passed();
    let [window] = summary.windows.as_slice() else {
        panic!("{:?}", summary.windows)
    };
    assert_eq!(window.kind, WindowKind::Closed);
    let gave = window.private.as_ref().expect("one process").released();
    assert!(gave.unsigned_abs() < MIB, "{window:?}");
    let last = summary.allocator.released.last().expect("one before each checkpoint");
    assert!(
        last.released().is_some_and(|gave| gave > 40 * MIB.cast_signed()),
        "{last:?}"
    );
}

#[test]
fn a_static_program_is_refused_before_anything_starts() {
    let mut program = vec![0; 64];
    program[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0");
    (program[20], program[52], program[54], program[58]) = (1, 64, 56, 64);
    let text = String::from_utf8(program).expect("all bytes are ASCII");
    let outcome = Soak::new(START).program(&text).options(&[&shim()]).run();
    outcome.exits_with(2);
    outcome.says(&["is statically linked, so nothing can be preloaded"]);
}
