//! Findings about the end of a run and the shutdown of the server.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::summary::{Departure, departures, last_words_of_run};
use base::text::complaint::complains;
use base::units;
use record::{BARRIER, EmptyStep, EndCause, Ending, MOST_NAMED, Shutdown, ShutdownReply, ShutdownStage, Survivor};

use super::super::summary::Summary;
use super::{Finding, Severity, finding, times};

/// Memory in bytes by which a shutdown must exceed every phase to be worth a note.
const MORE: u64 = 1 << 20;

/// Adds findings about the ends of servers and the processes that outlived them. Recorded warnings already cover their
/// replies.
pub(super) fn shutdown(summary: &Summary, list: &mut Vec<Finding>) {
    let phases_peak = summary.memory.peak.map(|peak| peak.upper.unwrap_or(peak.lower));
    if let (Some(shutdown_peak), Some(phases_peak)) = (summary.memory.shutdown_peak, phases_peak)
        && shutdown_peak >= phases_peak.saturating_add(MORE)
    {
        let text = format!(
            "during shutdown the server had at least {}, more than the {} of any phase",
            units::bytes(shutdown_peak),
            units::bytes(phases_peak)
        );
        list.push(finding(Severity::Note, text));
    }
    let departures = departures(summary);
    // Every restart of a server may end the same way.
    let mut by_text: BTreeMap<String, (Finding, u64)> = BTreeMap::new();
    for finding in departures.iter().filter_map(death) {
        by_text.entry(finding.text.clone()).or_insert((finding, 0)).1 += 1;
    }
    list.extend(by_text.into_values().map(|(mut finding, count)| {
        finding.text.push_str(&times(count));
        finding
    }));
    let survivors: Vec<&Survivor> = departures.iter().flat_map(|one| &one.shutdown.survivors).collect();
    // After an excess lsp-soak itself kills, and a large process takes a while to end.
    let is_killed = matches!(summary.ending, Some(Ending::OverLimit { .. }));
    if !survivors.is_empty() && !is_killed {
        let was = if survivors.len() == 1 { "was" } else { "were" };
        // The record names no more survivors, so their number is unknown.
        let least = if survivors.len() >= MOST_NAMED { "at least " } else { "" };
        let processes = format!("{least}{}", units::count_of(survivors.len() as u64, "process"));
        let text = match summary.lifecycle.command {
            Some(_) => format!("{processes} outlived the command and {was} killed"),
            None => {
                format!(
                    "{processes} outlived the server and {was} killed: this memory leaks after every editor session"
                )
            }
        };
        let names = survivors
            .iter()
            .map(|one| format!("{} (process {})", one.name, one.pid));
        list.push(Finding {
            details: names.collect(),
            ..finding(Severity::Failure, text)
        });
    }
}

fn death(departure: &Departure) -> Option<Finding> {
    let Shutdown {
        reply,
        exit_sent,
        code,
        signal,
        ..
    } = &departure.shutdown;
    let status = status(*code, *signal);
    let on_shutdown = *reply == Some(ShutdownReply::Gone);
    let (severity, text) = if departure.left_early() {
        (
            Severity::Failure,
            format!("the server ended before lsp-soak asked it to shut down: {status}"),
        )
    } else if departure.died() {
        let when = match exit_sent {
            Some(true) => ", after lsp-soak sent `exit`",
            Some(false) if on_shutdown => ", before it answered `shutdown` and before lsp-soak sent `exit`",
            Some(false) => ", after it answered `shutdown` and before lsp-soak sent `exit`",
            None => "",
        };
        (
            Severity::Failure,
            format!("the server crashed during shutdown{when}: {status}"),
        )
    } else {
        departure.wrong_code()?;
        let when = if on_shutdown {
            "on `shutdown`, without an answer"
        } else {
            "after `exit`"
        };
        let text = format!(
            "the server ended with {status} {when}: the protocol wants exit code 0, and editors show anything else as \
             a crash"
        );
        (Severity::Warning, text)
    };
    Some(Finding {
        details: departure.last_words.clone(),
        ..finding(severity, text)
    })
}

