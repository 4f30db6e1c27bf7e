//! Notes without which the tables of a comparison could be misread, each thing once.

use analysis::compare::{Cell, Comparison, Count, Difference, HugePages, Inequality, Row, Side, StrainedRuns, Task};
use analysis::figures::Unit;
use analysis::findings::setting;
use base::text::{Sentence, Tone};
use base::units;
use record::{KnobFacts, Strain};

use super::figures;

/// Groups and outliers of memory below this share of the value are not reported.
const WORTH: f64 = 0.01;

/// Shown digits of a hash.
const HASH: usize = 12;

/// Everything but unequal work: groups and outliers of memory, and circumstances that differ.
pub fn notes(comparison: &Comparison) -> Vec<Sentence> {
    let mut notes = Vec::new();
    for side in &comparison.sides {
        let settings = side.unseen.iter().map(|knob| unseen(&side.label, knob));
        let doubts = side.doubts.iter().map(|text| doubt(&side.label, text));
        notes.extend(settings.chain(doubts).map(|text| bad("compare.settings", text)));
    }
    notes.extend(unusual(comparison));
    let baseline = comparison.sides.first().map_or("", |side| side.label.as_str());
    for side in &comparison.sides {
        if let Some(found) = &side.huge_pages {
            let text = huge_pages(&side.label, baseline, found);
            notes.push(Sentence::warning("compare.huge-pages", text));
        }
    }
    if comparison.sides.len() > 1 && comparison.looked {
        notes.push(Sentence::warning("compare.looked", INTERIM_ANALYSES));
    }
    if comparison.wrapped {
        notes.push(Sentence::warning("compare.wrapped", WRAPPED));
    }
    for differing in &comparison.differences {
        let text = difference(differing);
        notes.push(if differing.is_decisive() {
            bad("compare.circumstances", text)
        } else {
            Sentence::warning("compare.circumstances", text)
        });
    }
    let strained = comparison.strains.iter().map(strained);
    notes.extend(strained.map(|text| Sentence::warning("compare.strained", text)));
    notes
}

/// The meaning of an interval if interim analyses ended the runs.
const INTERIM_ANALYSES: &str = "`--runs auto` makes interim analyses, so a 95 % interval of a ratio covers 91 to 96 %, \
                                and less after an early stop near a limit";

/// A note on the data that sessions of editors lack.
const WRAPPED: &str = "sessions of editors have no checkpoints: only peaks, CPU time and latencies are compared, each over what \
                       its editor happened to do";

/// Groups and outliers of memory.
pub fn unusual(comparison: &Comparison) -> Vec<Sentence> {
    let mut notes = Vec::new();
    for (place, side) in comparison.sides.iter().enumerate() {
        let groups = groups(comparison, place, side);
        notes.extend(groups.map(|text| Sentence::warning("compare.groups", text)));
        let outliers = outliers(comparison, place, side).into_iter();
        notes.extend(outliers.map(|text| Sentence::warning("compare.outliers", text)));
    }
    notes
}

/// A sentence that may make the comparison worthless.
fn bad(id: &'static str, text: String) -> Sentence {
    Sentence::answer(id, Tone::Bad, text).marked("important")
}

/// A note on a setting that a server may not have had, though it was to be compared with it.
pub fn unseen(label: &str, knob: &KnobFacts) -> String {
    format!("{label}: {}", setting(knob))
}

/// Doubts about the runs of a server.
pub fn doubt(label: &str, text: &str) -> String {
    format!("{label}: {text}")
}

/// A note if the work of a side cannot be compared, because it or the baseline has no run that counts.
pub fn unknown_work(side: &Side, baseline: &Side) -> Option<String> {
    let runless = if baseline.runs.is_empty() {
        baseline
    } else if side.runs.is_empty() {
        side
    } else {
        return None;
    };
    Some(format!("its work is not known: no run of {} counts", runless.label))
}

/// Work that a side did less of, or did otherwise, than the baseline: a sentence each.
pub fn work(side: &Side, baseline: &str) -> Vec<Sentence> {
    work_of(&side.label, &side.work, baseline)
}

