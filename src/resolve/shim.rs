//! Finds the library that releases memory on a signal, and has it preloaded; Node.js loads a script instead.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Env;
use crate::config::{Loaded, MistakeReport, Scenario, Step};
use crate::resolve::{LIBRARY, Program, ServerChoice, Shim};
use allocator::Inspected;
use allocator::preload::{VARIABLE, compose};
use base::Cancel;
use proctree::host;
use record::ShimFacts;

use super::detector;

/// Names the library where it is somewhere else.
const PLACE: &str = "LSP_SOAK_PURGE_SHIM";

/// Above what any runtime uses for itself; its number is the same on all processors.
const SIGNAL: i32 = 50;

/// `SIGSTKFLT` on Linux, which neither the kernel nor programs use. Node.js has no names for real-time signals.
const NODE_SIGNAL: i32 = 16;

/// Collects the garbage of Node.js.
const SCRIPT: &str = include_str!("collect.cjs");

/// Options of Node.js.
pub const NODE_OPTIONS: &str = "NODE_OPTIONS";

/// The library: as named, beside lsp-soak, or built from lsp-soak's own sources nearby.
fn find(named: Option<&Path>) -> Result<Shim, String> {
    if !cfg!(target_os = "linux") {
        return Err("--purge-shim works only on Linux: remove it".to_owned());
    }
    let variable = env::var_os(PLACE).filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(path) = named.map(Path::to_owned).or(variable) {
        return match fs::canonicalize(&path) {
            Ok(file) if file.is_file() => Ok(Shim::File(file)),
            _ => Err(format!(
                "there is no library `{}`: check the path, or remove the option",
                path.display()
            )),
        };
    }
    let program = env::current_exe().ok();
    let beside = program.as_ref().map(|program| program.with_file_name(LIBRARY));
    if let Some(file) = beside.filter(|file| file.is_file()) {
        return fs::canonicalize(&file)
            .map(Shim::File)
            .map_err(|error| format!("cannot find `{}`: {error}", file.display()));
    }
    let here = env::current_dir().ok();
    let around = [here.as_deref(), program.as_deref()].into_iter().flatten();
    let checkout = around
        .flat_map(Path::ancestors)
        .find(|directory| is_checkout(directory));
    match checkout {
        Some(checkout) => Ok(Shim::Build(checkout.join("purge-shim/Cargo.toml"))),
        None => Err(format!(
            "there is no `{LIBRARY}` beside lsp-soak: build it in lsp-soak's sources with `cargo build --profile \
             preloaded \
             --package purge-shim`, and name it with --purge-shim=PATH"
        )),
    }
}

/// True if lsp-soak's own sources are in this directory.
pub fn is_checkout(directory: &Path) -> bool {
    fs::read_to_string(directory.join("Cargo.toml"))
        .is_ok_and(|manifest| manifest.lines().any(|line| line.trim() == "name = \"lsp-soak\""))
}

/// The reason why a server accepts no preload, by its file.
fn refusal(choice: &ServerChoice) -> Option<String> {
    match &choice.program {
        // For a launcher, the program that it starts.
        Program::File(program) => refusal_of_file(&detector::inspect(choice, program, None, &Cancel::default()).file),
        Program::Build(_) => None,
    }
}

fn refusal_of_file(program: &Path) -> Option<String> {
    let shown = program.display();
    if allocator::is_static(program) {
        return Some(format!("`{shown}` is statically linked, so nothing can be preloaded"));
    }
    if host::is_privileged(program) {
        return Some(format!("`{shown}` is setuid or setgid, so its loader preloads nothing"));
    }
    None
}

/// The warning if a release is wanted and no purge library is preloaded.
pub fn missing(scenario: &Scenario, found: &Inspected) -> String {
    let none = "no preloaded library can purge its allocator";
    let mut steps = scenario.phases.iter().flat_map(|phase| &phase.steps);
    // Searching a program takes a second per GB.
    let is_needed = steps.any(|step| matches!(step, Step::Release(_)));
    if is_needed && let Some(why) = out_of_reach(&found.file) {
        return format!("{none}, and --purge-shim would not help: {why}");
    }
    format!("{none}: run with --purge-shim")
}