const CUT_OFF: &str = "the record ends before the run did: lsp-soak was killed, its disk was full, or it reported an \
                       error; the figures up to there are measured";
const UNSUPPORTED: &str = "the server does not support what the scenario needs: mark these steps `optional = true`, or \
                           use `--allow-unsupported`";

fn crashed(summary: &Summary, code: Option<i32>, signal: Option<i32>, during: &str) -> String {
    match (code, signal) {
        _ if summary.lifecycle.command.is_some() => format!("the command failed: {}", status(code, signal)),
        (Some(0), None) => format!(
            "the server ended by itself (exit code 0) during {during}: is this a language server, and does it need an \
             argument such as `--stdio`?"
        ),
        _ if wants_argument(summary) => format!(
            "the server crashed during {during}: {}; does it need an argument such as `--stdio`?",
            status(code, signal)
        ),
        _ => format!("the server crashed during {during}: {}", status(code, signal)),
    }
}

/// True if the server, before it answered anything, named stdio in its complaint, or explained its use without one.
fn wants_argument(summary: &Summary) -> bool {
    if summary.lifecycle.initialized.is_some() || summary.header.server.args.iter().any(|arg| arg.contains("stdio")) {
        return false;
    }
    let words = last_words_of_run(summary);
    let explains_use = words.iter().any(|line| is_usage(line)) && !words.iter().any(|line| complains(line));
    let names_stdio = words
        .iter()
        .any(|line| line.contains("stdio") && !line.contains("stdio.rs"));
    explains_use || names_stdio
}

fn is_usage(line: &str) -> bool {
    let start = line.trim_start().get(..6);
    start.is_some_and(|start| start.eq_ignore_ascii_case("usage:"))
}

/// The finding about the end of a run; `None` for a completed one, and where another finding covers it.
pub(super) fn ending(summary: &Summary) -> Option<Finding> {
    let text = match &summary.ending {
        Some(Ending::Completed) => return None,
        None => return Some(finding(Severity::Failure, CUT_OFF)),
        Some(Ending::Interrupted) => {
            let stage = summary.lifecycle.shutdown.as_ref().map(|shutdown| shutdown.stage);
            let text = format!("interrupted: {}the phases before are complete", interrupted(stage));
            return Some(finding(Severity::Failure, text));
        }
        Some(Ending::Crashed { code, signal, during }) => crashed(summary, *code, *signal, during),
        Some(Ending::Disconnected { reason }) => {
            format!("the server closed its connection while it was still running: {reason}")
        }
        Some(Ending::TimedOut {
            method,
            after,
            unsent,
            during,
        }) => timed_out(method, &time_and_place(*after, during), *unsent),
        Some(Ending::Wedged {
            method,
            after,
            unsent,
            during,
        }) => wedged(method, &time_and_place(*after, during), *unsent, &waits_for(summary)),
        Some(Ending::Emptied { reason }) => {
            format!("no file of the workspace can be opened any more; before the server started, all could: {reason}")
        }
        Some(Ending::Refused { reason }) => format!("the server refused to start work: {reason}"),
        // A headline reports the excess.
        Some(Ending::OverLimit { .. }) => return None,
        Some(Ending::ReportedFailure { reason, during }) => {
            format!("the server reported a failure during {during}: {reason}")
        }
        // A headline reports the process with its memory.
        Some(Ending::ProcessCrashed { pid, .. }) if summary.processes.lost.iter().any(|lost| lost.pid == *pid) => {
            return None;
        }
        Some(Ending::ProcessCrashed {
            name, cause, during, ..
        }) => {
            format!("`{name}` crashed during {during}: {}", cause_words(*cause))
        }
        Some(Ending::Unsupported { steps }) => {
            return Some(Finding {
                details: steps.clone(),
                ..finding(Severity::Failure, UNSUPPORTED)
            });
        }
        Some(Ending::Empty { steps }) => return Some(empty(steps, sent_requests(summary))),
    };
    Some(Finding {
        details: last_words_of_run(summary),
        ..finding(Severity::Failure, text)
    })
}

