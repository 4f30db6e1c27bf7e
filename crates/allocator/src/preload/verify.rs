//! Whether a server would use a preloaded allocator: by its files, and by a run for its version with the loader's
//! debug output.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::detect::Detection;
use super::super::probe::{self, Subject};
use super::super::scan::Mark;
use super::super::{behind, elf, scan};
use super::bindings::{self, Image, NEW};
use proctree::host;
use record::{AllocatorFamily, Confidence};

/// Why a preloaded library would not serve a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreloadError {
    /// It has its own allocator, in its file or in what it loads or starts.
    #[error(
        "`{program}` {has}{prefix} and would not use a preloaded allocator: to measure another one, build the \
         server with it"
    )]
    Embedded {
        program: String,
        has: String,
        /// The prefix of its functions, in parentheses, where it has one.
        prefix: String,
    },
    /// Its runtime gets memory from the system itself.
    #[error(
        "`{program}` is a {allocator} program, whose memory does not come from `malloc`, and would not use a preloaded \
         allocator: set `GOGC` or `GOMEMLIMIT` instead"
    )]
    Runtime { program: String, allocator: String },
    #[error(
        "`{0}` is linked statically, so no loader runs that could preload an allocator: to measure another one, build \
         the \
         server with it"
    )]
    Static(String),
    /// The loader ignores the variable.
    #[error(
        "`{0}` runs with more rights than its user's (setuid, setgid or capabilities), so its loader preloads \
         nothing: measure \
         a copy made with `cp`, which has none of them"
    )]
    Privileged(String),
    /// They are made for two C libraries.
    #[error("`{library}` is made for {theirs}, and the server for {own}: name a library that was built for {own}")]
    OtherLibc {
        library: String,
        theirs: AllocatorFamily,
        own: AllocatorFamily,
    },
    #[error(
        "the loader did not preload `{library}` into `{program}`: {why}; name a library that was built for this system"
    )]
    NotLoaded {
        library: String,
        program: String,
        why: String,
    },
    /// It was loaded, and the server does not call it.
    #[error(
        "`{library}` was loaded into `{program}` and is not used: {why}; to measure another one, build the server \
         with it"
    )]
    Unused {
        library: String,
        program: String,
        why: &'static str,
    },
    #[error("`{0}` defines no `malloc`, so it is not an allocator: name one that is")]
    NoAllocator(String),
    #[error("`{shown}` dies with `{library}` preloaded and not without it: name another library")]
    Fatal { shown: String, library: String },
}

/// A server and the libraries to preload.
pub struct Question<'q> {
    pub library: &'q Path,
    /// The findings without a preload.
    pub plain: &'q Detection,
    pub without: &'q Subject,
    /// The server with everything that is preloaded.
    pub with: &'q Subject,
    /// An empty directory for the loader's output.
    pub scratch: &'q Path,
    pub stop: &'q dyn Fn() -> bool,
}

/// Whether the server's loader says that the library serves it; those of musl and of macOS say nothing. What cannot work is
/// refused.
pub fn verify(question: &Question<'_>) -> Result<bool, PreloadError> {
    refuse(question)?;
    let library = question.library.display().to_string();
    let at = question.scratch.join("bindings").display().to_string();
    let watched = [
        ("LD_DEBUG", "bindings,libs"),
        // Or functions are bound when they are called first.
        ("LD_BIND_NOW", "1"),
        ("LD_DEBUG_OUTPUT", at.as_str()),
    ];
    // What cannot be asked is not known.
    let Ok(heard) = probe::ask(question.with, &watched, question.stop) else {
        return Ok(false);
    };
    if let Some(why) = bindings::refusal(&heard.said.stderr, &library) {
        let program = question.with.program.display().to_string();
        return Err(PreloadError::NotLoaded { library, program, why });
    }
    if heard.ended.is_some_and(|ended| ended.code().is_none()) && runs_without(question) {
        let shown = question.with.shown();
        return Err(PreloadError::Fatal { shown, library });
    }
    // One file for each process.
    let texts = fs::read_dir(question.scratch).into_iter().flatten().flatten();
    let texts = texts.filter_map(|entry| fs::read(entry.path()).ok());
    let images: Vec<Image> = texts
        .flat_map(|text| bindings::images(&String::from_utf8_lossy(&text)))
        .collect();
    used(question, &images, &library)
}

