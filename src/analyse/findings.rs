//! What a person should know about a run, each as a sentence that says what to do next.

mod sampling;

use std::time::Duration;

use crate::record::{EmptyStep, Ending, ReadyOutcome, ReadyRule, WarningKind};
use crate::units;

use super::advice::advice;
use super::left_out;
use super::summary::Summary;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Some figures are less sure.
    Warning,
    /// The run failed.
    Failure,
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The sentence.
    pub text: String,
    /// Lines that belong to it, such as the end of stderr.
    pub details: Vec<String>,
}

/// Lines of stderr that are shown with a failure.
const STDERR_LINES: usize = 8;

/// Different messages of the server that are shown.
const MESSAGES: usize = 3;

/// Everything worth saying, least important first: the reason of a failure is the last thing on the screen.
pub fn findings(summary: &Summary) -> Vec<Finding> {
    let mut found = Vec::new();
    recorded(summary, &mut found);
    sampling::doubts(summary, &mut found);
    readiness(summary, &mut found);
    shutdown(summary, &mut found);
    found.extend(ending(summary));
    found.sort_by_key(|finding| finding.severity);
    found
}

fn finding(severity: Severity, text: impl Into<String>) -> Finding {
    Finding {
        severity,
        text: text.into(),
        details: Vec::new(),
    }
}

/// What was already a warning when it was recorded, what the server told people, and what it wrote in the wrong place.
fn recorded(summary: &Summary, found: &mut Vec<Finding>) {
    messages(summary, found);
    for text in advice(&summary.header.host, waited(summary)) {
        found.push(finding(Severity::Warning, text));
    }
    // Those two are told from the events themselves, all of a kind together.
    let told = [WarningKind::Unsettled, WarningKind::Readiness];
    for warning in summary.warnings.iter().filter(|warning| !told.contains(&warning.kind)) {
        found.push(finding(
            Severity::Warning,
            format!("{}{}", warning.text, times(warning.count)),
        ));
    }
    for method in &summary.methods {
        if let Some((error, count)) = &method.error {
            let total = units::count(method.errors);
            let text = format!(
                "`{}` was answered with an error {total} times; most often ({}): {error}",
                method.method,
                units::count(*count)
            );
            found.push(finding(Severity::Warning, text));
        }
    }
    found.extend(left_out::findings(summary));
}

/// The share of the run in which something on the machine waited for memory.
fn waited(summary: &Summary) -> Option<f64> {
    let waited = summary.pressure.as_ref()?.memory_some?;
    (summary.duration > 0).then(|| waited as f64 / summary.duration as f64)
}

/// How often something was said, when more than once.
fn times(count: u64) -> String {
    if count > 1 {
        format!(" ({} times)", units::count(count))
    } else {
        String::new()
    }
}

/// The first few different messages of the server, and how many more there are.
fn messages(summary: &Summary, found: &mut Vec<Finding>) {
    for message in summary.messages.iter().take(MESSAGES) {
        let level = if message.level == 1 { "an error" } else { "a warning" };
        let text = message.text.lines().next().unwrap_or_default();
        let text = format!("the server reports {level}: {text}{}", times(message.count));
        found.push(finding(Severity::Note, text));
    }
    let rest = summary.messages.iter().skip(MESSAGES);
    let more: u64 = rest.map(|message| message.count).sum();
    if more > 0 {
        let text = format!(
            "the server reports {} more errors and warnings; the record has them",
            units::count(more)
        );
        found.push(finding(Severity::Note, text));
    }
}

fn readiness(summary: &Summary, found: &mut Vec<Finding>) {
    for readiness in &summary.readiness {
        let after = units::duration(Duration::from_nanos(readiness.after));
        let missing = &readiness.missing;
        let text = match readiness.outcome {
            ReadyOutcome::Ready | ReadyOutcome::NoWork => continue,
            ReadyOutcome::Timeout => format!(
                "the server was still not ready after {after} ({missing}); the first figures hold unfinished start-up work: give readiness a longer `timeout`"
            ),
            ReadyOutcome::Failed => format!("the server could not load the workspace: {missing}"),
        };
        found.push(finding(Severity::Warning, text));
    }
}

/// The rule of readiness in words.
pub fn ready_rule(rule: ReadyRule) -> &'static str {
    match rule {
        ReadyRule::Handshake => "handshake",
        ReadyRule::Signal => "the server's own signal",
        ReadyRule::Progress => "end of progress",
        ReadyRule::Quiet => "no message for a while",
        ReadyRule::Cpu => "processors idle",
        ReadyRule::Barrier => "a request answered",
    }
}

/// What was left behind. How the server left is among the recorded warnings already.
fn shutdown(summary: &Summary, found: &mut Vec<Finding>) {
    let Some(shutdown) = &summary.shutdown else { return };
    let most = summary.peak.map(|peak| peak.upper.unwrap_or(peak.lower));
    if let Some((last, most)) = summary.shutdown_peak.zip(most).filter(|(last, most)| last > most) {
        let text = format!(
            "while it was shut down the server held at least {}, more than the {} of any phase",
            units::bytes(last),
            units::bytes(most)
        );
        found.push(finding(Severity::Note, text));
    }
    if !shutdown.survivors.is_empty() {
        let count = shutdown.survivors.len();
        let one = if count == 1 {
            "1 process outlived the server and was"
        } else {
            &format!("{count} processes outlived the server and were")
        };
        found.push(Finding {
            severity: Severity::Failure,
            text: format!("{one} killed: after every editor session they would keep their memory"),
            details: shutdown
                .survivors
                .iter()
                .map(|one| format!("{} (process {})", one.name, one.pid))
                .collect(),
        });
    }
}

