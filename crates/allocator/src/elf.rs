//! Reads from a program of Linux its loader, its shared libraries, and which of the C library's allocation it calls.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::read::elf::{ElfFile, FileHeader};
use object::read::{ReadCache, ReadRef};
use object::{Endianness, FileKind, Object, elf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linking {
    /// The loader that it names; static programs and libraries name none.
    pub loader: Option<PathBuf>,
    /// The names of the libraries that it needs.
    pub needed: Vec<String>,
    /// The name by which other files need it.
    pub own_name: Option<String>,
    /// The directories in which its libraries are looked for first.
    pub run_path: Vec<String>,
    /// Functions of the C library's allocator that it calls.
    pub calls: BTreeSet<&'static str>,
    /// True if a needed library allocates for it, as in a Rust program with a shared standard library.
    pub allocates_elsewhere: bool,
    /// True if it calls an `operator new` of C++ that is not its own.
    pub calls_new: bool,
}

/// The kind of machine that a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    /// Width of its addresses in bits.
    bits: u8,
    processor: u16,
}

impl Machine {
    /// True if its addresses have 64 bits.
    pub fn is_wide(self) -> bool {
        self.bits == 64
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match elf::Machine(self.processor) {
            elf::EM_X86_64 => "x86-64",
            elf::EM_386 => "x86",
            elf::EM_AARCH64 => "AArch64",
            elf::EM_ARM => "ARM",
            elf::EM_RISCV => "RISC-V",
            elf::EM_PPC64 => "POWER",
            elf::EM_S390 => "s390",
            other => return write!(f, "{} bits of machine {}", self.bits, other.0),
        };
        write!(f, "{} bits of {name}", self.bits)
    }
}

/// The end of the name of the function through which all allocations of a Rust program go. Only a program with a shared
/// standard library imports it.
const RUST_ALLOCATES: &[u8] = b"__rust_alloc";

/// Functions whose import shows who allocates.
const CALLS: [&str; 3] = ["malloc", "calloc", "realloc"];

/// The loaders' default directories.
const USUAL: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// Libraries that are looked into, at most.
const MOST: usize = 64;

/// Reads how a file is linked; `None` if it is no ELF file, or a damaged one.
pub fn linking(path: &Path) -> Option<Linking> {
    let cache = ReadCache::new(File::open(path).ok()?);
    match FileKind::parse(&cache).ok()? {
        FileKind::Elf64 => read_linking::<elf::FileHeader64<Endianness>, _>(&cache),
        FileKind::Elf32 => read_linking::<elf::FileHeader32<Endianness>, _>(&cache),
        _ => None,
    }
}

fn read_linking<'data, Elf: FileHeader, R: ReadRef<'data>>(data: R) -> Option<Linking> {
    let file = ElfFile::<'data, Elf, R>::parse(data).ok()?;
    let mut linking = Linking::default();
    let table = file.elf_dynamic_table().ok()?;
    for entry in table.iter() {
        if ![elf::DT_NEEDED, elf::DT_SONAME, elf::DT_RUNPATH, elf::DT_RPATH].contains(&entry.tag) {
            continue;
        }
        let value = table.string(entry).ok().and_then(text);
        match entry.tag {
            elf::DT_NEEDED => linking.needed.extend(value),
            elf::DT_SONAME => linking.own_name = value,
            _ => {
                let paths = value.unwrap_or_default();
                linking.run_path.extend(paths.split(':').map(str::to_owned));
            }
        }
    }
    linking.loader = loader(&file, data);
    for import in file.imports().ok()?.flatten() {
        let symbol = import.name();
        let Some(name) = symbol.name() else { continue };
        let call = CALLS.into_iter().find(|call| name == call.as_bytes());
        linking.calls.extend(call);
        linking.allocates_elsewhere |= is_allocation_of_rust(name);
        linking.calls_new |= is_operator_new(name);
    }
    Some(linking)
}

