//! The use of lsp-soak itself during a real run on the fixture server: processor while nothing happens, memory all
//! along, and room on the disk.

mod kit {
    pub mod args;
    pub mod memory;
    pub mod table;
}

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::units::{self, UNKNOWN};
use record::{Counters, Event};

use kit::args::Args;
use kit::memory;
use kit::table::{Table, aim, say, times};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-soak");
/// Left out at both ends of a stretch: the two clocks agree to some milliseconds only.
const MARGIN: Duration = Duration::from_secs(1);

/// Counted with what happens once: the first seconds of an idle window belong to what came before.
const SETTLING: u64 = 5;
const DAY: u64 = 24 * 3600;
const MOST: u64 = 5 << 20;

fn main() -> io::Result<()> {
    let args = Args::read();
    if !args.wants("run") && !args.wants("idle") {
        return Ok(());
    }
    if !fixture().exists() {
        say("a real run: n/a, the fixture server is not built: `cargo build --release --bin fixture-system`");
        return Ok(());
    }
    if args.wants("run") {
        let (drive, idle) = args.pick((60, 20), (3, 5));
        let (looks, record) = run(&format!("{}{}", driving(drive), silence(idle)))?;
        show(&looks, &stretches(&record)?);
    }
    if args.wants("idle") {
        let seconds = args.pick(600, 10);
        let (_, record) = run(&silence(seconds + SETTLING))?;
        print_room(&record, seconds)?;
    }
    Ok(())
}

/// The fixture server, which cargo puts beside lsp-soak.
fn fixture() -> PathBuf {
    Path::new(PROGRAM).with_file_name("fixture-system")
}

/// A scenario that opens some files and then plays `phases`.
fn text(phases: &str) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/workspaces/shop");
    let workspace = toml::Value::String(workspace.to_string_lossy().into_owned());
    format!(
        r#"
format = 1
name = "own"
[workspace]
path = {workspace}
language = "python"
[[phase]]
name = "start"
steps = [{{ start = {{}} }}, {{ open = {{ files = 10 }} }}]
{phases}"#
    )
}

fn driving(seconds: u64) -> String {
    format!(
        r#"
[[phase]]
name = "drive"
repeat = {{ for = "{seconds}s" }}
settle = {{ at-most = "1s" }}
steps = [
    {{ definition = {{ per-file = 50 }} }},
    {{ completion = {{ per-file = 50 }} }},
    {{ workspace-symbol = {{ queries = ["a", "e"] }} }},
    {{ type-and-complete = {{ files = 2, per-file = 2, cadence = "20ms" }} }},
]
"#
    )
}

fn silence(seconds: u64) -> String {
    format!(
        r#"
[[phase]]
name = "idle"
steps = [{{ idle = {{ mode = "silent", for = "{seconds}s" }} }}]
"#
    )
}

/// The counters of lsp-soak at one moment.
struct Look {
    /// Since 1970.
    at: Duration,
    counters: Counters,
}

/// Runs lsp-soak to its end, looking at it every 100 ms, and keeps what it recorded.
fn run(phases: &str) -> io::Result<(Vec<Look>, String)> {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let scenario = scratch.path().join("scenario.toml");
    let out = scratch.path().join("out");
    fs::write(&scenario, text(phases))?;
    let mut child = Command::new(PROGRAM)
        .arg("run")
        .arg(&scenario)
        .arg("--server")
        .arg(fixture())
        .arg("--out")
        .arg(&out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut looks = Vec::new();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Ok(counters) = memory::counters(child.id()) {
            let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            looks.push(Look { at, counters });
        }
        thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        return Err(io::Error::other(format!("lsp-soak ended with {status}")));
    }
    let mut found = fs::read_dir(&out)?.filter_map(Result::ok).map(|entry| entry.path());
    let record = found.find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    Ok((looks, fs::read_to_string(record.ok_or(io::ErrorKind::NotFound)?)?))
}

/// A part of the run, since 1970.
struct Stretch {
    name: &'static str,
    from: Duration,
    to: Duration,
    requests: u64,
}

impl Stretch {
    /// A stretch whose ends are not known yet.
    fn new(name: &'static str) -> Stretch {
        Stretch {
            name,
            from: Duration::ZERO,
            to: Duration::ZERO,
            requests: 0,
        }
    }

    /// True for a look inside it, [`MARGIN`] away from both ends.
    fn contains(&self, look: &Look) -> bool {
        look.at >= self.from + MARGIN && look.at + MARGIN <= self.to
    }
}

