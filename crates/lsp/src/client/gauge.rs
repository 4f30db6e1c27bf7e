//! Counts unread bytes in the pipe to a server: the pipe accepts bytes that nobody reads.

use tokio::process::ChildStdin;

/// A second handle of the pipe to a server's stdin. It keeps the pipe open: the server sees the end of input only when
/// both handles are closed.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct Gauge(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Gauge {
    /// For this pipe; `None` if the system cannot count.
    pub fn of(stdin: &ChildStdin) -> Option<Gauge> {
        use std::os::fd::AsFd;
        stdin.as_fd().try_clone_to_owned().ok().map(Gauge)
    }

    /// Bytes in the pipe that were not read; 0 if unknown.
    pub(crate) fn unread(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.0).unwrap_or(0)
    }

    /// True if nobody can read from the pipe any more.
    pub(crate) fn is_closed(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut pipe = [PollFd::new(&self.0, PollFlags::empty())];
        poll(&mut pipe, Some(&now)).is_ok() && pipe[0].revents().contains(PollFlags::ERR)
    }
}

/// Empty: other systems do not report this from the writing end.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub struct Gauge(std::convert::Infallible);

#[cfg(not(target_os = "linux"))]
impl Gauge {
    /// For this pipe; `None` if the system cannot count.
    pub fn of(_stdin: &ChildStdin) -> Option<Gauge> {
        None
    }

    pub(crate) fn unread(&self) -> u64 {
        match self.0 {}
    }

    pub(crate) fn is_closed(&self) -> bool {
        match self.0 {}
    }
}
