//! Detection of the fixtures' allocators, and the refusal of ineffective settings.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::fixture::{JEMALLOC, MIMALLOC, SNMALLOC, SYSTEM};

fn allocator(what: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    let output = command.args(["allocator", "--format", "json", what]).output();
    output.expect("lsp-soak is built beside its tests")
}

/// The detection of a program and its settings, as JSON.
#[track_caller]
fn detect(what: &str) -> Value {
    let output = allocator(what);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {errors}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

#[track_caller]
fn detect_as(what: &str, family: &str, confidence: &str) -> Value {
    let found = detect(what);
    let allocator = &found["allocator"];
    assert_eq!(
        (&allocator["family"], &allocator["confidence"]),
        (&family.into(), &confidence.into()),
        "{what}: {found:#}"
    );
    found
}

/// Every wrong setting exits with code 2 and a message that ends with the advice.
#[track_caller]
fn refused(program: &str, cases: &[(&str, &str)]) {
    for (setting, ends) in cases {
        let output = allocator(&format!("{setting} {program}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{setting}: {errors}");
        assert!(errors.trim_end().ends_with(ends), "{setting}: {errors}");
        assert_eq!(output.stdout, b"", "{setting}");
    }
}

/// The value of a setting in force, and whether it is the requested one.
#[track_caller]
fn seen(what: &str, at: usize) -> (Option<String>, Option<bool>) {
    let found = detect(what);
    let knob = &found["knobs"][at];
    (knob["effective"].as_str().map(str::to_owned), knob["taken"].as_bool())
}

#[track_caller]
fn assert_taken(what: &str, effective: &str) {
    assert_eq!(seen(what, 0), (Some(effective.to_owned()), Some(true)), "{what}");
}

#[test]
fn the_c_library_is_found_and_its_settings_are_checked_by_the_loader() {
    let system = detect_as(SYSTEM, "glibc", "likely");
    assert!(system["allocator"]["version"].is_string(), "{system:#}");
    detect_as("/bin/true", "glibc", "likely");
    assert_taken(&format!("MALLOC_ARENA_MAX=2 {SYSTEM}"), "0x2");
    assert_taken(&format!("GLIBC_TUNABLES=glibc.malloc.arena_max=3 {SYSTEM}"), "0x3");
    let trim = glibc_option(SYSTEM, "trim_threshold");
    assert!(trim.as_str().is_some_and(|trim| trim.contains("default")), "{trim}");
    let set = format!("GLIBC_TUNABLES=glibc.malloc.tcache_count=0 MALLOC_ARENA_MAX=2 {SYSTEM}");
    assert_eq!(
        (glibc_option(&set, "arena_max"), glibc_option(&set, "tcache_count")),
        ("2".into(), "0".into())
    );
    refused(
        SYSTEM,
        &[
            ("MALLOC_TRIM_THRESHOLD=0", "did you mean `MALLOC_TRIM_THRESHOLD_`?"),
            ("MALLOC_ARENA_MAX=many", "write plain bytes or a count"),
            ("MALLOC_ARENA_MAX=0", "write a value in that range"),
            ("MALLOC_TRIM_THRESHOLD_=128k", "write plain bytes or a count"),
            ("MALLOC_PERTURB_=256", "write a value in that range"),
            (
                "GLIBC_TUNABLES=glibc.malloc.arena_maxx=1",
                "did you mean `glibc.malloc.arena_max`?",
            ),
            ("GLIBC_TUNABLES=glibc.malloc.arena_max", "write NAME=VALUE:NAME=VALUE"),
            ("MALLOC_CONF=dirty_decay_ms:0", "or such as `MALLOC_ARENA_MAX`"),
            ("MIMALLOC_PURGE_DELAY=0", "or such as `MALLOC_ARENA_MAX`"),
            ("NODE_OPTIONS=--expose-gc", "or such as `MALLOC_ARENA_MAX`"),
            ("GOGC=50", "or such as `MALLOC_ARENA_MAX`"),
            ("MALLOC_CHECK_=3", "or leave the variable out"),
            ("MALOC_ARENA_MAX=1", "did you mean `MALLOC_ARENA_MAX`?"),
            (
                "GLIBC_TUNABLE=glibc.malloc.arena_max=1",
                "did you mean `GLIBC_TUNABLES`?",
            ),
            ("TCMALOC_RELEASE_RATE=1", "did you mean `TCMALLOC_RELEASE_RATE`?"),
            ("GOMEMLIMT=1GiB", "did you mean `GOMEMLIMIT`?"),
        ],
    );
}

/// A tunable of `glibc.malloc` as it was detected.
#[track_caller]
fn glibc_option(what: &str, name: &str) -> Value {
    detect(what)["allocator"]["options"][format!("glibc.malloc.{name}")].clone()
}

#[test]
fn jemalloc_is_found_with_its_prefix_and_checks_its_settings_itself() {
    let jemalloc = detect_as(JEMALLOC, "jemalloc", "certain");
    let facts = &jemalloc["allocator"];
    assert_eq!(
        (&facts["prefix"], &facts["variable"]),
        (&"_rjem_".into(), &"_RJEM_MALLOC_CONF".into())
    );
    assert_eq!(facts["options"]["dirty_decay_ms"], "10000");
    assert_taken(&format!("_RJEM_MALLOC_CONF=dirty_decay_ms:7,narenas:2 {JEMALLOC}"), "7");
    assert_taken(&format!("_RJEM_MALLOC_CONF=narenas:default {JEMALLOC}"), "default");
    assert_taken(&format!("_RJEM_MALLOC_CONF=lg_tcache_max:13 {JEMALLOC}"), "13");
    assert_taken(
        &format!("_RJEM_MALLOC_CONF=confirm_conf:false,stats_print:false,dirty_decay_ms:8 {JEMALLOC}"),
        "8",
    );
    // jemalloc confirms the number but clamps it, and prints the clamped one nowhere.
    let echoed = format!("_RJEM_MALLOC_CONF=max_background_threads:99999 {JEMALLOC}");
    assert_eq!(seen(&echoed, 0), (None, None));
    refused(
        JEMALLOC,
        &[
            ("_RJEM_MALLOC_CONF=dirty_decay:0", "did you mean `dirty_decay_ms`?"),
            (
                "_RJEM_MALLOC_CONF=tcache_max:99999999999",
                "jemalloc keeps its own 32768; write a value that its manual allows",
            ),
            ("_RJEM_MALLOC_CONF=narenas:100000000", "write narenas:4094 or less"),
            // jemalloc confirms 50, but its statistics only have `tcache_max`.
            ("_RJEM_MALLOC_CONF=lg_tcache_max:50", "write lg_tcache_max:15"),
            ("_RJEM_MALLOC_CONF=nonsense:0", "see `opt.*` in jemalloc's manual"),
            (
                "_RJEM_MALLOC_CONF=dirty_decay_ms:soon",
                "write a value that its manual names",
            ),
            (
                "_RJEM_MALLOC_CONF=background_thread:yes",
                "write a value that its manual names",
            ),
            ("_RJEM_MALLOC_CONF=thp:sometimes", "write a value that its manual names"),
            (
                "_RJEM_MALLOC_CONF=dirty_decay_ms:-5",
                "write a value that its manual allows",
            ),
            ("_RJEM_MALLOC_CONF=dirty_decay_ms=5", "OPTION:VALUE without spaces"),
            ("_RJEM_MALLOC_CONF=dirty_decay_ms", "OPTION:VALUE without spaces"),
            (
                "_RJEM_MALLOC_CONF='dirty_decay_ms:5, narenas:1'",
                "OPTION:VALUE without spaces",
            ),
        ],
    );
}

#[test]
fn a_variable_that_jemalloc_does_not_read_is_refused_with_the_one_that_it_does() {
    refused(
        JEMALLOC,
        &[
            (
                "MALLOC_CONF=dirty_decay_ms:0",
                "prefix `_rjem_`; set `_RJEM_MALLOC_CONF`",
            ),
            ("_RJEM_MALOC_CONF=narenas:1", "did you mean `_RJEM_MALLOC_CONF`?"),
            ("RJEM_MALLOC_CONF=narenas:1", "did you mean `_RJEM_MALLOC_CONF`?"),
            ("MALOC_CONF=narenas:1", "did you mean `_RJEM_MALLOC_CONF`?"),
            ("MIMALOC_PURGE_DELAY=0", "did you mean `MIMALLOC_PURGE_DELAY`?"),
            (
                "JE_MALLOC_CONF=dirty_decay_ms:0",
                "prefix `_rjem_`; set `_RJEM_MALLOC_CONF`",
            ),
            (
                "MIMALLOC_PURGE_DELAY=0",
                "such as _RJEM_MALLOC_CONF=dirty_decay_ms:1000",
            ),
            ("MALLOC_ARENA_MAX=1", "such as _RJEM_MALLOC_CONF=dirty_decay_ms:1000"),
        ],
    );
}

#[test]
fn mimalloc_is_found_and_its_settings_are_compared_with_its_list() {
    let mimalloc = detect_as(MIMALLOC, "mimalloc", "certain");
    assert_eq!(mimalloc["allocator"]["options"]["purge_delay"], "1000", "{mimalloc:#}");
    assert_taken(&format!("MIMALLOC_PURGE_DELAY=5 {MIMALLOC}"), "5");
    assert_taken(&format!("MIMALLOC_VERBOSE=0 MIMALLOC_PURGE_DELAY=5 {MIMALLOC}"), "5");
    assert_taken(&format!("MIMALLOC_ALLOW_THP=no {MIMALLOC}"), "0");
    assert_taken(&format!("MIMALLOC_ARENA_RESERVE=64MiB {MIMALLOC}"), "65536 KiB");
    refused(
        MIMALLOC,
        &[
            ("MIMALLOC_PURGE_DELY=0", "did you mean `MIMALLOC_PURGE_DELAY`?"),
            (
                "MIMALLOC_DECOMMIT_DELAY=0",
                "in this version it is `MIMALLOC_PURGE_DELAY`",
            ),
            ("MIMALLOC_NOSUCH=1", "`lsp-soak allocator` lists those that it has"),
            ("MIMALLOC_ALLOW_THP=perhaps", "write a number, or 0 and 1"),
            (
                "MIMALLOC_PURGE_DELAY=",
                "reads an empty value as 1; write a number, or 0 and 1",
            ),
            (
                "MIMALLOC_PURGE_DELAY=00000000000000000000000000000000000000000000000000000000000000000000005",
                "uses 0 instead; write a number, or 0 and 1",
            ),
            ("MIMALLOC_EAGER_COMMIT=0", "does nothing; leave it out"),
            ("_RJEM_MALLOC_CONF=dirty_decay_ms:0", "such as `MIMALLOC_PURGE_DELAY`"),
        ],
    );
}

#[test]
fn snmalloc_is_found_by_its_marks_and_takes_no_settings() {
    detect_as(SNMALLOC, "snmalloc", "likely");
    let nothing = "it reads no variables; remove it";
    refused(
        SNMALLOC,
        &[("MALLOC_CONF=dirty_decay_ms:0", nothing), ("SNMALLOC_DECAY=1", nothing)],
    );
}

fn script(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, text).expect("the directory is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    path.display().to_string()
}

#[test]
fn a_program_that_never_ends_is_asked_once_and_left_unknown() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let launcher = script(
        directory.path(),
        "launcher",
        "#!/bin/sh\nwhat=sleep\nexec \"$what\" 1000\n",
    );
    let found = detect(&launcher);
    assert_eq!(found["allocator"]["confidence"], "guess", "{found:#}");
    let evidence = found["allocator"]["evidence"].to_string();
    assert!(
        evidence.contains("did not end within 15 s and was killed"),
        "{evidence}"
    );
}

#[test]
fn a_launcher_is_followed_to_what_it_runs() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let launcher = script(
        directory.path(),
        "launcher",
        &format!("#!/bin/sh\nexec {SYSTEM} \"$@\"\n"),
    );
    let found = detect_as(&launcher, "glibc", "likely");
    assert!(
        found["allocator"]["evidence"].to_string().contains("wrapper"),
        "{found:#}"
    );
    let wrong = allocator(&format!("MALLOC_ARENA_MAX=x {launcher}"));
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn a_runtime_is_asked_whether_it_takes_its_settings() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    // The python on PATH may be a script.
    let python = script(directory.path(), "python", "#!/usr/bin/python3\nprint('1')\n");
    let found = detect(&format!("PYTHONMALLOC=malloc {python}"));
    assert_ne!(found["allocator"]["family"], "pymalloc", "{found:#}");
    assert_eq!(found["knobs"][0]["taken"], true, "{found:#}");
    for (setting, says) in [
        (
            "PYTHONMALLOC=nosuch",
            "CPython has no such allocator; write malloc, pymalloc or mimalloc",
        ),
        ("JAVA_TOOL_OPTIONS=-Xmx64m", "it belongs to Java"),
    ] {
        let refused = allocator(&format!("{setting} {python}"));
        let errors = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{errors}");
        assert!(errors.contains(says), "{setting}: {errors}");
    }
}

