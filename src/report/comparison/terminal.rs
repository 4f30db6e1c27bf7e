//! A comparison as a person reads it in a terminal.

use crate::analyse::compare::{Cell as Figures, Comparison, Figure, Row, Target, Unit};
use crate::lens::Lens;
use crate::record::PreloadFacts;
use crate::report::growth as lines;
use crate::report::lens;
use crate::report::terminal::Look;
use crate::text::table;
use crate::text::table::{Cell, Column};
use crate::text::{Paint, Tone, cut, line_of, paragraph, width};

use super::decay::Named;
use super::figures::{self, HOLE, MARK};
use super::notes::{self, Weight};
use super::{across, alone, calls, decay, growth, release, strip, words};

/// Most and fewest columns of a strip of runs.
const STRIP: (usize, usize) = (24, 8);

const JSON: &str = "`--format json`";

/// Tables in the order in which they are read, the verdict last, where a terminal leaves the eye.
const TABLES: [(Figure, &str, &str); 6] = [
    (Figure::Private, "private memory", "MiB, at checkpoints"),
    (Figure::Peak, "resident peak", "MiB, within phases"),
    (Figure::Cpu, "CPU time", "of the process tree"),
    (Figure::Faults, "minor page faults", "of the process tree"),
    (Figure::P50, "median latency", "by method"),
    (Figure::P95, "95th percentile of latency", "by method"),
];

/// The servers on each target: first the tables of step × system and server, then one target after the other.
pub fn render(targets: &[Target], look: Look) -> String {
    let columns = look.columns.clamp(40, table::WIDEST);
    let paint = Paint(look.color);
    let mut out = String::new();
    if targets.len() > 1 {
        overview(&mut out, targets, paint, columns);
    }
    for target in targets {
        if !out.is_empty() {
            out.push('\n');
        }
        let several =
            (targets.len() > 1 || target.machines.len() > 1 || target.lens.name == Lens::Purged).then_some(target);
        draw(&mut out, &target.comparison, several, paint, columns);
    }
    look.finish(&out)
}

/// All targets side by side; what does not fit beside each other stands below.
fn overview(out: &mut String, targets: &[Target], paint: Paint, columns: usize) {
    let scenario = &targets[0].comparison.scenario;
    title(
        out,
        paint,
        &format!("{scenario}: private memory after each step"),
        "MiB",
        columns,
    );
    let steps = across::steps(targets);
    let names = || Column::text("", 0, steps.rows.iter().map(|(step, _)| Cell::plain(step)).collect());
    let mut part = vec![names()];
    for (place, (system, server)) in steps.heads.iter().enumerate() {
        let cells = steps.rows.iter().map(|(_, cells)| Cell::plain(&cells[place]));
        let column = Column::text(server.clone(), 0, cells.collect()).of(system.clone());
        if part.len() > 1 && table::width_of(&part) + table::width_of(std::slice::from_ref(&column)) > columns {
            table::draw(out, paint, std::mem::replace(&mut part, vec![names()]), columns, JSON);
            out.push('\n');
        }
        part.push(column);
    }
    table::draw(out, paint, part, columns, JSON);
    out.push('\n');
    title(
        out,
        paint,
        "average resident peak",
        "MiB, against the baseline on the same system",
        columns,
    );
    let peaks = across::peaks(targets);
    let mut table = vec![Column::text(
        "",
        0,
        peaks.rows.iter().map(|(system, _)| Cell::plain(system)).collect(),
    )];
    for (place, server) in peaks.heads.iter().enumerate() {
        let cells = peaks.rows.iter().map(|(_, cells)| Cell::plain(&cells[place]));
        table.push(Column::text(server.clone(), 1, cells.collect()));
    }
    table::draw(out, paint, table, columns, JSON);
    out.push('\n');
    let mut notes = vec!["sizes of different systems are different quantities: only ratios are compared".to_owned()];
    notes.extend(across::legend(targets));
    for note in notes {
        paragraph(out, paint, Tone::Quiet, "  ", &note, columns);
    }
}

fn title(out: &mut String, paint: Paint, title: &str, note: &str, columns: usize) {
    let note = cut(note, columns.saturating_sub(width(title) + 2));
    let (title, note) = (paint.paint(Tone::Strong, title), paint.paint(Tone::Quiet, &note));
    line_of(out, format!("{title}  {note}"));
    out.push('\n');
}

