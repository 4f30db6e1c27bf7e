//! The end of a server: shuts it down, ends surviving processes, and records both.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use base::units;
use lsp::UNKNOWN_METHOD;
use record::{Close, Event, Shutdown, ShutdownReply, ShutdownStage, Warning, WarningKind};

use super::Stage;
use super::session::Session;
use crate::config::step::StopBy;

/// Time limit for processes of the tree to exit after their server.
const FOLLOW: Duration = Duration::from_secs(2);

/// Stops the server in this way and records its end; `patience` is that of a server whose editor dies. A polite shutdown ends in a
/// kill when `at_once` ends first.
pub async fn stop(
    session: &mut Session,
    stage: &impl Stage,
    by: StopBy,
    patience: Duration,
    at_once: impl Future<Output = ()>,
) {
    match by {
        StopBy::Shutdown => close(session, stage, at_once).await,
        StopBy::Kill => kill(session, stage).await,
        StopBy::EditorDies => orphan(session, stage, patience).await,
    }
}

/// Shuts the server and its processes down and records their end; kills them at once when `at_once` ends first.
async fn close(session: &Session, stage: &impl Stage, at_once: impl Future<Output = ()>) {
    stage.record(Event::ShutdownBegan);
    let mut at_once = pin!(at_once);
    let (mut shutdown, advice) = tokio::select! {
        biased;
        shutdown = session.shut_down(stage.sample()) => {
            let advice = advice(&shutdown);
            (shutdown, Some(advice))
        }
        () = &mut at_once => (session.kill().await, None),
    };
    // After an interrupt, the server's own behaviour is unknown: no advice.
    let is_waiting = advice.is_some();
    let patience = async {
        if is_waiting {
            // Whichever ends first.
            let _ = tokio::time::timeout(FOLLOW, at_once).await;
        }
    };
    shutdown.survivors = stage.survivors(patience).await;
    record_end(session, stage, shutdown, advice.flatten()).await;
}

/// Kills the server and its processes, and records their end.
async fn kill(session: &Session, stage: &impl Stage) {
    stage.record(Event::ShutdownBegan);
    stage.sample().await;
    let mut shutdown = session.kill().await;
    shutdown.survivors = stage.survivors(std::future::ready(())).await;
    record_end(session, stage, shutdown, None).await;
}

/// Lets the editor die, gives the server `patience` to end by itself, and records its end and what it left.
async fn orphan(session: &mut Session, stage: &impl Stage, patience: Duration) {
    stage.record(Event::ShutdownBegan);
    stage.sample().await;
    let mut shutdown = session.orphan(patience, stage.private()).await;
    shutdown.survivors = stage.survivors(tokio::time::sleep(FOLLOW)).await;
    record_end(session, stage, shutdown, None).await;
}

/// Records the end of a server, what is to be said of it, and the totals of its connection.
async fn record_end(session: &Session, stage: &impl Stage, shutdown: Shutdown, advice: Option<String>) {
    if let Some(text) = advice {
        stage.record(Event::Warning(Warning {
            kind: WarningKind::Protocol,
            text,
        }));
    }
    stage.record(Event::Shutdown(shutdown));
    let totals = session.totals().await;
    if totals.noise > 0 {
        stage.record(Event::Warning(Warning {
            kind: WarningKind::Noise,
            text: noise(&totals),
        }));
    }
    if totals.dropped > 0 {
        stage.record(Event::Warning(Warning {
            kind: WarningKind::Protocol,
            text: dropped(totals.dropped),
        }));
    }
    stage.record(Event::Closed(totals));
}

/// The sentence for a server that sends more than can be recorded.
fn dropped(count: u64) -> String {
    let messages = match count {
        1 => "1 message of the server".to_owned(),
        count => format!("{} messages of the server", units::count(count)),
    };
    format!(
        "{messages} came faster than the record can hold and are missing from it, log messages among them; see \
         `notifications` in `--format json` for what the server sends so often"
    )
}

/// The sentence for a server that writes other data to stdout.
fn noise(totals: &Close) -> String {
    const SHOWN: usize = 60;
    let size = units::bytes(totals.noise);
    let first = totals.first_noise();
    let marked = if totals.has_byte_order_mark() {
        "; a byte order mark comes before a header, where an editor may stop: write UTF-8 without it"
    } else {
        ""
    };
    if first.is_empty() {
        return format!("the server wrote {size} to stdout that are not LSP, and blank{marked}");
    }
    let advice = if totals.is_unframed() {
        "these are messages without a `Content-Length` header and an empty line before each, so no editor reads them"
    } else {
        "lsp-soak skipped them, but an editor may stop there: write logs to stderr"
    };
    let first: String = first.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    format!("the server wrote {size} to stdout that are not LSP, starting with `{first}`; {advice}{marked}")
}

