//! The samples of a record as comma-separated values (RFC 4180): one line per process and time.

use std::collections::HashMap;
use std::io::{self, Write};

use analysis::summary::{counters_at_rest, why_unmeasured, without_invalid_counters};
use base::text::clean;
use record::{Counters, Entry, Event, Header, Nanos, PhaseRef, Process, Rollup, Sample};

/// Columns before and after those of the counters. An empty cell is an unknown value.
const FIRST: [&str; 9] = [
    "record", "server", "seconds", "kind", "phase", "cycle", "process", "pid", "name",
];
const LAST: [&str; 2] = ["forked", "cpu_ns"];

/// A counter with its name in tables and traces.
pub type Counted<T> = (&'static str, fn(&T) -> Option<u64>);

pub const COUNTERS: [Counted<Counters>; 13] = [
    ("resident_bytes", |now| now.resident),
    ("private_bytes", |now| now.private),
    ("file_bytes", |now| now.file),
    ("shared_bytes", |now| now.shared),
    ("swap_bytes", |now| now.swap),
    ("high_water_bytes", |now| now.high_water),
    ("private_high_water_bytes", |now| now.private_high_water),
    ("virtual_bytes", |now| now.virtual_size),
    ("minor_faults", |now| now.minor_faults),
    ("major_faults", |now| now.major_faults),
    ("user_ns", |now| now.user),
    ("system_ns", |now| now.system),
    ("threads", |now| now.threads),
];

pub const EXACT: [Counted<Rollup>; 6] = [
    ("exact_private_bytes", Rollup::private),
    ("proportional_bytes", |now| Some(now.proportional)),
    ("unique_bytes", |now| Some(now.unique)),
    ("lazy_free_bytes", |now| Some(now.lazy_free)),
    ("huge_pages_bytes", |now| Some(now.huge_pages)),
    ("swap_proportional_bytes", |now| Some(now.swap_proportional)),
];

pub fn columns() -> Vec<&'static str> {
    let (cheap, exact) = (COUNTERS.map(|(name, _)| name), EXACT.map(|(name, _)| name));
    [&FIRST[..], &cheap, &LAST, &exact].concat()
}

pub fn write_header(out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = columns().into_iter().map(str::to_owned).collect();
    write_line(out, &names)
}

/// The state needed to write a record's samples; it does not grow with the record.
pub struct Samples {
    record: String,
    server: String,
    /// True if a tracer held up the server, so that its memory does not count.
    is_unmeasured: bool,
    processes: HashMap<u32, Process>,
    phase: Option<PhaseRef>,
}

struct Row<'r> {
    kind: &'static str,
    phase: Option<&'r PhaseRef>,
    process: u32,
    counters: Counters,
    rollup: Option<&'r Rollup>,
}

impl Samples {
    pub fn new(record: impl Into<String>, header: &Header) -> Samples {
        Samples {
            record: record.into(),
            server: header.server.label.clone(),
            is_unmeasured: why_unmeasured(header).is_some(),
            processes: HashMap::new(),
            phase: None,
        }
    }

    /// Writes the samples of one entry.
    ///
    /// `kind` is `sample` for the curve, `exact` for a walk of the page tables, `checkpoint` for the end of a phase,
    /// and
    /// `mark` for the reading before a reset of the high-water marks. The curve has only changes and heartbeats. A
    /// traced run has no sizes and times.
    pub fn write(&mut self, entry: &Entry, out: &mut impl Write) -> io::Result<()> {
        match &entry.event {
            Event::Sample(sample) => {
                let row = Row::new("sample", self.phase.as_ref(), sample);
                self.write_row(entry.at, &row, out)?;
            }
            Event::Rollup(rollup) => {
                let row = Row {
                    kind: "exact",
                    phase: self.phase.as_ref(),
                    process: rollup.process,
                    counters: Counters::default(),
                    rollup: Some(rollup),
                };
                self.write_row(entry.at, &row, out)?;
            }
            Event::Checkpoint(taken) => {
                for sample in taken.rounds.last().into_iter().flatten() {
                    let row = Row {
                        counters: counters_at_rest(taken, sample.process),
                        rollup: taken.rollups.iter().find(|rollup| rollup.process == sample.process),
                        ..Row::new("checkpoint", Some(&taken.phase), sample)
                    };
                    self.write_row(entry.at, &row, out)?;
                }
            }
            Event::Peak(mark) => {
                for sample in &mark.marks {
                    let row = Row::new("mark", Some(&mark.phase), sample);
                    self.write_row(entry.at, &row, out)?;
                }
            }
            Event::Process(process) => {
                self.processes.insert(process.process, process.clone());
            }
            Event::PhaseStarted(started) => self.phase = Some(started.clone()),
            _ => {}
        }
        Ok(())
    }

    fn write_row(&self, at: Nanos, row: &Row<'_>, out: &mut impl Write) -> io::Result<()> {
        let (counters, rollup) = if self.is_unmeasured {
            (without_invalid_counters(row.counters), None)
        } else {
            (row.counters, row.rollup)
        };
        let process = self.processes.get(&row.process);
        let mut cells = vec![
            self.record.clone(),
            self.server.clone(),
            format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000),
            row.kind.to_owned(),
            text_or_empty(row.phase.map(|phase| &phase.name)),
            text_or_empty(row.phase.map(|phase| phase.cycle)),
            row.process.to_string(),
            text_or_empty(process.map(|process| process.pid)),
            text_or_empty(process.map(|process| &process.name)),
        ];
        cells.extend(COUNTERS.iter().map(|(_, counter)| text_or_empty(counter(&counters))));
        cells.push(text_or_empty(counters.forked));
        cells.push(text_or_empty(counters.cpu));
        cells.extend(EXACT.iter().map(|(_, counter)| text_or_empty(rollup.and_then(counter))));
        write_line(out, &cells)
    }
}

