//! The samples of a record as comma-separated values (RFC 4180), one line for each process at each time.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::record::{Counters, Entry, Event, Header, Nanos, PhaseRef, Process, Sample};
use crate::summary::{counted, held_up};
use crate::text::clean;

/// Columns before those of the counters, and after them. An empty cell is a value that is not known.
const FIRST: [&str; 8] = ["record", "seconds", "kind", "phase", "cycle", "process", "pid", "name"];
const LAST: [&str; 2] = ["forked", "cpu_ns"];

/// What is counted, by its name in tables and traces.
pub type Counted<T> = (&'static str, fn(&T) -> Option<u64>);

/// The counters of a process.
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

/// The names of the columns.
pub fn columns() -> Vec<&'static str> {
    [&FIRST[..], &COUNTERS.map(|(name, _)| name), &LAST].concat()
}

/// Writes the names of the columns.
pub fn head(out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = columns().into_iter().map(str::to_owned).collect();
    end_line(out, &names)
}

/// What must be remembered of a record to write its samples: no more with the length of the record.
pub struct Samples {
    record: String,
    /// Whether a tracer held the server up, so that its memory is none.
    held_up: bool,
    processes: HashMap<u32, Process>,
    phase: Option<PhaseRef>,
}

impl Samples {
    /// Nothing is known of the record but how it is called and its header.
    pub fn of(record: impl Into<String>, header: &Header) -> Samples {
        Samples {
            record: record.into(),
            held_up: held_up(header).is_some(),
            processes: HashMap::new(),
            phase: None,
        }
    }

    /// Writes the samples of one entry.
    ///
    /// `kind` is `sample` for the curve, `checkpoint` for the rounds at the end of a phase, and `mark` for the reading
    /// just before the high-water marks were reset. The curve holds only what changed, and a heartbeat. Of a run that was
    /// traced, sizes and times are empty.
    pub fn write(&mut self, entry: &Entry, out: &mut impl Write) -> io::Result<()> {
        let at = entry.at;
        let mut all = |kind, phase: Option<&PhaseRef>, samples: &[Sample]| -> io::Result<()> {
            samples.iter().try_for_each(|sample| {
                let process = self.processes.get(&sample.process);
                let mut sample = *sample;
                if self.held_up {
                    sample.counters = counted(sample.counters);
                }
                end_line(out, &cells(&self.record, at, kind, phase, &sample, process))
            })
        };
        match &entry.event {
            Event::Sample(sample) => all("sample", self.phase.as_ref(), &[*sample]),
            Event::Checkpoint(taken) => {
                let mut rounds = taken.rounds.iter();
                rounds.try_for_each(|round| all("checkpoint", Some(&taken.phase), round))
            }
            Event::Peak(mark) => all("mark", Some(&mark.phase), &mark.marks),
            Event::Process(process) => {
                self.processes.insert(process.process, process.clone());
                Ok(())
            }
            Event::PhaseStarted(started) => {
                self.phase = Some(started.clone());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn cells(
    record: &str,
    at: Nanos,
    kind: &str,
    phase: Option<&PhaseRef>,
    sample: &Sample,
    process: Option<&Process>,
) -> Vec<String> {
    let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let now = &sample.counters;
    let first = [
        record.to_owned(),
        format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000),
        kind.to_owned(),
        phase.map_or_else(String::new, |phase| phase.name.clone()),
        number(phase.map(|phase| u64::from(phase.cycle))),
        sample.process.to_string(),
        number(process.map(|process| u64::from(process.pid))),
        process.map_or_else(String::new, |process| process.name.clone()),
    ];
    let last = [
        now.forked.map_or_else(String::new, |forked| forked.to_string()),
        number(now.cpu),
    ];
    let counters = COUNTERS.iter().map(|(_, value)| number(value(now)));
    first.into_iter().chain(counters).chain(last).collect()
}

fn end_line(out: &mut impl Write, cells: &[String]) -> io::Result<()> {
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            out.write_all(b",")?;
        }
        out.write_all(quoted(&clean(cell)).as_bytes())?;
    }
    out.write_all(b"\r\n")
}

/// In quotes where the format needs them, quotes inside doubled.
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
    use crate::record::golden::{self, Session};
    use crate::record::{Reader, TracerFacts};

    fn of<R: BufRead>(reader: Reader<R>) -> String {
        let mut out = Vec::new();
        let mut samples = Samples::of("a/b,c.jsonl", reader.header());
        head(&mut out).unwrap();
        reader.for_each(|entry| samples.write(&entry.unwrap(), &mut out).unwrap());
        String::from_utf8(out).unwrap().replace("\"a/b,c.jsonl\"", "REC")
    }

    #[test]
    fn every_sample_is_one_line_of_all_columns() {
        let text = of(golden::open("completed"));
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert!(lines.iter().all(|line| line.split(',').count() == columns().len()));
        assert_eq!(lines.iter().filter(|line| line.contains(",checkpoint,")).count(), 5 * 5);
        let session = golden::completed();
        let sampled = session
            .entries
            .iter()
            .filter(|entry| matches!(entry.event, Event::Sample(_)))
            .count();
        assert_eq!(lines.len(), 1 + sampled + 5 * 5 + 5);
    }

    #[test]
    fn an_unknown_value_is_an_empty_cell_and_a_name_may_hold_anything() {
        let mut session = Session::new("server");
        session.spawn(0, "the \"best\",\u{1b}[2J\n\u{202e}server", None, 1, 0);
        session.entries.iter_mut().for_each(|entry| {
            if let Event::Sample(sample) = &mut entry.event {
                sample.counters = Counters {
                    resident: Some(7),
                    ..Counters::default()
                };
            }
        });
        let bytes = session.bytes();
        let text = of(Reader::new(&bytes[..]).unwrap());
        let line = text.lines().nth(1).unwrap();
        assert_eq!(
            line,
            "REC,0.000000000,sample,,,0,4000,\"the \"\"best\"\",  server\",7,,,,,,,,,,,,,,"
        );
    }

    #[test]
    fn a_traced_record_has_no_sizes_and_no_times() {
        let mut session = golden::completed();
        session.header.plan.traced = Some(TracerFacts::default());
        let bytes = session.bytes();
        let text = of(Reader::new(&bytes[..]).unwrap());
        let sizes = 8..16;
        let columns = columns();
        let place = |name: &str| columns.iter().position(|column| *column == name).unwrap();
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

    #[test]
    fn a_truncated_record_gives_the_samples_until_there() {
        assert!(of(golden::open("truncated")).lines().count() > 50);
    }

    #[test]
    fn every_column_is_explained() {
        let method = include_str!("../../METHOD.md");
        let start = method.find("## Samples as CSV").unwrap();
        let section = &method[start..start + method[start..].find("## Lines of the timeline").unwrap()];
        for column in columns() {
            assert!(section.contains(&format!("`{column}`")), "{column}");
        }
    }
}
