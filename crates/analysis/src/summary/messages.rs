//! Warnings of the run and messages of the server, each different one once, and a count of the rest.

use record::{BARRIER, Warning};

use crate::summary::{ServerMessage, WarningSummary};

/// Different warnings and messages that are kept; a server that counts in its log must not fill memory.
const TEXTS: usize = 200;

/// Messages so far, in the order of first appearance.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub warnings: Vec<WarningSummary>,
    /// Count of warnings beyond those in `warnings`.
    pub more_warnings: u64,
    pub messages: Vec<ServerMessage>,
    /// Count of messages beyond those in `messages`.
    pub more_messages: u64,
}

impl Messages {
    /// Adds a warning of the record.
    pub fn warn(&mut self, Warning { kind, text }: Warning) {
        let mut known = self.warnings.iter_mut();
        if let Some(known) = known.find(|known| known.kind == kind && known.text == text) {
            known.count += 1;
        } else if self.warnings.len() < TEXTS {
            self.warnings.push(WarningSummary { kind, text, count: 1 });
        } else {
            self.more_warnings += 1;
        }
    }

    /// Counts the repeats of a warning that is in the record only once.
    pub fn count_repeats(&mut self, text: &str, count: u64) {
        if let Some(known) = self.warnings.iter_mut().find(|known| known.text == text) {
            known.count += count.saturating_sub(1);
        }
    }

    /// Adds a log message of the server, unless it reports a request that lsp-soak sends of its own accord.
    pub fn message(&mut self, level: u8, text: String) {
        if text.contains(BARRIER) {
            return;
        }
        let mut known = self.messages.iter_mut();
        if let Some(known) = known.find(|known| known.level == level && known.text == text) {
            known.count += 1;
        } else if self.messages.len() < TEXTS {
            self.messages.push(ServerMessage { level, text, count: 1 });
        } else {
            self.more_messages += 1;
        }
    }
}
