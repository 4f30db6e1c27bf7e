//! A comparison as a person reads it in a terminal.

use crate::analyse::compare::{Cell as Figures, Comparison, Figure, Inequality, Place, Row, Side, Target, Unit, Why};
use crate::lens::Lens;
use crate::report::ascii::ascii;
use crate::report::growth as lines;
use crate::report::lens;
use crate::report::table::{self, Cell, Column};
use crate::report::terminal::Look;
use crate::report::text::{Paint, Tone, line_of, paragraph};
use crate::units;

use super::{figures, growth, strip, words};

/// Columns of a strip of runs.
const STRIP: usize = 24;

/// Tables in the order in which they are read, the verdict last, where a terminal leaves the eye.
const TABLES: [(Figure, &str, &str); 6] = [
    (Figure::Private, "private memory", "at checkpoints"),
    (Figure::Peak, "resident peak", "within phases"),
    (Figure::Cpu, "CPU time", "of the process tree"),
    (Figure::Faults, "minor page faults", "of the process tree"),
    (Figure::P50, "median latency", "by method"),
    (Figure::P95, "95th percentile of latency", "by method"),
];

/// The servers on each target, one target after the other.
pub fn render(targets: &[Target], look: Look) -> String {
    let columns = look.columns.clamp(40, 160);
    let paint = Paint(look.color);
    let mut out = String::new();
    for target in targets {
        if !out.is_empty() {
            out.push('\n');
        }
        let several =
            (targets.len() > 1 || target.machines.len() > 1 || target.lens.name == Lens::Purged).then_some(target);
        draw(&mut out, &target.comparison, several, paint, columns);
    }
    if look.ascii { ascii(&out) } else { out }
}

/// One comparison; the target is named where there are several of them, or several machines of it.
fn draw(out: &mut String, comparison: &Comparison, target: Option<&Target>, paint: Paint, columns: usize) {
    head(out, comparison, target, paint, columns);
    for (figure, title, note) in TABLES {
        let rows: Vec<&Row> = comparison
            .rows
            .iter()
            .filter(|row| row.measure.figure == figure)
            .collect();
        if rows.is_empty() {
            continue;
        }
        out.push('\n');
        let unit = match figure.unit() {
            Unit::Bytes => "MiB, ",
            Unit::Nanos | Unit::Count => "",
        };
        line_of(
            out,
            format!(
                "{}  {}",
                paint.paint(Tone::Strong, title),
                paint.paint(Tone::Quiet, &format!("{unit}{note}"))
            ),
        );
        out.push('\n');
        table::draw(out, paint, columns_of(comparison, &rows), columns);
    }
    growth_table(out, comparison, paint, columns);
    notes(out, comparison, paint, columns);
    out.push('\n');
    for sentence in words::verdict(comparison) {
        paragraph(out, paint, Tone::Strong, "", &sentence, columns);
    }
}

/// What grows from round to round, if anything was repeated.
fn growth_table(out: &mut String, comparison: &Comparison, paint: Paint, columns: usize) {
    let rows = growth::lines(comparison);
    if rows.is_empty() {
        return;
    }
    out.push('\n');
    line_of(
        out,
        format!(
            "{}  {}",
            paint.paint(Tone::Strong, "growth per round"),
            paint.paint(Tone::Quiet, &lines::note())
        ),
    );
    out.push('\n');
    let cells = |cell: &dyn Fn(&lines::Line) -> Cell| rows.iter().map(cell).collect::<Vec<Cell>>();
    let mut table = vec![
        Column::text("", 0, cells(&|line| Cell::toned(Tone::Strong, &line.name))),
        Column::text("server", 0, cells(&|line| Cell::plain(&line.server))),
    ];
    table.extend(lines::columns(&rows));
    table.push(Column::text(
        "",
        1,
        cells(&|line| Cell::toned(line.tone(), line.answer())),
    ));
    table::draw(out, paint, table, columns);
}

fn head(out: &mut String, comparison: &Comparison, target: Option<&Target>, paint: Paint, columns: usize) {
    let place = target.map_or_else(String::new, |target| format!(" on {}", target.name()));
    let title = format!("{}: {} servers{place}", comparison.scenario, comparison.sides.len());
    line_of(out, paint.paint(Tone::Strong, &title));
    out.push('\n');
    for (place, side) in comparison.sides.iter().enumerate() {
        let role = if place == 0 { ", the baseline" } else { "" };
        let text = format!("{}{role}{}", runs(side), version(side));
        paragraph(out, paint, Tone::Plain, &format!("  {}  ", side.label), &text, columns);
    }
    if let Some(lens) = target.and_then(|target| lens::words(&target.lens)) {
        paragraph(out, paint, Tone::Quiet, "  lens  ", &lens, columns);
    }
    for machine in target
        .iter()
        .filter(|target| target.machines.len() > 1)
        .flat_map(|target| &target.machines)
    {
        paragraph(out, paint, Tone::Quiet, "  machine  ", machine, columns);
    }
}

