//! The time of a gate to its verdict, for servers of known size, and the share of answers that would be wrong: the plan
//! of today beside `--lens both`, or beside that of another lsp-soak (`LSP_SOAK_OLD=PATH`).

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
use std::time::{Duration, Instant};

use base::band::{NoiseFloor, Tolerance};
use base::random::Random;
use base::units;
use serde_json::Value;
use stats::Schedule;
use stats::{Answer, Endpoint, Known, Seen, decide_by_looks};

use kit::args::Args;
use kit::table::{Table, aim, say, times};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-soak");

/// Memory of the baseline, in KiB, and by how much more the candidates have, in thousandths.
const BALLAST: u64 = 200 << 10;
const MORE: [u64; 3] = [0, 10, 30];

/// Gates that are drawn from the records of those that were played.
const DRAWS: usize = 2_000;

fn main() -> io::Result<()> {
    let args = Args::read();
    let chosen: Vec<u64> = MORE
        .into_iter()
        .filter(|more| args.wants(&format!("+{}", more / 10)))
        .collect();
    if chosen.is_empty() {
        return Ok(());
    }
    let server = Path::new(PROGRAM).with_file_name("fixture-system");
    if !server.exists() {
        say("verdict: n/a, the fixture server is not built: `cargo build --release --bin fixture-system`");
        return Ok(());
    }
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    prepare(scratch.path(), &server)?;
    let old = env::var_os("LSP_SOAK_OLD");
    let plans: [(&str, &OsStr, &[&str]); 2] = match &old {
        Some(old) => [("now", OsStr::new(PROGRAM), &[]), ("old", old, &[])],
        None => [
            ("now", OsStr::new(PROGRAM), &[]),
            ("both lenses", OsStr::new(PROGRAM), &["--lens", "both"]),
        ],
    };
    let head = [
        "candidate", "plan", "median", "least", "most", "PASS", "FAIL", "open", "wrong, drawn",
    ];
    for more in chosen {
        let mut table = Table::new("time to the verdict of a gate", &head);
        let mut gates: Vec<Vec<Gate>> = plans.iter().map(|_| Vec::new()).collect();
        // In turn, so that a busy machine is busy for both.
        for number in 0..args.pick(5, 1) {
            for (plan, gates) in plans.iter().zip(&mut gates) {
                let out = format!("{}-{more}-{number}", plan.0.replace(' ', "-"));
                gates.push(play(scratch.path(), plan.1, plan.2, more, &out)?);
            }
        }
        let medians: Vec<f64> = gates.iter().map(|gates| seconds(gates)[gates.len() / 2]).collect();
        for ((name, ..), gates) in plans.iter().zip(&gates) {
            table.row(row(more, name, gates));
        }
        let what = format!("time at +{:.1} % ÷ that of {}", more as f64 / 10.0, plans[1].0);
        table.print();
        aim(&what, Some(medians[0] / medians[1]), 0.2, times);
    }
    Ok(())
}

/// The time, the exit code and the values of one gate that was played.
struct Gate {
    took: Duration,
    code: Option<i32>,
    baseline: Vec<f64>,
    candidate: Vec<f64>,
}

