//! Goes on with a campaign that was cut off, as its invocation says.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::campaign::invocation::{FILE, Invocation};
use crate::cli::{self, Command};
use crate::config::options::Processors;

use crate::commands::output::Directory;

/// Takes the directory of a campaign.
pub type Hold = fn(PathBuf) -> anyhow::Result<Directory>;

/// A process that plays one run for another writes into the directory that the other one holds.
pub fn holding(processors: &Processors) -> Hold {
    match processors.job {
        Some(_) => Directory::shared,
        None => Directory::resumed,
    }
}

/// Writes how this process was called into the directory of each of its scenarios.
pub fn begin(directories: Vec<Directory>) -> anyhow::Result<Vec<Directory>> {
    for (scenario, out) in directories.iter().enumerate() {
        Invocation::current(scenario)?.save(out)?;
    }
    Ok(directories)
}

/// The options of the campaign in `out`, as if typed again in the same directory; `hold` takes the directory, and `of` the
/// options out of the expected command.
pub fn resume<T>(out: &Path, hold: Hold, of: impl FnOnce(Command) -> Option<T>) -> anyhow::Result<Resumed<T>> {
    let out =
        fs::canonicalize(out).with_context(|| format!("cannot resume: there is no directory `{}`", out.display()))?;
    let invocation = Invocation::read(&out)?;
    let out = hold(out)?;
    // Before the directory changes, which files to export to are relative to.
    let words = with_output(&invocation.command_line, std::env::args_os().collect());
    std::env::set_current_dir(&invocation.directory).with_context(|| {
        format!(
            "cannot change to `{}`, where the runs started",
            invocation.directory.display()
        )
    })?;
    let parsed = cli::parse_extended(words).with_context(|| {
        format!(
            "`{}` holds the command line of another lsp-soak version",
            out.join(FILE).display()
        )
    })?;
    let Some(options) = of(parsed.command) else {
        let command = cli::subcommand(&invocation.command_line).unwrap_or_default();
        bail!(
            "`{}` was started by `lsp-soak {command}`: use `lsp-soak {command} --resume`",
            out.display()
        );
    };
    Ok(Resumed {
        options,
        scenario: invocation.scenario,
        out,
    })
}

/// The stored command line with the options beside `--resume`, which change only the output.
fn with_output(before: &[OsString], now: Vec<OsString>) -> Vec<OsString> {
    let command = cli::subcommand(before).map(OsString::from);
    let mut typed = now
        .into_iter()
        .skip_while(|word| Some(word) != command.as_ref())
        .skip(1);
    let mut more: Vec<OsString> = Vec::new();
    while let Some(word) = typed.next() {
        let (name, value) = match word.to_str().and_then(|word| word.split_once('=')) {
            Some((name, value)) => (OsString::from(name), Some(OsString::from(value))),
            None => (word.clone(), None),
        };
        if name == "--resume" {
            value.or_else(|| typed.next());
        } else if name.to_string_lossy().starts_with("--export-") {
            let file = value.or_else(|| typed.next()).unwrap_or_default();
            let here = std::path::absolute(&file).ok().filter(|_| file != "-");
            more.extend([name, here.map_or(file, Into::into)]);
        } else {
            more.push(word);
        }
    }
    // Behind this there are no options.
    let end = before.iter().position(|word| word == "--").unwrap_or(before.len());
    let (options, rest) = before.split_at(end);
    [options, &more, rest].concat()
}

/// A campaign to go on with.
pub struct Resumed<T> {
    pub options: T,
    /// Which of its scenarios, from 0.
    pub scenario: usize,
    pub out: Directory,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_beside_resume_comes_last_among_the_options() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<OsString>>();
        let line = |before: &str, now: &str| with_output(&words(before), words(now));
        assert_eq!(
            line(
                "lsp-soak run a.toml --server ty --format json",
                "lsp-soak --color never run --resume out -q --format csv"
            ),
            words("lsp-soak run a.toml --server ty --format json -q --format csv")
        );
        assert_eq!(
            line(
                "lsp-soak --color never run a.toml --server ty",
                "lsp-soak run --resume out -q"
            ),
            words("lsp-soak --color never run a.toml --server ty -q")
        );
        assert_eq!(
            line("lsp-soak run --server ty -- a.toml", "lsp-soak run -v --resume=out"),
            words("lsp-soak run --server ty -v -- a.toml")
        );
        let here = std::env::current_dir().expect("there is one").display().to_string();
        for typed in ["--export-json a.json", "--export-json=a.json"] {
            assert_eq!(
                line(
                    "lsp-soak run a.toml --server ty",
                    &format!("lsp-soak run --resume out {typed}")
                ),
                words(&format!("lsp-soak run a.toml --server ty --export-json {here}/a.json"))
            );
        }
    }
}
