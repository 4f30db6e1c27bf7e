//! `lsp-soak compare`: servers side by side, from records of one machine or of several.

use std::collections::BTreeSet;

use anyhow::bail;

use crate::analyse::Exit;
use crate::analyse::compare::{Played, by_target};
use crate::cli::{self, CompareFormat};
use crate::report::comparison;

use super::show;

/// Runs the command. A comparison decides nothing, so it succeeds whatever it finds.
pub fn run(options: &cli::Compare) -> anyhow::Result<u8> {
    let mut runs = Vec::new();
    for path in show::records(&options.records)? {
        runs.push(Played {
            record: path.display().to_string(),
            summary: show::summary(&path)?,
        });
    }
    let labels = runs.iter().map(|run| run.summary.header.server.label.as_str());
    known(labels, options.baseline.as_deref())?;
    for targets in by_target(runs, options.baseline.as_deref()).values() {
        let text = match options.format {
            CompareFormat::Terminal => comparison::terminal(targets, show::look()),
            CompareFormat::Markdown => comparison::markdown(targets),
        };
        super::print(&text)?;
    }
    Ok(Exit::Passed.code())
}

/// Refuses a baseline that none of the servers is.
pub fn known<'l>(labels: impl Iterator<Item = &'l str>, baseline: Option<&str>) -> anyhow::Result<()> {
    let labels: BTreeSet<&str> = labels.collect();
    match baseline {
        Some(baseline) if !labels.contains(baseline) => {
            let labels: Vec<&str> = labels.into_iter().collect();
            bail!(
                "no server is called `{baseline}`: give --baseline one of {}",
                labels.join(", ")
            );
        }
        _ => Ok(()),
    }
}
