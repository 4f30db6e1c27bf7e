//! Preloaded allocators serve the fixture, and ineffective preloads are refused before a run. Needs Debian's
//! libjemalloc2, libmimalloc2.0, libtcmalloc-minimal4 and libtbbmalloc2.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use record::{AllocatorFamily, Confidence, Event};

use crate::fixture::{JEMALLOC, SNMALLOC, SYSTEM};
use crate::ground::PreparedWorkspace;
use crate::soak::{START, Soak};

const ALL: [AllocatorFamily; 4] = [
    AllocatorFamily::Jemalloc,
    AllocatorFamily::Mimalloc,
    AllocatorFamily::Tcmalloc,
    AllocatorFamily::Tbbmalloc,
];

#[test]
fn each_allocator_serves_a_server_that_nobody_rebuilt() {
    for family in ALL {
        let outcome = Soak::new(START).options(&["--preload", family.name()]).run();
        let entries = outcome.entries();
        let summary = outcome.passed();
        let server = &summary.header.server;
        assert!(server.label.ends_with(&format!("-{family}")), "{}", server.label);
        let preload = server.preload.as_ref().expect("it was preloaded");
        assert_eq!((preload.name.as_str(), preload.family), (family.name(), family));
        assert!(
            preload.sha256.is_some() && Path::new(&preload.path).is_file(),
            "{preload:?}"
        );
        assert_eq!(server.allocator.as_ref().map(|facts| facts.family), Some(family));
        assert!(preload.version.is_some(), "{preload:?}");
        let [knob] = server.knobs.as_slice() else {
            panic!("{:?}", server.knobs);
        };
        assert_eq!(
            (knob.requested.as_str(), knob.taken),
            (preload.path.as_str(), Some(true))
        );
        let looked = entries.iter().filter_map(|entry| match &entry.event {
            Event::Libraries(libraries) => Some((libraries.mapped.clone(), libraries.missing.clone())),
            _ => None,
        });
        assert_eq!(looked.collect::<Vec<_>>(), [(vec![preload.path.clone()], Vec::new())]);
    }
}

#[test]
fn what_is_preloaded_is_used_where_it_has_the_memory_in_the_run() {
    // oneTBB's allocator reports no statistics. The fixture allocates much, since allocators keep memory per thread
    // (jemalloc some 4 MiB) and the number of threads depends on the machine.
    for family in &ALL[..3] {
        for (via, used) in [("allocator", true), ("direct", false)] {
            let summary = Soak::new(START)
                .server(&["--ballast", "256MiB", "--via", via])
                .options(&["--preload", family.name()])
                .run()
                .summary();
            let server = &summary.header.server;
            assert_eq!(server.preload.is_some(), used, "{family} {via}");
            let knobs = server
                .knobs
                .iter()
                .map(|knob| (knob.taken, knob.seen.as_deref().unwrap_or_default()));
            let [(taken, seen)] = knobs.collect::<Vec<_>>()[..] else {
                panic!("{:?}", server.knobs);
            };
            assert_eq!(taken, Some(used), "{family} {via}");
            let told = match (family, used) {
                (AllocatorFamily::Mimalloc, true) => "the imports of the program",
                _ => "it had at most",
            };
            assert!(seen.contains(told), "{family} {via}: {seen}");
            let close = summary.lifecycle.close.as_ref().expect("the connection was closed");
            let accounts = close.held.as_ref().map(Vec::len);
            assert_eq!((accounts, close.stderr_tail.as_str()), (Some(1), ""), "{family}");
        }
    }
}

#[test]
fn a_small_server_that_mimalloc_serves_is_not_said_to_do_without_it() {
    let summary = Soak::new(START)
        .server(&["--ballast", "20MiB", "--via", "allocator"])
        .options(&["--preload", "mimalloc"])
        .run()
        .passed();
    let server = &summary.header.server;
    assert!(
        server.preload.is_some() && server.knobs[0].taken == Some(true),
        "{:?}",
        server.knobs
    );
    assert_eq!((summary.allocator.unset, summary.allocator.partly), (Vec::new(), None));
}

#[test]
fn what_gives_no_account_of_itself_is_not_certified() {
    let outcome = Soak::new(START)
        .server(&["--ballast", "64MiB", "--via", "direct"])
        .options(&["--preload", "tbbmalloc"])
        .run();
    let server = outcome.passed().header.server;
    let sure = server.allocator.and_then(|facts| facts.confidence);
    assert_eq!((server.knobs[0].taken, sure), (None, Some(Confidence::Likely)));
    outcome.says(&[
        "was set; whether it is in force is not known",
        "gave an account of its memory",
    ]);
}

