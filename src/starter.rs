//! Starts one command from a small process and reports what it used.
//!
//! The peak that the kernel reports of a process (`ru_maxrss`) begins at the memory of the process that executes it, so that
//! a small program is the command's parent. The peak with which its children begin is reported too: the floor.

#[cfg_attr(unix, path = "starter/unix.rs")]
#[cfg_attr(not(unix), path = "starter/other.rs")]
mod platform;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};

use record::CommandEnd;

/// The small program.
const PROGRAM: &str = if cfg!(windows) {
    "lsp-soak-start.exe"
} else {
    "lsp-soak-start"
};

/// The first argument with which lsp-soak itself does the work of the small program.
const OWN_WORD: &str = "start-command";

/// Between the changes of the environment and the command.
const END: &str = "--";

/// Exit code if the command cannot be started, as of shells.
const UNSTARTED: u8 = 127;

/// A line of the report.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// Process id of the command.
    Started(u32),
    /// The command could not be started.
    Unstarted(String),
    Ended(CommandEnd),
}

/// The arguments by which the small program starts a command and writes its report to `report`. `changes` are those of its
/// environment: a value sets, `None` removes.
pub fn words(
    report: &Path,
    changes: &[(OsString, Option<OsString>)],
    command: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let change = |(name, value): &(OsString, Option<OsString>)| {
        let mut word = OsString::from(if value.is_some() { "+" } else { "-" });
        word.push(name);
        if let Some(value) = value {
            word.push("=");
            word.push(value);
        }
        word
    };
    let first = std::iter::once(report.into());
    let all = first.chain(changes.iter().map(change)).chain([END.into()]);
    all.chain(command).collect()
}

/// The lines of a report so far; one that is not whole is left out.
pub fn lines(report: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(report).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A program that starts commands, and the arguments that come before those of [`words`].
pub struct Starter {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

impl Starter {
    /// The argument of a process that does nothing until its stdin closes.
    pub const STAND_IN: &str = "stand-in";

    /// The small program beside this one; where it was not built, this program itself, whose children begin with a
    /// higher peak.
    pub fn find() -> io::Result<Starter> {
        Ok(Starter::find_beside(std::env::current_exe()?))
    }

    /// True if this is the small program.
    pub fn is_small(&self) -> bool {
        self.args.is_empty()
    }

    fn find_beside(own: PathBuf) -> Starter {
        let small = own.with_file_name(PROGRAM);
        if small.is_file() {
            return Starter {
                program: small,
                args: Vec::new(),
            };
        }
        Starter {
            program: own,
            args: vec![OWN_WORD.into()],
        }
    }
}

/// The whole small program.
pub fn main() -> ExitCode {
    run(std::env::args_os().skip(1))
}

/// Does the work of the small program if lsp-soak was called for that.
pub fn called_as_starter() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != OWN_WORD {
        return None;
    }
    Some(run(words))
}

/// Takes the report's path, changes of the environment, and the command.
fn run(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let report = words.next().map(PathBuf::from);
    if report
        .as_deref()
        .is_some_and(|word| word == Path::new(Starter::STAND_IN))
    {
        let ended = io::copy(&mut io::stdin(), &mut io::sink());
        return ExitCode::from(u8::from(ended.is_err()));
    }
    let code = report.ok_or_else(|| io::ErrorKind::InvalidInput.into());
    ExitCode::from(code.and_then(|report| start(&report, words)).unwrap_or(UNSTARTED))
}

fn start(report: &Path, mut words: impl Iterator<Item = OsString>) -> io::Result<u8> {
    let mut report = File::options().create(true).append(true).open(report)?;
    let mut changes = Vec::new();
    for word in words.by_ref() {
        if word == END {
            break;
        }
        changes.push(word);
    }
    let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(words);
    changes.iter().for_each(|word| change(&mut command, word));
    let ended = platform::run(&mut command, |pid| write_line(&mut report, &Line::Started(pid)));
    match ended {
        Ok(end) => {
            let code = end.code.or(end.signal.map(|signal| 128 + signal));
            write_line(&mut report, &Line::Ended(end))?;
            Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
        }
        Err(error) => {
            write_line(&mut report, &Line::Unstarted(error.to_string()))?;
            Err(error)
        }
    }
}

fn write_line(report: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    report.write_all(&text)
}

/// `+NAME=VALUE` sets a variable, `-NAME` removes it.
fn change(command: &mut Command, word: &OsStr) {
    let bytes = word.as_encoded_bytes();
    let place = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
    let [name, value] = [1..place, (place + 1).min(bytes.len())..bytes.len()].map(|part| platform::part(word, part));
    match bytes.first() {
        Some(b'+') => command.env(name, value),
        _ => command.env_remove(name),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_small_program_lsp_soak_starts_commands_itself() {
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        let own = directory.path().join("lsp-soak");
        let alone = Starter::find_beside(own.clone());
        assert_eq!((&alone.program, alone.args), (&own, vec![OsString::from(OWN_WORD)]));
        let small = directory.path().join(PROGRAM);
        std::fs::write(&small, "").expect("the directory is ours");
        let both = Starter::find_beside(own);
        assert_eq!((both.program, both.args.len()), (small, 0));
    }
}
