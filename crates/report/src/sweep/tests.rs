//! Golden sweeps in every format.

use serde_json::{Value, json};

use crate::document::tests::is_whole;
use crate::document::{Look, markdown as pasted, page as paged, terminal as drawn};
use analysis::compare::Played;
use analysis::golden::tune::{cells, crashes, played, with_impostor};
use analysis::summary::decay::TooShortFor;
use analysis::tune::{Rules, Sweep, sweep};
use record::{Runtime, SweepFacts, WindowEnd};

use super::words::{legend, sentences};
use super::{document, headline, json, reservations};

/// Compares with the checked-in text; the expression would only repeat it.
macro_rules! shown {
    ($text:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
    };
}

fn look(columns: usize) -> Look {
    Look {
        columns,
        color: false,
        ascii: false,
        details: true,
    }
}

fn runs() -> Vec<Played> {
    let mut runs = played(&cells(), 8, &Rules::default());
    // One that the server cannot live with.
    for run in runs
        .iter_mut()
        .filter(|run| run.summary.header.server.label == "dirty-5000")
    {
        if run.summary.header.plan.block == 3 {
            crashes(run);
        }
    }
    runs
}

fn shipped() -> Sweep {
    sweep(&runs(), &Rules::default()).unwrap()
}

fn swept_by(rules: &Rules) -> Sweep {
    sweep(&runs(), rules).unwrap()
}

/// Rules that limit private memory.
fn limited(max_private: u64) -> Rules {
    Rules {
        max_private: Some(max_private),
        ..Rules::default()
    }
}

fn notes() -> Vec<String> {
    vec!["left out of the preset jemalloc: dirty-10000, which is its default".to_owned()]
}

fn terminal(sweep: &Sweep, notes: &[String], look: Look) -> String {
    drawn::render(&document(sweep, &runs(), notes), look)
}

fn markdown(sweep: &Sweep, notes: &[String]) -> String {
    pasted::render(&document(sweep, &runs(), notes))
}

fn page(sweep: &Sweep, runs: &[Played], notes: &[String]) -> String {
    paged::render(&document(sweep, runs, notes))
}

#[test]
fn a_sweep_in_a_terminal() {
    let look = Look {
        details: false,
        ..look(100)
    };
    shown!(terminal(&shipped(), &notes(), look));
}

