//! Verifies that a server would use a preloaded allocator: by its files, and by a run for its version with the loader's
//! debug output.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::detect::Detection;
use super::super::probe::{self, Subject};
use super::super::scan::Mark;
use super::super::{elf, scan, version_suffix};
use super::bindings::{self, Image, NEW};
use crate::paths::real;
use base::Cancel;
use proctree::host;
use record::{AllocatorFamily, Confidence};

/// The reason why a preloaded library would not serve a server.
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
    pub cancel: &'q Cancel,
}

/// True if the server's loader reports that the library serves it. False if that is not known: the loaders of musl and of
/// macOS report nothing. An error if the preload cannot work.
pub fn verify(question: &Question<'_>) -> Result<bool, PreloadError> {
    refuse(question)?;
    let library = question.library.display().to_string();
    let output = question.scratch.join("bindings").display().to_string();
    let variables = [
        ("LD_DEBUG", "bindings,libs"),
        // Without this, functions are bound when they are called first.
        ("LD_BIND_NOW", "1"),
        ("LD_DEBUG_OUTPUT", output.as_str()),
    ];
    let Ok(heard) = probe::ask(question.with, &variables, question.cancel) else {
        return Ok(false);
    };
    if let Some(why) = bindings::refusal(&heard.said.stderr, &library) {
        let program = question.with.program.display().to_string();
        return Err(PreloadError::NotLoaded { library, program, why });
    }
    if heard.ended.is_some_and(|ended| ended.code().is_none()) && runs_without_library(question) {
        let shown = question.with.shown();
        return Err(PreloadError::Fatal { shown, library });
    }
    check_use(question, &read_images(question.scratch), &library)
}

/// The programs of all processes: the loader wrote one file for each process.
fn read_images(directory: &Path) -> Vec<Image> {
    let mut images = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if let Ok(text) = fs::read(entry.path()) {
            images.extend(bindings::images(&String::from_utf8_lossy(&text)));
        }
    }
    images
}

/// True if the server ends by itself without the library.
fn runs_without_library(question: &Question<'_>) -> bool {
    let heard = probe::ask(question.without, &[], question.cancel);
    heard.is_ok_and(|heard| heard.ended.is_some_and(|ended| ended.code().is_some()))
}

/// Refuses preloads that cannot work, before any run.
fn refuse(question: &Question<'_>) -> Result<(), PreloadError> {
    let Detection {
        facts, file, loader, ..
    } = question.plain;
    let program = file.display().to_string();
    let is_built_in = has_marks(file, facts.family);
    let holder = if is_built_in {
        program.clone()
    } else {
        question.without.program.display().to_string()
    };
    if facts.family == AllocatorFamily::Go {
        return Err(PreloadError::Runtime {
            program: holder,
            allocator: format!("Go{}", version_suffix(facts.version.as_ref())),
        });
    }
    let is_sure = facts.confidence > Some(Confidence::Guess);
    // A preload comes before a library that the program needs.
    if facts.family.is_replacement() && is_sure && (is_built_in || !needs_malloc_library(question)) {
        let prefix = facts.prefix.as_ref().map(|prefix| format!(" (prefix `{prefix}`)"));
        return Err(PreloadError::Embedded {
            program: holder,
            has: if is_built_in {
                format!("has {facts} built in")
            } else {
                format!("loads or starts a program with {facts} built in")
            },
            prefix: prefix.unwrap_or_default(),
        });
    }
    if elf::is_static(file) {
        return Err(PreloadError::Static(program));
    }
    if host::is_privileged(file) {
        return Err(PreloadError::Privileged(program));
    }
    // Without a loader the file is no ELF file, and its C library is not known.
    let Some(loader) = loader else { return Ok(()) };
    let own = libc_named(&loader.display().to_string());
    let needed = elf::linking(question.library).unwrap_or_default().needed;
    if let Some(libc) = needed.iter().find(|name| name.starts_with("libc."))
        && libc_named(libc) != own
    {
        return Err(PreloadError::OtherLibc {
            library: question.library.display().to_string(),
            theirs: libc_named(libc),
            own,
        });
    }
    Ok(())
}

/// True if a library that the program needs, and that is not the C library, exports `malloc`.
fn needs_malloc_library(question: &Question<'_>) -> bool {
    let needed = needed_libraries(question, &question.plain.file);
    needed
        .iter()
        .any(|path| !elf::is_libc(path) && elf::serves_malloc(path))
}

/// True if a file has the marks of the allocator. A script's interpreter has none: the program that the script runs
/// answered.
fn has_marks(file: &Path, family: AllocatorFamily) -> bool {
    let Ok(scan) = scan::file(file) else { return false };
    scan.marks.iter().any(|mark| match mark {
        Mark::RustJemalloc => family == AllocatorFamily::Jemalloc,
        Mark::Go => family == AllocatorFamily::Go,
        Mark::Family(own) => *own == family,
        _ => false,
    })
}

