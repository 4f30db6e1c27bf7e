//! Commands that were run to their end, side by side: one table for each project, and one for each figure over all projects.

use std::collections::BTreeSet;

use crate::document::{Matrix, MatrixCell, MatrixRow, Section, Weight};
use analysis::compare::{Cell, Comparison, Played, Ratio, Row, Scenarios};
use analysis::figures::{Figure, Measure, MeasuredPart};
use base::text::table::Table;
use base::text::{Sentence, Tone};
use stats::Arm;

use super::figures::{self, HOLE};
use super::words;

/// Figures of the joined tables, before those that the commands print.
const JOINED: [Figure; 4] = [Figure::Wall, Figure::User, Figure::System, Figure::Peak];

/// A smaller difference of wall times is none for a command that runs for a fixed time.
const FIXED: f64 = 0.02;

/// Sentences about differences in one project.
pub const OF_ONE: [&str; 2] = ["cold.time", "compare.difference"];

const LEGEND: &str = "times: ratio of geometric means of wall time to the first command, with its 95 % interval; peak: \
                      the kernel's mark of the largest process, of a tree at least its sampled sum; user and system: \
                      their sum is exact, the split goes by ticks; range: of all counted runs";

/// True if commands were run to their end, and no servers.
pub fn are_commands(comparison: &Comparison) -> bool {
    comparison.rows.iter().any(|row| row.measure.figure == Figure::Wall)
}

fn of_run(figure: Figure) -> Measure {
    Measure {
        place: MeasuredPart::Run,
        figure,
    }
}

fn cell(comparison: &Comparison, figure: Figure, side: usize) -> Option<&Cell> {
    comparison.row(&of_run(figure))?.cells.get(side)
}

/// The ratio of a command's wall time to that of the first.
fn time_ratio(comparison: &Comparison, side: usize) -> Option<&Ratio> {
    cell(comparison, Figure::Wall, side)?.ratio.as_ref()
}

/// The figures that the commands printed, the one that is known best first, without those that never vary.
pub fn printed_rows(comparison: &Comparison) -> Vec<&Row> {
    let mut printed: Vec<&Row> = comparison
        .rows
        .iter()
        .filter(|row| row.measure.figure == Figure::Printed && varies(row))
        .collect();
    printed.sort_by(|a, b| vagueness(a).total_cmp(&vagueness(b)));
    printed
}