fn ending(summary: &Summary) -> Option<Finding> {
    let time = |nanos: u64| units::duration(Duration::from_nanos(nanos));
    let text = match &summary.ending {
        Some(Ending::Completed) => return None,
        None => {
            let text = "the record stops before the run ended: lsp-soak was killed, or its disk was full; what is here was measured, the rest is missing";
            return Some(finding(Severity::Failure, text));
        }
        Some(Ending::Interrupted) => {
            let text = "interrupted: the server was shut down, and the phases until then are whole";
            return Some(finding(Severity::Failure, text));
        }
        Some(Ending::Crashed {
            code: Some(0),
            signal: None,
            during,
        }) => format!(
            "the server ended by itself without being asked (exit code 0) during {during}: is this a language server, and does it need an argument such as `--stdio`?"
        ),
        Some(Ending::Crashed { code, signal, during }) => {
            format!("the server crashed during {during}: {}", status(*code, *signal))
        }
        Some(Ending::Disconnected { reason }) => {
            format!("the connection to the server broke off while it was still running: {reason}")
        }
        Some(Ending::TimedOut { method, after }) => format!(
            "`{method}` was not answered within {}, though the server was busy: give the step a longer `deadline`, or look for an endless loop",
            time(*after)
        ),
        Some(Ending::Wedged { method, after, unsent }) => wedged(method, &time(*after), *unsent),
        Some(Ending::Refused { reason }) => format!("the server refused to start work: {reason}"),
        Some(Ending::Unsupported { steps }) => {
            return Some(Finding {
                severity: Severity::Failure,
                text: "the server does not offer what the scenario needs: mark these steps `optional = true`, or give `--allow-unsupported`".to_owned(),
                details: steps.clone(),
            });
        }
        Some(Ending::Empty { steps }) => return Some(empty(steps)),
    };
    Some(Finding {
        severity: Severity::Failure,
        text,
        details: stderr_tail(summary),
    })
}

fn empty(steps: &[EmptyStep]) -> Finding {
    let line = |step: &EmptyStep| {
        let requests = units::count(step.requests);
        format!(
            "`{}` in phase `{}`: {requests} requests, nothing found",
            step.step, step.phase
        )
    };
    Finding {
        severity: Severity::Failure,
        text: "the server found nothing where there is something, so its memory says nothing: check that the workspace loads, or set `expect = \"anything\"`".to_owned(),
        details: steps.iter().map(line).collect(),
    }
}

fn wedged(method: &str, after: &str, unsent: u64) -> String {
    if method.is_empty() {
        return format!(
            "the server is wedged: it has taken none of {} for {after}, has said nothing and uses no processor; it waits for something: attach a debugger",
            units::bytes(unsent)
        );
    }
    let untaken = if unsent > 0 {
        format!(", {} of ours not taken", units::bytes(unsent))
    } else {
        String::new()
    };
    format!(
        "the server is wedged: `{method}` has been open for {after}, nothing moved in either direction{untaken}, and its processors are idle; it waits for something: attach a debugger"
    )
}

/// How a process ended, in words.
fn status(code: Option<i32>, signal: Option<i32>) -> String {
    let known = |signal| match signal {
        4 => " (SIGILL: illegal instruction)",
        6 => " (SIGABRT: it aborted itself, as after a panic or a failed allocation)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL: somebody killed it; look for the out-of-memory killer in `dmesg`)",
        11 => " (SIGSEGV: invalid memory access)",
        15 => " (SIGTERM: somebody told it to stop)",
        _ => "",
    };
    match (code, signal) {
        (_, Some(signal)) => format!("signal {signal}{}", known(signal)),
        (Some(code), None) => format!("exit code {code}"),
        (None, None) => "it is gone, and how is not known".to_owned(),
    }
}

fn stderr_tail(summary: &Summary) -> Vec<String> {
    let Some(close) = &summary.close else { return Vec::new() };
    let lines: Vec<&str> = close
        .stderr_tail
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(STDERR_LINES);
    lines[first..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::tests::of;
    use crate::analyse::{Exit, exit};
    use crate::record::ShutdownStage;
    use crate::record::golden::Session;

    #[test]
    fn a_wedge_names_what_is_stuck_and_in_which_direction() {
        let reading = wedged("textDocument/hover", "30.0 s", 0);
        assert!(
            reading.contains("`textDocument/hover` has been open for 30.0 s"),
            "{reading}"
        );
        let writing = wedged("", "30.0 s", 65_536);
        assert!(writing.contains("taken none of 64.0 KiB for 30.0 s"), "{writing}");
    }

    #[test]
    fn an_end_is_told_by_signal_code_or_not_at_all() {
        assert!(status(None, Some(9)).contains("out-of-memory killer"));
        assert_eq!(status(Some(101), None), "exit code 101");
        assert_eq!(status(None, None), "it is gone, and how is not known");
    }

    #[test]
    fn a_server_that_ends_by_itself_has_not_crashed_and_still_shows_its_last_words() {
        for (code, words) in [
            (
                0,
                "ended by itself without being asked (exit code 0) during the start: is this a language server",
            ),
            (2, "crashed during the start: exit code 2"),
        ] {
            let mut session = Session::new("server");
            let ending = Ending::Crashed {
                code: Some(code),
                signal: None,
                during: "the start".to_owned(),
            };
            session.shut_down(ShutdownStage::AlreadyGone, Vec::new(), ending, "usage: server --stdio");
            let summary = of(&session);
            let last = findings(&summary).pop().unwrap();
            assert!(last.text.contains(words), "{}", last.text);
            assert_eq!(last.details, ["usage: server --stdio"]);
            assert_eq!(exit(&summary), Exit::ServerFailed);
        }
    }
}
