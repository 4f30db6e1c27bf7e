//! Time and memory of a command that was run to its end.

use crate::comparison::figures;
use crate::document::{Section, Weight};
use analysis::figures::{Figure, Measure, MeasuredPart};
use analysis::summary::Summary;
use base::text::table::Table;

/// The command's figures, a line for each; `None` for a server.
pub fn figures_section(summary: &Summary) -> Option<Section> {
    summary.lifecycle.command.as_ref()?;
    let mut known: Vec<(String, String)> = Vec::new();
    for measure in Measure::all(summary) {
        let Some(value) = measure.value(summary) else { continue };
        let name = match (&measure.place, measure.figure) {
            (MeasuredPart::Printed(name), _) => name.clone(),
            (_, figure) => figure.words().to_owned(),
        };
        known.push((name, figures::amount(value, measure.figure.unit())));
    }
    let table = Table::new(&known)
        .text("figure", 0, |(name, _)| name.clone())
        .number("of this run", 0, |(_, text)| text.clone());
    Some(Section::new("command", "What it used", Weight::Answer).with_block(table.columns()))
}

/// The command's time and peak in a few words; `None` for a server.
pub fn conclusion(summary: &Summary) -> Option<String> {
    summary.lifecycle.command.as_ref()?;
    let time = figure_of_run(summary, Figure::Wall)?;
    let peak = match figure_of_run(summary, Figure::Peak) {
        Some(peak) => format!(", peak {peak} resident"),
        None => String::new(),
    };
    Some(format!("{time} wall time{peak}"))
}

fn figure_of_run(summary: &Summary, figure: Figure) -> Option<String> {
    let place = MeasuredPart::Run;
    let value = Measure { place, figure }.value(summary)?;
    Some(figures::value_with_unit(value, figure.unit()))
}
