//! How much of what a server was sent still lies in the pipe to it: a pipe takes what nobody reads.

use tokio::process::ChildStdin;

/// A look into the pipe to a server's stdin. It keeps the pipe open: a server sees the end of its input only when both
/// are gone.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct Gauge(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Gauge {
    /// Of this pipe; `None` where the system cannot tell.
    pub fn of(stdin: &ChildStdin) -> Option<Gauge> {
        use std::os::fd::AsFd;
        stdin.as_fd().try_clone_to_owned().ok().map(Gauge)
    }

    /// Bytes that were taken by the pipe and not read yet; 0 where that is not known.
    pub(in crate::lsp) fn unread(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.0).unwrap_or(0)
    }
}

/// Nothing: from this end other systems do not tell.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub struct Gauge(std::convert::Infallible);

#[cfg(not(target_os = "linux"))]
impl Gauge {
    /// Of this pipe; `None` where the system cannot tell.
    pub fn of(_stdin: &ChildStdin) -> Option<Gauge> {
        None
    }

    pub(in crate::lsp) fn unread(&self) -> u64 {
        match self.0 {}
    }
}
