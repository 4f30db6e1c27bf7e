//! Integration tests that need no server but small scripts.

mod lsp;