fn seconds(gates: &[Gate]) -> Vec<f64> {
    let mut all: Vec<f64> = gates.iter().map(|gate| gate.took.as_secs_f64()).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn row(more: u64, plan: &str, gates: &[Gate]) -> [String; 9] {
    let all = seconds(gates);
    [
        format!("+{:.1} %", more as f64 / 10.0),
        plan.to_owned(),
        shown(all[all.len() / 2]),
        shown(all[0]),
        shown(all[all.len() - 1]),
        count_ended(gates, 0),
        count_ended(gates, 1),
        count_ended(gates, 3),
        wrong_share(more, gates).map_or_else(|| units::UNKNOWN.to_owned(), |share| format!("{:.1} %", 100.0 * share)),
    ]
}

fn shown(seconds: f64) -> String {
    units::duration(Duration::from_secs_f64(seconds))
}

/// The number of gates that ended with this exit code.
fn count_ended(gates: &[Gate], code: i32) -> String {
    gates.iter().filter(|gate| gate.code == Some(code)).count().to_string()
}

/// The share of drawn gates that answer wrongly: FAIL for growth that is tolerated, PASS for growth that is not.
fn wrong_share(more: u64, gates: &[Gate]) -> Option<f64> {
    let baseline: Vec<f64> = gates.iter().flat_map(|gate| gate.baseline.clone()).collect();
    let candidate: Vec<f64> = gates.iter().flat_map(|gate| gate.candidate.clone()).collect();
    if baseline.is_empty() || candidate.is_empty() {
        return None;
    }
    let looks = Schedule::default();
    let most = looks.runs().last().copied().unwrap_or(3);
    let mut random = Random::for_use(more, "verdict");
    let tolerated = more as f64 / 1000.0 <= Tolerance::PURGED.tol();
    let wrong_answer = if tolerated { Answer::Fail } else { Answer::Pass };
    let mut wrong = 0;
    for _ in 0..DRAWS {
        let endpoint = Endpoint {
            name: "private".to_owned(),
            tolerance: Tolerance::PURGED,
            noise: NoiseFloor::MEMORY,
            known: Known::Seen,
            baseline: draw(&baseline, most, &mut random),
            candidate: draw(&candidate, most, &mut random),
        };
        if decide_by_looks(&[endpoint], &looks).is_ok_and(|verdict| verdict.answer == wrong_answer) {
            wrong += 1;
        }
    }
    Some(f64::from(wrong) / DRAWS as f64)
}

/// Draws `count` of the values at random; one may be drawn several times.
fn draw(values: &[f64], count: usize, random: &mut Random) -> Vec<Seen> {
    (0..count)
        .map(|_| Seen {
            machine: 0,
            value: Some(values[random.below(values.len())]),
        })
        .collect()
}

/// A scenario over the little project that comes with lsp-soak, and a profile per size.
fn prepare(directory: &Path, server: &Path) -> io::Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/workspaces/shop");
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/session.toml"))?;
    let path = toml::Value::String(workspace.to_string_lossy().into_owned());
    fs::write(
        directory.join("session.toml"),
        text.replace("\"../fixtures/workspaces/shop\"", &path.to_string()),
    )?;
    let mut profiles = profile(server, "base", BALLAST);
    for more in MORE {
        profiles += &profile(server, &format!("more-{more}"), BALLAST * (1000 + more) / 1000);
    }
    fs::write(directory.join("servers.toml"), profiles)
}

/// A profile of the fixture server that holds `size` KiB.
fn profile(server: &Path, name: &str, size: u64) -> String {
    format!(
        "[server.{name}]\nprograms = ['{}']\nargs = ['--ballast', '{size}KiB']\nlanguages = ['python']\nallocator = {{ \
         linked = 'system' }}\n",
        server.display()
    )
}

fn play(directory: &Path, program: &OsStr, lens: &[&str], more: u64, out: &str) -> io::Result<Gate> {
    let words = [
        "gate",
        "session.toml",
        "--baseline",
        "base",
        "--candidate",
        &format!("more-{more}"),
        "--quiet",
        "--out",
        out,
    ];
    let words: Vec<OsString> = words.iter().chain(lens).map(OsString::from).collect();
    let begun = Instant::now();
    let status = Command::new(program)
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let took = begun.elapsed();
    let verdict: Value = serde_json::from_str(&fs::read_to_string(directory.join(out).join("gate.json"))?)?;
    let rule = &verdict["against"][0]["rules"][0];
    Ok(Gate {
        took,
        code: status.code(),
        baseline: values(&rule["baseline"]),
        candidate: values(&rule["candidate"]),
    })
}

/// The values of one side of a rule, which are numbers or objects with a `value`.
fn values(side: &Value) -> Vec<f64> {
    side.as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["value"].as_f64().or_else(|| one.as_f64()))
        .collect()
}
