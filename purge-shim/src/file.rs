//! The file in which a process says what it did. No descriptor of it is kept: a program that closes or replaces numbers
//! that it did not open would end it, or get what is written here into a file of its own.

use core::ffi::{CStr, c_int};
use core::mem::MaybeUninit;

use crate::line::Line;

/// `CLOSE_RANGE_UNSHARE` (close_range(2)): the caller gets a table of its own first.
const UNSHARE: libc::c_uint = 2;

/// The file of one process, by its path.
pub struct File {
    /// Ends in a zero byte.
    path: Line,
}

impl File {
    /// The file of this process in `directory`, named by its process id.
    pub fn of_process(directory: &CStr) -> File {
        let mut path = Line::new();
        path.push_bytes(directory.to_bytes());
        // SAFETY: takes nothing and cannot fail.
        let process = unsafe { libc::getpid() };
        path.push_text("/")
            .push_number(process.unsigned_abs().into())
            .push_bytes(b"\0");
        File { path }
    }

    /// Adds a line. Failures are ignored: the reader takes a missing line as not released.
    pub fn add(&self, line: &Line) {
        let Some(file) = self.open() else { return };
        let bytes = line.as_bytes();
        if is_own(file) {
            // SAFETY: the pointer and the length are of the same bytes.
            unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) };
        }
        // SAFETY: it was opened above, and is not used any more.
        unsafe { libc::close(file) };
    }

    /// Opens the file to append, so that lines stay which the process wrote before it became another program
    /// (`execve(2)`). Does not wait for a reader if it is a pipe.
    fn open(&self) -> Option<c_int> {
        let path = CStr::from_bytes_with_nul(self.path.as_bytes()).ok()?;
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        // SAFETY: the path ends in a zero byte.
        let file = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600) };
        if file < 0 { None } else { Some(file) }
    }
}

/// True for a regular file of this user with a single name: any other was not made here, and is not written to.
fn is_own(file: c_int) -> bool {
    let mut place = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: a place of the right type to write to.
    let known = unsafe { libc::fstat(file, place.as_mut_ptr()) } == 0;
    // SAFETY: all zero is a valid value, and so is what was written.
    let facts = unsafe { place.assume_init() };
    // SAFETY: takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    known && facts.st_mode & libc::S_IFMT == libc::S_IFREG && facts.st_uid == user && facts.st_nlink == 1
}

/// Gives the calling thread a table of descriptors of its own with nothing in it, so that the numbers that it opens are
/// never seen by the others, and it holds no pipe of theirs open. Before Linux 5.9 it goes on with theirs.
pub fn unshare_descriptors() {
    let (first, last): (libc::c_uint, libc::c_uint) = (0, libc::c_uint::MAX);
    // SAFETY: the descriptors are closed for this thread only, which has opened none.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, UNSHARE) };
}

/// True if this process is in the namespace of process ids of that name; false where `/proc` is not there.
pub fn is_in_namespace(name: &CStr) -> bool {
    let mut place = [0_u8; 64];
    let link = c"/proc/self/ns/pid".as_ptr();
    // SAFETY: the path ends in a zero byte, and the length is that of the place.
    let length = unsafe { libc::readlink(link, place.as_mut_ptr().cast(), place.len()) };
    usize::try_from(length).is_ok_and(|length| place.get(..length) == Some(name.to_bytes()))
}
