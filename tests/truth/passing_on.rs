//! Settings of servers behind wrappers: they are in force only if the wrapper passes them on.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use record::Event;

use crate::fixture::{JEMALLOC, MIMALLOC, SYSTEM};
use crate::ground::PreparedWorkspace;
use crate::outcome::Outcome;
use crate::soak::{START, Soak};

/// A setting for every fixture whose allocator reads its environment.
fn settings() -> Vec<(&'static str, &'static str, &'static str)> {
    vec![
        (SYSTEM, "MALLOC_ARENA_MAX", "1"),
        (JEMALLOC, "_RJEM_MALLOC_CONF", "dirty_decay_ms:3"),
        (MIMALLOC, "MIMALLOC_PURGE_DELAY", "5"),
    ]
}

/// A wrapper that passes `--version` through, and otherwise runs `first` before the server.
fn wrapper(program: &str, first: &str) -> String {
    format!("case \"$1\" in --version) exec {program} \"$@\";; esac\n{first}\n{program} \"$@\"\ntrue")
}

fn behind(program: &str, first: &str, setting: &str) -> Outcome {
    let soak = Soak::new(START).script(&wrapper(program, first));
    soak.options(&["--env", setting]).run()
}

#[test]
fn a_setting_that_a_wrapper_keeps_to_itself_was_not_in_force() {
    for (program, name, value) in settings() {
        let setting = format!("{name}={value}");
        let outcome = behind(program, &format!("unset {name}"), &setting);
        let summary = outcome.passed();
        let knobs = &summary.header.server.knobs;
        assert!(knobs.iter().all(|knob| knob.taken == Some(false)), "{knobs:?}");
        let [unset] = summary.allocator.unset.as_slice() else {
            panic!("{name}: {:?}", summary.allocator.unset);
        };
        assert!(unset.program.starts_with("fixture-"), "{unset:?}");
        assert_eq!((unset.variable.as_str(), &unset.value), (name, &None));
        outcome.says(&["was set, but is not in the environment of `fixture-"]);
        let entries = outcome.entries();
        let seen = entries.iter().filter_map(|entry| match &entry.event {
            Event::Environment(seen) => Some(seen),
            _ => None,
        });
        assert!(
            seen.clone()
                .all(|seen| seen.given.iter().chain(&seen.missing).all(|own| own == name))
        );
        assert_eq!(seen.count(), 2, "the shell has it");
    }
}

#[test]
fn a_setting_that_a_wrapper_changes_was_not_in_force() {
    let outcome = behind(SYSTEM, "export MALLOC_ARENA_MAX=7", "MALLOC_ARENA_MAX=1");
    assert_eq!(outcome.passed().allocator.unset[0].value.as_deref(), Some("7"));
    outcome.says(&["MALLOC_ARENA_MAX=1 was set, but 7 is in force according to the environment of `fixture-system`"]);
}

#[test]
fn a_setting_that_a_large_wrapper_changes_was_not_in_force_in_a_small_server() {
    // Some 10 MB in a shell variable, as an interpreter has them in modules.
    let first = "hold=$(head -c 10000000 /dev/zero | tr '\\0' x)\nexport MALLOC_ARENA_MAX=7";
    let summary = behind(SYSTEM, first, "MALLOC_ARENA_MAX=1").passed();
    let unset = &summary.allocator.unset[0];
    assert_eq!(
        (unset.program.as_str(), unset.value.as_deref()),
        ("fixture-system", Some("7"))
    );
    assert!(unset.private < unset.tree / 2, "the shell has more: {unset:?}");
}

#[test]
fn a_setting_that_a_wrapper_passes_on_was_in_force() {
    for (program, name, value) in settings() {
        let summary = behind(program, "true", &format!("{name}={value}")).passed();
        let knobs = &summary.header.server.knobs;
        assert!(knobs.iter().all(|knob| knob.taken == Some(true)), "{knobs:?}");
        assert_eq!(summary.allocator.unset, []);
    }
}

/// A server behind a wrapper, and the same server without it.
fn pair(program: &str, first: &str) -> PreparedWorkspace {
    let args = ["--via", "allocator", "--ballast", "30MiB"];
    let ground = PreparedWorkspace::pair().ending_idle();
    ground.write("launcher", &format!("#!/bin/sh\n{}\n", wrapper(program, first)));
    let launcher = ground.join("launcher");
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let launcher = launcher.display().to_string();
    let servers = [("base", program), ("behind", &launcher)].map(|(name, program)| {
        format!("[server.{name}]\nprograms = [{program:?}]\nargs = {args:?}\nlanguages = ['python']\n")
    });
    ground.write("servers.toml", &servers.concat());
    ground
}

