//! Verifies that a server would use a preloaded allocator: by its files, and by what it said when it ran for its version.

use std::path::Path;

use super::super::detect::{Inspected, ProbeEnd};
use super::super::elf::Linking;
use super::super::probe::Subject;
use super::super::scan::Mark;
use super::super::{elf, scan, version_suffix};
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
    /// The server's own code would not call it.
    #[error("`{library}` would not be used by `{program}`: {why}; to measure another one, build the server with it")]
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

/// A server and the library to preload.
pub struct Question<'q> {
    pub library: &'q Path,
    /// The findings without a preload.
    pub plain: &'q Inspected,
    /// The findings with everything that is preloaded.
    pub with: &'q Inspected,
    /// The server with everything that is preloaded.
    pub subject: &'q Subject,
}

/// True if the library serves the server's `malloc`: the loader did not complain of it when the server ran for its
/// version, and by the rules of loaders a function that a program imports comes from a preloaded library first. False if
/// that is not known. An error if the preload cannot work. A run shows more: which processes mapped the library, and what
/// it had.
pub fn verify(question: &Question<'_>) -> Result<bool, PreloadError> {
    check_files(question)?;
    let library = question.library.display().to_string();
    if let Some(why) = loader_complaint(&question.with.stderr, &library) {
        let program = question.subject.program.display().to_string();
        return Err(PreloadError::NotLoaded { library, program, why });
    }
    if question.with.probe == ProbeEnd::Signal && question.plain.probe == ProbeEnd::Exit {
        let shown = question.subject.version_command();
        return Err(PreloadError::Fatal { shown, library });
    }
    // What a shell calls does not concern the program that it starts.
    if question.plain.is_launcher || !is_glibc(question.plain) {
        return Ok(false);
    }
    Ok(uses_malloc(question, &library)? && question.with.probe == ProbeEnd::Exit)
}

/// The reason why the loader rejected a library: the parentheses of its complaint.
fn loader_complaint(stderr: &str, library: &str) -> Option<String> {
    let line = stderr
        .lines()
        .find(|line| line.contains("cannot be preloaded") && line.contains(library))?;
    let (_, rest) = line.split_once("cannot be preloaded")?;
    let parenthesis = rest
        .trim_start()
        .strip_prefix('(')
        .and_then(|rest| rest.rsplit_once(')'));
    Some(match parenthesis {
        Some((why, _)) => why.to_owned(),
        None => "it does not say why".to_owned(),
    })
}

/// True if the GNU C library's loader starts the program. It complains of a library that it cannot preload; others may
/// not.
fn is_glibc(inspected: &Inspected) -> bool {
    let loader = inspected.loader.as_ref().map(|loader| loader.display().to_string());
    loader.is_some_and(|loader| libc_named(&loader) == AllocatorFamily::Glibc)
}

/// An error if the files alone show that the preload cannot work.
fn check_files(question: &Question<'_>) -> Result<(), PreloadError> {
    let Inspected {
        facts, file, loader, ..
    } = question.plain;
    let program = file.display().to_string();
    let is_built_in = has_marks(file, facts.family);
    let holder = if is_built_in {
        program.clone()
    } else {
        question.subject.program.display().to_string()
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
    let file = &question.plain.file;
    let linking = elf::linking(file).unwrap_or_default();
    let needed = elf::needed(file, &linking, &question.subject.library_path()).found;
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

/// The C library with a loader or a library of this name. `libc.so` is musl's own name; glibc's is `libc.so.6`.
fn libc_named(name: &str) -> AllocatorFamily {
    if name.contains("musl") || name == "libc.so" {
        AllocatorFamily::Musl
    } else {
        AllocatorFamily::Glibc
    }
}

/// True if the server's own code imports `malloc`; false if a library that it needs was not found, which may. An error if
/// it does not. Other imports show nothing: the C library calls `malloc` in every process.
fn uses_malloc(question: &Question<'_>, library: &str) -> Result<bool, PreloadError> {
    if !elf::serves_malloc(question.library) {
        return Err(PreloadError::NoAllocator(library.to_owned()));
    }
    let file = &question.plain.file;
    if elf::serves_malloc(file) {
        let why = "it brings a `malloc` of its own, to which the loader binds every call";
        return Err(unused(question, why));
    }
    let is_rust = contains_rust(file);
    let linking = elf::linking(file).unwrap_or_default();
    if allocates(&linking, is_rust) {
        return Ok(true);
    }
    let needed = elf::needed(file, &linking, &question.subject.library_path());
    for library in needed.found {
        if elf::is_libc(&library) || elf::is_runtime(&library) {
            continue;
        }
        let linking = elf::linking(&library).unwrap_or_default();
        if allocates(&linking, is_rust) && (!is_rust || contains_rust(&library)) {
            return Ok(true);
        }
    }
    if !needed.is_complete {
        return Ok(false);
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

/// True if the functions that a file imports show that it allocates. Rust's library calls `malloc` here and there, but
/// `calloc` only where it is the allocator.
fn allocates(linking: &Linking, is_rust: bool) -> bool {
    if is_rust {
        linking.calls.contains("calloc")
    } else {
        linking.calls.contains("malloc") || linking.calls_new
    }
}

fn contains_rust(file: &Path) -> bool {
    scan::file(file).is_ok_and(|scan| scan.marks.contains(&Mark::Rust))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_loader_complains_of_is_in_parentheses() {
        const JE: &str = "/usr/lib/libjemalloc.so.2";
        let stderr = "ERROR: ld.so: object '/usr/lib/libjemalloc.so.2' from LD_PRELOAD cannot be preloaded (cannot allocate \
                    memory in static TLS block): ignored.\n";
        assert_eq!(
            loader_complaint(stderr, JE).as_deref(),
            Some("cannot allocate memory in static TLS block")
        );
        assert_eq!(loader_complaint(stderr, "/other.so"), None);
        assert_eq!(loader_complaint("all is well", JE), None);
    }

    #[test]
    fn a_c_library_is_known_by_its_name() {
        for name in ["libc.so", "libc.musl-x86_64.so.1", "/lib/ld-musl-x86_64.so.1"] {
            assert_eq!(libc_named(name), AllocatorFamily::Musl, "{name}");
        }
        for name in ["libc.so.6", "/lib64/ld-linux-x86-64.so.2"] {
            assert_eq!(libc_named(name), AllocatorFamily::Glibc, "{name}");
        }
    }
}