/// True if the runs of all commands have different values.
fn varies(row: &Row) -> bool {
    let mut values = row.cells.iter().flat_map(|cell| cell.values.iter().flatten());
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// The widest interval of a figure, as a share of its median.
fn vagueness(row: &Row) -> f64 {
    let medians = row.cells.iter().filter_map(|cell| cell.median);
    let shares = medians.map(|median| (median.high - median.low) / median.median.abs().max(f64::MIN_POSITIVE));
    shares.fold(0.0, f64::max)
}

/// Sentences about the wall time of each command against the first, and about the figures that they printed.
pub fn verdict(comparison: &Comparison) -> Vec<Sentence> {
    let Some((first, others)) = comparison.sides.split_first() else {
        return Vec::new();
    };
    // Commands that ran at once took each other's time.
    if comparison.is_shared() {
        return Vec::new();
    }
    let printed = printed_rows(comparison);
    let mut sentences = Vec::new();
    for (place, side) in (1..).zip(others) {
        let mut texts = Vec::new();
        if let Some(ratio) = time_ratio(comparison, place) {
            // A command that prints figures of its own may run for a fixed time.
            if printed.is_empty() || ratio.differs() {
                texts.push(time_in_words(ratio, &first.label));
            }
        }
        texts.extend(printed_in_words(&printed, place));
        for text in texts {
            let text = format!("{}: {text}", side.label);
            sentences.push(Sentence::answer("cold.time", Tone::Strong, text));
        }
    }
    sentences
}

fn time_in_words(ratio: &Ratio, first: &str) -> String {
    if ratio.differs() {
        format!("{} times the wall time of {first}", ratio_and_times(ratio))
    } else {
        format!("{} against {first} ({})", undecided(ratio, "wall time"), times(ratio))
    }
}

/// The printed figures that differ. If none does, the first figure that can be compared: who had figures collected
/// hears of one in any case.
fn printed_in_words(printed: &[&Row], side: usize) -> Option<String> {
    let mut differing = Vec::new();
    let mut open = None;
    for row in printed {
        let Some(ratio) = &row.cells[side].ratio else { continue };
        let Some(difference) = figures::difference(ratio) else {
            continue;
        };
        let name = row.measure.place.name();
        if ratio.differs() {
            differing.push(format!("{name} {difference}"));
        } else if open.is_none() {
            open = Some(format!("{} ({difference})", undecided(ratio, name)));
        }
    }
    if differing.is_empty() {
        open
    } else {
        Some(differing.join(", "))
    }
}

/// Words for a figure whose difference is not shown.
fn undecided(ratio: &Ratio, figure: &str) -> String {
    if ratio.excludes_large() {
        format!("no measurable difference in {figure}")
    } else {
        format!("not known without more runs: {figure}")
    }
}

/// Digits behind the point that tell a ratio and its interval from 1.
fn digits(ratio: &Ratio) -> usize {
    let mut farthest = 0.0_f64;
    for value in [ratio.low, ratio.ratio, ratio.high] {
        farthest = farthest.max((value - 1.0).abs());
    }
    digits_at(farthest)
}

/// Digits behind the point of a number at this distance from 1.
fn digits_at(distance: f64) -> usize {
    if distance.abs() < 0.02 { 3 } else { 2 }
}

/// `1.04–1.06`
fn times(ratio: &Ratio) -> String {
    let digits = digits(ratio);
    figures::span(&format!("{:.digits$}", ratio.low), &format!("{:.digits$}", ratio.high))
}

/// `1.05 (1.04–1.06)`
fn ratio_and_times(ratio: &Ratio) -> String {
    format!("{:.*} ({})", digits(ratio), ratio.ratio, times(ratio))
}

/// A line for each command: its times, its peak, and its time against the first.
pub fn table(comparison: &Comparison, id: &str, name: &str) -> Section {
    let sides: Vec<(usize, &str)> = comparison
        .sides
        .iter()
        .map(|side| side.label.as_str())
        .enumerate()
        .collect();
    let printed = printed_rows(comparison);
    let mut ratios = sides.iter().filter_map(|(side, _)| time_ratio(comparison, *side));
    let is_timed = printed.is_empty() || ratios.any(Ratio::differs);
    // If commands run for a fixed time, a narrow terminal shows the figures that they print.
    let (time_rank, printed_rank) = if is_timed { (0, 1) } else { (2, 0) };
    let mut table = Table::new(&sides)
        .text("command", 0, |(_, label)| *label)
        .number("wall", time_rank, |(side, _)| {
            figure_text(comparison, *side, Figure::Wall)
        })
        .number("times", time_rank, |(side, _)| ratio_text(comparison, *side))
        .number("peak, MiB", 1, |(side, _)| figure_text(comparison, *side, Figure::Peak));
    for (place, row) in printed.iter().enumerate() {
        let rank = if place == 0 { printed_rank } else { 1 };
        table = table.number(row.measure.place.name().to_owned(), rank, |(side, _)| {
            figures::with_interval(&row.cells[*side], Figure::Printed.unit())
        });
    }
    let table = table
        .number("user", 2, |(side, _)| figure_text(comparison, *side, Figure::User))
        .number("system", 2, |(side, _)| figure_text(comparison, *side, Figure::System))
        .number("range", 3, |(side, _)| range(comparison, *side))
        .number("faults", 4, |(side, _)| figure_text(comparison, *side, Figure::Faults))
        .number("switches", 5, |(side, _)| {
            figure_text(comparison, *side, Figure::Switches)
        });
    let title = match name {
        "" => "Time and peak memory".to_owned(),
        name => format!("Time and peak memory, {name}"),
    };
    Section::new(format!("{id}cold"), title, Weight::Answer)
        .noted(format!("medians with {}", figures::intervals(&comparison.rows)))
        .with_block(table.columns())
        .with_block(Sentence::definition(
            "cold.legend",
            format!("{}{LEGEND}", coldness(comparison)),
        ))
}

fn figure_text(comparison: &Comparison, side: usize, figure: Figure) -> String {
    match cell(comparison, figure, side) {
        Some(cell) => figures::with_interval(cell, figure.unit()),
        None => HOLE.to_owned(),
    }
}

/// The ratio of wall times to the first command, which is itself 1.
fn ratio_text(comparison: &Comparison, side: usize) -> String {
    match time_ratio(comparison, side) {
        Some(ratio) => ratio_and_times(ratio),
        None if side == 0 => "1".to_owned(),
        None => HOLE.to_owned(),
    }
}

/// From the shortest to the longest wall time of a command, in the unit of the longest.
fn range(comparison: &Comparison, side: usize) -> String {
    let Some(cell) = cell(comparison, Figure::Wall, side) else {
        return HOLE.to_owned();
    };
    let values: Vec<f64> = cell.values.iter().flatten().copied().collect();
    let shortest = values.iter().copied().reduce(f64::min);
    let longest = values.iter().copied().reduce(f64::max);
    let (Some(shortest), Some(longest)) = (shortest, longest) else {
        return HOLE.to_owned();
    };
    let unit = Figure::Wall.unit();
    figures::span(
        &figures::value_like(shortest, unit, longest),
        &figures::value_like(longest, unit, longest),
    )
}

/// The state of the page cache, for the legend.
fn coldness(comparison: &Comparison) -> &'static str {
    match comparison.page_cache_dropped {
        Some(true) => "page cache emptied before each run; ",
        Some(false) => "page cache warm; ",
        None => "",
    }
}