/// The sentence for a server that was forced to exit, or disobeyed. Crashes are explained by the readers of the record.
fn advice(shutdown: &Shutdown) -> Option<String> {
    use ShutdownStage::{AlreadyGone, Exit, Killed, StdinClosed, Terminated};
    let deaf = match &shutdown.reply {
        None | Some(ShutdownReply::Answered) => None,
        // Our own answer, sent back.
        Some(ShutdownReply::Refused { message, .. }) if message.starts_with(UNKNOWN_METHOD) => {
            Some("sent `shutdown` back".to_owned())
        }
        Some(ShutdownReply::Refused { code, message }) => {
            Some(format!("answered `shutdown` with an error ({code}: {message})"))
        }
        Some(ShutdownReply::Unanswered) => Some("did not answer `shutdown` in time".to_owned()),
        Some(ShutdownReply::Gone) if shutdown.code == Some(0) => {
            return Some("the server exited on `shutdown`, without an answer and before `exit`".to_owned());
        }
        Some(ShutdownReply::Gone) => return None,
    };
    Some(match (deaf, shutdown.stage) {
        (_, AlreadyGone) | (None, Exit) => return None,
        (Some(deaf), Exit) => format!("the server {deaf}, and ended on `exit`"),
        (Some(deaf), StdinClosed) => format!("the server {deaf}, and ended only when its stdin was closed"),
        (Some(deaf), Terminated) => {
            format!("the server {deaf}, and a closed stdin did not end it; it ended on SIGTERM")
        }
        (Some(deaf), Killed) => {
            format!("the server {deaf}, and neither a closed stdin nor SIGTERM ended it; it was killed")
        }
        (None, StdinClosed) => "the server ignored `exit` and ended only when its stdin was closed".to_owned(),
        (None, Terminated) => "the server ignored `exit` and a closed stdin; it ended on SIGTERM".to_owned(),
        (None, Killed) => "the server ignored `exit`, a closed stdin and SIGTERM; it was killed".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_were_not_written_down_are_counted_for_people() {
        assert!(dropped(1).starts_with("1 message of the server came faster"));
        assert!(dropped(12_000).starts_with("12,000 messages of the server came faster"));
    }

    /// The sentence on noise, of which as much again came as messages.
    fn noise_sentence(noise_sample: &str, framed: u64) -> String {
        let size = noise_sample.len() as u64;
        noise(&Close {
            noise: size,
            received: size + framed,
            noise_sample: noise_sample.to_owned(),
            ..Close::default()
        })
    }

    #[test]
    fn messages_without_headers_and_byte_order_marks_are_named() {
        let bare = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
        assert!(noise_sentence(bare, 0).contains("messages without a `Content-Length` header"));
        let pretty = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1\n}\n";
        assert!(noise_sentence(pretty, 0).contains("messages without a `Content-Length` header"));
        assert!(
            noise_sentence(bare, 500).contains("write logs to stderr"),
            "it logs what it sends"
        );
        let marked = noise_sentence("\u{feff}\u{feff}", 500);
        assert!(
            marked.contains("are not LSP, and blank; a byte order mark comes"),
            "{marked}"
        );
        let logged = noise_sentence("\u{feff}INFO ready\n", 500);
        assert!(
            logged.contains("starting with `INFO ready`") && logged.contains("a byte order mark"),
            "{logged}"
        );
    }

    fn advice_after(stage: ShutdownStage, reply: Option<ShutdownReply>, code: Option<i32>) -> Option<String> {
        advice(&Shutdown {
            stage,
            reply,
            exit_sent: Some(true),
            code,
            signal: None,
            took: Some(1),
            orphaned: None,
            survivors: Vec::new(),
        })
    }

    #[test]
    fn who_does_not_answer_shutdown_is_not_said_to_ignore_exit() {
        use ShutdownStage::{Exit, Killed, StdinClosed, Terminated};
        let refused = ShutdownReply::Refused {
            code: -32603,
            message: "no".to_owned(),
        };
        for reply in [&refused, &ShutdownReply::Unanswered] {
            for stage in [Exit, StdinClosed, Terminated, Killed] {
                let sentence = advice_after(stage, Some(reply.clone()), None).unwrap();
                assert!(
                    sentence.contains("`shutdown`") && !sentence.contains("ignored"),
                    "{sentence}"
                );
            }
        }
        let sentence = advice_after(Exit, Some(refused), Some(0)).unwrap();
        assert_eq!(
            sentence,
            "the server answered `shutdown` with an error (-32603: no), and ended on `exit`"
        );
        assert!(advice_after(Killed, None, None).unwrap().contains("ignored `exit`"));
    }

    #[test]
    fn who_leaves_on_shutdown_is_told_of_only_when_nothing_worse_is() {
        let gone = Some(ShutdownReply::Gone);
        let sentence = advice_after(ShutdownStage::Exit, gone.clone(), Some(0)).unwrap();
        assert!(sentence.contains("without an answer"));
        assert_eq!(advice_after(ShutdownStage::Exit, gone.clone(), Some(101)), None);
        assert_eq!(
            advice_after(ShutdownStage::Exit, gone, None),
            None,
            "it died of a signal"
        );
    }

    #[test]
    fn a_good_server_is_not_spoken_of() {
        assert_eq!(
            advice_after(ShutdownStage::Exit, Some(ShutdownReply::Answered), Some(0)),
            None
        );
    }
}
