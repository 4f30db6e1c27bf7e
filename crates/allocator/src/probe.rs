//! Probes a program by running it for its version: in a new directory, with a time limit, in its own process group,
//! without stdin, and with its output captured.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::preload::VARIABLE;
use base::Cancel;
use proctree::host::{self, FinishedProgram, ProbeDirectory, Toolchain, Which};

/// Starting a virtual machine or an interpreter on a cold disk takes seconds.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// A server to inspect, with what its inspection needs from the caller.
#[derive(Clone, Copy)]
pub struct Context<'c> {
    pub subject: &'c Subject,
    /// Ends a running probe.
    pub cancel: &'c Cancel,
}

/// A server as it would be started, but for its arguments: it is only ever asked for its version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subject {
    pub program: PathBuf,
    /// The program that prints the version: the same one, or another in its directory.
    pub teller: PathBuf,
    /// The argument with which it prints its version and ends.
    pub version_args: Vec<String>,
    /// Changes to the inherited environment: a value sets, `None` removes. Settings of allocators are not among them.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Where programs are looked up: `PATH` as the server sees it.
    pub path: OsString,
    /// Libraries that are preloaded into it.
    pub preloaded: Vec<PathBuf>,
    /// Directories of its caches by variable, below one of each probe.
    pub caches: BTreeMap<String, String>,
    /// The choices of version managers: they decide what runs.
    pub toolchain: Toolchain,
}

/// Runs the subject for its version with more variables set.
pub fn ask(subject: &Subject, variables: &[(&str, &str)], cancel: &Cancel) -> Result<FinishedProgram, String> {
    let shown = subject.version_command();
    let heard = run_for_version(subject, variables, cancel)
        .map_err(|error| format!("`{shown}` could not be run: {}", base::text::reason(&error)))?;
    if heard.exit_status.is_none() {
        return Err(format!(
            "`{shown}` did not end within {} s and was killed",
            PATIENCE.as_secs()
        ));
    }
    Ok(heard)
}

fn run_for_version(subject: &Subject, variables: &[(&str, &str)], cancel: &Cancel) -> io::Result<FinishedProgram> {
    let mut command = Command::new(&subject.teller);
    command.args(&subject.version_args);
    let _directory = prepare(&mut command, subject, variables)?;
    host::run_program(&mut command, PATIENCE, cancel)
}

/// Runs another program that belongs to the subject, in its environment: its loader or its interpreter. `None` if it
/// cannot be run or does not end in time.
pub fn ask_other(
    subject: &Subject,
    program: &Path,
    args: &[&str],
    variables: &[(&str, &str)],
    cancel: &Cancel,
) -> Option<FinishedProgram> {
    let mut command = Command::new(program);
    command.args(args);
    let _directory = prepare(&mut command, subject, variables).ok()?;
    // A preloaded library would answer as well.
    command.env_remove(VARIABLE);
    let heard = host::run_program(&mut command, PATIENCE, cancel).ok()?;
    heard.exit_status?;
    Some(heard)
}

/// Variables as [`ask`] and [`ask_other`] take them.
pub fn pairs(env: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    env.iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// The first line that the subject prints for its version.
pub fn version(subject: &Subject, cancel: &Cancel) -> Option<String> {
    let mut command = Command::new(&subject.teller);
    command.args(&subject.version_args);
    let _directory = prepare(&mut command, subject, &[]).ok()?;
    // A preloaded library may print too.
    command.env_remove(VARIABLE);
    host::version_line(&mut command, cancel)
}

/// Gives the command the subject's environment and a new directory, which lasts as long as the returned value.
fn prepare(command: &mut Command, subject: &Subject, variables: &[(&str, &str)]) -> io::Result<ProbeDirectory> {
    let directory = ProbeDirectory::new(&subject.toolchain)?;
    directory.enter(command, &subject.caches)?;
    for (name, value) in &subject.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.envs(variables.iter().copied());
    Ok(directory)
}

impl Subject {
    /// Looks a program's name up as the server would.
    pub fn which(&self) -> Which {
        host::which(Some(self.path.clone()))
    }

    /// A variable as the server sees it.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let mut changes = self.env.iter().rev();
        match changes.find(|(changed, _)| changed == name) {
            Some((_, value)) => value.clone(),
            None => std::env::var_os(name),
        }
    }

    /// The directories in which the loader looks for libraries first: `LD_LIBRARY_PATH` as the server sees it.
    pub fn library_path(&self) -> Vec<PathBuf> {
        let value = self.variable("LD_LIBRARY_PATH");
        let paths = value.iter().flat_map(std::env::split_paths);
        paths.filter(|path| path.is_absolute()).collect()
    }

    /// The command that prints the version, for messages.
    pub fn version_command(&self) -> String {
        let mut words = vec![self.teller.display().to_string()];
        words.extend(self.version_args.iter().cloned());
        words.join(" ")
    }
}