/// Over several projects a table for each figure: a row for each project, a column for each command. Commands under
/// several allocators are rows too.
pub fn joined(scenarios: &Scenarios, runs: &[Played]) -> Vec<Section> {
    let Some((all, heads)) = projects(scenarios) else {
        return Vec::new();
    };
    let first_head = kind(&all, runs);
    let of_all = format!("all {first_head}s");
    let intervals = figures::intervals(all.iter().flat_map(|comparison| &comparison.rows));
    let mut sections = Vec::new();
    let measures = JOINED.map(of_run).into_iter().chain(all_printed(&all));
    for (number, measure) in measures.enumerate() {
        let title = match (&measure.place, measure.figure) {
            (MeasuredPart::Printed(name), _) => format!("{name}, {of_all}"),
            // A command has one phase.
            (_, Figure::Peak) => format!("Peak memory, MiB, {of_all}"),
            (_, figure) => format!("{}, {of_all}", figure.caption()),
        };
        let matrix = Matrix {
            crossed: true,
            caption: title.clone(),
            first: first_head.to_owned(),
            heads: heads.clone(),
            colored: 0,
            rows: joined_rows(&all, &heads, &measure),
        };
        let section = Section::new(format!("cold-all-{number}"), title, Weight::Answer)
            .noted(format!("medians with {intervals}"))
            .with_block(matrix);
        sections.push(section);
    }
    sections
}

/// A row for each project, and rows of the geometric means over all projects.
fn joined_rows(all: &[&Comparison], heads: &[String], measure: &Measure) -> Vec<MatrixRow> {
    let mut rows = Vec::new();
    for comparison in all {
        if let Some(row) = comparison.row(measure) {
            rows.push(MatrixRow {
                place: comparison.scenario.clone(),
                cells: heads.iter().map(|head| joined_cell(comparison, row, head)).collect(),
            });
        }
    }
    let means: Vec<Option<f64>> = heads.iter().map(|head| mean(all, measure, head)).collect();
    rows.push(row_of_means("geometric mean", &means, |mean| {
        figures::value(mean, measure.figure.unit())
    }));
    if let Some(Some(first)) = means.first() {
        rows.push(row_of_means("ratio", &means, |mean| format!("{:.2}", mean / first)));
    }
    rows
}

