//! A comparison to be pasted into a pull request: the short table first, everything else folded.

use crate::analyse::compare::{Cell, Comparison, Figure, Row, Target, Unit};
use crate::report::growth as lines;
use crate::report::markdown::{columns_of, escape, folded, heads_of, line, prose, small};
use crate::text::{clean_lines, line_of};
use crate::units;

use super::decay::Named;
use super::figures::{self, HOLE};
use super::notes::{self, Weight};
use super::{across, alone, calls, decay, growth, release, words};

/// Tables that are folded: of what, what their rows are, their heading.
pub(in crate::report) const FOLDED: [(Figure, &str, &str); 6] = [
    (Figure::Peak, "in", "Resident peak within phases, MiB"),
    (Figure::Resident, "after", "Resident memory at checkpoints, MiB"),
    (Figure::Cpu, "in", "CPU time"),
    (Figure::Faults, "in", "Minor page faults"),
    (Figure::P50, "method", "Median latency"),
    (Figure::P95, "method", "95th percentile of latency"),
];

/// The servers on each target: first the tables of step × system and server, then each target.
pub fn render(targets: &[Target]) -> String {
    let mut out = String::new();
    if targets.len() > 1 {
        overview(&mut out, targets);
    }
    for target in targets {
        if !out.is_empty() {
            out.push('\n');
        }
        one(&mut out, target, targets.len() > 1);
    }
    clean_lines(&out)
}

fn overview(out: &mut String, targets: &[Target]) {
    let scenario = &targets[0].comparison.scenario;
    line_of(
        out,
        format!("### {}: private memory after each step, MiB", escape(scenario)),
    );
    out.push('\n');
    let steps = across::steps(targets);
    let heads = steps.heads.iter().map(|(system, server)| format!("{system} {server}"));
    heads_of(out, "step", heads.map(|head| escape(&head)));
    for (step, cells) in &steps.rows {
        line(out, &escape(step), cells.iter().map(|cell| escape(cell)));
    }
    let baselines: Vec<&str> = targets.iter().filter_map(|target| label(target)).collect();
    let baseline = match baselines.as_slice() {
        [first, others @ ..] if others.iter().all(|other| other == first) => *first,
        _ => "the baseline",
    };
    line_of(
        out,
        format!("\n### Average resident peak, MiB, vs {}", escape(baseline)),
    );
    out.push('\n');
    let peaks = across::peaks(targets);
    heads_of(out, "target", peaks.heads.iter().map(|head| escape(head)));
    for (system, cells) in &peaks.rows {
        line(out, &escape(system), cells.iter().map(|cell| escape(cell)));
    }
    let legend = across::legend(targets).map_or_else(String::new, |legend| format!(" {}.", escape(&legend)));
    line_of(
        out,
        format!(
            "\n<sub>Medians with their 95 % intervals (\\* of all runs, which are too few for 95 %). Sizes of different \
             systems are different quantities: only ratios are compared.{legend}</sub>"
        ),
    );
}

fn label(target: &Target) -> Option<&str> {
    target.comparison.sides.first().map(|side| side.label.as_str())
}

fn one(out: &mut String, target: &Target, several: bool) {
    let comparison = &target.comparison;
    let place = if several {
        format!(" on {}", target.name())
    } else {
        String::new()
    };
    let title = format!("{}: private memory{place}, MiB", comparison.scenario);
    line_of(out, format!("### {}", escape(&title)));
    out.push('\n');
    table(out, comparison, "after", &rows(comparison, Figure::Private));
    remarks(out, comparison);
    for (figure, first, title) in FOLDED {
        let rows = rows(comparison, figure);
        if !rows.is_empty() {
            folded(out, title, |out| table(out, comparison, first, &rows));
        }
    }
    decay_table(out, comparison);
    release_table(out, comparison);
    growth_table(out, comparison);
    calls_table(out, comparison);
    folded(out, "Every run", |out| every_run(out, comparison));
    line_of(out, format!("\n<sub>{}</sub>", footnote(target)));
}

/// Of each server what it did otherwise, because it may take the worth from all the rest, and what to conclude; then
/// what to know.
fn remarks(out: &mut String, comparison: &Comparison) {
    let baseline = comparison.sides.first().map_or("", |side| side.label.as_str());
    let mut remarks: Vec<String> = Vec::new();
    let none = words::no_run_counts(comparison);
    let compared = if none.is_some() { 0 } else { comparison.sides.len() };
    remarks.extend(none.as_deref().map(prose));
    for (place, side) in comparison.sides.iter().enumerate().take(compared).skip(1) {
        remarks.extend(notes::work(side, baseline).into_iter().map(weighed));
        remarks.extend(words::verdict(comparison, place).iter().map(|sentence| prose(sentence)));
    }
    remarks.extend(alone::kept(comparison).as_deref().map(prose));
    remarks.extend(decay::verdict(comparison).iter().map(|sentence| prose(sentence)));
    remarks.extend(release::verdict(comparison).iter().map(|sentence| prose(sentence)));
    remarks.extend(growth::verdict(comparison).iter().map(|sentence| prose(sentence)));
    remarks.extend(calls::verdict(comparison).iter().map(|sentence| prose(sentence)));
    remarks.extend(notes::notes(comparison).into_iter().map(weighed));
    if !remarks.is_empty() {
        out.push('\n');
    }
    for remark in remarks {
        line_of(out, format!("- {remark}"));
    }
}

