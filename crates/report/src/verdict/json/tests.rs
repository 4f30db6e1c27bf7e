//! The output matches its schema.

use serde_json::{Value, json};

use analysis::gate::Judgement;

use super::super::tests::{all, failed, refused};
use super::{render, schema};

fn rendered(judgement: &Judgement) -> Value {
    let notes = ["a note".to_owned()];
    serde_json::from_str(&render(judgement, &notes, None, judgement.exit().code()).unwrap()).unwrap()
}

#[test]
fn every_verdict_keeps_to_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (name, judgement) in all() {
        let report = rendered(&judgement);
        let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    let mut report = rendered(&failed());
    report["outcome"] = json!("perhaps");
    assert!(!validator.is_valid(&report));
}

#[test]
fn a_program_finds_the_verdict_and_the_numbers_that_decided() {
    let report = rendered(&failed());
    assert_eq!((&report["outcome"], &report["exit_code"]), (&json!("fail"), &json!(1)));
    let rule = &report["against"][0]["rules"][0];
    assert_eq!(rule["answer"], "fail");
    assert!(rule["evidence"]["low"].as_f64() > rule["evidence"]["fails_above"].as_f64());
    assert_eq!(rule["candidate"].as_array().unwrap().len(), 3);
    assert!(report["notes"].as_array().unwrap().contains(&json!("a note")));
    let refused = rendered(&refused());
    assert_eq!(
        (&refused["outcome"], &refused["exit_code"]),
        (&json!("refused"), &json!(4))
    );
    assert_eq!(refused["against"][0]["work"][0]["less"], true);
}