/// The times at which driving and idling begin and end, from the record.
fn stretches(record: &str) -> io::Result<[Stretch; 2]> {
    let record = record::Reader::new(record.as_bytes()).map_err(io::Error::other)?;
    let started: jiff::Timestamp = record.header().started.parse().map_err(io::Error::other)?;
    let started = Duration::try_from(started.duration_since(jiff::Timestamp::UNIX_EPOCH)).map_err(io::Error::other)?;
    let mut drive = Stretch::new("driving");
    let mut idle = Stretch::new("idle, sampling at 20 Hz");
    for entry in record {
        let record::Entry { at, event } = entry.map_err(io::Error::other)?;
        let at = started + Duration::from_nanos(at);
        if let Event::PhaseStarted(phase) = &event
            && phase.name == "drive"
            && phase.cycle == 0
        {
            drive.from = at;
        } else if let Event::PhaseDriven(phase) = &event
            && phase.name == "drive"
        {
            drive.to = at;
        } else if let Event::StepStarted(step) = &event
            && step.name == "idle"
        {
            idle.from = at;
        } else if let Event::StepEnded(step) = &event
            && step.name == "idle"
        {
            idle.to = at;
        } else if let Event::Request(_) = &event
            && drive.from > Duration::ZERO
        {
            drive.requests += 1;
        }
    }
    Ok([drive, idle])
}

/// Prints the bytes that a day of silence would write, from so many seconds of it.
fn print_room(record: &str, seconds: u64) -> io::Result<()> {
    let entries = record::Reader::new(record.as_bytes()).map_err(io::Error::other)?;
    let entries: Vec<record::Entry> = entries.collect::<Result<_, _>>().map_err(io::Error::other)?;
    let begun = entries.iter().find_map(|entry| match &entry.event {
        Event::StepStarted(step) if step.name == "idle" => Some(entry.at),
        _ => None,
    });
    let from = begun.ok_or(io::ErrorKind::NotFound)? + SETTLING * 1_000_000_000;
    let within = from..from + seconds * 1_000_000_000;
    let lines = record.lines().skip(1).zip(&entries);
    let silent = lines.filter(|(_, entry)| within.contains(&entry.at));
    let (count, silent) = silent.fold((0, 0), |(count, sum), (line, _)| {
        (count + 1, sum + line.len() as u64 + 1)
    });
    let once = record.len() as u64 - silent;
    let day = once + silent * DAY / seconds;
    let head = ["", "time", "entries", "written", "everything before and after", "24 h"];
    let mut table = Table::new("the record of an idle server at 20 Hz", &head);
    table.row([
        "silence".to_owned(),
        units::duration(Duration::from_secs(seconds)),
        units::count(count),
        units::bytes(silent),
        units::bytes(once),
        units::bytes(day),
    ]);
    table.print();
    aim(
        "the record of 24 h of silence",
        Some(day as f64),
        MOST as f64,
        |bytes| units::bytes(bytes as u64),
    );
    Ok(())
}

fn show(looks: &[Look], stretches: &[Stretch]) {
    let head = [
        "", "time", "requests", "CPU of one core", "resident first", "in the middle", "last",
    ];
    let mut table = Table::new("lsp-soak itself, in a real run on the fixture server", &head);
    let mut idle = None;
    let mut growth = None;
    for stretch in stretches {
        let looks: Vec<&Look> = looks.iter().filter(|look| stretch.contains(look)).collect();
        let (Some(first), Some(last)) = (looks.first(), looks.last()) else {
            say(&format!("{}: too short to be seen; leave `--quick` away", stretch.name));
            continue;
        };
        let took = (last.at - first.at).as_secs_f64();
        let used = cpu(last)
            .zip(cpu(first))
            .map(|(last, first)| (last - first).as_secs_f64() / took);
        if stretch.requests == 0 {
            idle = used;
        } else {
            let ratio = last.counters.resident.zip(looks[looks.len() / 4].counters.resident);
            growth = ratio.map(|(last, early)| last as f64 / early as f64);
        }
        table.row([
            stretch.name.to_owned(),
            units::duration(last.at - first.at),
            units::count(stretch.requests),
            units::or_unknown(used, per_cent),
            resident(first),
            resident(looks[looks.len() / 2]),
            resident(last),
        ]);
    }
    table.print();
    let peak = looks.iter().filter_map(|look| look.counters.high_water).max();
    say(&format!(
        "high-water mark of the whole command, report included: {}",
        peak.map_or(UNKNOWN.to_owned(), units::bytes)
    ));
    aim("own CPU at 20 Hz while idle", idle, 0.01, per_cent);
    aim(
        "resident at the end of driving ÷ after a quarter of it",
        growth,
        1.1,
        times,
    );
    let limit = f64::from(32 << 20);
    aim("own memory", peak.map(|peak| peak as f64), limit, |bytes| {
        units::bytes(bytes as u64)
    });
}

fn resident(look: &Look) -> String {
    units::or_unknown(look.counters.resident, units::bytes)
}

fn cpu(look: &Look) -> Option<Duration> {
    let (user, system) = (look.counters.user?, look.counters.system?);
    Some(Duration::from_nanos(user + system))
}

fn per_cent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