/// One comparison; the target is named where there are several of them, or several machines of it.
fn draw(out: &mut String, comparison: &Comparison, target: Option<&Target>, paint: Paint, columns: usize) {
    head(out, comparison, target, paint, columns);
    let mut missed = Vec::new();
    for (figure, name, note) in TABLES {
        let rows: Vec<&Row> = comparison
            .rows
            .iter()
            .filter(|row| row.measure.figure == figure)
            .collect();
        if !rows.is_empty() {
            out.push('\n');
            title(out, paint, name, note, columns);
            missed.extend(table::fit(out, paint, columns_of(comparison, &rows, columns), columns));
        }
    }
    // These tables have the same columns, so that it is said once of them all.
    table::tell(out, paint, &missed, columns, JSON);
    decay_table(out, comparison, paint, columns);
    release_table(out, comparison, paint, columns);
    growth_table(out, comparison, paint, columns);
    calls_table(out, comparison, paint, columns);
    out.push('\n');
    paragraph(out, paint, Tone::Quiet, "  ", &legend(comparison), columns);
    for (weight, text) in notes::notes(comparison) {
        paragraph(out, paint, tone(weight), "  ", &text, columns);
    }
    conclusion(out, comparison, paint, columns);
}

/// What came back while the servers were left alone, if they were.
fn decay_table(out: &mut String, comparison: &Comparison, paint: Paint, columns: usize) {
    let Some(table) = decay::columns(comparison, Named::Once) else {
        return;
    };
    out.push('\n');
    title(out, paint, "what came back", decay::SUBJECT, columns);
    let legend = decay::legend(&table);
    table::draw(out, paint, table, columns, JSON);
    paragraph(out, paint, Tone::Quiet, "  ", &legend, columns);
}

/// What was given back by force before checkpoints, if that was asked for.
fn release_table(out: &mut String, comparison: &Comparison, paint: Paint, columns: usize) {
    if let Some(table) = release::columns(comparison, Named::Once) {
        out.push('\n');
        title(out, paint, "given back", release::SUBJECT, columns);
        table::draw(out, paint, table, columns, JSON);
    }
}

/// What grows from round to round, if anything was repeated.
fn growth_table(out: &mut String, comparison: &Comparison, paint: Paint, columns: usize) {
    let Some(table) = growth::table(comparison) else {
        return;
    };
    out.push('\n');
    title(out, paint, "growth per round", &lines::note(), columns);
    table::draw(out, paint, table, columns, JSON);
}

/// Which memory calls the servers made, if that was traced.
fn calls_table(out: &mut String, comparison: &Comparison, paint: Paint, columns: usize) {
    let Some((table, note)) = calls::table(comparison) else {
        return;
    };
    out.push('\n');
    title(
        out,
        paint,
        crate::report::calls::TITLE,
        "calls and their bytes",
        columns,
    );
    table::draw(out, paint, table, columns, JSON);
    out.push('\n');
    paragraph(out, paint, Tone::Quiet, "  ", &note, columns);
}

fn head(out: &mut String, comparison: &Comparison, target: Option<&Target>, paint: Paint, columns: usize) {
    let place = target.map_or_else(String::new, |target| format!(" on {}", target.name()));
    let servers = crate::units::counted(comparison.sides.len() as u64, "server");
    let title = format!("{}: {servers}{place}", comparison.scenario);
    paragraph(out, paint, Tone::Strong, "", &title, columns);
    out.push('\n');
    let widest = comparison
        .sides
        .iter()
        .map(|side| width(&side.label))
        .max()
        .unwrap_or(0);
    for (place, side) in comparison.sides.iter().enumerate() {
        let mut facts = vec![words::runs(side)];
        if place == 0 && comparison.sides.len() > 1 {
            facts.push("the baseline".to_owned());
        }
        facts.extend(side.version.clone());
        facts.extend(side.preload.as_ref().map(PreloadFacts::words));
        let fill = " ".repeat(widest - width(&side.label));
        let first = format!("  {}{fill}  ", side.label);
        paragraph(out, paint, Tone::Plain, &first, &facts.join(", "), columns);
    }
    if let Some(lens) = target.and_then(|target| lens::words(&target.lens)) {
        paragraph(out, paint, Tone::Quiet, "  lens  ", &lens, columns);
    }
    let machines = target.map_or(&[][..], |target| &target.machines);
    for machine in machines.iter().filter(|_| machines.len() > 1) {
        paragraph(out, paint, Tone::Quiet, "  machine  ", machine, columns);
    }
}

