//! `lsp-soak run`: drives each server through each scenario, then reports what was recorded.

use std::path::PathBuf;

use anyhow::Context;

use crate::analyse::{self, Exit};
use crate::cli;
use crate::config::{Loaded, ServerChoice};
use crate::plan;
use crate::soak::Interrupt;

use super::show::Printer;
use super::single::{self, Outcome};
use super::{output, prepare};

/// Runs the command.
pub fn run(options: &cli::Run) -> anyhow::Result<u8> {
    let (scenarios, choices) = prepare::understood(&prepare::Typed {
        scenarios: &options.scenarios,
        options: &options.scenario,
        servers: &options.servers.servers,
        extras: &options.servers.extra,
        out: options.out.as_deref(),
    })?;
    let directories = output::directories(options, &scenarios)?;
    super::block_on(async {
        let interrupt = Interrupt::listen().context("cannot listen for ctrl-c")?;
        let mut printer = Printer::new(options.output.format, scenarios.len() * choices.len() > 1);
        let played = play(options, &scenarios, &choices, &directories, &interrupt, &mut printer).await;
        printer.finish()?;
        played
    })
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
        for planned in plan::once(choices.len()) {
            let choice = &choices[planned.server];
            let path = out.join(format!("run-{:03}-{}.jsonl", planned.number, choice.label));
            let run = single::Run {
                loaded: scenario.clone(),
                choice: choice.clone(),
                number: planned.number,
                measuring: options.measuring,
                probe: false,
                quiet: options.output.quiet,
            };
            match run.record(&path, interrupt).await? {
                Outcome::Played => worst = worst.worse(analyse::exit(&printer.record(&path)?)),
                Outcome::Failed(error) => {
                    // Where there is not even a record, the error says all there is to say.
                    let _ = printer.record(&path);
                    return Err(error);
                }
                Outcome::CalledOff => return Ok(Exit::Interrupted.code()),
            }
        }
        if !options.output.quiet {
            super::say(&format!("records: {}", out.display()));
        }
    }
    Ok(worst.code())
}
