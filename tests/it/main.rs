//! Integration tests without a server other than small scripts.

mod compare;
mod documents;
mod drive;
mod gate;
mod init;
mod lsp;
#[cfg(target_os = "linux")]
mod mistakes;
#[cfg(unix)]
mod pinned;
mod report;
#[cfg(target_os = "linux")]
mod sample;
mod shell;
#[cfg(unix)]
mod ship;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod wrap;
