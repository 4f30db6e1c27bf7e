//! Commands that were run to their end, side by side: one table for each project, and one for each figure over all projects.

use std::collections::BTreeSet;

use crate::document::{Matrix, MatrixCell, MatrixRow, Section, Weight};
use analysis::compare::{Cell, Comparison, Played, Ratio, Row, Scenarios};
use analysis::figures::{Figure, Measure, Place};
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

/// Whether these are commands.
pub fn are_commands(comparison: &Comparison) -> bool {
    comparison.rows.iter().any(|row| row.measure.figure == Figure::Wall)
}

fn of_run(figure: Figure) -> Measure {
    Measure {
        place: Place::Run,
        figure,
    }
}

fn cell(comparison: &Comparison, figure: Figure, side: usize) -> Option<&Cell> {
    comparison.row(&of_run(figure))?.cells.get(side)
}

/// How the wall time of a command compares with that of the first.
fn time(comparison: &Comparison, side: usize) -> Option<&Ratio> {
    cell(comparison, Figure::Wall, side)?.ratio.as_ref()
}

/// What the commands printed, the figure that is known best first, without what is the same in all runs.
pub fn printed(comparison: &Comparison) -> Vec<&Row> {
    let varies = |row: &&Row| {
        let mut values = row.cells.iter().flat_map(|cell| cell.values.iter().flatten());
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let printed = comparison
        .rows
        .iter()
        .filter(|row| row.measure.figure == Figure::Printed);
    let mut printed: Vec<&Row> = printed.filter(varies).collect();
    printed.sort_by(|one, other| vagueness(one).total_cmp(&vagueness(other)));
    printed
}

/// The widest interval of a figure, as a share of its median.
fn vagueness(row: &Row) -> f64 {
    let medians = row.cells.iter().filter_map(|cell| cell.median);
    let shares = medians.map(|median| (median.high - median.low) / median.median.abs().max(f64::MIN_POSITIVE));
    shares.fold(0.0, f64::max)
}

/// How long each command took against the first one, and how far what it printed differs.
pub fn verdict(comparison: &Comparison) -> Vec<Sentence> {
    // Commands that ran at once took each other's time.
    let Some(first) = comparison.sides.first().filter(|_| !comparison.is_shared()) else {
        return Vec::new();
    };
    let printed = printed(comparison);
    let others = comparison.sides.iter().enumerate().skip(1);
    let sentences = others.flat_map(|(place, side)| {
        // What prints figures of its own may run for a fixed time.
        let ratio = time(comparison, place).filter(|ratio| printed.is_empty() || ratio.differs());
        let time = ratio.map(|ratio| {
            if ratio.differs() {
                return format!("{} times the wall time of {}", ratio_and_times(ratio), first.label);
            }
            let what = undecided(ratio, "wall time");
            format!("{what} against {} ({})", first.label, times(ratio))
        });
        let shown = printed.iter().filter_map(|row| {
            let ratio = row.cells[place].ratio.as_ref().filter(|ratio| ratio.differs())?;
            Some(format!("{} {}", row.measure.place.name(), figures::difference(ratio)?))
        });
        let shown: Vec<String> = shown.collect();
        // Who asked for figures hears of one in any case.
        let open = printed.iter().filter(|_| shown.is_empty()).find_map(|row| {
            let ratio = row.cells[place].ratio.as_ref()?;
            let difference = figures::difference(ratio)?;
            Some(format!("{} ({difference})", undecided(ratio, row.measure.place.name())))
        });
        let shown = (!shown.is_empty()).then(|| shown.join(", "));
        let texts: Vec<String> = time.into_iter().chain(shown).chain(open).collect();
        let texts = texts.into_iter().map(|text| format!("{}: {text}", side.label));
        texts
            .map(|text| Sentence::answer("cold.time", Tone::Strong, text))
            .collect::<Vec<_>>()
    });
    sentences.collect()
}

/// What is said of a figure whose difference is not shown.
fn undecided(ratio: &Ratio, figure: &str) -> String {
    if ratio.excludes_large() {
        format!("no measurable difference in {figure}")
    } else {
        format!("not known without more runs: {figure}")
    }
}

/// Digits behind the point that tell a ratio from 1.
fn digits(ratio: &Ratio) -> usize {
    let distances = [ratio.low, ratio.ratio, ratio.high].map(|one| one - 1.0);
    digits_of(distances.into_iter().fold(0.0, |farthest, one| one.abs().max(farthest)))
}

/// Of a number this far from 1.
fn digits_of(distance: f64) -> usize {
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
    let of = |figure: Figure| {
        move |(side, _): &(usize, &str)| {
            let cell = cell(comparison, figure, *side);
            cell.map_or_else(|| HOLE.to_owned(), |cell| figures::with_interval(cell, figure.unit()))
        }
    };
    let ratio = |(side, _): &(usize, &str)| match time(comparison, *side) {
        None if *side == 0 => "1".to_owned(),
        None => HOLE.to_owned(),
        Some(ratio) => ratio_and_times(ratio),
    };
    let printed = printed(comparison);
    let mut times = sides.iter().filter_map(|(side, _)| time(comparison, *side));
    let is_timed = printed.is_empty() || times.any(Ratio::differs);
    // Of what runs for a fixed time a narrow terminal shows what it printed.
    let (of_time, of_printed) = if is_timed { (0, 1) } else { (2, 0) };
    let mut table = Table::new(&sides)
        .text("command", 0, |(_, label)| *label)
        .number("wall", of_time, of(Figure::Wall))
        .number("times", of_time, ratio)
        .number("peak, MiB", 1, of(Figure::Peak));
    for (place, row) in printed.iter().enumerate() {
        let text = |(side, _): &(usize, &str)| figures::with_interval(&row.cells[*side], Figure::Printed.unit());
        let rank = if place == 0 { of_printed } else { 1 };
        table = table.number(row.measure.place.name().to_owned(), rank, text);
    }
    let table = table
        .number("user", 2, of(Figure::User))
        .number("system", 2, of(Figure::System))
        .number("range", 3, |(side, _): &(usize, &str)| range(comparison, *side))
        .number("faults", 4, of(Figure::Faults))
        .number("switches", 5, of(Figure::Switches));
    let title = match name {
        "" => "Time and peak memory".to_owned(),
        name => format!("Time and peak memory, {name}"),
    };
    Section::new(format!("{id}cold"), title, Weight::Answer)
        .noted(format!("medians with {}", figures::intervals(&comparison.rows)))
        .with(table.columns())
        .with(Sentence::definition(
            "cold.legend",
            format!("{}{LEGEND}", coldness(comparison)),
        ))
}

/// From the shortest to the longest wall time of a command.
fn range(comparison: &Comparison, side: usize) -> String {
    let values = cell(comparison, Figure::Wall, side).map(|cell| cell.values.iter().flatten().copied());
    let values: Vec<f64> = values.into_iter().flatten().collect();
    let end = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    match (end(f64::min), end(f64::max)) {
        (Some(low), Some(high)) => {
            let text = |value| figures::value_like(value, Figure::Wall.unit(), high);
            figures::span(&text(low), &text(high))
        }
        _ => HOLE.to_owned(),
    }
}

/// What was cold, for the legend.
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
    let section = |(number, measure): (usize, Measure)| {
        let rows = all.iter().filter_map(|comparison| {
            let row = comparison.row(&measure)?;
            Some(MatrixRow {
                place: comparison.scenario.clone(),
                cells: heads.iter().map(|head| joined_cell(comparison, row, head)).collect(),
            })
        });
        let mut rows: Vec<MatrixRow> = rows.collect();
        let means: Vec<Option<f64>> = heads.iter().map(|head| mean(&all, &measure, head)).collect();
        rows.push(of_means("geometric mean", &means, |mean| {
            figures::value(mean, measure.figure.unit())
        }));
        let first = means.first().copied().flatten();
        rows.extend(first.map(|first| of_means("ratio", &means, |mean| format!("{:.2}", mean / first))));
        let title = match (&measure.place, measure.figure) {
            (Place::Printed(name), _) => format!("{name}, {of_all}"),
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
            rows,
        };
        let section = Section::new(format!("cold-all-{number}"), title, Weight::Answer);
        section.noted(format!("medians with {intervals}")).with(matrix)
    };
    let measures = JOINED.map(of_run).into_iter().chain(all_printed(&all));
    measures.enumerate().map(section).collect()
}

