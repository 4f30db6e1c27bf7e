//! Finds the allocator in the bytes of a program, stripped or not, by texts that only an allocator has.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::golang;
use record::AllocatorFamily;

/// One read. Large, so that the search runs over long stretches.
const CHUNK: usize = 1 << 20;

/// Bytes of a program that are searched, at most.
const MOST: u64 = 4 << 30;

/// Something in a program that a text in its file shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// This allocator is in the file.
    Family(AllocatorFamily),
    /// jemalloc with the prefix of Rust's packages.
    RustJemalloc,
    /// A variable that other jemallocs read, as a separate text.
    Variable(&'static str),
    Go,
    Node,
    /// V8, in Node.js and in other programs.
    V8,
    /// CPython with its own allocator of small objects.
    Python,
    Rust,
    /// The GNU C library itself: the program is linked statically.
    Glibc,
    /// Error texts of musl, which no other C library has.
    Musl,
}

/// The texts. None is the beginning of another one, so that all are found in one pass.
const MARKS: [(&[u8], Mark); 20] = [
    (b"<jemalloc>: ", Mark::Family(AllocatorFamily::Jemalloc)),
    (b"_rjem_malloc", Mark::RustJemalloc),
    (b"_RJEM_MALLOC_CONF", Mark::RustJemalloc),
    (b"JE_MALLOC_CONF\0", Mark::Variable("JE_MALLOC_CONF")),
    (b"\0MALLOC_CONF\0", Mark::Variable("MALLOC_CONF")),
    (b"mimalloc: warning: ", Mark::Family(AllocatorFamily::Mimalloc)),
    (b"mi_process_init", Mark::Family(AllocatorFamily::Mimalloc)),
    (b"TCMALLOC_", Mark::Family(AllocatorFamily::Tcmalloc)),
    (b"TBB_MALLOC_", Mark::Family(AllocatorFamily::Tbbmalloc)),
    (b"sn_rust_alloc", Mark::Family(AllocatorFamily::Snmalloc)),
    (b"8snmalloc", Mark::Family(AllocatorFamily::Snmalloc)),
    (b"rpmalloc_initialize", Mark::Family(AllocatorFamily::Rpmalloc)),
    (b"SCUDO_OPTIONS", Mark::Family(AllocatorFamily::Scudo)),
    (golang::MAGIC, Mark::Go),
    (b"is not allowed in NODE_OPTIONS", Mark::Node),
    // Names of V8's flags and of CPython's allocators, with the end that they have in C.
    (b"\0semi_space_growth_factor\0", Mark::V8),
    (b"pymalloc_debug\0", Mark::Python),
    (b"/rustc/", Mark::Rust),
    (b"glibc.malloc.arena_max", Mark::Glibc),
    (b"No error information\0", Mark::Musl),
];

/// A program with more signs than these knows of allocators, as this one does, so its signs are no evidence.
const MOST_MARKS: usize = 10;

/// The longest text, less one byte: a text that ends in the next chunk begins at most this many bytes before it.
const OVERLAP: usize = 29;

static SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(MARKS.iter().map(|(text, _)| text))
        .expect("the texts are few and short")
});

/// The findings in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    pub marks: BTreeSet<Mark>,
    /// The release of Go that it was built with.
    pub go: Option<String>,
}

/// The marks of a file, read through once without keeping it.
pub fn file(path: &Path) -> io::Result<Scan> {
    let mut file = File::open(path)?;
    let (mut marks, mut go) = marks(&mut (&mut file).take(MOST))?;
    if marks.len() > MOST_MARKS {
        marks.retain(|mark| *mark == Mark::Rust);
        go = None;
    }
    // Neither C library exists in another format: there, its texts belong to a program that knows of it.
    if !is_elf(&mut file)? {
        marks.retain(|mark| !matches!(mark, Mark::Glibc | Mark::Musl));
    }
    let mut scan = Scan { marks, go: None };
    if let Some(at) = go {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(at))?;
        file.take(golang::ENOUGH as u64).read_to_end(&mut bytes)?;
        scan.go = golang::release(&bytes);
    }
    Ok(scan)
}

fn is_elf(file: &mut File) -> io::Result<bool> {
    let mut magic = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(4).read_to_end(&mut magic)?;
    Ok(magic == object::elf::ELFMAG)
}

