//! What the loader of the GNU C library says: its version, and which tunables it has with which values.

pub mod ask;
pub mod malloc;

use std::collections::BTreeMap;

use record::variables::number;

/// One tunable: its value, and the least and the most that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    pub value: String,
    pub bounds: Option<(i128, i128)>,
}

/// `2.36` of `ld.so (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.`
pub fn version(text: &str) -> Option<String> {
    let line = text.lines().next()?;
    let (_, version) = line.rsplit_once("version ")?;
    let version = version.trim_end().trim_end_matches('.');
    line.starts_with("ld.so").then(|| version.to_owned())
}

/// `1.2.3` from the output of musl's loader.
pub fn musl_version(text: &str) -> Option<String> {
    let mut lines = text.lines();
    lines.next().filter(|line| line.starts_with("musl libc"))?;
    lines
        .next()?
        .strip_prefix("Version ")
        .map(|version| version.trim().to_owned())
}

pub fn tunables(text: &str) -> BTreeMap<String, Tunable> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(name, _)| name.starts_with("glibc."))
        .map(|(name, rest)| (name.to_owned(), tunable(rest.trim())))
        .collect()
}

/// `0x3 (min: 0x1, max: 0xffffffffffffffff)`.
fn tunable(text: &str) -> Tunable {
    let (value, bounds) = text.split_once(" (min: ").unwrap_or((text, ""));
    let bounds = bounds.trim_end_matches(')').split_once(", max: ");
    Tunable {
        value: value.to_owned(),
        bounds: bounds.and_then(|(least, most)| Some((number(least)?, number(most)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Debian 12, shortened.
    const LISTED: &str = "\
glibc.rtld.nns: 0x4 (min: 0x1, max: 0x10)
glibc.malloc.trim_threshold: 0x0 (min: 0x0, max: 0xffffffffffffffff)
glibc.malloc.perturb: 0 (min: 0, max: 255)
glibc.cpu.x86_shstk:
glibc.malloc.arena_max: 0x7 (min: 0x1, max: 0xffffffffffffffff)
";

    #[test]
    fn a_loader_says_its_version() {
        let debian = "ld.so (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\nCopyright (C) 2022\n";
        assert_eq!(version(debian).as_deref(), Some("2.36"));
        assert_eq!(version("usage: prog version 1"), None);
        let musl = "musl libc (x86_64)\nVersion 1.2.3\nDynamic Program Loader\n";
        assert_eq!(musl_version(musl).as_deref(), Some("1.2.3"));
        assert_eq!(musl_version(debian), None);
    }

    #[test]
    fn tunables_have_values_and_bounds() {
        let listed = tunables(LISTED);
        assert_eq!(listed.len(), 5);
        let arenas = &listed["glibc.malloc.arena_max"];
        assert_eq!(
            (arenas.value.as_str(), arenas.bounds),
            ("0x7", Some((1, i128::from(u64::MAX))))
        );
        assert_eq!(listed["glibc.cpu.x86_shstk"].bounds, None);
    }
}
