//! `lsp-soak compare`: servers side by side, from records of one machine or of several.

use std::collections::BTreeSet;

use anyhow::bail;

use crate::cli;
use crate::compare::{Played, Weight, by_target};
use crate::config::options::Format;
use crate::exit::Exit;
use crate::text::nearest;

use super::{formats, github, show};

/// Runs the command. A comparison decides nothing, so it succeeds whatever it finds.
pub fn run(options: &cli::Compare) -> anyhow::Result<u8> {
    let runs = show::all_played(&options.records)?;
    let labels = runs.iter().map(|run| run.summary.header.server.label.as_str());
    known(labels, options.baseline.as_deref())?;
    comparable(&runs)?;
    print(&runs, options.baseline.as_deref(), options.format, options.details)?;
    Ok(Exit::Passed.code())
}

/// Compares the runs and prints that, for GitHub too where it is asked for.
pub fn print(runs: &[Played], baseline: Option<&str>, format: Format, details: bool) -> anyhow::Result<()> {
    let text = match formats::is_of_all(format) {
        true => formats::together(runs, baseline, format)?,
        false => formats::comparison(runs, baseline, format, details)?,
    };
    super::print(&text)?;
    github::tell(runs, baseline);
    Ok(())
}

/// Refuses to pool runs whose figures are not of one thing: those of one label that were given different settings of
/// memory. Each operating system has a table of its own.
fn comparable(runs: &[Played]) -> anyhow::Result<()> {
    let scenarios = by_target(runs.to_vec(), None);
    let differences = scenarios
        .values()
        .flatten()
        .flat_map(|target| &target.comparison.differences);
    let refused = differences.filter(|one| one.weight == Weight::Quantity);
    let mut refused: Vec<String> = refused
        .map(|one| format!("{} ({})", one.what, one.values.join(", ")))
        .collect();
    refused.dedup();
    match refused.is_empty() {
        true => Ok(()),
        false => bail!(
            "the runs differ in {}, so their figures are not of one thing: compare those that agree in it, or make them \
             under labels of their own",
            refused.join("; ")
        ),
    }
}

/// Refuses a baseline that none of the servers is.
pub fn known<'l>(labels: impl Iterator<Item = &'l str>, baseline: Option<&str>) -> anyhow::Result<()> {
    let labels: BTreeSet<&str> = labels.collect();
    match baseline {
        Some(baseline) if !labels.contains(baseline) => {
            let labels: Vec<&str> = labels.into_iter().collect();
            let meant = match nearest(baseline, labels.iter().copied()) {
                Some(near) => format!("did you mean `{near}`? "),
                None => String::new(),
            };
            bail!(
                "no server is called `{baseline}`: {meant}give --baseline one of {}",
                labels.join(", ")
            );
        }
        _ => Ok(()),
    }
}