/// What holds over all projects: for each command the ratio of geometric means to the first command, and in how many projects
/// a difference is shown. Empty for a single project, for several systems or lenses, and where a command is not compared in one
/// of them.
pub fn over_all(scenarios: &Scenarios, runs: &[Played]) -> Vec<Sentence> {
    let Some((all, heads)) = projects(scenarios).filter(|_| is_one_target(scenarios)) else {
        return Vec::new();
    };
    let are_compared = |comparison: &&Comparison| heads[1..].iter().all(|head| is_compared(comparison, head));
    let is_known = |measure: &Measure| heads.iter().all(|head| mean(&all, measure, head).is_some());
    if !all.iter().all(are_compared) {
        return Vec::new();
    }
    let printed = all_printed(&all).into_iter().filter(is_known);
    let printed: Vec<Measure> = printed.collect();
    let has_time = !all.iter().any(|comparison| comparison.is_shared());
    let time = has_time.then(|| of_run(Figure::Wall));
    let measures = printed.iter().cloned().chain(time).chain([of_run(Figure::Peak)]);
    let measures: Vec<Measure> = measures.filter(is_known).collect();
    let of = format!(
        " of {} in the geometric mean of {} {}s",
        heads[0],
        all.len(),
        kind(&all, runs)
    );
    let sentence = |head: &String| {
        let ratios = measures.iter().filter_map(|measure| {
            let ratio = mean(&all, measure, head)? / mean(&all, measure, &heads[0])?;
            // What prints figures of its own may run for a fixed time.
            let is_told = printed.is_empty() || measure.figure != Figure::Wall || (ratio - 1.0).abs() >= FIXED;
            is_told.then_some((measure, ratio))
        });
        let parts = ratios.enumerate().map(|(place, (measure, ratio))| {
            let of = if place == 0 { of.as_str() } else { "" };
            let name = match &measure.place {
                Place::Printed(name) => name.as_str(),
                _ if measure.figure == Figure::Wall => "wall time",
                _ => "resident peak",
            };
            let digits = digits_of(ratio - 1.0);
            format!("{ratio:.digits$} times the {name}{of} ({})", shown(&all, measure, head))
        });
        let text = format!("{head}: {}", parts.collect::<Vec<String>>().join(", "));
        Sentence::answer("cold.over-all", Tone::Strong, text)
    };
    heads[1..].iter().map(sentence).collect()
}

