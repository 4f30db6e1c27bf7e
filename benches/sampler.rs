//! The cost of sampling: one sample against its limit and its peers, a tree at 20 Hz, and exact reads by size.

mod kit {
    pub mod args;
    pub mod journal;
    pub mod own;
    pub mod part;
    pub mod python;
    pub mod race;
    pub mod table;
}

use std::fs;
use std::hint::black_box;
use std::io::{self, Read};
use std::thread;
use std::time::{Duration, Instant};

use base::units::{self, UNKNOWN};
use proctree::source::Source;
use proctree::{Options, Sampler, System};
use record::{Clock, Event, Journal};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate};

use kit::args::Args;
use kit::part::{self, Part};
use kit::python::Peer;
use kit::race::{Lap, Runner, nanos, quantile, race};
use kit::table::{Table, aim, say, times};
use kit::{journal, own};

/// Bytes that the process under watch holds when one sample is measured.
const HELD: u64 = 64 << 20;
const PAGE: usize = 4096;

/// Reads what psutil has for a process's memory and processor time, as often as it is told to.
const PSUTIL: &str = r"
import sys, time, psutil
process = psutil.Process(int(sys.argv[1]))
for line in sys.stdin:
    started, before = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(int(line)):
        process.memory_info()
        process.cpu_times()
    print(time.perf_counter_ns() - started, time.process_time_ns() - before, flush=True)
";

fn main() -> io::Result<()> {
    if let Some(words) = part::played() {
        return play(&words);
    }
    let args = Args::read();
    if args.wants("sample") {
        one_sample(&args)?;
    }
    if args.wants("tree") {
        trees(&args)?;
    }
    if args.wants("rollup") {
        rollups(&args)?;
    }
    Ok(())
}

/// The parts of child processes: `hold BYTES`, and `tree PROCESSES still|busy`.
fn play(words: &[String]) -> io::Result<()> {
    let number: u64 = words[1].parse().map_err(io::Error::other)?;
    let mut held = Vec::new();
    let mut children = Vec::new();
    if words[0] == "hold" {
        held = vec![1u8; usize::try_from(number).map_err(io::Error::other)?];
    } else {
        for _ in 1..number {
            children.push(Part::start(&["tree", "1", &words[2]])?);
        }
        for child in &mut children {
            child.line()?;
        }
        if words[2] == "busy" {
            thread::spawn(grow);
        }
    }
    say("ready");
    io::stdin().read_to_end(&mut Vec::new())?;
    black_box(held);
    Ok(())
}

/// Touches a new page every 25 ms, so that no two samples are alike.
fn grow() {
    let mut memory = vec![0u8; 256 << 20];
    for page in memory.chunks_mut(PAGE) {
        page[0] = 1;
        thread::sleep(Duration::from_millis(25));
    }
}

