//! Cases as JUnit XML, which every CI system can show.

use std::fmt::Write;

use base::text::clean_lines;

use super::cases::{Case, Outcome, Suite};

pub fn render(suites: &[Suite]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let _ = writeln!(out, "<testsuites name=\"lsp-soak\"{}>", counts(all(), &ELEMENTS[..2]));
    for suite in suites {
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\"{}>",
            escape(&suite.name),
            counts(suite.cases.iter(), &ELEMENTS)
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

/// What counts cases, and the element that it counts. Jenkins' schema refuses the last one of all suites together.
const ELEMENTS: [(&str, &str); 3] = [("failures", "failure"), ("errors", "error"), ("skipped", "skipped")];

fn counts<'c>(cases: impl Iterator<Item = &'c Case> + Clone, elements: &[(&str, &str)]) -> String {
    let count = |wanted: &str| {
        cases
            .clone()
            .filter(|case| element(case.outcome) == Some(wanted))
            .count()
    };
    let counted = elements
        .iter()
        .map(|(name, wanted)| format!(" {name}=\"{}\"", count(wanted)));
    format!(" tests=\"{}\"{}", cases.clone().count(), counted.collect::<String>())
}

/// What XML would read as its own, and what no XML may hold, written otherwise.
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