#[test]
fn what_a_shell_binds_says_nothing_of_what_it_starts() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let launcher = directory.path().join("launcher");
    let text = format!("#!/bin/sh\nserver={SYSTEM}\n\"$server\" \"$@\"\n");
    fs::write(&launcher, text).expect("the directory is ours");
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let output = allocator(&format!("preload=jemalloc {}", launcher.display()));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(found["knobs"][0]["taken"], serde_json::Value::Null, "{found:#}");
    assert_eq!(found["allocator"]["confidence"], "guess", "{found:#}");
}

#[test]
fn a_setting_of_what_is_preloaded_is_checked_by_it() {
    let server = format!("preload=jemalloc MALLOC_CONF=dirty_decay_ms:3 {SYSTEM}");
    let summary = Soak::new(START).named(&server).run().passed();
    let facts = &summary.header.server;
    assert_eq!(
        facts
            .allocator
            .as_ref()
            .map(|facts| facts.options["dirty_decay_ms"].as_str()),
        Some("3")
    );
    assert!(
        facts.knobs.iter().all(|knob| knob.taken == Some(true)),
        "{:?}",
        facts.knobs
    );
    refused(
        &format!("preload=jemalloc MALLOC_ARENA_MAX=1 {SYSTEM}"),
        "this server uses jemalloc",
    );
    refused(
        &format!("preload=mimalloc MIMALLOC_NOSUCH=1 {SYSTEM}"),
        "has no option `nosuch`",
    );
    refused(
        &format!("preload=tcmalloc TCMALLOC_RELEASE_RTE=10 {SYSTEM}"),
        "did you mean `TCMALLOC_RELEASE_RATE`?",
    );
    refused(
        &format!("preload=tcmalloc TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=1MB {SYSTEM}"),
        "`1MB` is not a whole number, and units are not read",
    );
    refused(
        &format!("preload=tbbmalloc TBB_MALLOC_USE_HUGE_PAGE=1 {SYSTEM}"),
        "did you mean `TBB_MALLOC_USE_HUGE_PAGES`?",
    );
}

#[test]
fn an_allocator_in_the_loaders_own_variable_is_one_that_is_preloaded() {
    let server = format!("LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=dirty_decay_ms:3 {SYSTEM}");
    let summary = Soak::new(START).named(&server).run().passed();
    let facts = &summary.header.server;
    let preload = facts.preload.as_ref().expect("it was preloaded");
    assert_eq!(preload.family, AllocatorFamily::Jemalloc);
    assert_eq!(facts.env["LD_PRELOAD"], preload.path);
    refused(&format!("preload=mimalloc {server}"), "names an allocator");
    refused(&format!("preload=system {server}"), "`system` preloads none");
    refused(
        &format!("preload=jemalloc preload=mimalloc {SYSTEM}"),
        "remove one, or try both with --preload jemalloc,mimalloc",
    );
    refused(
        &format!("LD_PRELOAD=/nosuch/lib.so {SYSTEM}"),
        "there is no library `/nosuch/lib.so`",
    );
}

#[test]
fn the_purged_lens_tells_a_preloaded_jemalloc() {
    let summary = Soak::new(START)
        .options(&["--preload", "jemalloc", "--lens", "purged"])
        .run()
        .passed();
    let lens = &summary.header.server.lens;
    assert!(lens.env.contains_key("MALLOC_CONF"), "{lens:?}");
    assert_eq!(
        (lens.allocator.as_deref(), lens.verified),
        (Some("jemalloc"), Some(true))
    );
}

#[test]
fn what_was_typed_is_preloaded_too_and_a_child_that_is_not_served_is_told() {
    let outcome = Soak::new(START)
        .options(&["--preload", "jemalloc", "--env", "LD_PRELOAD=libc.so.6"])
        .script("env -i sleep 1000 & exec \"$FIXTURE\" \"$@\"")
        .run();
    let summary = outcome.summary();
    let preload = summary.header.server.preload.as_ref().expect("it was preloaded");
    assert_eq!(
        summary.header.server.env["LD_PRELOAD"],
        format!("{}:libc.so.6", preload.path)
    );
    let without: Vec<&str> = summary
        .processes
        .unloaded
        .iter()
        .map(|one| one.program.as_str())
        .collect();
    assert_eq!(without, ["sleep"]);
}

