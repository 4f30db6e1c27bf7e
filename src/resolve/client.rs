//! Runs the clients of ecosystems: package managers, git, and what unpacks archives.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::which;
use base::Cancel;
use proctree::host::{self, ProgramOutput};

/// The longest installation: a server that is compiled.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// Bytes of the longest output: npm lists all versions of typescript in 81 kB.
const MOST: u64 = 16 << 20;

/// Lines of a client's message that an error shows.
const SHOWN: usize = 12;

/// Characters of such a line: pip lists every version that there is.
const LONGEST: usize = 200;

/// The failure of a client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("`{0}` is not installed: {1}")]
    Missing(String, &'static str),
    #[error("`{command}` failed{tail}")]
    Failed { command: String, tail: String },
    #[error("what `{0}` prints cannot be read")]
    Unread(String),
    #[error("`{0}` prints more than 16 MiB")]
    Long(String),
    #[error("cargo does not list the versions of a crate: name each one, such as `--server NAME@1.2.3`")]
    NoList,
    #[error("`{0}` cannot be started: {1}")]
    Unstarted(String, io::Error),
    #[error("cannot read the installed files: {0}")]
    Files(#[from] io::Error),
}

pub fn python() -> &'static str {
    if cfg!(windows) { "python" } else { "python3" }
}

/// The path of a client, or how to install it.
pub fn program(name: &str) -> Result<PathBuf, ClientError> {
    let found = which(None).program(name).or_else(|| which(None).path(Path::new(name)));
    if let Some(program) = found {
        return Ok(program);
    }
    let cure = match name {
        "npm" => "install Node.js with npm",
        "cargo" => "install Rust with cargo",
        "go" => "install Go",
        "git" | "curl" | "tar" | "unzip" => "install it and put it on PATH",
        "sh" => "install a POSIX shell and put it on PATH",
        _ => "install Python 3 with its module venv, or uv",
    };
    Err(ClientError::Missing(name.to_owned(), cure))
}

/// Runs a client; its last words where it fails.
pub fn run(words: &[&str], env: &[(&str, &str)]) -> Result<(), ClientError> {
    run_in(None, words, env)
}

/// Runs a client in another directory.
pub fn run_in(directory: Option<&Path>, words: &[&str], env: &[(&str, &str)]) -> Result<(), ClientError> {
    listen(directory, words, env).map(drop)
}

/// Runs a shell command in a directory. Its output goes to the file `log`, of which an error shows the end.
pub fn run_script(script: &str, directory: &Path, log: &Path) -> Result<(), ClientError> {
    // The path is an argument, so that it needs no quotes.
    let (redirected, log_path) = (format!("exec >\"$1\" 2>&1\n{script}"), log.display().to_string());
    run_in(Some(directory), &["sh", "-c", &redirected, "sh", &log_path], &[]).map_err(|why| match why {
        ClientError::Failed { .. } => ClientError::Failed {
            command: script.to_owned(),
            tail: tail(&String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default())),
        },
        why => why,
    })
}

/// All that a client prints. Output that was cut is refused: a part of a list would pass for a whole one.
pub fn read(words: &[&str], env: &[(&str, &str)]) -> Result<String, ClientError> {
    let output = listen(None, words, env)?;
    if output.cut {
        return Err(ClientError::Long(words.join(" ")));
    }
    Ok(output.stdout)
}

/// Runs pip and returns its output. Python may be there without it.
pub fn pip(words: &[&str]) -> Result<String, ClientError> {
    read(&[&[python(), "-m", "pip"], words].concat(), &[]).map_err(|why| match why {
        ClientError::Failed { tail, .. } if tail.contains("No module named pip") => ClientError::Missing(
            format!("{} -m pip", python()),
            "install pip for this Python, such as with the system's package python3-pip",
        ),
        why => why,
    })
}

fn listen(directory: Option<&Path>, words: &[&str], env: &[(&str, &str)]) -> Result<ProgramOutput, ClientError> {
    let mut command = Command::new(program(words[0])?);
    // Inside a git hook, GIT_DIR and its like point at the hook's repository.
    for name in host::ELSEWHERE {
        command.env_remove(name);
    }
    command.args(&words[1..]).envs(env.iter().copied());
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    let heard = host::listen_up_to(MOST, &mut command, PATIENCE, &Cancel::default())
        .map_err(|error| ClientError::Unstarted(words[0].to_owned(), error))?;
    if heard.exit_status.is_some_and(|status| status.success()) {
        return Ok(heard.said);
    }
    Err(ClientError::Failed {
        command: words.join(" "),
        tail: tail(&format!("{}\n{}", heard.said.stdout, heard.said.stderr)),
    })
}

/// The last lines of an output, each after a line break.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(SHOWN)..];
    let mut tail = String::new();
    for line in last {
        tail.push('\n');
        tail.extend(line.chars().take(LONGEST));
        if line.chars().nth(LONGEST).is_some() {
            tail.push_str(" …");
        }
    }
    tail
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

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

    #[test]
    fn a_long_list_is_read_whole_and_one_that_was_cut_is_refused() {
        let printed = read(&["sh", "-c", "head -c 100000 /dev/zero"], &[]);
        assert_eq!(printed.expect("it is short enough").len(), 100_000);
        let too_long = read(&["sh", "-c", &format!("head -c {} /dev/zero", MOST + 1)], &[]);
        let error = too_long.expect_err("it is too long").to_string();
        assert!(error.ends_with("prints more than 16 MiB"), "{error}");
    }
}
