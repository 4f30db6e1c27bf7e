//! Tables of programs, requests and steps.

use analysis::summary::{MethodSummary, ProgramSummary, Summary};
use base::text::Tone;
use base::text::table::{Cell, Column, Table};
use base::units;
use record::Nanos;

use super::head::{cpu_time, time};

/// Programs and methods that are listed.
const LISTED: usize = 20;

/// Methods that are named for their latency.
const SLOWEST: usize = 3;

/// Whether there is more to say than of one process.
pub fn has_processes(summary: &Summary) -> bool {
    summary.most_processes > 1 || summary.programs.len() > 1
}

/// The programs that have most.
pub fn programs(summary: &Summary) -> Vec<Column> {
    let mut programs: Vec<&ProgramSummary> = summary.programs.iter().collect();
    programs.sort_by_key(|program| std::cmp::Reverse((program.private, program.peak)));
    programs.truncate(LISTED);
    Table::new(&programs)
        .text("program", 0, |program| &program.name)
        .number("count", 1, |program| units::count(program.count))
        .number("gone", 4, |program| units::count(program.ended))
        .number("at the end", 2, |program| {
            units::or_unknown(program.private, units::mib)
        })
        .grouped("private")
        .number("most of one", 3, |program| units::or_unknown(program.peak, units::mib))
        .grouped("resident")
        .number("CPU", 5, |program| units::or_unknown(program.cpu, cpu_time))
        .columns()
}

/// The methods with most requests.
pub fn most_sent(summary: &Summary) -> Vec<&MethodSummary> {
    let mut methods: Vec<&MethodSummary> = summary.methods.iter().collect();
    methods.sort_by_key(|method| std::cmp::Reverse(method.count));
    methods.truncate(LISTED);
    methods
}

/// What the imitated editor sent by itself, as `pulled by the editor, beside the steps: 24 textDocument/diagnostic`.
pub fn sent_by_editor(summary: &Summary) -> Option<String> {
    if summary.editor.is_empty() {
        return None;
    }
    let each = summary.editor.iter().map(|method| {
        let unanswered = method.timeouts + method.lost;
        let notes = [
            (method.errors, "with an error"),
            (unanswered, "not answered"),
            (method.parked, "kept open"),
        ];
        let notes = notes.iter().filter(|(count, _)| *count > 0);
        let notes: Vec<String> = notes
            .map(|(count, what)| format!("{} {what}", units::count(*count)))
            .collect();
        let notes = if notes.is_empty() {
            String::new()
        } else {
            format!(" ({})", notes.join(", "))
        };
        format!("{} {}{notes}", units::count(method.count), method.method)
    });
    let each: Vec<String> = each.collect();
    Some(format!("pulled by the editor, beside the steps: {}", each.join(", ")))
}

/// The slowest methods, as `slowest methods by 95th percentile: completion 213 ms, …`.
pub fn slowest(summary: &Summary) -> Option<String> {
    let known = summary
        .methods
        .iter()
        .filter_map(|method| Some((method.p95?, &method.method)));
    let mut known: Vec<_> = known.collect();
    known.sort_by(|a, b| b.cmp(a));
    known.truncate(SLOWEST);
    let known = known.iter().map(|(p95, method)| {
        let method = method.strip_prefix("textDocument/").unwrap_or(method);
        format!("{method} {}", time(*p95))
    });
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| format!("slowest methods by 95th percentile: {}", known.join(", ")))
}

/// How the requests of these methods ended, and when.
pub fn methods(methods: &[&MethodSummary]) -> Vec<Column> {
    let count = |value: fn(&MethodSummary) -> u64| move |method: &&MethodSummary| units::count(value(method));
    let bad = |value: fn(&MethodSummary) -> u64| {
        let tone = |number| if number > 0 { Tone::Warning } else { Tone::Plain };
        move |method: &&MethodSummary| (tone(value(method)), units::count(value(method)))
    };
    let latency = |value: fn(&MethodSummary) -> Option<u64>| {
        move |method: &&MethodSummary| units::or_unknown(value(method), time)
    };
    Table::new(methods)
        .text("method", 0, |method| &method.method)
        .number("count", 1, count(|method| method.count))
        .number("hits", 5, count(|method| method.hits))
        .number("null", 7, count(|method| method.null))
        .number("empty", 7, count(|method| method.empty))
        .number("errors", 6, bad(|method| method.errors))
        .number("timed out", 6, bad(|method| method.timeouts))
        .number("lost", 6, bad(|method| method.lost))
        .number("parked", 9, count(|method| method.parked))
        .number("retries", 8, count(|method| method.retries))
        .number("p50", 2, latency(|method| method.p50))
        .number("p95", 2, latency(|method| method.p95))
        .number("max", 3, latency(|method| method.max))
        .filled("0")
}