#[test]
fn a_server_that_embeds_its_allocator_is_refused() {
    let jemalloc = JEMALLOC;
    for family in ALL {
        refused(
            &format!("preload={family} {jemalloc}"),
            " built in (prefix `_rjem_`) and would not use a preloaded allocator: to measure another one, build the \
             server with it",
        );
    }
    let outcome = Soak::new(START)
        .named(jemalloc)
        .options(&["--preload", "mimalloc"])
        .run();
    outcome.exits_with(2);
    outcome.says(&["has jemalloc", "built in"]);
    assert!(!outcome.record.exists());
}

#[test]
fn programs_without_a_loader_are_refused() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let program = compiled(
        directory.path(),
        "int main(void) { free(malloc(10)); return 0; }",
        &["-static"],
    );
    refused(
        &format!("preload=jemalloc {}", program.display()),
        "is linked statically",
    );
    // Go's marker, with the release where it is since Go 1.18.
    let mut bytes = fs::read(&program).expect("it was just built");
    bytes.extend(b"\xff Go buildinf:\x08\x02");
    bytes.extend([0; 16]);
    bytes.extend(b"\x08go1.25.1");
    bytes.extend([0; 64]);
    fs::write(&program, bytes).expect("it is ours");
    refused(
        &format!("preload=jemalloc {}", program.display()),
        "is a Go 1.25.1 program",
    );
}

#[test]
fn of_a_proxy_without_its_component_that_is_said_and_nothing_of_its_own_allocator() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let rustup = directory.path().join("rustup");
    fs::copy("/bin/false", &rustup).expect("it is there");
    let proxy = directory.path().join("rust-analyzer");
    std::os::unix::fs::symlink(&rustup, &proxy).expect("the directory is ours");
    for setting in ["preload=jemalloc", "MALLOC_ARENA_MAX=1"] {
        refused(
            &format!("{setting} {}", proxy.display()),
            "`rustup component add rust-analyzer`",
        );
    }
}

#[test]
fn what_cannot_be_preloaded_is_refused() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let text = directory.path().join("libtext.so");
    fs::write(&text, "no library\n").expect("the directory is ours");
    let real = lsp_soak_finds_jemalloc();
    let mut bytes = fs::read(&real).expect("it is there");
    bytes[18] = if bytes[18] == 183 { 62 } else { 183 };
    let other = directory.path().join("libother.so");
    fs::write(&other, &bytes).expect("the directory is ours");
    let idle = compiled(directory.path(), "int idle(void) { return 0; }", &["-shared", "-fPIC"]);
    let missing = directory.path().join("libmissing.so");
    for (library, says) in [
        (missing.as_path(), "there is no library"),
        (directory.path(), "it is a directory"),
        (&text, "is not a shared library: it is not an ELF file"),
        (Path::new("/bin/true"), "it is a program"),
        (&other, "and the server is 64 bits of"),
        (&idle, "it is not an allocator"),
    ] {
        refused(&format!("preload={} {SYSTEM}", library.display()), says);
    }
    refused(&format!("preload=jemaloc {SYSTEM}"), "did you mean `jemalloc`?");
}

#[test]
fn what_does_not_call_a_preloaded_allocator_is_refused() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let own = "static char pool[1 << 20] __attribute__((aligned(64))); static size_t at;\n\
               void *malloc(size_t n) { void *p = pool + at; at += (n + 63) & ~63ul; return p; }\n\
               void free(void *p) {}\n\
               void *calloc(size_t a, size_t b) { return malloc(a * b); }\n\
               void *realloc(void *p, size_t n) {\n\
                 char *q = malloc(n); for (size_t i = 0; p && i < n; i++) q[i] = ((char *)p)[i]; return q; }\n\
               int main(void) { return malloc(10) == 0; }";
    let own = compiled(directory.path(), own, &[]);
    let why = "it brings a `malloc` of its own, to which the loader binds every call";
    refused(&format!("preload=jemalloc {}", own.display()), why);
    // The loader binds `calloc` for every program.
    let empty = compiled(directory.path(), "int main(void) { return 0; }", &[]);
    for family in ALL {
        refused(&format!("preload={family} {}", empty.display()), "would not be used");
    }
    {
        // Without symbols the allocator is undetectable.
        let bare = directory.path().join("bare");
        let mut strip = Command::new("strip");
        strip.arg("-o").args([bare.as_os_str(), SNMALLOC.as_ref()]);
        assert!(strip.status().expect("there are binutils").success());
        for family in ALL {
            refused(&format!("preload={family} {}", bare.display()), "would not be used");
        }
    }
}

