//! Cases as JUnit XML, which every CI system can show.

use std::fmt::Write;

use base::text::clean_lines;

use super::cases::{Case, Outcome, Suite};

pub fn render(suites: &[Suite]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all: Vec<&Case> = suites.iter().flat_map(|suite| &suite.cases).collect();
    let _ = writeln!(out, "<testsuites name=\"lsp-soak\"{}>", counts(&all, &ELEMENTS[..2]));
    for suite in suites {
        let cases: Vec<&Case> = suite.cases.iter().collect();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\"{}>",
            escape(&suite.name),
            counts(&cases, &ELEMENTS)
        );
        for case in &suite.cases {
            draw(&mut out, &suite.name, case);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn draw(out: &mut String, suite: &str, case: &Case) {
    let class = if case.server.is_empty() { suite } else { &case.server };
    let _ = write!(
        out,
        "    <testcase classname=\"{}\" name=\"{}\">",
        escape(class),
        escape(&case.name)
    );
    let text = escape(&case.text);
    let _ = match element(case.outcome) {
        Some(element) => write!(out, "<{element} message=\"{text}\"/>"),
        None => write!(out, "<system-out>{text}</system-out>"),
    };
    out.push_str("</testcase>\n");
}

/// The element that says that a case did not pass.
fn element(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Passed | Outcome::Warned => None,
        Outcome::Skipped | Outcome::Undecided => Some("skipped"),
        Outcome::Failed => Some("failure"),
        Outcome::Errored => Some("error"),
    }
}

/// Attributes that count cases, and the elements that they count. Jenkins' schema refuses the last one of all suites together.
const ELEMENTS: [(&str, &str); 3] = [("failures", "failure"), ("errors", "error"), ("skipped", "skipped")];

/// ` tests="3" failures="1"`
fn counts(cases: &[&Case], elements: &[(&str, &str)]) -> String {
    let mut attributes = format!(" tests=\"{}\"", cases.len());
    for (name, counted) in elements {
        let of_element = cases.iter().filter(|case| element(case.outcome) == Some(*counted));
        let _ = write!(attributes, " {name}=\"{}\"", of_element.count());
    }
    attributes
}

/// Escapes the characters that XML would read as markup, and replaces those that no XML may hold.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean_lines(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}