/// `30.0 s in hover`. Older records have no place.
fn time_and_place(nanos: u64, during: &str) -> String {
    let time = units::nanoseconds(nanos);
    match during {
        "" => time,
        during => format!("{time} in {during}"),
    }
}

fn timed_out(method: &str, after: &str, unsent: u64) -> String {
    let what = match unsent {
        0 => format!("`{method}` was not answered within {after}, in which the server worked or sent something"),
        unsent => format!(
            "the server was busy and read almost nothing for {after}, while {} wait in its input",
            units::bytes(unsent)
        ),
    };
    format!("{what}: give the step a longer `deadline`, or see what the server does in that time")
}

fn interrupted(stage: Option<ShutdownStage>) -> &'static str {
    use ShutdownStage::{AlreadyGone, Exit, Killed, StdinClosed, Terminated};
    match stage {
        Some(Exit | StdinClosed | Terminated) => "the server was shut down, and ",
        Some(Killed) => "the server was killed, and ",
        Some(AlreadyGone) => "the server was gone already, and ",
        None => "",
    }
}

/// True if any step of the run sent a request.
fn sent_requests(summary: &Summary) -> bool {
    let mut steps = summary.phases.iter().flat_map(|phase| &phase.steps);
    steps.any(|step| step.requests.is_some_and(|requests| requests > 0))
}

/// The failure of these steps; `elsewhere` if other steps sent requests.
fn empty(steps: &[EmptyStep], elsewhere: bool) -> Finding {
    let asked: Vec<&EmptyStep> = steps.iter().filter(|step| step.requests > 0).collect();
    let text = if steps.iter().any(|step| step.parked > 0) {
        "the server kept every request of a step open and sent no part of a result, so nothing was measured: give the \
         step another method, or mark it `optional = true`"
    } else if asked.is_empty() && steps.iter().all(|step| step.lacks.is_some()) {
        "the server supports nothing that the scenario asks for, so nothing was measured: choose another scenario"
    } else if asked.is_empty() && elsewhere {
        "a step found no target in the opened files, so its phase measured nothing: choose other files with \
         `--workspace`, `--language` or `--files`, or remove the step"
    } else if asked.is_empty() {
        "the scenario asked nothing, so nothing was measured: the opened files have no targets; choose other files \
         with `--workspace`, `--language` or `--files`, or another scenario"
    } else if asked.iter().all(|step| step.errors == step.requests) {
        "the server answered every request of a step with an error, so nothing was measured: read the errors, or mark \
         the step `optional = true`"
    } else {
        "the server found nothing where results exist, so nothing was measured: check that the workspace loads, or \
         set `expect = \"anything\"`"
    };
    Finding {
        details: steps.iter().map(empty_step).collect(),
        ..finding(Severity::Failure, text)
    }
}

fn empty_step(step: &EmptyStep) -> String {
    if let Some(method) = &step.lacks {
        return format!("`{}` in phase `{}` needs `{method}`", step.step, step.phase);
    }
    if step.parked > 0 {
        let requests = units::count_of(step.parked, "request");
        return format!("`{}` in phase `{}`: {requests} stayed open", step.step, step.phase);
    }
    if step.requests == 0 {
        let looked = step.looked_for.as_ref().map(|what| format!(": it found no {what}"));
        return format!(
            "`{}` in phase `{}` asked nothing{}",
            step.step,
            step.phase,
            looked.unwrap_or_default()
        );
    }
    let requests = units::count_of(step.requests, "request");
    let place = format!("`{}` in phase `{}`: {requests}", step.step, step.phase);
    let errors = units::count_of(step.errors, "error");
    match (&step.error, step.errors == step.requests) {
        (None, _) => format!("{place}, nothing found"),
        (Some(error), true) => format!("{place}, {errors}, most often: {error}"),
        (Some(error), false) => format!("{place}, nothing found, {errors}, most often: {error}"),
    }
}

