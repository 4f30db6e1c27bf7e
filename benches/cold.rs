//! Time and peak memory of commands as `lsp-soak cold` measures them, beside hyperfine (`$HYPERFINE`, or else
//! `hyperfine`) and `/usr/bin/time`, in short turns: a shared machine changes its speed by a third within a minute.

mod kit {
    pub mod args;
    pub mod table;
}

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use base::units;
use serde_json::Value;

use kit::args::Args;
use kit::table::{Table, aim, say, times};

const TIME: &str = "/usr/bin/time";

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-soak");

/// The commands, by the names of their sections.
const COMMANDS: [(&str, &str); 3] = [
    ("true", "true"),
    ("python", "python3 -c 'list(range(10**6))'"),
    ("sort", "sort --parallel=1 numbers"),
];

/// The command that is so short that the fork shows in its time, which hyperfine counts too.
const SHORT: &str = "true";

/// Normal quantile of a 95 % interval.
const QUANTILE: f64 = 1.96;

/// Values of one tool: seconds, and bytes.
#[derive(Default)]
struct Measured {
    wall: Vec<f64>,
    /// The mean wall time of each round; `None` of one that failed.
    rounds: Vec<Option<f64>>,
    cpu: Vec<f64>,
    peak: Vec<f64>,
}

impl Measured {
    fn round(&mut self, play: impl FnOnce(&mut Measured) -> io::Result<()>) -> io::Result<()> {
        let before = self.wall.len();
        play(self)?;
        self.rounds.push(mean(&self.wall[before..]).map(|(mean, _)| mean));
        Ok(())
    }
}

fn main() -> io::Result<()> {
    let args = Args::read();
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let numbers: Vec<String> = (0..200_000_u64).map(|n| (n * 7_919 % 200_003).to_string()).collect();
    fs::write(scratch.path().join("numbers"), numbers.join("\n"))?;
    if !is_installed(&hyperfine_program()) {
        say("hyperfine: n/a, install it or name it in HYPERFINE");
    }
    if !is_installed(OsStr::new(TIME)) {
        say("/usr/bin/time: n/a, install GNU time");
    }
    for (name, command) in COMMANDS.iter().filter(|(name, _)| args.wants(name)) {
        let mut all = [Measured::default(), Measured::default(), Measured::default()];
        let runs = args.pick(4, 3);
        for round in 0..args.pick(25, 2) {
            let [ours, theirs, times] = &mut all;
            // Neither always follows the same.
            if round % 2 == 0 {
                ours.round(|ours| measure_own(scratch.path(), command, runs, ours))?;
            }
            theirs.round(|theirs| {
                measure_hyperfine(scratch.path(), command, runs, theirs);
                Ok(())
            })?;
            if round % 2 == 1 {
                ours.round(|ours| measure_own(scratch.path(), command, runs, ours))?;
            }
            measure_time(scratch.path(), command, runs, times);
        }
        print_figures(name, command, &all);
    }
    Ok(())
}

fn is_installed(program: &OsStr) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

fn print_figures(name: &str, command: &str, all: &[Measured; 3]) {
    let mut table = Table::new(
        &format!("`{command}`"),
        &["tool", "runs", "wall", "user + system", "peak"],
    );
    for (tool, measured) in ["lsp-soak cold", "hyperfine -N", TIME].iter().zip(all) {
        table.row([
            (*tool).to_owned(),
            measured.wall.len().max(measured.peak.len()).to_string(),
            interval(&measured.wall, |seconds| {
                units::duration(Duration::from_secs_f64(seconds))
            }),
            interval(&measured.cpu, |seconds| {
                units::duration(Duration::from_secs_f64(seconds))
            }),
            interval(&measured.peak, |bytes| units::bytes(bytes as u64)),
        ]);
    }
    table.print();
    let [own, hyperfine, time] = all;
    let [ours, theirs] = [&own.wall, &hyperfine.wall].map(|values| mean(values));
    let ratio = ours.zip(theirs).map(|((ours, _), (theirs, _))| ours / theirs);
    if name == SHORT {
        aim(&format!("wall time of {name} ÷ hyperfine's"), ratio, 1.0, times);
    }
    let gaps: Vec<f64> = own
        .rounds
        .iter()
        .zip(&hyperfine.rounds)
        .filter_map(|(ours, theirs)| Some((*ours)? - (*theirs)?))
        .collect();
    let gap = mean(&gaps);
    if let Some(((gap, half), (theirs, _))) = gap.zip(theirs) {
        say(&format!(
            "difference of the rounds: {:+.1} % ± {:.1} %",
            100.0 * gap / theirs,
            100.0 * half / theirs
        ));
    }
    if name != SHORT {
        let ratio = gap.map(|(gap, half)| gap.abs() / half);
        aim("difference of the rounds ÷ half of its interval", ratio, 1.0, times);
    }
    let [ours, theirs] = [&own.peak, &time.peak].map(|values| mean(values));
    let distance = ours.zip(theirs).map(|((ours, _), (theirs, _))| (ours - theirs).abs());
    aim("distance of the peaks", distance, f64::from(1 << 19), mebibytes);
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.2} MiB", bytes / f64::from(1 << 20))
}

