//! The cost of reading, summarising and rendering the record of a whole day, beside a bare pass of serde_json over the
//! same file.

mod kit {
    pub mod args;
    pub mod journal;
    pub mod memory;
    pub mod own;
    pub mod part;
    pub mod race;
    pub mod table;
}

use std::cell::Cell;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use analysis::compare::{Played, compare_by_target};
use analysis::summary;
use analysis::summary::Summary;
use base::units;
use record::{
    Checkpoint, Counters, Entry, Event, Nanos, Outcome, PeakMark, PhaseRef, Process, ReadError, Request, Rollup,
    Sample, StepEnd, StepStart,
};
use report::document::{markdown, page};
use report::export::trace::Trace;
use report::{comparison, export, run};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use kit::args::Args;
use kit::part::{self, Part};
use kit::race::{self, Lap, Runner, race};
use kit::table::{Table, aim, say, times};
use kit::{journal, memory};

const SECOND: Nanos = 1_000_000_000;
const HOUR: u64 = 3_600;
/// Samples in a second.
const RATE: u64 = 20;

/// The ways to go over a record; [`OWN`] are those that count.
const PASSES: &[(&str, &str)] = &[
    ("entry", "bare serde_json into typed entries"),
    ("summary", "read and summarised"),
    ("page", "read, summarised and rendered as HTML"),
    ("json", "read, summarised and rendered as JSON"),
    ("markdown", "read, summarised and compared in Markdown"),
    ("picture", "read, summarised and rendered as SVG"),
    ("trace", "read, summarised and written as a trace"),
    ("value", "bare serde_json into `Value`s"),
    ("ignored", "bare serde_json, everything ignored"),
    ("lines", "lines found, not parsed"),
];

/// The passes that are held against the first.
const OWN: std::ops::RangeInclusive<usize> = 1..=6;

fn main() -> io::Result<()> {
    if let Some(words) = part::played() {
        return pass(&words[0], Path::new(&words[1]));
    }
    let args = Args::read();
    if args.wants("day") {
        day(&args)?;
    }
    Ok(())
}

fn day(args: &Args) -> io::Result<()> {
    let hours = args.pick(24, 1);
    let scratch = journal::scratch()?;
    let path = scratch.path().join("day.jsonl");
    let samples = generate(&path, hours)?;
    let size = path.metadata()?.len();
    let path = path.to_string_lossy();

    let peaks: Vec<Cell<Option<u64>>> = PASSES.iter().map(|_| Cell::new(None)).collect();
    let mut runners: Vec<Runner> = PASSES
        .iter()
        .zip(&peaks)
        .map(|((pass, name), peak)| {
            Runner::new(*name, |_once| {
                let (lap, high_water) = run(pass, &path).ok()?;
                peak.set(peak.get().max(high_water));
                Some(lap)
            })
        })
        .collect();
    race(&mut runners, args.pick(5, 2), 1);
    let (samples, size) = (units::count(samples), units::bytes(size));
    race::print(&format!("a record of {hours} h: {samples} samples, {size}"), &runners);
    let mut table = Table::new("peak memory of the process that did it", &["", "high-water mark"]);
    for ((_, name), peak) in PASSES.iter().zip(&peaks) {
        table.row([(*name).to_owned(), units::or_unknown(peak.get(), units::bytes)]);
    }
    table.print();
    for own in OWN {
        let ratio = runners[own].median_cpu().zip(runners[0].median_cpu());
        aim(
            &format!("CPU, {} ÷ bare typed pass", PASSES[own].1),
            ratio.map(|(own, bare)| own / bare),
            2.0,
            times,
        );
        let peak = peaks[own].get().map(|peak| peak as f64);
        aim("peak memory", peak, f64::from(200 << 20), |bytes| {
            units::bytes(bytes as u64)
        });
    }
    Ok(())
}

