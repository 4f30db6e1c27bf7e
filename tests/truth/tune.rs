//! A sweep of a server with known memory: it finds the settings that release memory, and the recommended one meets
//! its prediction.

use std::fs;

use serde_json::Value;

use crate::fixture::JEMALLOC;
use crate::ground::{PreparedWorkspace, scenario};
use crate::outcome::MIB;

/// Opens and queries three documents, closes all, and idles.
const PHASES: &str = r#"
[[phase]]
name = "start"
steps = [{ start = {} }]
[[phase]]
name = "open"
steps = [{ open = { files = 3 } }, { definition = { files = 1, per-file = 24 } }]
[[phase]]
name = "decay"
steps = [{ close = {} }, { idle = { mode = "silent", for = "3s" } }]
"#;

/// Releases at once, by a thread within half a second, and never while idle.
const GRID: &str = r#"
format = 1
[[axis]]
name = "decay"
values = [
    { label = "at-once", env = { _RJEM_MALLOC_CONF = "dirty_decay_ms:0" } },
    { label = "soon", env = { _RJEM_MALLOC_CONF = "background_thread:true,dirty_decay_ms:500" } },
    { label = "never", env = { _RJEM_MALLOC_CONF = "dirty_decay_ms:-1" } },
]
"#;

fn ground() -> PreparedWorkspace {
    let calls: String = (0..30).map(|number| format!("price({number})\n")).collect();
    let shop = format!("def price(item):\n    return item\n\n\n{calls}");
    let ground = PreparedWorkspace::new(&scenario("tuned", "200ms", PHASES), &shop);
    for name in ["till.py", "yard.py"] {
        ground.write(&format!("workspace/{name}"), &shop);
    }
    let server = format!(
        "[server.je]\nprograms = ['{JEMALLOC}']\nargs = ['--via', 'allocator', '--retain-open', '16MiB']\nlanguages = \
         ['python']\n"
    );
    ground.write("servers.toml", &server);
    ground.write("grid.toml", GRID);
    ground
}

/// A busy machine says nothing about latency and processor time.
const LAX: [&str; 4] = ["--allow-cpu", "1000000%", "--allow-latency", "1000000%"];

fn cell<'r>(report: &'r Value, label: &str) -> &'r Value {
    let mut cells = report["cells"].as_array().expect("there are cells").iter();
    cells.find(|cell| cell["label"] == label).expect("it was tried")
}

#[track_caller]
fn private(cell: &Value) -> f64 {
    cell["figures"]["private"]["median"]["value"]
        .as_f64()
        .expect("it was measured")
}

#[test]
fn what_gives_back_is_found_and_shipped_and_keeps_its_promise() {
    let ground = ground();
    let tune = [
        "tune", "scenario.toml", "--server", "je", "--grid", "grid.toml", "--rungs", "1,3", "--out", "out", "-q",
    ];
    let said = ground.stdout(&[&tune[..], &LAX].concat());
    assert!(said.contains("use "), "{said}");
    let report = fs::read_to_string(ground.join("out/tune.json")).expect("it lies beside the records");
    let report: Value = serde_json::from_str(&report).expect("it is JSON");
    let default = private(cell(&report, "default"));
    for label in ["at-once", "soon"] {
        let saved = default - private(cell(&report, label));
        assert!(saved > (20 * MIB) as f64, "{label} saves {saved}\n{said}");
    }
    let chosen = report["chosen"].as_str().unwrap_or_else(|| panic!("{said}"));
    assert!(["at-once", "soon"].contains(&chosen), "{said}");
    assert!(cell(&report, chosen)["front"].as_bool().expect("it says so"), "{said}");
    assert!(private(cell(&report, "never")) > default - (8 * MIB) as f64, "{said}");
    // The records alone give the same result, and the line can be pasted.
    let from = [&["tune", "--from", "out"], &LAX[..]].concat();
    assert_eq!(ground.stdout(&from), said);
    let line = ground.stdout(&[&from[..], &["--print", "env"]].concat());
    let (name, value) = line
        .trim_end()
        .strip_prefix("export ")
        .and_then(|line| line.split_once('='))
        .expect("it sets a variable");
    let server = format!("again: {name}={value} je");
    let run = [
        "run", "scenario.toml", "--server", &server, "--out", "again", "-q", "--format", "json",
    ];
    let fresh: Value = serde_json::from_str(&ground.stdout(&run)).expect("it is JSON");
    let last = fresh["phases"]
        .as_array()
        .and_then(|phases| phases.last())
        .expect("it has phases");
    let fresh = last["private"].as_f64().expect("it was measured");
    let promise = &cell(&report, chosen)["promise"];
    let [low, high] = [0, 1].map(|end| promise[end].as_f64().expect("three runs promise something"));
    // One run in twenty may lie outside, by as much as runs vary.
    let (low, high) = (low - MIB as f64, high + MIB as f64);
    assert!(
        low <= fresh && fresh <= high,
        "{fresh} is not within {low} to {high}\n{said}"
    );
}

