//! Phases, servers and settings shared by several test modules.

/// Opens three documents.
pub const OPEN: &str = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 3 } }]
"#;

/// Closes the first two documents. The C library keeps their memory, because live memory lies above it.
pub const CLOSE_TWO: &str = r#"
[[phase]]
name = "close"
steps = [{ close = { files = 2 } }]
"#;

/// Allocates 16 MiB from the C library for each open document.
pub const HOLDS: [&str; 4] = ["--via", "allocator", "--retain-open", "16MiB"];

/// One arena with a top that is never trimmed: the C library releases nothing by itself.
pub const KEEPS: [&str; 4] = [
    "--env",
    "MALLOC_ARENA_MAX=1",
    "--env",
    "MALLOC_TRIM_THRESHOLD_=1073741824",
];
