//! A hash of everything that is installed in a Python environment.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Packages that `venv` brings, in the versions of its Python. An environment made by uv has none.
const BROUGHT: [&str; 2] = ["pip-", "setuptools-"];

/// Files that say who installed a package, and whether it was asked for.
const NOTES: [&str; 2] = [".dist-info/INSTALLER", ".dist-info/REQUESTED"];

/// SHA-256 of the files that the RECORDs of all packages list. Equal files have equal hashes, wherever they are and whether pip or
/// uv installed them.
pub fn sha256(venv: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for packages in site_packages(venv)? {
        for entry in fs::read_dir(&packages)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".dist-info") && !BROUGHT.iter().any(|tool| name.starts_with(tool)) {
                let record = fs::read_to_string(entry.path().join("RECORD"))?;
                files.extend(record.lines().filter_map(|line| listed(line, &packages)));
            }
        }
    }
    if files.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no RECORD lists them"));
    }
    files.sort();
    let digest = Sha256::digest(files.join("\n"));
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn site_packages(venv: &Path) -> io::Result<Vec<PathBuf>> {
    const NAME: &str = "site-packages";
    if cfg!(windows) {
        return Ok(vec![venv.join("Lib").join(NAME)]);
    }
    let mut directories = Vec::new();
    for version in fs::read_dir(venv.join("lib"))?.flatten() {
        let packages = version.path().join(NAME);
        if packages.is_dir() {
            directories.push(packages);
        }
    }
    Ok(directories)
}

/// The path and the hash of a file in a line of a RECORD, unless they depend on the place: those without a hash, which are the
/// RECORD itself and compiled modules, and scripts that name the environment's Python.
fn listed(line: &str, packages: &Path) -> Option<String> {
    let mut parts = line.rsplitn(3, ',');
    let (_size, hash, path) = (parts.next()?, parts.next()?, parts.next()?.trim_matches('"'));
    let is_note = NOTES.iter().any(|name| path.ends_with(name));
    if hash.is_empty() || is_note || is_launcher(path, packages) {
        return None;
    }
    Some(format!("{path},{hash}"))
}

/// True if this is a script that starts the environment's Python. A compiled program is none, but Windows compiles its launchers.
fn is_launcher(path: &str, packages: &Path) -> bool {
    path.starts_with("../../Scripts/")
        || path.starts_with("../") && first_bytes(&packages.join(path)).is_ok_and(|bytes| bytes == *b"#!")
}

fn first_bytes(path: &Path) -> io::Result<[u8; 2]> {
    let mut bytes = [0; 2];
    File::open(path)?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The hash of an environment with one package and a dependency.
    fn hash(program: &str, dependency: &str, tool: &str) -> String {
        let root = tempfile::tempdir().unwrap();
        let packages = root.path().join("lib/python3.11/site-packages");
        let bin = root.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("server"), program).unwrap();
        fs::write(bin.join("script"), format!("#!{}/python\n", bin.display())).unwrap();
        let record = |name: &str, lines: &str| {
            let at = packages.join(format!("{name}.dist-info"));
            fs::create_dir_all(&at).unwrap();
            fs::write(at.join("RECORD"), lines).unwrap();
        };
        let (script, program) = (root.path().display(), Sha256::digest(program)[0]);
        record(
            "server-1",
            &format!(
                "../../../bin/script,sha256={script},9\n../../../bin/server,sha256={program},1\nserver.py,sha256=aa,1\n\
                 server-1.dist-info/INSTALLER,sha256={tool},2\n__pycache__/server.cpython-311.pyc,,\nserver-1.dist-info/RECORD,,\n"
            ),
        );
        record("dependency-2", &format!("dependency.py,sha256={dependency},1\n"));
        record("pip-23.0", &format!("pip.py,sha256={tool},1\n"));
        sha256(root.path()).unwrap()
    }

    #[test]
    fn equal_installs_in_two_places_have_equal_hashes_and_every_other_file_counts() {
        let one = hash("\x7fELF", "bb", "pip");
        assert_eq!(hash("\x7fELF", "bb", "uv"), one);
        assert_ne!(hash("\x7fELF", "cc", "pip"), one);
        assert_ne!(hash("\x7fELG", "bb", "pip"), one);
    }

    #[test]
    fn an_environment_without_lists_has_no_hash() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("lib/python3.11/site-packages")).unwrap();
        assert!(sha256(root.path()).is_err());
    }
}
