//! Finds the libraries to preload into servers, and verifies their use.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use super::Env;
use crate::resolve::{Program, ServerChoice};
use allocator::preload::{self, Places, PreloadError, Question, VARIABLE};
use allocator::{Inspected, Machine, machine};
use base::Cancel;
use proctree::host;
use record::Preload;
use record::{AllocatorFamily, KnobFacts, PreloadFacts};

use super::detector::{self, Examined};

/// Time limit for the list of the loader's libraries, which is one short file.
const PATIENCE: Duration = Duration::from_secs(5);

/// The sign that a preload serves a server, for people.
const SEEN: &str = "the imports of the program or its libraries, which a preloaded library serves first";

static PLACES: LazyLock<Places> = LazyLock::new(|| Places {
    root: PathBuf::from("/"),
    cache: cache().unwrap_or_default(),
});

/// The loader's list of libraries. The program that prints it is often not on a user's PATH; systems without glibc have none.
fn cache() -> Option<String> {
    let programs = ["/sbin/ldconfig", "/usr/sbin/ldconfig"].map(Path::new);
    let program = programs.into_iter().find(|path| path.is_file())?;
    let heard = host::run_program(Command::new(program).arg("-p"), PATIENCE, &Cancel::default()).ok()?;
    if heard.exit_status.is_some() {
        Some(heard.said.stdout)
    } else {
        None
    }
}

/// Puts the wanted library first among a server's preloads, or reports why it is missing.
pub fn find(choice: &mut ServerChoice) -> Result<(), String> {
    adopt(choice)?;
    if choice.preload == Preload::System {
        return Ok(());
    }
    if cfg!(windows) {
        return Err(format!(
            "`{}`: nothing can be preloaded on Windows: build {} into the server",
            choice.label, choice.preload
        ));
    }
    let found = preload::find(&choice.preload, machine_of(choice), &PLACES)
        .map_err(|error| format!("`{}`: {error}", choice.label))?;
    let libraries: Vec<PathBuf> = found.into_iter().chain(choice.libraries.iter().cloned()).collect();
    preload::compose(&libraries, None).map_err(|error| format!("`{}`: {error}", choice.label))?;
    choice.libraries = libraries;
    Ok(())
}

/// Treats an allocator in the user's preload variable like a wanted preload, so that it is verified too.
fn adopt(choice: &mut ServerChoice) -> Result<(), String> {
    let Some(value) = choice.env.get(VARIABLE) else {
        return Ok(());
    };
    let typed = preload::split_preload(value, &PLACES)
        .map_err(|error| format!("`{}`: in `{VARIABLE}`: {error}", choice.label))?;
    let rest = typed.without_allocator();
    let Some(path) = typed.allocator else {
        return Ok(());
    };
    let other = match &choice.preload {
        Preload::System if !choice.preload_asked => None,
        Preload::System => Some("`system` preloads none".to_owned()),
        other => Some(format!("`{other}` is preloaded too")),
    };
    if let Some(other) = other {
        return Err(format!(
            "`{}`: `{VARIABLE}` names an allocator, `{}`, and {other}: remove one of the two",
            choice.label,
            path.display()
        ));
    }
    choice.preload = Preload::Path(path);
    // A preload of lsp-soak's own environment stays excluded.
    if rest.is_empty() && std::env::var_os(VARIABLE).is_none() {
        choice.env.remove(VARIABLE);
    } else {
        choice.env.insert(VARIABLE.to_owned(), rest);
    }
    Ok(())
}

/// The server's machine type: for a script its interpreter's, for a server that is built later our own.
fn machine_of(choice: &ServerChoice) -> Option<Machine> {
    match &choice.program {
        Program::File(program) => machine(&detector::inspect(choice, program, None, &Cancel::default()).file),
        Program::Build(_) => machine(&std::env::current_exe().ok()?),
    }
}

/// The library of the wanted preload, once found.
pub fn library(choice: &ServerChoice) -> Option<&PathBuf> {
    if choice.preload == Preload::System {
        return None;
    }
    choice.libraries.first()
}

