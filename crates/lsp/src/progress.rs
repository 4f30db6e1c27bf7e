//! The work that the server reports, by progress token.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::Id;

/// Most open tokens remembered, for servers that never end them.
const MOST_OPEN: usize = 1024;
/// Most ended pieces of work remembered.
const MOST_ENDED: usize = 64;
/// Longest title or message that is kept, in bytes.
const LONGEST: usize = 512;
/// Longest token that is tracked, in bytes: a cut token could equal another.
const LONGEST_TOKEN: usize = 512;

/// The server's own work.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Tokens that were created or begun and have not ended, oldest first.
    pub open: Vec<Work>,
    /// Tokens created so far; a begin without a create counts too.
    pub created: u64,
    pub started: u64,
    pub finished: u64,
    /// The last ended pieces of work, oldest first.
    pub ended: VecDeque<EndedWork>,
    pub changed: Option<Instant>,
}

/// A piece of work in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub token: Id,
    /// True if it was begun, not only created.
    pub begun: bool,
    pub title: String,
    pub message: String,
    /// When the token was created, or begun without being created.
    pub since: Instant,
}

/// A piece of work that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedWork {
    pub token: Id,
    /// Title; empty if never begun.
    pub title: String,
    /// The last message.
    pub message: String,
}

/// The parameters of `$/progress`, and of `window/workDoneProgress/create`.
#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    token: &'a RawValue,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

/// The value of a report. Partial results have no kind and are not work.
#[derive(Deserialize)]
struct Report<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    title: Option<Cow<'a, str>>,
    message: Option<Cow<'a, str>>,
}

/// The token of parameters; `None` if missing or not trackable.
fn token(params: &Params<'_>) -> Option<Id> {
    if params.token.get().len() > LONGEST_TOKEN {
        return None;
    }
    Id::from_value(&serde_json::from_str(params.token.get()).ok()?)
}

impl Progress {
    /// Begun work, oldest first. A token that was only created is excluded.
    pub fn begun_work(&self) -> impl Iterator<Item = &Work> {
        self.open.iter().filter(|work| work.begun)
    }

    /// The server created a token; false if it is too long to track.
    pub(super) fn create(&mut self, params: &str, now: Instant) -> bool {
        let Ok(params) = serde_json::from_str::<Params<'_>>(params) else {
            return true;
        };
        let Some(token) = token(&params) else {
            return params.token.get().len() <= LONGEST_TOKEN;
        };
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
        true
    }

    /// The server reported on a token.
    pub(super) fn report(&mut self, params: &str, now: Instant) {
        let params: Option<Params<'_>> = serde_json::from_str(params).ok();
        let Some((token, value)) = params.and_then(|params| Some((token(&params)?, params.value?))) else {
            return;
        };
        let Ok(report) = serde_json::from_str::<Report<'_>>(value.get()) else {
            return;
        };
        match &*report.kind {
            "begin" => self.begin(token, &report, now),
            "report" => {
                self.changed = Some(now);
                if let (Some(work), Some(message)) = (self.find(&token), text(&report.message)) {
                    work.message = message;
                }
            }
            "end" => self.end(token, &report, now),
            _other => {}
        }
    }

    fn begin(&mut self, token: Id, report: &Report<'_>, now: Instant) {
        self.changed = Some(now);
        self.started += 1;
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
            work.title = text(&report.title).unwrap_or_default();
            work.message = text(&report.message).unwrap_or_default();
        }
    }

    /// An end without a begin counts too: some servers end work that they announced in another way.
    fn end(&mut self, token: Id, report: &Report<'_>, now: Instant) {
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
        self.ended.push_back(EndedWork {
            token,
            title,
            message: text(&report.message).unwrap_or(last),
        });
    }

    fn find(&mut self, token: &Id) -> Option<&mut Work> {
        self.open.iter_mut().find(|work| work.token == *token)
    }

    /// Above the limit, drops a token that was never begun first.
    fn push(&mut self, work: Work) {
        if self.open.len() == MOST_OPEN {
            let idle = self.open.iter().position(|work| !work.begun);
            self.open.remove(idle.unwrap_or(0));
        }
        self.open.push(work);
    }
}