fn gate(code: i32, ground: &PreparedWorkspace, more: &[&str]) -> String {
    let mut words = vec![
        "gate", "scenario.toml", "--baseline", "base", "--candidate", "behind", "--runs", "5", "--out", "out", "-q",
        "--tol", "10%", "--fail", "20%", "--details",
    ];
    words.extend(more);
    let (said, errors) = ground.ends(code, &words);
    let kept = ground.ends(
        code,
        &[
            "gate", "--from", "out", "--runs", "5", "--tol", "10%", "--fail", "20%", "--details",
        ],
    );
    assert_eq!(kept.0, said);
    let plain = format!("{said} {errors} {}", kept.1);
    plain.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[test]
fn a_gate_does_not_decide_on_memory_of_a_server_that_was_never_told_to_purge() {
    let ground = pair(JEMALLOC, "unset _RJEM_MALLOC_CONF");
    let said = gate(2, &ground, &["--lens", "purged"]);
    for part in [
        "INCONCLUSIVE: ",
        "no usable data of the candidate",
        "has no _RJEM_MALLOC_CONF, by which lsp-soak asked it to purge",
    ] {
        assert!(said.contains(part), "`{part}` is not in\n{said}");
    }
    let said = gate(0, &pair(JEMALLOC, "true"), &["--lens", "purged"]);
    assert!(
        said.contains("asked to purge, verified") && said.contains("PASS"),
        "{said}"
    );
}

/// The environment has the setting, but the running server differs from the checked one.
#[test]
fn a_setting_that_jemalloc_does_not_confirm_in_the_run_was_not_in_force() {
    let other = format!("exec {SYSTEM} \"$@\"");
    let ground = pair(JEMALLOC, &other);
    let said = gate(
        2,
        &ground,
        &["--lens", "both", "--env", "_RJEM_MALLOC_CONF=dirty_decay_ms:3"],
    );
    let words =
        "_RJEM_MALLOC_CONF=dirty_decay_ms:3 was set, but is not in what jemalloc confirmed on stderr in the run";
    assert!(said.contains(words), "{said}");
    let said = gate(2, &pair(JEMALLOC, &other), &["--lens", "purged"]);
    for part in [
        "no usable data of the candidate",
        "is not in what jemalloc confirmed on stderr in the run",
    ] {
        assert!(said.contains(part), "`{part}` is not in\n{said}");
    }
}

/// jemalloc's confirmation at the start lies between the kept start and end of stderr.
#[test]
fn a_gate_refuses_a_setting_that_the_run_was_to_confirm_and_cannot_show() {
    let flood = "head -c 300000 /dev/zero | tr '\\0' 'x' >&2; echo >&2";
    let ground = pair(JEMALLOC, &format!("{flood}\n{JEMALLOC} \"$@\"; {flood}; exit 0"));
    let said = gate(
        2,
        &ground,
        &["--lens", "both", "--env", "_RJEM_MALLOC_CONF=dirty_decay_ms:3"],
    );
    for part in [
        "not judged, because servers ran without their settings: `candidate` in",
        "_RJEM_MALLOC_CONF=dirty_decay_ms:3 was set; whether it is in force is not known",
        "what jemalloc confirmed on stderr in the run was checked",
    ] {
        assert!(said.contains(part), "`{part}` is not in\n{said}");
    }
    // The first block after the warm-up is enough to see this, so the gate stops.
    assert_eq!(ground.records("out").len(), 2 + 4);
}

#[test]
fn a_gate_through_both_lenses_takes_a_setting_in_the_variable_of_the_lens() {
    let said = gate(
        0,
        &pair(JEMALLOC, "true"),
        &["--lens", "both", "--env", "_RJEM_MALLOC_CONF=narenas:1"],
    );
    assert!(said.contains("asked to purge, verified"), "{said}");
}

#[test]
fn a_gate_refuses_servers_that_ran_without_their_settings() {
    let ground = pair(SYSTEM, "unset MALLOC_ARENA_MAX");
    let said = gate(2, &ground, &["--env", "MALLOC_ARENA_MAX=1"]);
    let words = "MALLOC_ARENA_MAX was set, but is not in the environment of `fixture-system`";
    assert!(said.matches(words).count() == 2, "{said}");
    // The warm-up run of each side is enough to see this, so the gate stops.
    assert_eq!(ground.records("out").len(), 2);
    let run = [
        "run", "scenario.toml", "--server", "base", "--server", "behind", "--env", "MALLOC_ARENA_MAX=1", "--runs", "1",
        "-q", "--format", "markdown",
    ];
    let said = ground.stdout(&run);
    let words = "behind ran without its setting, so it is not compared";
    assert!(said.contains(words), "{said}");
}

#[test]
fn a_gate_refuses_a_preload_that_does_not_serve_whoever_has_the_memory() {
    for first in ["unset LD_PRELOAD", "export LD_PRELOAD="] {
        let ground = pair(SYSTEM, first);
        let said = gate(2, &ground, &["--preload", "jemalloc"]);
        assert!(
            said.contains("LD_PRELOAD was set, but is not in what `fixture-system` has mapped"),
            "{said}"
        );
    }
    let said = gate(0, &pair(SYSTEM, "true"), &["--preload", "jemalloc"]);
    assert!(said.contains("preloaded"), "{said}");
}

#[test]
fn a_run_is_not_called_preloaded_where_its_memory_is_not() {
    let soak = Soak::new(START).script(&wrapper(SYSTEM, "unset LD_PRELOAD"));
    let outcome = soak.options(&["--preload", "jemalloc"]).run();
    assert_eq!(outcome.passed().header.server.preload, None);
    outcome.says(&["was set, but is not in what `fixture-system` has mapped"]);
    assert!(!outcome.stdout.contains(" preloaded"), "{}", outcome.output());
}
