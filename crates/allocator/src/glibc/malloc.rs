//! The tunables of malloc in the GNU C library: accepted values and defaults.

use std::collections::BTreeMap;

use record::variables::{LEGACY, number};

use super::Tunable;

pub const TUNABLES: &str = "GLIBC_TUNABLES";

/// The oldest and the newest glibc whose malloc was read for its defaults. The first one with tunables had them all,
/// except some later names.
const READ: ((u32, u32), (u32, u32)) = ((2, 26), (2, 41));

/// The beginning of the name of every tunable of malloc.
const MALLOC: &str = "glibc.malloc.";

/// The defaults in `malloc/malloc.c` and `malloc/arena.c` on 64 bits: loaders list 0 for a tunable that is not set.
const DEFAULTS: [(&str, &str); 13] = [
    ("arena_max", "8 for each processor"),
    ("arena_test", "8"),
    ("check", "0"),
    ("hugetlb", "0"),
    ("mmap_max", "65536"),
    ("mmap_threshold", "131072"),
    ("mxfast", "128"),
    ("perturb", "0"),
    ("tcache_count", "7"),
    ("tcache_max", "1032"),
    ("tcache_unsorted_limit", "no limit"),
    ("top_pad", "131072"),
    ("trim_threshold", "131072"),
];

/// Thresholds that grow with freed blocks, until any of [`FIXING`] is set (mallopt(3)).
const GROWING: [&str; 2] = ["mmap_threshold", "trim_threshold"];

const FIXING: [&str; 4] = ["mmap_max", "mmap_threshold", "top_pad", "trim_threshold"];

/// True if the defaults of this version are known.
fn has_known_defaults(version: (u32, u32)) -> bool {
    READ.0 <= version && version <= READ.1
}

/// `(2, 36)` of `2.36`.
pub fn numbers(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The largest value that every version accepts. Some versions ignore larger ones silently, while the loader accepts
/// and lists any number (`do_set_tcache_count` and similar functions in `malloc/malloc.c`).
const SURE: [(&str, i128); 4] = [
    ("tcache_count", 127),
    ("tcache_max", 1032),
    ("mxfast", 160),
    ("mmap_threshold", 32 << 20),
];

/// True if malloc may ignore a value that the loader accepts.
pub fn may_be_ignored(tunable: &str, value: i128) -> bool {
    let most = SURE.iter().find(|(name, _)| tunable.strip_prefix(MALLOC) == Some(name));
    most.is_some_and(|(_, most)| value > *most)
}

/// Reads a value as the loader does: a size below 0 wraps around, so that -1 is the largest one.
pub fn size(value: &str, bounds: Option<(i128, i128)>) -> Option<i128> {
    let size = number(value)?;
    match bounds {
        Some((_, most)) if size < 0 && most >= i128::from(u32::MAX) => Some(size + most + 1),
        Some(_) | None => Some(size),
    }
}

/// Every tunable of malloc with its value, or its default, which is marked. `listed` is the loader's list under the
/// variables that `variable` looks up. A value that malloc may not accept is left out. `is_wide` is true for a 64-bit
/// program.
pub fn options(
    listed: &BTreeMap<String, Tunable>,
    variable: impl Fn(&str) -> Option<String>,
    version: Option<(u32, u32)>,
    is_wide: bool,
) -> BTreeMap<String, String> {
    let requests = requested_values(variable);
    let has_defaults = is_wide && version.is_some_and(has_known_defaults);
    let is_fixed = FIXING
        .iter()
        .any(|name| accepted_value(&format!("{MALLOC}{name}"), &requests, listed).is_some());
    let mut options = BTreeMap::new();
    for (name, tunable) in listed {
        let Some(short) = name.strip_prefix(MALLOC) else {
            continue;
        };
        let Some(value) = accepted_value(name, &requests, listed) else {
            let grows = GROWING.contains(&short) && !is_fixed;
            options.insert(name.clone(), default_of(short, has_defaults, grows));
            continue;
        };
        if is_wide && !may_be_ignored(name, value) {
            let decimal = number(&tunable.value).map(|value| value.to_string());
            options.insert(name.clone(), decimal.unwrap_or_else(|| tunable.value.clone()));
        }
    }
    options
}

/// The default of a tunable, `has_defaults` if those of this version are known.
fn default_of(tunable: &str, has_defaults: bool, grows: bool) -> String {
    let default = DEFAULTS.iter().find(|(name, _)| *name == tunable);
    match default {
        Some((_, value)) if has_defaults && grows => format!("{value} (default, growing)"),
        Some((_, value)) if has_defaults => format!("{value} (default)"),
        Some(_) | None => "default".to_owned(),
    }
}

/// All values that the variables request, by tunable. Of several the later one wins: `GLIBC_TUNABLES` comes after the
/// legacy variables.
fn requested_values(variable: impl Fn(&str) -> Option<String>) -> BTreeMap<String, Vec<String>> {
    let mut requests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, tunable) in LEGACY {
        if let Some(value) = variable(name) {
            requests.entry(tunable.to_owned()).or_default().push(value);
        }
    }
    for pair in variable(TUNABLES).unwrap_or_default().split(':') {
        if let Some((tunable, value)) = pair.split_once('=') {
            requests.entry(tunable.to_owned()).or_default().push(value.to_owned());
        }
    }
    requests
}

