//! The clients of ecosystems: what installs a package, and what lists its versions.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::config::{Package, Profile};
use crate::host;
use crate::resolve::which::which;

/// The longest installation: a server that is compiled.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// Lines of a client's message that an error shows.
const SHOWN: usize = 12;

/// Characters of such a line: pip lists every version that there is.
const LONGEST: usize = 200;

/// Why a client did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("`{0}` is not installed: {1}")]
    Missing(String, &'static str),
    #[error("`{command}` failed{tail}")]
    Failed { command: String, tail: String },
    #[error("what `{0}` prints cannot be read")]
    Unread(String),
    #[error("cargo does not list the versions of a crate: name each one, such as `--server NAME@1.2.3`")]
    NoList,
    #[error("cannot read the installed files: {0}")]
    Files(#[from] io::Error),
}

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
                return run(
                    &[
                        &["uv", "pip", "install", "--quiet", "--python", &venv, &exact],
                        &more[..],
                    ]
                    .concat(),
                    &[],
                )
                .map(drop);
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
            run(&[&pip[..], &more].concat(), &[]).map(drop)
        }
        Package::Npm(_) => {
            let exact = format!("{name}@{version}");
            let npm = [
                "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", &at, &exact,
            ];
            run(&[&npm[..], &more].concat(), &[]).map(drop)
        }
        Package::Crate(_) => {
            let exact = format!("={version}");
            run(
                &[
                    "cargo", "install", "--quiet", "--locked", "--root", &at, "--version", &exact, name,
                ],
                &[],
            )
            .map(drop)
        }
        Package::Go(_) => {
            let exact = format!("{name}@v{version}");
            let gobin = bin(into, "").display().to_string();
            run(&["go", "install", &exact], &[("GOBIN", &gobin)]).map(drop)
        }
    }
}

/// Every published version, from old to new.
pub fn versions(package: &Package) -> Result<Vec<String>, ClientError> {
    let name = package.name();
    match package {
        Package::Pypi(_) => {
            let text = run(
                &[
                    python(),
                    "-m",
                    "pip",
                    "index",
                    "versions",
                    "--pre",
                    "--disable-pip-version-check",
                    name,
                ],
                &[],
            )?;
            listed(&text).ok_or_else(|| ClientError::Unread("pip index versions".to_owned()))
        }
        Package::Npm(_) => {
            let text = run(&["npm", "view", name, "versions", "--json"], &[])?;
            serde_json::from_str(&text).map_err(|_| ClientError::Unread(format!("npm view {name} versions --json")))
        }
        Package::Crate(_) => Err(ClientError::NoList),
        Package::Go(_) => {
            let text = run(&["go", "list", "-m", "-versions", name], &[])?;
            let words = text.split_whitespace().skip(1);
            Ok(words.map(|word| word.trim_start_matches('v').to_owned()).collect())
        }
    }
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

/// What names the installed files: the package manager's own list of them with their hashes, or the compiled program.
pub fn sha256(
    package: &Package,
    profile: &Profile,
    name: &str,
    directory: &Path,
) -> Result<Option<String>, ClientError> {
    let file = match package {
        Package::Npm(_) => Some(directory.join("node_modules").join(".package-lock.json")),
        Package::Pypi(_) | Package::Crate(_) | Package::Go(_) => program(package, profile, name, directory),
    };
    Ok(file.map(|file| host::file_sha256(&file)).transpose()?)
}

fn python() -> &'static str {
    if cfg!(windows) { "python" } else { "python3" }
}

/// The directory of programs in a part of an entry.
fn bin(directory: &Path, part: &str) -> PathBuf {
    let scripts = cfg!(windows) && !part.is_empty();
    directory.join(part).join(if scripts { "Scripts" } else { "bin" })
}

/// What a client prints; its last words where it fails.
fn run(words: &[&str], env: &[(&str, &str)]) -> Result<String, ClientError> {
    let Some(program) = which(None)
        .program(words[0])
        .or_else(|| which(None).path(Path::new(words[0])))
    else {
        let cure = match words[0] {
            "npm" => "install Node.js with npm",
            "cargo" => "install Rust with cargo",
            "go" => "install Go",
            _ => "install Python 3 with its module venv, or uv",
        };
        return Err(ClientError::Missing(words[0].to_owned(), cure));
    };
    let mut command = Command::new(program);
    command.args(&words[1..]).envs(env.iter().copied());
    let heard = host::listen(&mut command, PATIENCE, &|| false)?;
    match heard.ended.is_some_and(|status| status.success()) {
        true => Ok(heard.said.stdout),
        false => Err(ClientError::Failed {
            command: words.join(" "),
            tail: tail(&format!("{}\n{}", heard.said.stdout, heard.said.stderr)),
        }),
    }
}

/// The last lines of an output, each after a line break.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(SHOWN)..];
    let short = |line: &&str| -> String {
        let rest = line.chars().nth(LONGEST).map_or("", |_| " …");
        line.chars().take(LONGEST).chain(rest.chars()).collect()
    };
    last.iter().map(|line| format!("\n{}", short(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pip_lists_the_newest_version_first() {
        let text = "ty (0.0.3)\nAvailable versions: 0.0.3, 0.0.2, 0.0.1a9\n  INSTALLED: 0.0.3\n";
        assert_eq!(listed(text).expect("they are there"), ["0.0.1a9", "0.0.2", "0.0.3"]);
        assert_eq!(listed("nothing"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_client_that_fails_is_quoted() {
        let error = run(&["sh", "-c", "echo no such version >&2; exit 1"], &[]).expect_err("it fails");
        assert!(
            error.to_string().ends_with("exit 1` failed\nno such version"),
            "{error}"
        );
        let error = run(&["no-such-client"], &[]).expect_err("it is not there");
        assert!(
            error.to_string().starts_with("`no-such-client` is not installed: "),
            "{error}"
        );
    }
}