/// The preload as a setting, so that reports on unconfirmed settings include it; `None` without a preload. One that
/// cannot work is refused. `with` is the server with it.
pub fn verify(
    choice: &ServerChoice,
    program: &Path,
    project: Option<&Path>,
    with: &Inspected,
    cancel: &Cancel,
) -> Result<Option<KnobFacts>, PreloadError> {
    let Some(library) = library(choice) else {
        return Ok(None);
    };
    let without = ServerChoice {
        preload: Preload::System,
        libraries: choice.libraries[1..].to_vec(),
        ..choice.clone()
    };
    let plain = detector::inspect(&without, program, project, cancel);
    let serves = preload::verify(&Question {
        library,
        plain: &Inspected {
            facts: detector::believed(detector::declared(&without), plain.facts.clone()),
            ..Inspected::clone(&plain)
        },
        with,
        subject: &detector::subject(choice, program),
    })?;
    let mut knob = KnobFacts {
        variable: VARIABLE.to_owned(),
        requested: library.display().to_string(),
        ..KnobFacts::default()
    };
    if serves {
        knob.effective = Some(knob.requested.clone());
        knob.seen = Some(SEEN.to_owned());
        knob.taken = Some(true);
    }
    Ok(Some(knob))
}

/// Mistakes in the settings of installed servers, a sentence each.
pub fn mistakes(choices: &[ServerChoice]) -> Vec<String> {
    let mut mistakes = Vec::new();
    for choice in choices {
        let Program::File(program) = &choice.program else {
            continue;
        };
        for words in detector::mistakes(choice, program) {
            let mistake = format!("`{}`: {words}", choice.label);
            if !mistakes.contains(&mistake) {
                mistakes.push(mistake);
            }
        }
    }
    mistakes
}

/// Makes the preload report its memory at the end of the run.
pub fn ask(env: &mut Env, examined: &Examined) {
    let Some(preload) = &examined.preload else { return };
    let Some((usual, value)) = preload::report_setting(preload.family) else {
        return;
    };
    let facts = &examined.inspected.facts;
    let is_jemalloc = facts.family == AllocatorFamily::Jemalloc;
    let variable = match facts.variable.as_deref() {
        Some(variable) if is_jemalloc => variable,
        _ => usual,
    };
    let last = env.iter().rev().find(|(name, _)| name == variable);
    let own = last.and_then(|(_, value)| value.clone()).unwrap_or_default();
    let value = match own.to_str() {
        Some("") => value.to_owned(),
        // In a list the later entry counts. A user's own request is kept.
        Some(own) if is_jemalloc && !own.contains("stats_print") => format!("{value},{own}"),
        Some(_) | None => return,
    };
    env.retain(|(name, _)| name != variable);
    env.push((variable.into(), Some(value.into())));
}

/// The preload's family, by its name or its bytes.
fn family(choice: &ServerChoice, library: &Path, cancel: &Cancel) -> AllocatorFamily {
    match choice.preload.family() {
        Some(family) if family != AllocatorFamily::Unknown => family,
        _ => marked_family(library, cancel),
    }
}

/// The preload's facts for the record.
pub fn facts(choice: &ServerChoice, inspected: &Inspected, cancel: &Cancel) -> Option<PreloadFacts> {
    let library = library(choice)?;
    let family = family(choice, library, cancel);
    let version = if inspected.facts.family == family {
        inspected.facts.version.clone()
    } else {
        None
    };
    Some(PreloadFacts {
        name: choice.preload.to_string(),
        family,
        path: library.display().to_string(),
        sha256: host::file_sha256(library).ok(),
        version,
        package: preload::package(library, cancel),
    })
}

/// The family by the library's own bytes.
fn marked_family(library: &Path, cancel: &Cancel) -> AllocatorFamily {
    match allocator::detect_in_file(library, cancel).facts.family {
        // This is only the linked C library.
        AllocatorFamily::Glibc | AllocatorFamily::Musl => AllocatorFamily::Unknown,
        family => family,
    }
}