/// Both release at once; one answers 30 % more slowly.
const COSTS: &str = r#"
format = 1
[[cell]]
label = "free"
env = { _RJEM_MALLOC_CONF = "dirty_decay_ms:0" }
[[cell]]
label = "dear"
env = { _RJEM_MALLOC_CONF = "dirty_decay_ms:0" }
args = ["--slow", "260ms"]
"#;

#[test]
fn what_costs_nothing_is_recommended_within_eight_runs_and_what_costs_30_percent_never() {
    let ground = ground();
    let brief = PHASES.replace("for = \"3s\"", "for = \"1s\"");
    ground.write("scenario.toml", &scenario("tuned", "200ms", &brief));
    let server = format!(
        "[server.je]\nprograms = ['{JEMALLOC}']\nargs = ['--via', 'allocator', '--retain-open', '16MiB', '--slow', \
         '200ms']\nlanguages = ['python']\n"
    );
    ground.write("servers.toml", &server);
    ground.write("costs.toml", COSTS);
    // The processor time of so little work is a few ticks.
    let tune = [
        "tune", "scenario.toml", "--server", "je", "--grid", "costs.toml", "--rungs", "1,3,8", "--out", "out", "-q",
        "--allow-cpu", "1000000%", "--format", "json",
    ];
    let report: Value = serde_json::from_str(&ground.stdout(&tune)).expect("it is JSON");
    assert_eq!(report["chosen"], "free", "{report:#}");
    let dear = &cell(&report, "dear")["why_not"];
    assert!(!dear.is_null(), "{report:#}");
    // Alone it is not recommended either.
    let alone = COSTS
        .split("[[cell]]\nlabel = \"free\"")
        .next()
        .expect("there is a head");
    let dear = COSTS.split("[[cell]]\n").last().expect("there are cells");
    ground.write("dear.toml", &format!("{alone}[[cell]]\n{dear}"));
    let tune = [
        "tune", "scenario.toml", "--server", "je", "--grid", "dear.toml", "--rungs", "1,3,5", "--out", "alone", "-q",
        "--allow-cpu", "1000000%", "--format", "json",
    ];
    let report: Value = serde_json::from_str(&ground.stdout(&tune)).expect("it is JSON");
    assert!(report["chosen"].is_null(), "{report:#}");
}

/// Checks that a sweep is refused before any start, with these words.
#[track_caller]
fn assert_refused(ground: &PreparedWorkspace, more: &[&str], told: &[&str]) {
    let tune = ["tune", "scenario.toml", "--server", "je", "--out", "out"];
    let (said, errors) = ground.ends(2, &[&tune[..], more].concat());
    assert_eq!(said, "");
    for told in told {
        assert!(errors.contains(told), "{told} is not in\n{errors}");
    }
    assert!(!ground.join("out").exists());
}