/// One pass in a process of its own, so that its peak memory is its own.
fn run(pass: &str, path: &str) -> io::Result<(Lap, Option<u64>)> {
    let line = Part::start(&[pass, path])?.line()?;
    let numbers: Vec<u64> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [wall, cpu, peak] = numbers[..] else {
        return Err(io::Error::other(format!("the pass said `{line}`")));
    };
    let lap = Lap {
        wall: Duration::from_nanos(wall),
        cpu: Duration::from_nanos(cpu),
    };
    // The pass prints 0 where the system does not tell the peak.
    let peak = if peak > 0 { Some(peak) } else { None };
    Ok((lap, peak))
}

/// Goes over the record and prints what that took: nanoseconds of the clock, of the processor, bytes at most.
fn pass(name: &str, path: &Path) -> io::Result<()> {
    let lap = Lap::measure(1, || match name {
        "summary" => {
            black_box(summarised(path)?);
            Some(())
        }
        "page" => {
            let played = Played::new("day.jsonl".to_owned(), summarised(path)?);
            black_box(page::render(&run::document(&played)));
            Some(())
        }
        "json" => {
            black_box(run::json::render(&summarised(path)?).ok()?);
            Some(())
        }
        "markdown" => {
            let summary = summarised(path)?;
            let record = "day.jsonl".to_owned();
            let runs = [Played::new(record, summary)];
            let scenarios = compare_by_target(runs.to_vec(), None);
            black_box(markdown::render(&comparison::document(&scenarios, &runs)));
            Some(())
        }
        "picture" => {
            black_box(export::svg::run(&summarised(path)?, "day.jsonl"));
            Some(())
        }
        "trace" => traced(path),
        "entry" => parsed::<Entry>(path),
        "value" => parsed::<Value>(path),
        "ignored" => parsed::<IgnoredAny>(path),
        _lines => lines(path, |_| Some(())),
    });
    let lap = lap.ok_or_else(|| io::Error::other("the record cannot be read"))?;
    let peak = memory::counters(std::process::id())?.high_water.unwrap_or(0);
    say(&format!("{} {} {peak}", lap.wall.as_nanos(), lap.cpu.as_nanos()));
    Ok(())
}

fn summarised(path: &Path) -> Option<Summary> {
    summary::read(record::open(path).ok()?).ok()
}

/// Writes a trace into nothing: the cost of a disk is not measured.
fn traced(path: &Path) -> Option<()> {
    let reader = record::open(path).ok()?;
    let (mut trace, mut out) = (Trace::default(), BufWriter::with_capacity(1 << 16, io::sink()));
    let mut run = trace.run(reader.header(), "day.jsonl", false, &mut out).ok()?;
    let summary = summary::read_with(reader, |entry| {
        run.write(&mut trace, entry, &mut out).map_err(ReadError::from)
    })
    .ok()?;
    run.finish(&mut trace, &summary, &mut out).ok()?;
    trace.finish(&mut out).ok()
}

fn parsed<T: DeserializeOwned>(path: &Path) -> Option<()> {
    lines(path, |line| {
        black_box(serde_json::from_slice::<T>(line).ok()?);
        Some(())
    })
}

/// Reads every line after the header.
fn lines(path: &Path, mut read: impl FnMut(&[u8]) -> Option<()>) -> Option<()> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).ok()?);
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line).ok()?;
    loop {
        line.clear();
        if file.read_until(b'\n', &mut line).ok()? == 0 {
            return Some(());
        }
        read(&line)?;
    }
}

