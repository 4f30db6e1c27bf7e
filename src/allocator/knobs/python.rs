//! Which allocator CPython uses for its objects: it ends when it is told of one that it does not have.

use super::{Checked, KnobError, Question, unseen};

/// Those that it has (Python/preconfig and Objects/obmalloc.c of 3.13).
const NAMES: [&str; 8] = [
    "default", "debug", "malloc", "malloc_debug", "pymalloc", "pymalloc_debug", "mimalloc", "mimalloc_debug",
];

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    // An empty one is as good as none.
    let is_known = |value: &String| value.is_empty() || NAMES.contains(&value.as_str());
    let wrong = question.env.iter().filter(|(_, value)| !is_known(value));
    let wrong: Vec<KnobError> = wrong
        .map(|(variable, value)| KnobError::Value {
            written: format!("{variable}={value}"),
            why: "CPython has no allocator of that name".to_owned(),
            cure: "write malloc, pymalloc or mimalloc (since 3.13)".to_owned(),
        })
        .collect();
    match wrong.is_empty() {
        true => Ok(unseen(question.env)),
        false => Err(wrong),
    }
}