/// The reason why the library could not have a program release memory.
fn out_of_reach(program: &Path) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("it is for Linux only".to_owned());
    }
    if let Some(why) = refusal_of_file(program) {
        return Some(why);
    }
    let family = allocator::linked_allocator(program)?;
    Some(format!(
        "`{}` contains {family}, which a preloaded library cannot purge",
        program.display()
    ))
}

/// Adds the library to every server, if the command line or a scenario asks for it. The command line may ask without a path.
pub fn ask(
    purge_shim: Option<&Option<PathBuf>>,
    scenarios: &[Loaded],
    choices: &mut [ServerChoice],
    mistakes: &mut MistakeReport,
) {
    if purge_shim.is_none() && !scenarios.iter().any(is_asked_for) {
        return;
    }
    let named = purge_shim.and_then(Option::as_deref);
    let shim = match find(named) {
        Ok(shim) => shim,
        Err(why) => return mistakes.add_loose(why, ""),
    };
    for choice in choices {
        match refusal(choice) {
            Some(why) => mistakes.add_loose(format!("`{}`: {why}", choice.label), "remove --purge-shim for it"),
            None => choice.shim = Some(shim.clone()),
        }
    }
}

/// The library for a lens that needs it, or why a server has to do without.
pub fn library_for_lens(choice: &ServerChoice) -> Result<Shim, String> {
    match refusal(choice) {
        Some(why) => Err(why),
        None => find(None),
    }
}

/// A sentence for each server under the purged lens whose settings only come near, with the reason.
pub fn approximate(choices: &[ServerChoice]) -> Vec<String> {
    let mut sentences = Vec::new();
    for choice in choices.iter().filter(|choice| choice.lens.approximate) {
        if let Err(why) = library_for_lens(choice) {
            sentences.push(format!("the purged lens of `{}` is approximate: {why}", choice.label));
        }
    }
    sentences
}

/// True if a scenario asks for the library.
fn is_asked_for(scenario: &Loaded) -> bool {
    let mut steps = scenario.scenario.phases.iter().flat_map(|phase| &phase.steps);
    steps.any(|step| matches!(step, Step::Release(options) if options.preloads()))
}

/// The purge library of a run, which releases memory on a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The library that the loader maps; `None` where Node.js runs the script.
    pub path: Option<PathBuf>,
    /// Where it says in which processes it listens.
    pub directory: PathBuf,
    /// The signal that it listens to.
    pub signal: i32,
}

/// The library to preload, or the script of Node.js, with a directory for its output.
pub fn library(path: Option<PathBuf>, directory: &Path) -> Library {
    Library {
        signal: if path.is_some() { SIGNAL } else { NODE_SIGNAL },
        path,
        directory: directory.to_owned(),
    }
}

/// Its facts for the record; `None` of the script, which is a part of lsp-soak.
pub fn facts(library: &Library) -> Option<ShimFacts> {
    let path = library.path.as_ref()?;
    Some(ShimFacts {
        path: path.display().to_string(),
        sha256: host::file_sha256(path).ok(),
        signal: library.signal,
    })
}

/// Has a server load the library, before whatever else is preloaded into it, or Node.js the script.
pub fn preload(env: &mut Env, library: &Library) -> anyhow::Result<()> {
    let variable = if library.path.is_some() { VARIABLE } else { NODE_OPTIONS };
    let set = env.iter().rev().find(|(name, _)| name == variable);
    let before = match set {
        Some((_, value)) => value.clone(),
        None => env::var_os(variable),
    };
    let all = match &library.path {
        Some(path) => compose(std::slice::from_ref(path), before.as_deref())?,
        None => Some(write_script(&library.directory, before)?),
    };
    // A sandbox numbers its processes from 1 again: those are not the ones that could be signalled.
    let pids = fs::read_link("/proc/self/ns/pid").ok();
    let more: [(&str, Option<OsString>); 4] = [
        ("LSP_SOAK_PURGE_PIDS", pids.map(PathBuf::into_os_string)),
        (variable, all),
        ("LSP_SOAK_PURGE_DIR", Some(library.directory.clone().into())),
        ("LSP_SOAK_PURGE_SIGNAL", Some(library.signal.to_string().into())),
    ];
    env.extend(more.into_iter().map(|(name, value)| (name.into(), value)));
    Ok(())
}

