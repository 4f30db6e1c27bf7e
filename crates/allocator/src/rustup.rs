//! Programs of rustup that only start a component of a toolchain, which may be missing.

use std::fs;
use std::path::{Path, PathBuf};

use super::probe::{self, Subject};
use base::Cancel;

/// The program behind a proxy of rustup.
pub enum Proxied {
    Program(PathBuf),
    /// The toolchain lacks the component; the command that installs it.
    Missing(String),
}

/// Asks rustup which program it starts under the name of `program`; `None` for every other program, and if rustup does
/// not answer. The toolchain depends on the environment of `subject`.
pub fn proxied(subject: &Subject, program: &Path, cancel: &Cancel) -> Option<Proxied> {
    let rustup = rustup_of(program)?;
    let name = program.file_stem()?.to_str()?;
    let heard = probe::ask_other(subject, &rustup, &["which", name], &[], cancel)?;
    let path = PathBuf::from(heard.said.stdout.trim());
    if path.is_file() {
        return Some(Proxied::Program(path));
    }
    if heard.exit_status.is_none_or(|ended| ended.success()) {
        return None;
    }
    Some(Proxied::Missing(format!("rustup component add {name}")))
}

/// The command that installs the component, if the program is a proxy of rustup that lacks it; `None` for every other
/// program.
pub fn missing_component(program: &Path) -> Option<String> {
    match proxied(&Subject::default(), program, &Cancel::default())? {
        Proxied::Program(_) => None,
        Proxied::Missing(cure) => Some(cure),
    }
}

/// The rustup behind a proxy: a link to it, or another name of its file beside it.
fn rustup_of(program: &Path) -> Option<PathBuf> {
    if program.file_stem()? == "rustup" {
        return None;
    }
    let real = fs::canonicalize(program).ok()?;
    if real.file_stem()? == "rustup" {
        return Some(real);
    }
    let beside = program.with_file_name(if cfg!(windows) { "rustup.exe" } else { "rustup" });
    if is_one_file(program, &beside) {
        Some(beside)
    } else {
        None
    }
}

#[cfg(unix)]
fn is_one_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
use super::paths::is_same_file as is_one_file;

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn with_rustup(code: u8) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let rustup = directory.path().join("rustup");
        fs::write(&rustup, format!("#!/bin/sh\nexit {code}\n")).unwrap();
        fs::set_permissions(&rustup, fs::Permissions::from_mode(0o755)).unwrap();
        directory
    }

    #[test]
    fn a_proxy_without_its_component_names_the_cure() {
        let directory = with_rustup(1);
        let linked = directory.path().join("rust-analyzer");
        symlink("rustup", &linked).unwrap();
        let cure = missing_component(&linked);
        assert_eq!(cure.as_deref(), Some("rustup component add rust-analyzer"));
        let named = directory.path().join("clippy");
        fs::hard_link(directory.path().join("rustup"), &named).unwrap();
        assert!(missing_component(&named).is_some());
        assert_eq!(missing_component(&directory.path().join("rustup")), None);
        let other = directory.path().join("ty");
        fs::write(&other, "").unwrap();
        assert_eq!(missing_component(&other), None);
    }

    #[test]
    fn a_proxy_with_its_component_is_a_program() {
        let directory = with_rustup(0);
        let linked = directory.path().join("rust-analyzer");
        symlink("rustup", &linked).unwrap();
        assert_eq!(missing_component(&linked), None);
    }
}
