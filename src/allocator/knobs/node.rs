//! Options of V8 in Node.js and Deno, checked by these themselves: they refuse what they do not know, and values that V8 does
//! not take.

use super::super::probe;
use super::{Checked, KnobError, Question, unseen};

/// Where V8 is given its options, by the program that holds it: the variable, what the program is run with so that it reads
/// them, its name, and where it lists them.
const READERS: [(&str, &[&str], &str, &str); 2] = [
    (
        "NODE_OPTIONS",
        &["--version"],
        "Node.js",
        "`node --help` and `node --v8-options` list",
    ),
    // For its version alone it does not start V8.
    (
        super::DENO,
        &["eval", "0"],
        "Deno",
        "`deno eval --v8-flags=--help 0` lists, with commas between them",
    ),
];

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let mut checked = unseen(question.env);
    for knob in &mut checked.knobs {
        let reader = READERS.iter().find(|(variable, ..)| *variable == knob.variable);
        let Some((_, args, name, list)) = reader else { continue };
        let with = [(knob.variable.as_str(), knob.requested.as_str())];
        let (subject, program) = (question.subject, &question.detection.file);
        let Some(heard) = probe::ask_other(subject, program, args, &with, question.stop) else {
            continue;
        };
        if !heard.ended.is_some_and(|status| status.success()) {
            let said = heard.said.stderr.lines().find(|line| !line.trim().is_empty());
            return Err(vec![KnobError::Value {
                written: knob.written(),
                why: format!("{name} says `{}`", said.unwrap_or("nothing, and fails").trim()),
                cure: format!("write options that {list}"),
            }]);
        }
        knob.effective = Some(knob.requested.clone());
        knob.seen = Some(format!("the check of {name} itself"));
        knob.taken = Some(true);
    }
    Ok(checked)
}
