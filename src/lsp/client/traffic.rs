//! What can be seen of a connection from outside: how much moved, when it last did, and why it ended.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::units;

/// The state of a connection at one moment: what a wedge detector needs.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Bytes that the server's stdin has taken.
    pub sent: u64,
    /// Bytes read from its stdout, noise included.
    pub received: u64,
    /// Bytes that wait to be taken.
    pub unsent: u64,
    /// Bytes of those sent that lie in the pipe and that the server has not read; 0 where the system does not tell.
    pub unread: u64,
    /// When the server's stdin last took a byte.
    pub last_sent: Option<Instant>,
    /// When its stdout last gave one.
    pub last_received: Option<Instant>,
    /// When it last sent a request, or a notification that is no idle chatter.
    pub last_unprompted: Option<Instant>,
    pub open: usize,
    /// The longest open of them, long polls aside.
    pub oldest: Option<OpenRequest>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    pub method: String,
    pub since: Instant,
}

/// Counts since the connection was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes that the server's stdin has taken.
    pub sent: u64,
    /// Bytes read from its stdout, noise included.
    pub received: u64,
    /// Bytes on stdout that are not LSP.
    pub noise: u64,
    /// The first of them, as text.
    pub noise_sample: String,
    pub requests: u64,
    /// Requests that were sent again because their answer was stale.
    pub retries: u64,
    pub notifications: BTreeMap<String, u64>,
    /// Parameters of the server's messages that were too long to be read or to be passed on.
    pub dropped_params: u64,
    /// Events that were dropped because the driver did not read them.
    pub dropped_events: u64,
}

/// Why nothing more can come from a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// It closed its stdout between two messages.
    #[error("the server closed its output")]
    Eof,
    /// It closed its stdout inside a message.
    #[error("the server closed its output after {got} of {length} bytes of a message", got = units::count(*got), length = units::count(*length))]
    Truncated { length: u64, got: u64 },
    /// It wrote nothing but text that is not LSP for too long.
    #[error("the server wrote {size} that are not LSP: does it need an option for stdio?", size = units::bytes(*bytes))]
    Garbage { bytes: u64 },
    /// It announced a message over the limit.
    #[error("the server announced a message of {length}, over the limit of {limit}", length = units::bytes(*length), limit = units::bytes(*limit))]
    TooLarge { length: u64, limit: u64 },
    /// It asks and does not read its stdin, and too many answers wait for it.
    #[error("the server does not read the answers to its own requests: {unsent} wait for it, over the limit of {limit}", unsent = units::bytes(*unsent), limit = units::bytes(*limit))]
    Overflow { unsent: u64, limit: u64 },
    #[error("the server's output cannot be read: {0}")]
    Io(String),
}

impl CloseReason {
    /// Whether the connection was given up on this side, for what the server sent or would not take.
    pub fn is_ours(&self) -> bool {
        match self {
            CloseReason::Garbage { .. } | CloseReason::TooLarge { .. } | CloseReason::Overflow { .. } => true,
            CloseReason::Eof | CloseReason::Truncated { .. } | CloseReason::Io(_) => false,
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
