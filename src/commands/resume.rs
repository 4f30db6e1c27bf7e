//! Goes on with a campaign that was cut off, as its invocation says.

use std::ffi::OsString;
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::campaign::invocation::{FILE, Invocation};
use crate::cli::{self, Command};
use crate::config::{Loaded, is_version_of};

use crate::commands::output::{self, Directory};

/// Where the records of a command go.
pub enum Place {
    /// Into new directories: at or below this one, else below `reports`.
    New(Option<PathBuf>),
    /// Into the directory of one scenario of a campaign that was cut off, counted from 0.
    One { scenario: usize, out: Directory },
    /// Into a directory below this one for each of them; some may not be there.
    All { out: PathBuf, called: Invocation },
}

impl Place {
    /// The directory that must be new; `None` where runs are resumed, since those have records in it.
    pub fn new_directory(&self) -> Option<&Path> {
        match self {
            Place::New(out) => out.as_deref(),
            Place::One { .. } | Place::All { .. } => None,
        }
    }

    /// The directory that was named, which holds those of all scenarios.
    pub fn named(&self) -> Option<&Path> {
        match self {
            Place::New(out) => out.as_deref(),
            Place::One { out, .. } => Some(out),
            Place::All { out, .. } => Some(out),
        }
    }

    /// Keeps those that belong to a scenario that is played; `all` has one for each scenario of the campaign.
    pub fn select_played<S>(&self, all: Vec<S>) -> Vec<S> {
        match self {
            Place::One { scenario, .. } => all.into_iter().skip(*scenario).take(1).collect(),
            Place::New(_) | Place::All { .. } => all,
        }
    }

    /// The directory of each scenario that is played.
    pub fn directories(self, scenarios: &[Loaded]) -> anyhow::Result<Vec<Directory>> {
        match self {
            Place::New(out) => begin(out.as_deref(), scenarios),
            Place::One { out, .. } => Ok(vec![out]),
            Place::All { out, called } => output::resumed_directories(&out, scenarios, &called),
        }
    }

    /// The directory of the only scenario.
    pub fn directory(self, scenario: &Loaded) -> anyhow::Result<Directory> {
        Ok(self.directories(std::slice::from_ref(scenario))?.remove(0))
    }
}

/// Makes a directory for each scenario and writes into it how this process was called, with the versions of their projects: a
/// resumed one has the same.
fn begin(out: Option<&Path>, scenarios: &[Loaded]) -> anyhow::Result<Vec<Directory>> {
    let directories = output::directories(out, scenarios)?;
    for (scenario, out) in directories.iter().enumerate() {
        let mut called = Invocation::current(scenario)?;
        pin(&mut called.command_line, scenarios);
        called.save(out)?;
    }
    Ok(directories)
}

/// Writes the version behind every `--workspace` that has none. The scenarios of the first project come first.
fn pin(words: &mut [OsString], scenarios: &[Loaded]) {
    const NAME: &str = "--workspace";
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let named: Vec<usize> = (0..end)
        .filter(|place| words[*place] == NAME || words[*place].to_string_lossy().starts_with("--workspace="))
        .collect();
    let scenarios_per_project = scenarios.len() / named.len().max(1);
    for (project, place) in named.into_iter().enumerate() {
        let origin = scenarios
            .get(project * scenarios_per_project)
            .and_then(|first| first.project.origin.as_ref());
        let Some(origin) = origin.map(|facts| facts.origin.as_str()) else {
            continue;
        };
        let (place, prefix) = if words[place] == NAME {
            (place + 1, "")
        } else {
            (place, "--workspace=")
        };
        let typed = words.get(place).and_then(|word| word.to_str()?.strip_prefix(prefix));
        if typed.is_some_and(|typed| is_version_of(origin, typed)) {
            words[place] = format!("{prefix}{origin}").into();
        }
    }
}

