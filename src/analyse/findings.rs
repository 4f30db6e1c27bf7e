//! What a person should know about a run, each as a sentence that says what to do next.

use std::time::Duration;

use crate::record::{EmptyStep, Ending, ReadyOutcome, ReadyRule, WarningKind};
use crate::units;

use super::advice::advice;
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

/// A share of missed deadlines from which the curve is called thin.
const THIN: f64 = 0.01;

/// Everything worth saying, least important first: the reason of a failure is the last thing on the screen.
pub fn findings(summary: &Summary) -> Vec<Finding> {
    let mut found = Vec::new();
    recorded(summary, &mut found);
    sampling(summary, &mut found);
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
    // Those two are told from the events themselves, all of a kind together; of a count that grows, the last is told.
    let told = [WarningKind::Unsettled, WarningKind::Readiness];
    let grown = summary
        .warnings
        .iter()
        .rfind(|warning| warning.kind == WarningKind::UnseenProcesses);
    let others = summary
        .warnings
        .iter()
        .filter(|warning| warning.kind != WarningKind::UnseenProcesses);
    for warning in others.chain(grown).filter(|warning| !told.contains(&warning.kind)) {
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
    if summary.skipped > 0 {
        let text = format!(
            "{} entries of a newer format were left out: read this record with lsp-soak {} or later",
            units::count(summary.skipped),
            summary.header.tool
        );
        found.push(finding(Severity::Warning, text));
    }
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

fn sampling(summary: &Summary, found: &mut Vec<Finding>) {
    let sampling = &summary.sampling;
    let ticks = summary.duration / summary.header.settings.interval.max(1);
    if ticks > 0 && sampling.missed as f64 > THIN * ticks as f64 {
        let text = format!(
            "the sampler missed {} of about {} ticks (the latest by {}), so the curve is thin there; checkpoints and marks are not touched by it: run fewer programs beside it or give a longer `--interval`",
            units::count(sampling.missed),
            units::count(ticks),
            units::duration(Duration::from_nanos(sampling.latest)),
        );
        found.push(finding(Severity::Warning, text));
    }
    for (what, count) in &sampling.failures {
        let text = format!(
            "`{what}` could not be read {} times: run as the user that owns the server",
            units::count(*count)
        );
        found.push(finding(Severity::Warning, text));
    }
    let swapped = summary
        .phases
        .iter()
        .filter_map(|phase| phase.checkpoint.as_ref()?.swap)
        .max()
        .unwrap_or(0);
    if swapped > 0 {
        let text = format!(
            "up to {} of the server were swapped out, so resident figures are too low: free memory, or compare private ones only",
            units::bytes(swapped)
        );
        found.push(finding(Severity::Warning, text));
    }
    let unsettled: Vec<String> = summary
        .phases
        .iter()
        .filter_map(|phase| {
            let taken = phase.checkpoint.as_ref().filter(|taken| !taken.settled)?;
            Some(format!("`{}` ({})", phase.phase.name, taken.unsettled))
        })
        .collect();
    if !unsettled.is_empty() {
        let names = shorten(&unsettled);
        let text = format!("the server had not come to rest at the checkpoint of {names}: give its `settle` more time");
        found.push(finding(Severity::Warning, text));
    }
}

/// The first few of many.
fn shorten(names: &[String]) -> String {
    const SHOWN: usize = 5;
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
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
    fn a_long_list_of_names_is_shortened() {
        let names: Vec<String> = (1..=8).map(|number| number.to_string()).collect();
        assert_eq!(shorten(&names), "1, 2, 3, 4, 5 and 3 more");
        assert_eq!(shorten(&names[..5]), "1, 2, 3, 4, 5");
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
