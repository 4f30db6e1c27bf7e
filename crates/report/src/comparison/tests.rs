//! Golden comparisons, made from the golden record with one difference for each server.

use serde_json::{Value, json};

use crate::document::tests::is_whole;
use crate::document::{Look, markdown, page, terminal};
use analysis::compare::{Played, Scenarios, compare_by_target};
use record::{Ending, KnobFacts};

use super::{Case, Outcome, Suite, annotations, bencher, benchmark_action, document, junit, suites};

mod counting;
mod given;
mod repeated;
mod strained;

/// A run of the usual path: private memory, peaks and latencies are `percent` of the golden record's.
fn run(label: &str, number: u32, percent: u64) -> Played {
    let mut summary = analysis::golden::read("completed");
    summary.header.server.label = label.to_owned();
    summary.header.server.version = Some(format!("{label} 0.4.2"));
    summary.header.plan.run = number;
    for phase in &mut summary.phases {
        phase.private = phase.private.map(|bytes| scaled(bytes, percent));
        phase.cpu = phase.cpu.map(|time| scaled(time, percent));
    }
    let peaks = summary.phases.iter_mut().filter_map(|phase| phase.peak.as_mut());
    for peak in peaks.chain(&mut summary.memory.peak) {
        peak.lower = scaled(peak.lower, percent);
    }
    for program in &mut summary.processes.programs {
        program.cpu = program.cpu.map(|time| scaled(time, percent));
    }
    for method in &mut summary.traffic.methods {
        method.p50 = method.p50.map(|time| scaled(time, percent));
    }
    Played::new(format!("run-{number:03}-{label}.jsonl"), summary)
}

fn scaled(value: u64, percent: u64) -> u64 {
    value * percent / 100
}

/// Runs of one server at these per cent.
fn runs(label: &str, percents: &[u64]) -> Vec<Played> {
    let numbered = (1..).zip(percents);
    numbered.map(|(number, percent)| run(label, number, *percent)).collect()
}

fn on_machine(mut runs: Vec<Played>, target: &str, cpu: &str) -> Vec<Played> {
    for run in &mut runs {
        run.summary_mut().header.host.target = target.to_owned();
        run.summary_mut().header.host.cpu = Some(cpu.to_owned());
    }
    runs
}

fn two() -> Vec<Played> {
    let system = runs("ty-system", &[100, 101, 99, 100, 102, 100]);
    [system, runs("ty-mimalloc", &[129, 130, 131, 130, 128, 130])].concat()
}

fn warm_up(label: &str) -> Played {
    let mut warm_up = run(label, 0, 140);
    warm_up.summary_mut().header.plan.warm_up = true;
    warm_up
}

pub(crate) fn three() -> Vec<Played> {
    let mut all = vec![warm_up("ty-system"), warm_up("ty-jemalloc"), warm_up("ty-mimalloc")];
    all.extend(runs("ty-system", &[100, 101, 99]));
    all.extend(runs("ty-jemalloc", &[104, 100, 97]));
    all.extend(runs("ty-mimalloc", &[130, 131, 129, 131]));
    let last = all.last_mut().unwrap();
    last.summary_mut().ending = Some(Ending::Crashed {
        code: None,
        signal: Some(11),
        during: String::new(),
    });
    all
}

/// A server that never reaches the last checkpoint, with one run that has no latency, and one of a single run.
pub(crate) fn holes() -> Vec<Played> {
    let mut short = runs("b", &[110, 111, 112]);
    for run in &mut short {
        let last = run.summary_mut().phases.last_mut().unwrap();
        (last.private, last.checkpoint) = (None, None);
    }
    short[1].summary_mut().traffic.methods.clear();
    let mut failed = runs("d", &[100]);
    failed[0].summary_mut().ending = Some(Ending::Interrupted);
    [runs("a", &[100, 101, 99]), short, runs("c", &[90]), failed].concat()
}

