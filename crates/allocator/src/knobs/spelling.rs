//! Misspelt names of allocator variables: no allocator reads or reports them.

use super::reader;
use record::variables::LEGACY;

/// The names that are known in full. Of allocators with many settings the beginning is, below.
const NAMES: [&str; 9] = [
    "_RJEM_MALLOC_CONF", "MALLOC_CONF", "JE_MALLOC_CONF", "GOGC", "GOMEMLIMIT", "GODEBUG", "NODE_OPTIONS",
    "GLIBC_TUNABLES", "SCUDO_OPTIONS",
];

/// The common beginning of the names of all settings of an allocator.
const BEGINNINGS: [&str; 3] = ["MIMALLOC", "TCMALLOC", "TBB_MALLOC"];

/// Least length for two slips: in shorter names two letters distinguish different settings.
const LONG: usize = 16;

/// Below this length one letter does too: only permutations count as slips.
const SHORT: usize = 6;

/// The intended variable for an unknown one; `None` if it is known, or unrelated.
pub(super) fn intended_variable(variable: &str) -> Option<String> {
    if reader(variable).is_some() {
        return None;
    }
    let written = variable.to_ascii_uppercase();
    if reader(&written).is_some() {
        return Some(written);
    }
    let names = NAMES.into_iter().chain(LEGACY.iter().map(|(name, _)| *name));
    let nearest = names
        .filter(|name| is_slip(&written, name))
        .min_by_key(|name| strsim::damerau_levenshtein(&written, name));
    match nearest {
        Some(name) => Some(name.to_owned()),
        None => with_corrected_beginning(&written),
    }
}

/// True if `written` is so close to `name` that it was meant.
fn is_slip(written: &str, name: &str) -> bool {
    let distance = strsim::damerau_levenshtein(written, name);
    match name.len() {
        ..SHORT => distance == 1 && sorted_letters(written) == sorted_letters(name),
        SHORT..LONG => distance == 1,
        _ => distance <= 2,
    }
}

fn sorted_letters(name: &str) -> Vec<u8> {
    let mut letters = name.as_bytes().to_vec();
    letters.sort_unstable();
    letters
}

/// `MIMALLOC_PURGE_DELAY` for `MIMALOC_PURGE_DELAY`: one slip in the beginning, and a setting after it.
fn with_corrected_beginning(written: &str) -> Option<String> {
    for (at, _) in written.match_indices('_') {
        let (start, setting) = written.split_at(at);
        let mut beginnings = BEGINNINGS.into_iter();
        if setting.len() > 1
            && let Some(name) = beginnings.find(|name| strsim::damerau_levenshtein(start, name) == 1)
        {
            return Some(format!("{name}{setting}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_in_a_name_is_known() {
        for (written, name) in [
            ("_RJEM_MALOC_CONF", "_RJEM_MALLOC_CONF"),
            ("RJEM_MALLOC_CONF", "_RJEM_MALLOC_CONF"),
            ("_RJEM_MALLOC_CONFIG", "_RJEM_MALLOC_CONF"),
            ("MALOC_CONF", "MALLOC_CONF"),
            ("malloc_conf", "MALLOC_CONF"),
            ("JEMALLOC_CONF", "JE_MALLOC_CONF"),
            ("GLIBC_TUNABLE", "GLIBC_TUNABLES"),
            ("MALLOCARENA_MAX", "MALLOC_ARENA_MAX"),
            ("MALOC_TRIM_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"),
            ("MIMALOC_PURGE_DELAY", "MIMALLOC_PURGE_DELAY"),
            ("TCMALOC_RELEASE_RATE", "TCMALLOC_RELEASE_RATE"),
            ("TBB_MALOC_USE_HUGE_PAGES", "TBB_MALLOC_USE_HUGE_PAGES"),
            ("GOMEMLIMT", "GOMEMLIMIT"),
            ("GO_DEBUG", "GODEBUG"),
            ("GOCG", "GOGC"),
            ("gogc", "GOGC"),
            ("NODE_OPTION", "NODE_OPTIONS"),
        ] {
            assert_eq!(intended_variable(written).as_deref(), Some(name), "{written}");
        }
    }

    #[test]
    fn what_is_read_and_what_is_of_something_else_is_no_slip() {
        for name in NAMES.into_iter().chain(LEGACY.iter().map(|(name, _)| *name)) {
            assert_eq!(intended_variable(name), None, "{name}");
        }
        for other in [
            "MIMALLOC_SHOW_STATS",
            "TCMALLOC_SAMPLE_PARAMETER",
            "SNMALLOC_X",
            "RPMALLOC_X",
            "PATH",
            "RUST_LOG",
            "GOOS",
            "GOPATH",
            "GOBIN",
            "GOROOT",
            "GOFLAGS",
            "GOENV",
            "GOPROXY",
            "GOTRACEBACK",
            "GOMAXPROCS",
            "GOAMD64",
            "NODE_ENV",
            "NODE_PATH",
            "NODE_DEBUG",
            "MY_MALLOC_CONF",
            "SERVER_CONF",
            "DEBUG",
            "LD_PRELOAD",
            "CARGO_HOME",
            "PYTHONMALLOC",
            "G_SLICE",
            "TBB_VERSION",
            "GLIBC_VERSION",
            "SCUDO",
        ] {
            assert_eq!(intended_variable(other), None, "{other}");
        }
    }
}
