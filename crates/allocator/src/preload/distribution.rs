//! Names the package with an allocator's library for the distribution of this system.

use std::fs;
use std::path::Path;

use record::PackagedAllocator;

/// A distribution, as `/etc/os-release` describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Its `ID`, then the names in its `ID_LIKE`.
    ids: Vec<String>,
    version: Option<u32>,
}

/// The names of packages in a family of distributions.
struct Packages {
    ids: &'static [&'static str],
    install: &'static str,
    jemalloc: &'static str,
    mimalloc: &'static str,
    tcmalloc: &'static str,
    tbbmalloc: &'static str,
}

const ALL: [Packages; 6] = [
    Packages {
        ids: &["debian", "ubuntu"],
        install: "apt-get install",
        jemalloc: "libjemalloc2",
        mimalloc: "libmimalloc3",
        tcmalloc: "libtcmalloc-minimal4",
        tbbmalloc: "libtbbmalloc2",
    },
    Packages {
        ids: &["fedora", "rhel", "centos"],
        install: "dnf install",
        jemalloc: "jemalloc",
        mimalloc: "mimalloc",
        tcmalloc: "gperftools-libs",
        tbbmalloc: "tbb",
    },
    Packages {
        ids: &["arch"],
        install: "pacman -S",
        jemalloc: "jemalloc",
        mimalloc: "mimalloc",
        tcmalloc: "gperftools",
        tbbmalloc: "onetbb",
    },
    Packages {
        ids: &["alpine"],
        install: "apk add",
        jemalloc: "jemalloc",
        mimalloc: "mimalloc",
        tcmalloc: "gperftools",
        tbbmalloc: "onetbb",
    },
    Packages {
        ids: &["suse", "opensuse"],
        install: "zypper install",
        jemalloc: "libjemalloc2",
        mimalloc: "libmimalloc2",
        tcmalloc: "gperftools",
        tbbmalloc: "libtbbmalloc2",
    },
    Packages {
        ids: &["macos"],
        install: "brew install",
        jemalloc: "jemalloc",
        mimalloc: "mimalloc",
        tcmalloc: "gperftools",
        tbbmalloc: "tbb",
    },
];

impl Distribution {
    /// The distribution of the system under this root.
    pub fn detect_at_root(root: &Path) -> Distribution {
        for file in ["etc/os-release", "usr/lib/os-release"] {
            if let Ok(text) = fs::read_to_string(root.join(file)) {
                return Distribution::parse(&text);
            }
        }
        if cfg!(target_os = "macos") {
            return Distribution::parse("ID=macos\n");
        }
        Distribution::default()
    }

    fn parse(text: &str) -> Distribution {
        let mut ids = Vec::new();
        for name in ["ID", "ID_LIKE"] {
            let names = value_of(name, text).unwrap_or_default();
            ids.extend(names.split_ascii_whitespace().map(str::to_owned));
        }
        let version = value_of("VERSION_ID", text).and_then(|version| version.split('.').next()?.parse().ok());
        Distribution { ids, version }
    }

    /// Advice to install an allocator's library, as a sentence without its end.
    pub fn install(&self, known: PackagedAllocator) -> String {
        let Some(packages) = self.ids.iter().find_map(|id| packages_for(id)) else {
            return format!(
                "install the package that has it, or name the library: --preload /path/to/{}.so",
                stems(known)[0]
            );
        };
        let package = match known {
            PackagedAllocator::Jemalloc => packages.jemalloc,
            PackagedAllocator::Mimalloc if self.has_old_mimalloc() => "libmimalloc2.0",
            PackagedAllocator::Mimalloc => packages.mimalloc,
            PackagedAllocator::Tcmalloc => packages.tcmalloc,
            PackagedAllocator::Tbbmalloc => packages.tbbmalloc,
        };
        format!(
            "install the package `{package}` ({} {package}), or name the library's path",
            packages.install
        )
    }

    /// Debian up to 12 and Ubuntu up to 24 have mimalloc 2.
    fn has_old_mimalloc(&self) -> bool {
        let last = match self.ids.first().map(String::as_str) {
            Some("debian") => 12,
            Some("ubuntu") => 24,
            Some(_) | None => return false,
        };
        self.version.is_some_and(|version| version <= last)
    }
}

/// The value of a variable in `/etc/os-release`.
fn value_of<'t>(name: &str, text: &'t str) -> Option<&'t str> {
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim_matches(['"', '\'']))
}

/// The packages of a distribution with this `ID`, which may have a suffix: `opensuse-leap`.
fn packages_for(id: &str) -> Option<&'static Packages> {
    ALL.iter().find(|packages| {
        let mut ids = packages.ids.iter();
        ids.any(|own| id == *own || id.starts_with(&format!("{own}-")))
    })
}

/// The names of an allocator's libraries without endings, the better first. oneTBB's proxy serves `malloc`, and
/// gperftools' minimal library is the allocator without its profilers.
pub(super) fn stems(known: PackagedAllocator) -> &'static [&'static str] {
    match known {
        PackagedAllocator::Jemalloc => &["libjemalloc"],
        PackagedAllocator::Mimalloc => &["libmimalloc"],
        PackagedAllocator::Tcmalloc => &["libtcmalloc_minimal", "libtcmalloc"],
        PackagedAllocator::Tbbmalloc => &["libtbbmalloc_proxy"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distribution_has_its_own_names() {
        for (release, known, says) in [
            (
                "ID=debian\nVERSION_ID=\"12\"\n",
                PackagedAllocator::Mimalloc,
                "apt-get install libmimalloc2.0",
            ),
            (
                "ID=debian\nVERSION_ID=\"13\"\n",
                PackagedAllocator::Mimalloc,
                "apt-get install libmimalloc3",
            ),
            (
                "ID=debian\n",
                PackagedAllocator::Mimalloc,
                "apt-get install libmimalloc3",
            ),
            (
                "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\n",
                PackagedAllocator::Mimalloc,
                "libmimalloc2.0",
            ),
            (
                "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n",
                PackagedAllocator::Jemalloc,
                "libjemalloc2",
            ),
            (
                "ID=fedora\nVERSION_ID=42\n",
                PackagedAllocator::Tcmalloc,
                "dnf install gperftools-libs",
            ),
            (
                "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
                PackagedAllocator::Tbbmalloc,
                "dnf install tbb",
            ),
            ("ID=arch\n", PackagedAllocator::Tbbmalloc, "pacman -S onetbb"),
            ("ID=alpine\n", PackagedAllocator::Tcmalloc, "apk add gperftools"),
            (
                "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n",
                PackagedAllocator::Jemalloc,
                "zypper install",
            ),
            ("ID=macos\n", PackagedAllocator::Jemalloc, "brew install jemalloc"),
            (
                "ID=plan9\n",
                PackagedAllocator::Tcmalloc,
                "--preload /path/to/libtcmalloc_minimal.so",
            ),
        ] {
            let advice = Distribution::parse(release).install(known);
            assert!(advice.contains(says), "{release}: {advice}");
        }
    }
}
