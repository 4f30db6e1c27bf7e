//! Finds what is to be preloaded into servers.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use crate::allocator::preload::{self, Places};
use crate::allocator::{Machine, machine};
use crate::config::{Preload, Program, ServerChoice};
use crate::host;

use super::detector;

/// How long the list of the loader's libraries may take; it is one short file.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where this system has libraries.
static PLACES: LazyLock<Places> = LazyLock::new(|| Places {
    root: PathBuf::from("/"),
    cache: cache().unwrap_or_default(),
});

/// What the loader knows. The program that lists it is often not on a user's PATH; systems without glibc have none.
fn cache() -> Option<String> {
    let programs = ["/sbin/ldconfig", "/usr/sbin/ldconfig"].map(Path::new);
    let program = programs.into_iter().find(|path| path.is_file())?;
    let heard = host::listen(std::process::Command::new(program).arg("-p"), PATIENCE, &|| false).ok()?;
    heard.ended.map(|_| heard.said.stdout)
}

/// Puts the library of what is to be preloaded into a server before its others, or says why there is none.
pub fn find(choice: &mut ServerChoice) -> Result<(), String> {
    if choice.preload == Preload::System {
        return Ok(());
    }
    if cfg!(windows) {
        return Err(format!(
            "`{}`: nothing can be preloaded on Windows: build {} into the server",
            choice.label, choice.preload
        ));
    }
    let wrong = |error: &dyn std::fmt::Display| format!("`{}`: {error}", choice.label);
    let found = preload::find(&choice.preload, kind(choice), &PLACES).map_err(|error| wrong(&error))?;
    let libraries: Vec<PathBuf> = found.into_iter().chain(choice.libraries.iter().cloned()).collect();
    preload::compose(&libraries, None).map_err(|error| wrong(&error))?;
    choice.libraries = libraries;
    Ok(())
}

/// The kind of machine that the server is for: of a script its interpreter's, and of what is yet to be built ours.
fn kind(choice: &ServerChoice) -> Option<Machine> {
    match &choice.program {
        Program::File(program) => machine(&detector::detection(choice, program, &|| false).file),
        Program::Build(_) => machine(&std::env::current_exe().ok()?),
    }
}
