//! Damaged records: analysis and every renderer finish, whatever the numbers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::comparison::{self, Case, Outcome, Suite};
use crate::document::{Document, Look, markdown, page, terminal};
use crate::run::{self, json, one_line};
use analysis::compare::{Played, compare_by_target};
use analysis::golden::traced;
use analysis::summary::{self, Summary};
use base::lens::Lens;
use base::text::is_hidden;
use record::golden::{self, Session};
use record::{AllocatorFacts, AllocatorFamily, Close, Confidence, Ending, Entry, Event, Header, LateTicks, Reader};

use super::{csv, svg};

/// The largest number of every integer width.
const LARGEST: [u64; 5] = [
    u64::MAX,
    i64::MAX.cast_unsigned(),
    u32::MAX as u64,
    i32::MAX.cast_unsigned() as u64,
    u8::MAX as u64,
];

/// A process tree with every kind of event and few samples, each line as a value.
fn lines() -> Vec<Value> {
    let mut session: Session = golden::tree();
    let mut samples = 0;
    session.entries.retain(|entry| {
        samples += u64::from(matches!(entry.event, Event::Sample(_)));
        !matches!(entry.event, Event::Sample(_)) || samples % 6 == 0
    });
    let first = session.entries.iter().position(is_request).unwrap();
    let mut index = 0;
    session.entries.retain(|entry| {
        index += 1;
        !is_request(entry) || index < first + 40
    });
    session.entries.insert(
        first,
        Entry {
            at: 1,
            event: Event::Late(LateTicks { missed: 1, late: 1 }),
        },
    );
    let text = String::from_utf8(session.bytes()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_request(entry: &Entry) -> bool {
    matches!(entry.event, Event::Request(_))
}

/// Collects the names of all integer fields.
fn names(value: &Value, list: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if value.is_u64() {
                    list.insert(name.clone());
                }
                names(value, list);
            }
        }
        Value::Array(values) => {
            for value in values {
                names(value, list);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Replaces the numbers that `which` selects.
fn change(value: &mut Value, which: &mut impl FnMut(&str) -> Option<u64>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match which(name) {
                    Some(number) if value.is_u64() => *value = Value::from(number),
                    _ => change(value, which),
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                change(value, which);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_valid(line: &Value, is_header: bool) -> bool {
    if is_header {
        serde_json::from_value::<Header>(line.clone()).is_ok()
    } else {
        serde_json::from_value::<Entry>(line.clone()).is_ok()
    }
}

fn document_of(summary: &Summary) -> Document {
    run::document(&Played::new("record".to_owned(), summary.clone()))
}

/// Changes each line as far as its types allow, then reads and renders the record in every format.
fn survives(lines: &[Value], mut which: impl FnMut(&str, u64) -> Option<u64>) {
    let mut bytes = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let mut changed = LARGEST.into_iter().map(|largest| {
            let mut line = line.clone();
            change(&mut line, &mut |name| which(name, largest));
            line
        });
        let is_header = number == 0;
        let line = changed
            .find(|line| is_valid(line, is_header))
            .unwrap_or_else(|| line.clone());
        bytes.extend(line.to_string().into_bytes());
        bytes.push(b'\n');
    }
    let summary = summary::read(Reader::new(&bytes[..]).unwrap()).unwrap();
    let look = Look {
        columns: 100,
        color: false,
        ascii: false,
        details: true,
    };
    let document = document_of(&summary);
    assert!(!terminal::render(&document, look).is_empty());
    assert!(!json::render(&summary).unwrap().is_empty());
    assert!(!markdown::render(&document).is_empty());
    let mut out = Vec::new();
    let mut samples = csv::Samples::new("record", &summary.header);
    for entry in Reader::new(&bytes[..]).unwrap() {
        samples.write(&entry.unwrap(), &mut out).unwrap();
    }
    assert!(!out.is_empty());
}

#[test]
fn the_largest_numbers_in_any_field_break_nothing() {
    let lines = lines();
    let mut all = BTreeSet::new();
    for line in &lines {
        names(line, &mut all);
    }
    let version = ["major", "minor"];
    all.retain(|name| !version.contains(&name.as_str()));
    assert!(all.len() > 50, "{all:?}");
    for name in &all {
        survives(
            &lines,
            |field, largest| if field == name { Some(largest) } else { None },
        );
    }
}

#[test]
fn the_largest_numbers_in_all_fields_and_nothing_beside_them_break_nothing() {
    let lines = lines();
    let own = ["major", "minor", "process"];
    survives(
        &lines,
        |field, largest| {
            if own.contains(&field) { None } else { Some(largest) }
        },
    );
    for period in [2, 3, 5, 7] {
        let mut turn = 0;
        survives(&lines, |field, largest| {
            turn += 1;
            let number = if turn % period == 0 { 0 } else { largest };
            if own.contains(&field) { None } else { Some(number) }
        });
    }
}

#[test]
fn the_head_says_the_allocator_and_how_sure_that_is() {
    let mut summary = analysis::golden::read("completed");
    summary.header.server.allocator = Some(AllocatorFacts {
        family: AllocatorFamily::Glibc,
        version: Some("2.36".to_owned()),
        confidence: Some(Confidence::Likely),
        ..AllocatorFacts::default()
    });
    let look = Look {
        columns: 160,
        color: false,
        ascii: false,
        details: true,
    };
    let text = terminal::render(&document_of(&summary), look);
    assert!(text.contains("allocator glibc 2.36 (likely)"), "{text}");
    summary.header.server.allocator = Some(AllocatorFacts::default());
    let text = terminal::render(&document_of(&summary), look);
    assert!(text.contains("allocator n/a"), "{text}");
}

/// Collects every number below a field with one of these names.
fn numbers<'v>(value: &'v Value, named: &[&str], below: bool, list: &mut Vec<&'v Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                numbers(value, named, below || named.contains(&name.as_str()), list);
            }
        }
        Value::Array(values) => {
            for value in values {
                numbers(value, named, below, list);
            }
        }
        Value::Number(_) if below => list.push(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn no_format_shows_memory_or_latency_of_a_traced_run() {
    let summary = traced(analysis::golden::read("completed"), 7);
    let report: Value = serde_json::from_str(&json::render(&summary).unwrap()).unwrap();
    let named = [
        "private", "private_exact", "private_sampled", "private_peak", "resident", "proportional", "virtual_size",
        "huge_pages", "lazy_free", "swap", "peak", "shutdown_peak", "increment", "returned_private", "cpu", "p50",
        "p95", "max", "before", "after", "curve", "readiness", "lazily_freed",
    ];
    let mut list = Vec::new();
    for part in [
        "phases", "programs", "methods", "idles", "decay", "growth", "readiness", "peak", "private_peak",
    ] {
        numbers(&report[part], &named, named.contains(&part), &mut list);
    }
    assert_eq!(list, Vec::<&Value>::new());
    assert!(
        report["unmeasured"]
            .as_str()
            .unwrap()
            .starts_with("traced by strace 6.1")
    );
    assert!(report["phases"][1]["minor_faults"].is_u64());
    let whole = serde_json::from_str::<Value>(&json::render(&analysis::golden::read("completed")).unwrap());
    assert_eq!(whole.unwrap()["unmeasured"], Value::Null);
    let page = page::render(&document_of(&summary));
    let body = &page[page.find("<body>").unwrap()..page.find("<footer>").unwrap()];
    assert!(!body.contains("private") && !body.contains("resident"), "{body}");
    assert!(!body.contains("application/json") && body.contains("no memory and no latency figures"));
}

#[test]
fn a_failed_run_says_its_reason_in_its_line() {
    let mut summary = analysis::golden::read("completed");
    summary.ending = Some(Ending::Crashed {
        code: Some(2),
        signal: None,
        during: "the start".to_owned(),
    });
    summary.lifecycle.close = Some(Close {
        stderr_tail: "error: unexpected argument 'lsp' found\n\nUsage: ruff [OPTIONS]\n".to_owned(),
        ..Close::default()
    });
    let line = one_line(&summary);
    let label = &summary.header.server.label;
    let how = "crashed during the start with up to 193.0 MiB private, exit code 2";
    let why = "`error: unexpected argument 'lsp' found`";
    let start = format!("✗ {label}: {how}: {why}, after ");
    assert!(line.starts_with(&start), "{line}");
}

#[test]
fn a_run_has_one_name_from_its_beginning_to_its_end() {
    let mut summary = analysis::golden::read("completed");
    let label = summary.header.server.label.clone();
    assert!(one_line(&summary).starts_with(&format!("{label}: private")));
    summary.header.server.lens.name = Lens::Purged;
    assert!(one_line(&summary).starts_with(&format!("{label}-purged: private")));
    summary.header.plan.warm_up = true;
    assert!(one_line(&summary).starts_with(&format!("{label}-purged (warming up): private")));
    let traced = traced(summary, 7);
    assert!(one_line(&traced).starts_with(&format!("{label}-purged (traced): ")));
}

/// Appends forbidden characters to every foreign text of a record.
fn soil(value: &mut Value) {
    const TEXTS: [&str; 9] = [
        "label", "name", "text", "program", "path", "stderr_tail", "message", "missing", "error",
    ];
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if TEXTS.contains(&name.as_str()) => {
                        text.push_str("\u{1b}]0;t\u{7}\u{1b}[2J\u{202e}\u{2066}\u{200b}\u{85}x");
                    }
                    // The lens is an enum of two names.
                    _ if name == "lens" => {}
                    value => soil(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(soil),
        _ => {}
    }
}

/// A record with forbidden characters in every text.
fn hostile() -> String {
    let clean = String::from_utf8(golden::completed().bytes()).unwrap();
    let lines = clean.lines().map(|line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        soil(&mut value);
        format!("{value}\n")
    });
    lines.collect()
}

#[test]
fn no_format_passes_on_what_steers_a_terminal_or_hides() {
    let text = hostile();
    let summary = summary::read(Reader::new(text.as_bytes()).unwrap()).unwrap();
    let look = Look {
        columns: 100,
        color: false,
        ascii: false,
        details: true,
    };
    let record = "run\u{202e}.jsonl";
    let mut runs = Vec::new();
    for suffix in ["a", "b"] {
        let mut summary = summary.clone();
        summary.header.server.label.push_str(suffix);
        runs.push(Played::new(format!("{suffix}{record}"), summary));
    }
    let scenarios = compare_by_target(runs.clone(), None);
    let hostile = summary.header.server.label.clone();
    let mut suites = comparison::suites(&scenarios);
    suites.push(Suite {
        name: hostile.clone(),
        cases: vec![Case {
            server: hostile.clone(),
            name: hostile.clone(),
            outcome: Outcome::Failed,
            text: hostile,
        }],
    });
    let compared = comparison::document(&scenarios, &runs);
    let alone = run::document(&Played::new(record.to_owned(), summary.clone()));
    let mut sheet = Vec::new();
    let reader = Reader::new(text.as_bytes()).unwrap();
    let mut samples = csv::Samples::new(record, reader.header());
    for entry in reader {
        samples.write(&entry.unwrap(), &mut sheet).unwrap();
    }
    for (format, shown) in [
        ("terminal", terminal::render(&document_of(&summary), look)),
        ("markdown", markdown::render(&alone)),
        ("html", page::render(&alone)),
        ("svg", svg::run(&summary, record)),
        ("csv", String::from_utf8(sheet).unwrap().replace("\r\n", "\n")),
        ("junit", comparison::junit(&suites)),
        ("annotations", comparison::annotations(&suites).join("\n")),
        ("compared", terminal::render(&compared, look)),
        ("compared in markdown", markdown::render(&compared)),
        ("compared in html", page::render(&compared)),
        ("compared in svg", svg::comparison(&scenarios, &runs)),
    ] {
        assert!(!shown.is_empty(), "{format}");
        let odd = shown.lines().find(|line| line.contains(is_hidden));
        assert_eq!(odd, None, "{format}");
    }
}
