//! Measures the memory above its limit of a command that grows by 2 GiB a second, until it is killed, alone and beside
//! busy processes. The measure is the kernel's own maximum of the command, because it includes the last pages.

mod kit {
    pub mod args;
    pub mod part;
    pub mod table;
}

use std::env;
use std::fs;
use std::hint::{black_box, spin_loop};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base::units;
use record::Event;

use kit::args::Args;
use kit::part::{self, Part};
use kit::table::{Table, aim, say, times};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-soak");

/// Bytes per second.
const RATE: u64 = 2 << 30;

const LIMIT: u64 = 300 << 20;

/// Bytes in one sampling interval of 50 ms.
const IN_INTERVAL: f64 = (RATE / 20) as f64;

/// Tolerated bytes above the limit.
const TOLERATED: f64 = (512_u64 << 20) as f64;

/// The command gives up here: a failed guard must not take the machine down.
const MOST: u64 = 4 << 30;

const PAGE: usize = 4096;

fn main() -> io::Result<()> {
    if let Some(words) = part::played() {
        match words[0].as_str() {
            "grow" => grow(),
            _ => spin(),
        }
    }
    // lsp-soak asks every program that it runs for its version, and this one would begin anew.
    if env::args().any(|word| word == "--version") {
        return Ok(());
    }
    let args = Args::read();
    if !args.wants("limit") {
        return Ok(());
    }
    let processors = thread::available_parallelism()?.get();
    let rounds = args.pick(10, 2);
    let mut table = Table::new(
        "Memory above a limit of 300 MiB at 2 GiB a second",
        &["beside", "median", "most", "most, in intervals", "ended by the limit"],
    );
    let mut alone = None;
    for busy in [0, processors, 4 * processors] {
        let mut others = Vec::new();
        for _ in 0..busy {
            let mut other = Part::start(&["spin"])?;
            other.line()?;
            others.push(other);
        }
        let mut above = Vec::new();
        for _ in 0..rounds {
            above.extend(overshoot()?);
        }
        above.sort_unstable();
        let [median, most] = [above.get(above.len() / 2), above.last()].map(Option::<&u64>::copied);
        let beside = match busy {
            0 => "nothing".to_owned(),
            busy => format!("{busy} busy processes on {processors} processors"),
        };
        let intervals = units::or_unknown(most, |most| times(most as f64 / IN_INTERVAL));
        let ended = format!("{} of {rounds}", above.len());
        table.row([beside, shown(median), shown(most), intervals, ended]);
        if busy == 0 {
            alone = most.map(|bytes| bytes as f64);
        }
    }
    table.print();
    say("");
    let what = "memory above the limit, beside nothing";
    aim(what, alone, TOLERATED, |bytes| units::bytes(bytes as u64));
    Ok(())
}

/// Bytes above the limit that the command had at most; `None` if it was not ended by the limit.
fn overshoot() -> io::Result<Option<u64>> {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let (program, words) = part::command(&["grow"])?;
    let out = scratch.path().join("out");
    let status = Command::new(PROGRAM)
        .args(["cold", "--quiet", "--runs", "1", "--warmup", "0"])
        .args(["--memory-limit", "300MiB", "--out"])
        .arg(&out)
        .arg(format!("'{}' {}", program.display(), words.join(" ")))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    if status.code() != Some(4) {
        return Ok(None);
    }
    let Some(record) = record_in(&out)? else {
        return Ok(None);
    };
    let entries = record::open(&record).map_err(io::Error::other)?;
    let peak = entries.flatten().find_map(|entry| match entry.event {
        Event::Command(end) => Some(end.peak),
        _ => None,
    });
    Ok(peak.and_then(|peak| peak.checked_sub(LIMIT)))
}

fn shown(bytes: Option<u64>) -> String {
    units::or_unknown(bytes, units::bytes)
}

fn record_in(out: &Path) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(out)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Touches new pages at the rate, as steadily as the machine lets it.
fn grow() -> ! {
    let begun = Instant::now();
    let mut held: Vec<Vec<u8>> = Vec::new();
    let mut taken = 0;
    while taken < MOST {
        let due = (begun.elapsed().as_secs_f64() * RATE as f64) as u64;
        let missing = due.min(MOST).saturating_sub(taken);
        let mut block = vec![0_u8; usize::try_from(missing).unwrap_or(0)];
        for byte in block.iter_mut().step_by(PAGE) {
            *byte = 1;
        }
        taken += missing;
        held.push(black_box(block));
        thread::sleep(Duration::from_millis(5));
    }
    std::process::exit(0)
}

/// Keeps a processor busy until it is killed.
fn spin() -> ! {
    say("ready");
    loop {
        spin_loop();
    }
}
