//! Golden gates, made from the golden record with one difference for each server.

mod growth;

use crate::comparison::{annotations, junit};
use crate::document::tests::is_whole;
use crate::document::{Look, NextCommand, markdown, terminal};
use analysis::compare::Played;
use analysis::figures::{Figure, GatedFigure, GatedPart, Leak, Limit, Rule, Rules, WorkLimits};
use analysis::gate::{Judgement, Sides};
use analysis::golden::gate::judge;
use analysis::growth::Per;
use base::band::{LeakLimit, Tolerance};
use base::lens::Lens;
use record::{Ending, PreloadFacts};
use stats::Schedule;

use super::findings::findings;
use super::{Cure, cure, document, notes, standing, suites};

/// A run with private memory, peak and latencies in thousandths of the golden record's.
fn run(label: &str, number: u32, lens: Lens, thousandths: u64) -> Played {
    let mut summary = analysis::golden::read("completed");
    summary.header.server.label = label.to_owned();
    summary.header.server.version = Some(format!("{label} 0.4.2"));
    summary.header.server.lens.name = lens;
    if lens == Lens::Purged {
        summary.header.server.lens.allocator = Some("jemalloc".to_owned());
    }
    summary.header.plan.run = number;
    for phase in &mut summary.phases {
        phase.private = phase.private.map(|bytes| bytes * thousandths / 1_000);
    }
    if let Some(peak) = &mut summary.memory.peak {
        peak.lower = peak.lower * thousandths / 1_000;
    }
    for method in &mut summary.traffic.methods {
        method.p50 = method.p50.map(|nanos| nanos * thousandths / 1_000);
    }
    Played::new(format!("run-{number:03}-{label}.jsonl"), summary)
}

/// Runs of a server under both lenses: quiet through the purged one, noisy as shipped.
fn runs(label: &str, purged: &[u64]) -> Vec<Played> {
    let mut runs = Vec::new();
    for (number, thousandths) in (1..).zip(purged) {
        runs.push(run(label, number, Lens::Purged, *thousandths));
    }
    for (number, (thousandths, noise)) in (20..).zip(purged.iter().zip([0, 60, 15, 85, 30])) {
        runs.push(run(label, number, Lens::AsShipped, thousandths + 50 + noise));
    }
    runs
}

fn rule(figure: Figure, at: GatedPart, lens: Lens, tolerance: Tolerance) -> Rule {
    let lens = Some(lens);
    Rule {
        subject: GatedFigure { figure, at, lens },
        tolerance,
    }
}

fn rules() -> Rules {
    Rules {
        lens: Lens::Purged,
        primaries: vec![rule(
            Figure::Private,
            GatedPart::Result,
            Lens::Purged,
            Tolerance::PURGED,
        )],
        advisory: vec![
            rule(
                Figure::Private,
                GatedPart::Result,
                Lens::AsShipped,
                Tolerance::AS_SHIPPED,
            ),
            rule(Figure::Peak, GatedPart::Run, Lens::AsShipped, Tolerance::AS_SHIPPED),
        ],
        budgets: vec![Limit {
            subject: "peak".parse().unwrap(),
            limit: 600.0 * 1_048_576.0,
        }],
        leak: None,
        work: WorkLimits::default(),
    }
}

fn judged(baseline: &[u64], candidate: &[u64], rules: &Rules) -> Judgement {
    judge(&sides(baseline, candidate), rules, &Schedule::default())
}

/// A gate of sides without calibrations.
fn uncalibrated(baseline: &[u64], candidate: &[u64], looks: &Schedule) -> Judgement {
    analysis::gate::judge(&sides(baseline, candidate), &rules(), looks)
}

fn sides(baseline: &[u64], candidate: &[u64]) -> Sides {
    Sides {
        baseline: Some(runs("ty-old", baseline)),
        candidate: runs("ty-new", candidate),
        anchor: None,
    }
}

fn passed() -> Judgement {
    let (baseline, candidate) = ([1_000, 1_001, 1_000, 1_001, 1_000], [1_001, 1_000, 1_002, 1_000, 1_001]);
    judged(&baseline, &candidate, &rules())
}

pub(crate) fn failed() -> Judgement {
    judged(&[1_000, 1_001, 1_000], &[1_030, 1_031, 1_030], &rules())
}