fn is_allocation_of_rust(import: &[u8]) -> bool {
    import.ends_with(RUST_ALLOCATES)
}

/// `operator new(unsigned long)`, `operator new[](unsigned int)` and the like, as compilers write them.
fn is_operator_new(import: &[u8]) -> bool {
    import.starts_with(b"_Znw") || import.starts_with(b"_Zna")
}

/// True for a library that exports `malloc`; false also for a file that cannot be read.
pub fn serves_malloc(path: &Path) -> bool {
    exports_malloc(path).unwrap_or(false)
}

fn exports_malloc(path: &Path) -> Option<bool> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let mut exports = file.exports().ok()?.flatten();
    Some(exports.any(|export| export.name().name() == Some(b"malloc")))
}

/// The kind of machine that a file is for; `None` if it is no ELF file.
pub fn machine(path: &Path) -> Option<Machine> {
    header(path).map(|(machine, _)| machine)
}

/// True if a file can be loaded as a library; `None` if it is no ELF file. A position-independent program has the same
/// kind as a library, but names a loader.
pub fn is_shared(path: &Path) -> Option<bool> {
    let (_, kind) = header(path)?;
    Some(kind == elf::ET_DYN.0 && linking(path).is_some_and(|linking| linking.loader.is_none()))
}

/// The machine and the kind of file, from the header of an ELF file.
fn header(path: &Path) -> Option<(Machine, u16)> {
    let cache = ReadCache::new(File::open(path).ok()?);
    match FileKind::parse(&cache).ok()? {
        FileKind::Elf64 => read_header::<elf::FileHeader64<Endianness>, _>(&cache, 64),
        FileKind::Elf32 => read_header::<elf::FileHeader32<Endianness>, _>(&cache, 32),
        _ => None,
    }
}

fn read_header<'data, Elf: FileHeader, R: ReadRef<'data>>(data: R, bits: u8) -> Option<(Machine, u16)> {
    let header = Elf::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let processor = header.e_machine(endian).0;
    Some((Machine { bits, processor }, header.e_type(endian).0))
}

/// True for a program of Linux that no loader starts, so that nothing can be loaded into it from outside.
pub fn is_static(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let cache = ReadCache::new(file);
    match FileKind::parse(&cache) {
        Ok(FileKind::Elf64) => lacks_loader::<elf::FileHeader64<Endianness>, _>(&cache),
        Ok(FileKind::Elf32) => lacks_loader::<elf::FileHeader32<Endianness>, _>(&cache),
        _ => false,
    }
}

fn lacks_loader<'data, Elf: FileHeader, R: ReadRef<'data>>(data: R) -> bool {
    ElfFile::<'data, Elf, R>::parse(data).is_ok_and(|file| loader(&file, data).is_none())
}

