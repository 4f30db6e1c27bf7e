//! Findings about a run: each is a sentence with its advice.

mod advice;
mod brief;
mod doubt;
mod ending;
mod fruitless_steps;
mod headline;
mod missing_data;
mod release;
mod resource_counts;
mod sampling;
mod settings;
mod shared_memory;
mod starter;

use serde::Serialize;

use crate::findings::advice::{advice, memory_wait_share};
use crate::summary::{CommonestError, Summary, WarningSummary, last_words, why_unmeasured};
use base::units;
use record::{Close, HugePages, ReadyOutcome, ReadyRule, WarningKind};

pub use crate::findings::brief::{brief, outcome};
pub use crate::findings::doubt::{Doubt, doubts};
pub use crate::findings::headline::{headlines, loss};
pub use crate::findings::settings::setting;
pub use advice::{beforehand, strains};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Note,
    /// Some figures are less precise.
    Warning,
    Failure,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    pub severity: Severity,
    pub text: String,
    /// Additional lines, such as the end of stderr.
    pub details: Vec<String>,
    /// True if it stands in the first lines of every report.
    #[serde(rename = "headline")]
    pub is_headline: bool,
}

/// Different server messages shown.
const MESSAGES: usize = 3;

/// Lines shown of a message after its first.
const LINES: usize = 8;

/// All findings, least severe first: the reason of a failure comes last on the screen.
pub fn findings(summary: &Summary) -> Vec<Finding> {
    let mut list = Vec::new();
    recorded(summary, &mut list);
    sampling::add_doubts(summary, &mut list);
    list.extend(shared_memory::findings(summary));
    list.extend(starter::unseen_peak(summary));
    settings::unconfirmed(summary, &mut list);
    list.extend(
        doubts(summary)
            .into_iter()
            .map(|doubt| finding(Severity::Warning, doubt.text)),
    );
    list.extend(fruitless_steps::fruitless_steps(summary));
    readiness(summary, &mut list);
    ending::shutdown(summary, &mut list);
    list.extend(ending::ending(summary));
    list.extend(headline::as_findings(summary));
    list.sort_by_key(|finding| finding.severity);
    list
}

/// A headline and its kind: headlines of one kind differ between runs only in their amounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    pub kind: &'static str,
    pub severity: Severity,
    pub text: String,
    /// Additional lines: what the server said of a crash.
    pub details: Vec<String>,
}

fn headline(kind: &'static str, severity: Severity, text: String) -> Headline {
    Headline {
        kind,
        severity,
        text,
        details: Vec::new(),
    }
}

fn finding(severity: Severity, text: impl Into<String>) -> Finding {
    Finding {
        severity,
        text: text.into(),
        details: Vec::new(),
        is_headline: false,
    }
}

/// Recorded warnings, the server's messages, and output in the wrong place.
fn recorded(summary: &Summary, list: &mut Vec<Finding>) {
    messages(summary, list);
    // This advice is about figures that a held-up run does not have.
    if why_unmeasured(&summary.header).is_none() {
        let advice = advice(&summary.header.host, memory_wait_share(summary));
        list.extend(advice.into_iter().map(|text| finding(Severity::Warning, text)));
        if let Some(jobs) = summary.header.plan.jobs {
            let text =
                format!("{jobs} runs were played at once, so latencies and CPU time are those of a shared machine");
            list.push(finding(Severity::Warning, text));
        }
    }
    // [`readiness`] and `sampling` report these two from the events themselves.
    let own = [WarningKind::Unsettled, WarningKind::Readiness];
    for warning in summary
        .log
        .warnings
        .iter()
        .filter(|warning| !own.contains(&warning.kind))
    {
        list.push(finding(
            Severity::Warning,
            format!("{}{}", warning.text, repeated(warning)),
        ));
    }
    if summary.log.more_warnings > 0 {
        let more = units::count_of(summary.log.more_warnings, "more warning");
        list.push(finding(Severity::Warning, format!("{more}: see the record")));
    }
    for method in summary.traffic.methods.iter().chain(&summary.traffic.editor) {
        if let Some(CommonestError { text, count }) = &method.error {
            let which = match (method.errors, *count) {
                (1, _) => String::new(),
                (all, most) if all == most => format!(" {} times", units::count(all)),
                (all, 1) => format!(" {} times, each time in other words, such as", units::count(all)),
                (all, most) => format!(" {} times, of them {}", units::count(all), units::count(most)),
            };
            let text = format!("`{}` was answered with an error{which}: {text}", method.method);
            list.push(finding(Severity::Warning, text));
        }
    }
    list.extend(summary.lifecycle.close.as_ref().and_then(long_stderr));
    list.extend(missing_data::findings(summary));
    list.extend(huge_pages(summary));
    list.extend(wine(summary));
    list.extend(package_install(summary));
}