/// Whether the report compares a command with the first one.
fn is_compared(comparison: &Comparison, head: &str) -> bool {
    place(comparison, head)
        .is_some_and(|place| time(comparison, place).is_some() && !words::is_refused(comparison, place))
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
fn shown(all: &[&Comparison], measure: &Measure, head: &str) -> String {
    let cells = all
        .iter()
        .filter_map(|comparison| comparison.row(measure)?.cells.get(place(comparison, head)?));
    let ratios = cells
        .filter_map(|cell| cell.ratio.as_ref())
        .filter(|ratio| ratio.differs());
    let (lower, higher): (Vec<&Ratio>, Vec<&Ratio>) = ratios.partition(|ratio| ratio.ratio < 1.0);
    match (lower.len(), higher.len()) {
        (0, 0) => "no difference shown".to_owned(),
        (lower, 0) => format!("shown lower in {lower}"),
        (0, higher) => format!("shown higher in {higher}"),
        (lower, higher) => format!("shown lower in {lower}, higher in {higher}"),
    }
}

/// Each project once, with all commands: machines and lenses have tables of their own. `None` for a single project, or if
/// servers were run.
fn projects(scenarios: &Scenarios) -> Option<(Vec<&Comparison>, Vec<String>)> {
    let first_target = scenarios.values().filter_map(|targets| targets.first());
    let all: Vec<&Comparison> = first_target.map(|target| &target.comparison).collect();
    if all.len() < 2 || !all.iter().all(|comparison| are_commands(comparison)) {
        return None;
    }
    // One that was cut off may lack commands.
    let mut heads: Vec<String> = Vec::new();
    for side in all.iter().flat_map(|comparison| &comparison.sides) {
        if !heads.contains(&side.label) {
            heads.push(side.label.clone());
        }
    }
    Some((all, heads))
}

/// What the rows of joined tables are: a project may have a row for each of several commands.
fn kind(all: &[&Comparison], runs: &[Played]) -> &'static str {
    let in_place = |run: &Played| run.summary.header.workspace.is_original();
    let projects: BTreeSet<&str> = runs
        .iter()
        .map(|run| run.summary.header.workspace.path.as_str())
        .collect();
    match projects.len() < all.len() {
        _ if runs.iter().all(in_place) => "command",
        true => "case",
        false => "project",
    }
}

/// Every figure that commands of any project printed.
fn all_printed(all: &[&Comparison]) -> Vec<Measure> {
    let mut measures: Vec<Measure> = Vec::new();
    for row in all.iter().flat_map(|comparison| printed(comparison)) {
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
    let cell = place(comparison, label).map(|side| figures::cell(row, side));
    cell.unwrap_or_else(|| MatrixCell {
        median: HOLE.to_owned(),
        ..MatrixCell::default()
    })
}

/// The geometric mean of a command's medians; `None` if one is unknown or zero.
fn mean(all: &[&Comparison], measure: &Measure, label: &str) -> Option<f64> {
    let cells = all
        .iter()
        .map(|comparison| comparison.row(measure)?.cells.get(place(comparison, label)?));
    let medians = cells.map(|cell| cell?.median.map(|median| median.median));
    let medians: Vec<Option<f64>> = medians.collect();
    Arm::of_runs(&medians).ok().map(|arm| arm.geometric_mean())
}

/// A row of what follows from the means of all commands.
fn of_means(place: &str, means: &[Option<f64>], text: impl Fn(f64) -> String) -> MatrixRow {
    let cell = |mean: &Option<f64>| MatrixCell {
        median: mean.map_or_else(|| HOLE.to_owned(), &text),
        ..MatrixCell::default()
    };
    MatrixRow {
        place: place.to_owned(),
        cells: means.iter().map(cell).collect(),
    }
}
