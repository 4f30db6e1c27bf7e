//! Tables of programs, requests and steps.

use analysis::summary::{MethodSummary, ProgramSummary, StepSummary, Summary};
use base::text::Tone;
use base::text::table::{Column, Table, TableCell};
use base::units;
use record::Nanos;

use super::head::cpu_time;

/// Programs and methods that are listed.
const LISTED: usize = 20;

/// Methods that are named for their latency.
const SLOWEST: usize = 3;

/// True if the server had more than one process.
pub fn has_processes(summary: &Summary) -> bool {
    summary.processes.most_at_once > 1 || summary.processes.programs.len() > 1
}

/// The programs with the most memory.
pub fn programs(summary: &Summary) -> Vec<Column> {
    let mut programs: Vec<&ProgramSummary> = summary.processes.programs.iter().collect();
    programs.sort_by_key(|program| std::cmp::Reverse((program.private, program.peak)));
    programs.truncate(LISTED);
    Table::new(&programs)
        .text("program", 0, |program| &program.name)
        .number("count", 1, |program| units::count(program.count))
        .number("gone", 4, |program| units::count(program.ended))
        .number("at the end", 2, |program| {
            units::or_unknown(program.private, units::mib)
        })
        .with_group_head("private")
        .number("most of one", 3, |program| units::or_unknown(program.peak, units::mib))
        .with_group_head("resident")
        .number("CPU", 5, |program| units::or_unknown(program.cpu, cpu_time))
        .columns()
}

/// The methods with most requests.
pub fn most_sent(summary: &Summary) -> Vec<&MethodSummary> {
    let mut methods: Vec<&MethodSummary> = summary.traffic.methods.iter().collect();
    methods.sort_by_key(|method| std::cmp::Reverse(method.count));
    methods.truncate(LISTED);
    methods
}

/// The slowest methods, as `slowest methods by 95th percentile: completion 213 ms, …`.
pub fn slowest(summary: &Summary) -> Option<String> {
    let mut known: Vec<(Nanos, &str)> = summary
        .traffic
        .methods
        .iter()
        .filter_map(|method| Some((method.p95?, method.method.as_str())))
        .collect();
    if known.is_empty() {
        return None;
    }
    known.sort_by(|a, b| b.cmp(a));
    known.truncate(SLOWEST);
    let mut latencies = Vec::new();
    for (p95, method) in known {
        let method = method.strip_prefix("textDocument/").unwrap_or(method);
        latencies.push(format!("{method} {}", units::nanoseconds(p95)));
    }
    Some(format!("slowest methods by 95th percentile: {}", latencies.join(", ")))
}

/// Ends and latencies of the requests of these methods.
pub fn methods(methods: &[&MethodSummary]) -> Vec<Column> {
    Table::new(methods)
        .text("method", 0, |method| &method.method)
        .number("count", 1, |method| units::count(method.count))
        .number("hits", 5, |method| units::count(method.hits))
        .number("null", 7, |method| units::count(method.null))
        .number("empty", 7, |method| units::count(method.empty))
        .number("errors", 6, |method| failures(method.errors))
        .number("cancelled", 8, |method| units::count(method.cancelled))
        .number("timed out", 6, |method| failures(method.timeouts))
        .number("lost", 6, |method| failures(method.lost))
        .number("parked", 9, |method| units::count(method.parked))
        .number("retries", 8, |method| units::count(method.retries))
        .number("p50", 2, |method| units::or_unknown(method.p50, units::nanoseconds))
        .number("p95", 2, |method| units::or_unknown(method.p95, units::nanoseconds))
        .number("max", 3, |method| units::or_unknown(method.max, units::nanoseconds))
        .non_blank_columns("0")
}

/// A number that should be 0.
fn failures(number: u64) -> TableCell {
    let tone = if number > 0 { Tone::Warning } else { Tone::Plain };
    TableCell::toned(tone, units::count(number))
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

/// The rows of steps that ask for something, one for all rounds of a step.
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
            let name = name(step);
            let steps_of_name = phase.steps.iter().filter(|other| self::name(other) == name).count();
            let number = if steps_of_name > 1 {
                format!(" (step {})", u64::from(step.step) + 1)
            } else {
                String::new()
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

/// The method that a step asks, else its kind.
fn name(step: &StepSummary) -> &str {
    step.method.as_ref().unwrap_or(&step.name)
}

/// The steps that ask for something, if there are any.
pub fn steps(summary: &Summary) -> Option<Vec<Column>> {
    let rows = step_rows(summary);
    Table::new(&rows)
        .text("phase / step", 0, |row| &row.name)
        .number("hits", 1, hits)
        .number("time", 2, |row| units::or_unknown(row.took, units::nanoseconds))
        .non_empty()
}

fn hits(row: &StepRow) -> TableCell {
    if row.skipped {
        return TableCell::toned(Tone::Warning, "skipped: not offered");
    }
    if row.requests == 0 {
        return TableCell::toned(Tone::Warning, "not finished");
    }
    let tone = if row.hits == 0 { Tone::Bad } else { Tone::Plain };
    let (hits, requests) = (units::count(row.hits), units::count(row.requests));
    TableCell::toned(tone, format!("{hits}/{requests}"))
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
                    start.method = if name == "request" {
                        Some("x/y".to_owned())
                    } else {
                        None
                    };
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
        let hits: Vec<(&str, u64, u64)> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.hits, row.requests))
            .collect();
        assert_eq!(
            hits,
            [
                ("raw / x/y (step 1)", 40, 40),
                ("raw / x/y (step 2)", 0, 16),
                ("raw / hover", 8, 10)
            ]
        );
    }
}
