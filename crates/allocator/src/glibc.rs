//! Reads the output of the GNU C library's loader: its version, and its tunables with their values.

pub mod ask;
pub mod malloc;

use std::collections::BTreeMap;

use record::variables::number;

/// A tunable of the C library, as the loader lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    pub value: String,
    /// The least and the greatest accepted value.
    pub bounds: Option<(i128, i128)>,
}

/// `2.36` of `ld.so (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.`
pub fn version(text: &str) -> Option<String> {
    let line = text.lines().next().filter(|line| line.starts_with("ld.so"))?;
    let (_, version) = line.rsplit_once("version ")?;
    Some(version.trim_end().trim_end_matches('.').to_owned())
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

/// The tunables in the loader's list, by name.
pub fn tunables(text: &str) -> BTreeMap<String, Tunable> {
    let mut tunables = BTreeMap::new();
    for line in text.lines() {
        if let Some((name, rest)) = line.split_once(':')
            && name.starts_with("glibc.")
        {
            tunables.insert(name.to_owned(), tunable(rest.trim()));
        }
    }
    tunables
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
