//! The cost of standing between an editor and its server, beside a bare pipe and two `cat`s in between.

mod kit {
    pub mod args;
    pub mod echo;
    pub mod memory;
    pub mod own;
    pub mod part;
    pub mod race;
    pub mod table;
}

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use base::units;
use serde_json::json;

use kit::args::Args;
use kit::part::{self, Part};
use kit::race::{self, Lap, Runner, race};
use kit::table::{aim, say};
use kit::{echo, memory};

/// The first line of a server that runs.
const READY: &str = "ready";
const METHOD: &str = "workspace/symbol";
/// Bytes of a small message with its header.
const SMALL: usize = 300;
const LARGE: usize = 10 << 20;
/// Bytes after which a result has begun to arrive.
const BEGUN: usize = 64 << 10;
/// Most that a message may be held up, in nanoseconds.
const MOST_ADDED: f64 = 50e3;
/// Pause of a person between two keys.
const PAUSE: Duration = Duration::from_millis(30);

fn main() -> io::Result<()> {
    if let Some(words) = part::played() {
        return play(&words);
    }
    let args = Args::read();
    let records = tempfile::tempdir()?;
    if args.wants("relay") {
        small_messages(&args, records.path())?;
    }
    if args.wants("large") {
        large_results(&args, records.path())?;
    }
    Ok(())
}

/// The parts of child processes.
fn play(words: &[String]) -> io::Result<()> {
    let numbers: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    match (words[0].as_str(), &numbers[..]) {
        ("server", [size]) => {
            say(READY);
            echo::serve(&echo::result(*size))
        }
        ("bytes", [request, answer]) => echo::bytes(*request, *answer),
        _unknown => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// A server by itself, behind two `cat`s, and wrapped.
fn servers(result: usize, records: &Path) -> io::Result<[Part; 3]> {
    let (program, words) = part::command(&["server", &result.to_string()])?;
    let program_text = program.to_string_lossy();
    let script = format!("cat | '{program_text}' {} | cat", words.join(" "));
    let mut servers = [
        Part::start(&["server", &result.to_string()])?,
        Part::run(Command::new("sh").args(["-c", &script]))?,
        Part::run(
            Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
                .args(["wrap", "--out"])
                .arg(records)
                .arg("--")
                .arg(&program)
                .args(&words),
        )?,
    ];
    for server in &mut servers {
        server.line()?;
    }
    Ok(servers)
}

const NAMES: [&str; 3] = [
    "a server on bare pipes",
    "two `cat`s in between",
    "lsp-soak wrap in between",
];

fn small_messages(args: &Args, records: &Path) -> io::Result<()> {
    let empty = echo::request(METHOD, &json!({"query": ""})).len();
    let request = echo::request(METHOD, &json!({"query": "x".repeat(SMALL - empty - 1)}));
    let answer = echo::answer(echo::ID, &echo::result(SMALL - 60)).len();
    for (pause, words) in [(None, "one after the other"), (Some(PAUSE), "30 ms apart")] {
        let mut servers = servers(SMALL - 60, records)?;
        let mut pipe = Part::start(&["bytes", &request.len().to_string(), &answer.to_string()])?;
        let mut runners: Vec<Runner> = Vec::new();
        for (server, name) in servers.iter_mut().zip(NAMES) {
            let request = &request;
            runners.push(Runner::new(name, move |count| {
                round_trips(server, request, answer, count, pause)
            }));
        }
        runners.push(Runner::new("as many bytes, without a server", |count| {
            round_trips(&mut pipe, &request, answer, count, pause)
        }));
        let (rounds, batch) = match pause {
            None => (args.pick(100, 10), 200),
            Some(_) => (args.pick(60, 5), 3),
        };
        race(&mut runners, rounds, batch);
        let headline = format!(
            "one round trip, {} bytes there and {answer} back, {words}",
            request.len()
        );
        race::print(&headline, &runners);
        let added = runners[2]
            .median()
            .zip(runners[0].median())
            .map(|(wrapped, bare)| wrapped - bare);
        aim("added to a round trip", added, MOST_ADDED, race::nanos);
    }
    Ok(())
}

/// Sends requests and waits for each answer; a pause before each is not counted.
fn round_trips(server: &mut Part, request: &[u8], answer: usize, count: u32, pause: Option<Duration>) -> Option<Lap> {
    let mut bytes = vec![0; answer];
    let Some(pause) = pause else {
        return Lap::measure(count, || {
            server.stdin.as_mut()?.write_all(request).ok()?;
            server.stdout.read_exact(&mut bytes).ok()
        });
    };
    let mut sum = Lap {
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
    };
    for _ in 0..count {
        thread::sleep(pause);
        let lap = round_trips(server, request, answer, 1, None)?;
        sum.wall += lap.wall;
        sum.cpu += lap.cpu;
    }
    Some(sum)
}

fn large_results(args: &Args, records: &Path) -> io::Result<()> {
    let request = echo::request(METHOD, &json!({"query": ""}));
    let whole = echo::answer(echo::ID, &echo::result(LARGE)).len();
    for (most, what) in [(BEGUN, "the first 64 KiB"), (whole, "all")] {
        let mut servers = servers(LARGE, records)?;
        let wrap = servers[2].child.id();
        let mut runners: Vec<Runner> = Vec::new();
        for (server, name) in servers.iter_mut().zip(NAMES) {
            let request = &request;
            runners.push(Runner::new(name, move |count| {
                results(server, request, whole, most, count)
            }));
        }
        race(&mut runners, args.pick(60, 5), 2);
        race::print(
            &format!("{what} of a result of {}", units::bytes(whole as u64)),
            &runners,
        );
        drop(runners);
        let own = memory::counters(wrap)?.high_water;
        say(&format!(
            "memory of lsp-soak wrap at most: {}",
            units::or_unknown(own, units::bytes)
        ));
    }
    Ok(())
}

/// The time from a request until so many bytes of its answer have come; the rest is read and not counted.
fn results(server: &mut Part, request: &[u8], whole: usize, most: usize, count: u32) -> Option<Lap> {
    let mut bytes = vec![0; whole];
    let mut sum = Lap {
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
    };
    for _ in 0..count {
        let started = Instant::now();
        let lap = Lap::measure(1, || {
            server.stdin.as_mut()?.write_all(request).ok()?;
            server.stdout.read_exact(&mut bytes[..most]).ok()
        })?;
        sum.wall += started.elapsed();
        sum.cpu += lap.cpu;
        server.stdout.read_exact(&mut bytes[most..]).ok()?;
    }
    Some(sum)
}
