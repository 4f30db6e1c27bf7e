//! How servers went when they were shut down: those before a restart, and the last.

use record::{BARRIER, Close, Ending, Shutdown, ShutdownReply, ShutdownStage};

use crate::summary::Summary;
use base::text::complaint::{complains, excerpt, is_call};

/// Lines of stderr that are shown with a failure.
const STDERR_LINES: usize = 8;
/// Of them, lines from the beginning, and lines that name an error.
const FIRST_LINES: usize = 2;
const COMPLAINTS: usize = 3;

/// `MessageType.Error` of the protocol.
const ERROR: u8 = 1;

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    pub shutdown: Shutdown,
    /// The end of its stderr, some lines of it.
    pub last_words: Vec<String>,
    /// Whether how the run ended says it all, so that its death says nothing more.
    pub excused: bool,
}

impl Departure {
    /// For a restarted server; `close` is the state of its connection then.
    pub fn earlier(shutdown: Shutdown, close: Option<&Close>) -> Departure {
        let last_words = close.map_or_else(Vec::new, last_words);
        let excused = false;
        Departure {
            shutdown,
            last_words,
            excused,
        }
    }

    /// Whether it failed the run: it died by itself, or left processes behind.
    pub fn failed(&self) -> bool {
        self.left_early() || self.died() || !self.shutdown.survivors.is_empty()
    }

    /// Whether it was ended before it was asked.
    pub fn left_early(&self) -> bool {
        !self.excused && self.shutdown.stage == ShutdownStage::AlreadyGone
    }

    /// Whether a signal ended it that lsp-soak did not send.
    pub fn died(&self) -> bool {
        let ours: &[i32] = match self.shutdown.stage {
            ShutdownStage::AlreadyGone | ShutdownStage::Exit | ShutdownStage::StdinClosed => &[],
            ShutdownStage::Terminated => &[SIGTERM],
            ShutdownStage::Killed => &[SIGTERM, SIGKILL],
        };
        !self.excused && self.shutdown.signal.is_some_and(|signal| !ours.contains(&signal))
    }

    /// The exit code of a server that went on `shutdown` or `exit`, where the protocol wants another.
    pub fn wrong_code(&self) -> Option<i32> {
        let wanted: &[i32] = match self.shutdown.reply {
            // A server that did not accept `shutdown` ends with 1 on `exit`.
            Some(ShutdownReply::Refused { .. } | ShutdownReply::Unanswered) => &[0, 1],
            None | Some(ShutdownReply::Answered | ShutdownReply::Gone) => &[0],
        };
        let code = self.shutdown.code.filter(|code| !wanted.contains(code));
        code.filter(|_| !self.excused && self.shutdown.stage == ShutdownStage::Exit)
    }
}

/// Every departure that there may be something to say of.
pub fn departures(summary: &Summary) -> Vec<Departure> {
    let mut all = summary.earlier.clone();
    all.extend(summary.shutdown.as_ref().map(|shutdown| {
        let mut last = Departure::earlier(shutdown.clone(), summary.close.as_ref());
        last.excused = match &summary.ending {
            // A command has no protocol to end by, and its run ended as its exit code says.
            _ if summary.command.is_some() => true,
            // A server that is not listened to any more dies of that.
            Some(Ending::Crashed { .. } | Ending::Disconnected { .. } | Ending::OverLimit { .. }) => true,
            // This kind of server may end by itself.
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
        };
        last
    }));
    all
}

/// The last words of a run's server. One that names no error there may pass on what a process of its own wrote, in messages
/// for people.
pub fn last_words_of_run(summary: &Summary) -> Vec<String> {
    let mut words = summary.close.as_ref().map_or_else(Vec::new, last_words);
    if words.iter().any(|line| complains(line)) {
        return words;
    }
    let errors = summary.messages.iter().filter(|message| message.level == ERROR);
    let complaints = errors
        .flat_map(|message| message.text.lines())
        .filter(|line| complains(line));
    words.splice(0..0, complaints.take(COMPLAINTS).map(excerpt));
    words
}