/// The mean, and half the width of its interval; `None` without values.
fn mean(values: &[f64]) -> Option<(f64, f64)> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let spread = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    Some((mean, QUANTILE * (spread / count).sqrt()))
}

/// The mean ± half the width of its interval.
fn interval(values: &[f64], text: impl Fn(f64) -> String) -> String {
    mean(values).map_or_else(
        || units::UNKNOWN.to_owned(),
        |(mean, half)| format!("{} ± {}", text(mean), text(half)),
    )
}

/// Adds the values of `lsp-soak cold`.
fn measure_own(directory: &Path, command: &str, runs: usize, measured: &mut Measured) -> io::Result<()> {
    let out = directory.join("records");
    let status = quiet(Command::new(PROGRAM), directory)
        .args(["cold", command, "--quiet", "--runs", &runs.to_string(), "--out"])
        .arg(&out)
        .status()?;
    if !status.success() {
        say(&format!("lsp-soak cold: {status}"));
    }
    for entry in fs::read_dir(&out)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(path)?;
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        for end in lines.filter_map(|line| line.pointer("/event/command").cloned()) {
            measured.wall.push(figure(&end, "wall") / 1e9);
            measured.cpu.push((figure(&end, "user") + figure(&end, "system")) / 1e9);
            measured.peak.push(figure(&end, "peak"));
        }
    }
    fs::remove_dir_all(out)
}

fn figure(end: &Value, name: &str) -> f64 {
    end[name].as_f64().unwrap_or(f64::NAN)
}

/// Adds the values of hyperfine, which tells no peak.
fn measure_hyperfine(directory: &Path, command: &str, runs: usize, measured: &mut Measured) {
    let report = directory.join("hyperfine.json");
    let _absent = fs::remove_file(&report);
    let ended = quiet(Command::new(hyperfine_program()), directory)
        .args([
            "-N",
            "--runs",
            &runs.to_string(),
            "--export-json",
            "hyperfine.json",
            command,
        ])
        .status();
    let text = fs::read_to_string(&report);
    let (Ok(_), Ok(text)) = (ended, text) else {
        return;
    };
    let report: Value = serde_json::from_str(&text).unwrap_or_default();
    let result = &report["results"][0];
    let times = result["times"].as_array().into_iter().flatten();
    measured.wall.extend(times.filter_map(Value::as_f64));
    // It keeps only the means of these.
    let cpu = result["user"].as_f64().zip(result["system"].as_f64());
    measured.cpu.extend(cpu.map(|(user, system)| user + system));
}

/// Adds the peaks that `/usr/bin/time` tells.
fn measure_time(directory: &Path, command: &str, runs: usize, measured: &mut Measured) {
    let Ok(words) = shell_words::split(command) else {
        return;
    };
    for _ in 0..runs {
        let ended = quiet(Command::new(TIME), directory)
            .args(["-f", "%M", "-o", "time.txt"])
            .args(&words)
            .status();
        if ended.is_err() {
            return;
        }
        let text = fs::read_to_string(directory.join("time.txt")).unwrap_or_default();
        let kib = text.lines().last().and_then(|line| line.trim().parse::<f64>().ok());
        measured.peak.extend(kib.map(|kib| kib * 1024.0));
    }
}

/// hyperfine, as the user names it.
fn hyperfine_program() -> OsString {
    env::var_os("HYPERFINE").unwrap_or_else(|| "hyperfine".into())
}

/// A command that prints nothing here.
fn quiet(mut command: Command, directory: &Path) -> Command {
    command
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}