/// Under Wine, private memory has another meaning than on Windows.
fn wine(summary: &Summary) -> Option<Finding> {
    let system = summary.header.host.distribution.as_deref()?;
    if !system.contains(" under Wine ") {
        return None;
    }
    let text = "under Wine, private means touched memory, not commit: do not compare it with Windows";
    Some(finding(Severity::Note, text))
}

/// A process may have huge pages although the run disables them.
fn huge_pages(summary: &Summary) -> Option<Finding> {
    let is_disabled_by_run = summary.header.settings.huge_pages? == HugePages::Never;
    let is_disabled_by_system = summary.header.host.memory.huge_pages.as_deref() == Some("never");
    if !is_disabled_by_run || is_disabled_by_system {
        return None;
    }
    let program = summary
        .processes
        .programs
        .iter()
        .find(|program| program.huge_pages == Some(true))?;
    let text = format!(
        "`--thp never` was not seen to take effect: {} may still have huge pages",
        program.name
    );
    Some(finding(Severity::Warning, text))
}

/// Programs that install packages, which takes different time and memory in each run.
const INSTALLERS: [&str; 9] = ["corepack", "curl", "npm", "npx", "pip", "pip3", "pnpm", "uv", "wget"];

/// The server installed packages, which makes a first run more expensive.
fn package_install(summary: &Summary) -> Option<Finding> {
    // A script is the second word, after its interpreter. Some programs set their own title.
    let installer = summary.processes.programs.iter().find(|program| {
        let mut words = program.command.iter().take(2);
        is_installer(&program.name) || words.any(|word| is_installer(word))
    })?;
    let peak = installer.peak.map(|peak| format!(" (most {})", units::bytes(peak)));
    let command: String = if installer.command.is_empty() {
        installer.name.clone()
    } else {
        installer.command.join(" ").chars().take(100).collect()
    };
    let text = format!(
        "the server ran `{}`{}, which installs packages: its memory and time count as the server's. Turn it off in \
         the server's settings, or install the packages before",
        command.trim(),
        peak.unwrap_or_default()
    );
    Some(finding(Severity::Warning, text))
}

/// True if a path or a title names one of [`INSTALLERS`].
fn is_installer(text: &str) -> bool {
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = name.split(['.', ' ']).next().unwrap_or_default();
    INSTALLERS.contains(&stem.trim_end_matches("-cli"))
}

/// Bytes on stderr that are worth a note: writing them takes the server's time.
const LOUD: u64 = 8 << 20;

fn long_stderr(close: &Close) -> Option<Finding> {
    const SHOWN: usize = 100;
    if close.stderr < LOUD {
        return None;
    }
    let size = units::bytes(close.stderr);
    let last = last_words(close).pop().unwrap_or_default();
    let last: String = last.trim().chars().take(SHOWN).collect();
    let text = format!(
        "the server wrote {size} to stderr, last `{last}`: set a quieter log level, because logging costs \
                 time"
    );
    Some(finding(Severity::Note, text))
}

/// The number of repeats. The text of a protocol warning describes the first of its kind.
fn repeated(warning: &WarningSummary) -> String {
    match warning.kind {
        WarningKind::Protocol if warning.count > 1 => format!(" ({} like this)", units::count(warning.count)),
        _ => times(warning.count),
    }
}

fn times(count: u64) -> String {
    if count > 1 {
        format!(" ({} times)", units::count(count))
    } else {
        String::new()
    }
}

