//! Gives memory that a process has freed back to the system, when a signal says so.
//!
//! Preloaded into a server (`LD_PRELOAD`), with two variables set:
//!
//! - `LSP_SOAK_PURGE_SIGNAL`: the number of the signal;
//! - `LSP_SOAK_PURGE_DIR`: a directory, in which each process writes a file named by its process id.
//!
//! Without both the library does nothing at all. With them the file says `ready` before the program begins, and gains
//! one line for each signal when the memory is given back. A program that becomes another one (`execve(2)`) says
//! `ready` again, and the last one holds:
//!
//! ```text
//! ready thread=4711 malloc=/lib/x86_64-linux-gnu/libc.so.6
//! released malloc_trim=1 nanos=301544
//! ```
//!
//! None of the allocators may be called in a signal handler, so that only wakes a thread. The thread is the library's
//! own, has a small stack and descriptors of its own, blocks all other signals and allocates nothing. A signal to that
//! thread (`tgkill(2)`) disturbs nobody; one to the process works too, but may interrupt a system call of another
//! thread. A process that was forked without exec has no such thread, and writes no file of its own.
//!
//! A program that goes into a user namespace must have a single thread (unshare(2), setns(2)): the library's thread
//! ends before, and that process does not listen any more.
//!
//! A third variable, `LSP_SOAK_PURGE_PIDS`, names the namespace of process ids that the files are named in, as the link
//! `/proc/self/ns/pid` does: in another one a number is another process, so that the library does nothing there.
//! Without it all are taken to be in one.
// A panic that unwinds needs the standard library: so it is checked with it, and built (`--profile preloaded`) without.
#![cfg_attr(panic = "abort", no_std)]

#[cfg(not(target_os = "linux"))]
compile_error!("memory is given back on a signal on Linux only");

mod allocator;
mod file;
mod leave;
mod line;

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;

use allocator::Allocators;
use file::File;
use line::Line;

/// Stack of the thread: allocators need little of it, glibc's smallest is 16 KiB.
const STACK: usize = 128 * 1024;

/// The loader calls this when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// The thread waits on this; the handler of the signal posts it.
static WAKE: Shared<libc::sem_t> = Shared(UnsafeCell::new(MaybeUninit::uninit()));
/// The allocators that the thread calls. They are looked for before it starts: the loader allocates a message about
/// each name that it does not find, and in a new thread that would make glibc begin an arena.
static ALLOCATORS: Shared<Allocators> = Shared(UnsafeCell::new(MaybeUninit::uninit()));
/// The program waits on this until the thread, which posts it, is ready.
static READY: Shared<libc::sem_t> = Shared(UnsafeCell::new(MaybeUninit::uninit()));
/// The file of this process, to which the thread adds lines.
static FILE: Shared<File> = Shared(UnsafeCell::new(MaybeUninit::uninit()));

/// A place that is written once, before the handler and the thread exist.
struct Shared<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: nothing is written once there is a second thread, but for the semaphores, which are made for that.
unsafe impl<T> Sync for Shared<T> {}

extern "C" fn start() {
    let (Some(directory), Some(signal)) = (variable(c"LSP_SOAK_PURGE_DIR"), signal()) else {
        return;
    };
    if !is_named_here() {
        return;
    }
    // SAFETY: nothing else knows of it yet.
    unsafe { FILE.0.get().write(MaybeUninit::new(File::of_process(directory))) };
    // SAFETY: nothing else knows of it yet.
    unsafe { ALLOCATORS.0.get().write(MaybeUninit::new(Allocators::find())) };
    // The thread says `ready`; without that, nobody sends the signal.
    if make_semaphore(&WAKE) && make_semaphore(&READY) && listen(signal) && spawn(signal) {
        // The program finds all as it will stay: the thread has left the program's descriptors by then.
        wait(&READY);
    }
}

/// True if a process has the same id here as for the reader of the files, or if no namespace is named.
fn is_named_here() -> bool {
    variable(c"LSP_SOAK_PURGE_PIDS").is_none_or(file::is_in_namespace)
}