fn one_sample(args: &Args) -> io::Result<()> {
    let mut target = Part::start(&["hold", &HELD.to_string()])?;
    target.line()?;
    let (pid, mut failures) = (target.child.id(), Vec::new());
    let mut source = System::new()?;
    let (mut process, _) = source.open(pid)?;
    let mut both = bare::Files::open(pid, &["stat", "status"]);
    let mut status = bare::Files::open(pid, &["status"]);
    let mut stat = bare::Files::open(pid, &["stat"]);
    let mut watch = System::new()?;
    let (timed, _) = watch.open(pid)?;
    let mut known = sysinfo::System::new().map_err(io::Error::other)?;
    let sysinfo_pid = [sysinfo::Pid::from_u32(pid)];
    let kind = ProcessRefreshKind::nothing().with_memory().with_cpu();
    let mut psutil = Peer::start(PSUTIL, &["psutil"], &[&pid.to_string()]);
    let psutil_name = format!("psutil: memory_info + cpu_times{}", psutil.note());
    let mut runners = [
        Runner::new("bare pread of stat and status", |count| {
            Lap::measure(count, || both.as_mut()?.read())
        }),
        Runner::new("bare pread of status alone", |count| {
            Lap::measure(count, || status.as_mut()?.read())
        }),
        Runner::new("bare pread of stat alone", |count| {
            Lap::measure(count, || stat.as_mut()?.read())
        }),
        Runner::new("processor time: its clock and stat, read and understood", |count| {
            Lap::measure(count, || watch.used(&timed).map(|used| _ = black_box(used)))
        }),
        Runner::new("one sample: read and understood", |count| {
            Lap::measure(count, || {
                source
                    .read(&mut process, &mut failures)
                    .map(|reading| _ = black_box(reading))
            })
        }),
        Runner::new("sysinfo: refresh of that process", |count| {
            Lap::measure(count, || {
                known.refresh_processes_specifics(ProcessesToUpdate::Some(&sysinfo_pid), true, kind);
                black_box(known.process(sysinfo_pid[0])?.memory());
                Some(())
            })
        }),
        Runner::new(psutil_name, |count| psutil.work(count)),
    ];
    race(&mut runners, args.pick(300, 20), 100);
    let title = format!("one sample of a process with {} resident", units::bytes(HELD));
    kit::race::print(&title, &runners);
    aim(
        "one sample ÷ bare read of the same files",
        ratio(&runners[4], &runners[0]),
        2.0,
        times,
    );
    aim(
        "processor time ÷ bare read of stat",
        ratio(&runners[3], &runners[2]),
        2.0,
        times,
    );
    Ok(())
}

fn ratio(own: &Runner, bare: &Runner) -> Option<f64> {
    Some(own.median()? / bare.median()?)
}

fn trees(args: &Args) -> io::Result<()> {
    let head = [
        "tree",
        "sampler thread",
        "with the journal's writer",
        "samples written",
        "deadlines missed",
    ];
    let mut table = Table::new("the whole sampler at 20 Hz, in per cent of one core", &head);
    let mut largest: Option<f64> = None;
    for (processes, state) in [("3", "still"), ("3", "busy"), ("30", "still"), ("30", "busy")] {
        let mut tree = Part::start(&["tree", processes, state])?;
        tree.line()?;
        let watched = watch(
            tree.child.id(),
            args.pick(Duration::from_secs(10), Duration::from_secs(1)),
        )?;
        if processes == "3" {
            let share = watched.thread.unwrap_or(watched.all);
            largest = Some(largest.map_or(share, |most| most.max(share)));
        }
        table.row([
            format!("{processes} processes, {state}"),
            units::or_unknown(watched.thread, per_cent),
            per_cent(watched.all),
            units::count(watched.samples),
            units::count(watched.missed),
        ]);
    }
    table.print();
    aim("sampler thread on a tree of 3", largest, 0.01, per_cent);
    Ok(())
}

struct Watched {
    /// Processor time ÷ time of the sampler's thread; `None` where threads are not told apart.
    thread: Option<f64>,
    /// Processor time ÷ time of this whole process.
    all: f64,
    samples: u64,
    missed: u64,
}

/// Samples a tree for some time, into a real journal.
fn watch(root: u32, time: Duration) -> io::Result<Watched> {
    let scratch = journal::scratch()?;
    let path = scratch.path().join("run.jsonl");
    let clock = Clock::start();
    let (journal, end) = Journal::create(&path, &journal::header(), clock).map_err(io::Error::other)?;
    let options = Options {
        orphans_since: None,
        ..Options::default()
    };
    let sampler = Sampler::start(root, options, clock, Box::new(journal))?;
    // The first look at the system is made once in a run.
    thread::sleep(Duration::from_millis(300));
    let started = Instant::now();
    let before = (thread_cpu("sampler"), own::cpu()?);
    thread::sleep(time);
    let after = (thread_cpu("sampler"), own::cpu()?);
    let took = started.elapsed().as_secs_f64();
    sampler.stop();
    end.finish().map_err(io::Error::other)?;

    let (mut samples, mut missed) = (0, 0);
    for entry in record::open(&path).map_err(io::Error::other)? {
        let event = entry.map_err(io::Error::other)?.event;
        samples += u64::from(matches!(event, Event::Sample(_)));
        if let Event::Late(late) = event {
            missed += late.missed;
        }
    }
    let thread = before
        .0
        .zip(after.0)
        .map(|(before, after)| (after - before).as_secs_f64() / took);
    Ok(Watched {
        thread,
        all: (after.1 - before.1).as_secs_f64() / took,
        samples,
        missed,
    })
}

