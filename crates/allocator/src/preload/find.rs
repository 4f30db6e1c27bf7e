//! Finds the library of an allocator where systems keep theirs, or says what to install.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::elf::{self, Machine};
use super::distribution::{Distribution, stems};
use crate::paths::entries;
use record::{PackagedAllocator, Preload};

#[derive(Clone, Debug)]
pub struct Places {
    /// The root of the file system: `/`, except in tests.
    pub root: PathBuf,
    /// The libraries that the loader knows, in its order, as `ldconfig -p` prints them; empty where there is none.
    pub cache: String,
}

/// Directories of libraries. A star is any one directory, for Debian has one for each kind of machine; those of Homebrew,
/// MacPorts and NixOS are at the end.
const USUAL: [&str; 12] = [
    "usr/lib/*",
    "lib/*",
    "usr/lib64",
    "lib64",
    "usr/lib",
    "lib",
    "usr/local/lib",
    "usr/local/lib64",
    "opt/homebrew/lib",
    "home/linuxbrew/.linuxbrew/lib",
    "opt/local/lib",
    "run/current-system/sw/lib",
];

/// The reason why there is no library to preload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("{name} is not in the library directories of this system: {cure}")]
    Absent { name: &'static str, cure: String },
    /// It is there for other programs.
    #[error("`{}` is for {library}, and the server is {server}: {cure}", path.display())]
    OtherMachine {
        path: PathBuf,
        library: Machine,
        server: Machine,
        /// The package to install, or the path to name.
        cure: String,
    },
    #[error("there is no library `{}`: check the path", .0.display())]
    Missing(PathBuf),
    /// The file at the path is something else.
    #[error("`{}` is not a shared library: {why}", path.display())]
    NoLibrary {
        path: PathBuf,
        /// Its real kind, and the cure.
        why: &'static str,
    },
}

/// The library with resolved links, for a program of this machine type; `None` if the allocator needs no preload.
/// Without a known type the first one is used.
pub fn find(preload: &Preload, machine: Option<Machine>, places: &Places) -> Result<Option<PathBuf>, FindError> {
    match preload {
        Preload::System => Ok(None),
        Preload::Known(known) => known_library(*known, machine, places).map(Some),
        Preload::Path(path) => named_library(path, machine).map(Some),
    }
}

fn known_library(known: PackagedAllocator, machine: Option<Machine>, places: &Places) -> Result<PathBuf, FindError> {
    let candidates = candidates(known, places);
    for path in &candidates {
        if path.is_file() && mismatch(path, machine).is_none() {
            return Ok(fs::canonicalize(path).unwrap_or_else(|_| path.clone()));
        }
    }
    let cure = Distribution::detect_at_root(&places.root).install(known);
    for path in candidates {
        if let Some((library, server)) = mismatch(&path, machine) {
            return Err(FindError::OtherMachine {
                path,
                library,
                server,
                cure,
            });
        }
    }
    Err(FindError::Absent {
        name: known.family().name(),
        cure,
    })
}

/// The place of a library's name among the names of the allocator, and its version.
type Rank = (usize, Reverse<Vec<u32>>);

/// Every library of the allocator, the best first: by its name, then the newest, then as the loader would find it.
fn candidates(known: PackagedAllocator, places: &Places) -> Vec<PathBuf> {
    let cached = places.cache.lines().filter_map(|line| {
        let (_, path) = line.split_once(" => ")?;
        Some(places.root.join(path.trim().trim_start_matches('/')))
    });
    let listed = USUAL
        .iter()
        .flat_map(|usual| directories(&places.root, usual))
        .flat_map(|directory| entries(&directory));
    let mut ranked: Vec<(Rank, PathBuf)> = Vec::new();
    for path in cached.chain(listed) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(rank) = rank(name, known) {
            ranked.push((rank, path));
        }
    }
    ranked.sort_by(|(a, _), (b, _)| a.cmp(b));
    ranked.into_iter().map(|(_, path)| path).collect()
}

fn rank(name: &str, known: PackagedAllocator) -> Option<Rank> {
    let mut stems = stems(known).iter().enumerate();
    stems.find_map(|(index, stem)| Some((index, Reverse(version(name, stem)?))))
}

fn directories(root: &Path, usual: &str) -> Vec<PathBuf> {
    match usual.strip_suffix("/*") {
        Some(parent) => entries(&root.join(parent))
            .into_iter()
            .filter(|path| path.is_dir())
            .collect(),
        None => vec![root.join(usual)],
    }
}

/// `[4, 5]` for `libx.so.4.5` and `libx.4.5.dylib`, empty for `libx.so`; `None` for other names.
fn version(name: &str, stem: &str) -> Option<Vec<u32>> {
    let rest = name.strip_prefix(stem)?;
    let numbers = match rest.strip_suffix(".dylib") {
        Some(numbers) => numbers,
        None => rest.strip_prefix(".so")?,
    };
    let mut parts = numbers.split('.');
    // Other characters before the first dot belong to another name.
    if parts.next() != Some("") {
        return None;
    }
    parts.map(|part| part.parse().ok()).collect()
}

/// Checks a library that the user named by its path, and resolves its links.
fn named_library(path: &Path, machine: Option<Machine>) -> Result<PathBuf, FindError> {
    let real = fs::canonicalize(path).map_err(|_| FindError::Missing(path.to_owned()))?;
    if let Some(why) = reason_against(&real) {
        return Err(FindError::NoLibrary {
            path: path.to_owned(),
            why,
        });
    }
    match mismatch(&real, machine) {
        Some((library, server)) => Err(FindError::OtherMachine {
            path: path.to_owned(),
            library,
            server,
            cure: "name one that was built for it".to_owned(),
        }),
        None => Ok(real),
    }
}

