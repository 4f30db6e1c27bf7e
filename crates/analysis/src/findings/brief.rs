//! A short description of a run's end, for report heads and other sentences.

use crate::summary::{Departure, LostProcess, departures, exit_of_run, last_words_of_run};
use base::exit::Exit;
use base::text::complaint::complains;
use base::units;
use record::{EndCause, Ending};

use super::super::summary::Summary;
use super::ending::{cause_words, status};

/// Characters shown of a stderr line.
const LINE: usize = 120;

/// The run's end in a few words.
pub fn outcome(summary: &Summary) -> &'static str {
    match &summary.ending {
        None => "cut short",
        Some(Ending::Completed) => match exit_of_run(summary) {
            Exit::Passed | Exit::GateFailed | Exit::Inconclusive => "completed",
            Exit::ServerFailed if summary.processes.lost.iter().any(LostProcess::crashed) => {
                "completed, but a process of the server crashed"
            }
            Exit::OwnFailure | Exit::ServerFailed | Exit::Interrupted if has_survivors(summary) => {
                match summary.lifecycle.command {
                    Some(_) => "completed, but processes outlived the command",
                    None => "completed, but processes outlived the server",
                }
            }
            Exit::OwnFailure | Exit::ServerFailed | Exit::Interrupted => {
                "completed, but the server did not shut down \
                cleanly"
            }
        },
        Some(Ending::Crashed { .. }) if summary.lifecycle.command.is_some() => "failed",
        Some(Ending::Crashed {
            code: Some(0),
            signal: None,
            ..
        }) => "the server ended by itself",
        Some(Ending::Crashed { .. }) => "crashed",
        Some(Ending::Disconnected { .. }) => "disconnected",
        Some(Ending::TimedOut { .. }) => "timed out",
        Some(Ending::Wedged { .. }) => "wedged",
        Some(Ending::Refused { .. }) => "refused to start",
        Some(Ending::ReportedFailure { .. }) => "the server reported a failure",
        Some(Ending::ProcessCrashed { .. }) => "a process of the server crashed",
        Some(Ending::OverLimit { .. }) => "exceeded the memory limit",
        Some(Ending::Emptied { .. }) => "its workspace emptied",
        Some(Ending::Unsupported { .. }) => "scenario not supported",
        Some(Ending::Empty { steps }) if steps.iter().any(|step| step.parked > 0) => "nothing answered",
        Some(Ending::Empty { steps }) if steps.iter().all(|step| step.requests == 0) => "asked nothing",
        Some(Ending::Empty { steps }) if steps.iter().all(|step| step.errors == step.requests) => "errors only",
        Some(Ending::Empty { .. }) => "nothing found",
        Some(Ending::Interrupted) => "interrupted",
    }
}

/// The run's end with the known cause and the error from stderr:
/// ``crashed during the start, exit code 2: `error: unexpected argument '--nosuch' found` ``.
pub fn brief(summary: &Summary) -> String {
    let mut text = outcome(summary).to_owned();
    text.push_str(&circumstances(summary));
    if let Some(line) = complaint(summary) {
        text.push_str(&format!(": `{line}`"));
    }
    text
}

/// Place, sizes and cause of the run's end, as a continuation of [`outcome`].
fn circumstances(summary: &Summary) -> String {
    match &summary.ending {
        Some(Ending::Crashed { code, signal, during }) => {
            let size = size_at_end(summary);
            format!(" during {during}{size}, {}", short_status(*code, *signal))
        }
        Some(Ending::TimedOut {
            method,
            after,
            unsent: 0,
            ..
        }) => format!(", `{method}` not answered within {}", units::nanoseconds(*after)),
        Some(Ending::Wedged { method, after, .. }) if !method.is_empty() => {
            format!(", `{method}` open for {}", units::nanoseconds(*after))
        }
        Some(Ending::TimedOut { after, .. }) => format!(", its input not taken for {}", units::nanoseconds(*after)),
        Some(Ending::Disconnected { reason } | Ending::Refused { reason } | Ending::Emptied { reason }) => {
            format!(", {}", short(reason))
        }
        Some(Ending::OverLimit { excess, .. }) if summary.lifecycle.command.is_some() => {
            format!(" of {}", units::bytes(excess.limit))
        }
        Some(Ending::OverLimit { excess, during, .. }) => {
            let (limit, private) = (units::bytes(excess.limit), units::bytes(excess.private));
            format!(" of {limit} during {during} with {private} private")
        }
        Some(Ending::ReportedFailure { reason, during }) => format!(" during {during}, {}", short(reason)),
        Some(Ending::ProcessCrashed {
            name,
            pid,
            cause,
            during,
        }) => {
            let lost = summary.processes.lost.iter().find(|lost| lost.pid == *pid);
            let private = lost.and_then(|lost| lost.private);
            let size = private.map_or_else(String::new, |size| format!(" with {} private", units::bytes(size)));
            format!(" during {during}, `{name}`{size} ended by {}", short_cause(*cause))
        }
        Some(Ending::Empty { steps }) => steps
            .first()
            .map_or_else(String::new, |step| format!(" in step `{}`", step.step)),
        Some(Ending::Unsupported { steps }) => steps.first().map_or_else(String::new, |step| format!(", {step}")),
        Some(Ending::Completed) => death(summary),
        None | Some(Ending::Wedged { .. } | Ending::Interrupted) => String::new(),
    }
}