/// A row for each server and place; the strips of one place share their scale.
fn columns_of(comparison: &Comparison, rows: &[&Row], columns: usize) -> Vec<Column> {
    let lines: Vec<(&Row, usize)> = rows
        .iter()
        .flat_map(|row| (0..comparison.sides.len()).map(|side| (*row, side)))
        .collect();
    let cells =
        |cell: &dyn Fn(&Row, usize) -> Cell| lines.iter().map(|(row, side)| cell(row, *side)).collect::<Vec<Cell>>();
    let unit = rows.first().map_or(Unit::Count, |row| row.measure.figure.unit());
    let ratio = |text: fn(&crate::analyse::compare::Ratio) -> Option<String>| {
        cells(&move |row, side| against(&row.cells[side], side, text))
    };
    let mut table = vec![
        Column::text(
            "",
            0,
            cells(&|row, side| match side {
                0 => Cell::toned(Tone::Strong, figures::heading(&row.measure.place)),
                _ => Cell::plain(""),
            }),
        ),
        Column::text(
            "server",
            0,
            cells(&|_, side| Cell::plain(comparison.sides[side].label.clone())),
        ),
        Column::number(
            "median",
            0,
            cells(&|row, side| Cell::plain(figures::median(&row.cells[side], unit))),
        ),
        Column::text(
            "",
            0,
            cells(&|row, side| match figures::end_of(row, side) {
                Some(figures::LEAST) => Cell::toned(Tone::Good, figures::LEAST),
                Some(most) => Cell::toned(Tone::Warning, most),
                None => Cell::plain(""),
            }),
        ),
        Column::text(
            "interval",
            3,
            cells(&|row, side| Cell::toned(Tone::Quiet, figures::interval(&row.cells[side], unit))),
        ),
        Column::text("vs baseline", 1, ratio(figures::difference)),
        Column::text("on each machine", 4, ratio(figures::spread)),
    ];
    table.retain(|column| column.is_filled(HOLE));
    let strip = strip_columns(&table, columns);
    table.push(Column::text(
        "runs",
        2,
        cells(&|row, side| Cell::plain(strip_of(row, side, strip))),
    ));
    table
}

/// What the other columns leave, or would leave if the widest that may go went.
fn strip_columns(table: &[Column], columns: usize) -> usize {
    const GAP: usize = 2;
    let left = columns.saturating_sub(table::width_of(table) + GAP);
    if left >= STRIP.1 {
        return left.min(STRIP.0);
    }
    let kept: usize = columns.saturating_sub(table::width_without(table, 3) + GAP);
    kept.clamp(STRIP.1, STRIP.0)
}

fn against(cell: &Figures, side: usize, text: fn(&crate::analyse::compare::Ratio) -> Option<String>) -> Cell {
    let Some(ratio) = cell.ratio.as_ref().filter(|_| side > 0) else {
        return Cell::toned(Tone::Quiet, if side > 0 { HOLE } else { "" });
    };
    Cell::toned(figures::tone(ratio), text(ratio).unwrap_or_else(|| HOLE.to_owned()))
}

fn strip_of(row: &Row, side: usize, columns: usize) -> String {
    let all = || row.cells.iter().flat_map(|cell| cell.values.iter().flatten().copied());
    let low = all().fold(f64::INFINITY, f64::min);
    let high = all().fold(f64::NEG_INFINITY, f64::max);
    strip::draw(row.cells[side].values.iter().flatten().copied(), low, high, columns)
}

/// What the signs of the tables mean, as far as they are there.
fn legend(comparison: &Comparison) -> String {
    let cells = || comparison.rows.iter().flat_map(|row| &row.cells);
    let others = || comparison.rows.iter().flat_map(|row| row.cells.iter().skip(1));
    let mut parts = vec!["intervals at 95 %, of the median and of the ratio to the baseline".to_owned()];
    if cells().any(|cell| cell.median.is_some_and(|median| median.n > 1 && !median.reached)) {
        parts.push(format!("{MARK} all runs, which are too few for that"));
    }
    parts.extend(figures::rounds(comparison));
    parts.extend(figures::ends(&comparison.rows));
    parts.push("runs: · is one, a digit so many, the servers of one place on one scale".to_owned());
    if cells().any(|cell| cell.median.is_none()) || others().any(|cell| cell.ratio.is_none()) {
        parts.push(format!("{HOLE} not known, of 0, or of less than 2 runs"));
    }
    parts.join("; ")
}

/// Each server against the baseline: unequal work first, because it may take the worth from all the rest.
fn conclusion(out: &mut String, comparison: &Comparison, paint: Paint, columns: usize) {
    let Some(baseline) = comparison.sides.first() else {
        return;
    };
    if let Some(sentence) = words::no_run_counts(comparison) {
        out.push('\n');
        return paragraph(out, paint, Tone::Bad, "", &sentence, columns);
    }
    if let Some(sentence) = alone::kept(comparison) {
        out.push('\n');
        paragraph(out, paint, Tone::Strong, "", &sentence, columns);
    }
    for (place, side) in comparison.sides.iter().enumerate().skip(1) {
        out.push('\n');
        for (weight, text) in notes::work(side, &baseline.label) {
            paragraph(out, paint, tone(weight), "", &text, columns);
        }
        for sentence in words::verdict(comparison, place) {
            paragraph(out, paint, Tone::Strong, "", &sentence, columns);
        }
    }
    for sentences in [
        decay::verdict(comparison),
        release::verdict(comparison),
        growth::verdict(comparison),
        calls::verdict(comparison),
    ] {
        if !sentences.is_empty() {
            out.push('\n');
        }
        for sentence in sentences {
            paragraph(out, paint, Tone::Strong, "", &sentence, columns);
        }
    }
}

fn tone(weight: Weight) -> Tone {
    match weight {
        Weight::Warning => Tone::Warning,
        Weight::Bad => Tone::Bad,
    }
}
