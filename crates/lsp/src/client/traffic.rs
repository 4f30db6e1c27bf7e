//! Figures of a connection: bytes, times of the last traffic, and why it ended.

use std::collections::BTreeMap;
use std::time::Instant;

use base::units;

/// The state of a connection at one moment, for detecting a hang.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Bytes written to the server's stdin.
    pub sent: u64,
    /// Bytes read from the server's stdout, including noise.
    pub received: u64,
    /// Bytes still queued.
    pub unsent: u64,
    /// Bytes in the pipe that the server has not read; 0 if the system cannot tell.
    pub unread: u64,
    /// The server closed its input; false if the system cannot tell.
    pub input_closed: bool,
    /// When a byte was last written.
    pub last_sent: Option<Instant>,
    /// When a byte was last read.
    pub last_received: Option<Instant>,
    /// When the server last sent a request, or a notification other than chatter.
    pub last_unprompted: Option<Instant>,
    pub open: usize,
    /// The oldest open request, except long polls.
    pub oldest: Option<OpenRequest>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    pub method: String,
    pub since: Instant,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes written to the server's stdin.
    pub sent: u64,
    /// Bytes read from the server's stdout, including noise.
    pub received: u64,
    /// Bytes on stdout that are not LSP.
    pub noise: u64,
    /// The first noise bytes, as text.
    pub noise_sample: String,
    pub requests: u64,
    /// Requests sent again because their answer was stale.
    pub retries: u64,
    pub notifications: BTreeMap<String, u64>,
    /// Parameters of server messages that were too long to read or pass on.
    pub dropped_params: u64,
    /// Events dropped because the driver did not read them.
    pub dropped_events: u64,
    /// The message that is being read.
    pub unfinished: Option<Unfinished>,
}

/// A message of which only a part has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Bytes that its header announces.
    pub announced: u64,
    /// Bytes of it that came.
    pub came: u64,
}

/// The reason why the connection to a server ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// The server closed its stdout between two messages.
    #[error("the server closed its output")]
    Eof,
    /// The server closed its stdout inside a message.
    #[error("the server closed its output after {got} of {length} bytes of a message", got = units::count(*got), length = units::count(*length))]
    Truncated { length: u64, got: u64 },
    /// The server wrote too many bytes that are not LSP.
    #[error("the server wrote {size} that are not LSP: does it need an option for stdio?", size = units::bytes(*bytes))]
    Garbage { bytes: u64 },
    /// The server writes its headers in UTF-16.
    #[error("the server writes UTF-16 to its output, where UTF-8 is expected")]
    Utf16,
    /// The server announced a message over the limit.
    #[error("the server announced a message of {length}, over the limit of {limit}", length = units::bytes(*length), limit = units::bytes(*limit))]
    TooLarge { length: u64, limit: u64 },
    /// The server sends requests but does not read stdin: too many answers are unread.
    #[error("the server does not read the answers to its own requests: {unsent} wait for it, over the limit of {limit}", unsent = units::bytes(*unsent), limit = units::bytes(*limit))]
    Overflow { unsent: u64, limit: u64 },
    #[error("the server's output cannot be read: {0}")]
    Io(String),
    /// The server closed its stdin while it still ran and kept its stdout open.
    #[error("the server does not read its input any more: {0}")]
    Input(String),
}

impl CloseReason {
    /// True if lsp-soak ended the connection, because of the server's messages or unread answers.
    pub fn is_ours(&self) -> bool {
        match self {
            CloseReason::Garbage { .. }
            | CloseReason::Utf16
            | CloseReason::TooLarge { .. }
            | CloseReason::Overflow { .. } => true,
            CloseReason::Eof | CloseReason::Truncated { .. } | CloseReason::Io(_) | CloseReason::Input(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_the_units_of_the_report() {
        let text = CloseReason::Garbage { bytes: 16_842_752 }.to_string();
        assert!(text.starts_with("the server wrote 16.1 MiB that are not LSP"), "{text}");
    }
}
