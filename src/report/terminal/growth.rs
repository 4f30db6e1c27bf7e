//! What one run says of growth: slopes and shapes of what it repeats, and no verdict.

use crate::analyse::Summary;
use crate::analyse::growth::repeated;
use crate::analyse::stats::LEAST_CYCLES;
use crate::report::growth::{Line, attribution, columns as of_lines, note};
use crate::text::table;
use crate::text::table::{Cell, Column};
use crate::text::{Paint, Tone, paragraph};

use super::blocks::{JSON, heading};

/// The table, if anything was repeated often enough.
pub(super) fn draw(out: &mut String, summary: &Summary, paint: Paint, columns: usize) {
    let repeated = repeated(summary);
    if repeated.iter().all(|one| one.values.len() < LEAST_CYCLES) {
        return;
    }
    let lines: Vec<Line> = repeated.iter().map(Line::of_run).collect();
    heading(out, paint, "growth per round", &note(), columns);
    let mut table = vec![Column::text(
        "phase",
        0,
        lines.iter().map(|line| Cell::plain(&line.name)).collect(),
    )];
    table.extend(of_lines(&lines));
    table::draw(out, paint, table, columns, JSON);
    out.push('\n');
    for sentence in attribution(&lines, summary.header.server.lens.name, 1) {
        paragraph(out, paint, Tone::Plain, "  ", &sentence, columns);
    }
    let text = "one run is no verdict: compare 3 runs or more, with --runs 3";
    paragraph(out, paint, Tone::Quiet, "  ", text, columns);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::record::golden;

    #[test]
    fn the_phase_that_grows_is_named_and_the_control_is_not() {
        let mut summary = analyse::read(golden::open("completed")).unwrap();
        let model = summary.phases[1].clone();
        let round = |(number, name, sent): (u32, &str, u64), round: u64| {
            let mut phase = model.clone();
            phase.phase.phase = number;
            phase.phase.name = name.to_owned();
            phase.private = Some((100 << 20) + sent * round * 65_536);
            for step in &mut phase.steps {
                (step.requests, step.notifications) = (Some(sent), Some(0));
            }
            phase.steps.truncate(1);
            phase
        };
        let rounds = [(1, "hover", 20), (2, "idle", 0)].map(|arm| (0..20).map(move |number| (arm, number)));
        summary.phases = rounds
            .into_iter()
            .flatten()
            .map(|(arm, number)| round(arm, number))
            .collect();
        let mut out = String::new();
        draw(&mut out, &summary, Paint(false), 100);
        insta::assert_snapshot!(out);
        summary.phases.truncate(7);
        out.clear();
        draw(&mut out, &summary, Paint(false), 100);
        assert_eq!(out, "", "seven rounds say nothing");
    }
}