#[test]
fn nothing_is_started_where_a_cell_is_wrong_or_the_time_too_short() {
    let ground = ground();
    assert_refused(
        &ground,
        &["--grid", "grid.toml", "--time-budget", "5s"],
        &["is too short for one run of each"],
    );
    let vscode = ["--preset", "jemalloc", "--print", "vscode"];
    assert_refused(
        &ground,
        &[&vscode[..], &["--list"]].concat(),
        &["`--print vscode` cannot be used with `--list`", "omit one of the two"],
    );
    assert_refused(
        &ground,
        &[&vscode[..], &["--format", "json"]].concat(),
        &["`--print vscode` cannot be used with `--format json`"],
    );
    assert_refused(
        &ground,
        &["--preset", "mimalloc"],
        &["uses jemalloc", "use --preset jemalloc"],
    );
    ground.write(
        "wrong.toml",
        "format = 1\n[[axis]]\nname = \"a\"\nvalues = [{ label = \"a-b\", env = { MALLOC_CONF = \"narenas:1\" } }, \
         { label = \"c\", env = { _RJEM_MALLOC_CONF = \"dirty_dekay_ms:0\" } }, { label = \"d\", cpus = \"60000\" }]\n",
    );
    let wrong = [
        "`a-b`: `MALLOC_CONF` does nothing",
        "set `_RJEM_MALLOC_CONF`",
        "`c`: ",
        "dirty_dekay_ms",
        "`d`: ",
    ];
    assert_refused(&ground, &["--grid", "wrong.toml"], &wrong);
    ground.write("typo.toml", "format = 1\n[[axis]]\nname = \"a\"\nvalus = []\n");
    assert_refused(
        &ground,
        &["--grid", "typo.toml", "--isolation", "cpy"],
        &[
            "did you mean `values`?",
            "typo.toml:4:1",
            "`--isolation cpy` is unknown",
        ],
    );
    let listed = ground.stdout(&[
        "tune", "scenario.toml", "--server", "je", "--grid", "grid.toml", "--list",
    ]);
    assert!(
        listed.contains("at-once") && listed.contains("4 settings, including the default"),
        "{listed}"
    );
    assert!(!ground.join("out").exists() && !ground.join("reports").exists());
}

#[test]
fn what_cannot_be_printed_and_what_is_set_already_are_told_before_the_start() {
    let ground = ground();
    assert_refused(
        &ground,
        &["--grid", "grid.toml", "--print", "rust,env", "--cell", "at-onse"],
        &["no setting is called `at-onse`", "did you mean `at-once`?"],
    );
    assert_refused(
        &ground,
        &["--grid", "grid.toml", "--print", "env,rust", "--cell", "default"],
        &[
            "`--print env` of `default`: nothing to set",
            "`--print rust` of `default`",
        ],
    );
    assert_refused(
        &ground,
        &[
            "--grid", "grid.toml", "--preload", "jemalloc,mimalloc", "--isolation", "cpy",
        ],
        &[
            "`--preload jemalloc,mimalloc` names several",
            "--preset preloads",
            "`--isolation cpy` is unknown",
        ],
    );
    ground.write(
        "args.toml",
        "format = 1\n[[cell]]\nlabel = \"args\"\nargs = [\"--ballast\", \"1MiB\"]\n",
    );
    assert_refused(
        &ground,
        &["--grid", "args.toml", "--print", "cargo"],
        &["`--print cargo` is possible for no setting of this sweep: the build cannot have it: it sets none"],
    );
    let given = "--env=_RJEM_MALLOC_CONF=narenas:2,dirty_decay_ms:0";
    let listed = ground.stdout(&[
        "tune", "scenario.toml", "--server", "je", "--preset", "jemalloc", "--list", given,
    ]);
    for told in [
        "narenas-2, which is already set",
        "dirty-0, which is already set",
        " _RJEM_MALLOC_CONF=narenas:2,dirty_decay_ms:1000\n",
        "is already set: ",
    ] {
        assert!(listed.contains(told), "{told} is not in\n{listed}");
    }
}

