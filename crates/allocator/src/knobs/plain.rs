//! Settings of gperftools' tcmalloc and of oneTBB's allocator, which print none of them: their names are in the library as
//! they are, and what the values of those that are known must be is checked. Seen in force they are not.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::super::{elf, scan};
use super::{Checked, KnobError, Question, near, unseen};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What `strtoll` reads to the end, in decimal.
    Integer,
    /// What `strtod` reads to the end.
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
    let uses = question.detection.facts.to_string();
    let checks = question.env.iter().map(|(name, value)| one(name, value, &names, &uses));
    let errors: Vec<KnobError> = checks.filter_map(Result::err).collect();
    match errors.is_empty() {
        true => Ok(unseen(question.env)),
        false => Err(errors),
    }
}

/// Settings of the preloaded library, or of the program's own files; empty if no file could be read.
fn names(question: &Question<'_>, start: &str) -> BTreeSet<String> {
    let own = question.subject.library_path();
    let program = &question.detection.file;
    let roots = question.subject.preloaded.iter().chain([program]);
    let files = roots.flat_map(|path| {
        let linking = elf::linking(path).unwrap_or_default();
        let brought = elf::libraries(path, &linking, &own);
        [path.clone()].into_iter().chain(brought).collect::<Vec<PathBuf>>()
    });
    let lists = files.map(|path| scan::names(&path, start).unwrap_or_default());
    lists.flatten().collect()
}

fn one(name: &str, value: &str, names: &BTreeSet<String>, uses: &str) -> Result<(), KnobError> {
    if !names.is_empty() && !names.contains(name) {
        return Err(KnobError::Option {
            variable: name.to_owned(),
            option: name.to_owned(),
            uses: uses.to_owned(),
            cure: near(
                name,
                names.iter().map(String::as_str),
                "it is not in its library; leave it out",
            ),
        });
    }
    let kind = KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    let Some((why, cure)) = kind.and_then(|kind| wrong(kind, value)) else {
        return Ok(());
    };
    Err(KnobError::Value {
        written: format!("{name}={value}"),
        why,
        cure: cure.to_owned(),
    })
}

/// The problem with a value, and the cure.
fn wrong(kind: Kind, value: &str) -> Option<(String, &'static str)> {
    /// The words that gperftools reads as switches.
    const SWITCHES: [&str; 10] = ["0", "1", "f", "t", "n", "y", "no", "yes", "false", "true"];
    let (good, what, cure) = match kind {
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
    (!good).then(|| (format!("`{value}` is {what}"), cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, value: &str) -> Option<String> {
        let names = ["TCMALLOC_RELEASE_RATE", "TCMALLOC_SKIP_SBRK", "TCMALLOC_HEAP_LIMIT_MB"];
        let names = names.map(str::to_owned).into();
        one(name, value, &names, "tcmalloc")
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn a_name_that_the_library_lacks_is_an_error_with_the_near_one() {
        assert_eq!(
            said("TCMALLOC_RELEASE_RTE", "10").as_deref(),
            Some(
                "tcmalloc has no option `TCMALLOC_RELEASE_RTE`, set in `TCMALLOC_RELEASE_RTE`: did you mean \
                 `TCMALLOC_RELEASE_RATE`?"
            )
        );
        assert_eq!(one("TCMALLOC_X", "1", &BTreeSet::new(), "tcmalloc"), Ok(()));
    }

    #[test]
    fn values_are_numbers_and_switches() {
        for (name, value) in [
            ("TCMALLOC_RELEASE_RATE", "0.5"),
            ("TCMALLOC_RELEASE_RATE", "10"),
            ("TCMALLOC_HEAP_LIMIT_MB", "512"),
            ("TCMALLOC_SKIP_SBRK", "true"),
        ] {
            assert_eq!(said(name, value), None, "{name}={value}");
        }
        for (name, value) in [
            ("TCMALLOC_RELEASE_RATE", "abc"),
            ("TCMALLOC_RELEASE_RATE", "inf"),
            ("TCMALLOC_HEAP_LIMIT_MB", "1MB"),
            ("TCMALLOC_HEAP_LIMIT_MB", ""),
            ("TCMALLOC_SKIP_SBRK", "on"),
        ] {
            let said = said(name, value).unwrap_or_default();
            assert!(said.starts_with(&format!("`{name}={value}` has no effect: ")), "{said}");
        }
    }
}
