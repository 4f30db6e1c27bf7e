//! A finding about the process that started a command.

use crate::summary::Summary;
use base::units;

use super::{Finding, Severity, finding};

/// A peak of the command itself is at least this many times the floor. The floor is that of a child with nothing to execute,
/// and one that executes a program begins with up to half as much again.
const TIMES: u64 = 2;

/// Below this a starter hides nothing: every program that is linked dynamically needs as much.
const SMALL: u64 = 1 << 20;

/// The kernel's peak of a command begins with that of its starter. `None` if the command has exceeded it.
pub(super) fn unseen_peak(summary: &Summary) -> Option<Finding> {
    let command = summary.lifecycle.command.as_ref()?;
    let floor = command.floor?;
    if floor < SMALL || command.peak >= floor.saturating_mul(TIMES) {
        return None;
    }
    let text = format!(
        "the resident peak of {} may be that of lsp-soak, which started the command: install `lsp-soak-start` beside \
         lsp-soak with `cargo install --path .` to see lower peaks",
        units::bytes(command.peak)
    );
    Some(finding(Severity::Warning, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::CommandEnd;
    use record::golden::Session;

    #[test]
    fn a_peak_at_the_floor_may_be_that_of_the_starter() {
        for (peak, floor, is_reported) in [
            (3_900_000, Some(3_000_000), true),
            (6_000_000, Some(3_000_000), false),
            (1_100_000, Some(700_000), false),
            (3_900_000, None, false),
        ] {
            let mut summary = summarised(&Session::new("command"));
            summary.lifecycle.command = Some(CommandEnd {
                peak,
                floor,
                ..CommandEnd::default()
            });
            assert_eq!(unseen_peak(&summary).is_some(), is_reported, "{peak} {floor:?}");
        }
    }
}
