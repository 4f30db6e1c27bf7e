//! The head of a report: the server, the machine, and how the run ended.

use std::time::Duration;

use crate::comparison::one_server::memory_sentence;
use crate::run::{command, lens};
use analysis::figures::MeasuredPart;
use analysis::findings::{headlines, outcome, ready_rule};
use analysis::summary::{Peak, Summary, exit_of_run};
use base::exit::Exit;
use base::text::{Tone, width, without_breaks};
use base::units;
use record::{Nanos, ReadyOutcome, ShutdownReply, ShutdownStage};

/// Longest version of a server that is shown as it says it.
const VERSION: usize = 80;

/// Facts about the run, each with its name; a traced run has no results.
pub fn facts(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("server", server(summary)),
        ("workspace", workspace(summary)),
        ("machine", machine(summary)),
    ];
    if summary.header.plan.traced.is_some() {
        return facts;
    }
    if summary.lifecycle.command.is_some() {
        facts.push(("samples", samples(summary)));
        return facts;
    }
    facts.extend([
        ("ready", ready(summary)),
        ("peak", peaks(summary)),
        ("samples", samples(summary)),
        ("shutdown", shutdown(summary)),
    ]);
    facts
}

pub fn cpu_time(nanos: Nanos) -> String {
    units::cpu_time(Duration::from_nanos(nanos))
}

/// A peak with its certainty: `207.0`, `407.5–439.0`, or `≥ 340.0` where nothing bounds it from above.
pub fn peak(peak: Peak) -> String {
    let lower = units::mib(peak.lower);
    match peak.upper.map(units::mib) {
        None => format!("≥ {lower}"),
        // What ended between two samples may have had more than the upper bound counts.
        Some(_) if peak.unseen => format!("≥ {lower}"),
        Some(upper) if upper == lower => lower,
        Some(upper) => format!("{lower}–{upper}"),
    }
}

/// The end of the run in few words.
pub fn ending(summary: &Summary) -> (Tone, String) {
    let word = outcome(summary);
    let (tone, mark) = match exit_of_run(summary) {
        // Its figures mean something else than they seem.
        Exit::Passed if !headlines(summary).is_empty() => (Tone::Warning, "~"),
        Exit::Passed | Exit::GateFailed | Exit::Inconclusive => (Tone::Good, "✓"),
        Exit::Interrupted => (Tone::Warning, "■"),
        Exit::OwnFailure | Exit::ServerFailed => (Tone::Bad, "✗"),
    };
    let facts = &summary.header.server;
    let allocator = facts
        .allocator
        .as_ref()
        .map(|allocator| format!("allocator {allocator}"));
    let server: Vec<String> = version(summary).into_iter().chain(allocator).collect();
    let server = if server.is_empty() {
        String::new()
    } else {
        format!(": {}", server.join(", "))
    };
    (
        tone,
        format!("{mark} {word} after {}{server}", units::nanoseconds(summary.duration)),
    )
}

/// Private memory at the result, or at the last checkpoint before it that was reached, with the phase.
pub fn result(summary: &Summary) -> Option<(u64, &str)> {
    let Some(MeasuredPart::Phase { number, .. }) = MeasuredPart::result(summary) else {
        return None;
    };
    for phase in summary.phases.iter().rev() {
        if phase.phase.phase <= number
            && let Some(private) = phase.private
        {
            return Some((private, &phase.phase.name));
        }
    }
    None
}

/// The result in one sentence without a full stop; `None` if its memory is unknown.
pub fn conclusion(summary: &Summary) -> Option<String> {
    if summary.lifecycle.command.is_some() {
        return command::conclusion(summary);
    }
    let mut private = result(summary).map(|(private, name)| {
        let size = format!("{} MiB", units::mib(private));
        (size, moment_of_result(summary, private, name))
    });
    if summary.header.wrapped.is_some() {
        let most = summary.memory.private_peak;
        private = most.map(|most| (format!("{} MiB", units::mib(most)), "at most".to_owned()));
    }
    let peak = summary.memory.peak.map(|most| format!("{} MiB", peak(most)));
    memory_sentence(private, peak)
}

/// The end of the phase of this name, with the growth of private memory since the first phase if both are comparable.
fn moment_of_result(summary: &Summary, private: u64, name: &str) -> String {
    let is_incomplete = is_incomplete(summary, name);
    let when = if is_incomplete {
        format!("after {name}, without the process that ended")
    } else if still_growing(summary, name) {
        format!("at the end of {name}, still growing")
    } else {
        format!("after {name}")
    };
    let Some(first) = summary.phases.first() else {
        return when;
    };
    match first.private {
        Some(first_private) if first.phase.name != name && !is_incomplete => {
            let more = i64::try_from(i128::from(private) - i128::from(first_private)).unwrap_or(0);
            let (more, start) = (units::signed_mib(more), &first.phase.name);
            format!("{when} ({more} MiB since {start})")
        }
        _ => when,
    }
}