fn unequal() -> Vec<Played> {
    let mut lazy = runs("lazy", &[70, 71, 70]);
    for run in &mut lazy {
        for step in run.summary_mut().phases.iter_mut().flat_map(|phase| &mut phase.steps) {
            step.hits = step.hits.map(|hits| hits / 2);
        }
        run.summary_mut().traffic.methods[0].items *= 2;
        run.summary_mut().header.scenario.sha256 = "0123456789abcdef".repeat(4);
    }
    [runs("diligent", &[100, 101, 99]), lazy].concat()
}

fn groups() -> Vec<Played> {
    let system = runs("ty-system", &[100, 101, 99, 100, 102, 100, 101, 130]);
    let mimalloc = runs("ty-mimalloc", &[117, 140, 117, 118, 139, 140, 117, 141]);
    [system, mimalloc].concat()
}

pub(crate) fn targets() -> Vec<Played> {
    let linux = "x86_64-unknown-linux-gnu";
    let mut mac = on_machine(
        [runs("system", &[80, 81, 80]), runs("mimalloc", &[79, 80, 81])].concat(),
        "aarch64-apple-darwin",
        "M4",
    );
    for run in &mut mac {
        run.summary_mut().phases.remove(3);
    }
    let linux = [
        on_machine(runs("system", &[100, 101, 99]), linux, "EPYC"),
        on_machine(runs("jemalloc", &[104, 100, 97]), linux, "EPYC"),
        on_machine(runs("mimalloc", &[130, 131, 129]), linux, "EPYC"),
    ];
    [mac, linux.concat()].concat()
}

fn machines() -> Vec<Played> {
    [
        two_on_machine("EPYC", [100, 101, 99], [130, 131, 129]),
        two_on_machine("Xeon", [200, 201, 199], [240, 242, 238]),
    ]
    .concat()
}

fn two_on_machine(cpu: &str, system: [u64; 3], mimalloc: [u64; 3]) -> Vec<Played> {
    let runs = [runs("system", &system), runs("mimalloc", &mimalloc)].concat();
    on_machine(runs, "x86_64-unknown-linux-gnu", cpu)
}

fn compared(runs: Vec<Played>) -> Scenarios {
    compare_by_target(runs, None)
}

fn drawn(runs: Vec<Played>, columns: usize) -> String {
    let look = Look {
        columns,
        color: false,
        ascii: false,
        details: true,
    };
    terminal::render(&document(&compared(runs.clone()), &runs), look)
}

fn pasted(runs: Vec<Played>) -> String {
    markdown::render(&document(&compared(runs.clone()), &runs))
}

/// The default output, without details.
fn answered(runs: Vec<Played>) -> String {
    let look = Look {
        columns: 100,
        color: false,
        ascii: false,
        details: false,
    };
    terminal::render(&document(&compared(runs.clone()), &runs), look)
}

#[test]
fn two_servers_with_all_that_there_is_to_say() {
    insta::assert_snapshot!("two", pasted(two()));
}

#[test]
fn answers_of_comparisons_of_every_kind() {
    for (name, runs) in [
        ("three", three()),
        ("holes", holes()),
        ("unequal", unequal()),
        ("groups", groups()),
        ("targets", targets()),
        ("machines", machines()),
    ] {
        insta::assert_snapshot!(name, answered(runs));
    }
}

#[test]
fn few_runs_far_apart_say_that_a_difference_is_not_known() {
    let few = answered([runs("a", &[100, 101]), runs("b", &[60, 160])].concat());
    assert!(few.contains("not known without more runs: private memory"), "{few}");
    assert!(!few.contains("no measurable difference"), "{few}");
    let text = drawn([runs("a", &[100, 101]), runs("b", &[60, 160])].concat(), 200);
    assert!(
        text.contains("medians with full ranges (too few runs for 95 % intervals)"),
        "{text}"
    );
    let many = answered([runs("a", &[100, 101, 99]), runs("b", &[100, 102, 99])].concat());
    assert!(many.contains("no measurable difference in private memory"), "{many}");
    assert!(!many.contains("not known"), "{many}");
}

