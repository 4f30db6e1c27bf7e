//! Warnings of the run and messages of the server, each different one once.

use crate::record::{Warning, WarningKind};

use super::summary::{ServerMessage, WarningSummary};

/// Different warnings and messages that are told apart; a server that counts in its log must not fill memory.
const TEXTS: usize = 200;

/// What was said so far, in the order of its first appearance.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub warnings: Vec<WarningSummary>,
    pub messages: Vec<ServerMessage>,
}

impl Said {
    /// A warning of processes that were not seen tells how many there were in all: it replaces the one before it.
    pub fn warn(&mut self, Warning { kind, text }: Warning) {
        let grows = kind == WarningKind::UnseenProcesses;
        let mut known = self.warnings.iter_mut().filter(|known| known.kind == kind);
        if let Some(known) = known.find(|known| grows || known.text == text) {
            known.count += u64::from(!grows);
            known.text = text;
        } else if self.warnings.len() < TEXTS {
            self.warnings.push(WarningSummary { kind, text, count: 1 });
        }
    }

    /// The server wrote something for people.
    pub fn message(&mut self, level: u8, text: String) {
        let mut known = self.messages.iter_mut();
        if let Some(known) = known.find(|known| known.level == level && known.text == text) {
            known.count += 1;
        } else if self.messages.len() < TEXTS {
            self.messages.push(ServerMessage { level, text, count: 1 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::tests::of;
    use crate::record::golden::Session;

    #[test]
    fn of_the_counts_of_processes_that_were_not_seen_the_last_is_told() {
        let mut session = Session::new("server");
        for count in [1, 2, 5] {
            let text = format!("processes that came and went: at least {count}; look more often than 100 ms");
            session.warn(WarningKind::UnseenProcesses, &text);
            session.warn(WarningKind::Protocol, &format!("{count} bytes were skipped"));
        }
        let warnings = of(&session).warnings;
        let told: Vec<(&str, u64)> = warnings.iter().map(|one| (one.text.as_str(), one.count)).collect();
        assert_eq!(
            told,
            [
                (
                    "processes that came and went: at least 5; look more often than 100 ms",
                    1
                ),
                ("1 bytes were skipped", 1),
                ("2 bytes were skipped", 1),
                ("5 bytes were skipped", 1),
            ]
        );
    }
}