/// The command, and where its records go. With `--resume` it is the command that began there, as if typed again in the same
/// directory.
pub fn resumed(command: Command) -> anyhow::Result<(Command, Place)> {
    let (resume, out, job) = match &command {
        Command::Run(run) => (&run.resume, &run.recording.out, run.recording.processors.job.as_ref()),
        Command::Calibrate(calibrate) => (&calibrate.resume, &calibrate.out, calibrate.processors.job.as_ref()),
        Command::Gate(gate) => (&gate.resume, &gate.out, gate.processors.job.as_ref()),
        Command::Bisect(bisect) => (&bisect.resume, &bisect.out, None),
        Command::Tune(tune) => (&tune.resume, &tune.out, tune.processors.job.as_ref()),
        Command::Cold(cold) => (&cold.resume, &cold.out, cold.processors.job.as_ref()),
        Command::Replay(replay) => (
            &replay.resume,
            &replay.recording.out,
            replay.recording.processors.job.as_ref(),
        ),
        Command::Shrink(shrink) => (&shrink.resume, &shrink.out, None),
        _ => return Ok((command, Place::New(None))),
    };
    let Some(resume) = resume else {
        let place = Place::New(out.clone());
        return Ok((command, place));
    };
    // A process that plays one run for another writes into the directory that the other one holds.
    let hold = match job {
        Some(_) => Directory::take_shared,
        None => Directory::take_resumed,
    };
    let out = fs::canonicalize(resume)
        .with_context(|| format!("cannot resume: there is no directory `{}`", resume.display()))?;
    let (invocation, holds_all) = invocation(&out)?;
    let place = if holds_all {
        Place::All {
            out: out.clone(),
            called: invocation.clone(),
        }
    } else {
        Place::One {
            scenario: invocation.scenario,
            out: hold(out.clone())?,
        }
    };
    let begun = typed_again(&invocation, &out)?;
    if mem::discriminant(&begun) != mem::discriminant(&command) {
        let command = cli::subcommand(&invocation.command_line).unwrap_or_default();
        bail!(
            "`{}` was started by `lsp-soak {command}`: use `lsp-soak {command} --resume`",
            out.display()
        );
    }
    if holds_all && !matches!(begun, Command::Run(_) | Command::Cold(_)) {
        bail!("`{}` holds no records: name the directory below it", out.display());
    }
    Ok((begun, place))
}

/// The command of an invocation, read in the directory in which it was typed, where this process works from here on.
fn typed_again(invocation: &Invocation, out: &Path) -> anyhow::Result<Command> {
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
    Ok(parsed.command)
}

/// The invocation of the campaign in `out`, and true if `out` holds the directories of all its scenarios.
fn invocation(out: &Path) -> anyhow::Result<(Invocation, bool)> {
    let own = Invocation::read(out);
    if own.is_ok() || out.join(FILE).exists() {
        return Ok((own?, false));
    }
    let below = fs::read_dir(out).into_iter().flatten().flatten();
    let mut below = below.filter_map(|entry| Invocation::read(&entry.path()).ok());
    let Some(first) = below.next() else {
        return Ok((own?, false));
    };
    if below.all(|other| other.command_line == first.command_line && other.directory == first.directory) {
        return Ok((first, true));
    }
    bail!(
        "`{}` holds several campaigns: name the directory of one of them",
        out.display()
    )
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
            let place = match std::path::absolute(&file) {
                Ok(absolute) if file != "-" => absolute.into(),
                _ => file,
            };
            more.extend([name, place]);
        } else {
            more.push(word);
        }
    }
    // Behind this there are no options.
    let end = before.iter().position(|word| word == "--").unwrap_or(before.len());
    let (options, rest) = before.split_at(end);
    [options, &more, rest].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Project, Scenario};
    use record::OriginFacts;

    fn loaded(origin: &str) -> Loaded {
        let project = Project {
            origin: Some(OriginFacts {
                origin: origin.to_owned(),
                ..OriginFacts::default()
            }),
            ..Project::default()
        };
        Loaded::new(
            Scenario::of_command("a", "run", 1),
            PathBuf::new(),
            String::new(),
            project,
        )
    }

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn resumed_line(before: &str, now: &str) -> Vec<OsString> {
        with_output(&words(before), words(now))
    }

    #[test]
    fn each_project_gets_the_version_of_its_own_place() {
        let (old, new) = (loaded("pypi:isort==9.0.1"), loaded("pypi:isort==9.0.2"));
        let scenarios = [old.clone(), old, new.clone(), new];
        let typed = "lsp-soak cold -n pypi:isort ls --workspace pypi:isort==9.0.1 --workspace=pypi:isort -- --workspace pypi:isort";
        let mut line = words(typed);
        pin(&mut line, &scenarios);
        assert_eq!(line, words(&typed.replace("=pypi:isort -- ", "=pypi:isort==9.0.2 -- ")));
    }

    #[test]
    fn what_is_typed_beside_resume_comes_last_among_the_options() {
        assert_eq!(
            resumed_line(
                "lsp-soak run a.toml --server ty --format json",
                "lsp-soak --color never run --resume out -q --format csv"
            ),
            words("lsp-soak run a.toml --server ty --format json -q --format csv")
        );
        assert_eq!(
            resumed_line(
                "lsp-soak --color never run a.toml --server ty",
                "lsp-soak run --resume out -q"
            ),
            words("lsp-soak --color never run a.toml --server ty -q")
        );
        assert_eq!(
            resumed_line("lsp-soak run --server ty -- a.toml", "lsp-soak run -v --resume=out"),
            words("lsp-soak run --server ty -v -- a.toml")
        );
        let here = std::env::current_dir().expect("there is one").display().to_string();
        for typed in ["--export-json a.json", "--export-json=a.json"] {
            assert_eq!(
                resumed_line(
                    "lsp-soak run a.toml --server ty",
                    &format!("lsp-soak run --resume out {typed}")
                ),
                words(&format!("lsp-soak run a.toml --server ty --export-json {here}/a.json"))
            );
        }
    }
}
