//! The interpreter of a script: most servers from npm and PyPI are scripts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use base::Cancel;
use record::Interpreter;

use super::probe_directory::{ProbeDirectory, Toolchain};
use super::program::{file_sha256, version_line};
use super::which::Which;

/// Most bytes of a first line that a kernel reads.
const LONGEST: u64 = 256;

/// The file of the interpreter of the script `program`; `None` if it is no script, or the interpreter does not exist.
/// A name is looked up on the script's search path.
pub fn interpreter_file(program: &Path, path: &Which) -> Option<PathBuf> {
    let named = named_interpreter(program)?;
    if named.contains('/') {
        return Some(PathBuf::from(named));
    }
    path.program(&named)
}

/// The interpreter at `path`. Its version is asked in a directory with `toolchain`.
pub fn interpreter(path: &Path, toolchain: &Toolchain, cancel: &Cancel) -> Interpreter {
    Interpreter {
        sha256: file_sha256(path).ok(),
        version: interpreter_version(path, toolchain, cancel),
        program: path.display().to_string(),
    }
}

fn interpreter_version(path: &Path, toolchain: &Toolchain, cancel: &Cancel) -> Option<String> {
    let mut command = Command::new(path);
    command.arg("--version");
    let directory = ProbeDirectory::new(toolchain).ok()?;
    directory.enter(&mut command, &BTreeMap::new()).ok()?;
    version_line(&mut command, cancel)
}

/// The interpreter named in the script `program`, a path or a name to look up; `None` if it is no script.
pub fn named_interpreter(program: &Path) -> Option<String> {
    let line = first_line(program)?;
    named(std::str::from_utf8(&line).ok()?).map(str::to_owned)
}

/// The part of the first line that a kernel reads.
pub fn first_line(program: &Path) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut start = BufReader::new(File::open(program).ok()?).take(LONGEST);
    start.read_until(b'\n', &mut line).ok()?;
    Some(line)
}

/// The interpreter that a first line names: a path, or after `env` a name to be looked up.
fn named(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("#!")?.split_ascii_whitespace();
    let first = words.next()?;
    if !first.ends_with("/env") {
        return Some(first);
    }
    words.find(|word| !word.starts_with('-') && !word.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_a_path_or_a_name_to_look_up() {
        for (line, name) in [
            ("#!/opt/venv/bin/python\n", Some("/opt/venv/bin/python")),
            ("#! /usr/bin/node --no-warnings\n", Some("/usr/bin/node")),
            ("#!/usr/bin/env node\r\n", Some("node")),
            ("#!/usr/bin/env -S A=1 node --stack-size=9\n", Some("node")),
            ("#!/usr/bin/env\n", None),
            ("#!\n", None),
            ("\u{7f}ELF", None),
            ("", None),
        ] {
            assert_eq!(named(line), name, "{line:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_interpreter_is_found_on_the_path_that_the_script_sees() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (script, node) = (directory.path().join("server"), directory.path().join("node"));
        std::fs::write(&script, "#!/usr/bin/env node\n").unwrap();
        std::fs::write(&node, "#!/bin/sh\necho v99.1.0\n").unwrap();
        std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = Which::new(directory.path(), None);
        let file = interpreter_file(&script, &path).unwrap();
        let found = interpreter(&file, &Toolchain::default(), &Cancel::default());
        assert_eq!(found.program, node.display().to_string());
        assert_eq!(found.version.as_deref(), Some("v99.1.0"));
        assert_eq!(found.sha256, file_sha256(&node).ok());
        assert_eq!(interpreter_file(&script, &Which::default()), None);
    }

    #[test]
    fn a_program_that_is_no_script_has_none() {
        let this = std::env::current_exe().unwrap();
        assert_eq!(interpreter_file(&this, &Which::default()), None);
    }
}
