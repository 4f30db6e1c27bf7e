//! `lsp-soak watch`: samples a server that runs already, then prints the report of the record.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::campaign;
use crate::cli;
use crate::commands::output::{self, Directory};
use crate::config::as_file_name;
use crate::soak::{Interrupt, Watched, watch};
use analysis::summary::exit_of_run;
use base::Cancel;
use base::text::quoted;
use base::units;
use proctree::{Running, host, running, running_called};
use record::{Header, ScenarioFacts, ServerFacts, Settings, WorkspaceFacts};

use super::plan::OutputPlan;
use super::show::{Outputs, Shape};
use super::{Mistakes, allocator, formats};

/// The name of the scenario that a watched session stands for, and of its only phase.
const NAME: &str = "watch";

/// Processes that a message lists.
const LISTED: usize = 10;

/// Characters of a command line in a message.
const COMMAND: usize = 60;

pub fn run(options: &cli::Watch, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let process = match (options.pid, &options.name) {
        (Some(pid), _) => process_of(pid)?,
        (None, name) => process_called(name.as_deref().unwrap_or_default())?,
    };
    let directory = output::directory(options.out.as_deref(), NAME)?;
    let output = OutputPlan::from_output(&options.output)?;
    let record = directory.join(format!("{}.jsonl", as_file_name(&process.title)));
    let watched = Watched {
        header: header(&process, options),
        phase: NAME,
        time: options.time.map(|span| span.0),
        interval: options.interval.0,
        is_quiet: output.is_quiet,
        process,
    };
    interrupt.heed();
    super::block_on(async { Ok(watch(watched, &record, interrupt).await?) })?;
    report(&directory, &record, output)
}

/// Prints the report, and leaves it beside the record.
fn report(directory: &Directory, record: &Path, output: OutputPlan) -> anyhow::Result<u8> {
    let run = campaign::read_played(record)?;
    let mut outputs = Outputs::new(output.targets, |_| Shape::One, None, output.details);
    outputs.record(record)?;
    outputs.finish()?;
    let page = formats::save(directory, std::slice::from_ref(&run), None)?;
    if !output.is_quiet {
        super::say(&format!("record: {}", record.display()));
        if let Some(page) = page {
            super::say(&format!("report: {page}"));
        }
    }
    Ok(exit_of_run(&run.summary).code())
}

fn process_of(pid: u32) -> anyhow::Result<Running> {
    if pid == std::process::id() {
        return Err(mistake(format!(
            "process {pid} is lsp-soak itself: name the server's process"
        )));
    }
    running(pid).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::NotFound => "there is none".to_owned(),
            _ => error.to_string(),
        };
        let list = "`ps -e` lists the processes, and --name finds one by its program";
        mistake(format!("cannot watch process {pid}: {why}: {list}"))
    })
}

/// The only process of this name.
fn process_called(name: &str) -> anyhow::Result<Running> {
    let mut called = running_called(name).context("cannot list the processes, name one with --pid")?;
    if called.len() == 1 {
        return Ok(called.remove(0));
    }
    if called.is_empty() {
        return Err(mistake(format!(
            "no process is called `{name}`: start the server, or name another program or script as `ps -e` shows it"
        )));
    }
    let mut text = format!(
        "{} are called `{name}`: choose one with --pid",
        units::count_of(called.len() as u64, "process")
    );
    for process in called.iter().take(LISTED) {
        let words: Vec<String> = process.command.iter().map(|word| quoted(word)).collect();
        let command = base::text::cut(&words.join(" "), COMMAND);
        text.push_str(&format!("\n  --pid {}: {command}", process.pid));
    }
    if called.len() > LISTED {
        text.push_str(&format!("\n  and {} more", called.len() - LISTED));
    }
    Err(mistake(text))
}

fn mistake(text: String) -> anyhow::Error {
    Mistakes(format!("error: {text}")).into()
}

/// The facts of a server that somebody else started. Nothing is run to learn more.
fn header(process: &Running, options: &cli::Watch) -> Header {
    let cancel = Cancel::default();
    let program = link(process.pid, "exe");
    let directory = link(process.pid, "cwd");
    // Where the system does not show the program of a running process, the allocator is unknown.
    let allocator = allocator::live(process.pid).ok().map(|inspected| inspected.facts);
    Header {
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        host: host::fingerprint(),
        server: ServerFacts {
            label: process.title.clone(),
            sha256: program.as_ref().and_then(|program| host::file_sha256(program).ok()),
            program: program.map_or_else(|| process.title.clone(), |program| program.display().to_string()),
            args: process.command.iter().skip(1).cloned().collect(),
            allocator,
            ..ServerFacts::default()
        },
        scenario: ScenarioFacts {
            name: NAME.to_owned(),
            phases: vec![NAME.to_owned()],
            result: Some(NAME.to_owned()),
            ..ScenarioFacts::default()
        },
        workspace: WorkspaceFacts {
            revision: directory
                .as_ref()
                .and_then(|directory| host::revision(directory, &cancel)),
            path: directory.map_or_else(String::new, |directory| directory.display().to_string()),
            isolation: "in-place".to_owned(),
            ..WorkspaceFacts::default()
        },
        settings: Settings {
            interval: record::nanos(options.interval.0),
            address_spaces: proctree::address_spaces(),
            command_line: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            directory: std::env::current_dir()
                .ok()
                .map(|directory| directory.display().to_string()),
            ..Settings::default()
        },
        ..Header::default()
    }
}

/// The target of a link that Linux has for each process.
fn link(pid: u32, name: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/{name}")).ok()
}
