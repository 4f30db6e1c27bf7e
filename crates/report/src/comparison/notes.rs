//! What must be known to read the tables of a comparison right, each thing once.

use analysis::compare::{Cell, Comparison, Count, Difference, HugePages, Inequality, Row, Side, Strained, Task};
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
    let huge = comparison.sides.iter();
    let huge = huge.filter_map(|side| Some(huge_pages(&side.label, baseline, side.huge_pages.as_ref()?)));
    notes.extend(huge.map(|text| Sentence::warning("compare.huge-pages", text)));
    notes.extend(looked(comparison).map(|text| Sentence::warning("compare.looked", text)));
    notes.extend(
        comparison
            .differences
            .iter()
            .map(|differing| match differing.is_decisive() {
                true => bad("compare.circumstances", difference(differing)),
                false => Sentence::warning("compare.circumstances", difference(differing)),
            }),
    );
    let strained = comparison.strains.iter().map(strained);
    notes.extend(strained.map(|text| Sentence::warning("compare.strained", text)));
    notes
}

/// Groups and outliers of memory.
pub fn unusual(comparison: &Comparison) -> Vec<Sentence> {
    let sides = comparison.sides.iter().enumerate();
    let notes = sides.flat_map(|(place, side)| {
        let groups = groups(comparison, place, side).map(|text| Sentence::warning("compare.groups", text));
        let outliers = outliers(comparison, place, side).into_iter();
        groups
            .into_iter()
            .chain(outliers.map(|text| Sentence::warning("compare.outliers", text)))
    });
    notes.collect()
}

/// The comparison may be worth nothing.
fn bad(id: &'static str, text: String) -> Sentence {
    Sentence::answer(id, Tone::Bad, text).marked("important")
}

/// The meaning of an interval if interim analyses ended the runs.
fn looked(comparison: &Comparison) -> Option<String> {
    let compared = comparison.sides.len() > 1 && comparison.looked;
    compared.then(|| {
        "`--runs auto` makes interim analyses, so a 95 % interval of a ratio covers 91 to 96 %, and less \
         after an early stop near a limit"
            .to_owned()
    })
}

/// That a server may not have had a setting which it was to be compared with.
pub fn unseen(label: &str, knob: &KnobFacts) -> String {
    format!("{label}: {}", setting(knob))
}

/// Doubts about the runs of a server.
pub fn doubt(label: &str, text: &str) -> String {
    format!("{label}: {text}")
}

/// That nothing is known of a side's work, because it or the baseline has no run that counts; `None` where both have one.
pub fn unknown_work(side: &Side, baseline: &Side) -> Option<String> {
    let without = [baseline, side].into_iter().find(|side| side.runs.is_empty())?;
    Some(format!("its work is not known: no run of {} counts", without.label))
}

/// Work that a side did less of, or did otherwise, than the baseline: a sentence each.
pub fn work(side: &Side, baseline: &str) -> Vec<Sentence> {
    let of = |less: bool| -> Vec<&Inequality> { side.work.iter().filter(|work| work.less == less).collect() };
    let mut notes = Vec::new();
    for (less, verb) in [(true, "less"), (false, "other")] {
        let tasks: Vec<String> = of(less).chunk_by(|a, b| a.task == b.task).map(task).collect();
        if !tasks.is_empty() {
            let text = format!("{} does {verb} work than {baseline}: {}", side.label, tasks.join("; "));
            notes.push(match less {
                true => bad("compare.less-work", text),
                false => Sentence::warning("compare.other-work", text),
            });
        }
    }
    notes
}

/// One piece of work that was not done as `other` did it.
pub fn unequal(label: &str, other: &str, work: &Inequality) -> String {
    let verb = if work.less { "less" } else { "other" };
    format!("{label} does {verb} work than the {other}: {}", task(&[work]))
}

/// A circumstance that is not the same in all runs.
pub fn difference(difference: &Difference) -> String {
    let is_hash = |value: &str| value.len() == 64 && value.chars().all(|c| c.is_ascii_hexdigit());
    let values = difference.values.iter().map(|value| match value.as_str() {
        value if is_hash(value) => &value[..HASH],
        value => value,
    });
    format!(
        "the runs differ in {}: {}",
        difference.what,
        values.collect::<Vec<&str>>().join(", ")
    )
}