/// The first few different messages of the server, and the number of the rest.
fn messages(summary: &Summary, list: &mut Vec<Finding>) {
    for message in summary.log.messages.iter().take(MESSAGES) {
        let level = if message.level == 1 { "an error" } else { "a warning" };
        let mut lines = message.text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default();
        let text = format!("the server reports {level}: {first}{}", times(message.count));
        list.push(Finding {
            details: lines.take(LINES).map(str::to_owned).collect(),
            ..finding(Severity::Note, text)
        });
    }
    let rest = summary.log.messages.iter().skip(MESSAGES);
    let written = rest.map(|message| message.count).sum::<u64>() + summary.log.more_messages;
    let unwritten = &summary.log.unwritten;
    let counted = unwritten.errors + unwritten.warnings;
    if written + counted > 0 {
        let which = match (written, counted) {
            (_, 0) => "see the record".to_owned(),
            (0, _) => "they were only counted, not recorded".to_owned(),
            (_, counted) => format!("{} of them were only counted, not recorded", units::count(counted)),
        };
        let more = units::count(written + counted);
        let text = format!("{more} more errors or warnings from the server: {which}");
        list.push(finding(Severity::Note, text));
    }
    let requests = unwritten.requests.values().sum::<u64>();
    for (count, what) in [(requests, "request"), (unwritten.registrations, "registration")] {
        if count > 0 {
            let text = format!(
                "the server sends so much that {} were only counted, not recorded",
                units::count_of(count, what)
            );
            list.push(finding(Severity::Note, text));
        }
    }
}

