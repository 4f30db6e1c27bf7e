//! What a command used that was run to its end.

use crate::comparison::figures;
use crate::document::{Section, Weight};
use analysis::figures::{Figure, Measure, Place};
use analysis::summary::Summary;
use base::text::table::Table;

/// Its figures, a line for each; `None` of a server.
pub fn used(summary: &Summary) -> Option<Section> {
    summary.command.as_ref()?;
    let known = Measure::all(summary).into_iter().filter_map(|measure| {
        let text = figures::amount(measure.value(summary)?, measure.figure.unit());
        let name = match (&measure.place, measure.figure) {
            (Place::Printed(name), _) => name.clone(),
            (_, figure) => figure.words().to_owned(),
        };
        Some((name, text))
    });
    let known: Vec<(String, String)> = known.collect();
    let table = Table::new(&known)
        .text("figure", 0, |(name, _)| name.clone())
        .number("of this run", 0, |(_, text)| text.clone());
    Some(Section::new("command", "What it used", Weight::Answer).with(table.columns()))
}

/// Its time and its peak in a few words; `None` of a server.
pub fn conclusion(summary: &Summary) -> Option<String> {
    summary.command.as_ref()?;
    let said = |figure: Figure| {
        let place = Place::Run;
        let value = Measure { place, figure }.value(summary)?;
        Some(figures::value_with_unit(value, figure.unit()))
    };
    let time = said(Figure::Wall)?;
    let peak = said(Figure::Peak).map(|peak| format!(", peak {peak} resident"));
    Some(format!("{time} wall time{}", peak.unwrap_or_default()))
}
