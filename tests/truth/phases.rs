//! Phases, servers and settings that tests of several modules play.

/// A phase in which three documents are opened.
pub const OPEN: &str = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 3 } }]
"#;

/// A phase in which the first two of them are closed: what is freed lies below what is live, so that the C library keeps it.
pub const CLOSE_TWO: &str = r#"
[[phase]]
name = "close"
steps = [{ close = { files = 2 } }]
"#;

/// Memory from the C library, 16 MiB for each open document.
pub const HOLDS: [&str; 4] = ["--via", "allocator", "--retain-open", "16MiB"];

/// The C library gives nothing back by itself: one arena, and a top that is never cut.
pub const KEEPS: [&str; 4] = [
    "--env",
    "MALLOC_ARENA_MAX=1",
    "--env",
    "MALLOC_TRIM_THRESHOLD_=1073741824",
];