/// Whether the server ends by itself without the library.
fn runs_without(question: &Question<'_>) -> bool {
    let heard = probe::ask(question.without, &[], question.stop);
    heard.is_ok_and(|heard| heard.ended.is_some_and(|ended| ended.code().is_some()))
}

/// Refuses preloads that cannot work, before any run.
fn refuse(question: &Question<'_>) -> Result<(), PreloadError> {
    let Detection {
        facts, file, loader, ..
    } = question.plain;
    let program = file.display().to_string();
    let sure = facts.confidence > Some(Confidence::Guess);
    let within = holds(file, facts.family);
    let embedding = match within {
        true => program.clone(),
        false => question.without.program.display().to_string(),
    };
    match facts.family {
        AllocatorFamily::Go => {
            return Err(PreloadError::Runtime {
                program: embedding,
                allocator: format!("Go{}", behind(facts.version.as_ref())),
            });
        }
        // A preload comes before a library that the program needs.
        family if family.is_replacement() && sure && (within || !needs_malloc(question)) => {
            let prefix = facts.prefix.as_ref().map(|prefix| format!(" (prefix `{prefix}`)"));
            return Err(PreloadError::Embedded {
                program: embedding,
                has: match within {
                    true => format!("has {facts} built in"),
                    false => format!("loads or starts a program with {facts} built in"),
                },
                prefix: prefix.unwrap_or_default(),
            });
        }
        _ => {}
    }
    if elf::is_static(file) {
        return Err(PreloadError::Static(program));
    }
    if host::is_privileged(file) {
        return Err(PreloadError::Privileged(program));
    }
    // A file that is no ELF file has no loader to read here.
    let Some(loader) = loader else { return Ok(()) };
    let own = libc_of(&loader.display().to_string());
    let needed = elf::linking(question.library).unwrap_or_default().needed;
    let theirs = needed
        .iter()
        .find(|name| name.starts_with("libc."))
        .map(|name| libc_of(name));
    match theirs.filter(|theirs| *theirs != own) {
        Some(theirs) => Err(PreloadError::OtherLibc {
            library: question.library.display().to_string(),
            theirs,
            own,
        }),
        None => Ok(()),
    }
}

/// Whether a library that the program needs, and that is not the C library, has the `malloc` that serves it.
fn needs_malloc(question: &Question<'_>) -> bool {
    let needed = brought(question, &question.plain.file).into_iter();
    let mut others = needed.filter(|path| !elf::is_libc(path));
    others.any(|path| elf::serves_malloc(&path))
}

/// Whether a file has the allocator within. A script's interpreter has not: what the script runs answered.
fn holds(file: &Path, family: AllocatorFamily) -> bool {
    let is = |mark: &Mark| match mark {
        Mark::RustJemalloc => family == AllocatorFamily::Jemalloc,
        Mark::Go => family == AllocatorFamily::Go,
        Mark::Family(own) => *own == family,
        _ => false,
    };
    scan::file(file).is_ok_and(|scan| scan.marks.iter().any(is))
}

fn libc_of(name: &str) -> AllocatorFamily {
    match name.contains("musl") {
        true => AllocatorFamily::Musl,
        false => AllocatorFamily::Glibc,
    }
}

