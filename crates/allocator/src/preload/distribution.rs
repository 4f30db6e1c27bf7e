//! Which package has an allocator's library, by the distribution that this is.

use std::fs;
use std::path::Path;

use record::Known;

/// A distribution, by what `/etc/os-release` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Its `ID`, then those that it is like.
    ids: Vec<String>,
    version: Option<u32>,
}

/// Families of distributions, and what their packages are called.
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
    /// That of the system under this root.
    pub fn of(root: &Path) -> Distribution {
        let texts = ["etc/os-release", "usr/lib/os-release"].map(|file| fs::read_to_string(root.join(file)).ok());
        match texts.into_iter().flatten().next() {
            Some(text) => Distribution::read(&text),
            None if cfg!(target_os = "macos") => Distribution::read("ID=macos\n"),
            None => Distribution::default(),
        }
    }

    fn read(text: &str) -> Distribution {
        let value = |name: &str| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
            Some(line.trim_matches(['"', '\'']).to_owned())
        };
        let ids = [value("ID"), value("ID_LIKE")].into_iter().flatten();
        let version = value("VERSION_ID").and_then(|version| version.split('.').next()?.parse().ok());
        Distribution {
            ids: ids
                .flat_map(|ids| ids.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>())
                .collect(),
            version,
        }
    }

    /// What to do to have an allocator's library here, as a sentence without its end.
    pub fn install(&self, known: Known) -> String {
        let packages = self.ids.iter().find_map(|id| {
            let named = |one: &&Packages| {
                one.ids
                    .iter()
                    .any(|own| id == own || id.starts_with(&format!("{own}-")))
            };
            ALL.iter().find(named)
        });
        let Some(packages) = packages else {
            return format!(
                "install the package that has it, or name the library: --preload /path/to/{}.so",
                stems(known)[0]
            );
        };
        let package = match known {
            Known::Jemalloc => packages.jemalloc,
            Known::Mimalloc if self.has_old_mimalloc() => "libmimalloc2.0",
            Known::Mimalloc => packages.mimalloc,
            Known::Tcmalloc => packages.tcmalloc,
            Known::Tbbmalloc => packages.tbbmalloc,
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

/// What the libraries of an allocator are called without endings, the better first. oneTBB's proxy is what serves `malloc`,
/// and gperftools' minimal library is the allocator without its profilers.
pub(super) fn stems(known: Known) -> &'static [&'static str] {
    match known {
        Known::Jemalloc => &["libjemalloc"],
        Known::Mimalloc => &["libmimalloc"],
        Known::Tcmalloc => &["libtcmalloc_minimal", "libtcmalloc"],
        Known::Tbbmalloc => &["libtbbmalloc_proxy"],
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
                Known::Mimalloc,
                "apt-get install libmimalloc2.0",
            ),
            (
                "ID=debian\nVERSION_ID=\"13\"\n",
                Known::Mimalloc,
                "apt-get install libmimalloc3",
            ),
            ("ID=debian\n", Known::Mimalloc, "apt-get install libmimalloc3"),
            (
                "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\n",
                Known::Mimalloc,
                "libmimalloc2.0",
            ),
            (
                "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n",
                Known::Jemalloc,
                "libjemalloc2",
            ),
            (
                "ID=fedora\nVERSION_ID=42\n",
                Known::Tcmalloc,
                "dnf install gperftools-libs",
            ),
            (
                "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
                Known::Tbbmalloc,
                "dnf install tbb",
            ),
            ("ID=arch\n", Known::Tbbmalloc, "pacman -S onetbb"),
            ("ID=alpine\n", Known::Tcmalloc, "apk add gperftools"),
            (
                "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n",
                Known::Jemalloc,
                "zypper install",
            ),
            ("ID=macos\n", Known::Jemalloc, "brew install jemalloc"),
            (
                "ID=plan9\n",
                Known::Tcmalloc,
                "--preload /path/to/libtcmalloc_minimal.so",
            ),
        ] {
            let said = Distribution::read(release).install(known);
            assert!(said.contains(says), "{release}: {said}");
        }
    }
}