/// The status of the first server that died in a shutdown, or before.
fn death(summary: &Summary) -> String {
    let departures = departures(summary);
    let death = departures
        .iter()
        .find(|departure| departure.left_early() || departure.died());
    match death {
        Some(Departure { shutdown, .. }) => format!(", {}", short_status(shutdown.code, shutdown.signal)),
        None => String::new(),
    }
}

/// The most private memory of the phase in which a server crashed; empty before the first checkpoint.
fn size_at_end(summary: &Summary) -> String {
    if summary.lifecycle.command.is_some() || summary.phases.iter().all(|phase| phase.checkpoint.is_none()) {
        return String::new();
    }
    let last = summary.phases.last().and_then(|phase| phase.private_peak);
    last.map_or_else(String::new, |size| {
        format!(" with up to {} private", units::bytes(size))
    })
}

/// The status of a process without its likely cause.
fn short_status(code: Option<i32>, signal: Option<i32>) -> String {
    without_parenthesis(&status(code, signal))
}

fn short_cause(cause: EndCause) -> String {
    without_parenthesis(&cause_words(cause))
}

/// Cuts a text before its first parenthesis.
fn without_parenthesis(text: &str) -> String {
    match text.split_once(" (") {
        Some((short, _)) => short.to_owned(),
        None => text.to_owned(),
    }
}

/// The first line that names an error, or else the last line.
fn complaint(summary: &Summary) -> Option<String> {
    // The limit is the reason.
    if matches!(summary.ending, Some(Ending::OverLimit { .. })) {
        return None;
    }
    let lines = last_words_of_run(summary);
    let line = lines.iter().find(|line| complains(line)).or(lines.last())?;
    Some(short(line))
}

fn short(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// True if processes outlived the server, or an earlier server of the run.
fn has_survivors(summary: &Summary) -> bool {
    let earlier = summary.lifecycle.earlier.iter().map(|departure| &departure.shutdown);
    earlier
        .chain(&summary.lifecycle.shutdown)
        .any(|shutdown| !shutdown.survivors.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::golden::Session;
    use record::{Event, Excess, ShutdownStage};

    fn text_of(ending: Ending, stderr: &str) -> String {
        let mut session = Session::new("server");
        session.shut_down(ShutdownStage::AlreadyGone, Vec::new(), ending, stderr);
        brief(&summarised(&session))
    }

    fn crashed(code: Option<i32>, signal: Option<i32>) -> Ending {
        Ending::Crashed {
            code,
            signal,
            during: "the start".to_owned(),
        }
    }

    #[test]
    fn a_failure_says_how_it_ended_and_what_the_server_complained_of() {
        let clap =
            "error: unexpected argument '--nosuch' found\n\nUsage: ty server\n\nFor more information, try '--help'.";
        assert_eq!(
            text_of(crashed(Some(2), None), clap),
            "crashed during the start, exit code 2: `error: unexpected argument '--nosuch' found`"
        );
        assert_eq!(
            text_of(crashed(None, Some(9)), ""),
            "crashed during the start, signal 9"
        );
        assert_eq!(
            text_of(crashed(Some(0), None), "loading\nusage: server --stdio"),
            "the server ended by itself during the start, exit code 0: `usage: server --stdio`"
        );
        let slow = Ending::TimedOut {
            method: "textDocument/hover".to_owned(),
            after: 30_000_000_000,
            unsent: 0,
            during: String::new(),
        };
        assert!(text_of(slow, "").starts_with("timed out, `textDocument/hover` not answered within 30.0 s"));
        let refused = Ending::Refused {
            reason: "no workspace".to_owned(),
        };
        assert!(text_of(refused, "").starts_with("refused to start, no workspace"));
    }

    #[test]
    fn a_crash_after_a_checkpoint_says_how_large_the_server_was() {
        let crashed = Ending::Crashed {
            code: None,
            signal: Some(6),
            during: "edit".to_owned(),
        };
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 20, 4);
        session.phase("start");
        session.settle(true);
        session.phase("edit");
        session.move_memory(0, 3_000, 2, 50);
        session.shut_down(ShutdownStage::AlreadyGone, Vec::new(), crashed, "");
        assert_eq!(
            brief(&summarised(&session)),
            "crashed during edit with up to 2.9 GiB private, signal 6"
        );
    }

    #[test]
    fn a_crashed_process_and_an_excess_are_told_with_their_sizes() {
        let cause = EndCause::Signalled {
            signal: 6,
            out_of_memory: false,
        };
        let mut session = Session::new("launcher");
        session.spawn(0, "launcher", None, 12, 4);
        session.spawn(1, "helper", Some(0), 3_000, 4);
        session.phase("edit");
        session.vanish_by(1, cause);
        session.put(Event::Ended(Ending::ProcessCrashed {
            name: "helper".to_owned(),
            pid: 4_001,
            cause,
            during: "edit".to_owned(),
        }));
        let text = brief(&summarised(&session));
        assert!(
            text.contains("`helper` with 2.9 GiB private ended by signal 6"),
            "{text}"
        );
        let excess = Excess {
            limit: 2 << 30,
            private: 3 << 30,
            is_exact: true,
            rate: None,
        };
        let over = Ending::OverLimit {
            excess,
            during: "edit".to_owned(),
            in_flight: Vec::new(),
            before: Vec::new(),
        };
        let text = text_of(over, "");
        assert!(text.contains("of 2.0 GiB during edit with 3.0 GiB private"), "{text}");
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let text = text_of(crashed(Some(1), None), &"é".repeat(500));
        assert!(text.ends_with("é…`"), "{text}");
        assert!(text.chars().count() < 180, "{text}");
    }
}
