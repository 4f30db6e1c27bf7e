//! Options of Node.js, checked by itself: it refuses what it does not know, and values that V8 does not take.

use super::super::probe;
use super::{Checked, KnobError, Question, unseen};

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let mut checked = unseen(question.env);
    for knob in &mut checked.knobs {
        let with = [(knob.variable.as_str(), knob.requested.as_str())];
        let (subject, node) = (question.subject, &question.detection.file);
        let Some(heard) = probe::ask_other(subject, node, &["--version"], &with, question.stop) else {
            continue;
        };
        if !heard.ended.is_some_and(|status| status.success()) {
            let said = heard.said.stderr.lines().find(|line| !line.trim().is_empty());
            return Err(vec![KnobError::Value {
                written: knob.written(),
                why: format!("Node.js says `{}`", said.unwrap_or("nothing, and fails").trim()),
                cure: "write options that `node --help` and `node --v8-options` list".to_owned(),
            }]);
        }
        knob.effective = Some(knob.requested.clone());
        knob.seen = Some("the check of Node.js itself".to_owned());
        knob.taken = Some(true);
    }
    Ok(checked)
}
