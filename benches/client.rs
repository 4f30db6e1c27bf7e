//! The cost of a request: one round trip, a result of 10 MiB, and a million of them, each beside its limit and its
//! peers.

mod kit {
    pub mod args;
    pub mod echo;
    pub mod journal;
    pub mod memory;
    pub mod own;
    pub mod part;
    pub mod python;
    pub mod race;
    pub mod table;
}

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use base::units;
use lsp::{Answers, Client, Limits, Reply, RequestOptions};
use proctree::process::{Launch, ServerProcess};
use record::{Clock, Event, Journal, Outcome, Request, nanos};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use kit::args::Args;
use kit::part::{self, Part};
use kit::python::Peer;
use kit::race::{self, Lap, Runner, race};
use kit::table::{Table, aim, say};
use kit::{echo, journal, memory};

const METHOD: &str = "workspace/symbol";
const PATIENCE: Duration = Duration::from_secs(600);
const LARGE: usize = 10 << 20;
const CHUNK: usize = 256 << 10;

/// Asks for symbols as often as it is told to, through a client made with pygls.
const PYGLS: &str = r"
import asyncio, sys, time
from lsprotocol import types
from pygls.lsp.client import BaseLanguageClient

async def main():
    client = BaseLanguageClient('bench', '1')
    await client.start_io(sys.argv[1], *sys.argv[2:])
    params = types.WorkspaceSymbolParams(query='find_order')
    await asyncio.wait_for(client.workspace_symbol_async(params), 30)
    for line in sys.stdin:
        started, before = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(int(line)):
            await client.workspace_symbol_async(params)
        print(time.perf_counter_ns() - started, time.process_time_ns() - before, flush=True)

asyncio.run(main())
";

fn main() -> io::Result<()> {
    if let Some(words) = part::played() {
        return play(&words);
    }
    let args = Args::read();
    let runtime = runtime()?;
    if args.wants("round-trip") {
        round_trip(&args, &runtime)?;
    }
    if args.wants("large") {
        large_results(&args, &runtime)?;
    }
    if args.wants("memory") {
        memory_over_many(&args)?;
    }
    Ok(())
}