/// The kind of a file that is no shared library, and the cure.
fn reason_against(file: &Path) -> Option<&'static str> {
    if file.is_dir() {
        return Some("it is a directory; name the library in it");
    }
    if cfg!(target_os = "macos") {
        return None;
    }
    match elf::is_shared(file) {
        Some(true) => None,
        Some(false) => Some("it is a program, an object file or an archive; link it with `-shared`"),
        None => Some("it is not an ELF file; name a file that ends in `.so`"),
    }
}

/// The machines of a library and of the server, if these differ.
fn mismatch(library: &Path, server: Option<Machine>) -> Option<(Machine, Machine)> {
    let library = elf::machine(library)?;
    let server = server?;
    if library == server {
        return None;
    }
    Some((library, server))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The first bytes of a library for this processor (62 is x86-64, 183 AArch64), without a loader.
    fn elf(processor: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        (bytes[16], bytes[18], bytes[20]) = (3, processor, 1);
        (bytes[52], bytes[54], bytes[58]) = (64, 56, 64);
        bytes
    }

    struct Root(tempfile::TempDir);

    impl Root {
        fn new(files: &[(&str, u8)]) -> Root {
            let root = Root(tempfile::tempdir().unwrap());
            for (name, processor) in files {
                root.write(name, &elf(*processor));
            }
            root.write("etc/os-release", b"ID=debian\nVERSION_ID=\"12\"\n");
            root
        }

        fn write(&self, name: &str, bytes: &[u8]) {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }

        fn find(&self, name: &str, cache: &str) -> Result<String, String> {
            let program = self.0.path().join("program");
            fs::write(&program, elf(62)).unwrap();
            let places = Places {
                root: self.0.path().to_owned(),
                cache: cache.to_owned(),
            };
            let library = find(&name.parse().unwrap(), elf::machine(&program), &places);
            let library = library.map_err(|error| error.to_string())?.unwrap_or_default();
            let root = fs::canonicalize(self.0.path()).unwrap();
            Ok(library.strip_prefix(&root).unwrap().display().to_string())
        }
    }

    #[test]
    fn a_library_is_found_where_distributions_keep_theirs_the_newest_for_the_right_machine() {
        for (files, name, library) in [
            (
                &[("usr/lib/x86_64-linux-gnu/libjemalloc.so.2", 62)][..],
                "jemalloc",
                "usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
            ),
            (
                &[("usr/lib64/libmimalloc.so.2", 62)],
                "mimalloc",
                "usr/lib64/libmimalloc.so.2",
            ),
            (
                &[("usr/lib/libjemalloc.so.2", 62)],
                "jemalloc",
                "usr/lib/libjemalloc.so.2",
            ),
            (
                &[("opt/homebrew/lib/libjemalloc.2.dylib", 62)],
                "jemalloc",
                "opt/homebrew/lib/libjemalloc.2.dylib",
            ),
            (
                &[
                    ("usr/lib/a/libmimalloc.so", 62),
                    ("usr/lib/a/libmimalloc.so.2.2", 62),
                    ("usr/lib/a/libmimalloc.so.3", 62),
                ],
                "mimalloc",
                "usr/lib/a/libmimalloc.so.3",
            ),
            (
                &[
                    ("usr/lib64/libtcmalloc.so.4", 62),
                    ("usr/lib64/libtcmalloc_minimal.so.4", 62),
                ],
                "tcmalloc",
                "usr/lib64/libtcmalloc_minimal.so.4",
            ),
            (
                &[
                    ("usr/lib64/libtbbmalloc.so.2", 62),
                    ("usr/lib64/libtbbmalloc_proxy.so.2", 62),
                ],
                "tbbmalloc",
                "usr/lib64/libtbbmalloc_proxy.so.2",
            ),
            (
                &[
                    ("usr/lib/aarch64-linux-gnu/libjemalloc.so.3", 183),
                    ("usr/lib/x86_64-linux-gnu/libjemalloc.so.2", 62),
                ],
                "jemalloc",
                "usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
            ),
        ] {
            assert_eq!(Root::new(files).find(name, "").as_deref(), Ok(library));
        }
    }

    #[test]
    fn what_the_loader_lists_is_found_wherever_it_is() {
        let root = Root::new(&[("opt/own/libjemalloc.so.2", 62), ("usr/lib/libjemalloc.so.2", 62)]);
        let cache = "2 libs found\n\tlibjemalloc.so.2 (libc6,x86-64) => /opt/own/libjemalloc.so.2\n";
        assert_eq!(root.find("jemalloc", cache).as_deref(), Ok("opt/own/libjemalloc.so.2"));
    }

    #[test]
    fn what_is_not_there_names_the_package_and_what_is_for_others_says_so() {
        let none = Root::new(&[
            ("usr/lib/libjemalloc_more.so.2", 62),
            ("usr/lib/libtcmalloc_minimal_debug.so.4", 62),
        ]);
        for (name, package) in [
            ("jemalloc", "libjemalloc2"),
            ("mimalloc", "libmimalloc2.0"),
            ("tcmalloc", "libtcmalloc-minimal4"),
            ("tbbmalloc", "libtbbmalloc2"),
        ] {
            let error = none.find(name, "").unwrap_err();
            assert!(error.contains(&format!("apt-get install {package}")), "{error}");
        }
        let other = Root::new(&[("usr/lib/libjemalloc.so.2", 183)])
            .find("jemalloc", "")
            .unwrap_err();
        assert!(
            other.contains("is for 64 bits of AArch64, and the server is 64 bits of x86-64: install"),
            "{other}"
        );
    }
}