/// Writes the script, and adds it to options of Node.js, which take quotes and backslashes as C does.
fn write_script(directory: &Path, before: Option<OsString>) -> io::Result<OsString> {
    let script = directory.join("collect.cjs");
    fs::write(&script, SCRIPT)?;
    let script = script.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    let mut options = before.unwrap_or_default();
    options.push(format!(" --require \"{script}\""));
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_value(env: &Env, name: &str) -> Option<OsString> {
        let (_, value) = env.iter().rev().find(|(own, _)| own == name)?;
        value.clone()
    }

    #[test]
    fn node_requires_the_script_after_its_own_options() {
        let place = tempfile::tempdir().expect("there is a place for temporary files");
        let own = "--max-old-space-size=512";
        let mut env = vec![(NODE_OPTIONS.into(), Some(own.into()))];
        preload(&mut env, &library(None, place.path())).expect("the place is ours");
        let script = place.path().join("collect.cjs");
        let options = format!("{own} --require \"{}\"", script.display());
        assert_eq!(last_value(&env, NODE_OPTIONS), Some(options.into()));
        assert_eq!(last_value(&env, "LSP_SOAK_PURGE_SIGNAL"), Some("16".into()));
        assert_eq!(fs::read_to_string(script).expect("it is written"), SCRIPT);
    }

    #[test]
    fn the_library_is_preloaded_beside_what_the_server_preloads_anyway() {
        let library = library(Some("/lib/libpurge_shim.so".into()), Path::new("/tmp/heard"));
        let none: Env = vec![("LD_PRELOAD".into(), None)];
        let mut own = none.clone();
        own.push(("LD_PRELOAD".into(), Some("/lib/libjemalloc.so.2".into())));
        for (mut env, value) in [
            (none, "/lib/libpurge_shim.so"),
            (own, "/lib/libpurge_shim.so:/lib/libjemalloc.so.2"),
        ] {
            preload(&mut env, &library).expect("the path has no blank");
            assert!(last_value(&env, "LSP_SOAK_PURGE_DIR").is_some());
            assert!(last_value(&env, "LSP_SOAK_PURGE_SIGNAL").is_some());
            assert_eq!(last_value(&env, "LD_PRELOAD"), Some(value.into()));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_loads_nothing_from_outside_is_refused_with_the_reason() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("there is a place for temporary files");
        let program = place.path().join("server");
        let refusal = |bytes: &[u8], mode: u32| {
            fs::write(&program, bytes).expect("the place is ours");
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).expect("the file is ours");
            refusal_of_file(&program)
        };
        // An executable for x86-64 without any segment, so without a loader.
        let mut empty = [0; 64];
        empty[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0");
        (empty[20], empty[52], empty[54], empty[58]) = (1, 64, 56, 64);
        let told = refusal(&empty, 0o755).expect("it is static");
        assert!(
            told.ends_with("is statically linked, so nothing can be preloaded"),
            "{told}"
        );
        let this = fs::read(env::current_exe().expect("it runs")).expect("it can be read");
        assert_eq!(refusal(&this, 0o755), None);
        assert!(refusal(&this, 0o4755).is_some_and(|told| told.contains("setuid")));
        assert_eq!(refusal(b"#!/bin/sh\n", 0o755), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_library_is_advised_only_where_it_could_help() {
        let place = tempfile::tempdir().expect("there is a place for temporary files");
        let file = place.path().join("server");
        let mut bytes = fs::read("/bin/true").expect("it is there");
        let mut told = |more: &[u8]| {
            bytes.extend(more);
            fs::write(&file, &bytes).expect("the place is ours");
            out_of_reach(&file)
        };
        assert_eq!(told(b""), None);
        let within = told(b"<jemalloc>: ").expect("it is out of reach");
        assert!(
            within.ends_with("contains jemalloc, which a preloaded library cannot purge"),
            "{within}"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_that_is_named_and_not_there_is_a_mistake() {
        let error = find(Some(Path::new("/nowhere/libpurge_shim.so"))).expect_err("it is not there");
        assert!(
            error.starts_with("there is no library `/nowhere/libpurge_shim.so`"),
            "{error}"
        );
        assert!(matches!(find(None), Ok(Shim::Build(_) | Shim::File(_))));
    }
}