/// Conclusions over all projects: for each command the ratio of geometric means to the first command, and in how many projects
/// a difference is shown. Empty for a single project, for several systems or lenses, and where a command is not compared in one
/// of them.
pub fn over_all(scenarios: &Scenarios, runs: &[Played]) -> Vec<Sentence> {
    if !is_one_target(scenarios) {
        return Vec::new();
    }
    let Some((all, heads)) = projects(scenarios) else {
        return Vec::new();
    };
    let others = &heads[1..];
    for comparison in &all {
        if !others.iter().all(|head| is_compared(comparison, head)) {
            return Vec::new();
        }
    }
    let (printed, measures) = measures_over_all(&all, &heads);
    let of_first = format!(
        " of {} in the geometric mean of {} {}s",
        heads[0],
        all.len(),
        kind(&all, runs)
    );
    let mut sentences = Vec::new();
    for head in others {
        let mut parts: Vec<String> = Vec::new();
        for measure in &measures {
            let Some(ratio) = ratio_of_means(&all, measure, head, &heads[0]) else {
                continue;
            };
            // Commands that print figures of their own may run for a fixed time.
            let is_fixed_time = !printed.is_empty() && measure.figure == Figure::Wall && (ratio - 1.0).abs() < FIXED;
            if is_fixed_time {
                continue;
            }
            let of_first = if parts.is_empty() { of_first.as_str() } else { "" };
            let name = name_over_all(measure);
            let digits = digits_at(ratio - 1.0);
            let shown = projects_with_difference(&all, measure, head);
            parts.push(format!("{ratio:.digits$} times the {name}{of_first} ({shown})"));
        }
        let text = format!("{head}: {}", parts.join(", "));
        sentences.push(Sentence::answer("cold.over-all", Tone::Strong, text));
    }
    sentences
}

/// The figures that have a mean over all projects for every command: first the printed ones alone, then all.
fn measures_over_all(all: &[&Comparison], heads: &[String]) -> (Vec<Measure>, Vec<Measure>) {
    let mut printed = all_printed(all);
    printed.retain(|measure| is_known_for_all(all, heads, measure));
    let mut measures = printed.clone();
    if !all.iter().any(|comparison| comparison.is_shared()) {
        measures.push(of_run(Figure::Wall));
    }
    measures.push(of_run(Figure::Peak));
    measures.retain(|measure| is_known_for_all(all, heads, measure));
    (printed, measures)
}

fn is_known_for_all(all: &[&Comparison], heads: &[String], measure: &Measure) -> bool {
    heads.iter().all(|head| mean(all, measure, head).is_some())
}

fn ratio_of_means(all: &[&Comparison], measure: &Measure, head: &str, first: &str) -> Option<f64> {
    Some(mean(all, measure, head)? / mean(all, measure, first)?)
}

fn name_over_all(measure: &Measure) -> &str {
    match &measure.place {
        MeasuredPart::Printed(name) => name,
        _ if measure.figure == Figure::Wall => "wall time",
        _ => "resident peak",
    }
}

/// True if the report compares a command with the first one.
fn is_compared(comparison: &Comparison, head: &str) -> bool {
    place(comparison, head)
        .is_some_and(|place| time_ratio(comparison, place).is_some() && !words::is_refused(comparison, place))
}

fn is_one_target(scenarios: &Scenarios) -> bool {
    let mut names = scenarios.values().map(|targets| match targets.as_slice() {
        [target] => Some(target.name()),
        _ => None,
    });
    let first = names.next().flatten();
    first.is_some() && names.all(|name| name == first)
}