/// A processor that this test may use; under an affinity mask it need not be the first.
fn first_processor() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("it is Linux");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let list = list.expect("it says so").trim();
    list.split(['-', ',']).next().unwrap_or_default().to_owned()
}

/// The canonical directory, as a resumed sweep names it.
fn canonical(ground: &PreparedWorkspace) -> String {
    let path = fs::canonicalize(ground.join("")).expect("it is there");
    path.display().to_string()
}

/// The number of runs after which a sweep stopped a setting, as it says in `tune.json`.
fn runs_until_stopped(ground: &PreparedWorkspace, label: &str) -> u64 {
    let text = fs::read_to_string(ground.join("out/tune.json")).expect("it lies beside the records");
    let report = serde_json::from_str(&text).expect("it is JSON");
    let stopped = &cell(&report, label)["stopped"];
    stopped["after"].as_u64().unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn a_sweep_that_was_cut_off_goes_on_and_keeps_to_its_processors() {
    let ground = ground();
    let processor = first_processor();
    let grid = format!(
        "format = 1\n[[cell]]\nlabel = \"one\"\ncpus = \"{processor}\"\n[[cell]]\nlabel = \"args\"\nargs = \
         [\"--ballast\", \
         \"120MiB\"]\n"
    );
    ground.write("cpus.toml", &grid);
    let tune = [
        "tune", "scenario.toml", "--server", "je", "--grid", "cpus.toml", "--rungs", "1,2", "--out", "out", "-q",
        "--details",
    ];
    let (said, _) = ground.ends(3, &tune);
    assert!(said.contains("no recommendation: fewer than 3 runs"), "{said}");
    let records = ground.records("out");
    // A setting that needs 120 MiB more is eliminated after its first run.
    assert_eq!(records.len(), 1 + 3 + 2, "{said}");
    assert!(said.contains("stopped: "), "{said}");
    assert_eq!(runs_until_stopped(&ground, "args"), 1, "{said}");
    for record in &records {
        let text = fs::read_to_string(record).expect("it can be read");
        let header: Value = serde_json::from_str(text.lines().next().expect("it has a header")).expect("it is JSON");
        if header["server"]["label"] == "one" {
            assert_eq!(header["host"]["affinity"], processor);
        }
    }
    fs::remove_file(&records[5]).expect("it is ours");
    ground.write("cpus.toml", &grid.replace("120MiB", "121MiB"));
    let (_, refused) = ground.ends(2, &["tune", "--resume", "out"]);
    assert!(refused.contains("belongs to a sweep of other settings"), "{refused}");
    ground.write("cpus.toml", &grid);
    let (resumed, _) = ground.ends(3, &["tune", "--resume", "out"]);
    assert_eq!(ground.records("out").len(), 6);
    // Only the missing run was played: eliminated settings stay eliminated.
    assert!(resumed.contains("stopped: "), "{resumed}");
    assert_eq!(runs_until_stopped(&ground, "args"), 1, "{resumed}");
    // The records contain the rungs.
    let from = ["tune", "--from", "out"];
    assert_eq!(ground.ends(3, &[&from[..], &["--details"]].concat()).0, resumed);
    // All figures are equal to the last digit. Records have the names that were given.
    let beside = fs::read_to_string(ground.join("out/tune.json")).expect("it lies beside the records");
    let named = beside.replace(&format!("{}/", canonical(&ground)), "");
    assert_eq!(ground.ends(3, &[&from[..], &["--format", "json"]].concat()).0, named);
    // An eliminated setting can be shipped too, with a note.
    let (line, errors) = ground.ends(3, &[&from[..], &["--print", "env", "--cell", "args"]].concat());
    assert!(line.contains("--ballast 120MiB"), "{line}");
    assert!(errors.contains("args stopped after 1 run: "), "{errors}");
}

/// Allocates what `SIZE` says, and prints what it cost.
const WORK: &str = "import json, os\nkept = b'x' * (int(os.environ.get('SIZE', '60')) << 20)\nprint(json.dumps({'cost': \
                    int(os.environ.get('COST', '1000'))}))\n";

#[test]
fn a_command_is_tuned_by_its_peak_and_what_it_prints() {
    let ground = ground();
    ground.write("work.py", WORK);
    let cells = [("small", 20, 1000), ("large", 160, 1000), ("slow", 10, 9000)].map(|(label, size, cost)| {
        format!("[[cell]]\nlabel = \"{label}\"\nenv = {{ SIZE = \"{size}\", COST = \"{cost}\" }}\n")
    });
    ground.write("grid.toml", &format!("format = 1\n{}", cells.concat()));
    let tune = [
        "tune", "--command", "python3 work.py", "--grid", "grid.toml", "--rungs", "1,3", "--figures", "json", "--cost",
        "cost", "--allow-cpu", "1000000%", "--out", "out", "-q",
    ];
    let said = ground.stdout(&tune);
    let report = fs::read_to_string(ground.join("out/tune.json")).expect("it lies beside the records");
    let report: Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!(report["chosen"], "small", "{said}");
    let saved = private(cell(&report, "default")) - private(cell(&report, "small"));
    assert!((saved / MIB as f64 - 40.0).abs() < 1.0, "{saved}\n{said}");
    for (label, runs) in [("small", 3), ("large", 1)] {
        assert_eq!(
            cell(&report, label)["runs"].as_array().map(Vec::len),
            Some(runs),
            "{label}\n{said}"
        );
    }
    let slow = &cell(&report, "slow")["figures"]["p95"]["median"]["value"];
    assert_eq!(slow.as_f64(), Some(9000.0), "{said}");
    let mistyped = tune.map(|word| match word {
        "cost" => "costs",
        "out" => "mistyped",
        word => word,
    });
    let (_, errors) = ground.ends(2, &mistyped);
    assert!(errors.contains("prints no such figure, but cost"), "{errors}");
    assert!(ground.records("mistyped").len() <= 4, "no more than a run of each");
    let rate = tune.map(|word| if word == "cost" { "operations_per_second" } else { word });
    let (_, errors) = ground.ends(2, &rate);
    assert!(errors.contains("is a rate, of which more is better"), "{errors}");
}

#[cfg(target_os = "linux")]
#[test]
fn settings_to_try_follow_from_the_processors_of_a_run_and_not_from_those_of_all() {
    let allowed = rustix::thread::sched_getaffinity(None).expect("it can be asked");
    let mut cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let (Some(first), Some(second)) = (cpus.next(), cpus.next()) else {
        return;
    };
    let ground = ground();
    // Of one processor jemalloc has one arena by default, so that setting is left out.
    let (one, both) = (first.to_string(), format!("{first},{second}"));
    let alone = listed_settings(&ground, &["--cpus", &one]);
    assert_eq!(listed_settings(&ground, &["--cpus", &both, "--jobs", "2"]), alone);
    assert!(!alone.iter().any(|line| line.starts_with("narenas-1 ")), "{alone:?}");
    assert!(
        listed_settings(&ground, &["--cpus", &both])
            .iter()
            .any(|line| line.starts_with("narenas-1 "))
    );
}

/// The lines of the settings to try for jemalloc on these processors.
#[track_caller]
fn listed_settings(ground: &PreparedWorkspace, processors: &[&str]) -> Vec<String> {
    let words = [
        "tune", "scenario.toml", "--server", "je", "--preset", "jemalloc", "--list",
    ];
    let said = ground.stdout(&[&words[..], processors].concat());
    let settings = said.lines().filter(|line| line.contains("_RJEM_MALLOC_CONF"));
    settings.map(str::to_owned).collect()
}