fn loader<'data, Elf: FileHeader, R: ReadRef<'data>>(file: &ElfFile<'data, Elf, R>, data: R) -> Option<PathBuf> {
    use object::read::elf::ProgramHeader;
    let endian = file.endian();
    let mut headers = file.elf_program_headers().iter();
    let bytes = headers.find_map(|header| header.interpreter(endian, data).ok().flatten())?;
    text(bytes).map(PathBuf::from)
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

/// The libraries that a file needs, and those that they need.
#[derive(Debug, Default)]
pub struct Needed {
    /// The paths that exist, each once, in the order in which they were met.
    pub found: Vec<PathBuf>,
    /// False if one is in none of the directories that are searched here, where the loader may find it by its cache, or if
    /// there were too many.
    pub is_complete: bool,
}

/// The libraries that a file needs. `library_path` is the `LD_LIBRARY_PATH` of the environment.
pub fn needed(path: &Path, linking: &Linking, library_path: &[PathBuf]) -> Needed {
    let mut needed = Needed {
        found: Vec::new(),
        is_complete: true,
    };
    let mut waiting = vec![(path.to_owned(), linking.clone())];
    while let Some((file, linking)) = waiting.pop() {
        for name in &linking.needed {
            let library = resolve(name, &file, &linking, library_path);
            if library.as_ref().is_some_and(|library| needed.found.contains(library)) {
                continue;
            }
            let Some(library) = library.filter(|_| needed.found.len() < MOST) else {
                needed.is_complete = false;
                continue;
            };
            needed.found.push(library.clone());
            if let Some(linking) = self::linking(&library) {
                waiting.push((library, linking));
            }
        }
    }
    needed
}

/// The path of the library that `file` needs by this name: where the loader looks, but for its cache.
fn resolve(name: &str, file: &Path, linking: &Linking, library_path: &[PathBuf]) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let origin = file
        .parent()
        .map(|parent| parent.display().to_string())
        .unwrap_or_default();
    let run_path = linking.run_path.iter().map(|directory| {
        let directory = directory.replace("${ORIGIN}", &origin);
        PathBuf::from(directory.replace("$ORIGIN", &origin))
    });
    let own_directories = library_path.iter().cloned();
    own_directories
        .chain(run_path)
        .chain(USUAL.map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
}

/// True for a compiler's runtime library, which allocates for others only: with `operator new`, or to unwind.
pub fn is_runtime(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let starts = [
        "libstdc++.so", "libc++.so", "libc++abi.so", "libgcc_s.so", "libunwind.so",
    ];
    starts.iter().any(|start| name.starts_with(start))
}

/// True for a library that belongs to the C library, which contains an allocator.
pub fn is_libc(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let starts = [
        "libc.so", "libc-", "libm.so", "libpthread", "libdl.so", "librt.so", "libresolv", "ld-linux", "ld-musl",
        "libc.musl", "libutil.so", "libnss_", "libanl",
    ];
    starts.iter().any(|start| name.starts_with(start))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_loader_and_its_libraries() {
        let this = std::env::current_exe().unwrap();
        let linking = linking(&this).unwrap();
        if linking.loader.is_none() {
            return;
        }
        assert!(
            linking.needed.iter().any(|name| name.starts_with("libc.")),
            "{linking:?}"
        );
        assert!(linking.calls.contains("malloc"), "{linking:?}");
        let libraries = needed(&this, &linking, &[]).found;
        assert!(libraries.iter().any(|path| is_libc(path)), "{libraries:?}");
    }

    #[test]
    fn a_rust_program_that_shares_its_standard_library_allocates_through_it() {
        assert!(is_allocation_of_rust(b"_RNvCsfgHYwM92fyn_7___rustc12___rust_alloc"));
        for other in [
            "__rust_alloc_error_handler",
            "_RNvCs_7___rustc35___rust_no_alloc_shim_is_unstable_v2",
            "malloc",
        ] {
            assert!(!is_allocation_of_rust(other.as_bytes()), "{other}");
        }
        // A statically linked program, as this test is, contains its own.
        assert!(!linking(&std::env::current_exe().unwrap()).unwrap().allocates_elsewhere);
    }

    #[test]
    fn what_is_no_program_is_not_linked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("script");
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        assert_eq!(linking(&path), None);
        std::fs::write(&path, b"\x7fELF\x02\x01\x01").unwrap();
        assert_eq!(linking(&path), None);
        assert_eq!(linking(directory.path()), None);
    }

    #[test]
    fn a_library_is_looked_for_beside_what_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("libown.so");
        std::fs::write(&library, "").unwrap();
        let linking = Linking {
            run_path: vec!["$ORIGIN/../nowhere".to_owned(), "${ORIGIN}".to_owned()],
            ..Linking::default()
        };
        let program = directory.path().join("program");
        assert_eq!(resolve("libown.so", &program, &linking, &[]), Some(library));
        assert_eq!(resolve("libnothing.so", &program, &linking, &[]), None);
    }
}
