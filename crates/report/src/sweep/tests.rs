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

fn of(rules: &Rules) -> Sweep {
    sweep(&runs(), rules).unwrap()
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
    let limit = |bytes: u64| Rules {
        max_private: Some(bytes),
        ..Rules::default()
    };
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
        headline(&of(&Rules::default())),
        headline(&of(&limit(1 << 40))),
        headline(&of(&limit(1 << 20))),
        headline(&of(&dear)),
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
    let own = |run: &&mut Played| run.summary.header.server.label == "dirty-0";
    for run in runs.iter_mut().filter(own) {
        let times = [1, 12, 1, 1][run.summary.header.plan.block as usize % 4];
        for method in &mut run.summary.methods {
            method.p95 = method.p95.map(|value| value * times);
        }
    }
    let open = sweep(&runs, &Rules::default()).unwrap();
    shown!(headline(&open));
    let text = terminal(&open, &[], look(140));
    assert!(
        text.contains("not chosen: dirty-0: its runs do not show whether it keeps within"),
        "{text}"
    );
    assert!(markdown(&open, &[]).contains("dirty-0: its runs do not show whether"));
    assert!(page(&open, &runs, &[]).contains("its runs do not show whether"));
    let why = &value(&open)["cells"][1]["why_not"];
    assert_eq!(why["reason"], json!("cost-open"));
}

#[test]
fn nothing_is_recommended_whose_cost_the_runs_leave_open() {
    let mut runs = runs();
    let told = |runs: &[Played]| headline(&sweep(runs, &Rules::default()).unwrap());
    assert!(
        told(&runs).starts_with("use dirty-1000"),
        "its limits are shown to be kept"
    );
    for run in &mut runs {
        let more = 90 + 20 * u64::from(run.summary.header.plan.block % 2);
        for method in &mut run.summary.methods {
            method.p95 = method.p95.map(|value| value / 100 * more);
        }
    }
    let open = told(&runs);
    assert!(open.starts_with("nothing is recommended yet: "), "{open}");
    assert!(open.contains("do not show whether") && open.contains("p95"), "{open}");
}

