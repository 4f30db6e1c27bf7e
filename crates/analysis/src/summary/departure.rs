//! The ends of servers in a shutdown: those before a restart, and the last.

use record::{BARRIER, Close, Ending, Shutdown, ShutdownReply, ShutdownStage};

use crate::summary::Summary;
use base::text::complaint::{complains, excerpt, is_call};

/// Lines of stderr that are shown with a failure.
const STDERR_LINES: usize = 8;
/// Lines shown from the beginning of stderr.
const FIRST_LINES: usize = 2;
/// Lines shown that name an error.
const COMPLAINTS: usize = 3;

/// `MessageType.Error` of the protocol.
const ERROR: u8 = 1;

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// The end of a server in a shutdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    pub shutdown: Shutdown,
    /// Some lines of its stderr.
    pub last_words: Vec<String>,
    /// True if the ending of the run explains the server's death, so that no finding reports it.
    pub excused: bool,
}

impl Departure {
    /// A departure that nothing excuses; `close` is the state of the connection at that time.
    pub fn new(shutdown: Shutdown, close: Option<&Close>) -> Departure {
        Departure {
            shutdown,
            last_words: close.map_or_else(Vec::new, last_words),
            excused: false,
        }
    }

    /// True if it fails the run: the server died by itself, or left processes behind.
    pub fn fails_run(&self) -> bool {
        self.left_early() || self.died() || !self.shutdown.survivors.is_empty()
    }

    /// True if the server had ended before it was asked to.
    pub fn left_early(&self) -> bool {
        !self.excused && self.shutdown.stage == ShutdownStage::AlreadyGone
    }

    /// True if the server was ended by a signal that lsp-soak did not send.
    pub fn died(&self) -> bool {
        let sent_by_us: &[i32] = match self.shutdown.stage {
            ShutdownStage::AlreadyGone | ShutdownStage::Exit | ShutdownStage::StdinClosed => &[],
            ShutdownStage::Terminated => &[SIGTERM],
            ShutdownStage::Killed => &[SIGTERM, SIGKILL],
        };
        // A server whose editor died breaks no rule, whatever it does.
        let is_excused = self.excused || self.shutdown.orphaned.is_some();
        !is_excused && self.shutdown.signal.is_some_and(|signal| !sent_by_us.contains(&signal))
    }

    /// The exit code of a server that ended on `shutdown` or `exit`, if the protocol wants another.
    pub fn wrong_code(&self) -> Option<i32> {
        if self.excused || self.shutdown.stage != ShutdownStage::Exit {
            return None;
        }
        let wanted: &[i32] = match self.shutdown.reply {
            // A server that did not accept `shutdown` ends with 1 on `exit`.
            Some(ShutdownReply::Refused { .. } | ShutdownReply::Unanswered) => &[0, 1],
            None | Some(ShutdownReply::Answered | ShutdownReply::Gone) => &[0],
        };
        self.shutdown.code.filter(|code| !wanted.contains(code))
    }
}

/// Every departure of a run that may be worth a finding.
pub fn departures(summary: &Summary) -> Vec<Departure> {
    let mut departures = summary.lifecycle.earlier.clone();
    if let Some(shutdown) = &summary.lifecycle.shutdown {
        departures.push(Departure {
            excused: is_excused(summary, shutdown),
            ..Departure::new(shutdown.clone(), summary.lifecycle.close.as_ref())
        });
    }
    departures
}

/// True if the ending of the run explains the death of its last server.
fn is_excused(summary: &Summary, shutdown: &Shutdown) -> bool {
    // A command has no protocol to end by, and its run ended as its exit code says.
    if summary.lifecycle.command.is_some() {
        return true;
    }
    match &summary.ending {
        // A server that is not listened to any more dies of that.
        Some(Ending::Crashed { .. } | Ending::Disconnected { .. } | Ending::OverLimit { .. }) => true,
        // A server may end by itself after these.
        Some(Ending::Interrupted | Ending::Refused { .. } | Ending::Unsupported { .. }) => {
            shutdown.stage == ShutdownStage::AlreadyGone
        }
        None
        | Some(
            Ending::Completed
            | Ending::Empty { .. }
            | Ending::Wedged { .. }
            | Ending::TimedOut { .. }
            | Ending::ReportedFailure { .. }
            | Ending::ProcessCrashed { .. }
            | Ending::Emptied { .. },
        ) => false,
    }
}