/// Notifications of the protocol that servers send and that need no answer.
const KNOWN: [&str; 8] = [
    "$/cancelRequest",
    "$/logTrace",
    "$/progress",
    "telemetry/event",
    "textDocument/publishDiagnostics",
    "window/logMessage",
    "window/showMessage",
    "workspace/diagnostic/refresh",
];

/// The likely reason of a hang, with advice. A server may wait for an answer to a custom notification that only its own
/// client gives.
fn waits_for(summary: &Summary) -> String {
    const SHOWN: usize = 3;
    if let Some(message) = summary.lifecycle.close.as_ref().and_then(|close| close.unfinished) {
        return format!(
            "of its last message {} came and its `Content-Length` announces {}, in bytes: see whether it counts them right",
            units::count(message.came),
            units::count(message.announced)
        );
    }
    if let Some(close) = &summary.lifecycle.close
        && close.is_unframed()
        && summary.lifecycle.initialized.is_none()
    {
        return format!(
            "it wrote {} without a `Content-Length` header and an empty line before each message, so no client reads \
             them: does it need an option to talk to editors?",
            units::bytes(close.noise)
        );
    }
    let all = summary.lifecycle.close.iter().flat_map(|close| &close.notifications);
    let own: Vec<String> = all
        .filter(|(method, _)| !KNOWN.contains(&method.as_str()))
        .take(SHOWN)
        .map(|(method, count)| format!("`{method}`{}", times(*count)))
        .collect();
    if own.is_empty() {
        return "it waits for something: attach a debugger".to_owned();
    }
    format!(
        "it may wait for an answer to a custom notification, which lsp-soak does not send: {}; if not, attach a \
         debugger",
        own.join(", ")
    )
}

fn wedged(method: &str, after: &str, unsent: u64, waits: &str) -> String {
    if method.is_empty() {
        return format!(
            "the server hangs: for {after} it has read none of {}, sent nothing and used no CPU; {waits}",
            units::bytes(unsent)
        );
    }
    let untaken = if unsent > 0 {
        format!(", {} sent and not read", units::bytes(unsent))
    } else {
        String::new()
    };
    let method = match method {
        BARRIER => {
            "a request of lsp-soak (`lspSoak/barrier`), sent to see whether the notifications before it were read,"
                .to_owned()
        }
        method => format!("`{method}`"),
    };
    format!(
        "the server hangs: {method} has been open for {after}, nothing moved in either direction in that time{untaken}, and \
         it uses no CPU; {waits}"
    )
}

/// The end of a process of the tree, in words.
pub(super) fn cause_words(cause: EndCause) -> String {
    match cause {
        EndCause::Exited { code } => status(Some(code), None),
        EndCause::Signalled {
            signal,
            out_of_memory: true,
        } => format!("signal {signal} (the kernel's out-of-memory killer)"),
        EndCause::Signalled { signal, .. } => status(None, Some(signal)),
        EndCause::Unknown => "cause unknown, because this system does not tell".to_owned(),
    }
}

/// The exit status of a process, in words.
pub(super) fn status(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (_, Some(signal)) => format!("signal {signal}{}", explain_signal(signal)),
        (Some(code), None) => format!("exit code {code}"),
        (None, None) => "it ended, and how is not known".to_owned(),
    }
}

fn explain_signal(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL: illegal instruction)",
        5 => " (SIGTRAP: it stopped itself, as V8 does after a failed allocation)",
        6 => " (SIGABRT: it aborted itself, as after a panic or a failed allocation)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL: killed from outside; look for the out-of-memory killer in `dmesg`)",
        11 => " (SIGSEGV: invalid memory access)",
        15 => " (SIGTERM: stopped from outside)",
        _ => "",
    }
}
