//! What malloc of the GNU C library makes of tunables: which values it takes, and what it goes by where none is set.

use std::collections::BTreeMap;

use super::Tunable;
use crate::record::variables::{LEGACY, number};

pub const TUNABLES: &str = "GLIBC_TUNABLES";

/// The oldest and the newest glibc whose malloc was read for what it takes and for its defaults. The first with tunables
/// had them all but for names that came later.
const READ: ((u32, u32), (u32, u32)) = ((2, 26), (2, 41));

/// Where every tunable of malloc begins.
const MALLOC: &str = "glibc.malloc.";

/// What `malloc/malloc.c` and `malloc/arena.c` go by on 64 bits where nothing is set: loaders list 0 then.
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

/// Those that grow with what is freed, until any of [`FIXING`] is set (mallopt(3)).
const GROWING: [&str; 2] = ["mmap_threshold", "trim_threshold"];

const FIXING: [&str; 4] = ["mmap_max", "mmap_threshold", "top_pad", "trim_threshold"];

/// Whether the defaults and limits of this version are known.
pub fn is_read(version: (u32, u32)) -> bool {
    READ.0 <= version && version <= READ.1
}

/// `(2, 36)` of `2.36`.
pub fn numbers(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The most that malloc itself takes of a tunable, and which constant of `malloc/malloc.c` says so. What is more its setters
/// (`do_set_tcache_count`, `do_set_tcache_max`, `do_set_mxfast` and `do_set_mmap_threshold`) leave be without a word, while
/// the loader takes and lists any number. For 64 bits; those of 32 are lower.
pub fn most(tunable: &str, now: Option<(u32, u32)>) -> Option<(i128, &'static str)> {
    match tunable.strip_prefix(MALLOC)? {
        // A count was a `char` until 2.30, which wrapped around: bug 24531.
        "tcache_count" if now.is_some_and(|now| now < (2, 30)) => Some((127, "MAX_TCACHE_COUNT")),
        "tcache_count" => Some((65_535, "MAX_TCACHE_COUNT")),
        "tcache_max" => Some((1032, "MAX_TCACHE_SIZE")),
        "mxfast" => Some((160, "MAX_FAST_SIZE")),
        // 2.36 has no limit; 2.34 and 2.35 were not looked at for it, and are not held to it.
        "mmap_threshold" if now.is_none_or(|now| now < (2, 34)) => Some((32 << 20, "HEAP_MAX_SIZE / 2")),
        _ => None,
    }
}

/// A value as the loader takes it: a size below 0 wraps around, so that -1 is the most that there is.
pub fn size(value: &str, bounds: Option<(i128, i128)>) -> Option<i128> {
    let asked = number(value)?;
    match bounds {
        Some((_, most)) if asked < 0 && most >= i128::from(u32::MAX) => Some(asked + most + 1),
        Some(_) | None => Some(asked),
    }
}

/// Every tunable of malloc with what it goes by: the value that is set, or else its default, which is said. `listed` is what
/// the loader lists in the environment that `variable` reads. A value of which it is not known whether malloc takes it is
/// left out. `wide` is of a program of 64 bits.
pub fn options(
    listed: &BTreeMap<String, Tunable>,
    variable: &dyn Fn(&str) -> Option<String>,
    version: Option<(u32, u32)>,
    wide: bool,
) -> BTreeMap<String, String> {
    let asked = asked(variable);
    let is_known = wide && version.is_some_and(is_read);
    let is_set = |name: &str| {
        asked
            .get(name)
            .is_some_and(|values| takes(name, values, listed, version))
    };
    let fixed = FIXING.iter().any(|name| is_set(&format!("{MALLOC}{name}")));
    let option = |(name, tunable): (&String, &Tunable)| {
        let short = name.strip_prefix(MALLOC)?;
        let unsure = !is_known && most(name, version).is_some();
        if is_set(name) {
            let value = number(&tunable.value).map_or_else(|| tunable.value.clone(), |value| value.to_string());
            return (!unsure).then(|| (name.clone(), value));
        }
        let default = DEFAULTS.iter().find(|(one, _)| *one == short && is_known);
        let grows = if GROWING.contains(&short) && !fixed {
            ", growing"
        } else {
            ""
        };
        let shown = default.map_or("default".to_owned(), |(_, value)| format!("{value} (default{grows})"));
        Some((name.clone(), shown))
    };
    listed.iter().filter_map(option).collect()
}

/// What the variables ask for, by tunable, the later going before the earlier: `GLIBC_TUNABLES` before those of old, and its
/// last entry before the others.
fn asked(variable: &dyn Fn(&str) -> Option<String>) -> BTreeMap<String, Vec<String>> {
    let old = LEGACY
        .iter()
        .filter_map(|(name, tunable)| Some(((*tunable).to_owned(), variable(name)?)));
    let tunables = variable(TUNABLES).unwrap_or_default();
    let pairs = tunables.split(':').filter_map(|pair| pair.split_once('='));
    let new = pairs.map(|(tunable, value)| (tunable.to_owned(), value.to_owned()));
    let mut asked: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (tunable, value) in old.chain(new) {
        asked.entry(tunable).or_default().push(value);
    }
    asked
}

/// Whether the loader takes any of these values, and malloc then the last of those: it is given no other.
fn takes(name: &str, values: &[String], listed: &BTreeMap<String, Tunable>, version: Option<(u32, u32)>) -> bool {
    let bounds = listed.get(name).and_then(|tunable| tunable.bounds);
    let most = most(name, version).map(|(most, _)| most);
    let is_within = |value: &i128| bounds.is_none_or(|(least, most)| (least..=most).contains(value));
    let mut sizes = values.iter().filter_map(|value| size(value, bounds));
    let last = sizes.rfind(is_within);
    last.is_some_and(|value| most.is_none_or(|most| value <= most))
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
        let variable = |name: &str| {
            let found = env.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let options = options(&tunables(LISTED), &variable, version, true);
        let short = |name: &String| name.strip_prefix(MALLOC).expect("only malloc's").to_owned();
        options
            .iter()
            .map(|(name, value)| format!("{}: {value}", short(name)))
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
        // What the loader or malloc does not take changes nothing.
        let wrong = [(TUNABLES, "glibc.malloc.tcache_count=65536:glibc.malloc.arena_max=0")];
        assert_eq!(shown(&wrong, now)[0], "arena_max: 8 for each processor (default)");
        assert_eq!(shown(&wrong, now)[3], "tcache_count: 7 (default)");
        let fixed = [("MALLOC_TRIM_THRESHOLD_", "0")];
        assert_eq!(shown(&fixed, now)[4], "trim_threshold: 0");
        assert_eq!(
            shown(&[("MALLOC_MMAP_MAX_", "0")], now)[4],
            "trim_threshold: 131072 (default)"
        );
    }

    #[test]
    fn of_a_tunable_given_twice_the_last_that_the_loader_takes_counts() {
        let first = |env: &[(&str, &str)]| shown(env, Some((2, 36))).swap_remove(0);
        for last in ["0", "two"] {
            let twice = format!("glibc.malloc.arena_max=2:glibc.malloc.arena_max={last}");
            assert_eq!(first(&[(TUNABLES, &twice)]), "arena_max: 2", "{last}");
        }
        let old = [("MALLOC_ARENA_MAX", "2"), (TUNABLES, "glibc.malloc.arena_max=0")];
        assert_eq!(first(&old), "arena_max: 2");
        // The loader hands on a number that malloc then leaves be.
        let counts = "glibc.malloc.tcache_count=5:glibc.malloc.tcache_count=65536";
        assert_eq!(
            shown(&[(TUNABLES, counts)], Some((2, 36)))[3],
            "tcache_count: 7 (default)"
        );
    }

    #[test]
    fn of_a_version_that_was_not_read_no_default_is_told() {
        let set = [(TUNABLES, "glibc.malloc.tcache_count=5:glibc.malloc.arena_max=2")];
        for version in [None, Some((2, 42))] {
            let told = [
                "arena_max: 2",
                "later: default",
                "mmap_max: default",
                "trim_threshold: default",
            ];
            assert_eq!(shown(&set, version), told, "whether malloc takes a count is not known");
        }
    }

    #[test]
    fn a_version_is_two_numbers() {
        assert_eq!(numbers("2.36"), Some((2, 36)));
        assert_eq!(numbers("2.39-gentoo"), Some((2, 39)));
        assert_eq!(numbers("2"), None);
    }
}