/// The last words of a run's server. If its stderr names no error, errors in its log messages come first: it may pass on
/// the output of a helper process there.
pub fn last_words_of_run(summary: &Summary) -> Vec<String> {
    let mut words = summary.lifecycle.close.as_ref().map_or_else(Vec::new, last_words);
    if words.iter().any(|line| complains(line)) {
        return words;
    }
    let complaints = summary
        .log
        .messages
        .iter()
        .filter(|message| message.level == ERROR)
        .flat_map(|message| message.text.lines())
        .filter(|line| complains(line));
    words.splice(0..0, complaints.take(COMPLAINTS).map(excerpt));
    words
}

/// The most telling lines of stderr: the first ones, those that name an error, and the end. A gap is `…`. If stderr names
/// no error, errors among the text on stdout that is no message are added.
pub fn last_words(close: &Close) -> Vec<String> {
    let mut lines: Vec<&str> = close.stderr_head.lines().chain(close.stderr_tail.lines()).collect();
    if !lines.iter().any(|line| complains(line)) {
        lines.extend(close.noise_sample.lines().filter(|line| complains(line)));
    }
    // Lines about the requests that lsp-soak sends of its own accord explain nothing.
    lines.retain(|line| !line.trim().is_empty() && !line.contains(BARRIER));
    let mut words: Vec<String> = Vec::new();
    let mut is_gap = false;
    for (line, is_shown) in lines.iter().zip(choose_lines(&lines)) {
        if is_shown {
            words.push(excerpt(line));
        } else if !is_gap {
            words.push("…".to_owned());
        }
        is_gap = !is_shown;
    }
    words
}

