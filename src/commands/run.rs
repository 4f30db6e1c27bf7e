//! `lsp-soak run`: drives each server through each scenario, then reports what was recorded.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::analyse::Exit;
use crate::analyse::compare::{Played, by_target};
use crate::cli::{self, Format};
use crate::config::{Loaded, ServerChoice};
use crate::report::comparison;
use crate::soak::Interrupt;

use super::campaign::{self, Campaign, Outcomes};
use super::resume::Invocation;
use super::show::{self, Printer};
use super::{compare, output, prepare};

/// Runs the command.
pub fn run(options: &cli::Run) -> anyhow::Result<u8> {
    let resumed = options.resume.as_deref().map(Invocation::resume).transpose()?;
    let options = resumed.as_ref().unwrap_or(options);
    prepare::keep_to(options.cpus.as_ref())?;
    let (scenarios, choices) = prepare::understood(&prepare::Typed {
        scenarios: &options.scenarios,
        options: &options.scenario,
        servers: &options.servers.servers,
        extras: &options.servers.extra,
        lenses: options.lens,
        // A directory that is gone on with is not empty.
        out: options.out.as_deref().filter(|_| resumed.is_none()),
    })?;
    let labels = choices.iter().map(|choice| choice.label.as_str());
    compare::known(labels, options.repeating.baseline.as_deref())?;
    let directories = match (&resumed, &options.out) {
        (Some(_), Some(out)) => vec![out.clone()],
        _ => begun(output::directories(options.out.as_deref(), &scenarios)?)?,
    };
    super::block_on(async {
        let interrupt = Interrupt::listen().context("cannot listen for ctrl-c")?;
        let list = scenarios.len() * choices.len() > 1 || options.repeating.repeats(choices.len());
        let mut printer = Printer::new(options.output.format, list);
        let played = play(options, &scenarios, &choices, &directories, &interrupt, &mut printer).await;
        printer.finish()?;
        played
    })
}

/// The directories, each with what was asked for in it.
fn begun(directories: Vec<PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
    for (scenario, out) in directories.iter().enumerate() {
        Invocation::current(scenario)?.save(out)?;
    }
    Ok(directories)
}

/// Plays every run of the plan, one after the other.
async fn play(
    options: &cli::Run,
    scenarios: &[Loaded],
    choices: &[ServerChoice],
    directories: &[PathBuf],
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> anyhow::Result<u8> {
    let mut worst = Exit::Passed;
    for (scenario, out) in scenarios.iter().zip(directories) {
        let campaign = Campaign {
            scenario,
            choices,
            out,
            repeating: &options.repeating,
            measuring: options.measuring,
            quiet: options.output.quiet,
            enough: &|runs| campaign::decided(runs, &options.repeating),
        };
        if let Some(doubt) = prepare::quiet_purge(choices, scenario) {
            super::say(&format!("warning: {doubt}"));
        }
        let outcomes = campaign.play(interrupt).await?;
        report(options, &outcomes, printer)?;
        if !options.output.quiet {
            super::say(&format!("records: {}", out.display()));
        }
        if let Some(error) = outcomes.failed {
            return Err(error);
        }
        worst = worst.worse(outcomes.exit);
        if worst == Exit::Interrupted {
            break;
        }
    }
    Ok(worst.code())
}

/// Prints what was recorded: for people several runs as a comparison, otherwise every run by itself.
fn report(options: &cli::Run, outcomes: &Outcomes, printer: &mut Printer) -> anyhow::Result<()> {
    let counts = |run: &&Played| !run.summary.header.plan.warm_up;
    let several = outcomes.runs.iter().filter(counts).count() > 1;
    if several && options.output.format == Format::Terminal {
        let targets = by_target(outcomes.runs.clone(), options.repeating.baseline.as_deref());
        for targets in targets.values() {
            super::print(&comparison::terminal(targets, show::look()))?;
        }
        return Ok(());
    }
    for run in &outcomes.runs {
        printer.record(Path::new(&run.record))?;
    }
    Ok(())
}