#[test]
fn the_answer_has_sizes_and_comes_before_unequal_work() {
    let text = answered(unequal());
    let answer = text.find("lazy: private memory").expect("the answer is there");
    let work = text.find("does less work").expect("the work is there");
    assert!(answer < work, "{text}");
    assert!(text.contains(" against ") && text.contains(" MiB)"), "{text}");
}

#[test]
fn runs_of_unlike_scenarios_are_titled_as_a_list() {
    let mut other = runs("b", &[100]);
    other[0].summary_mut().header.scenario.name = "other".to_owned();
    let runs = [runs("a", &[100]), other].concat();
    let title = super::title::title(&compared(runs));
    assert_eq!(title, "completions, other: a 0.4.2, b 0.4.2");
}

#[test]
fn every_block_of_a_comparison_is_in_every_format() {
    for runs in [two(), three(), holes(), unequal(), groups(), targets(), machines()] {
        is_whole(&document(&compared(runs.clone()), &runs));
    }
}

fn has_long_word(line: &str, columns: usize) -> bool {
    line.split(' ').any(|word| word.chars().count() + 20 > columns)
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for runs in [two, three, holes, unequal, groups, targets, machines] {
        for columns in [60, 80, 100, 160] {
            let text = drawn(runs(), columns);
            // A hash is copied as a whole.
            let mut lines = text.lines().filter(|line| !has_long_word(line, columns));
            let wide = lines.find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "at {columns}");
        }
    }
}

#[test]
fn cases_of_test_reports_are_wrong_where_a_server_failed_or_did_less() {
    insta::assert_snapshot!("three-junit", junit(&suites(&compared(three()))));
    let unequal = junit(&suites(&compared(unequal())));
    assert!(unequal.contains("failures=\"1\" errors=\"0\""), "{unequal}");
    assert!(
        unequal.contains("<testcase classname=\"lazy\" name=\"work\"><failure message=\"lazy does less work than"),
        "{unequal}"
    );
    let holes = junit(&suites(&compared(holes())));
    assert!(holes.contains("failures=\"0\" errors=\"0\" skipped=\"8\""), "{holes}");
}

#[test]
fn whatever_xml_reads_as_its_own_is_escaped() {
    let suites = [Suite {
        name: "a<b>&\"c\"".to_owned(),
        cases: vec![Case {
            server: String::new(),
            name: "one\ttwo".to_owned(),
            outcome: Outcome::Undecided,
            text: "bell\u{202e}\nnew ]]> line".to_owned(),
        }],
    }];
    assert_eq!(
        junit(&suites).lines().nth(3).unwrap().trim(),
        "<testcase classname=\"a&lt;b&gt;&amp;&quot;c&quot;\" name=\"one two\">\
         <skipped message=\"bell &#10;new ]]&gt; line\"/></testcase>"
    );
}

#[test]
fn annotations_are_for_what_is_wrong_and_for_nothing_else() {
    assert_eq!(annotations(&suites(&compared(two()))), [] as [String; 0]);
    let three = annotations(&suites(&compared(three())));
    let [failed] = three.as_slice() else {
        panic!("{three:?}")
    };
    assert!(failed.starts_with("::error title=completions on "), "{failed}");
    assert!(
        failed.contains("::ty-mimalloc failed in 1 run: ") && failed.ends_with(": run-004-ty-mimalloc.jsonl"),
        "{failed}"
    );
    let unequal = annotations(&suites(&compared(unequal())));
    assert_eq!(unequal.len(), 2, "{unequal:?}");
    assert!(unequal[1].starts_with("::warning ") && unequal[1].contains("differ in scenario"));
}

