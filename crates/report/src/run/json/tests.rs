//! The output matches its schema.

use serde_json::Value;

use analysis::golden::traced;
use analysis::summary::{self, without_invalid_figures};
use record::golden;

use super::{render, schema};

const RECORDS: [&str; 5] = ["completed", "crashed", "tree", "interrupted", "truncated"];

fn rendered(name: &str) -> Value {
    let summary = summary::read(golden::open(name)).unwrap();
    serde_json::from_str(&render(&summary).unwrap()).unwrap()
}

#[test]
fn every_report_keeps_to_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for name in RECORDS {
        let report = rendered(name);
        let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn the_schema_refuses_what_is_no_report() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut report = rendered("completed");
    report["phases"][0]["private"] = Value::from("20 MiB");
    assert!(!validator.is_valid(&report));
}

#[test]
fn what_is_not_known_is_null() {
    let report = rendered("crashed");
    assert_eq!(report["phases"][1]["private"], Value::Null);
    assert_eq!(report["phases"][1]["peak"]["upper"], Value::Null);
    assert_eq!(report["exit_code"], 4);
    assert_eq!(rendered("truncated")["ending"], Value::Null);
}

#[test]
fn a_traced_run_has_no_time_of_its_beginning_and_of_its_end() {
    let plain = analysis::golden::read("completed");
    let is_unmeasured = traced(plain.clone(), 7);
    for (summary, known) in [(plain, true), (is_unmeasured, false)] {
        let valid = without_invalid_figures(&summary);
        let report = super::report(&summary, &valid);
        assert_eq!(
            report
                .initialized
                .is_some_and(|initialized| initialized.latency.is_some()),
            known
        );
        assert_eq!(report.shutdown.is_some_and(|shutdown| shutdown.took.is_some()), known);
        assert_eq!(!report.readiness.is_empty(), known);
    }
}
