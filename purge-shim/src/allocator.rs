//! The allocators that a process has, and how each is told to give back what it holds.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::{self, MaybeUninit};
use core::ptr;

use crate::line::Line;

/// `malloc_trim(3)`.
type Trim = unsafe extern "C" fn(usize) -> c_int;
/// jemalloc's `mallctl(3)`.
type Control = unsafe extern "C" fn(*const c_char, *mut c_void, *mut usize, *mut c_void, usize) -> c_int;
/// mimalloc's `mi_collect`; true to be thorough.
type Collect = unsafe extern "C" fn(bool);
/// gperftools' `MallocExtension_ReleaseFreeMemory`.
type Release = unsafe extern "C" fn();
/// oneTBB's `scalable_allocation_command`.
type Command = unsafe extern "C" fn(c_int, *mut c_void) -> c_int;

const RELEASE: &CStr = c"MallocExtension_ReleaseFreeMemory";
const COMMAND: &CStr = c"scalable_allocation_command";
/// All arenas: `MALLCTL_ARENAS_ALL` is 4096 (jemalloc 5, jemalloc_macros.h.in).
const PURGE_ALL: &CStr = c"arena.4096.purge";
/// `TBBMALLOC_CLEAN_ALL_BUFFERS` (oneTBB, scalable_allocator.h).
const CLEAN_ALL_BUFFERS: c_int = 0;

/// `dladdr1`: hand out the entry of the symbol table (glibc, dlfcn.h).
const RTLD_DL_SYMENT: c_int = 1;
/// The section of a symbol that its file does not define (elf.h).
const SHN_UNDEF: u16 = 0;

/// An entry of a symbol table.
#[cfg(target_pointer_width = "64")]
type Symbol = libc::Elf64_Sym;
#[cfg(target_pointer_width = "32")]
type Symbol = libc::Elf32_Sym;

/// `dladdr1`, which only glibc has: `dladdr(3)` that can hand out the entry of the symbol table too.
type Locate = unsafe extern "C" fn(*const c_void, *mut libc::Dl_info, *mut *mut c_void, c_int) -> c_int;

/// The allocators that can be reached: one that a program links without exporting its functions cannot.
pub struct Allocators {
    malloc_owner: &'static CStr,
    trim: Option<Trim>,
    control: Option<(&'static CStr, Control)>,
    collect: Option<Collect>,
    release: Option<Release>,
    command: Option<Command>,
}

impl Allocators {
    /// Looks for the functions of each allocator.
    pub fn find() -> Allocators {
        let prefixes = [c"mallctl", c"_rjem_mallctl", c"je_mallctl"];
        Allocators {
            malloc_owner: find_malloc_owner(),
            // SAFETY: the C library's own, with the type of malloc_trim(3).
            trim: symbol(c"malloc_trim").map(|found| unsafe { mem::transmute::<*mut c_void, Trim>(found) }),
            control: prefixes.into_iter().find_map(|name| {
                let found = symbol(name)?;
                // SAFETY: jemalloc's, under whatever prefix, with the type of mallctl(3).
                Some((name, unsafe { mem::transmute::<*mut c_void, Control>(found) }))
            }),
            // SAFETY: mimalloc's, with the type of mimalloc.h.
            collect: symbol(c"mi_collect").map(|found| unsafe { mem::transmute::<*mut c_void, Collect>(found) }),
            release: symbol(RELEASE)
                // SAFETY: gperftools', with the type of malloc_extension_c.h.
                .map(|found| unsafe { mem::transmute::<*mut c_void, Release>(found) }),
            command: symbol(COMMAND)
                // SAFETY: oneTBB's, with the type of scalable_allocator.h; its result is a C enumeration.
                .map(|found| unsafe { mem::transmute::<*mut c_void, Command>(found) }),
        }
    }

    /// The file whose `malloc` the process calls; `?` where the loader does not know.
    pub fn malloc_owner(&self) -> &'static CStr {
        self.malloc_owner
    }