#[test]
fn an_annotation_is_one_line_whatever_is_in_it() {
    let suites = [Suite {
        name: "100 %: a, b".to_owned(),
        cases: vec![Case {
            server: String::new(),
            name: String::new(),
            outcome: Outcome::Failed,
            text: "5 % more:\r\nand, so ::error::on".to_owned(),
        }],
    }];
    assert_eq!(
        annotations(&suites),
        ["::error title=100 %25%3A a%2C b::5 %25 more:%0Aand, so ::error::on"]
    );
}

#[test]
fn bencher_gets_every_figure_that_has_a_value() {
    let schema = json!({
        "type": "object",
        "additionalProperties": { "type": "object", "minProperties": 1, "additionalProperties": {
            "type": "object",
            "required": ["value"],
            "properties": {
                "value": { "type": "number" }, "lower_value": { "type": "number" }, "upper_value": { "type": "number" }
            },
            "additionalProperties": false
        }}
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    for runs in [two(), three(), holes(), targets()] {
        let metrics: Value = serde_json::from_str(&bencher(&compared(runs)).unwrap()).unwrap();
        assert!(validator.is_valid(&metrics), "{metrics:#}");
    }
    let metrics: Value = serde_json::from_str(&bencher(&compared(holes())).unwrap()).unwrap();
    let peak = &metrics["completions/run/a"]["peak"];
    assert!(
        peak["lower_value"].as_f64() < peak["value"].as_f64() && peak["value"].as_f64() > Some(2e8),
        "{peak}"
    );
    assert_eq!(
        metrics["completions/decay/b"].get("private"),
        None,
        "a hole is no figure"
    );
    let one = &metrics["completions/decay/c"]["private"];
    assert!(one["value"].is_f64() && one.get("lower_value").is_none(), "{one}");
    let metrics: Value = serde_json::from_str(&bencher(&compared(targets())).unwrap()).unwrap();
    let names: Vec<&String> = metrics.as_object().unwrap().keys().collect();
    assert!(
        names.contains(&&"completions on aarch64-apple-darwin/goto/system".to_owned()),
        "{names:?}"
    );
}

#[test]
fn github_action_benchmark_gets_every_figure_once() {
    let schema = json!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name", "unit", "value"],
            "properties": {
                "name": { "type": "string" }, "unit": { "type": "string" }, "value": { "type": "number" },
                "range": { "type": "string" }, "extra": { "type": "string" }
            },
            "additionalProperties": false
        }
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    for runs in [two(), three(), holes(), targets(), machines()] {
        let list: Value = serde_json::from_str(&benchmark_action(&compared(runs)).unwrap()).unwrap();
        assert!(validator.is_valid(&list), "{list:#}");
        let mut names: Vec<&str> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
    let list: Value = serde_json::from_str(&benchmark_action(&compared(two())).unwrap()).unwrap();
    let private = &list[1];
    assert_eq!(private["name"], "completions › private after start › ty-mimalloc");
    assert_eq!(private["unit"], "MiB");
    assert_eq!(private["extra"], "6 runs, +28 to +31 % against ty-system");
    assert!(private["range"].as_str().unwrap().starts_with("26."), "{private}");
}

#[test]
fn a_setting_that_was_not_seen_in_force_is_told_wherever_servers_are_compared() {
    let mut tuned = runs("tuned", &[90, 91, 90]);
    for run in &mut tuned {
        run.summary_mut().header.server.knobs = vec![KnobFacts {
            variable: "GOGC".to_owned(),
            requested: "50".to_owned(),
            seen: Some("its syntax".to_owned()),
            ..KnobFacts::default()
        }];
    }
    let words = "tuned: GOGC=50 was set; whether it is in force is not known, only its syntax was checked";
    let all = [runs("plain", &[100, 101, 99]), tuned].concat();
    let text: Vec<String> = drawn(all.clone(), 160)
        .lines()
        .map(|line| line.trim().to_owned())
        .collect();
    assert!(text.join(" ").contains(words), "{text:?}");
    assert!(pasted(all.clone()).contains(words));
    assert!(junit(&suites(&compared(all))).contains(words));
}