/// What the machine did to some of the runs, and which sides had more of it where that is not the same.
pub fn strained(found: &Strained) -> String {
    let (some, all) = found.all();
    let runs = match (some, all) {
        (1, 1) => "the run".to_owned(),
        (some, all) if some == all => format!("all {}", units::counted(all as u64, "run")),
        (some, all) => format!("{some} of {}", units::counted(all as u64, "run")),
    };
    let sides = found
        .runs
        .iter()
        .map(|(name, some, all)| format!("{name} {some} of {all}"));
    let sides = match found.is_even() {
        true => String::new(),
        false => format!("; {}", sides.collect::<Vec<String>>().join(", ")),
    };
    match found.strain {
        Strain::Shared => format!(
            "{runs} shared the machine ({} at once{sides}), so their latencies and CPU time decide nothing",
            found.worst
        ),
        Strain::Busy => {
            let load = found.cpus.map_or(found.worst, |cpus| found.worst * cpus as f64);
            let cpus = units::or_unknown(found.cpus, |cpus| units::counted(cpus, "processor"));
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

/// That the difference may be one of huge pages.
pub fn huge_pages(label: &str, baseline: &str, found: &HugePages) -> String {
    let size = |bytes: f64| units::bytes(bytes.abs() as u64);
    let than = |bytes: f64| if bytes < 0.0 { "less" } else { "more" };
    format!(
        "{label}: {} {} in huge pages and {} {} private memory (medians) than {baseline}; compare with `--thp never` too",
        size(found.huge),
        than(found.huge),
        size(found.private),
        than(found.private),
    )
}

/// `goto › definition 388 hits against 400`, of one task.
fn task(counts: &[&Inequality]) -> String {
    let what = match counts.first().map(|work| &work.task) {
        Some(Task::Step { phase, name, .. }) => format!("{phase} › {name}"),
        Some(Task::Method(method)) => method.clone(),
        None => String::new(),
    };
    let counts = counts.iter().map(|work| {
        let thing = match work.count {
            Count::Requests => "requests",
            Count::Hits => "hits",
            Count::Items => "elements per result",
            Count::Bytes => "bytes per result",
        };
        format!("{} against {} {thing}", number(work.candidate), number(work.baseline))
    });
    format!("{what} {}", counts.collect::<Vec<String>>().join(" and "))
}

/// Three digits, or all before the point; what never was is none.
fn number(value: Option<f64>) -> String {
    match value {
        None => "no".to_owned(),
        Some(value) if value >= 100.0 || value.fract() == 0.0 => units::count(value.round() as u64),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// Memory only: what CPU and latencies do is seen in the strips.
fn of_memory(comparison: &Comparison, place: usize) -> impl Iterator<Item = (&Row, &Cell)> {
    let memory = comparison
        .rows
        .iter()
        .filter(|row| row.measure.figure.unit() == Unit::Bytes);
    memory.filter_map(move |row| Some((row, row.cells.get(place)?)))
}

/// That values fall into groups: private memory before all else where it is farthest apart, and how many other figures do.
fn groups(comparison: &Comparison, place: usize, side: &Side) -> Option<String> {
    let mut apart: Vec<(f64, &Row, &Cell)> = of_memory(comparison, place)
        .filter_map(|(row, cell)| Some((gap(cell)?, row, cell)))
        .collect();
    let figure = |row: &Row| row.measure.figure;
    apart.sort_by(|a, b| figure(a.1).cmp(&figure(b.1)).then(b.0.total_cmp(&a.0)));
    let (_, row, cell) = apart.first()?;
    let others = match apart.len() - 1 {
        0 => String::new(),
        1 => "; so does 1 other figure of memory".to_owned(),
        others => format!("; so do {others} other figures of memory"),
    };
    let said = in_groups(&side.label, &figures::place(row), cell, row.measure.figure.unit());
    Some(format!("{said}{others}"))
}

/// The distance between a figure's groups, as a share; `None` without groups worth a sentence.
pub fn gap(cell: &Cell) -> Option<f64> {
    let gap = cell.clusters.last()?.low / cell.clusters.first()?.high - 1.0;
    (cell.clusters.len() > 1 && gap >= WORTH).then_some(gap)
}

/// That the values of a figure fall into groups, and into which.
pub fn in_groups(label: &str, figure: &str, cell: &Cell, unit: Unit) -> String {
    let groups = cell.clusters.iter().map(|group| {
        let span = figures::span(
            &figures::value_like(group.low, unit, group.high),
            &figures::value_with_unit(group.high, unit),
        );
        format!("{} of {span}", units::counted(group.runs.len() as u64, "run"))
    });
    format!(
        "{label}: {figure} falls into groups, {}",
        groups.collect::<Vec<String>>().join(" and ")
    )
}

/// The runs that are far from the others, each with the first of its figures that is.
fn outliers(comparison: &Comparison, place: usize, side: &Side) -> Vec<String> {
    let mut runs: Vec<(&str, String, usize)> = Vec::new();
    for (row, cell) in of_memory(comparison, place) {
        let middle = cell.median.map_or(0.0, |median| median.median);
        let far = |value: f64| (value / middle - 1.0).abs() >= WORTH;
        for outlier in cell.outliers.iter().filter(|outlier| far(outlier.value)) {
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
    let sentence = |(run, example, places): &(&str, String, usize)| {
        let more = match places {
            0 | 1 => String::new(),
            2 => ", as is 1 other figure of memory".to_owned(),
            more => format!(", as are {} other figures of memory", more - 1),
        };
        format!(
            "{}: `{run}` is an outlier: {example}{more}; it still counts",
            side.label
        )
    };
    runs.iter().map(sentence).collect()
}

/// The record of the n-th known value of a cell.
pub fn record<'s>(side: &'s Side, cell: &Cell, known: usize) -> &'s str {
    let mut places = cell.values.iter().enumerate().filter(|(_, value)| value.is_some());
    let run = places.nth(known).map(|(run, _)| run);
    run.and_then(|run| side.runs.get(run))
        .map_or(units::UNKNOWN, String::as_str)
}
