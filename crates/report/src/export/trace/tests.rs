use std::convert::Infallible;

use serde_json::Value;

use analysis::summary;
use record::golden::{self, Session};

use super::*;

/// The trace events of a session, and its summary.
fn events(session: &Session) -> (Vec<Value>, Summary) {
    let mut trace = Trace::default();
    let mut out = Vec::new();
    let mut run = trace.run(&session.header, "run-001.jsonl", false, &mut out).unwrap();
    for entry in &session.entries {
        run.write(&mut trace, entry, &mut out).unwrap();
    }
    let entries = session.entries.iter().cloned().map(Ok::<_, Infallible>);
    let Ok(summary) = summary::summarise(session.header.clone(), entries);
    run.finish(&mut trace, &summary, &mut out).unwrap();
    trace.finish(&mut out).unwrap();
    let mut value: Value = serde_json::from_slice(&out).unwrap();
    let Value::Array(events) = value["traceEvents"].take() else {
        panic!("no events")
    };
    (events, summary)
}

fn count(events: &[Value], cat: &str) -> usize {
    events.iter().filter(|event| event["cat"] == cat).count()
}

#[test]
fn a_trace_has_everything_that_was_done_and_every_value_that_changed() {
    let session = golden::completed();
    let (events, summary) = events(&session);
    assert_eq!(count(&events, "phase"), summary.phases.len());
    assert_eq!(count(&events, "checkpoint"), 5);
    assert_eq!(count(&events, "peak"), 5);
    assert_eq!(count(&events, "window"), summary.windows.len());
    let entries = session.entries.iter();
    let requests = entries.filter(|entry| matches!(entry.event, Event::Request(_)));
    assert_eq!(count(&events, "request"), requests.count());
    let highest = events
        .iter()
        .filter_map(|event| event["args"]["private_bytes"].as_u64());
    assert_eq!(highest.max(), summary.memory.private_peak);
    let few: Vec<String> = events.iter().step_by(events.len() / 40).map(Value::to_string).collect();
    insta::assert_snapshot!("completed", few.join("\n"));
}

#[test]
fn a_traced_record_has_what_was_done_and_no_size_and_no_latency() {
    let mut session = golden::completed();
    session.header.plan.traced = Some(record::TracerFacts::default());
    let (events, summary) = events(&session);
    assert_eq!(count(&events, "phase"), summary.phases.len());
    assert_eq!(count(&events, "request") + count(&events, "peak"), 0);
    assert_eq!(events.iter().find(|event| has_measure(event)), None);
    assert!(
        events[0]["args"]["name"]
            .as_str()
            .unwrap()
            .contains("no memory and no latency"),
        "{}",
        events[0]
    );
}

/// True if an event has a size or a time.
fn has_measure(event: &Value) -> bool {
    event["args"]
        .as_object()
        .is_some_and(|args| args.keys().any(|key| key.ends_with("_bytes") || key.ends_with("_ns")))
}

#[test]
fn slices_of_one_row_never_cross() {
    for session in [golden::completed(), golden::tree()] {
        let (events, _) = events(&session);
        let mut rows: HashMap<u64, Vec<(f64, f64)>> = HashMap::new();
        for event in events.iter().filter(|event| event["ph"] == "X") {
            let (from, took) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
            rows.entry(event["tid"].as_u64().unwrap())
                .or_default()
                .push((from, from + took));
        }
        for (row, slices) in &mut rows {
            slices.sort_by(|a, b| a.0.total_cmp(&b.0));
            let apart = slices.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 0.001);
            assert!(apart, "row {row}: {slices:?}");
        }
    }
}

#[test]
fn a_process_id_that_is_used_again_is_another_process() {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 4, 4);
    session.spawn(1, "a helper", Some(0), 4, 4);
    for entry in &mut session.entries {
        if let Event::Process(process) = &mut entry.event {
            process.pid = 7;
        }
    }
    let (events, _) = events(&session);
    assert_eq!(pid_of(&events, "server"), 7);
    assert_ne!(pid_of(&events, "a helper (pid 7)"), 7);
}

fn pid_of<'e>(events: &'e [Value], name: &str) -> &'e Value {
    &events.iter().find(|event| event["args"]["name"] == name).unwrap()["pid"]
}

#[test]
fn a_step_that_did_not_end_is_there_and_a_trace_of_nothing_is_one() {
    let mut session = Session::new("server");
    session.phase("work");
    session.step("goto \"<i>\"");
    session.at += 5_000_000_000;
    session.warn(record::WarningKind::Host, "a warning");
    let (events, _) = events(&session);
    let step = events.iter().find(|event| event["cat"] == "step").unwrap();
    assert_eq!(
        (step["dur"].as_f64(), &step["args"]["unfinished"]),
        (Some(5e6), &Value::Bool(true))
    );
    assert_eq!(count(&events, "warning"), 1);
    let mut out = Vec::new();
    Trace::default().finish(&mut out).unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&out).unwrap(),
        json!({ "traceEvents": [] })
    );
}
