//! `lsp-soak run`: drives each server through each scenario, then reports what was recorded.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use crate::analyse::{self, Exit};
use crate::cli::{self, Format};
use crate::config::Loaded;
use crate::plan;
use crate::soak::Interrupt;

use super::{prepare, print, show, single};

/// Runs the command.
pub fn run(options: &cli::Run) -> anyhow::Result<u8> {
    let scenarios = prepare::scenarios(&options.scenarios, &options.scenario)?;
    let first = options.scenarios.first().map(PathBuf::as_path);
    let catalogue = prepare::catalogue(options.servers.extra.file.as_deref(), first)?;
    let choices = prepare::servers(&options.servers.servers, &options.servers.extra, &catalogue)?;
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let interrupt = Interrupt::listen().context("cannot listen for ctrl-c")?;
        let mut worst = Exit::Passed;
        for scenario in &scenarios {
            let out = directory(options, scenario)?;
            for planned in plan::runs(choices.len(), 1, scenario.scenario.seed()) {
                let choice = &choices[planned.server];
                let path = out.join(format!("run-{:03}-{}.jsonl", planned.number, choice.label));
                let run = single::Run {
                    loaded: scenario,
                    choice,
                    number: planned.number,
                    measuring: &options.measuring,
                    probe: false,
                    quiet: options.output.quiet,
                };
                run.record(&path, &interrupt).await?;
                let summary = show::summary(&path)?;
                show::print(&path, &summary, options.output.format)?;
                worst = worst.worse(analyse::exit(&summary));
                if interrupt.is_pressed(1) {
                    return Ok(worst.code());
                }
            }
            if options.output.format == Format::Terminal {
                print(&format!("records: {}\n", out.display()))?;
            }
        }
        Ok(worst.code())
    })
}

/// Makes the directory for the records of one scenario. It must be new: nothing is ever overwritten.
fn directory(options: &cli::Run, scenario: &Loaded) -> anyhow::Result<PathBuf> {
    let name = &scenario.scenario.name;
    let out = match (&options.out, options.scenarios.len()) {
        (Some(out), 1) => out.clone(),
        (Some(out), _) => out.join(name),
        (None, _) => {
            let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
            PathBuf::from("reports").join(format!("{now}-{name}"))
        }
    };
    if fs::read_dir(&out).is_ok_and(|mut entries| entries.next().is_some()) {
        anyhow::bail!(
            "`{}` is not empty, and records are never overwritten: name a new directory",
            out.display()
        );
    }
    fs::create_dir_all(&out).with_context(|| format!("cannot create `{}`", out.display()))?;
    Ok(out)
}
