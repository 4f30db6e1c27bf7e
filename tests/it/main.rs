//! Integration tests that need no server but small scripts.

mod drive;
mod lsp;
#[cfg(target_os = "linux")]
mod sample;