mod runs {
    use record::AllocatorFamily;

    use super::*;
    use crate::soak::{START, Soak};

    #[test]
    fn the_allocator_of_a_run_is_that_of_the_process_that_held_its_memory() {
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        // No check before the run can show the launched program.
        let text = format!("#!/bin/sh\nserver={JEMALLOC}\n[ \"$1\" = --version ] && exit 0\n\"$server\" \"$@\"\n");
        let launcher = script(directory.path(), "launcher", &text);
        assert_ne!(detect(&launcher)["allocator"]["family"], "jemalloc");
        let summary = Soak::new(START).named(&launcher).run().passed();
        let allocator = summary.header.server.allocator.expect("it was looked for");
        assert_eq!(allocator.family, AllocatorFamily::Jemalloc, "{allocator:?}");
        let run = allocator.evidence.iter().find(|one| one.source == "run");
        let saw = &run.expect("the run showed it").saw;
        assert!(
            saw.contains("fixture-jemalloc` held") && saw.ends_with("was found before the run"),
            "{saw}"
        );
    }

    #[test]
    fn a_setting_is_in_the_record_as_it_was_seen_before_the_run_and_in_it() {
        let server = format!("_RJEM_MALLOC_CONF=dirty_decay_ms:3 {JEMALLOC}");
        let summary = Soak::new(START).named(&server).run().passed();
        let facts = &summary.header.server;
        let allocator = facts.allocator.as_ref().expect("it was looked for");
        assert_eq!(allocator.family, AllocatorFamily::Jemalloc);
        assert_eq!(allocator.options["dirty_decay_ms"], "3");
        assert_eq!(facts.knobs.len(), 1);
        assert_eq!(facts.knobs[0].taken, Some(true), "{:?}", facts.knobs);
        let stderr = summary.lifecycle.close.expect("the connection was closed").stderr_tail;
        assert!(stderr.contains("-- Set conf value: dirty_decay_ms:3"), "{stderr}");
    }

    #[test]
    fn the_purged_lens_is_verified() {
        let summary = Soak::new(START)
            .named(JEMALLOC)
            .options(&["--lens", "purged"])
            .run()
            .passed();
        let lens = &summary.header.server.lens;
        assert_eq!(
            (lens.allocator.as_deref(), lens.verified),
            (Some("jemalloc"), Some(true))
        );
    }

    #[test]
    fn a_wrong_setting_ends_a_run_before_anything_is_written() {
        let outcome = Soak::new(START)
            .named(JEMALLOC)
            .options(&["--env", "MALLOC_CONF=dirty_decay_ms:0"])
            .run();
        outcome.exits_with(2);
        outcome.says(&["set `_RJEM_MALLOC_CONF`"]);
        assert!(!outcome.record.exists());
    }
}
