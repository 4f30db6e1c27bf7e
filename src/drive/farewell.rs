//! The end of a server: brought down, what it left behind cleared away, and all of it written down.

use std::future::Future;
use std::time::Duration;

use crate::record::{Close, Event, ShutdownStage, Warning, WarningKind};
use crate::units;

use super::Stage;
use super::session::Session;

/// How long processes of the tree may take to follow their server.
const FOLLOW: Duration = Duration::from_secs(2);

/// Brings the server down, with everything that it started, and writes down how; at once when `at_once` ends first.
pub async fn close(session: &Session, stage: &impl Stage, at_once: impl Future<Output = ()>) {
    let (mut shutdown, patience, advice) = tokio::select! {
        biased;
        shutdown = session.shut_down(stage.sample()) => {
            let advice = advice(shutdown.stage);
            (shutdown, FOLLOW, advice)
        }
        // Whoever does not wait has not seen what the server would have done.
        () = at_once => (session.kill().await, Duration::ZERO, None),
    };
    shutdown.survivors = stage.survivors(patience).await;
    if let Some(text) = advice {
        stage.tell(Event::Warning(Warning {
            kind: WarningKind::Protocol,
            text,
        }));
    }
    stage.tell(Event::Shutdown(shutdown));
    let totals = session.totals().await;
    if totals.noise > 0 {
        stage.tell(Event::Warning(Warning {
            kind: WarningKind::Noise,
            text: noise(&totals),
        }));
    }
    if totals.dropped > 0 {
        stage.tell(Event::Warning(Warning {
            kind: WarningKind::Protocol,
            text: dropped(totals.dropped),
        }));
    }
    stage.tell(Event::Closed(totals));
}

/// The sentence for a server that says more than can be written down.
fn dropped(count: u64) -> String {
    let messages = match count {
        1 => "1 message of the server".to_owned(),
        count => format!("{} messages of the server", units::count(count)),
    };
    format!(
        "{messages} came faster than they could be written down and are not in the record, what it said for people among them; \
         see `notifications` in `--format json` for what it sends so often"
    )
}

/// The sentence for a server that writes to its stdout what belongs elsewhere.
fn noise(totals: &Close) -> String {
    const SHOWN: usize = 60;
    let mut lines = totals.noise_sample.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let first: String = first.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    format!(
        "the server wrote {} to its stdout that are not LSP, beginning with `{first}`; they were skipped, but an editor may \
         give up there: such text belongs on stderr",
        units::bytes(totals.noise)
    )
}

/// The sentence for a server that had to be forced.
fn advice(stage: ShutdownStage) -> Option<String> {
    use ShutdownStage::{AlreadyGone, Exit, Killed, StdinClosed, Terminated};
    match stage {
        AlreadyGone | Exit => None,
        StdinClosed => Some("the server ignored `exit` and left only when its input was closed".to_owned()),
        Terminated => Some("the server ignored `exit` and a closed input; it left on SIGTERM".to_owned()),
        Killed => Some("the server ignored `exit`, a closed input and SIGTERM; it was killed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_were_not_written_down_are_counted_for_people() {
        assert!(dropped(1).starts_with("1 message of the server came faster"));
        assert!(dropped(12_000).starts_with("12,000 messages of the server came faster"));
    }
}