/// The bindings of the server's own code. Other bindings show nothing: the C library calls `malloc` in every process,
/// its loader binds it for every program, and a preloaded library may load others.
fn used(question: &Question<'_>, images: &[Image], library: &str) -> Result<bool, PreloadError> {
    // What a shell binds says nothing of the program that it starts.
    if question.plain.is_launcher {
        return Ok(false);
    }
    let file = &question.plain.file;
    let is_program = |name: &&String| is(name, file, &question.with.teller);
    let mut programs = images.iter().rev();
    let hit = programs.find_map(|image| Some((image, image.files.iter().find(is_program)?)));
    let Some((image, program)) = hit else {
        return Ok(false);
    };
    let serves = |image: &Image| {
        let mut files = image.files.iter();
        files.any(|file| image.of_library(file, library).contains("malloc"))
    };
    let unused = |why| PreloadError::Unused {
        library: library.to_owned(),
        program: file.display().to_string(),
        why,
    };
    if !images.iter().any(serves) {
        return Err(match elf::serves_malloc(question.library) {
            true => unused("the loader binds every `malloc` to another one, which the program brings"),
            false => PreloadError::NoAllocator(library.to_owned()),
        });
    }
    let (own, brought) = (brought(question, file), preloaded(question));
    let may_count = |path: &Path| {
        let hit = real(path);
        let is_own = own.contains(&hit) || !brought.contains(&hit);
        is_own && !elf::is_libc(path) && !elf::is_runtime(path)
    };
    let others = || {
        let names = image.files.iter().filter(|name| *name != program);
        let paths = names.map(|name| (Path::new(name), name));
        let counting = paths.filter(|(path, _)| may_count(path));
        counting.map(|(path, name)| (path, calls(path, &image.of_library(name, library))))
    };
    let own_calls = calls(file, &image.of_library(program, library));
    // Rust's library calls `malloc` here and there, but `calloc` only where it is the allocator.
    let rust = |path: &Path| scan::file(path).is_ok_and(|scan| scan.marks.contains(&Mark::Rust));
    if rust(file) {
        let used = own_calls.contains("calloc") || others().any(|(path, calls)| calls.contains("calloc") && rust(path));
        return used
            .then_some(true)
            .ok_or_else(|| unused("Rust's code in it never calls `calloc`, so it has an allocator of its own"));
    }
    let allocates = |calls: &BTreeSet<&str>| calls.contains("malloc") || calls.contains(NEW);
    let used = allocates(&own_calls) || others().any(|(_, calls)| allocates(&calls));
    used.then_some(true).ok_or_else(|| {
        unused("neither it nor what it loads calls `malloc`, so it has an allocator of its own or needs none")
    })
}

/// Of the functions that were bound in the name of a file those that it calls by its own account.
fn calls<'b>(path: &Path, bound: &BTreeSet<&'b str>) -> BTreeSet<&'b str> {
    let linking = elf::linking(path).unwrap_or_default();
    let is_called = |call: &&&str| linking.calls.contains(**call) || (**call == NEW && linking.creates);
    bound.iter().filter(is_called).copied().collect()
}

/// The libraries that a file brings, with links resolved.
fn brought(question: &Question<'_>, file: &Path) -> BTreeSet<PathBuf> {
    let linking = elf::linking(file).unwrap_or_default();
    let libraries = elf::libraries(file, &linking, &question.with.library_path());
    libraries.iter().map(|path| real(path)).collect()
}

/// The preload, and all that it loads.
fn preloaded(question: &Question<'_>) -> BTreeSet<PathBuf> {
    let all = question.with.preloaded.iter();
    all.flat_map(|path| brought(question, path).into_iter().chain([real(path)]))
        .collect()
}

/// Whether the loader's name for a program means this file. It is what the program was started as: a path, or a name that
/// some other program looked up.
fn is(name: &str, file: &Path, started: &Path) -> bool {
    let path = Path::new(name);
    if name.contains('/') {
        return real(path) == *file || (path == started && real(started) == *file);
    }
    file.file_name().is_some_and(|own| own == name)
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