/// Programs that are named in the sentence about processes.
const NAMED: usize = 4;

/// Processes, threads and open descriptors of the tree at the last checkpoint; `None` without a checkpoint.
pub fn processes(summary: &Summary) -> Option<String> {
    let mut phases = summary.phases.iter().rev();
    let (name, taken) = phases.find_map(|phase| Some((&phase.phase.name, phase.checkpoint.as_ref()?)))?;
    let mut parts = vec![format!(
        "{} after {name}{}",
        units::count_of(taken.processes, "process"),
        program_names(summary)
    )];
    if let Some(zombies) = taken.zombies
        && zombies > 0
    {
        parts.push(units::count_of(zombies, "zombie"));
    }
    parts.extend(taken.threads.map(|threads| units::count_of(threads, "thread")));
    let descriptors = taken.descriptors;
    parts.extend(descriptors.map(|count| units::count_of(count, "open descriptor")));
    Some(parts.join(", "))
}

/// The programs with the most memory that were still there at the shutdown: ` (node cli.js, node tsserver.js ×2)`.
/// Nothing for a single process.
fn program_names(summary: &Summary) -> String {
    let mut programs: Vec<_> = summary
        .processes
        .programs
        .iter()
        .filter(|program| program.count > program.ended)
        .collect();
    if programs
        .iter()
        .map(|program| program.count - program.ended)
        .sum::<u64>()
        < 2
    {
        return String::new();
    }
    programs.sort_by_key(|program| std::cmp::Reverse((program.private, program.peak)));
    let rest = programs.len().saturating_sub(NAMED);
    let mut names = Vec::new();
    for program in programs.into_iter().take(NAMED) {
        names.push(match program.count - program.ended {
            1 => program.name.clone(),
            several => format!("{} ×{several}", program.name),
        });
    }
    if rest > 0 {
        names.push(format!("{rest} more"));
    }
    format!(" ({})", names.join(", "))
}

/// True if the last checkpoint of a phase was taken while memory grew.
fn still_growing(summary: &Summary, name: &str) -> bool {
    let mut rounds = summary.phases.iter().rev().filter(|phase| phase.phase.name == name);
    let last = rounds.find_map(|phase| phase.checkpoint.as_ref());
    last.is_some_and(|taken| taken.growing.is_some())
}

/// True if a process that held most of the memory was missing at the last checkpoint of a phase.
fn is_incomplete(summary: &Summary, name: &str) -> bool {
    let mut rounds = summary.phases.iter().rev().filter(|phase| phase.phase.name == name);
    rounds
        .find(|phase| phase.checkpoint.is_some())
        .is_some_and(|phase| phase.incomplete)
}

fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .map(|part| without_breaks(&part))
        .collect();
    if parts.is_empty() {
        units::UNKNOWN.to_owned()
    } else {
        parts.join(" · ")
    }
}

/// The server's own name and version.
fn version(summary: &Summary) -> Option<String> {
    let facts = &summary.header.server;
    let own = summary.lifecycle.initialized.as_ref().and_then(|initialized| {
        let name = initialized.name.clone()?;
        Some(match &initialized.version {
            None => name,
            Some(version) if width(version) <= VERSION => format!("{name} {version}"),
            // Some servers answer with all they were built from.
            Some(_) => facts.version.clone().unwrap_or(name),
        })
    });
    let version = own.or(facts.version.clone())?;
    // Some programs answer `--version` with the number alone.
    if version.starts_with(|first: char| first.is_ascii_digit()) {
        return Some(format!("version {version}"));
    }
    Some(version)
}

fn server(summary: &Summary) -> String {
    let facts = &summary.header.server;
    let program = facts.program.clone();
    let allocator = facts.allocator.as_ref().map(|allocator| match allocator.confidence {
        Some(confidence) => format!("allocator {allocator} ({})", confidence.name()),
        None => format!("allocator {}", units::UNKNOWN),
    });
    let env: Vec<String> = facts
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let restarts = match summary.lifecycle.restarts {
        0 => None,
        1 => Some("restarted once".to_owned()),
        times => Some(format!("restarted {times} times")),
    };
    let lens = lens::words(&facts.lens);
    joined([
        version(summary),
        Some(program),
        allocator,
        lens,
        Some(env.join(" ")),
        restarts,
    ])
}