fn weighed((weight, text): notes::Note) -> String {
    match weight {
        Weight::Bad => format!("**{}**", prose(&text)),
        Weight::Warning => prose(&text),
    }
}

fn rows(comparison: &Comparison, figure: Figure) -> Vec<&Row> {
    comparison
        .rows
        .iter()
        .filter(|row| row.measure.figure == figure)
        .collect()
}

fn table(out: &mut String, comparison: &Comparison, first: &str, rows: &[&Row]) {
    heads_of(out, first, comparison.sides.iter().map(|side| escape(&side.label)));
    for row in rows {
        let unit = row.measure.figure.unit();
        let cells = row.cells.iter().enumerate();
        let cells = cells.map(|(side, cell)| escape(&text(cell, unit, figures::end_of(row, side))));
        line(out, &escape(figures::heading(&row.measure.place)), cells);
    }
}

/// `361.1 (355.0–367.2) ▴, +4.1 to +5.9 %`, on several machines with how far they are apart; a hole is `–`.
fn text(cell: &Cell, unit: Unit, end: Option<&str>) -> String {
    let mut text = figures::with_interval(cell, unit);
    text.extend(end.map(|end| format!(" {end}")));
    if let Some(ratio) = &cell.ratio {
        for part in [
            figures::difference(ratio),
            figures::spread(ratio).map(|spread| format!("by machine {spread}")),
        ] {
            text.extend(part.map(|part| format!(", {part}")));
        }
    }
    text
}

/// What came back while the servers were left alone, if they were.
fn decay_table(out: &mut String, comparison: &Comparison) {
    if let Some(table) = decay::columns(comparison, Named::Always) {
        folded(out, &format!("What came back, {}", decay::SUBJECT), |out| {
            columns_of(out, &table);
            small(out, &[decay::legend(&table)]);
        });
    }
}

/// What was given back by force before checkpoints, if that was asked for.
fn release_table(out: &mut String, comparison: &Comparison) {
    if let Some(table) = release::columns(comparison, Named::Always) {
        folded(out, &format!("Given back, {}", release::SUBJECT), |out| {
            columns_of(out, &table);
        });
    }
}

/// What grows from round to round, if anything was repeated.
fn growth_table(out: &mut String, comparison: &Comparison) {
    if let Some(table) = growth::table(comparison) {
        folded(out, &format!("Growth per round, {}", lines::note()), |out| {
            columns_of(out, &table)
        });
    }
}

/// Which memory calls the servers made, if that was traced.
fn calls_table(out: &mut String, comparison: &Comparison) {
    let Some((table, note)) = calls::table(comparison) else {
        return;
    };
    folded(out, "System calls", |out| {
        columns_of(out, &table);
        line_of(out, format!("\n<sub>{}</sub>", escape(&note)));
    });
}

fn every_run(out: &mut String, comparison: &Comparison) {
    let labels = comparison.sides.iter().map(|side| escape(&side.label));
    heads_of(out, "private memory after, MiB", labels);
    for row in rows(comparison, Figure::Private) {
        let cells = row.cells.iter().map(|cell| {
            let values = cell
                .values
                .iter()
                .map(|value| value.map_or_else(|| HOLE.to_owned(), |value| figures::value(value, Unit::Bytes)));
            values.collect::<Vec<String>>().join(" ")
        });
        line(out, &escape(figures::heading(&row.measure.place)), cells);
    }
}

fn footnote(target: &Target) -> String {
    let sides = &target.comparison.sides;
    let runs = sides
        .iter()
        .map(|side| format!("{} {}", escape(&side.label), words::played(side)));
    let against = match sides.as_slice() {
        [baseline, _, ..] => format!(
            ", and the 95 % interval of the ratio against {}",
            escape(&baseline.label)
        ),
        _ => String::new(),
    };
    let machines = match target.machines.len() {
        0 | 1 => String::new(),
        machines => format!(" on {}", units::counted(machines as u64, "machine")),
    };
    let comparison = &target.comparison;
    let signs = [figures::rounds(comparison), figures::ends(&comparison.rows)];
    let signs: String = signs.into_iter().flatten().map(|sign| format!("; {sign}")).collect();
    format!(
        "Medians with their 95 % intervals (\\* of all runs, which are too few for 95 %){against}{signs}. Runs{machines}: {}. Made by lsp-soak.",
        runs.collect::<Vec<String>>().join(", ")
    )
}
