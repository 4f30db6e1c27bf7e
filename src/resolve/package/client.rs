//! The clients of ecosystems: what installs a package, and what lists its versions.

use std::path::{Path, PathBuf};

use crate::config::{Package, Profile};
use crate::resolve::client::{ClientError, pip, python, read, run};
use crate::resolve::which;
use proctree::host;

use super::environment;

/// Installs a version into an empty directory.
pub fn install(package: &Package, with: &[String], version: &str, into: &Path) -> Result<(), ClientError> {
    let (name, at) = (package.name(), into.display().to_string());
    let more: Vec<&str> = with.iter().map(String::as_str).collect();
    match package {
        Package::Pypi(_) => {
            let venv = into.join("venv").display().to_string();
            let exact = format!("{name}=={version}");
            if which(None).program("uv").is_some() {
                run(&["uv", "venv", "--quiet", &venv], &[])?;
                let uv = ["uv", "pip", "install", "--quiet", "--python", &venv, &exact];
                return run(&[&uv[..], &more].concat(), &[]);
            }
            run(&[python(), "-m", "venv", &venv], &[])?;
            let python = bin(into, "venv").join(python()).display().to_string();
            let pip = [
                &python,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-input",
                &exact,
            ];
            run(&[&pip[..], &more].concat(), &[])
        }
        Package::Npm(_) => {
            let exact = format!("{name}@{version}");
            let npm = [
                "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", &at, &exact,
            ];
            run(&[&npm[..], &more].concat(), &[])
        }
        Package::Crate(_) => {
            let exact = format!("={version}");
            run(
                &[
                    "cargo", "install", "--quiet", "--locked", "--root", &at, "--version", &exact, name,
                ],
                &[],
            )
        }
        Package::Go(_) => {
            let exact = format!("{name}@v{version}");
            let gobin = bin(into, "").display().to_string();
            run(&["go", "install", &exact], &[("GOBIN", &gobin)])
        }
    }
}

/// Every published version, from old to new.
pub fn versions(package: &Package) -> Result<Vec<String>, ClientError> {
    let name = package.name();
    match package {
        Package::Pypi(_) => {
            let text = pip(&["index", "versions", "--pre", "--disable-pip-version-check", name])?;
            listed(&text).ok_or_else(|| ClientError::Unread("pip index versions".to_owned()))
        }
        Package::Npm(_) => {
            let text = read(&["npm", "view", name, "versions", "--json"], &[])?;
            serde_json::from_str(&text).map_err(|_| ClientError::Unread(format!("npm view {name} versions --json")))
        }
        Package::Crate(_) => Err(ClientError::NoList),
        Package::Go(_) => {
            let text = read(&["go", "list", "-m", "-versions", name], &[])?;
            let words = text.split_whitespace().skip(1);
            Ok(words.map(|word| word.trim_start_matches('v').to_owned()).collect())
        }
    }
}

/// The newest version that its client would install.
pub fn newest(package: &Package) -> Result<String, ClientError> {
    let name = package.name();
    let (words, newest) = match package {
        Package::Pypi(_) => {
            let words = ["index", "versions", "--disable-pip-version-check", name];
            let listed = listed(&pip(&words)?);
            (
                format!("pip {}", words.join(" ")),
                listed.and_then(|mut versions| versions.pop()),
            )
        }
        Package::Npm(_) => {
            let words = ["npm", "view", name, "version"];
            (
                words.join(" "),
                read(&words, &[])?.split_whitespace().next().map(str::to_owned),
            )
        }
        Package::Crate(_) => {
            // Without a registry it would tell the version on which the current directory depends.
            let words = [
                "cargo", "info", "--quiet", "--color", "never", "--registry", "crates-io", name,
            ];
            let output = read(&words, &[])?;
            let version = output.lines().find_map(|line| line.strip_prefix("version:"));
            let version = version.and_then(|version| version.split_whitespace().next());
            (words.join(" "), version.map(str::to_owned))
        }
        Package::Go(_) => (format!("go list -m -versions {name}"), versions(package)?.pop()),
    };
    newest.ok_or(ClientError::Unread(words))
}

/// pip's `Available versions: 2, 1`, which begins with the newest.
fn listed(text: &str) -> Option<Vec<String>> {
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Available versions:"))?;
    Some(line.split(',').rev().map(|version| version.trim().to_owned()).collect())
}

/// The installed program.
pub fn program(package: &Package, profile: &Profile, name: &str, directory: &Path) -> Option<PathBuf> {
    let place = match package {
        Package::Pypi(_) => bin(directory, "venv"),
        Package::Npm(_) => directory.join("node_modules").join(".bin"),
        Package::Crate(_) | Package::Go(_) => bin(directory, ""),
    };
    let mut programs = profile.programs(name);
    programs.find_map(|program| which(Some(place.clone().into())).program(program))
}

/// A hash of the installed files, from the package manager's own lists of them with their hashes, or the compiled program.
pub fn sha256(package: &Package, program: &Path, directory: &Path) -> Result<String, ClientError> {
    Ok(match package {
        Package::Pypi(_) => environment::sha256(&directory.join("venv"))?,
        Package::Npm(_) => host::file_sha256(&directory.join("node_modules").join(".package-lock.json"))?,
        Package::Crate(_) | Package::Go(_) => host::file_sha256(program)?,
    })
}

/// A hash of the files that are installed now, found from the program: they may change while runs are played.
pub fn sha256_now(ecosystem: &str, program: &Path) -> Option<String> {
    // `venv/bin/ty`, `node_modules/.bin/pyright-langserver`.
    let above = program.parent()?.parent()?;
    match ecosystem {
        "pypi" => environment::sha256(above).ok(),
        "npm" => host::file_sha256(&above.join(".package-lock.json")).ok(),
        _ => host::file_sha256(program).ok(),
    }
}

/// The directory of programs in a part of an entry.
fn bin(directory: &Path, part: &str) -> PathBuf {
    let scripts = cfg!(windows) && !part.is_empty();
    directory.join(part).join(if scripts { "Scripts" } else { "bin" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_change_between_two_runs_have_another_hash() {
        let directory = tempfile::tempdir().unwrap();
        let modules = directory.path().join("node_modules");
        std::fs::create_dir_all(modules.join(".bin")).unwrap();
        let program = modules.join(".bin").join("server");
        let hash = |list: &str| {
            std::fs::write(modules.join(".package-lock.json"), list).unwrap();
            sha256_now("npm", &program)
        };
        let first = hash("{\"packages\": 1}");
        assert!(first.is_some() && first == hash("{\"packages\": 1}"));
        assert_ne!(first, hash("{\"packages\": 2}"));
        assert_eq!(sha256_now("pypi", &program), None);
        assert_eq!(sha256_now("crate", &program), None);
    }

    #[test]
    fn pip_lists_the_newest_version_first() {
        let text = "ty (0.0.3)\nAvailable versions: 0.0.3, 0.0.2, 0.0.1a9\n  INSTALLED: 0.0.3\n";
        assert_eq!(listed(text).expect("they are there"), ["0.0.1a9", "0.0.2", "0.0.3"]);
        assert_eq!(listed("nothing"), None);
    }
}
