//! The output matches its schema.

use serde_json::Value;

use analysis::compare::{Played, compare_by_target};

use super::super::tests::{holes, targets, three};
use super::{render, schema};

fn rendered(runs: &[Played]) -> Value {
    serde_json::from_str(&render(&compare_by_target(runs.to_vec(), None), runs).unwrap()).unwrap()
}

#[test]
fn every_comparison_keeps_to_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for runs in [Vec::new(), three(), holes(), targets()] {
        let report = rendered(&runs);
        let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

#[test]
fn the_schema_refuses_what_is_no_comparison() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut report = rendered(&three());
    assert!(validator.is_valid(&report));
    report["scenarios"][0]["targets"][0]["rows"][0]["cells"][0]["values"][0] = Value::from("20 MiB");
    assert!(!validator.is_valid(&report));
}

fn row<'t>(target: &'t Value, place: &str, figure: &str) -> &'t Value {
    let mut rows = target["rows"].as_array().unwrap().iter();
    rows.find(|row| row["name"] == place && row["figure"] == figure)
        .unwrap()
}

#[test]
fn what_is_not_known_of_a_comparison_is_null() {
    let report = rendered(&holes());
    let target = &report["scenarios"][0]["targets"][0];
    let decay = row(target, "decay", "private");
    let (short, one, none) = (&decay["cells"][1], &decay["cells"][2], &decay["cells"][3]);
    assert_eq!(short["values"], serde_json::json!([null, null, null]));
    assert_eq!(short["median"], Value::Null);
    assert_eq!(one["ratio"], Value::Null, "one run has no ratio");
    assert_eq!(none["values"], serde_json::json!([]));
    assert_eq!(
        row(target, "textDocument/completion", "p50")["cells"][1]["values"][1],
        Value::Null
    );
    assert_eq!(target["servers"][3]["left_out"][0]["why"], "unfinished");
    assert_eq!(report["runs"].as_array().unwrap().len(), 8);
}

#[test]
fn a_value_is_found_by_the_record_that_it_is_from() {
    let report = rendered(&three());
    let target = &report["scenarios"][0]["targets"][0];
    let mimalloc = &target["servers"][2];
    assert_eq!(mimalloc["runs"].as_array().unwrap().len(), 3);
    assert_eq!(mimalloc["left_out"][1]["why"], "failed");
    let cell = &target["rows"][0]["cells"][2];
    assert_eq!(target["rows"][0]["unit"], "bytes");
    let groups = cell["groups"][0]["runs"].as_array().unwrap();
    assert_eq!(groups.len(), 3);
    let runs: Vec<&Value> = groups
        .iter()
        .map(|run| &mimalloc["runs"][run.as_u64().unwrap() as usize])
        .collect();
    assert!(
        runs.iter()
            .all(|run| run.as_str().is_some_and(|run| run.ends_with(".jsonl"))),
        "{runs:?}"
    );
}