/// Writes the record of a server that is busy all day: no two samples are alike, a request each second, a phase each
/// hour. Returns how many samples.
fn generate(path: &Path, hours: u64) -> io::Result<u64> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    serde_json::to_writer(&mut file, &journal::header())?;
    file.write_all(b"\n")?;
    let mut random = fastrand::Rng::with_seed(1);
    let process = Process {
        process: 0,
        pid: 4711,
        parent: None,
        started: 123_456,
        name: "server".to_owned(),
        command: vec!["server".to_owned()],
        huge_pages: Some(true),
    };
    put(&mut file, 0, Event::Process(process))?;
    let mut samples = 0;
    for second in 0..hours * HOUR {
        let at = second * SECOND;
        let hour = u32::try_from(second / HOUR).unwrap_or(u32::MAX);
        let phase = PhaseRef {
            phase: 0,
            cycle: hour,
            name: "work".to_owned(),
        };
        if second % HOUR == 0 {
            put(&mut file, at, Event::PhaseStarted(phase.clone()))?;
            put(&mut file, at, Event::StepStarted(step(&phase)))?;
        }
        for tick in 0..RATE {
            let at = at + tick * SECOND / RATE;
            put(&mut file, at, Event::Sample(sample(samples, &mut random)))?;
            samples += 1;
        }
        put(&mut file, at + SECOND / 2, Event::Request(request(&mut random)))?;
        if second % HOUR == HOUR - 1 {
            let last = sample(samples, &mut random);
            put(&mut file, at, Event::StepEnded(Box::new(step_end(&phase))))?;
            put(&mut file, at, Event::PhaseDriven(phase.clone()))?;
            put(&mut file, at, Event::Checkpoint(checkpoint(&phase, last)))?;
            let (marks, reset, kept) = (vec![last], true, Vec::new());
            put(
                &mut file,
                at,
                Event::Peak(PeakMark {
                    phase,
                    marks,
                    reset,
                    kept,
                }),
            )?;
        }
    }
    file.flush()?;
    Ok(samples)
}

/// Writes the line of an entry.
fn put(file: &mut impl Write, at: Nanos, event: Event) -> io::Result<()> {
    serde_json::to_writer(&mut *file, &Entry { at, event })?;
    file.write_all(b"\n")
}

fn sample(number: u64, random: &mut fastrand::Rng) -> Sample {
    let private = (150 << 20) + random.u64(0..8192) * 4096;
    let file = 28 << 20;
    let counters = Counters {
        resident: Some(private + file),
        private: Some(private),
        file: Some(file),
        shared: Some(0),
        swap: Some(0),
        high_water: Some(private + file + (4 << 20)),
        private_high_water: None,
        virtual_size: Some(1_500 << 20),
        minor_faults: Some(40_000 + number * 3),
        major_faults: Some(12),
        user: Some(number * 10_000_000),
        system: Some(number * 1_000_000),
        threads: Some(9),
        cpu: None,
        forked: Some(false),
        memory_of: None,
        own_shared: Some(0),
    };
    Sample { process: 0, counters }
}

fn request(random: &mut fastrand::Rng) -> Request {
    Request {
        method: "textDocument/completion".to_owned(),
        latency: Some(random.u64(1_000_000..80_000_000)),
        outcome: Outcome::Hit,
        bytes: random.u64(200..90_000),
        items: Some(120),
        retries: 0,
        editor: false,
    }
}

fn checkpoint(phase: &PhaseRef, sample: Sample) -> Checkpoint {
    let held = sample.counters.private.unwrap_or(0);
    let rollup = Rollup {
        resident: sample.counters.resident.unwrap_or(0),
        proportional: held + (27 << 20),
        proportional_anonymous: Some(held),
        proportional_file: Some(27 << 20),
        proportional_shared: Some(0),
        unique: held + (26 << 20),
        anonymous: held,
        cost: 900_000,
        ..Rollup::default()
    };
    Checkpoint {
        phase: phase.clone(),
        settled: true,
        waited: SECOND,
        unsettled: String::new(),
        rounds: vec![vec![sample]; 5],
        rollups: vec![rollup],
        resources: None,
        released: None,
    }
}

fn step(phase: &PhaseRef) -> StepStart {
    StepStart {
        phase: phase.clone(),
        step: 0,
        name: "completion".to_owned(),
        method: None,
    }
}

fn step_end(phase: &PhaseRef) -> StepEnd {
    StepEnd {
        phase: phase.clone(),
        step: 0,
        name: "completion".to_owned(),
        requests: HOUR,
        hits: HOUR,
        notifications: 0,
        parked: 0,
        cancelled: 0,
        files_written: 0,
        files_watched: None,
        pulls_open: 0,
        skipped: false,
        looked_for: None,
        idle: None,
        left_open: None,
        release: None,
        self_report: None,
    }
}