#[test]
fn a_narrow_terminal_breaks_nothing_that_is_to_be_pasted() {
    let text = terminal(&shipped(), &[], look(60));
    assert!(
        text.lines()
            .all(|line| line.contains('"') || line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn every_block_of_a_sweep_is_in_every_format() {
    let sweep = shipped();
    is_whole(&document(&sweep, &runs(), &notes()));
}

#[test]
fn every_answer_is_one_sentence() {
    let dear = Rules {
        cpu: 0.0,
        latency: 0.0,
        ..Rules::default()
    };
    let mut failed = runs();
    failed.retain(|run| run.summary.header.plan.block == 0);
    let unplayed = failed.clone();
    crashes(&mut failed[0]);
    let mut few = runs();
    few.retain(|run| run.summary.header.plan.block <= 2);
    let all = [
        headline(&swept_by(&Rules::default())),
        headline(&swept_by(&limited(1 << 40))),
        headline(&swept_by(&limited(1 << 20))),
        headline(&swept_by(&dear)),
        headline(&sweep(&few, &Rules::default()).unwrap()),
        headline(&sweep(&unplayed, &Rules::default()).unwrap()),
        headline(&sweep(&failed, &Rules::default()).unwrap()),
    ];
    shown!(all.join("\n"));
}

#[test]
fn a_cost_that_is_left_open_says_so_and_how_many_runs_may_settle_it() {
    let cells = [("default", (100, 100, 100)), ("dirty-0", (70, 100, 100))];
    let mut runs = played(&cells, 8, &Rules::default());
    for run in &mut runs {
        if run.summary.header.server.label != "dirty-0" {
            continue;
        }
        let times = [1, 12, 1, 1][run.summary.header.plan.block as usize % 4];
        for method in &mut run.summary_mut().traffic.methods {
            method.p95 = method.p95.map(|value| value * times);
        }
    }
    let open = sweep(&runs, &Rules::default()).unwrap();
    shown!(headline(&open));
    for text in [
        terminal(&open, &[], look(140)),
        markdown(&open, &[]),
        page(&open, &runs, &[]),
    ] {
        assert!(
            text.contains("cost open: not shown to stay within the limits of p95 and CPU"),
            "{text}"
        );
        let parts = ["dirty-0", "cost open", "−29 to +387 %"];
        let has_row = text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(has_row, "{text}");
    }
    let why = &value(&open)["cells"][1]["why_not"];
    assert_eq!(why["reason"], json!("cost-open"));
}

#[test]
fn nothing_is_recommended_whose_cost_the_runs_leave_open() {
    let mut runs = runs();
    let answer = headline(&sweep(&runs, &Rules::default()).unwrap());
    assert!(answer.starts_with("use dirty-1000"), "its limits are shown to be kept");
    for run in &mut runs {
        let more = 90 + 20 * u64::from(run.summary.header.plan.block % 2);
        for method in &mut run.summary_mut().traffic.methods {
            method.p95 = method.p95.map(|value| value / 100 * more);
        }
    }
    let open = headline(&sweep(&runs, &Rules::default()).unwrap());
    assert!(open.starts_with("nothing is recommended yet: "), "{open}");
    assert!(open.contains("but its cost is open: p95 "), "{open}");
}

#[test]
fn an_answer_from_memory_that_was_still_moving_says_so() {
    let mut runs = runs();
    for window in runs.iter_mut().flat_map(|run| &mut run.summary_mut().windows) {
        (window.end, window.settled) = (Some(WindowEnd::TimedOut), Some(false));
    }
    let moving = sweep(&runs, &Rules::default()).unwrap();
    assert!(headline(&moving).ends_with("; memory was still changing in 5 of 5 settings"));
    let text = texts(&moving).join("\n");
    assert!(
        text.contains("in 8 of 8 runs of default its memory was still changing when the window ended"),
        "{text}"
    );
    assert!(!text.contains("19 of 20 cases"), "a promise: {text}");
    assert!(legend(&moving).contains("private: not settled everywhere, at the checkpoint"));
    assert!(legend(&shipped()).contains("private: settled, at the checkpoint"));
    assert_eq!(value(&moving)["cells"][0]["settled"], json!(false));
    assert_eq!(value(&shipped())["cells"][0]["settled"], json!(true));
    let chosen = moving.cells.last().unwrap();
    assert!(
        reservations(&moving, chosen)
            .iter()
            .any(|text| text.contains("still changing"))
    );
}

fn texts(sweep: &Sweep) -> Vec<String> {
    sentences(sweep).into_iter().map(|sentence| sentence.text).collect()
}

#[test]
fn settings_that_were_compared_before_the_collectors_clock_say_so() {
    let mut runs = runs();
    for window in runs.iter_mut().flat_map(|run| &mut run.summary_mut().windows) {
        window.too_short_for = Some(TooShortFor {
            runtime: Runtime::Go,
            program: String::new(),
            took: 9_000_000_000,
            needed: 241_000_000_000,
            full_decay_helps: true,
        });
    }
    let sweep = sweep(&runs, &Rules::default()).unwrap();
    let text = texts(&sweep).join("\n");
    let why = "what is released later is not known: the window was 9 s, Go needs about 4 min (`--full-decay`)";
    assert!(text.contains(why), "{text}");
    assert!(headline(&sweep).starts_with("use "), "all are of one age");
}

#[test]
fn private_memory_that_falls_into_groups_is_told_of_the_default_and_of_settings() {
    for (label, is_default) in [("default", true), ("dirty-1000", false)] {
        let mut runs = runs();
        for run in &mut runs {
            if run.summary.header.server.label != label {
                continue;
            }
            let more = 10 * u64::from(run.summary.header.plan.block % 2);
            for phase in &mut run.summary_mut().phases {
                phase.private = phase.private.map(|value| value / 100 * (100 + more));
            }
        }
        let mut texts = texts(&sweep(&runs, &Rules::default()).unwrap());
        texts.retain(|text| text.contains("groups"));
        let [text] = texts.as_slice() else { panic!("{texts:?}") };
        assert!(text.starts_with(&format!("{label}: private after ")), "{text}");
        assert!(
            text.contains("falls into groups, 4 runs of ") && text.contains(" and 4 runs of "),
            "{text}"
        );
        assert_eq!(text.contains("all others are compared"), is_default, "{text}");
    }
    assert!(texts(&shipped()).iter().all(|text| !text.contains("groups")));
}

#[test]
fn where_cpu_decides_among_settings_that_are_near_each_other_the_reason_says_so() {
    for (private, reason) in [
        (705, "chosen: within 1 % of the least private memory"),
        (690, "chosen: the least private memory"),
    ] {
        let cells = [
            ("default", (1_000, 1_000, 1_000)),
            ("dirty-0", (700, 1_000, 1_000)),
            ("dirty-1000", (private, 1_000, 900)),
        ];
        let sweep = sweep(&played(&cells, 8, &Rules::default()), &Rules::default()).unwrap();
        let text = &texts(&sweep)[0];
        assert!(text.starts_with(reason), "{text}");
    }
}

#[test]
fn what_stopped_because_of_one_that_failed_later_is_told() {
    let runs = with_impostor(|run| {
        if run.summary.header.plan.block == 4 {
            crashes(run);
        }
    });
    let text = texts(&sweep(&runs, &Rules::default()).unwrap()).join("\n");
    let part = "because of dirty-impostor, with which the server failed later";
    assert!(text.contains(part), "{text}");
}

#[test]
fn the_fastest_is_not_called_so_where_intervals_overlap() {
    let same = [
        ("default", (100, 100, 100)),
        ("dirty-0", (90, 100, 100)),
        ("dirty-1000", (90, 60, 100)),
    ];
    let rules = Rules {
        max_private: Some(1 << 40),
        rungs: vec![3],
        ..Rules::default()
    };
    let overlapping = sweep(&played(&same[..2], 3, &rules), &rules).unwrap();
    let answer = headline(&overlapping);
    let doubt = doubt_about_fastest(&overlapping).unwrap();
    assert!(
        answer.starts_with("keep the default: no setting under ")
            && doubt.ends_with("with those of dirty-0, all under the limit"),
        "{answer}"
    );
    let clear = sweep(&played(&[same[0], same[2]], 3, &rules), &rules).unwrap();
    assert_eq!(doubt_about_fastest(&clear), None, "one of them is far faster");
}

fn doubt_about_fastest(sweep: &Sweep) -> Option<String> {
    texts(sweep)
        .into_iter()
        .find(|text| text.contains("may not be the fastest"))
}

#[test]
fn a_sweep_says_what_ended_it_and_what_it_was_played_for() {
    let rules = Rules::default();
    let budget = Some(300_000_000_000);
    let text = headline_and_sentences(&runs_until(4, budget), &rules);
    assert!(
        text.contains("the time budget of 5 min 00 s ended the sweep after 4 of 8 runs of each"),
        "{text}"
    );
    let text = headline_and_sentences(&runs_until(0, budget), &rules);
    assert!(text.contains("after 0 of 8 runs"), "{text}");
    let text = headline_and_sentences(&runs_until(4, None), &rules);
    assert!(text.contains("the sweep ended after 4 of 8 runs of each"), "{text}");
    let whole = runs_until(8, budget);
    let text = headline_and_sentences(&whole, &rules);
    assert!(!text.contains("ended"), "{text}");
    let limit = limited(1 << 40);
    let text = headline_and_sentences(&whole, &limit);
    assert!(text.contains("were eliminated for another --max-private"), "{text}");
    // An earlier elimination stays.
    assert_eq!(sweep(&whole, &limit).unwrap().cells.len(), 5);
}

/// Runs of a sweep that ended after this block.
fn runs_until(block: u32, time_budget: Option<u64>) -> Vec<Played> {
    let mut runs = runs();
    runs.retain(|run| run.summary.header.plan.block <= block);
    for run in &mut runs {
        let cell = run.summary_mut().header.plan.cell.as_mut().unwrap();
        cell.sweep = Some(SweepFacts {
            rungs: Rules::default().rungs,
            time_budget,
            ..SweepFacts::default()
        });
    }
    runs
}

fn headline_and_sentences(runs: &[Played], rules: &Rules) -> String {
    let sweep = sweep(runs, rules).unwrap();
    format!("{}\n{}", headline(&sweep), texts(&sweep).join("\n"))
}

#[test]
fn a_page_has_the_front_with_every_setting_that_has_its_figures() {
    let page = page(&shipped(), &runs(), &notes());
    // The first is its caption.
    let picture = page.split("private memory against p95 of").nth(2).unwrap();
    let picture = &picture[..picture.find("</svg>").unwrap()];
    for label in ["default", "dirty-0", "dirty-1000", "dirty-hopeless"] {
        assert!(picture.contains(label), "{label}");
    }
    assert!(
        picture.contains("class=\"point\"") && picture.contains("class=\"whisker\""),
        "{picture}"
    );
    assert!(page.contains("_rjem_malloc_conf") && page.contains("use dirty-1000"));
    shown!(picture.replace("><", ">\n<"));
}

#[test]
fn a_page_of_a_sweep_is_of_a_tune_and_says_no_verdict_of_a_comparison() {
    let page = page(&shipped(), &runs(), &notes());
    assert!(page.contains("<h1>tune ty on completions, ty 0.0.104,"), "{page}");
    assert_eq!(page.matches("class=\"verdict\"").count(), 1);
    assert!(!page.contains("than default after"), "a sentence of a comparison");
}

fn value(sweep: &Sweep) -> Value {
    serde_json::from_str(&json::render(sweep, &notes(), 0).unwrap()).unwrap()
}

#[test]
fn every_sweep_keeps_to_the_schema_and_a_program_finds_the_line_to_ship() {
    let validator = jsonschema::validator_for(&json::schema()).unwrap();
    for sweep in [shipped(), swept_by(&limited(1))] {
        let report = value(&sweep);
        let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let report = value(&shipped());
    assert_eq!(
        (&report["outcome"], &report["chosen"]),
        (&json!("ship"), &json!("dirty-1000"))
    );
    assert_eq!(
        report["ship"]["env"],
        json!("export _RJEM_MALLOC_CONF=dirty_decay_ms:1000\n")
    );
    assert_eq!(report["cells"][0]["sets"]["default"], json!(true));
    assert!(report["cells"][0]["figures"]["private"]["ratio"].is_null());
    let mut wrong = report.clone();
    wrong["outcome"] = json!("perhaps");
    assert!(!validator.is_valid(&wrong));
}