/// Noise that three runs are too few for, an anchor, and latency that decides.
fn inconclusive() -> Judgement {
    let mut sides = sides(&[1_000, 1_060, 950], &[1_010, 980, 1_075]);
    sides.anchor = Some(runs("ty-old", &[980, 1_000, 960]));
    let latency = GatedPart::Method("textDocument/completion".to_owned());
    let mut rules = rules();
    let tolerance = Tolerance::new(0.05, 0.10, 0.0).unwrap();
    rules
        .primaries
        .push(rule(Figure::P50, latency, Lens::Purged, tolerance));
    rules.budgets[0].limit = 240.0 * 1_048_576.0;
    judge(&sides, &rules, &Schedule::default())
}

pub(crate) fn refused() -> Judgement {
    let mut sides = sides(&[1_000; 3], &[500; 3]);
    for run in &mut sides.candidate {
        for step in run.summary_mut().phases.iter_mut().flat_map(|phase| &mut phase.steps) {
            step.hits = step.hits.map(|hits| hits / 2);
        }
    }
    judge(&sides, &rules(), &Schedule::default())
}

fn broken() -> Judgement {
    let mut sides = sides(&[1_000; 3], &[1_000; 3]);
    sides.candidate[1].summary_mut().ending = Some(Ending::Crashed {
        signal: Some(11),
        code: None,
        during: "goto".to_owned(),
    });
    judge(&sides, &rules(), &Schedule::default())
}

/// Two machines that have unequal levels and unequal counts of both sides.
fn machines() -> Judgement {
    let mut sides = sides(
        &[1_000, 1_001, 1_000, 1_300, 1_301],
        &[1_001, 1_000, 1_301, 1_300, 1_302],
    );
    move_to_second_machine(sides.baseline.as_mut().unwrap(), 3);
    move_to_second_machine(&mut sides.candidate, 2);
    let mut rules = rules();
    rules.budgets[0].subject = "private".parse().unwrap();
    judge(&sides, &rules, &Schedule::single_look(5, 0.05).unwrap())
}

/// Moves the runs of each lens from this place on.
fn move_to_second_machine(runs: &mut [Played], first: usize) {
    for run in runs {
        let number = run.summary.header.plan.run as usize;
        let place = if number >= 20 { number - 20 } else { number - 1 };
        if place >= first {
            run.summary_mut().header.plan.partition = Some("2/2".to_owned());
        }
    }
}

pub(crate) fn all() -> Vec<(&'static str, Judgement)> {
    vec![
        ("passed", passed()),
        ("failed", failed()),
        ("inconclusive", inconclusive()),
        ("refused", refused()),
        ("broken", broken()),
        ("machines", machines()),
        ("empty", judged(&[], &[], &rules())),
    ]
}

fn look(columns: usize) -> Look {
    Look {
        columns,
        color: false,
        ascii: false,
        details: false,
    }
}

/// The verdict in a terminal, above a comparison without runs.
fn drawn(judgement: &Judgement, notes: &[String], columns: usize) -> String {
    let compared = sides(&[], &[]);
    terminal::render(&document(judgement, &compared, notes, None), look(columns))
}

#[test]
fn each_verdict_in_each_form() {
    for (name, judgement) in all() {
        let notes = ["as-shipped advises only".to_owned()];
        let suites = suites(&judgement, false);
        let annotations = annotations(&suites).join("\n");
        for (form, text) in [
            ("terminal", drawn(&judgement, &notes, 110)),
            ("junit", junit(&suites)),
            ("annotations", annotations),
        ] {
            insta::with_settings!({ omit_expression => true }, {
                insta::assert_snapshot!(format!("{name}-{form}"), text);
            });
        }
    }
}

#[test]
fn every_block_of_a_verdict_is_in_every_format() {
    for (_, judgement) in all() {
        is_whole(&document(&judgement, &sides(&[1_000; 3], &[1_000; 3]), &[], None));
    }
}

#[test]
fn sizes_of_both_sides_and_answers_are_whole_in_any_terminal() {
    for columns in [60, 80, 100, 110, 160] {
        for (name, judgement) in all() {
            let text = drawn(&judgement, &[], columns);
            let heads: Vec<&str> = text.lines().filter(|line| line.contains("  rule ")).collect();
            for head in heads {
                let is_whole = columns == 60 || head.contains("passes below");
                let has_other = head.contains("baseline") || head.contains("anchor");
                assert!(
                    has_other && head.contains("candidate") && head.contains("bounds") && is_whole,
                    "{name} at {columns}: {text}"
                );
            }
            assert!(
                !text.contains("INCONCLUSI…") && !text.contains("INCONCLU…"),
                "{name} at {columns}: {text}"
            );
            let wide = text.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{name} at {columns}");
        }
    }
}