fn text(text: &Option<Cow<'_, str>>) -> Option<String> {
    let text = text.as_deref()?;
    Some(text[..text.floor_char_boundary(LONGEST)].to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn create(progress: &mut Progress, token: Value) -> bool {
        progress.create(&json!({ "token": token }).to_string(), Instant::now())
    }

    fn report(progress: &mut Progress, params: Value) {
        progress.report(&params.to_string(), Instant::now());
    }

    fn number(token: i64) -> Id {
        Id::Number(token)
    }

    fn titles(progress: &Progress) -> Vec<&str> {
        progress.open.iter().map(|work| work.title.as_str()).collect()
    }

    #[test]
    fn work_is_open_from_its_announcement_until_its_end() {
        let mut progress = Progress::default();
        create(&mut progress, json!("setup"));
        assert!(!progress.open.is_empty() && progress.begun_work().next().is_none());
        report(
            &mut progress,
            json!({"token": "setup", "value": {"kind": "begin", "title": "Setting up workspace", "message": "a"}}),
        );
        report(
            &mut progress,
            json!({"token": "setup", "value": {"kind": "report", "message": "b"}}),
        );
        assert_eq!(
            (titles(&progress), progress.open[0].message.as_str()),
            (vec!["Setting up workspace"], "b")
        );
        report(
            &mut progress,
            json!({"token": "setup", "value": {"kind": "end", "message": "Finished loading packages."}}),
        );
        assert!(progress.open.is_empty());
        assert_eq!((progress.created, progress.finished), (1, 1));
        assert_eq!(progress.ended[0].title, "Setting up workspace");
        assert_eq!(progress.ended[0].message, "Finished loading packages.");
    }

    #[test]
    fn a_begin_without_a_create_is_tolerated_and_tokens_may_be_numbers() {
        let mut progress = Progress::default();
        report(
            &mut progress,
            json!({"token": 7, "value": {"kind": "begin", "title": "indexing"}}),
        );
        assert_eq!((progress.created, progress.open[0].token.clone()), (1, number(7)));
        report(
            &mut progress,
            json!({"token": 8, "value": {"kind": "report", "message": "stray"}}),
        );
        assert_eq!(titles(&progress), ["indexing"]);
        report(&mut progress, json!({"token": 7, "value": {"kind": "end"}}));
        assert!(progress.open.is_empty());
    }

    #[test]
    fn one_token_may_begin_and_end_many_times() {
        let mut progress = Progress::default();
        create(&mut progress, json!("backgroundIndexProgress"));
        for _ in 0..3 {
            for kind in ["begin", "end"] {
                let value = json!({"kind": kind, "title": "indexing"});
                report(
                    &mut progress,
                    json!({"token": "backgroundIndexProgress", "value": value}),
                );
            }
        }
        assert_eq!((progress.open.is_empty(), progress.finished), (true, 3));
    }

    #[test]
    fn an_end_of_what_never_began_counts_as_ended() {
        let mut progress = Progress::default();
        report(
            &mut progress,
            json!({"token": 1, "value": {"kind": "end", "message": "done"}}),
        );
        assert_eq!((progress.finished, progress.ended[0].message.as_str()), (1, "done"));
    }

    #[test]
    fn partial_results_are_not_work() {
        let mut progress = Progress::default();
        report(&mut progress, json!({"token": 1, "value": [{"uri": "file:///a"}]}));
        assert!(progress.open.is_empty() && progress.changed.is_none());
    }

    #[test]
    fn a_server_that_never_ends_its_work_does_not_grow_us() {
        let mut progress = Progress::default();
        for token in 0..5000 {
            create(&mut progress, json!(token));
            report(
                &mut progress,
                json!({"token": -token, "value": {"kind": "end", "message": "x"}}),
            );
        }
        assert_eq!((progress.open.len(), progress.ended.len()), (MOST_OPEN, MOST_ENDED));
        assert_eq!(progress.created, 5000);
    }

    #[test]
    fn tokens_that_are_only_created_do_not_push_out_work() {
        let mut progress = Progress::default();
        report(
            &mut progress,
            json!({"token": "t", "value": {"kind": "begin", "title": "indexing"}}),
        );
        for token in 0..5000 {
            create(&mut progress, json!(token));
        }
        assert_eq!(
            progress.begun_work().map(|work| &*work.title).collect::<Vec<_>>(),
            ["indexing"]
        );
    }

    #[test]
    fn what_is_kept_of_one_message_is_bounded_in_bytes() {
        let mut progress = Progress::default();
        let long = "x".repeat(900_000);
        assert!(!create(&mut progress, json!(long)));
        report(
            &mut progress,
            json!({"token": long, "value": {"kind": "begin", "title": "a"}}),
        );
        assert!(progress.open.is_empty() && progress.created == 0);
        report(
            &mut progress,
            json!({"token": 1, "value": {"kind": "begin", "title": long, "message": long}}),
        );
        report(
            &mut progress,
            json!({"token": 1, "value": {"kind": "end", "message": long}}),
        );
        let ended = &progress.ended[0];
        assert_eq!((ended.title.len(), ended.message.len()), (LONGEST, LONGEST));
    }
}
