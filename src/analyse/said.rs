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
    /// Each warning of processes that were not seen counts those since the one before it: they make one of all.
    pub fn warn(&mut self, Warning { kind, text }: Warning) {
        for known in self.warnings.iter_mut().filter(|known| known.kind == kind) {
            if kind == WarningKind::UnseenProcesses
                && let Some(sum) = with_sum(&known.text, &text)
            {
                known.text = sum;
                return;
            }
            if known.text == text {
                known.count += 1;
                return;
            }
        }
        if self.warnings.len() < TEXTS {
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

/// One sentence of two that differ only in the first number of each, with the sum of those.
fn with_sum(one: &str, other: &str) -> Option<String> {
    let parts = |text: &str| {
        let (before, rest) = text.split_at(text.find(|c: char| c.is_ascii_digit())?);
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        Some((before.to_owned(), number.parse::<u64>().ok()?, after.to_owned()))
    };
    let ((before, one, after), (other_before, other, other_after)) = parts(one).zip(parts(other))?;
    let alike = before == other_before && after == other_after;
    alike.then(|| format!("{before}{}{after}", one.saturating_add(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::tests::of;
    use crate::record::golden::Session;

    #[test]
    fn processes_that_were_not_seen_are_summed_into_one_warning() {
        let mut session = Session::new("server");
        for count in [1, 2, 2] {
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
                ("2 bytes were skipped", 2),
            ]
        );
    }
}