/// The marks in a source, and the place of Go's first one.
fn marks(source: &mut impl Read) -> io::Result<(BTreeSet<Mark>, Option<u64>)> {
    let (mut matched, mut go) = (BTreeSet::new(), None);
    windows(source, OVERLAP, |window| {
        for hit in SEARCH.find_iter(window.bytes) {
            let mark = MARKS[hit.pattern().as_usize()].1;
            matched.insert(mark);
            if mark == Mark::Go && go.is_none() {
                go = Some(window.at + hit.start() as u64);
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok((matched, go))
}

pub fn contains(path: &Path, text: &str) -> io::Result<bool> {
    Ok(bytes_after(path, text, 0)?.is_some())
}

/// Up to `most` bytes after the first occurrence of a text in a file; `None` without one.
pub fn bytes_after(path: &Path, text: &str, most: usize) -> io::Result<Option<Vec<u8>>> {
    let finder = memchr::memmem::Finder::new(text.as_bytes());
    let mut matched = None;
    windows(&mut File::open(path)?.take(MOST), text.len() + most, |window| {
        let Some(start) = finder.find(window.bytes) else {
            return ControlFlow::Continue(());
        };
        let rest = &window.bytes[start + text.len()..];
        // Bytes that reach the end of this window are found whole in the next.
        if rest.len() < most && !window.is_last {
            return ControlFlow::Continue(());
        }
        matched = Some(rest[..most.min(rest.len())].to_vec());
        ControlFlow::Break(())
    })?;
    Ok(matched)
}

/// No name of a setting is longer.
const NAME: usize = 128;

/// The words in capitals that begin with `start`, as names of environment variables stand in a file.
pub fn names(path: &Path, start: &str) -> io::Result<BTreeSet<String>> {
    let finder = memchr::memmem::Finder::new(start.as_bytes());
    let mut matched = BTreeSet::new();
    windows(&mut File::open(path)?.take(MOST), NAME, |window| {
        for at in finder.find_iter(window.bytes) {
            let begins = at == 0 || !is_in_name(window.bytes[at - 1]);
            if begins
                && let Some(word) = name_at(&window, at)
                && word.len() > start.len()
            {
                matched.insert(String::from_utf8_lossy(word).into_owned());
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(matched)
}

/// The name that begins at an offset. `None` if it may go on after the window: the next one has it whole.
fn name_at<'w>(window: &Window<'w>, offset: usize) -> Option<&'w [u8]> {
    let rest = &window.bytes[offset..];
    match rest.iter().position(|byte| !is_in_name(*byte)) {
        Some(length) => Some(&rest[..length]),
        None if window.is_last => Some(rest),
        None => None,
    }
}

/// True for a byte that occurs in names of environment variables.
fn is_in_name(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

/// A part of a file.
struct Window<'w> {
    bytes: &'w [u8],
    /// Its offset in the file.
    at: u64,
    is_last: bool,
}

/// Shows a source in windows, each beginning with the last `overlap` bytes of the previous one, until `see` breaks off.
fn windows(
    source: &mut impl Read,
    overlap: usize,
    mut see: impl FnMut(Window<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK + overlap];
    let (mut kept, mut at) = (0, 0);
    loop {
        let read = fill(source, &mut buffer[kept..])?;
        let filled = kept + read;
        let is_last = read == 0;
        let bytes = &buffer[..filled];
        if see(Window { bytes, at, is_last }).is_break() || is_last {
            return Ok(());
        }
        kept = filled.min(overlap);
        buffer.copy_within(filled - kept..filled, 0);
        at += (filled - kept) as u64;
    }
}

/// Reads until the buffer is full or nothing is left.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_wherever_it_lies_also_across_reads() {
        let longest = MARKS.iter().map(|(text, _)| text.len()).max();
        assert_eq!(longest, Some(OVERLAP + 1));
        for (text, mark) in MARKS {
            for at in [0, CHUNK - 3, CHUNK + OVERLAP - 1, 2 * CHUNK + 5] {
                let mut bytes = vec![b'.'; 2 * CHUNK + 100];
                bytes[at..at + text.len()].copy_from_slice(text);
                let (matched, go) = marks(&mut &bytes[..]).unwrap();
                assert_eq!(matched, [mark].into(), "{at}");
                let place_of_go = if mark == Mark::Go { Some(at as u64) } else { None };
                assert_eq!(go, place_of_go);
            }
        }
        assert_eq!(marks(&mut &b""[..]).unwrap().0, BTreeSet::new());
    }

    #[test]
    fn the_c_libraries_of_linux_are_in_no_program_of_another_system() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        for (magic, matched) in [
            (&b"\x7fELF"[..], true),
            (b"MZ\x90\0", false),
            (b"\xcf\xfa\xed\xfe", false),
        ] {
            let text = [magic, b"glibc.malloc.arena_max\0No error information\0/rustc/"].concat();
            std::fs::write(&path, text).unwrap();
            let marks = file(&path).unwrap().marks;
            assert!(marks.contains(&Mark::Rust));
            assert_eq!(marks.contains(&Mark::Glibc) && marks.contains(&Mark::Musl), matched);
            assert_eq!(marks.len(), if matched { 3 } else { 1 });
        }
    }

    #[test]
    fn a_program_that_knows_every_allocator_has_none_of_them_by_that() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        std::fs::write(&path, MARKS.map(|(text, _)| text).concat()).unwrap();
        let scan = file(&path).unwrap();
        assert_eq!((scan.marks, scan.go), ([Mark::Rust].into(), None));
    }

    #[test]
    fn a_word_is_in_a_file_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut bytes = vec![0; CHUNK + 5];
        bytes.extend(b"madvdontneed");
        std::fs::write(&path, &bytes).unwrap();
        assert!(contains(&path, "madvdontneed").unwrap());
        assert!(!contains(&path, "madvdontneedy").unwrap());
    }

    #[test]
    fn names_of_settings_are_found_whole_also_across_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for at in [
            0,
            7,
            CHUNK - 3,
            CHUNK + NAME - 3,
            CHUNK + NAME - 12,
            2 * CHUNK + NAME - 12,
        ] {
            let names = names_after_zeros(at, "TCMALLOC_SKIP_MMAP", &path);
            assert_eq!(names, ["TCMALLOC_SKIP_MMAP"], "{at}");
        }
        let names = names_after_zeros(1, "TCMALLOC_A\0NO_TCMALLOC_B TCMALLOC_ TCMALLOC_C=1", &path);
        assert_eq!(names, ["TCMALLOC_A", "TCMALLOC_C"]);
    }

    /// Writes a file of `zeros` and a text. Returns the names in it.
    fn names_after_zeros(zeros: usize, text: &str, path: &Path) -> Vec<String> {
        let mut bytes = vec![0; zeros];
        bytes.extend(text.as_bytes());
        std::fs::write(path, &bytes).unwrap();
        names(path, "TCMALLOC_").unwrap().into_iter().collect()
    }
}