/// Work that the server of this label did less of, or did otherwise, than the baseline: a sentence each.
pub fn work_of(label: &str, work: &[Inequality], baseline: &str) -> Vec<Sentence> {
    let (less, other): (Vec<&Inequality>, Vec<&Inequality>) = work.iter().partition(|work| work.less);
    let mut notes = Vec::new();
    if !less.is_empty() {
        let text = format!("{label} does less work than {baseline}: {}", tasks(&less));
        notes.push(bad("compare.less-work", text));
    }
    if !other.is_empty() {
        let text = format!("{label} does other work than {baseline}: {}", tasks(&other));
        notes.push(Sentence::warning("compare.other-work", text));
    }
    notes
}

/// The counts of all tasks; those of one task follow one another.
fn tasks(work: &[&Inequality]) -> String {
    let tasks: Vec<String> = work.chunk_by(|a, b| a.task == b.task).map(task).collect();
    tasks.join("; ")
}

/// One piece of work that was not done as `other` did it.
pub fn unequal(label: &str, other: &str, work: &Inequality) -> String {
    let verb = if work.less { "less" } else { "other" };
    format!("{label} does {verb} work than the {other}: {}", task(&[work]))
}

/// A note on a circumstance that differs between runs.
pub fn difference(difference: &Difference) -> String {
    let mut values = Vec::new();
    for value in &difference.values {
        let value = value.as_str();
        values.push(if is_hash(value) { &value[..HASH] } else { value });
    }
    format!("the runs differ in {}: {}", difference.what, values.join(", "))
}

fn is_hash(value: &str) -> bool {
    value.len() == 64 && value.chars().all(|c| c.is_ascii_hexdigit())
}

/// A note on a strain of the machine in some of the runs, with the sides that had more of it.
pub fn strained(found: &StrainedRuns) -> String {
    let (some, all) = found.run_counts();
    let runs = match (some, all) {
        (1, 1) => "the run".to_owned(),
        (some, all) if some == all => format!("all {}", units::count_of(all as u64, "run")),
        (some, all) => format!("{some} of {}", units::count_of(all as u64, "run")),
    };
    let mut sides = String::new();
    if !found.is_even() {
        let runs_of_sides = found.runs.iter();
        let counts: Vec<String> = runs_of_sides
            .map(|(name, some, all)| format!("{name} {some} of {all}"))
            .collect();
        sides = format!("; {}", counts.join(", "));
    }
    match found.strain {
        Strain::Shared => format!(
            "{runs} shared the machine ({} at once{sides}), so their latencies and CPU time decide nothing",
            found.worst
        ),
        Strain::Busy => {
            let load = found.cpus.map_or(found.worst, |cpus| found.worst * cpus as f64);
            let cpus = units::or_unknown(found.cpus, |cpus| units::count_of(cpus, "processor"));
            format!(
                "the machine was busy when {runs} started (load up to {load:.1} on {cpus}{sides}), which lengthens \
                 all times"
            )
        }
        Strain::Short => format!(
            "memory was short in {runs} (processes waited up to {} of the time{sides}), so resident figures may be \
             too low",
            units::percent(found.worst)
        ),
        Strain::Counters => format!(
            "the kernel counted resident memory per processor in {runs} (off by up to {}{sides}): the curve and \
             high-water marks are less certain, checkpoints are exact",
            units::bytes(found.worst as u64)
        ),
    }
}

/// A note that huge pages may explain a difference of memory.
pub fn huge_pages(label: &str, baseline: &str, found: &HugePages) -> String {
    format!(
        "{label}: {} in huge pages and {} private memory (medians) than {baseline}; compare with `--thp never` too",
        more_or_less(found.huge),
        more_or_less(found.private),
    )
}

/// `12.0 MiB more`
fn more_or_less(bytes: f64) -> String {
    let size = units::bytes(bytes.abs() as u64);
    if bytes < 0.0 {
        format!("{size} less")
    } else {
        format!("{size} more")
    }
}

/// `goto › definition 388 hits against 400`, of one task.
fn task(counts: &[&Inequality]) -> String {
    let what = match counts.first().map(|work| &work.task) {
        Some(Task::Step { phase, name, .. }) => format!("{phase} › {name}"),
        Some(Task::Method(method)) => method.clone(),
        None => String::new(),
    };
    let mut texts = Vec::new();
    for work in counts {
        let unit = match work.count {
            Count::Requests => "requests",
            Count::Hits => "hits",
            Count::Items => "elements per result",
            Count::Bytes => "bytes per result",
        };
        let (candidate, baseline) = (number(work.candidate), number(work.baseline));
        texts.push(format!("{candidate} against {baseline} {unit}"));
    }
    format!("{what} {}", texts.join(" and "))
}

