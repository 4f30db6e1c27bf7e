//! Warnings of the run and messages of the server, each different one once, and a count of the rest.

use record::{BARRIER, Warning};

use crate::summary::{ServerMessage, WarningSummary};

/// Different warnings and messages that are kept; a server that counts in its log must not fill memory.
const TEXTS: usize = 200;

/// Messages so far, in the order of first appearance.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub warnings: Vec<WarningSummary>,
    /// Warnings that are none of these.
    pub more_warnings: u64,
    pub messages: Vec<ServerMessage>,
    /// Messages that are none of these.
    pub more_messages: u64,
}

impl Said {
    /// Something to know was written down.
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

    /// One warning that stands for this many.
    pub fn counted(&mut self, text: &str, count: u64) {
        if let Some(known) = self.warnings.iter_mut().find(|known| known.text == text) {
            known.count += count.saturating_sub(1);
        }
    }

    /// The server wrote something for people. Some report the requests that lsp-soak sends of its own accord.
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
