//! The work that the server says it is doing, by progress token.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::Value;

use super::message::Id;

/// Open tokens that are remembered; a server that never ends them must not grow us.
const MOST_OPEN: usize = 1024;
/// Ended pieces of work that are remembered with their words.
const MOST_ENDED: usize = 64;
/// Longest title or message that is kept, in bytes.
const LONGEST: usize = 512;

/// What is known of the server's own work.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Work that was announced or begun and has not ended, oldest first.
    pub open: Vec<Work>,
    /// Tokens created so far; a begin without a create counts too.
    pub created: u64,
    /// Work that ended so far.
    pub finished: u64,
    /// The last pieces of work that ended, oldest first.
    pub ended: VecDeque<Ended>,
    /// When any token last changed.
    pub changed: Option<Instant>,
}

/// A piece of work in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Its token.
    pub token: Id,
    /// Whether it was begun, not only announced.
    pub begun: bool,
    /// Its title, once begun.
    pub title: String,
    /// Its last message.
    pub message: String,
    /// When the token was created, or the work begun without that.
    pub since: Instant,
}

/// A piece of work that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its token.
    pub token: Id,
    /// Its title; empty if it was never begun.
    pub title: String,
    /// Its last message, the final one if there was one.
    pub message: String,
}

impl Progress {
    /// The server announced a token.
    pub(super) fn create(&mut self, token: Id, now: Instant) {
        self.changed = Some(now);
        self.created += 1;
        self.open.retain(|work| work.token != token);
        self.push(Work {
            token,
            begun: false,
            title: String::new(),
            message: String::new(),
            since: now,
        });
    }

    /// The server reported on a token. Partial results, which have no kind, are not work.
    pub(super) fn report(&mut self, params: &Value, now: Instant) {
        let Some(token) = params.get("token").and_then(Id::from_value) else {
            return;
        };
        let value = &params["value"];
        match value["kind"].as_str() {
            Some("begin") => self.begin(token, value, now),
            Some("report") => {
                self.changed = Some(now);
                if let (Some(work), Some(message)) = (self.find(&token), text(value, "message")) {
                    work.message = message;
                }
            }
            Some("end") => self.end(token, value, now),
            Some(_) | None => {}
        }
    }

    fn begin(&mut self, token: Id, value: &Value, now: Instant) {
        self.changed = Some(now);
        if self.find(&token).is_none() {
            self.created += 1;
            self.push(Work {
                token: token.clone(),
                begun: false,
                title: String::new(),
                message: String::new(),
                since: now,
            });
        }
        if let Some(work) = self.find(&token) {
            work.begun = true;
            work.title = text(value, "title").unwrap_or_default();
            work.message = text(value, "message").unwrap_or_default();
        }
    }

    /// An end of what was never begun counts as well: some servers end work that they announced otherwise.
    fn end(&mut self, token: Id, value: &Value, now: Instant) {
        self.changed = Some(now);
        self.finished += 1;
        let open = self
            .open
            .iter()
            .position(|work| work.token == token)
            .map(|at| self.open.remove(at));
        let (title, last) = open.map(|work| (work.title, work.message)).unwrap_or_default();
        if self.ended.len() == MOST_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended {
            token,
            title,
            message: text(value, "message").unwrap_or(last),
        });
    }

    fn find(&mut self, token: &Id) -> Option<&mut Work> {
        self.open.iter_mut().find(|work| work.token == *token)
    }

    fn push(&mut self, work: Work) {
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(work);
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    let text = value.get(name)?.as_str()?;
    Some(text[..text.floor_char_boundary(LONGEST)].to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn number(token: i64) -> Id {
        Id::Number(token)
    }

    fn titles(progress: &Progress) -> Vec<&str> {
        progress.open.iter().map(|work| work.title.as_str()).collect()
    }

    #[test]
    fn work_is_open_from_its_announcement_until_its_end() {
        let mut progress = Progress::default();
        let now = Instant::now();
        progress.create(Id::Text("setup".to_owned()), now);
        assert!(!progress.open.is_empty() && !progress.open[0].begun);
        progress.report(
            &json!({"token": "setup", "value": {"kind": "begin", "title": "Setting up workspace", "message": "a"}}),
            now,
        );
        progress.report(
            &json!({"token": "setup", "value": {"kind": "report", "message": "b"}}),
            now,
        );
        assert_eq!(
            (titles(&progress), progress.open[0].message.as_str()),
            (vec!["Setting up workspace"], "b")
        );
        progress.report(
            &json!({"token": "setup", "value": {"kind": "end", "message": "Finished loading packages."}}),
            now,
        );
        assert!(progress.open.is_empty());
        assert_eq!((progress.created, progress.finished), (1, 1));
        assert_eq!(progress.ended[0].title, "Setting up workspace");
        assert_eq!(progress.ended[0].message, "Finished loading packages.");
    }

    #[test]
    fn a_begin_without_a_create_is_tolerated_and_tokens_may_be_numbers() {
        let mut progress = Progress::default();
        let now = Instant::now();
        progress.report(
            &json!({"token": 7, "value": {"kind": "begin", "title": "indexing"}}),
            now,
        );
        assert_eq!((progress.created, progress.open[0].token.clone()), (1, number(7)));
        progress.report(
            &json!({"token": 8, "value": {"kind": "report", "message": "stray"}}),
            now,
        );
        assert_eq!(titles(&progress), ["indexing"]);
        progress.report(&json!({"token": 7, "value": {"kind": "end"}}), now);
        assert!(progress.open.is_empty());
    }

    #[test]
    fn one_token_may_begin_and_end_many_times() {
        let mut progress = Progress::default();
        let now = Instant::now();
        progress.create(Id::Text("backgroundIndexProgress".to_owned()), now);
        for _ in 0..3 {
            for kind in ["begin", "end"] {
                let value = json!({"kind": kind, "title": "indexing"});
                progress.report(&json!({"token": "backgroundIndexProgress", "value": value}), now);
            }
        }
        assert_eq!((progress.open.is_empty(), progress.finished), (true, 3));
    }

    #[test]
    fn an_end_of_what_never_began_counts_as_ended() {
        let mut progress = Progress::default();
        progress.report(
            &json!({"token": 1, "value": {"kind": "end", "message": "done"}}),
            Instant::now(),
        );
        assert_eq!((progress.finished, progress.ended[0].message.as_str()), (1, "done"));
    }

    #[test]
    fn partial_results_are_not_work() {
        let mut progress = Progress::default();
        progress.report(&json!({"token": 1, "value": [{"uri": "file:///a"}]}), Instant::now());
        assert!(progress.open.is_empty() && progress.changed.is_none());
    }

    #[test]
    fn a_server_that_never_ends_its_work_does_not_grow_us() {
        let mut progress = Progress::default();
        for token in 0..5000 {
            progress.create(number(token), Instant::now());
            progress.report(
                &json!({"token": -token, "value": {"kind": "end", "message": "x"}}),
                Instant::now(),
            );
        }
        assert_eq!((progress.open.len(), progress.ended.len()), (MOST_OPEN, MOST_ENDED));
        assert_eq!(progress.created, 5000);
    }
}
