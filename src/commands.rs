//! The subcommands: the only code that opens what the user named and prints to stdout.

mod allocator;
mod bisect;
mod cache;
mod calibrate;
mod check;
mod cold;
mod exports;
mod formats;
mod gate;
mod github;
mod init;
mod lenses;
mod missing_places;
mod next;
mod output;
mod plan;
mod prepare;
mod replay;
mod report;
mod resume;
mod run;
mod servers;
mod shell;
mod show;
mod shrink;
mod tune;
mod watch;
mod when;
mod wrap;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use anyhow::Context;

use crate::campaign::{Outcomes, Repeating};
use crate::cli::{Cli, Color, Command};
use crate::config;
use crate::config::values::Runs;
use crate::progress::{self, Verbosity};
use crate::resolve::ServerChoice;
use crate::soak::Interrupt;
use base::exit::Exit;
use base::text::quoted;
use proctree::host;

/// Exit code for bad input and for a failure of lsp-soak itself.
pub const FAILURE: u8 = 2;

/// The message when stdout accepts no more.
const UNPRINTED: &str =
    "cannot print to stdout; make room there, what was recorded prints again with `lsp-soak report`";

/// Runs one command; the number is the exit code.
pub fn run(cli: Cli) -> anyhow::Result<u8> {
    let color = match cli.color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    color.write_global();
    let (command, place) = resume::resumed(cli.command)?;
    match command {
        Command::Run(options) => run_interruptible(|interrupt| run::run(&options, place, interrupt)),
        Command::Report(options) => report::run(&options),
        Command::Compare(options) => report::compare(&options),
        Command::Calibrate(options) => run_interruptible(|interrupt| calibrate::run(&options, place, interrupt)),
        Command::Gate(options) => run_interruptible(|interrupt| gate::run(&options, place, interrupt)),
        Command::Bisect(options) => bisect::run(&options, place),
        Command::Tune(options) => run_interruptible(|interrupt| tune::run(&options, place, interrupt)),
        Command::Shrink(options) => run_interruptible(|interrupt| shrink::run(&options, place, interrupt)),
        Command::Cold(options) => run_interruptible(|interrupt| cold::run(&options, place, interrupt)),
        Command::Replay(options) => run_interruptible(|interrupt| replay::run(options, place, interrupt)),
        Command::Watch(options) => watch::run(&options, &listen()?),
        Command::Wrap(options) => wrap::run(options),
        Command::Check(options) => run_interruptible(|interrupt| check::run(&options, interrupt)),
        Command::Allocator(options) => {
            let _interrupt = listen()?;
            allocator::run(&options)
        }
        Command::Servers(options) => {
            let _interrupt = listen()?;
            servers::run(&options)
        }
        Command::Cache(options) => cache::run(&options),
        Command::Init(options) => {
            let _interrupt = listen()?;
            init::run(&options)
        }
        Command::Completions(options) => shell::completions(&options),
        Command::Man(options) => shell::man(&options),
        Command::Schema(options) => shell::schema(&options),
    }
}

/// Listens for ctrl-c. Without a listener, probed programs would outlive it.
fn listen() -> anyhow::Result<Interrupt> {
    Interrupt::listen(ended_early).context("cannot listen for ctrl-c")
}

fn run_interruptible(command: impl FnOnce(&Interrupt) -> anyhow::Result<u8>) -> anyhow::Result<u8> {
    let interrupt = listen()?;
    unless_interrupted(command(&interrupt), &interrupt)
}

/// The end of an interrupted command, whatever its result.
fn unless_interrupted(result: anyhow::Result<u8>, interrupt: &Interrupt) -> anyhow::Result<u8> {
    if !interrupt.is_pressed(1) {
        return result;
    }
    if let Err(error) = result {
        say(&explain(&error));
    }
    Ok(Exit::Interrupted.code())
}

/// Ends at a ctrl-c before the first run, with every program that is being probed.
fn ended_early() -> ! {
    host::hang_up();
    say(&crate::campaign::called_off(""));
    std::process::exit(Exit::Interrupted.code().into())
}

/// The text of an error for people. A report of mistakes in a file is text of its own.
pub fn explain(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Mistakes>() {
        Some(mistakes) => mistakes.0.clone(),
        None => format!("error: {}", words(error)),
    }
}

/// The words of an error and of its causes, those once that several of them say.
fn words(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&cause);
        }
    }
    text
}

/// Says where the records are, and how a campaign that was interrupted goes on.
/// `whole` has the directories of all scenarios, where there are several.
fn tell_records(out: &Path, whole: Option<&Path>, talk: Verbosity, outcomes: &Outcomes) {
    if talk == Verbosity::Quiet || outcomes.runs.is_empty() {
        return;
    }
    say(&format!("records: {}", out.display()));
    if outcomes.exit == Exit::Interrupted
        && let Some(command) = output::begun_subcommand(out)
    {
        let out = quoted(&whole.unwrap_or(out).display().to_string());
        say(&format!("interrupted: resume with `lsp-soak {command} --resume {out}`"));
    }
}

/// Says at the start that one run of each server or command shows no difference between them.
fn warn_of_single_runs(repeating: &Repeating, choices: &[ServerChoice]) {
    let is_single = repeating.runs == Some(Runs::Fixed(1)) && repeating.partition.is_none();
    let labels: BTreeSet<&String> = choices.iter().map(|choice| &choice.label).collect();
    if !is_single || labels.len() < 2 {
        return;
    }
    let kind = if choices.iter().any(|choice| choice.command.is_some()) {
        "command"
    } else {
        "server"
    };
    say(&format!(
        "warning: one run of each {kind} shows no difference between them: use --runs 3 or more"
    ));
}

/// Says something beside the report, see [`progress::say`].
pub fn say(text: &str) {
    progress::say(text);
}

/// Mistakes in what the user wrote, already rendered.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Mistakes(pub String);

impl Mistakes {
    /// The mistakes of a report, as stderr shows them.
    fn from_report(report: &config::MistakeReport) -> Mistakes {
        Mistakes(report.styled(progress::terminal_columns()))
    }
}

/// Runs on one thread, the main one, which the server's life is tied to. What other threads still do when `work` is
/// over is not waited for.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}

/// Prints to stdout; colour is stripped where it is not wanted.
fn print(text: &str) -> anyhow::Result<()> {
    use io::Write;
    let mut out = anstream::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    unless_unread(printed, ()).context(UNPRINTED)
}

/// The result of a write to stdout, or `unread` if nobody reads there any more: a reader that has had enough, as `head`
/// has, changes nothing of what the command ends with.
fn unless_unread<T>(written: io::Result<T>, unread: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(unread),
        other => other,
    }
}
