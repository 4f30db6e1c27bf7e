//! Integration tests that need no server but small scripts.

mod lsp;
#[cfg(target_os = "linux")]
mod sample;