#[test]
fn an_open_verdict_begins_with_its_reason_and_its_cure() {
    let early = uncalibrated(&[1_000, 1_001, 1_000], &[1_001, 1_000, 1_002], &Schedule::default());
    let short = &findings(&early)[0].short;
    assert!(
        short.contains("nothing is decided before 5 runs of each, or 12 calibration runs of both"),
        "{short}"
    );
    assert!(short.contains("5 runs of each will probably decide"), "{short}");
    let noisy = judged(
        &[1_000, 1_060, 950, 1_020, 980],
        &[1_010, 980, 1_075, 960, 1_030],
        &rules(),
    );
    let short = &findings(&noisy)[0].short;
    assert!(
        short.contains("the runs vary by ") || short.contains("the runs may form groups"),
        "{short}"
    );
    assert!(short.contains(" runs of each will probably decide"), "{short}");
}

#[test]
fn what_helps_follows_from_what_is_open() {
    let looks = Schedule::default();
    let early = uncalibrated(&[1_000, 1_001, 1_000], &[1_001, 1_000, 1_002], &looks);
    assert_eq!(cure(&early, &looks), Some(Cure::Continue(5)), "three looks are left");
    let fixed = Schedule::single_look(3, 0.05).unwrap();
    let early = uncalibrated(&[1_000, 1_001, 1_000], &[1_001, 1_000, 1_002], &fixed);
    assert_eq!(cure(&early, &fixed), Some(Cure::Runs(5)));
    let blind = uncalibrated(&[1_000; 5], &[1_000; 5], &looks);
    assert_eq!(
        cure(&blind, &looks),
        Some(Cure::Calibrate),
        "groups may have been missed"
    );
    assert_eq!(cure(&passed(), &looks), None);
    assert_eq!(cure(&refused(), &looks), None);
}