impl<'r> Row<'r> {
    fn new(kind: &'static str, phase: Option<&'r PhaseRef>, sample: &Sample) -> Row<'r> {
        Row {
            kind,
            phase,
            process: sample.process,
            counters: sample.counters,
            rollup: None,
        }
    }
}

/// A value as a cell, empty if it is unknown.
fn text_or_empty(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn write_line(out: &mut impl Write, cells: &[String]) -> io::Result<()> {
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            out.write_all(b",")?;
        }
        out.write_all(quoted(&clean(cell)).as_bytes())?;
    }
    out.write_all(b"\r\n")
}

/// Quotes a cell where the format requires it.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use super::*;
    use record::golden::{self, Session};
    use record::{Reader, TracerFacts};

    fn csv<R: BufRead>(reader: Reader<R>) -> String {
        let mut out = Vec::new();
        let mut samples = Samples::new("a/b,c.jsonl", reader.header());
        write_header(&mut out).unwrap();
        for entry in reader {
            samples.write(&entry.unwrap(), &mut out).unwrap();
        }
        String::from_utf8(out).unwrap().replace("\"a/b,c.jsonl\"", "REC")
    }

    #[test]
    fn every_sample_is_one_line_of_all_columns() {
        let text = csv(golden::open("completed"));
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert!(lines.iter().all(|line| line.split(',').count() == columns().len()));
        assert_eq!(
            lines.iter().filter(|line| line.contains(",checkpoint,")).count(),
            5,
            "one for each phase, not one for each of its rounds"
        );
        let session = golden::completed();
        let sampled = session
            .entries
            .iter()
            .filter(|entry| matches!(entry.event, Event::Sample(_)))
            .count();
        assert_eq!(lines.len(), 1 + sampled + 5 + 5);
    }

    #[test]
    fn an_unknown_value_is_an_empty_cell_and_a_name_may_hold_anything() {
        let mut session = Session::new("server");
        session.spawn(0, "the \"best\",\u{1b}[2J\n\u{202e}server", None, 1, 0);
        for entry in &mut session.entries {
            if let Event::Sample(sample) = &mut entry.event {
                sample.counters = Counters {
                    resident: Some(7),
                    ..Counters::default()
                };
            }
        }
        let bytes = session.bytes();
        let text = csv(Reader::new(&bytes[..]).unwrap());
        let line = text.lines().nth(1).unwrap();
        assert_eq!(
            line,
            "REC,server,0.000000000,sample,,,0,4000,\"the \"\"best\"\",  server\",7,,,,,,,,,,,,,,,,,,,,"
        );
    }

    #[test]
    fn a_traced_record_has_no_sizes_and_no_times() {
        let mut session = golden::completed();
        session.header.plan.traced = Some(TracerFacts::default());
        let bytes = session.bytes();
        let text = csv(Reader::new(&bytes[..]).unwrap());
        let sizes = 9..17;
        let columns = columns();
        assert_eq!(
            (columns[sizes.start], columns[sizes.end - 1]),
            ("resident_bytes", "virtual_bytes")
        );
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            assert!(cells[sizes.clone()].iter().all(|cell| cell.is_empty()), "{line}");
            assert!(
                cells[place("user_ns")].is_empty() && cells[place("system_ns")].is_empty(),
                "{line}"
            );
        }
        assert!(
            text.lines()
                .skip(1)
                .any(|line| !line.split(',').nth(place("minor_faults")).unwrap().is_empty())
        );
    }

    fn place(name: &str) -> usize {
        columns().iter().position(|column| *column == name).unwrap()
    }

    #[test]
    fn a_checkpoint_says_what_the_report_says_of_a_single_process() {
        let text = csv(golden::open("completed"));
        let summary = analysis::golden::read("completed");
        let checkpoint = summary.phases[0].checkpoint.as_ref().unwrap();
        let line = text.lines().find(|line| line.contains(",checkpoint,")).unwrap();
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[1], "ty");
        for (column, value) in [
            ("resident_bytes", checkpoint.resident),
            ("exact_private_bytes", checkpoint.private_exact),
            ("proportional_bytes", checkpoint.proportional),
            ("huge_pages_bytes", checkpoint.huge_pages),
        ] {
            assert_eq!(cells[place(column)].parse().ok(), value, "{column}");
        }
        assert!(checkpoint.proportional.is_some());
    }

    #[test]
    fn a_truncated_record_gives_the_samples_until_there() {
        assert!(csv(golden::open("truncated")).lines().count() > 50);
    }

    #[test]
    fn every_column_is_explained() {
        let document = include_str!("../../../../docs/export.md");
        let start = document.find("## Samples as CSV").unwrap();
        let section = &document[start..start + document[start..].find("## Traces for Perfetto").unwrap()];
        for column in columns() {
            assert!(section.contains(&format!("`{column}`")), "{column}");
        }
    }
}