/// The C library with a loader or a library of this name.
fn libc_named(name: &str) -> AllocatorFamily {
    if name.contains("musl") {
        AllocatorFamily::Musl
    } else {
        AllocatorFamily::Glibc
    }
}

/// Judges by the bindings of the server's own code. Other bindings show nothing: the C library calls `malloc` in every
/// process, its loader binds it for every program, and a preloaded library may load others.
fn check_use(question: &Question<'_>, images: &[Image], library: &str) -> Result<bool, PreloadError> {
    // The bindings of a shell do not concern the program that it starts.
    if question.plain.is_launcher {
        return Ok(false);
    }
    let Some((image, program)) = image_of_server(question, images) else {
        return Ok(false);
    };
    if !images.iter().any(|image| image.has_malloc_of(library)) {
        if !elf::serves_malloc(question.library) {
            return Err(PreloadError::NoAllocator(library.to_owned()));
        }
        let why = "the loader binds every `malloc` to another one, which the program brings";
        return Err(unused(question, why));
    }
    let file = &question.plain.file;
    let is_rust = contains_rust(file);
    let calls = calls_of_own_code(file, &image.calls_served(program, library));
    if shows_use(&calls, is_rust) {
        return Ok(true);
    }
    let needed = needed_libraries(question, file);
    let preloaded = preloaded_files(question);
    for name in image.files.iter().filter(|name| *name != program) {
        let path = Path::new(name);
        let real = real(path);
        let comes_with_preload = preloaded.contains(&real) && !needed.contains(&real);
        if comes_with_preload || elf::is_libc(path) || elf::is_runtime(path) {
            continue;
        }
        let calls = calls_of_own_code(path, &image.calls_served(name, library));
        if shows_use(&calls, is_rust) && (!is_rust || contains_rust(path)) {
            return Ok(true);
        }
    }
    let why = if is_rust {
        "Rust's code in it never calls `calloc`, so it has an allocator of its own"
    } else {
        "neither it nor what it loads calls `malloc`, so it has an allocator of its own or needs none"
    };
    Err(unused(question, why))
}

fn unused(question: &Question<'_>, why: &'static str) -> PreloadError {
    PreloadError::Unused {
        library: question.library.display().to_string(),
        program: question.plain.file.display().to_string(),
        why,
    }
}

/// The last program that is the server, and the loader's name for it.
fn image_of_server<'i>(question: &Question<'_>, images: &'i [Image]) -> Option<(&'i Image, &'i String)> {
    for image in images.iter().rev() {
        let mut names = image.files.iter();
        if let Some(name) = names.find(|name| means_file(name, &question.plain.file, &question.with.teller)) {
            return Some((image, name));
        }
    }
    None
}

/// True if these calls show that a program allocates. Rust's library calls `malloc` here and there, but `calloc` only
/// where it is the allocator.
fn shows_use(calls: &BTreeSet<&str>, is_rust: bool) -> bool {
    if is_rust {
        calls.contains("calloc")
    } else {
        calls.contains("malloc") || calls.contains(NEW)
    }
}

fn contains_rust(file: &Path) -> bool {
    scan::file(file).is_ok_and(|scan| scan.marks.contains(&Mark::Rust))
}

/// The functions among `bound` that a file imports. The loader also binds others in the name of a file.
fn calls_of_own_code<'b>(path: &Path, bound: &BTreeSet<&'b str>) -> BTreeSet<&'b str> {
    let linking = elf::linking(path).unwrap_or_default();
    let mut calls = bound.clone();
    calls.retain(|call| linking.calls.contains(*call) || (*call == NEW && linking.calls_new));
    calls
}

/// The libraries that a file needs, with links resolved.
fn needed_libraries(question: &Question<'_>, file: &Path) -> BTreeSet<PathBuf> {
    let linking = elf::linking(file).unwrap_or_default();
    let libraries = elf::libraries(file, &linking, &question.with.library_path());
    libraries.iter().map(|path| real(path)).collect()
}

/// The preloaded libraries, and all that they need.
fn preloaded_files(question: &Question<'_>) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for library in &question.with.preloaded {
        files.insert(real(library));
        files.extend(needed_libraries(question, library));
    }
    files
}

/// True if the loader's name for a program means this file. The loader has the name by which the program was started: a
/// path, or a name that some other program looked up.
fn means_file(name: &str, file: &Path, started: &Path) -> bool {
    let path = Path::new(name);
    if name.contains('/') {
        return real(path) == *file || (path == started && real(started) == *file);
    }
    file.file_name().is_some_and(|own| own == name)
}