#[test]
fn what_is_preloaded_comes_before_the_allocator_that_a_program_needs() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let library = lsp_soak_finds_jemalloc().display().to_string();
    let text = "int main(void) { char *volatile p = malloc(10); free(p); return 0; }";
    let program = compiled(directory.path(), text, &["-Wl,--no-as-needed", &library]);
    let found = detect(&format!("preload=system {}", program.display()));
    assert_eq!(found["allocator"]["family"], "jemalloc");
    for family in ALL {
        let found = detect(&format!("preload={family} {}", program.display()));
        assert_eq!(found["allocator"]["family"], family.name(), "{found:#}");
        assert_eq!(found["knobs"][0]["taken"], true, "{found:#}");
    }
    refused(
        &format!("preload=mimalloc MALLOC_CONF=narenas:1 {}", program.display()),
        "and this server uses mimalloc",
    );
}

fn allocator(server: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    let output = command.args(["allocator", "--format", "json", server]).output();
    output.expect("lsp-soak is built beside its tests")
}

/// The detection of a server's allocator, as JSON.
#[track_caller]
fn detect(server: &str) -> serde_json::Value {
    let output = allocator(server);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

#[track_caller]
fn refused(server: &str, says: &str) {
    let output = allocator(server);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{server}: {errors}");
    assert!(errors.contains(says), "{server}: {errors}");
}

fn lsp_soak_finds_jemalloc() -> PathBuf {
    let found = detect(&format!("preload=jemalloc {SYSTEM}"));
    PathBuf::from(found["knobs"][0]["requested"].as_str().expect("it is the library"))
}

fn compiled(directory: &Path, text: &str, options: &[&str]) -> PathBuf {
    let (source, file) = (directory.join("made.c"), directory.join("made"));
    fs::write(&source, format!("#include <stdlib.h>\n{text}\n")).expect("the directory is ours");
    let built = Command::new("cc")
        .arg("-o")
        .args([&file, &source])
        .args(options)
        .status();
    assert!(built.expect("there is a C compiler").success());
    file
}

#[test]
fn a_gate_under_a_preloaded_allocator_decides_only_on_what_was_served_by_it() {
    let held = ["--via", "allocator", "--retain-open", "16MiB"];
    let ground = PreparedWorkspace::pair().ending_idle().with_server("base", &held, "");
    let launcher = format!("#!/bin/sh\nenv -u LD_PRELOAD {SYSTEM} \"$@\"\ntrue\n");
    ground.write("launcher", &launcher);
    let launcher = ground.join("launcher");
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let before = fs::read_to_string(ground.join("servers.toml")).expect("it is there");
    let behind = format!("[server.behind]\nprograms = [{launcher:?}]\nargs = {held:?}\nlanguages = ['python']\n");
    ground.write("servers.toml", &(before + &behind));
    let said = gate(&ground, "base", 0);
    // The only notes are about what was not measured or not ruled out, and about a busy machine or one short of memory.
    let notes = said.matches("note: ").count();
    let allowed: usize = [
        "note: a second group of under 45 %",
        "note: as shipped",
        "note: the machine was",
        "note: memory was short",
    ]
    .iter()
    .map(|note| said.matches(note).count())
    .sum();
    assert!(
        said.contains("PASS: ") && said.contains("preloaded") && notes == allowed,
        "{said}"
    );
    let said = gate(&ground, "behind", 2);
    for part in [
        "not judged, because servers ran without their settings",
        "LD_PRELOAD was set, but is not in what `fixture-system` has mapped, which holds",
    ] {
        assert!(said.contains(part), "`{part}` is not in\n{said}");
    }
}

/// All that a gate under jemalloc prints, live and from its records, on one line.
#[track_caller]
fn gate(ground: &PreparedWorkspace, candidate: &str, code: i32) -> String {
    let words = [
        "gate", "scenario.toml", "--baseline", "base", "--candidate", candidate, "--preload", "jemalloc", "--lens",
        "purged", "--runs", "5", "--out", candidate, "-q", "--details",
    ];
    let (said, errors) = ground.ends(code, &words);
    let (kept, told) = ground.ends(code, &["gate", "--from", candidate, "--runs", "5", "--details"]);
    assert_eq!(kept, said);
    format!("{said} {errors} {told}")
        .split_whitespace()
        .collect::<Vec<&str>>()
        .join(" ")
}