/// The lines of stderr that say most: the first ones, those that name an error, and the end. A gap is `…`. A server that
/// names no error there may have named it on stdout, among what is no message.
pub fn last_words(close: &Close) -> Vec<String> {
    let mut lines: Vec<&str> = close.stderr_head.lines().chain(close.stderr_tail.lines()).collect();
    if !lines.iter().any(|line| complains(line)) {
        lines.extend(close.noise_sample.lines().filter(|line| complains(line)));
    }
    // What it writes of the requests that lsp-soak sends of its own accord is no reason.
    lines.retain(|line| !line.trim().is_empty() && !line.contains(BARRIER));
    if lines.len() <= STDERR_LINES {
        return lines.into_iter().map(excerpt).collect();
    }
    let mut shown = vec![false; lines.len()];
    shown[..FIRST_LINES].fill(true);
    let complaints = (0..lines.len())
        .filter(|place| complains(lines[*place]))
        .take(COMPLAINTS);
    complaints.for_each(|place| shown[place] = true);
    // The calls that led to an error say little, unless there is nothing else.
    let mut left = STDERR_LINES - shown.iter().filter(|is_shown| **is_shown).count();
    for is_call_shown in [false, true] {
        for place in (0..lines.len()).rev() {
            if left > 0 && !shown[place] && is_call(lines[place]) == is_call_shown {
                shown[place] = true;
                left -= 1;
            }
        }
    }
    let mut words: Vec<String> = Vec::new();
    let mut is_gap = false;
    for (line, is_shown) in lines.into_iter().zip(shown) {
        if is_shown {
            words.push(excerpt(line));
        } else if !is_gap {
            words.push("…".to_owned());
        }
        is_gap = !is_shown;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use crate::findings::{Finding, Severity};
    use crate::golden::summarised;
    use crate::summary::exit;
    use base::exit::Exit;
    use record::golden::Session;
    use record::{Event, Survivor};

    fn left(stage: ShutdownStage, code: Option<i32>, signal: Option<i32>) -> Shutdown {
        Shutdown {
            stage,
            reply: Some(ShutdownReply::Answered),
            exit_sent: Some(true),
            code,
            signal,
            took: Some(1),
            survivors: Vec::new(),
        }
    }

    /// The outcome of a run whose servers ended like this, and its last finding.
    fn told(departures: &[Shutdown], ending: Ending) -> (Exit, Option<Finding>) {
        let mut session = Session::new("server");
        for shutdown in departures {
            session.leave(shutdown.clone(), "thread 'main' panicked\n");
        }
        session.put(Event::Ended(ending));
        let summary = summarised(&session);
        (exit(&summary), findings::findings(&summary).pop())
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
            let (exit, said) = told(&[left(stage, None, Some(signal))], Ending::Completed);
            assert_eq!(exit == Exit::ServerFailed, fails, "{stage:?} {signal}");
            if fails {
                let said = said.unwrap();
                assert_eq!(said.severity, Severity::Failure);
                assert_eq!(said.details, ["thread 'main' panicked"]);
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
        session.leave(left(ShutdownStage::Exit, Some(0), None), "loading\n");
        session.put(Event::Ended(Ending::Completed));
        let words = last_words_of_run(&summarised(&session));
        assert_eq!(words, ["FATAL ERROR: JavaScript heap out of memory", "loading"]);
    }

    #[test]
    fn what_a_server_logs_of_the_clients_own_requests_is_no_reason() {
        let said = last_words(&Close {
            stderr_tail: format!("E> reply:{BARRIER}(2) error: -32601\nall is well"),
            ..Close::default()
        });
        assert_eq!(said, ["all is well"]);
    }

    #[test]
    fn a_reason_on_stdout_is_shown_where_stderr_has_none() {
        let said = |stderr_tail: &str| {
            last_words(&Close {
                stderr_tail: stderr_tail.to_owned(),
                noise_sample: "Error: unknown option `--foo`\nusage: server\n".to_owned(),
                ..Close::default()
            })
        };
        assert_eq!(said(""), ["Error: unknown option `--foo`"]);
        assert_eq!(said("bye\n"), ["bye", "Error: unknown option `--foo`"]);
        assert_eq!(said("fatal: no license\n"), ["fatal: no license"]);
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
        let said = words(&format!("starting\nlistening\nTypeError: no\n{calls}\nNode.js v20\n"));
        assert_eq!(&said[..3], ["starting", "listening", "TypeError: no"]);
        assert_eq!(said.last().unwrap(), "Node.js v20");
        assert_eq!(said.iter().filter(|line| *line == "…").count(), 1);
        assert_eq!(words("a\nb\n"), ["a", "b"]);
    }

    #[test]
    fn the_first_lines_and_an_error_in_the_middle_are_shown_of_a_long_log() {
        let log: String = (0..50).map(|line| format!("log {line}\n")).collect();
        let said = words(&format!("{log}Cannot find module 'x'\n{log}"));
        assert_eq!(&said[..2], ["log 0", "log 1"]);
        assert!(said.contains(&"Cannot find module 'x'".to_owned()), "{said:?}");
        assert_eq!(said.last().unwrap(), "log 49");
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
        let mut shutdown = left(ShutdownStage::Exit, None, Some(6));
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
            let said = told(&[shutdown.clone()], Ending::Completed).1.unwrap();
            assert!(said.text.contains(words), "{}", said.text);
        }
    }

    #[test]
    fn a_server_that_was_gone_before_it_was_asked_fails_the_run_with_any_code() {
        let (exit, said) = told(&[left(ShutdownStage::AlreadyGone, Some(0), None)], Ending::Completed);
        assert_eq!(exit, Exit::ServerFailed);
        let said = said.unwrap().text;
        assert!(
            said.contains("ended before lsp-soak asked it to shut down: exit code 0"),
            "{said}"
        );
        let (exit, _) = told(&[left(ShutdownStage::AlreadyGone, Some(0), None)], Ending::Interrupted);
        assert_eq!(exit, Exit::Interrupted);
    }

    #[test]
    fn a_wrong_exit_code_is_a_warning() {
        let mut shutdown = left(ShutdownStage::Exit, Some(5), None);
        let (exit, said) = told(&[shutdown.clone()], Ending::Completed);
        assert_eq!(exit, Exit::Passed);
        let said = said.unwrap();
        assert_eq!(said.severity, Severity::Warning);
        assert!(
            said.text.contains("ended with exit code 5 after `exit`"),
            "{}",
            said.text
        );
        (shutdown.reply, shutdown.code) = (Some(ShutdownReply::Unanswered), Some(1));
        let (_, said) = told(&[shutdown.clone()], Ending::Completed);
        assert_eq!(said, None, "1 is what the protocol wants without a `shutdown`");
        (shutdown.reply, shutdown.code) = (Some(ShutdownReply::Gone), Some(101));
        let said = told(&[shutdown], Ending::Completed).1.unwrap().text;
        assert!(
            said.contains("exit code 101 on `shutdown`, without an answer"),
            "{said}"
        );
    }

    #[test]
    fn what_came_of_a_server_before_a_restart_counts() {
        let good = left(ShutdownStage::Exit, Some(0), None);
        let dead = left(ShutdownStage::Exit, None, Some(11));
        let (exit, said) = told(&[dead.clone(), good.clone(), dead, good.clone()], Ending::Completed);
        assert_eq!(exit, Exit::ServerFailed);
        let said = said.unwrap().text;
        assert!(said.contains("signal 11") && said.ends_with("(2 times)"), "{said}");
        let mut leaky = good.clone();
        leaky.survivors.push(Survivor {
            pid: 7,
            name: "helper".to_owned(),
        });
        let (exit, said) = told(&[leaky, good], Ending::Completed);
        assert_eq!(exit, Exit::ServerFailed);
        assert_eq!(said.unwrap().details, ["helper (process 7)"]);
    }

    #[test]
    fn the_death_of_a_server_that_was_given_up_says_nothing_more() {
        let reason = "garbage".to_owned();
        let (_, said) = told(
            &[left(ShutdownStage::Exit, None, Some(13))],
            Ending::Disconnected { reason },
        );
        assert!(said.unwrap().text.contains("closed its connection"));
    }
}