/// Chooses [`STDERR_LINES`] lines to show, or all if there are no more: true for each that is shown.
fn choose_lines(lines: &[&str]) -> Vec<bool> {
    if lines.len() <= STDERR_LINES {
        return vec![true; lines.len()];
    }
    let mut is_shown = vec![false; lines.len()];
    is_shown[..FIRST_LINES].fill(true);
    let complaints = (0..lines.len()).filter(|place| complains(lines[*place]));
    for place in complaints.take(COMPLAINTS) {
        is_shown[place] = true;
    }
    let mut remaining = STDERR_LINES - is_shown.iter().filter(|is_shown| **is_shown).count();
    // The calls that led to an error say little, unless there is nothing else.
    for takes_calls in [false, true] {
        for place in (0..lines.len()).rev() {
            if remaining > 0 && !is_shown[place] && is_call(lines[place]) == takes_calls {
                is_shown[place] = true;
                remaining -= 1;
            }
        }
    }
    is_shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use crate::findings::{Finding, Severity};
    use crate::golden::summarised;
    use crate::summary::exit_of_run;
    use base::exit::Exit;
    use record::golden::Session;
    use record::{Event, Survivor};

    fn shutdown(stage: ShutdownStage, code: Option<i32>, signal: Option<i32>) -> Shutdown {
        Shutdown {
            stage,
            reply: Some(ShutdownReply::Answered),
            exit_sent: Some(true),
            code,
            signal,
            took: Some(1),
            orphaned: None,
            survivors: Vec::new(),
        }
    }

    /// The outcome of a run whose servers ended like this, and its last finding.
    fn outcome(departures: &[Shutdown], ending: Ending) -> (Exit, Option<Finding>) {
        let mut session = Session::new("server");
        for shutdown in departures {
            session.leave(shutdown.clone(), "thread 'main' panicked\n");
        }
        session.put(Event::Ended(ending));
        let summary = summarised(&session);
        (exit_of_run(&summary), findings::findings(&summary).pop())
    }

    #[test]
    fn a_death_of_a_signal_that_nobody_sent_fails_the_run() {
        use ShutdownStage::{AlreadyGone, Exit as OnExit, Killed, StdinClosed, Terminated};
        for (stage, signal, fails) in [
            (OnExit, 6, true),
            (OnExit, 9, true),
            (StdinClosed, 11, true),
            (Terminated, 15, false),
            (Terminated, 6, true),
            (Killed, 9, false),
            (Killed, 15, false),
            (AlreadyGone, 11, true),
        ] {
            let (exit, finding) = outcome(&[shutdown(stage, None, Some(signal))], Ending::Completed);
            assert_eq!(exit == Exit::ServerFailed, fails, "{stage:?} {signal}");
            if fails {
                let finding = finding.unwrap();
                assert_eq!(finding.severity, Severity::Failure);
                assert_eq!(finding.details, ["thread 'main' panicked"]);
            }
        }
    }

    #[test]
    fn the_reason_of_a_helper_is_found_in_what_its_launcher_passes_on() {
        let mut session = Session::new("server");
        let text = "[client] <--- Last few GCs --->\n\nFATAL ERROR: JavaScript heap out of memory\n\
                    [client]  1: 0xb8d0a3 node::OOMErrorHandler(char const*)";
        session.put(Event::ServerMessage {
            level: ERROR,
            text: text.to_owned(),
        });
        session.leave(shutdown(ShutdownStage::Exit, Some(0), None), "loading\n");
        session.put(Event::Ended(Ending::Completed));
        let words = last_words_of_run(&summarised(&session));
        assert_eq!(words, ["FATAL ERROR: JavaScript heap out of memory", "loading"]);
    }

    #[test]
    fn what_a_server_logs_of_the_clients_own_requests_is_no_reason() {
        let words = words(&format!("E> reply:{BARRIER}(2) error: -32601\nall is well"));
        assert_eq!(words, ["all is well"]);
    }

    #[test]
    fn a_reason_on_stdout_is_shown_where_stderr_has_none() {
        for (stderr_tail, words) in [
            ("", &["Error: unknown option `--foo`"][..]),
            ("bye\n", &["bye", "Error: unknown option `--foo`"]),
            ("fatal: no license\n", &["fatal: no license"]),
        ] {
            let close = Close {
                stderr_tail: stderr_tail.to_owned(),
                noise_sample: "Error: unknown option `--foo`\nusage: server\n".to_owned(),
                ..Close::default()
            };
            assert_eq!(last_words(&close), words);
        }
    }

    fn words(stderr_tail: &str) -> Vec<String> {
        last_words(&Close {
            stderr_tail: stderr_tail.to_owned(),
            ..Close::default()
        })
    }

    #[test]
    fn the_error_is_shown_whole_before_any_of_its_calls() {
        let calls: String = (0..20).map(|call| format!("    at <unknown> {call}\n")).collect();
        let shown = words(&format!("starting\nlistening\nTypeError: no\n{calls}\nNode.js v20\n"));
        assert_eq!(&shown[..3], ["starting", "listening", "TypeError: no"]);
        assert_eq!(shown.last().unwrap(), "Node.js v20");
        assert_eq!(shown.iter().filter(|line| *line == "…").count(), 1);
        assert_eq!(words("a\nb\n"), ["a", "b"]);
    }

    #[test]
    fn the_first_lines_and_an_error_in_the_middle_are_shown_of_a_long_log() {
        let log: String = (0..50).map(|line| format!("log {line}\n")).collect();
        let shown = words(&format!("{log}Cannot find module 'x'\n{log}"));
        assert_eq!(&shown[..2], ["log 0", "log 1"]);
        assert!(shown.contains(&"Cannot find module 'x'".to_owned()), "{shown:?}");
        assert_eq!(shown.last().unwrap(), "log 49");
    }

    #[test]
    fn the_beginning_of_a_log_that_was_cut_is_shown_too() {
        let close = Close {
            stderr_head: "error: no license\n".to_owned(),
            stderr_tail: (0..20).map(|line| format!("log {line}\n")).collect(),
            ..Close::default()
        };
        assert_eq!(last_words(&close)[0], "error: no license");
    }

    #[test]
    fn it_is_said_how_far_the_shutdown_had_come() {
        let mut shutdown = shutdown(ShutdownStage::Exit, None, Some(6));
        for (reply, exit_sent, words) in [
            (
                Some(ShutdownReply::Answered),
                Some(true),
                "during shutdown, after lsp-soak sent `exit`: signal 6",
            ),
            (
                Some(ShutdownReply::Gone),
                Some(false),
                "before it answered `shutdown` and before lsp-soak sent `exit`: signal 6",
            ),
            (
                Some(ShutdownReply::Answered),
                Some(false),
                "after it answered `shutdown` and before lsp-soak sent `exit`: signal 6",
            ),
            (None, None, "crashed during shutdown: signal 6"),
        ] {
            (shutdown.reply, shutdown.exit_sent) = (reply, exit_sent);
            let text = outcome(&[shutdown.clone()], Ending::Completed).1.unwrap().text;
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn a_server_that_was_gone_before_it_was_asked_fails_the_run_with_any_code() {
        let shutdown = shutdown(ShutdownStage::AlreadyGone, Some(0), None);
        let (exit, finding) = outcome(std::slice::from_ref(&shutdown), Ending::Completed);
        assert_eq!(exit, Exit::ServerFailed);
        let text = finding.unwrap().text;
        assert!(
            text.contains("ended before lsp-soak asked it to shut down: exit code 0"),
            "{text}"
        );
        let (exit, _) = outcome(&[shutdown], Ending::Interrupted);
        assert_eq!(exit, Exit::Interrupted);
    }

    #[test]
    fn a_wrong_exit_code_is_a_warning() {
        let mut shutdown = shutdown(ShutdownStage::Exit, Some(5), None);
        let (exit, finding) = outcome(&[shutdown.clone()], Ending::Completed);
        assert_eq!(exit, Exit::Passed);
        let finding = finding.unwrap();
        assert_eq!(finding.severity, Severity::Warning);
        assert!(
            finding.text.contains("ended with exit code 5 after `exit`"),
            "{}",
            finding.text
        );
        (shutdown.reply, shutdown.code) = (Some(ShutdownReply::Unanswered), Some(1));
        let (_, finding) = outcome(&[shutdown.clone()], Ending::Completed);
        assert_eq!(finding, None, "1 is what the protocol wants without a `shutdown`");
        (shutdown.reply, shutdown.code) = (Some(ShutdownReply::Gone), Some(101));
        let text = outcome(&[shutdown], Ending::Completed).1.unwrap().text;
        assert!(
            text.contains("exit code 101 on `shutdown`, without an answer"),
            "{text}"
        );
    }

    #[test]
    fn what_came_of_a_server_before_a_restart_counts() {
        let good = shutdown(ShutdownStage::Exit, Some(0), None);
        let dead = shutdown(ShutdownStage::Exit, None, Some(11));
        let (exit, finding) = outcome(&[dead.clone(), good.clone(), dead, good.clone()], Ending::Completed);
        assert_eq!(exit, Exit::ServerFailed);
        let text = finding.unwrap().text;
        assert!(text.contains("signal 11") && text.ends_with("(2 times)"), "{text}");
        let mut leaky = good.clone();
        leaky.survivors.push(Survivor {
            pid: 7,
            name: "helper".to_owned(),
        });
        let (exit, finding) = outcome(&[leaky, good], Ending::Completed);
        assert_eq!(exit, Exit::ServerFailed);
        assert_eq!(finding.unwrap().details, ["helper (process 7)"]);
    }

    #[test]
    fn the_death_of_a_server_that_was_given_up_says_nothing_more() {
        let reason = "garbage".to_owned();
        let (_, finding) = outcome(
            &[shutdown(ShutdownStage::Exit, None, Some(13))],
            Ending::Disconnected { reason },
        );
        assert!(finding.unwrap().text.contains("closed its connection"));
    }
}