/// A step of the scenario, all its rounds together.
struct StepRow {
    /// Places of the phase in the scenario and of the step in the phase.
    place: (u32, u32),
    name: String,
    hits: u64,
    requests: u64,
    took: Option<Nanos>,
    skipped: bool,
}

/// The steps that ask for something.
fn step_rows(summary: &Summary) -> Vec<StepRow> {
    let mut rows: Vec<StepRow> = Vec::new();
    for phase in &summary.phases {
        for step in &phase.steps {
            let (requests, hits) = (step.requests.unwrap_or(0), step.hits.unwrap_or(0));
            if requests == 0 && !step.skipped && step.took.is_some() {
                continue;
            }
            let place = (phase.phase.phase, step.step);
            if let Some(row) = rows.iter_mut().find(|row| row.place == place) {
                row.hits = row.hits.saturating_add(hits);
                row.requests = row.requests.saturating_add(requests);
                row.took = row.took.zip(step.took).map(|(a, b)| a.saturating_add(b));
                row.skipped &= step.skipped;
                continue;
            }
            let name = step.method.as_ref().unwrap_or(&step.name);
            let alike = phase
                .steps
                .iter()
                .filter(|other| other.method.as_ref().unwrap_or(&other.name) == name);
            let number = match alike.count() {
                0 | 1 => String::new(),
                _ => format!(" (step {})", u64::from(step.step) + 1),
            };
            rows.push(StepRow {
                place,
                name: format!("{} / {name}{number}", phase.phase.name),
                hits,
                requests,
                took: step.took,
                skipped: step.skipped,
            });
        }
    }
    rows
}

/// The steps that ask for something, if there are any.
pub fn steps(summary: &Summary) -> Option<Vec<Column>> {
    let rows = step_rows(summary);
    let share = |row: &StepRow| match row.requests {
        _ if row.skipped => Cell::toned(Tone::Warning, "skipped: not offered"),
        0 => Cell::toned(Tone::Warning, "not finished"),
        requests => {
            let tone = if row.hits == 0 { Tone::Bad } else { Tone::Plain };
            Cell::toned(tone, format!("{}/{}", units::count(row.hits), units::count(requests)))
        }
    };
    Table::new(&rows)
        .text("phase / step", 0, |row| &row.name)
        .number("hits", 1, share)
        .number("time", 2, |row| units::or_unknown(row.took, time))
        .non_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::golden::Session;
    use record::{Event, Reader};

    #[test]
    fn two_steps_of_one_kind_have_a_row_each_and_the_rounds_of_one_share_it() {
        let mut session = Session::new("server");
        for cycle in 0..2 {
            let began = session.entries.len();
            session.phase("raw");
            for (name, requests, hits) in [("request", 20, 20), ("request", 8, 0), ("hover", 5, 4)] {
                session.step(name);
                if let Some(Event::StepStarted(start)) = session.entries.last_mut().map(|entry| &mut entry.event) {
                    start.method = (name == "request").then(|| "x/y".to_owned());
                }
                session.step_end(name, requests, hits);
            }
            for entry in &mut session.entries[began..] {
                let phase = match &mut entry.event {
                    Event::PhaseStarted(phase) => phase,
                    Event::StepStarted(start) => &mut start.phase,
                    Event::StepEnded(end) => &mut end.phase,
                    _ => continue,
                };
                (phase.phase, phase.cycle) = (0, cycle);
            }
        }
        let bytes = session.bytes();
        let summary = analysis::summary::read(Reader::new(&bytes[..]).unwrap()).unwrap();
        let rows = step_rows(&summary);
        let rows: Vec<(&str, u64, u64)> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.hits, row.requests))
            .collect();
        assert_eq!(
            rows,
            [
                ("raw / x/y (step 1)", 40, 40),
                ("raw / x/y (step 2)", 0, 16),
                ("raw / hover", 8, 10)
            ]
        );
    }
}