/// The value of a tunable that the loader passes on to malloc: the last requested one within its bounds.
fn accepted_value(
    tunable: &str,
    requests: &BTreeMap<String, Vec<String>>,
    listed: &BTreeMap<String, Tunable>,
) -> Option<i128> {
    let bounds = listed.get(tunable).and_then(|tunable| tunable.bounds);
    let mut sizes = requests.get(tunable)?.iter().filter_map(|value| size(value, bounds));
    match bounds {
        Some((least, most)) => sizes.rfind(|size| (least..=most).contains(size)),
        None => sizes.next_back(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tunables;
    use super::*;

    const LISTED: &str = "\
glibc.rtld.nns: 0x4 (min: 0x1, max: 0x10)
glibc.malloc.trim_threshold: 0x0 (min: 0x0, max: 0xffffffffffffffff)
glibc.malloc.mmap_max: 0 (min: 0, max: 2147483647)
glibc.malloc.arena_max: 0x2 (min: 0x1, max: 0xffffffffffffffff)
glibc.malloc.tcache_count: 0x0 (min: 0x0, max: 0xffffffffffffffff)
glibc.malloc.later: 0x0 (min: 0x0, max: 0xffffffffffffffff)
";

    fn shown(env: &[(&str, &str)], version: Option<(u32, u32)>) -> Vec<String> {
        let env: BTreeMap<&str, &str> = env.iter().copied().collect();
        let variable = |name: &str| env.get(name).map(|value| (*value).to_owned());
        options(&tunables(LISTED), variable, version, true)
            .iter()
            .map(|(name, value)| format!("{}: {value}", name.strip_prefix(MALLOC).expect("only malloc's")))
            .collect()
    }

    #[test]
    fn what_is_set_stands_by_itself_and_the_rest_is_malloc_s_default() {
        let now = Some((2, 36));
        let set = [("MALLOC_ARENA_MAX", "2"), (TUNABLES, "glibc.malloc.tcache_count=0")];
        assert_eq!(
            shown(&set, now),
            [
                "arena_max: 2",
                "later: default",
                "mmap_max: 65536 (default)",
                "tcache_count: 0",
                "trim_threshold: 131072 (default, growing)",
            ]
        );
        // A value that the loader rejects changes nothing, and the effect of one that malloc may ignore is not known.
        let wrong = [(TUNABLES, "glibc.malloc.tcache_count=65536:glibc.malloc.arena_max=0")];
        assert_eq!(shown(&wrong, now)[0], "arena_max: 8 for each processor (default)");
        assert_eq!(shown(&wrong, now).len(), 4);
        let fixed = [("MALLOC_TRIM_THRESHOLD_", "0")];
        assert_eq!(shown(&fixed, now)[4], "trim_threshold: 0");
        assert_eq!(
            shown(&[("MALLOC_MMAP_MAX_", "0")], now)[4],
            "trim_threshold: 131072 (default)"
        );
    }

    #[test]
    fn of_a_tunable_given_twice_the_last_that_the_loader_takes_counts() {
        let version = Some((2, 36));
        for last in ["0", "two"] {
            let twice = format!("glibc.malloc.arena_max=2:glibc.malloc.arena_max={last}");
            assert_eq!(shown(&[(TUNABLES, &twice)], version)[0], "arena_max: 2", "{last}");
        }
        let old = [("MALLOC_ARENA_MAX", "2"), (TUNABLES, "glibc.malloc.arena_max=0")];
        assert_eq!(shown(&old, version)[0], "arena_max: 2");
        // The loader passes on a number that malloc may then ignore.
        let counts = "glibc.malloc.tcache_count=5:glibc.malloc.tcache_count=65536";
        assert_eq!(shown(&[(TUNABLES, counts)], version).len(), 4);
    }

    #[test]
    fn of_a_version_that_was_not_read_no_default_is_told() {
        let set = [(TUNABLES, "glibc.malloc.tcache_count=5:glibc.malloc.arena_max=2")];
        for version in [None, Some((2, 42))] {
            let expected = [
                "arena_max: 2",
                "later: default",
                "mmap_max: default",
                "tcache_count: 0",
                "trim_threshold: default",
            ];
            assert_eq!(shown(&set, version), expected);
        }
    }

    #[test]
    fn a_version_is_two_numbers() {
        assert_eq!(numbers("2.36"), Some((2, 36)));
        assert_eq!(numbers("2.39-gentoo"), Some((2, 39)));
        assert_eq!(numbers("2"), None);
    }
}
