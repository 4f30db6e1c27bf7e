//! The program as it is typed.

use std::process::{Command, Output};

use serde_json::Value;

fn lab(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(line.split(' '))
        .output()
        .expect("cargo built the program")
}

fn number(line: &Value, key: &str) -> f64 {
    line[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} is a number: {line}"))
}

#[test]
fn the_only_line_of_output_is_json_with_every_figure() {
    let output = lab("mpsc --seconds 0.05 --threads 1 --seed 7 --payload 4KiB --bounded");
    assert!(output.status.success());
    let stdout = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    let line: Value = serde_json::from_str(&stdout).expect("the line is JSON");
    let expected = [
        ("workload", Value::from("mpsc")),
        ("allocator", Value::from("system")),
        ("threads", Value::from(1)),
        ("seconds", Value::from(0.05)),
        ("seed", Value::from(7)),
        ("payload", Value::from(4096)),
        ("bounded", Value::from(true)),
    ];
    for (key, value) in expected {
        assert_eq!(line[key], value, "{key}");
    }
    assert!(number(&line, "live_bytes") >= 0.0);
    let product = number(&line, "operations_per_second") * number(&line, "nanoseconds_per_operation");
    assert!((product / 1e9 - 1.0).abs() < 0.001, "{line}");
}

#[test]
fn a_workload_without_messages_names_no_payload() {
    let output = lab("sh6 --seconds 0.01");
    let line: Value = serde_json::from_slice(&output.stdout).expect("the line is JSON");
    assert_eq!((line.get("payload"), line.get("bounded")), (None, None));
}

#[test]
fn an_unknown_workload_names_the_near_ones() {
    let output = lab("larsen");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).expect("the message is UTF-8");
    assert!(stderr.contains("a similar value exists: 'larson'"), "{stderr}");
}