#[test]
fn a_candidate_alone_has_no_word_of_a_baseline() {
    let mut rules = rules();
    rules.primaries.clear();
    rules.advisory.clear();
    let alone = Sides {
        baseline: None,
        ..sides(&[], &[1_000; 5])
    };
    let judgement = judge(&alone, &rules, &Schedule::default());
    let document = document(&judgement, &alone, &[], None);
    is_whole(&document);
    assert_eq!(document.title, "gate completions: ty-new");
    let texts = [
        markdown::render(&document),
        junit(&suites(&judgement, false)),
        super::json::render(&judgement, &[], None, 0).unwrap(),
    ];
    for text in texts {
        assert!(text.contains("600.0 MiB"), "{text}");
        for word in ["against the baseline", "runs of each", "\"baseline\""] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}

#[test]
fn the_next_command_is_on_a_line_of_its_own_in_every_terminal() {
    let next = NextCommand {
        why: "play on".to_owned(),
        command: format!("lsp-soak gate --resume reports/{} --runs 13", "long-".repeat(20)),
    };
    let judgement = inconclusive();
    let document = document(&judgement, &sides(&[], &[]), &[], Some(&next));
    for columns in [60, 80, 120] {
        let text = terminal::render(&document, look(columns));
        assert!(text.lines().any(|line| line == next.command), "{text}");
    }
    let json = super::json::render(&judgement, &[], Some(&next), 3).unwrap();
    assert!(json.contains(&next.command), "{json}");
}

/// Runs of a candidate that keeps 640 KiB more after each round of ten hovers.
fn growing(runs: usize) -> Judgement {
    let sides = Sides {
        baseline: Some(runs_with_rounds("ty-old", runs, 0)),
        candidate: runs_with_rounds("ty-new", runs, 640),
        anchor: None,
    };
    let leak = Leak {
        phase: None,
        limit: LeakLimit::default(),
        per: Per::Round,
    };
    let rules = Rules {
        primaries: Vec::new(),
        advisory: Vec::new(),
        budgets: Vec::new(),
        leak: Some(leak),
        ..rules()
    };
    judge(&sides, &rules, &Schedule::default())
}

/// Runs of 20 rounds, each of which keeps so many KiB more.
fn runs_with_rounds(label: &str, runs: usize, kib: u64) -> Vec<Played> {
    let numbers = 1..=u32::try_from(runs).unwrap();
    let mut runs: Vec<Played> = numbers.map(|number| run(label, number, Lens::Purged, 1_000)).collect();
    for run in &mut runs {
        let mut rounds = Vec::new();
        for cycle in 0..20 {
            let mut phase = run.summary.phases[1].clone();
            phase.phase.cycle = cycle;
            phase.private = phase.private.map(|private| private + ((u64::from(cycle) * kib) << 10));
            phase.steps.truncate(1);
            phase.steps[0].requests = Some(10);
            rounds.push(phase);
        }
        run.summary_mut().phases = rounds;
    }
    runs
}

#[test]
fn runs_beyond_the_look_that_decided_are_told() {
    let judgement = judged(&[1_000; 5], &[1_001; 5], &rules());
    let text = notes::doubts(&judgement).join("\n");
    let part = "purged private against the baseline uses the first 3 of 5 runs, peak <= 600.0 MiB uses";
    assert!(text.contains(part), "{text}");
    assert!(text.contains("`--runs 5` judges all 5 at once"), "{text}");
    let once = judge(
        &sides(&[1_000; 5], &[1_001; 5]),
        &rules(),
        &Schedule::single_look(5, 0.05).unwrap(),
    );
    assert!(!notes::doubts(&once).join("\n").contains("uses the first"));
}

#[test]
fn a_verdict_without_calibrations_names_the_group_that_it_may_have_missed() {
    let five = notes::missed_groups(&uncalibrated(&[1_000; 5], &[1_000; 5], &Schedule::default())).join("\n");
    let part = "a second group of under 45 % of the runs is not ruled out for purged private, ";
    assert!(five.contains(part) && five.contains("(5 runs of each)"), "{five}");
    assert!(five.contains("`lsp-soak calibrate`"), "{five}");
    let three = uncalibrated(&[1_000; 3], &[1_000; 3], &Schedule::default());
    let missed = notes::missed_groups(&three).join("\n");
    assert!(!missed.contains("second group"), "nothing is decided yet");
    let text = &findings(&three)[0].text;
    assert!(
        text.contains("nothing is decided before 5 runs of each, or 12 calibration runs of both"),
        "{text}"
    );
    assert!(text.ends_with("; 5 runs of each will probably decide"), "{text}");
    let calibrated = judged(&[1_000; 5], &[1_000; 5], &rules());
    assert!(!notes::missed_groups(&calibrated).join("\n").contains("second group"));
}

#[test]
fn groups_of_runs_are_the_reason_of_an_open_rule() {
    let mut values = [1_000; 8];
    (values[2], values[5]) = (1_072, 1_072);
    let mut strict = rules();
    strict.primaries[0].tolerance = Tolerance::new(0.01, 0.02, 0.0).unwrap();
    let sides = sides(&[1_000; 8], &values);
    let open = analysis::gate::judge(&sides, &strict, &Schedule::default());
    let text = &findings(&open)[0].text;
    assert!(text.contains("; the runs may form groups 7.2 % apart; "), "{text}");
}

#[test]
fn each_rule_says_on_how_many_runs_it_rests() {
    let growing = growing(12);
    let text = notes::doubts(&growing).join("\n");
    let part = "growth over goto uses the first 3 of 12 runs: interim analyses stop at the first answer; `--runs 12`";
    assert!(text.contains(part), "{text}");
    let mut rules = rules();
    rules.primaries[0].tolerance = Tolerance::new(0.0, 0.001, 0.0).unwrap();
    let two = judged(&[1_000; 5], &[1_000; 5], &rules);
    let texts: Vec<String> = findings(&two).into_iter().map(|one| one.text).collect();
    for (start, looked) in [
        ("purged private: ", "against the baseline after 5 runs of each"),
        ("peak <= 600.0 MiB: ", "after 3 runs"),
        (
            "as-shipped peak (advises): ",
            "against the baseline after 3 runs of each",
        ),
    ] {
        let text = texts.iter().find(|text| text.starts_with(start)).unwrap();
        assert!(text.contains(looked), "{text}");
    }
    // Before the first look nothing is judged, and nothing says that it was.
    let few = judged(&[1_000; 2], &[1_000; 2], &rules);
    let text = notes::unjudged_rules_notes(&few).join("\n");
    let part = "too few runs to judge purged private, peak: the first interim analysis needs 3 runs of each";
    assert!(text.contains(part) && !text.contains("rests on"), "{text}");
    assert!(findings(&few)[0].text.contains("before the first interim analysis"));
    let json = super::json::render(&few, &[], None, few.exit().code()).unwrap();
    assert!(json.contains(part) && json.contains("\"exit_code\": 2"), "{json}");
}

#[test]
fn what_stands_so_far_has_every_rule_that_decides() {
    let looks = Schedule::default();
    let line = standing(&passed(), &looks).unwrap();
    assert!(
        line.starts_with("purged private: −0.") && line.contains(" %, PASS; peak <= 600.0 MiB: "),
        "{line}"
    );
    let line = standing(&inconclusive(), &looks).unwrap();
    for part in [
        "private against the baseline: ",
        "private against the anchor: ",
        "p50 of textDocument/completion",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let line = standing(&growing(3), &looks).unwrap();
    assert!(
        line.contains("growth over goto: ") && line.contains(" KiB per round, "),
        "{line}"
    );
    let few = judged(&[1_000; 2], &[1_000; 2], &rules());
    assert!(standing(&few, &looks).unwrap().contains("needs "), "{few:?}");
    let no_rules = Rules {
        primaries: Vec::new(),
        budgets: Vec::new(),
        ..rules()
    };
    assert_eq!(standing(&judged(&[], &[], &no_rules), &looks), None);
}

#[test]
fn what_is_not_decided_is_skipped_and_a_failure_where_that_was_asked_for() {
    let judgement = inconclusive();
    let usual = junit(&suites(&judgement, false));
    assert!(usual.contains(" failures=\"0\" errors=\"0\" skipped=\"9\""), "{usual}");
    let strict = junit(&suites(&judgement, true));
    assert!(
        strict.contains(" failures=\"5\" errors=\"0\" skipped=\"4\""),
        "{strict}"
    );
}

#[test]
fn unequal_machines_neither_fail_a_gate_nor_widen_it() {
    let judgement = machines();
    let evidence = judgement.against[0].primaries[0].verdict.evidence.as_ref().unwrap();
    assert_eq!(
        (evidence.machines, evidence.runs.baseline, evidence.runs.candidate),
        (2, 5, 5)
    );
    assert!(evidence.lower > 0.99 && evidence.upper < 1.01, "{evidence:?}");
    assert_eq!(judgement.against[0].answer, stats::Answer::Pass);
    let latency = Rules {
        primaries: vec![rule(
            Figure::P50,
            GatedPart::Method("textDocument/completion".to_owned()),
            Lens::Purged,
            Tolerance::new(0.01, 0.05, 0.0).unwrap(),
        )],
        ..rules()
    };
    let mut sides = sides(
        &[1_000, 1_001, 1_000, 1_300, 1_301],
        &[1_001, 1_000, 1_301, 1_300, 1_302],
    );
    let mut baseline = sides.baseline.iter().flatten();
    assert!(baseline.any(|run| run.summary.traffic.methods.iter().any(|method| method.p50 > Some(0))));
    let least = sides.baseline.iter().flatten().map(first_private).min().unwrap();
    for run in sides.baseline.iter_mut().flatten().chain(&mut sides.candidate) {
        if first_private(run) > least * 12 / 10 {
            run.summary_mut().header.host.cpu = Some("another".to_owned());
        }
    }
    let judgement = judge(&sides, &latency, &Schedule::single_look(5, 0.05).unwrap());
    let evidence = judgement.against[0].primaries[0].verdict.evidence.as_ref().unwrap();
    assert!(evidence.lower > 0.99 && evidence.upper < 1.01, "{evidence:?}");
    assert!(judgement.differences.iter().any(|difference| difference.is_decisive()));
}

fn first_private(run: &Played) -> u64 {
    run.summary.phases.iter().find_map(|phase| phase.private).unwrap_or(0)
}

#[test]
fn what_huge_pages_do_to_the_difference_and_what_was_preloaded_is_told() {
    let mut sides = sides(&[1_000; 3], &[1_030; 3]);
    for run in &mut sides.candidate {
        run.summary_mut().header.server.preload = Some(PreloadFacts {
            name: "jemalloc".to_owned(),
            version: Some("5.3.0".to_owned()),
            ..PreloadFacts::default()
        });
        let last = run
            .summary_mut()
            .phases
            .last_mut()
            .and_then(|phase| phase.checkpoint.as_mut());
        let taken = last.expect("it was taken");
        taken.huge_pages = taken.huge_pages.map(|huge| huge + (8 << 20));
    }
    let judgement = judge(&sides, &rules(), &Schedule::default());
    let text = markdown::render(&document(&judgement, &sides, &[], None));
    let words = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    for part in [
        "candidate: 8.0 MiB more in huge pages and 4.4 MiB more private memory (medians) than baseline",
        "jemalloc 5.3.0 preloaded",
    ] {
        assert!(words.contains(part), "{text}");
    }
}

#[test]
fn a_gate_says_on_which_side_the_machine_was_busy() {
    let mut sides = sides(&[1_000; 3], &[1_000; 3]);
    for run in &mut sides.candidate {
        run.summary_mut().header.host.load = run.summary.header.host.cpus.map(|cpus| 2.0 * cpus as f64);
    }
    let judgement = judge(&sides, &rules(), &Schedule::default());
    let text = markdown::render(&document(&judgement, &sides, &[], None));
    let part = "the machine was busy when 6 of 12 runs started (load up to ";
    assert!(
        text.contains(part) && text.contains("; the baseline 0 of 6, the candidate 6 of 6)"),
        "{text}"
    );
}
