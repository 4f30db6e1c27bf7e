//! Memory calls of several servers side by side.

use crate::compare::Comparison;
use crate::report::calls::{self, Named};
use crate::text::table::Column;

/// The servers that were traced, the baseline first.
fn servers(comparison: &Comparison) -> Vec<Named<'_>> {
    let sides = comparison.sides.iter();
    sides
        .filter_map(|side| Some((side.label.as_str(), side.traced.as_ref()?)))
        .collect()
}

/// The columns of the table and what is to be known of it; `None` where nothing was traced.
pub fn table(comparison: &Comparison) -> Option<(Vec<Column>, String)> {
    let servers = servers(comparison);
    (!servers.is_empty()).then(|| (calls::columns(&servers), calls::note(&servers)))
}

/// What is said of servers that differ much from the baseline. Where that was not traced, or a run was cut short, nothing.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    let traced = |side: Option<&crate::compare::Side>| {
        side.and_then(|side| side.traced.as_ref())
            .is_some_and(|traced| traced.whole)
    };
    if !traced(comparison.sides.first()) {
        return Vec::new();
    }
    let whole: Vec<Named<'_>> = servers(comparison)
        .into_iter()
        .filter(|(_, traced)| traced.whole)
        .collect();
    calls::sentences(&whole)
}
