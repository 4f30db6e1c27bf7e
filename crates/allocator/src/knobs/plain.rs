//! Settings of gperftools' tcmalloc and of oneTBB's allocator, which print none of them. Names are looked for in the
//! library, and values of known settings are checked. No setting is seen in force.

use std::collections::BTreeSet;

use super::super::{elf, scan};
use super::{Checked, KnobError, Question, suggestion, unconfirmed_settings};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A decimal number that `strtoll` reads to the end.
    Integer,
    /// A number that `strtod` reads to the end.
    Float,
    /// Yes or no, by its first letter: gperftools takes `t`, `y` and `1` for yes and all else for no.
    Switch,
}

/// Settings with numbers or switches as values. Others are not checked.
const KINDS: [(&str, Kind); 18] = [
    ("TCMALLOC_RELEASE_RATE", Kind::Float),
    ("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", Kind::Integer),
    ("TCMALLOC_SAMPLE_PARAMETER", Kind::Integer),
    ("TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD", Kind::Integer),
    ("TCMALLOC_HEAP_LIMIT_MB", Kind::Integer),
    ("TCMALLOC_TRANSFER_NUM_OBJ", Kind::Integer),
    ("TCMALLOC_DEVMEM_START", Kind::Integer),
    ("TCMALLOC_DEVMEM_LIMIT", Kind::Integer),
    ("TCMALLOC_MEMFS_LIMIT_MB", Kind::Integer),
    ("TCMALLOC_AGGRESSIVE_DECOMMIT", Kind::Switch),
    ("TCMALLOC_DISABLE_MEMORY_RELEASE", Kind::Switch),
    ("TCMALLOC_SKIP_MMAP", Kind::Switch),
    ("TCMALLOC_SKIP_SBRK", Kind::Switch),
    ("TCMALLOC_MEMFS_ABORT_ON_FAIL", Kind::Switch),
    ("TCMALLOC_MEMFS_IGNORE_MMAP_FAIL", Kind::Switch),
    ("TCMALLOC_MEMFS_MAP_PRIVATE", Kind::Switch),
    ("TBB_MALLOC_USE_HUGE_PAGES", Kind::Integer),
    ("TBB_MALLOC_SET_HUGE_SIZE_THRESHOLD", Kind::Integer),
];

/// Checks settings with names that begin with `start`.
pub(super) fn check(question: &Question<'_>, start: &str) -> Result<Checked, Vec<KnobError>> {
    let names = names(question, start);
    let uses = question.inspected.facts.to_string();
    let mut errors = Vec::new();
    for (name, value) in question.env {
        if let Err(error) = check_setting(name, value, &names, &uses) {
            errors.push(error);
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(unconfirmed_settings(question.env))
}

/// Settings of the preloaded libraries and of the program's own files; empty if no file could be read.
fn names(question: &Question<'_>, start: &str) -> BTreeSet<String> {
    let library_path = question.subject.library_path();
    let mut names = BTreeSet::new();
    for root in question.subject.preloaded.iter().chain([&question.inspected.file]) {
        let linking = elf::linking(root).unwrap_or_default();
        for file in elf::needed(root, &linking, &library_path).found.iter().chain([root]) {
            names.extend(scan::names(file, start).unwrap_or_default());
        }
    }
    names
}

/// Checks one setting. `names` are all known ones; `uses` names the allocator in messages.
fn check_setting(name: &str, value: &str, names: &BTreeSet<String>, uses: &str) -> Result<(), KnobError> {
    if !names.is_empty() && !names.contains(name) {
        return Err(KnobError::Option {
            variable: name.to_owned(),
            option: name.to_owned(),
            uses: uses.to_owned(),
            cure: suggestion(
                name,
                names.iter().map(String::as_str),
                "it is not in its library; leave it out",
            ),
        });
    }
    let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) else {
        return Ok(());
    };
    match problem(*kind, value) {
        None => Ok(()),
        Some((what, cure)) => Err(KnobError::Value {
            written: format!("{name}={value}"),
            why: format!("`{value}` is {what}"),
            cure: cure.to_owned(),
        }),
    }
}

/// The problem with a value, and the cure; `None` for a good value.
fn problem(kind: Kind, value: &str) -> Option<(&'static str, &'static str)> {
    /// The words that gperftools reads as switches.
    const SWITCHES: [&str; 10] = ["0", "1", "f", "t", "n", "y", "no", "yes", "false", "true"];
    let (is_good, what, cure) = match kind {
        Kind::Integer => (
            value.parse::<i64>().is_ok(),
            "not a whole number, and units are not read",
            "write plain bytes or a count",
        ),
        Kind::Float => (
            value.parse::<f64>().is_ok_and(f64::is_finite),
            "no number",
            "write such as 1 or 0.5",
        ),
        Kind::Switch => (
            SWITCHES.contains(&value.to_ascii_lowercase().as_str()),
            "neither yes nor no",
            "write 0 or 1",
        ),
    };
    if is_good { None } else { Some((what, cure)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a setting of a library with three settings. Returns the mistake.
    fn mistake(name: &str, value: &str) -> Option<String> {
        let names = ["TCMALLOC_RELEASE_RATE", "TCMALLOC_SKIP_SBRK", "TCMALLOC_HEAP_LIMIT_MB"];
        let names = names.map(str::to_owned).into();
        let result = check_setting(name, value, &names, "tcmalloc");
        result.err().map(|error| error.to_string())
    }

    #[test]
    fn a_name_that_the_library_lacks_is_an_error_with_the_near_one() {
        assert_eq!(
            mistake("TCMALLOC_RELEASE_RTE", "10").as_deref(),
            Some(
                "tcmalloc has no option `TCMALLOC_RELEASE_RTE`, set in `TCMALLOC_RELEASE_RTE`: did you mean \
                 `TCMALLOC_RELEASE_RATE`?"
            )
        );
        assert_eq!(check_setting("TCMALLOC_X", "1", &BTreeSet::new(), "tcmalloc"), Ok(()));
    }

    #[test]
    fn values_are_numbers_and_switches() {
        for (name, value) in [
            ("TCMALLOC_RELEASE_RATE", "0.5"),
            ("TCMALLOC_RELEASE_RATE", "10"),
            ("TCMALLOC_HEAP_LIMIT_MB", "512"),
            ("TCMALLOC_SKIP_SBRK", "true"),
        ] {
            assert_eq!(mistake(name, value), None, "{name}={value}");
        }
        for (name, value) in [
            ("TCMALLOC_RELEASE_RATE", "abc"),
            ("TCMALLOC_RELEASE_RATE", "inf"),
            ("TCMALLOC_HEAP_LIMIT_MB", "1MB"),
            ("TCMALLOC_HEAP_LIMIT_MB", ""),
            ("TCMALLOC_SKIP_SBRK", "on"),
        ] {
            let text = mistake(name, value).unwrap_or_default();
            assert!(text.starts_with(&format!("`{name}={value}` has no effect: ")), "{text}");
        }
    }
}
