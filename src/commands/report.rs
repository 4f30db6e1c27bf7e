//! `lsp-soak report` and `lsp-soak compare`: records, one by one or side by side.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::bail;

use crate::campaign::open;
use crate::cli::{self, Voice};
use crate::config::values::Format;
use analysis::compare::{Played, Weight, are_unlike, compare_by_target};
use analysis::summary;
use base::exit::Exit;
use base::text::nearest;

use super::github;
use super::plan::OutputPlan;
use super::show::{self, Outputs, Shape};

/// Runs `report`. The exit code is that of the runs which were recorded.
pub fn run(options: &cli::Report) -> anyhow::Result<u8> {
    let records = show::records(&options.records.records)?;
    let by_itself = records == options.records.records && records.len() == 1;
    let side_by_side = records.len() > 1 && !options.each && share_a_scenario(&records);
    let shape = |format| match format {
        _ if by_itself => Shape::One,
        Format::Json | Format::Csv | Format::Perfetto => Shape::List,
        Format::Terminal if !side_by_side => Shape::List,
        _ => Shape::Compared,
    };
    let worst = render(&options.records, shape)?.1;
    if side_by_side && options.records.format == Format::Terminal {
        super::say("to see each run by itself: `lsp-soak report --each`, or name one record");
    }
    Ok(worst.code())
}

/// True if any two of these records are of one scenario: others are a list, because they have nothing to compare.
fn share_a_scenario(records: &[PathBuf]) -> bool {
    // An unreadable record is reported when it is shown.
    let readable = records.iter().filter_map(|path| open(path).ok());
    !are_unlike(readable.map(|record| record.header().scenario.name.clone()))
}

/// Runs `compare`. A comparison decides nothing, so it succeeds whatever it finds.
pub fn compare(options: &cli::Records) -> anyhow::Result<u8> {
    let (runs, _) = render(options, |_| Shape::Compared)?;
    github::report_comparison(&runs, options.baseline.as_deref());
    Ok(Exit::Passed.code())
}

/// Prints the records; returns the compared runs and the worst exit code. An unreadable record is reported after the
/// others.
fn render(options: &cli::Records, shape: impl Fn(Format) -> Shape) -> anyhow::Result<(Vec<Played>, Exit)> {
    let baseline = options.baseline.as_deref();
    let voice = Voice {
        details: options.details,
        ..Voice::default()
    };
    let output = OutputPlan::from_typed(options.format, &options.exports, options.export_csv.as_deref(), voice)?;
    let mut outputs = Outputs::new(output.targets, shape, baseline, output.details);
    let (mut worst, mut failed) = (Exit::Passed, Vec::new());
    for path in &show::records(&options.records)? {
        match outputs.record(path) {
            Ok(summary) => worst = worst.worse(summary::exit_of_run(&summary)),
            Err(error) => failed.push(error),
        }
    }
    let runs = outputs.compared().to_vec();
    if !runs.is_empty() {
        require_label(
            runs.iter().map(|run| run.summary.header.server.label.as_str()),
            baseline,
        )?;
        require_comparable(&runs)?;
    }
    outputs.finish()?;
    let Some(last) = failed.pop() else {
        return Ok((runs, worst));
    };
    for error in failed {
        super::say(&super::explain(&error));
    }
    Err(last)
}

/// Refuses to pool runs of one label with different memory settings. Each operating system has its own table.
fn require_comparable(runs: &[Played]) -> anyhow::Result<()> {
    let mut refused: Vec<String> = Vec::new();
    for target in compare_by_target(runs.to_vec(), None).values().flatten() {
        for difference in &target.comparison.differences {
            if difference.weight == Weight::Quantity {
                refused.push(format!("{} ({})", difference.what, difference.values.join(", ")));
            }
        }
    }
    refused.dedup();
    if refused.is_empty() {
        return Ok(());
    }
    bail!(
        "the runs differ in {}, so their figures cannot be compared: name records that agree in it, and give other \
         settings a label of their own",
        refused.join("; ")
    )
}

/// Refuses a baseline that none of the servers is.
pub fn require_label<'l>(labels: impl Iterator<Item = &'l str>, baseline: Option<&str>) -> anyhow::Result<()> {
    let labels: BTreeSet<&str> = labels.collect();
    let Some(baseline) = baseline else { return Ok(()) };
    if labels.contains(baseline) {
        return Ok(());
    }
    let labels: Vec<&str> = labels.into_iter().collect();
    let hint = match nearest(baseline, labels.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? "),
        None => String::new(),
    };
    bail!(
        "no server is called `{baseline}`: {hint}set --baseline to one of {}",
        labels.join(", ")
    )
}
