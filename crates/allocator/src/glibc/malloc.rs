//! How malloc of the GNU C library reads tunables: accepted values and defaults.

use std::collections::BTreeMap;

use record::variables::{LEGACY, number};

use super::Tunable;

pub const TUNABLES: &str = "GLIBC_TUNABLES";

/// The oldest and the newest glibc whose malloc was read for its defaults. The first one with tunables had them all,
/// except some later names.
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

/// Thresholds that grow with freed blocks, until any of [`FIXING`] is set (mallopt(3)).
const GROWING: [&str; 2] = ["mmap_threshold", "trim_threshold"];

const FIXING: [&str; 4] = ["mmap_max", "mmap_threshold", "top_pad", "trim_threshold"];

/// Whether the defaults of this version are known.
fn is_read(version: (u32, u32)) -> bool {
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

/// Whether malloc may leave a number be that the loader takes.
pub fn is_unsure(tunable: &str, value: i128) -> bool {
    let most = SURE.iter().find(|(name, _)| tunable.strip_prefix(MALLOC) == Some(name));
    most.is_some_and(|(_, most)| value > *most)
}

/// A value as the loader takes it: a size below 0 wraps around, so that -1 is the most that there is.
pub fn size(value: &str, bounds: Option<(i128, i128)>) -> Option<i128> {
    let asked = number(value)?;
    match bounds {
        Some((_, most)) if asked < 0 && most >= i128::from(u32::MAX) => Some(asked + most + 1),
        Some(_) | None => Some(asked),
    }
}

/// Every tunable of malloc with its value, or its default, which is marked. `listed` is the loader's list under
/// `variable`. A value that malloc may not accept is left out. `wide` means a 64-bit program.
pub fn options(
    listed: &BTreeMap<String, Tunable>,
    variable: &dyn Fn(&str) -> Option<String>,
    version: Option<(u32, u32)>,
    wide: bool,
) -> BTreeMap<String, String> {
    let asked = asked(variable);
    let is_known = wide && version.is_some_and(is_read);
    let taken = |name: &str| taken(asked.get(name)?, listed.get(name).and_then(|tunable| tunable.bounds));
    let fixed = FIXING.iter().any(|name| taken(&format!("{MALLOC}{name}")).is_some());
    let option = |(name, tunable): (&String, &Tunable)| {
        let short = name.strip_prefix(MALLOC)?;
        if let Some(taken) = taken(name) {
            let value = number(&tunable.value).map_or_else(|| tunable.value.clone(), |value| value.to_string());
            return (wide && !is_unsure(name, taken)).then(|| (name.clone(), value));
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

/// The last of these values that the loader takes: malloc is given no other.
fn taken(values: &[String], bounds: Option<(i128, i128)>) -> Option<i128> {
    let is_within = |value: &i128| bounds.is_none_or(|(least, most)| (least..=most).contains(value));
    let mut sizes = values.iter().filter_map(|value| size(value, bounds));
    sizes.rfind(is_within)
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
            let entry = env.iter().find(|(own, _)| *own == name);
            entry.map(|(_, value)| (*value).to_owned())
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
        // What the loader does not take changes nothing, and what malloc may leave be is not known.
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
        let first = |env: &[(&str, &str)]| shown(env, Some((2, 36))).swap_remove(0);
        for last in ["0", "two"] {
            let twice = format!("glibc.malloc.arena_max=2:glibc.malloc.arena_max={last}");
            assert_eq!(first(&[(TUNABLES, &twice)]), "arena_max: 2", "{last}");
        }
        let old = [("MALLOC_ARENA_MAX", "2"), (TUNABLES, "glibc.malloc.arena_max=0")];
        assert_eq!(first(&old), "arena_max: 2");
        // The loader hands on a number that malloc may then leave be.
        let counts = "glibc.malloc.tcache_count=5:glibc.malloc.tcache_count=65536";
        assert_eq!(shown(&[(TUNABLES, counts)], Some((2, 36))).len(), 4);
    }

    #[test]
    fn of_a_version_that_was_not_read_no_default_is_told() {
        let set = [(TUNABLES, "glibc.malloc.tcache_count=5:glibc.malloc.arena_max=2")];
        for version in [None, Some((2, 42))] {
            let told = [
                "arena_max: 2",
                "later: default",
                "mmap_max: default",
                "tcache_count: 0",
                "trim_threshold: default",
            ];
            assert_eq!(shown(&set, version), told);
        }
    }

    #[test]
    fn a_version_is_two_numbers() {
        assert_eq!(numbers("2.36"), Some((2, 36)));
        assert_eq!(numbers("2.39-gentoo"), Some((2, 39)));
        assert_eq!(numbers("2"), None);
    }
}