    /// Has each allocator give back what it can. Returns a line with each answer and the nanoseconds of them all.
    pub fn release(&self) -> Line {
        let mut line = Line::new();
        line.push_text("released");
        let began = nanos();
        if let Some((name, control)) = self.control {
            let none = ptr::null_mut();
            // SAFETY: `purge` neither reads nor writes a value.
            let answer = unsafe { control(PURGE_ALL.as_ptr(), none, none.cast(), none, 0) };
            push_answer(&mut line, name, answer);
        }
        if let Some(collect) = self.collect {
            // SAFETY: may be called by any thread.
            unsafe { collect(true) };
            push_answer(&mut line, c"mi_collect", 0);
        }
        if let Some(release) = self.release {
            // SAFETY: may be called by any thread.
            unsafe { release() };
            push_answer(&mut line, RELEASE, 0);
        }
        if let Some(command) = self.command {
            // SAFETY: this command takes no argument.
            let answer = unsafe { command(CLEAN_ALL_BUFFERS, ptr::null_mut()) };
            push_answer(&mut line, COMMAND, answer);
        }
        if let Some(trim) = self.trim {
            // SAFETY: may be called by any thread; a padding of 0 keeps nothing.
            let answer = unsafe { trim(0) };
            push_answer(&mut line, c"malloc_trim", answer);
        }
        line.push_text(" nanos=")
            .push_number(nanos().saturating_sub(began))
            .push_text("\n");
        line
    }
}

/// Finds the file whose `malloc` the process calls; `?` where the loader does not know.
fn find_malloc_owner() -> &'static CStr {
    let unknown = c"?";
    let Some(found) = symbol(c"malloc") else { return unknown };
    let (mut file, is_defined) = file_of(found);
    if !is_defined {
        // A program that is not position-independent and takes the address of `malloc` has a stub of that name. What
        // serves it stands behind this library only if none stands before.
        if !is_first_library() {
            return unknown;
        }
        // SAFETY: the name ends in a zero byte.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc".as_ptr()) };
        (file, _) = file_of(next);
    }
    if file.is_null() {
        return unknown;
    }
    // SAFETY: the loader's own text, which ends in a zero byte and stays while the library is loaded, and the one that
    // provides `malloc` is never unloaded.
    unsafe { CStr::from_ptr(file) }
}

/// The file that a function is in, and true if it is defined there or the loader does not tell.
fn file_of(function: *mut c_void) -> (*const c_char, bool) {
    let mut place = MaybeUninit::<libc::Dl_info>::zeroed();
    let mut entry: *mut c_void = ptr::null_mut();
    match symbol(c"dladdr1") {
        Some(found) => {
            // SAFETY: glibc's, with the type of dladdr(3) and the two parameters of `Locate`.
            let locate = unsafe { mem::transmute::<*mut c_void, Locate>(found) };
            // SAFETY: takes any address, and places to write to.
            unsafe { locate(function, place.as_mut_ptr(), &mut entry, RTLD_DL_SYMENT) };
        }
        None => {
            // SAFETY: takes any address, and a place to write to.
            unsafe { libc::dladdr(function, place.as_mut_ptr()) };
        }
    }
    // SAFETY: all zero is a valid value, and so is what was written.
    let file = unsafe { place.assume_init() }.dli_fname;
    // SAFETY: null, or an entry of a symbol table that stays while its file is loaded.
    let symbol = unsafe { entry.cast::<Symbol>().as_ref() };
    (file, symbol.is_none_or(|symbol| symbol.st_shndx != SHN_UNDEF))
}

/// True if the loader looks into this library before all others.
fn is_first_library() -> bool {
    let mut first: *mut c_void = ptr::null_mut();
    // SAFETY: the function below, and a place for what it finds.
    unsafe { libc::dl_iterate_phdr(Some(note_library), (&raw mut first).cast()) };
    let mut own = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: an address in this library, and a place to write to.
    unsafe { libc::dladdr(is_first_library as *const c_void, own.as_mut_ptr()) };
    // SAFETY: all zero is a valid value, and so is what was written.
    let own = unsafe { own.assume_init() };
    !first.is_null() && first == own.dli_fbase
}

/// Notes where the first library of a file begins, and ends the walk with it. The program has no name, and the kernel's
/// own library (`linux-vdso.so.1`) no path.
extern "C" fn note_library(info: *mut libc::dl_phdr_info, _size: libc::size_t, first: *mut c_void) -> c_int {
    // SAFETY: the loader's own, valid during the call.
    let info = unsafe { &*info };
    if info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: the loader's own text, which ends in a zero byte.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) };
    if !name.to_bytes().contains(&b'/') {
        return 0;
    }
    // SAFETY: the place that was given to the walk.
    unsafe { *first.cast::<*mut c_void>() = info.dlpi_addr as *mut c_void };
    1
}

/// Adds ` name=answer`.
fn push_answer(line: &mut Line, name: &CStr, answer: c_int) {
    line.push_text(" ").push_bytes(name.to_bytes()).push_text("=");
    if answer < 0 {
        line.push_text("-");
    }
    line.push_number(answer.unsigned_abs().into());
}

/// Where the loader finds a function of that name.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends in a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { None } else { Some(found) }
}

/// A clock that only goes forward.
fn nanos() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place of the right type to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
