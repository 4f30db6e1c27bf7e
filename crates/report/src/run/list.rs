//! Runs that cannot be compared, one after the other in one document.

use crate::comparison::document::origin;
use crate::document::{Document, Section, Weight};
use analysis::compare::Played;
use base::text::table::Table;
use base::units;

use super::head;

/// An overview, then the report of each run.
pub fn document(runs: &[Played]) -> Document {
    let mut sections = vec![overview(runs)];
    for (place, run) in runs.iter().enumerate() {
        let report = super::document(run);
        let head = Section::new(
            format!("r{place}-result"),
            format!("Result: {}", report.title),
            Weight::Answer,
        );
        sections.push(head.with_all(report.verdict));
        for section in report.sections {
            sections.push(Section {
                anchor: format!("r{place}-{}", section.anchor),
                title: format!("{}: {}", section.title, report.title),
                ..section
            });
        }
    }
    let names: Vec<&str> = runs
        .iter()
        .map(|run| run.summary.header.scenario.name.as_str())
        .collect();
    Document {
        title: format!("{}: {}", units::count_of(runs.len() as u64, "run"), names.join(", ")),
        origin: origin(runs),
        headline: None,
        verdict: Vec::new(),
        sections,
    }
}

fn overview(runs: &[Played]) -> Section {
    let table = Table::new(runs)
        .text("scenario", 0, |run| run.summary.header.scenario.name.clone())
        .text("server", 0, |run| run.summary.header.server.label.clone())
        .text("how it ended", 0, |run| head::ending(&run.summary))
        .number("private", 0, |run| {
            units::or_unknown(head::result(&run.summary), |(private, _)| units::mib(private))
        })
        .number("peak", 0, |run| units::or_unknown(run.summary.memory.peak, head::peak));
    Section::new("runs", "Runs", Weight::Answer)
        .noted("MiB, private memory at the result and resident peak")
        .with_block(table.columns())
}