fn workspace(summary: &Summary) -> String {
    if summary.header.wrapped.is_some() {
        return "not recorded".to_owned();
    }
    let facts = &summary.header.workspace;
    let files = format!(
        "{}, {}",
        units::count_of(facts.files, "file"),
        units::bytes(facts.bytes)
    );
    let origin = facts.origin.as_ref().map(|origin| origin.origin.clone());
    joined([
        origin.or_else(|| Some(facts.path.clone())),
        Some(facts.language.clone()),
        Some(files),
        Some(facts.isolation.clone()),
    ])
}

fn machine(summary: &Summary) -> String {
    let host = &summary.header.host;
    let processors = host.cpus.map(|cpus| units::count_of(cpus, "processor"));
    let memory = host.memory.total.map(units::bytes);
    let huge = host.memory.huge_pages().map(|mode| format!("huge pages {mode}"));
    let kernel = host.kernel.as_ref().map(|kernel| format!("{} {kernel}", host.os));
    joined([
        host.distribution.clone(),
        kernel,
        host.cpu.clone(),
        processors,
        memory,
        huge,
    ])
}

fn ready(summary: &Summary) -> String {
    let Some(first) = summary.lifecycle.readiness.first() else {
        return units::UNKNOWN.to_owned();
    };
    let after = units::nanoseconds(first.after);
    match first.outcome {
        ReadyOutcome::Ready => {
            let tokens = units::count_of(first.progress, "progress token");
            format!("after {after}, decided by {}; {tokens}", ready_rule(first.rule))
        }
        ReadyOutcome::NoWork => format!("after {after}: no start-up work was seen"),
        ReadyOutcome::Timeout => format!("not within {after}"),
        ReadyOutcome::Failed => format!("never: the workspace did not load ({after})"),
    }
}

fn peaks(summary: &Summary) -> String {
    let resident = summary.memory.peak.map(|most| format!("{} MiB resident", peak(most)));
    let private = summary
        .memory
        .private_peak
        .map(|value| format!("≥ {} MiB private", units::mib(value)));
    joined([resident, private])
}

fn samples(summary: &Summary) -> String {
    let sampling = &summary.sampling;
    let late = sampling.mean_delay().map(|mean| {
        let latest = units::nanoseconds(sampling.latest);
        format!("late by {} on average, {latest} at most", units::nanoseconds(mean))
    });
    let missed = if sampling.missed > 0 {
        Some(format!("{} missed", units::count(sampling.missed)))
    } else {
        None
    };
    let every = format!("every {}", units::nanoseconds(summary.header.settings.interval));
    joined([Some(every), late, missed])
}

fn shutdown(summary: &Summary) -> String {
    let Some(shutdown) = &summary.lifecycle.shutdown else {
        return units::UNKNOWN.to_owned();
    };
    let took = units::or_unknown(shutdown.took, units::nanoseconds);
    let request = match (&shutdown.reply, shutdown.exit_sent) {
        (Some(ShutdownReply::Gone), _) | (_, Some(false)) => "`shutdown`",
        _ => "`exit`",
    };
    let stage = match shutdown.stage {
        ShutdownStage::AlreadyGone => "ended before it was asked".to_owned(),
        ShutdownStage::Exit => format!("on {request} after {took}"),
        ShutdownStage::StdinClosed => format!("when its input was closed, after {took}"),
        ShutdownStage::Terminated => format!("on SIGTERM after {took}"),
        ShutdownStage::Killed => format!("killed after {took}"),
    };
    let reply = match &shutdown.reply {
        None | Some(ShutdownReply::Answered | ShutdownReply::Gone) => None,
        Some(ShutdownReply::Refused { .. }) => Some("`shutdown` refused".to_owned()),
        Some(ShutdownReply::Unanswered) => Some("`shutdown` not answered".to_owned()),
    };
    let status = match (shutdown.stage, shutdown.code, shutdown.signal) {
        (ShutdownStage::Terminated | ShutdownStage::Killed, ..) | (_, None | Some(0), None) => None,
        (.., Some(signal)) => Some(format!("signal {signal}")),
        (_, Some(code), None) => Some(format!("exit code {code}")),
    };
    let peak = summary
        .memory
        .shutdown_peak
        .map(|most| format!("≥ {} MiB resident until then", units::mib(most)));
    joined([Some(stage), reply, status, peak])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_has_an_upper_end_only_where_one_is_known() {
        const MIB: u64 = 1 << 20;
        for (upper, unseen, text) in [
            (Some(400 * MIB), false, "400.0"),
            (Some(547 * MIB), false, "400.0–547.0"),
            (Some(547 * MIB), true, "≥ 400.0"),
            (Some(400 * MIB), true, "≥ 400.0"),
            (None, false, "≥ 400.0"),
        ] {
            let lower = 400 * MIB;
            assert_eq!(peak(Peak { lower, upper, unseen }), text);
        }
    }
}
