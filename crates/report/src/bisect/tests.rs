//! Texts of invented bisections.

use serde_json::Value;

use super::*;
use crate::document::{Look, markdown, terminal};

fn runs(name: &str, mib: f64) -> VersionRuns {
    let value = mib * 1_048_576.0;
    VersionRuns {
        version: Version {
            name: name.to_owned(),
            title: None,
        },
        runs: 5,
        measured: Measured::Value(Bounded {
            value,
            low: value * 0.99,
            high: value * 1.01,
        }),
    }
}

fn tried(name: &str, mib: f64, end: End) -> Tried {
    Tried {
        of: runs(name, mib),
        result: TriedResult::Like(end),
    }
}

fn ratio_of(value: f64) -> Option<Bounded> {
    Some(Bounded {
        value,
        low: value - 0.01,
        high: value + 0.01,
    })
}

fn bisection(outcome: Outcome) -> Bisection {
    Bisection {
        scenario: "diagnostics".to_owned(),
        question: Question::By {
            subject: "purged private".parse().unwrap(),
            share: 0.03,
        },
        versions: 31,
        tried: vec![
            tried("1.10.0", 212.0, End::First),
            tried("1.13.0", 212.4, End::First),
            Tried {
                of: VersionRuns {
                    runs: 0,
                    measured: Measured::Unknown,
                    ..runs("1.13.1", 0.0)
                },
                result: TriedResult::Skipped("`npm install` failed: no such version".to_owned()),
            },
            tried("1.14.0", 265.5, End::Last),
            tried("1.30.0", 266.0, End::Last),
        ],
        holds_at: None,
        difference: ratio_of(1.254),
        outcome,
    }
}

fn pair(verdict: PairVerdict, between: &[&str]) -> Outcome {
    Outcome::Pair(Box::new(Pair {
        before: runs("1.13.0", 212.3),
        after: runs("1.14.0", 265.6),
        between: between.iter().map(|name| runs(name, 0.0).version).collect(),
        step: ratio_of(1.25),
        share: Some(0.98),
        work: Vec::new(),
        verdict,
    }))
}

fn all() -> Vec<Bisection> {
    let mut commits = bisection(pair(PairVerdict::Step, &[]));
    commits.question = Question::When(When::Crash);
    commits.holds_at = Some(End::Last);
    commits.difference = None;
    for tried in &mut commits.tried {
        tried.of.version.title = Some("server: keep the index".to_owned());
        tried.of.measured = Measured::Crashes(2);
    }
    vec![
        bisection(pair(PairVerdict::Step, &[])),
        bisection(pair(PairVerdict::Step, &["1.13.1"])),
        bisection(pair(PairVerdict::Gradual, &[])),
        bisection(pair(
            PairVerdict::Unconfirmed("fresh runs show no difference".to_owned()),
            &[],
        )),
        bisection(Outcome::Alike),
        bisection(Outcome::Unknown("3 runs of the 5 that decide".to_owned())),
        commits,
    ]
}

#[test]
fn every_result_begins_with_its_answer() {
    let mut text = String::new();
    for bisection in all() {
        text.push_str(&headline(&bisection));
        text.push('\n');
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_result_is_a_few_lines_in_a_terminal_of_any_width() {
    let bisection = &all()[1];
    for columns in [60, 80, 120] {
        let look = Look {
            columns,
            details: false,
            color: false,
            ascii: false,
        };
        let text = terminal::render(&document(bisection), look);
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
        insta::assert_snapshot!(format!("bisect-{columns}"), text);
    }
    assert!(markdown::render(&document(bisection)).contains("1.14.0"));
}

#[test]
fn every_result_keeps_to_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for bisection in all() {
        let report: Value = serde_json::from_str(&json(&bisection, 0).unwrap()).unwrap();
        let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(report["tried"].as_array().unwrap().len(), 5);
    }
}