/// Makes a semaphore that counts nothing yet; false if that cannot be.
fn make_semaphore(semaphore: &Shared<libc::sem_t>) -> bool {
    // SAFETY: nothing else knows of the semaphore yet.
    unsafe { libc::sem_init(semaphore.0.get().cast(), 0, 0) == 0 }
}

/// Waits until a semaphore counts something, over signals that interrupt it.
fn wait(semaphore: &Shared<libc::sem_t>) {
    // SAFETY: the semaphore was initialized before the thread was started, and stays.
    while unsafe { libc::sem_wait(semaphore.0.get().cast()) } != 0 {}
}

/// The value of an environment variable.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends in a zero byte, and no other thread is there that could change the environment.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: the value ends in a zero byte and stays where it is: only `putenv` with the same name could free it.
    Some(unsafe { CStr::from_ptr(value) })
}

/// The signal to listen to: a real-time one, which no runtime uses for itself unless it was told to.
fn signal() -> Option<c_int> {
    let signal = variable(c"LSP_SOAK_PURGE_SIGNAL")?.to_str().ok()?.parse().ok()?;
    if (libc::SIGRTMIN()..=libc::SIGRTMAX()).contains(&signal) {
        Some(signal)
    } else {
        None
    }
}

/// Has the signal wake the thread; false if that cannot be.
fn listen(signal: c_int) -> bool {
    // SAFETY: all zero is a valid `sigaction`: no flags, an empty mask, the default handler.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = wake as extern "C" fn(c_int) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is whole, and its handler calls only what may be called in one.
    unsafe { libc::sigaction(signal, &action, ptr::null_mut()) == 0 }
}

/// The handler. It leaves errno alone, since the semaphore never has so many to count.
extern "C" fn wake(_signal: c_int) {
    // SAFETY: one of the functions that may be called in a handler (signal-safety(7)); the semaphore was initialized
    // before the handler was set.
    unsafe { libc::sem_post(WAKE.0.get().cast()) };
}

/// Starts the thread, which sees this signal only; false if that cannot be, and then there is no file.
fn spawn(signal: c_int) -> bool {
    let mut others = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: fills the set.
    unsafe { libc::sigfillset(others.as_mut_ptr()) };
    // SAFETY: the set was filled.
    unsafe { libc::sigdelset(others.as_mut_ptr(), signal) };
    // SAFETY: initializes the attributes.
    if unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: the attributes are initialized; a size that is refused leaves the default, which is as good.
    unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK) };
    // SAFETY: as before; nobody waits for the thread.
    unsafe { libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED) };
    // SAFETY: both sets are valid, the second as a place to write to.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, others.as_ptr(), before.as_mut_ptr()) };
    // SAFETY: all pointers are to places of the right types, and what the function uses stays for ever.
    let started = unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), serve, ptr::null_mut()) };
    // SAFETY: the set was written above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    // SAFETY: they are initialized and not used any more.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    started == 0
}

/// The thread: gives memory back, once for each signal.
extern "C" fn serve(_nothing: *mut c_void) -> *mut c_void {
    // SAFETY: it was written before the thread was started, and is not written again.
    let allocators = unsafe { &*ALLOCATORS.0.get().cast::<Allocators>() };
    // SAFETY: as before.
    let file = unsafe { &*FILE.0.get().cast::<File>() };
    file::unshare_descriptors();
    // SAFETY: takes nothing and cannot fail.
    let thread = unsafe { libc::gettid() };
    let mut line = Line::new();
    line.push_text("ready thread=")
        .push_number(thread.unsigned_abs().into());
    line.push_text(" malloc=")
        .push_bytes(allocators.malloc_owner().to_bytes())
        .push_text("\n");
    file.add(&line);
    leave::set_thread(thread);
    // SAFETY: the semaphore was initialized before the thread was started.
    unsafe { libc::sem_post(READY.0.get().cast()) };
    loop {
        wait(&WAKE);
        if leave::must_end() {
            return ptr::null_mut();
        }
        file.add(&allocators.release());
    }
}

#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo) -> ! {
    // SAFETY: takes nothing and does not return.
    unsafe { libc::abort() }
}