fn readiness(summary: &Summary, list: &mut Vec<Finding>) {
    for readiness in &summary.lifecycle.readiness {
        let after = units::nanoseconds(readiness.after);
        let missing = &readiness.missing;
        let text = match readiness.outcome {
            ReadyOutcome::Ready | ReadyOutcome::NoWork => continue,
            ReadyOutcome::Timeout => format!(
                "the server was not ready after {after} ({missing}), so the first figures include start-up work: give \
                 `readiness` a longer `timeout`"
            ),
            ReadyOutcome::Failed => format!("the server could not load the workspace: {missing}"),
        };
        list.push(finding(Severity::Warning, text));
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use crate::summary::ProgramSummary;
    use record::golden::Session;
    use record::{Ending, Event, Outcome, Unwritten};

    /// The text of the first finding with these words.
    fn find_text(summary: &Summary, words: &str) -> Option<String> {
        findings(summary)
            .into_iter()
            .map(|finding| finding.text)
            .find(|text| text.contains(words))
    }

    #[test]
    fn huge_pages_that_were_to_be_disabled_and_are_not_are_told() {
        for (setting, system, huge_pages, is_reported) in [
            (Some(HugePages::Never), "always", Some(true), true),
            (Some(HugePages::Never), "always", Some(false), false),
            (Some(HugePages::Never), "always", None, false),
            (Some(HugePages::Never), "never", Some(true), false),
            (Some(HugePages::Madvise), "always", Some(true), false),
            (None, "always", Some(true), false),
        ] {
            let mut summary = summarised(&Session::new("server"));
            summary.header.settings.huge_pages = setting;
            summary.header.host.memory.huge_pages = Some(system.to_owned());
            summary.processes.programs.push(ProgramSummary {
                name: "server".to_owned(),
                huge_pages,
                ..ProgramSummary::default()
            });
            let warning = find_text(&summary, "`--thp never` was not seen to take effect: server");
            assert_eq!(warning.is_some(), is_reported, "{setting:?} {system} {huge_pages:?}");
        }
    }

    fn install_warning(name: &str, command: &[&str]) -> Option<String> {
        let mut summary = summarised(&Session::new("server"));
        summary.processes.programs.push(ProgramSummary {
            name: name.to_owned(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            peak: Some(300 << 20),
            ..ProgramSummary::default()
        });
        find_text(&summary, "installs packages")
    }

    #[test]
    fn a_package_manager_that_the_server_runs_is_told() {
        let npm = install_warning(
            "node",
            &["node", "/usr/lib/npm/bin/npm-cli.js", "install", "types-registry"],
        )
        .unwrap();
        assert!(
            npm.contains("ran `node /usr/lib/npm/bin/npm-cli.js install types-registry` (most 300.0 MiB)"),
            "{npm}"
        );
        assert!(install_warning("npm install typ", &["npm install types-registry"]).is_some());
        for (name, command) in [
            ("node", &["node", "server.js"][..]),
            ("pipewire", &["pipewire"]),
            ("cargo", &["cargo", "check"]),
        ] {
            assert_eq!(install_warning(name, command), None);
        }
    }

    #[test]
    fn a_message_of_several_lines_is_shown_whole() {
        let mut session = Session::new("server");
        session.put(Event::ServerMessage {
            level: 1,
            text: "cannot load\n\n  because of this\n  and that".to_owned(),
        });
        let list = findings(&summarised(&session));
        let message = list
            .iter()
            .find(|finding| finding.text.contains("cannot load"))
            .unwrap();
        assert_eq!(message.details, ["  because of this", "  and that"]);
    }

    #[test]
    fn every_message_is_counted_and_the_ones_without_a_line_in_the_record_are_named() {
        let mut session = Session::new("server");
        for number in 0..1_000 {
            session.put(Event::ServerMessage {
                level: 2,
                text: format!("message {number}"),
            });
            session.warn(WarningKind::Scenario, &format!("warning {number}"));
        }
        let summary = summarised(&session);
        assert_eq!(
            find_text(&summary, "more errors").unwrap(),
            "997 more errors or warnings from the server: see the record"
        );
        assert_eq!(
            find_text(&summary, "more warnings").unwrap(),
            "800 more warnings: see the record"
        );
        let unwritten = Unwritten {
            warnings: 99_000,
            requests: [("a/b".to_owned(), 7)].into(),
            ..Unwritten::default()
        };
        session.put(Event::Closed(Close {
            unwritten,
            ..Close::default()
        }));
        let summary = summarised(&session);
        assert_eq!(
            find_text(&summary, "more errors").unwrap(),
            "99,997 more errors or warnings from the server: 99,000 of them were only counted, not recorded"
        );
        let requests = find_text(&summary, "7 requests were only").unwrap();
        assert!(requests.ends_with("were only counted, not recorded"));
        assert_eq!(summary.traffic.server_requests["a/b"].count, 7);
    }

    #[test]
    fn under_wine_private_is_said_to_be_another_quantity() {
        let mut summary = summarised(&Session::new("server"));
        summary.header.host.distribution = Some("Windows 10 Pro".to_owned());
        assert_eq!(wine(&summary), None);
        summary.header.host.distribution = Some("Windows 10 Pro under Wine 8.0".to_owned());
        assert!(wine(&summary).unwrap().text.contains("touched memory, not commit"));
    }

    #[test]
    fn errors_of_a_method_are_told_once_with_the_commonest() {
        for (counts, words) in [
            (&[1][..], "was answered with an error: -1: 0"),
            (&[3], "was answered with an error 3 times: -1: 0"),
            (&[3, 1], "was answered with an error 4 times, of them 3: -1: 0"),
            (
                &[1, 1],
                "was answered with an error 2 times, each time in other words, such as: -1: 1",
            ),
        ] {
            let mut session = Session::new("server");
            for (number, count) in counts.iter().enumerate() {
                let error = Outcome::Error {
                    code: -1,
                    message: number.to_string(),
                };
                session.requests("textDocument/hover", *count, 1, &error, *count);
            }
            let list = findings(&summarised(&session));
            assert!(list.iter().any(|one| one.text.ends_with(words)), "{list:?}");
        }
    }

    #[test]
    fn a_flood_on_stderr_is_told_with_its_last_line() {
        let mut summary = summarised(&Session::new("server"));
        for (stderr, is_noted) in [(LOUD - 1, false), (100 << 20, true)] {
            summary.lifecycle.close = Some(Close {
                stderr,
                stderr_tail: "first\nlast\n\n".to_owned(),
                ..Close::default()
            });
            let list = findings(&summary);
            let note = list.iter().find(|one| one.text.contains("to stderr"));
            assert_eq!(note.is_some(), is_noted);
            if let Some(note) = note {
                assert!(
                    note.text.contains("wrote 100.0 MiB to stderr, last `last`"),
                    "{}",
                    note.text
                );
            }
        }
    }

    #[test]
    fn a_violation_of_the_protocol_is_told_once_with_its_count() {
        let mut session = Session::new("server");
        let text = "a request was answered twice";
        session.warn(WarningKind::Protocol, text);
        session.put(Event::Closed(Close {
            violations: [(text.to_owned(), 20)].into(),
            ..Close::default()
        }));
        session.put(Event::Ended(Ending::Completed));
        let list = findings(&summarised(&session));
        let texts: Vec<&str> = list.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["a request was answered twice (20 like this)"]);
    }
}