/// The parts of child processes.
fn play(words: &[String]) -> io::Result<()> {
    let numbers: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    match (words[0].as_str(), &numbers[..]) {
        ("server", [size]) => echo::serve(&echo::result(*size)),
        ("bytes", [request, answer]) => echo::bytes(*request, *answer),
        ("drive", [size, milestones @ ..]) => drive(*size, milestones),
        _unknown => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Starts the echo server as lsp-soak starts any server, and connects to it.
fn connect(runtime: &Runtime, result: usize) -> io::Result<(ServerProcess, Client)> {
    let (program, words) = part::command(&["server", &result.to_string()])?;
    let launch = Launch {
        program,
        args: words.into_iter().map(Into::into).collect(),
        cwd: PathBuf::from("."),
        ..Launch::default()
    };
    runtime.block_on(async {
        let mut server = ServerProcess::spawn(&launch)?;
        let (stdout, stdin) = server.take_pipes().ok_or(io::ErrorKind::BrokenPipe)?;
        let (client, _incoming) = Client::connect(stdout, stdin, Answers::default(), Limits::default());
        Ok((server, client))
    })
}

fn params() -> Value {
    json!({"query": "find_order"})
}

/// One request; `None` unless it had an answer.
async fn ask(client: &Client, params: &Value) -> Option<(Duration, u64)> {
    match client
        .request(METHOD, params, RequestOptions::with_deadline(PATIENCE))
        .await
    {
        Reply::Answer { latency, bytes, .. } => Some((latency, bytes)),
        Reply::Error { .. } | Reply::Unreadable { .. } | Reply::TimedOut | Reply::Parked | Reply::Lost => None,
    }
}

fn round_trip(args: &Args, runtime: &Runtime) -> io::Result<()> {
    let params = params();
    let request = echo::request(METHOD, &params).len();
    let answer = echo::answer(echo::ID, &echo::result(0)).len();
    let mut pipe = Part::start(&["bytes", &request.to_string(), &answer.to_string()])?;
    let (asked, mut answered) = (vec![b'x'; request], vec![0; answer]);
    let (_server, client) = connect(runtime, 0)?;
    let (program, words) = part::command(&["server", "0"])?;
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = program.to_string_lossy();
    words.insert(0, &program);
    let mut pygls = Peer::start(PYGLS, &["pygls", "pygls.lsp.client"], &words);
    let pygls_name = format!("a client on pygls{}", pygls.note());

    let mut runners = [
        Runner::new("bare pipe echo of the same bytes", |count| {
            Lap::measure(count, || {
                pipe.stdin.as_mut()?.write_all(&asked).ok()?;
                pipe.stdout.read_exact(&mut answered).ok()
            })
        }),
        Runner::new("one request through the client", |count| {
            Lap::measure(1, || {
                runtime.block_on(async {
                    for _ in 0..count {
                        ask(&client, &params).await?;
                    }
                    Some(())
                })
            })
        }),
        Runner::new(pygls_name, |count| pygls.work(count)),
    ];
    race(&mut runners, args.pick(100, 10), 200);
    race::print(
        &format!("one round trip: {request} bytes there, {answer} bytes back"),
        &runners,
    );
    Ok(())
}

fn large_results(args: &Args, runtime: &Runtime) -> io::Result<()> {
    let params = params();
    let request = echo::request(METHOD, &params);
    let whole = echo::answer(echo::ID, &echo::result(LARGE));
    let mut bare = Part::start(&["server", &LARGE.to_string()])?;
    let mut parsed = Part::start(&["server", &LARGE.to_string()])?;
    let (_server, client) = connect(runtime, LARGE)?;
    let mut chunk = vec![0; CHUNK];
    let mut body = vec![0; whole.len()];
    let head = whole.iter().position(|byte| *byte == b'{').unwrap_or(0);

    let mut runners = [
        Runner::new("bare read of the same bytes", |count| {
            Lap::measure(count, || {
                bare.stdin.as_mut()?.write_all(&request).ok()?;
                let mut missing = whole.len();
                while missing > 0 {
                    let room = missing.min(CHUNK);
                    let read = bare.stdout.get_mut().read(&mut chunk[..room]).ok()?;
                    if read == 0 {
                        return None;
                    }
                    missing -= read;
                }
                Some(())
            })
        }),
        Runner::new("one result through the client", |count| {
            Lap::measure(1, || {
                runtime.block_on(async {
                    for _ in 0..count {
                        ask(&client, &params).await?;
                    }
                    Some(())
                })
            })
        }),
        Runner::new("bare read, then serde_json::Value", |count| {
            Lap::measure(count, || {
                parsed.stdin.as_mut()?.write_all(&request).ok()?;
                parsed.stdout.get_mut().read_exact(&mut body).ok()?;
                black_box(serde_json::from_slice::<Value>(&body[head..]).ok()?);
                Some(())
            })
        }),
    ];
    race(&mut runners, args.pick(60, 5), 2);
    race::print(&format!("a result of {}", units::bytes(whole.len() as u64)), &runners);
    let rates: Vec<String> = runners
        .iter()
        .map(|runner| units::or_unknown(runner.median(), |nanos| rate(whole.len(), nanos)))
        .collect();
    say(&format!("throughput in the same order: {}", rates.join(", ")));
    let cpu = runners[1].median_cpu();
    aim("client CPU for a result of 10 MiB", cpu, 20e6, race::nanos);
    Ok(())
}

/// The rate of so many bytes in so many nanoseconds.
fn rate(bytes: usize, nanos: f64) -> String {
    format!("{:.0} MB/s", bytes as f64 / nanos * 1e3)
}

fn memory_over_many(args: &Args) -> io::Result<()> {
    let small = args.pick(&[1_000, 10_000, 100_000, 500_000, 1_000_000][..], &[1_000, 10_000]);
    show_driving("over many requests, each written to a journal", 0, small)?;
    let large = args.pick(&[10, 100, 500][..], &[2, 10]);
    show_driving("over results of 10 MiB", LARGE, large)
}

/// Prints a table of requests that a process of its own has sent, so that its memory is that of the client and nothing
/// else.
fn show_driving(what: &str, result: usize, milestones: &[u64]) -> io::Result<()> {
    let mut words = vec!["drive".to_owned(), result.to_string()];
    words.extend(milestones.iter().map(u64::to_string));
    let mut driver = Part::start(&words)?;
    let head = [
        "requests so far", "resident", "high-water mark", "CPU for each", "time for each",
    ];
    let mut table = Table::new(&format!("own memory and CPU {what}"), &head);
    let (mut first, mut last) = (None, None);
    for milestone in milestones {
        let line = driver.line()?;
        let numbers: Vec<Option<f64>> = line.split(' ').map(|number| number.parse().ok()).collect();
        let [resident, mark, Some(cpu), Some(wall)] = numbers[..] else {
            return Err(io::Error::other(format!("the driving process said `{line}`")));
        };
        first = first.or(resident);
        last = mark.or(resident);
        table.row([
            units::count(*milestone),
            units::or_unknown(resident, size),
            units::or_unknown(mark, size),
            race::nanos(cpu),
            race::nanos(wall),
        ]);
    }
    table.print();
    let growth = last.zip(first).map(|(last, first)| last - first);
    aim(
        "most at the end − resident in the first row",
        growth,
        f64::from(2 << 20),
        size,
    );
    aim("own resident memory", last, f64::from(32 << 20), size);
    Ok(())
}

fn size(bytes: f64) -> String {
    units::bytes(bytes as u64)
}

/// Sends requests, one after the other, and prints a line of numbers at each milestone.
fn drive(result: usize, milestones: &[usize]) -> io::Result<()> {
    let runtime = runtime()?;
    let (_server, client) = connect(&runtime, result)?;
    let params = params();
    let scratch = journal::scratch()?;
    let clock = Clock::start();
    let path = scratch.path().join("run.jsonl");
    let (journal, end) = Journal::create(&path, &journal::header(), clock).map_err(io::Error::other)?;
    let mut done = 0;
    for milestone in milestones {
        let count = milestone - done;
        let lap = Lap::measure(1, || {
            runtime.block_on(async {
                for _ in 0..count {
                    let (latency, bytes) = ask(&client, &params).await?;
                    journal.write(Event::Request(request(latency, bytes)));
                }
                Some(())
            })
        });
        let lap = lap.ok_or_else(|| io::Error::other("the echo server did not answer"))?;
        done = *milestone;
        let counters = memory::counters(std::process::id())?;
        let resident = units::or_unknown(counters.resident, |bytes| bytes.to_string());
        let mark = units::or_unknown(counters.high_water, |bytes| bytes.to_string());
        let (cpu, wall) = (lap.cpu.as_nanos() / count as u128, lap.wall.as_nanos() / count as u128);
        say(&format!("{resident} {mark} {cpu} {wall}"));
    }
    end.finish().map_err(io::Error::other)
}

fn request(latency: Duration, bytes: u64) -> Request {
    Request {
        method: METHOD.to_owned(),
        latency: Some(nanos(latency)),
        outcome: Outcome::Hit,
        bytes,
        items: None,
        retries: 0,
        editor: false,
    }
}
