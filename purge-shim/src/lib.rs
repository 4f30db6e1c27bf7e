//! Gives memory that a process has freed back to the system, when a signal says so.
//!
//! Preloaded into a server (`LD_PRELOAD`), with two variables set:
//!
//! - `LSP_SOAK_PURGE_SIGNAL`: the number of the signal;
//! - `LSP_SOAK_PURGE_DIR`: a directory, in which each process writes a file named by its process id.
//!
//! Without both the library does nothing at all. With them the file says `ready` once the process will listen, and gains one
//! line for each signal when the memory is given back:
//!
//! ```text
//! ready thread=4711 malloc=/lib/x86_64-linux-gnu/libc.so.6
//! released malloc_trim=1 nanos=301544
//! ```
//!
//! None of the allocators may be called in a signal handler, so that only wakes a thread. The thread is the library's
//! own, has a small stack, blocks all other signals and allocates nothing. A signal to that thread (`tgkill(2)`) disturbs
//! nobody; one to the process works too, but may interrupt a system call of another thread. A process that was forked
//! without exec has no such thread, and writes no file of its own.
#![no_std]

#[cfg(not(target_os = "linux"))]
compile_error!("memory is given back on a signal on Linux only");

mod allocator;
mod line;

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicI32, Ordering};

use allocator::Allocators;
use line::Line;

/// Stack of the thread: allocators need little of it, glibc's smallest is 16 KiB.
const STACK: usize = 128 * 1024;

/// The loader calls this when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// What wakes the thread.
static WAKE: Shared<libc::sem_t> = Shared(UnsafeCell::new(MaybeUninit::uninit()));
/// What the thread calls. Looked for before it starts: the loader allocates what it has to say about names that it does
/// not find, and in a new thread that would make glibc begin an arena.
static ALLOCATORS: Shared<Allocators> = Shared(UnsafeCell::new(MaybeUninit::uninit()));
/// The file that is written to.
static FILE: AtomicI32 = AtomicI32::new(-1);

/// What is written once, before the handler and the thread exist, which are all that use it.
struct Shared<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: nothing is written once there is a second thread, but for the semaphore, which is made for that.
unsafe impl<T> Sync for Shared<T> {}

extern "C" fn start() {
    let (Some(directory), Some(signal)) = (variable(c"LSP_SOAK_PURGE_DIR"), signal()) else {
        return;
    };
    let file = open(directory);
    if file < 0 {
        return;
    }
    FILE.store(file, Ordering::Release);
    // SAFETY: nothing else knows of it yet.
    unsafe { ALLOCATORS.0.get().write(MaybeUninit::new(Allocators::find())) };
    // SAFETY: nothing else knows of the semaphore yet.
    let made = unsafe { libc::sem_init(WAKE.0.get().cast(), 0, 0) };
    // The thread says `ready`; without that, nobody sends the signal.
    if made == 0 && listen(signal) {
        spawn(signal);
    }
}

/// The value of an environment variable.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends in a zero byte, and no other thread is there that could change the environment.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: the value ends in a zero byte and stays where it is: only `putenv` with the same name could free it.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// The signal to listen to: a real-time one, which no runtime uses for itself unless it was told to.
fn signal() -> Option<c_int> {
    let signal = variable(c"LSP_SOAK_PURGE_SIGNAL")?.to_str().ok()?.parse().ok()?;
    (libc::SIGRTMIN()..=libc::SIGRTMAX())
        .contains(&signal)
        .then_some(signal)
}

/// Opens the file of this process; below 0 if that fails.
fn open(directory: &CStr) -> c_int {
    let mut path = Line::new();
    path.bytes(directory.to_bytes());
    // SAFETY: takes nothing and cannot fail.
    let process = unsafe { libc::getpid() };
    path.text("/").number(process.unsigned_abs().into()).bytes(b"\0");
    let Ok(path) = CStr::from_bytes_with_nul(path.written()) else {
        return -1;
    };
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND | libc::O_CLOEXEC;
    // SAFETY: the path ends in a zero byte.
    unsafe { libc::open(path.as_ptr(), flags, 0o600) }
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

/// Starts the thread, which sees this signal only. If that cannot be, the file stays empty.
fn spawn(signal: c_int) {
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
        return;
    }
    // SAFETY: the attributes are initialized; a size that is refused leaves the default, which is as good.
    unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK) };
    // SAFETY: as before; nobody waits for the thread.
    unsafe { libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED) };
    // SAFETY: both sets are valid, the second as a place to write to.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, others.as_ptr(), before.as_mut_ptr()) };
    // SAFETY: all pointers are to places of the right types, and the function never returns.
    unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), serve, ptr::null_mut()) };
    // SAFETY: the set was written above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    // SAFETY: they are initialized and not used any more.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
}

/// The thread: gives memory back, once for each signal.
extern "C" fn serve(_nothing: *mut c_void) -> *mut c_void {
    // SAFETY: it was written before the thread was started, and is not written again.
    let allocators = unsafe { &*ALLOCATORS.0.get().cast::<Allocators>() };
    // SAFETY: takes nothing and cannot fail.
    let thread = unsafe { libc::gettid() };
    let mut line = Line::new();
    line.text("ready thread=").number(thread.unsigned_abs().into());
    line.text(" malloc=").bytes(allocators.owner().to_bytes()).text("\n");
    write(&line);
    loop {
        // SAFETY: the semaphore was initialized before the thread was started.
        let woken = unsafe { libc::sem_wait(WAKE.0.get().cast()) };
        if woken == 0 {
            write(&allocators.release());
        }
    }
}

/// Writes one line to the file. A disk that is full has no line, which is read as not released.
fn write(line: &Line) {
    let bytes = line.written();
    // SAFETY: the pointer and the length are of the same bytes.
    unsafe { libc::write(FILE.load(Ordering::Acquire), bytes.as_ptr().cast(), bytes.len()) };
}

#[panic_handler]
fn panic(_info: &core::panic::PanicInfo) -> ! {
    // SAFETY: takes nothing and does not return.
    unsafe { libc::abort() }
}