/// Processor time of a thread of this process, by its name; Linux tells it in nanoseconds.
fn thread_cpu(name: &str) -> Option<Duration> {
    let mut tasks = fs::read_dir("/proc/self/task").ok()?.filter_map(Result::ok);
    let task = tasks.find(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|text| text.trim() == name))?;
    let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn rollups(args: &Args) -> io::Result<()> {
    let head = [
        "resident", "exact read", "90 %", "for each GiB", "of it huge pages", "÷ one sample",
    ];
    let mut table = Table::new("exact counters (smaps_rollup) by resident size", &head);
    let sizes: &[u64] = args.pick(&[4, 16, 64, 256, 1024, 2048], &[4, 64]);
    for mebibytes in sizes {
        let mut target = Part::start(&["hold", &(mebibytes << 20).to_string()])?;
        target.line()?;
        let mut source = System::new()?;
        let (mut process, _) = source.open(target.child.id())?;
        let mut failures = Vec::new();
        let (mut exact, mut cheap, mut last) = (Vec::new(), Vec::new(), None);
        for _ in 0..args.pick(60, 5) {
            let started = Instant::now();
            source.read(&mut process, &mut failures);
            cheap.push(started.elapsed().as_nanos() as f64);
            let started = Instant::now();
            last = source.rollup(&process, 0).map_err(|failure| failure.error)?.or(last);
            exact.push(started.elapsed().as_nanos() as f64);
        }
        let Some(rollup) = last else {
            say("\nexact counters: n/a, this system has none");
            return Ok(());
        };
        let (median, cheap) = (quantile(&exact, 0.5), quantile(&cheap, 0.5));
        let gibibytes = rollup.resident as f64 / f64::from(1 << 30);
        table.row([
            units::bytes(rollup.resident),
            units::or_unknown(median, nanos),
            units::or_unknown(quantile(&exact, 0.9), nanos),
            units::or_unknown(median.map(|median| median / gibibytes), nanos),
            units::bytes(rollup.huge_pages),
            median
                .zip(cheap)
                .map_or(UNKNOWN.to_owned(), |(exact, cheap)| times(exact / cheap)),
        ]);
    }
    table.print();
    Ok(())
}

fn per_cent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// The least that reading the files of a process can cost.
#[cfg(target_os = "linux")]
mod bare {
    use std::fs::File;
    use std::hint::black_box;
    use std::os::unix::fs::FileExt;

    /// Files of one process, kept open.
    pub struct Files {
        files: Vec<File>,
        buffer: [u8; 4096],
    }

    impl Files {
        pub fn open(pid: u32, names: &[&str]) -> Option<Files> {
            let files = names.iter().map(|name| File::open(format!("/proc/{pid}/{name}")).ok());
            Some(Files {
                files: files.collect::<Option<_>>()?,
                buffer: [0; 4096],
            })
        }

        /// Reads each once.
        pub fn read(&mut self) -> Option<()> {
            for file in &self.files {
                black_box(file.read_at(&mut self.buffer, 0).ok()?);
            }
            Some(())
        }
    }
}

/// There are no such files here.
#[cfg(not(target_os = "linux"))]
mod bare {
    pub struct Files;

    impl Files {
        pub fn open(_: u32, _: &[&str]) -> Option<Files> {
            None
        }

        pub fn read(&mut self) -> Option<()> {
            None
        }
    }
}
