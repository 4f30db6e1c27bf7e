//! The allocator of a program, for people and for programs.

use serde::Serialize;

use crate::analyse::setting;
use crate::record::{AllocatorFacts, AllocatorFamily, KnobFacts};

use super::terminal::Look;
use super::text::{Paint, Tone, line_of, paragraph};

/// Columns of the names on the left.
const NAMES: usize = 15;

/// What was found, for a terminal.
pub fn terminal(shown: &str, facts: &AllocatorFacts, knobs: &[KnobFacts], look: Look) -> String {
    let paint = Paint(look.color);
    let columns = look.columns.clamp(40, 160);
    let mut out = String::new();
    let mut row = |name: &str, text: &str| {
        let first = format!("  {name:<width$}", width = NAMES - 2);
        paragraph(&mut out, paint, Tone::Plain, &first, text, columns);
    };
    row("program", shown);
    row("allocator", &headline(facts));
    let some = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
    for (name, value) in [
        ("version", some(&facts.version)),
        ("prefix", some(&facts.prefix)),
        ("reads", some(&facts.variable)),
        ("built with", some(&facts.baked)),
        ("beside it", some(&facts.beside)),
    ] {
        value.iter().for_each(|value| row(name, value));
    }
    for knob in knobs {
        row("setting", &setting(knob));
    }
    for evidence in &facts.evidence {
        row(&evidence.source, &evidence.saw);
    }
    if !facts.options.is_empty() {
        line_of(&mut out, String::new());
        for (name, value) in facts.options.iter().filter(|(name, _)| worth(name)) {
            line_of(&mut out, format!("  {name:<32} {value}"));
        }
    }
    out
}

fn headline(facts: &AllocatorFacts) -> String {
    match facts.confidence {
        Some(confidence) => format!("{} ({})", facts.family, confidence.name()),
        None => format!("{}: nothing tells which", AllocatorFamily::Unknown),
    }
}

/// Options that say nothing of memory: what the question itself set.
fn worth(name: &str) -> bool {
    ![
        "stats_print", "stats_print_opts", "confirm_conf", "verbose", "show_stats", "show_errors",
    ]
    .contains(&name)
        && !name.starts_with("deprecated_")
}

/// What was found, as JSON.
pub fn json(shown: &str, facts: &AllocatorFacts, knobs: &[KnobFacts]) -> serde_json::Result<String> {
    let found = Found {
        program: shown,
        allocator: facts,
        knobs,
    };
    Ok(format!("{}\n", serde_json::to_string_pretty(&found)?))
}

#[derive(Serialize)]
struct Found<'f> {
    program: &'f str,
    allocator: &'f AllocatorFacts,
    knobs: &'f [KnobFacts],
}