#[test]
fn an_answer_from_memory_that_was_still_moving_says_so() {
    let mut runs = runs();
    for window in runs.iter_mut().flat_map(|run| &mut run.summary.windows) {
        (window.end, window.settled) = (Some(WindowEnd::TimedOut), Some(false));
    }
    let moving = sweep(&runs, &Rules::default()).unwrap();
    assert!(headline(&moving).ends_with("; memory was still changing in 5 of 5 settings"));
    let said: Vec<String> = sentences(&moving).into_iter().map(|sentence| sentence.text).collect();
    let said = said.join("\n");
    assert!(
        said.contains("in 8 of 8 runs of default its memory was still changing when the window ended"),
        "{said}"
    );
    assert!(!said.contains("19 of 20 cases"), "a promise: {said}");
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

fn told(runs: &[Played]) -> Vec<String> {
    let said = sentences(&sweep(runs, &Rules::default()).unwrap());
    said.into_iter().map(|sentence| sentence.text).collect()
}

#[test]
fn settings_that_were_compared_before_the_collectors_clock_say_so() {
    let mut runs = runs();
    for window in runs.iter_mut().flat_map(|run| &mut run.summary.windows) {
        window.too_short_for = Some(TooShortFor {
            runtime: Runtime::Go,
            program: String::new(),
            took: 9_000_000_000,
            needed: 241_000_000_000,
            full_decay_helps: true,
        });
    }
    let said = told(&runs).join("\n");
    let why = "what is released later is not known: the window was 9 s, Go needs about 4 min (`--full-decay`)";
    assert!(said.contains(why), "{said}");
    assert!(
        headline(&sweep(&runs, &Rules::default()).unwrap()).starts_with("use "),
        "all are of one age"
    );
}

#[test]
fn private_memory_that_falls_into_groups_is_told_of_the_default_and_of_settings() {
    for (label, of_all) in [("default", true), ("dirty-1000", false)] {
        let mut runs = runs();
        let is_it = |run: &&mut Played| run.summary.header.server.label == label;
        for run in runs.iter_mut().filter(is_it) {
            let more = 10 * u64::from(run.summary.header.plan.block % 2);
            for phase in &mut run.summary.phases {
                phase.private = phase.private.map(|value| value / 100 * (100 + more));
            }
        }
        let told: Vec<String> = told(&runs).into_iter().filter(|text| text.contains("groups")).collect();
        let [one] = told.as_slice() else { panic!("{told:?}") };
        assert!(one.starts_with(&format!("{label}: private after ")), "{one}");
        assert!(
            one.contains("falls into groups, 4 runs of ") && one.contains(" and 4 runs of "),
            "{one}"
        );
        assert_eq!(one.contains("all others are compared"), of_all, "{one}");
    }
    assert!(told(&runs()).iter().all(|text| !text.contains("groups")));
}

#[test]
fn where_cpu_decides_among_settings_that_are_near_each_other_the_reason_says_so() {
    let reason = |near: u64| {
        let cells = [
            ("default", (100, 100, 100)),
            ("dirty-0", (700, 1_000, 1_000)),
            ("dirty-1000", (near, 1_000, 900)),
        ];
        let cells = cells.map(|(label, (private, p95, cpu))| match label {
            "default" => (label, (1_000, 1_000, 1_000)),
            _ => (label, (private, p95, cpu)),
        });
        let sweep = sweep(&played(&cells, 8, &Rules::default()), &Rules::default()).unwrap();
        sentences(&sweep)[0].text.clone()
    };
    assert!(
        reason(705).starts_with("chosen: within 1 % of the least private memory"),
        "{}",
        reason(705)
    );
    assert!(
        reason(690).starts_with("chosen: the least private memory"),
        "{}",
        reason(690)
    );
}

#[test]
fn what_stopped_because_of_one_that_failed_later_is_told() {
    let runs = with_impostor(|run| {
        if run.summary.header.plan.block == 4 {
            crashes(run);
        }
    });
    let told = told(&runs);
    let of = |text: &&String| text.contains("because of dirty-impostor, with which the server failed later");
    assert!(told.iter().any(|text| of(&text)), "{told:?}");
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
    let told = |cells: &[(&str, (u64, u64, u64))]| {
        let sweep = sweep(&played(cells, 3, &rules), &rules).unwrap();
        let said = sentences(&sweep)
            .into_iter()
            .find(|said| said.text.contains("may not be the fastest"));
        (headline(&sweep), said.map(|said| said.text))
    };
    let (answer, said) = told(&same[..2]);
    assert!(
        answer.starts_with("keep the default: no setting under ")
            && said.unwrap().ends_with("with those of dirty-0, all under the limit"),
        "{answer}"
    );
    assert_eq!(told(&[same[0], same[2]]).1, None, "one of them is far faster");
}

#[test]
fn a_sweep_says_what_ended_it_and_what_it_was_played_for() {
    let told = |runs: &[Played], rules: &Rules| -> Vec<String> {
        let sweep = sweep(runs, rules).unwrap();
        let said = sentences(&sweep).into_iter().map(|sentence| sentence.text);
        std::iter::once(headline(&sweep)).chain(said).collect()
    };
    let until = |block: u32, time_budget: Option<u64>| {
        let mut runs = runs();
        runs.retain(|run| run.summary.header.plan.block <= block);
        for run in &mut runs {
            let cell = run.summary.header.plan.cell.as_mut().unwrap();
            cell.sweep = Some(SweepFacts {
                rungs: Rules::default().rungs,
                time_budget,
                ..SweepFacts::default()
            });
        }
        runs
    };
    let rules = Rules::default();
    let budget = Some(300_000_000_000);
    let said = told(&until(4, budget), &rules).join("\n");
    assert!(
        said.contains("the time budget of 5 min 00 s ended the sweep after 4 of 8 runs of each"),
        "{said}"
    );
    let said = told(&until(0, budget), &rules).join("\n");
    assert!(said.contains("after 0 of 8 runs"), "{said}");
    let said = told(&until(4, None), &rules).join("\n");
    assert!(said.contains("the sweep ended after 4 of 8 runs of each"), "{said}");
    let whole = until(8, budget);
    let said = told(&whole, &rules).join("\n");
    assert!(!said.contains("ended"), "{said}");
    let limit = Rules {
        max_private: Some(1 << 40),
        ..rules
    };
    let said = told(&whole, &limit).join("\n");
    assert!(said.contains("were eliminated for another --max-private"), "{said}");
    // An earlier elimination stays.
    assert_eq!(sweep(&whole, &limit).unwrap().cells.len(), 5);
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
    let limit = Rules {
        max_private: Some(1),
        ..Rules::default()
    };
    for sweep in [shipped(), of(&limit)] {
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