/// In how many projects a command is shown to differ from the first.
fn projects_with_difference(all: &[&Comparison], measure: &Measure, head: &str) -> String {
    let (mut lower, mut higher) = (0, 0);
    for comparison in all {
        match ratio_in_project(comparison, measure, head) {
            Some(ratio) if ratio.differs() && ratio.ratio < 1.0 => lower += 1,
            Some(ratio) if ratio.differs() => higher += 1,
            _ => {}
        }
    }
    match (lower, higher) {
        (0, 0) => "no difference shown".to_owned(),
        (lower, 0) => format!("shown lower in {lower}"),
        (0, higher) => format!("shown higher in {higher}"),
        (lower, higher) => format!("shown lower in {lower}, higher in {higher}"),
    }
}

fn ratio_in_project<'c>(comparison: &'c Comparison, measure: &Measure, head: &str) -> Option<&'c Ratio> {
    let side = place(comparison, head)?;
    comparison.row(measure)?.cells.get(side)?.ratio.as_ref()
}

/// Each project once, with all commands: machines and lenses have tables of their own. `None` for a single project, or if
/// servers were run.
fn projects(scenarios: &Scenarios) -> Option<(Vec<&Comparison>, Vec<String>)> {
    let first_target = scenarios.values().filter_map(|targets| targets.first());
    let all: Vec<&Comparison> = first_target.map(|target| &target.comparison).collect();
    if all.len() < 2 || !all.iter().all(|comparison| are_commands(comparison)) {
        return None;
    }
    // A project whose runs were cut off may lack commands.
    let mut heads: Vec<String> = Vec::new();
    for side in all.iter().flat_map(|comparison| &comparison.sides) {
        if !heads.contains(&side.label) {
            heads.push(side.label.clone());
        }
    }
    Some((all, heads))
}

/// The kind of thing in the rows of joined tables: a project may have a row for each of several commands.
fn kind(all: &[&Comparison], runs: &[Played]) -> &'static str {
    if runs.iter().all(|run| run.summary.header.workspace.is_original()) {
        return "command";
    }
    let projects: BTreeSet<&str> = runs
        .iter()
        .map(|run| run.summary.header.workspace.path.as_str())
        .collect();
    if projects.len() < all.len() { "case" } else { "project" }
}

/// Every figure that commands of any project printed.
fn all_printed(all: &[&Comparison]) -> Vec<Measure> {
    let mut measures: Vec<Measure> = Vec::new();
    for row in all.iter().flat_map(|comparison| printed_rows(comparison)) {
        if !measures.contains(&row.measure) {
            measures.push(row.measure.clone());
        }
    }
    measures
}

/// The place of a command among the sides.
fn place(comparison: &Comparison, label: &str) -> Option<usize> {
    comparison.sides.iter().position(|side| side.label == label)
}

/// A figure of a command; a hole where a project has no run of it.
fn joined_cell(comparison: &Comparison, row: &Row, label: &str) -> MatrixCell {
    match place(comparison, label) {
        Some(side) => figures::cell(row, side),
        None => MatrixCell {
            median: HOLE.to_owned(),
            ..MatrixCell::default()
        },
    }
}

/// The geometric mean of a command's medians; `None` if one is unknown or zero.
fn mean(all: &[&Comparison], measure: &Measure, label: &str) -> Option<f64> {
    let medians: Vec<Option<f64>> = all
        .iter()
        .map(|comparison| {
            let side = place(comparison, label)?;
            let cell = comparison.row(measure)?.cells.get(side)?;
            Some(cell.median?.median)
        })
        .collect();
    Arm::of_runs(&medians).ok().map(|arm| arm.geometric_mean())
}

/// A row with a text for the mean of each command.
fn row_of_means(place: &str, means: &[Option<f64>], text: impl Fn(f64) -> String) -> MatrixRow {
    let mut cells = Vec::new();
    for mean in means {
        cells.push(MatrixCell {
            median: mean.map_or_else(|| HOLE.to_owned(), &text),
            ..MatrixCell::default()
        });
    }
    MatrixRow {
        place: place.to_owned(),
        cells,
    }
}
