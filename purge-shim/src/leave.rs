//! Programs that go into a namespace that the kernel opens only to those with a single thread: ours ends before.

use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The library's thread; 0 where there is none.
static THREAD: AtomicI32 = AtomicI32::new(0);
/// Set once the thread is to end.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Keeps the number of the library's thread, by which it is waited for when it ends.
pub fn set_thread(thread: c_int) {
    THREAD.store(thread, Ordering::Release);
}

/// True once the thread is to end: it looks each time it wakes.
pub fn must_end() -> bool {
    ENDS.load(Ordering::Acquire)
}

/// In place of the C library's, which does no more than the system call (unshare(2)).
#[unsafe(no_mangle)]
extern "C" fn unshare(flags: c_int) -> c_int {
    if flags & libc::CLONE_NEWUSER != 0 {
        end_thread();
    }
    // SAFETY: the arguments are those of the caller, and the kernel looks at them.
    unsafe { libc::syscall(libc::SYS_unshare, c_long::from(flags)) as c_int }
}

/// In place of the C library's, which does no more than the system call (setns(2)).
#[unsafe(no_mangle)]
extern "C" fn setns(namespace: c_int, kind: c_int) -> c_int {
    end_thread();
    // SAFETY: the arguments are those of the caller, and the kernel looks at them.
    unsafe { libc::syscall(libc::SYS_setns, c_long::from(namespace), c_long::from(kind)) as c_int }
}

/// Ends the thread for good, and waits until the kernel does not count it any more. In a process that was forked the
/// number is of no thread.
fn end_thread() {
    let thread = THREAD.load(Ordering::Acquire);
    if thread == 0 {
        return;
    }
    ENDS.store(true, Ordering::Release);
    crate::wake(0);
    // SAFETY: takes nothing and cannot fail.
    let process = unsafe { libc::getpid() };
    // SAFETY: signal 0 only asks whether the thread is there.
    while unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) } == 0 {
        // SAFETY: takes nothing and cannot fail.
        unsafe { libc::sched_yield() };
    }
}