fn runs(side: &Side) -> String {
    let mut text = match side.runs.len() {
        1 => "1 run".to_owned(),
        runs => format!("{} runs", units::count(runs as u64)),
    };
    for (why, what) in [
        (Why::WarmUp, "for warming up"),
        (Why::Failed, "failed"),
        (Why::Unfinished, "not finished"),
    ] {
        let left = side.left.iter().filter(|left| left.why == why).count() as u64;
        if left > 0 {
            text.push_str(&format!(" + {} {what}", units::count(left)));
        }
    }
    text
}

fn version(side: &Side) -> String {
    side.version
        .as_ref()
        .map_or_else(String::new, |version| format!(", {version}"))
}

/// A row for each server and place; the strips of one place share their scale.
fn columns_of(comparison: &Comparison, rows: &[&Row]) -> Vec<Column> {
    let lines: Vec<(&Row, usize)> = rows
        .iter()
        .flat_map(|row| (0..comparison.sides.len()).map(|side| (*row, side)))
        .collect();
    let cells =
        |cell: &dyn Fn(&Row, usize) -> Cell| lines.iter().map(|(row, side)| cell(row, *side)).collect::<Vec<Cell>>();
    let unit = rows.first().map_or(Unit::Count, |row| row.measure.figure.unit());
    vec![
        Column::text(
            "",
            0,
            cells(&|row, side| if side == 0 { place(row) } else { Cell::plain("") }),
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
            "interval",
            3,
            cells(&|row, side| Cell::toned(Tone::Quiet, figures::interval(&row.cells[side], unit))),
        ),
        Column::text(
            "against the baseline",
            1,
            cells(&|row, side| against(&row.cells[side], side)),
        ),
        Column::text("runs", 2, cells(&|row, side| Cell::plain(runs_of(row, side)))),
    ]
}

fn place(row: &Row) -> Cell {
    Cell::toned(
        Tone::Strong,
        match &row.measure.place {
            Place::Phase { name, .. } => name.clone(),
            Place::Run => "whole run".to_owned(),
            Place::Method(method) => method.clone(),
        },
    )
}

fn against(cell: &Figures, side: usize) -> Cell {
    match &cell.ratio {
        _ if side == 0 => Cell::plain(""),
        None => Cell::toned(Tone::Quiet, units::UNKNOWN),
        Some(ratio) => {
            let tone = match ratio {
                ratio if ratio.low > 1.0 => Tone::Warning,
                ratio if ratio.high < 1.0 => Tone::Good,
                _ => Tone::Quiet,
            };
            Cell::toned(
                tone,
                format!("{}{}", words::range(ratio.low, ratio.high), words::spread(ratio)),
            )
        }
    }
}

fn runs_of(row: &Row, side: usize) -> String {
    let all = || row.cells.iter().flat_map(|cell| cell.values.iter().flatten().copied());
    let low = all().fold(f64::INFINITY, f64::min);
    let high = all().fold(f64::NEG_INFINITY, f64::max);
    strip::draw(row.cells[side].values.iter().flatten().copied(), low, high, STRIP)
}

/// What must be known to read the tables right.
fn notes(out: &mut String, comparison: &Comparison, paint: Paint, columns: usize) {
    let mut notes = vec![(
        Tone::Quiet,
        "intervals are of the median and of the ratio, at 95 %; runs: · is one, a digit so many, each place on one scale"
            .to_owned(),
    )];
    for side in &comparison.sides {
        notes.extend(
            side.work
                .iter()
                .map(|work| (tone(work), figures::work(&side.label, work))),
        );
    }
    for row in &comparison.rows {
        for (side, cell) in comparison.sides.iter().zip(&row.cells) {
            notes.extend(figures::groups(&side.label, row, cell).map(|text| (Tone::Warning, text)));
            notes.extend(figures::outliers(side, row, cell).map(|text| (Tone::Warning, text)));
        }
    }
    for difference in &comparison.differences {
        let text = format!(
            "the runs differ in {}: {}",
            difference.what,
            difference.values.join(", ")
        );
        notes.push((if difference.decisive { Tone::Bad } else { Tone::Warning }, text));
    }
    out.push('\n');
    for (tone, text) in notes {
        paragraph(out, paint, tone, "  ", &text, columns);
    }
}

fn tone(work: &Inequality) -> Tone {
    if work.is_less() { Tone::Bad } else { Tone::Warning }
}