/// Three digits, or all before the point; `no` for a missing count.
fn number(value: Option<f64>) -> String {
    match value {
        None => "no".to_owned(),
        Some(value) if value >= 100.0 || value.fract() == 0.0 => units::count(value.round() as u64),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// The figures of memory. Unusual CPU times and latencies are seen in the strips.
fn memory_cells(comparison: &Comparison, place: usize) -> impl Iterator<Item = (&Row, &Cell)> {
    let memory = comparison
        .rows
        .iter()
        .filter(|row| row.measure.figure.unit() == Unit::Bytes);
    memory.filter_map(move |row| Some((row, row.cells.get(place)?)))
}

/// A note on values that fall into groups: of private memory if it has groups, else of the first figure that has, where
/// they are farthest apart; and the number of other figures with groups.
fn groups(comparison: &Comparison, place: usize, side: &Side) -> Option<String> {
    let mut grouped: Vec<(f64, &Row, &Cell)> = memory_cells(comparison, place)
        .filter_map(|(row, cell)| Some((gap(cell)?, row, cell)))
        .collect();
    grouped.sort_by(|(gap, row, _), (other_gap, other, _)| {
        let by_figure = row.measure.figure.cmp(&other.measure.figure);
        by_figure.then(other_gap.total_cmp(gap))
    });
    let (_, row, cell) = grouped.first()?;
    let others = match grouped.len() - 1 {
        0 => String::new(),
        1 => "; so does 1 other figure of memory".to_owned(),
        others => format!("; so do {others} other figures of memory"),
    };
    let sentence = in_groups(&side.label, &figures::place(row), cell, row.measure.figure.unit());
    Some(format!("{sentence}{others}"))
}

/// The distance between a figure's groups, as a share; `None` without groups worth a sentence.
pub fn gap(cell: &Cell) -> Option<f64> {
    if cell.clusters.len() < 2 {
        return None;
    }
    let gap = cell.clusters.last()?.low / cell.clusters.first()?.high - 1.0;
    if gap >= WORTH { Some(gap) } else { None }
}

/// A sentence on the groups into which the values of a figure fall.
pub fn in_groups(label: &str, figure: &str, cell: &Cell, unit: Unit) -> String {
    let groups = cell.clusters.iter().map(|group| {
        let span = figures::span(
            &figures::value_like(group.low, unit, group.high),
            &figures::value_with_unit(group.high, unit),
        );
        format!("{} of {span}", units::count_of(group.runs.len() as u64, "run"))
    });
    format!(
        "{label}: {figure} falls into groups, {}",
        groups.collect::<Vec<String>>().join(" and ")
    )
}

/// The runs that are far from the others, each with the first of its figures that is.
fn outliers(comparison: &Comparison, place: usize, side: &Side) -> Vec<String> {
    let mut runs: Vec<(&str, String, usize)> = Vec::new();
    for (row, cell) in memory_cells(comparison, place) {
        let middle = cell.median.map_or(0.0, |median| median.median);
        for outlier in &cell.outliers {
            let is_far = (outlier.value / middle - 1.0).abs() >= WORTH;
            if !is_far {
                continue;
            }
            let run = record(side, cell, outlier.run);
            if let Some((.., places)) = runs.iter_mut().find(|(name, ..)| *name == run) {
                *places += 1;
                continue;
            }
            let unit = row.measure.figure.unit();
            let example = format!(
                "{} is {} against a median of {}",
                figures::place(row),
                figures::value(outlier.value, unit),
                figures::value_with_unit(middle, unit)
            );
            runs.push((run, example, 1));
        }
    }
    let mut sentences = Vec::new();
    for (run, example, places) in runs {
        let more = match places {
            0 | 1 => String::new(),
            2 => ", as is 1 other figure of memory".to_owned(),
            more => format!(", as are {} other figures of memory", more - 1),
        };
        sentences.push(format!(
            "{}: `{run}` is an outlier: {example}{more}; it still counts",
            side.label
        ));
    }
    sentences
}

/// The record of the n-th known value of a cell.
pub fn record<'s>(side: &'s Side, cell: &Cell, known: usize) -> &'s str {
    let mut known_runs = cell.values.iter().enumerate().filter(|(_, value)| value.is_some());
    known_runs
        .nth(known)
        .and_then(|(run, _)| side.runs.get(run))
        .map_or(units::UNKNOWN, String::as_str)
}
