//! The signals in a server's profile that report it ready or failed.

use std::sync::{Mutex, MutexGuard};

use serde_json::Value;

use crate::config::{Failure, NotificationSignal, Profile, ProgressSignal, Signal};
use lsp::{Client, EndedWork, Progress};

/// Watches for the signals of one profile.
#[derive(Debug)]
pub struct Signals {
    signal: Option<Signal>,
    failures: Vec<Failure>,
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    /// The last notification signal: ready, or no longer ready.
    ready: Option<bool>,
    failure: Option<String>,
}

impl Signals {
    pub fn new(profile: &Profile) -> Signals {
        let (signal, failures) = (profile.ready.signal.clone(), profile.failures.clone());
        Signals {
            signal,
            failures,
            heard: Mutex::default(),
        }
    }

    pub fn hear(&self, method: &str, params: Option<&Value>) {
        let mut heard = self.heard();
        if let Some(Signal::Notification(signal)) = &self.signal
            && signal.method == method
        {
            let is_ready = signal.matches(method, params);
            // Only a signal about a state can take it back: other messages of the same method say nothing of it.
            if is_ready || !signal.when.is_empty() {
                heard.ready = Some(is_ready);
            }
        }
        if heard.failure.is_none() {
            heard.failure = self.failures.iter().find_map(|failure| match failure {
                Failure::Notification(signal) => reported_failure(signal, method, params),
                Failure::Message(part) => message_text(method, params).filter(|text| text.contains(part.as_str())),
                Failure::Progress(_) => None,
            });
        }
    }

    /// True if the server has reported that it is ready.
    pub fn positive(&self, client: &Client) -> bool {
        match &self.signal {
            None => false,
            Some(Signal::Notification(_)) => self.heard().ready == Some(true),
            Some(Signal::Progress(signal)) => {
                client.with_progress(|progress| progress.ended.iter().any(|end| ended(signal, end)))
            }
        }
    }

    /// The missing signal, for messages; `None` if the profile names no signal or it arrived.
    pub fn missing_signal(&self, client: &Client) -> Option<String> {
        let signal = self.signal.as_ref()?;
        if self.positive(client) {
            return None;
        }
        Some(match signal {
            Signal::Notification(signal) => format!("`{}` has not said that the server is ready", signal.method),
            Signal::Progress(signal) => {
                let name = signal.title.as_deref().or(signal.token.as_deref()).unwrap_or_default();
                format!("progress `{name}` has not ended")
            }
        })
    }

    /// True if a notification reported the server as busy, so that a ready one must follow.
    pub fn is_busy(&self) -> bool {
        self.heard().ready == Some(false)
    }

    /// The server's report that it cannot load the workspace.
    pub fn failure(&self, client: &Client) -> Option<String> {
        let heard = self.heard().failure.clone();
        if heard.is_some() {
            return heard;
        }
        self.failures.iter().find_map(|failure| match failure {
            Failure::Progress(signal) => client.with_progress(|progress| matching_work(signal, progress)),
            Failure::Notification(_) | Failure::Message(_) => None,
        })
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn ended(signal: &ProgressSignal, end: &EndedWork) -> bool {
    signal.matches(Some(&end.title), &end.token.to_string(), Some(&end.message))
}

/// The text of the matching progress, open or ended. Some servers begin a progress to report a failure, and never end
/// it. A signal about an end counts only after that end.
fn matching_work(signal: &ProgressSignal, progress: &Progress) -> Option<String> {
    let mut open = None;
    if signal.end.is_none() {
        open = progress
            .begun_work()
            .find(|work| signal.matches(Some(&work.title), &work.token.to_string(), Some(&work.message)));
    }
    let (title, message) = match open {
        Some(work) => (&work.title, &work.message),
        None => {
            let end = progress.ended.iter().find(|end| ended(signal, end))?;
            (&end.title, &end.message)
        }
    };
    Some(match message.as_str() {
        "" => format!("progress `{title}`"),
        message => format!("progress `{title}`: {message}"),
    })
}

/// The failure that a notification reports, if it matches the signal.
fn reported_failure(signal: &NotificationSignal, method: &str, params: Option<&Value>) -> Option<String> {
    if !signal.matches(method, params) {
        return None;
    }
    let message = params.and_then(|params| params.get("message")).and_then(Value::as_str);
    Some(match message {
        Some(message) => format!("`{method}`: {message}"),
        None => format!("`{method}`"),
    })
}

/// The text of a message for the user.
fn message_text(method: &str, params: Option<&Value>) -> Option<String> {
    if !matches!(method, "window/logMessage" | "window/showMessage") {
        return None;
    }
    Some(params?.get("message")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use lsp::{Id, Work};

    use super::*;

    fn open(title: &str, message: &str) -> Progress {
        let mut progress = Progress::default();
        progress.open.push(Work {
            token: Id::Number(1),
            begun: true,
            title: title.to_owned(),
            message: message.to_owned(),
            since: std::time::Instant::now(),
        });
        progress
    }

    fn titled(title: &str, end: Option<&str>) -> ProgressSignal {
        ProgressSignal {
            title: Some(title.to_owned()),
            end: end.map(str::to_owned),
            ..ProgressSignal::default()
        }
    }

    fn ready_after(signal: NotificationSignal, messages: [Value; 2]) -> Option<bool> {
        let mut profile = Profile::default();
        profile.ready.signal = Some(Signal::Notification(signal));
        let signals = Signals::new(&profile);
        for params in &messages {
            signals.hear("x/said", Some(params));
        }
        signals.heard().ready
    }

    #[test]
    fn a_ready_signal_once_seen_stays_unless_it_is_a_state() {
        let text = NotificationSignal {
            method: "x/said".to_owned(),
            when: std::collections::BTreeMap::new(),
            contains: [("message".to_owned(), "source file".to_owned())].into(),
        };
        let messages = ["Found 3 source files", "later"].map(|text| serde_json::json!({ "message": text }));
        assert_eq!(ready_after(text, messages), Some(true));
        let state = NotificationSignal {
            method: "x/said".to_owned(),
            when: [("quiescent".to_owned(), Value::Bool(true))].into(),
            contains: std::collections::BTreeMap::new(),
        };
        let messages = [true, false].map(|quiescent| serde_json::json!({ "quiescent": quiescent }));
        assert_eq!(ready_after(state, messages), Some(false));
    }

    #[test]
    fn a_failure_is_heard_when_its_work_begins() {
        let failed = open("Error loading workspace", "no go.mod");
        assert_eq!(
            matching_work(&titled("Error loading workspace", None), &failed).as_deref(),
            Some("progress `Error loading workspace`: no go.mod")
        );
        assert_eq!(matching_work(&titled("Setting up workspace", None), &failed), None);
    }

    #[test]
    fn a_failure_that_is_told_at_the_end_is_not_heard_before() {
        let signal = titled("Setting up workspace", Some("Error loading"));
        let mut progress = open("Setting up workspace", "Error loading is not said yet");
        assert_eq!(matching_work(&signal, &progress), None);
        progress.open.clear();
        progress.ended.push_back(EndedWork {
            token: Id::Number(1),
            title: "Setting up workspace".to_owned(),
            message: "Error loading packages: none".to_owned(),
        });
        assert_eq!(
            matching_work(&signal, &progress).as_deref(),
            Some("progress `Setting up workspace`: Error loading packages: none")
        );
    }
}
