//! Makes a session out of the messages of a file, in their order.

use std::collections::HashMap;

use serde_json::Value;

use record::{Nanos, Side};

use super::{Answered, BadRecording, Language, Params, Recorded, Root, Sent, SentKind};

/// A message as a file has it.
pub(super) struct Heard {
    /// From 1.
    pub line: usize,
    /// On the clock of the file.
    pub at: Option<Nanos>,
    pub from: Side,
    pub message: Message,
}

pub(super) enum Message {
    Request {
        id: String,
        method: String,
        params: Params,
    },
    Notification {
        method: String,
        params: Params,
    },
    Response {
        id: String,
        /// `None` of an error, and where the file does not have it.
        result: Option<Value>,
    },
}

/// The progress of the session.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// `initialize` has not been seen.
    #[default]
    Before,
    Running,
    /// `shutdown` or `exit` was sent, or another session began.
    Over,
}

#[derive(Default)]
pub(super) struct Builder {
    recorded: Recorded,
    stage: Stage,
    began: Option<Nanos>,
    /// Places of the editor's open requests by their ids.
    open: HashMap<String, usize>,
    /// Open requests of the server by their ids.
    asked: HashMap<String, (String, Value)>,
    /// Requests that were answered since the last message.
    answered: Vec<usize>,
}

impl Builder {
    pub fn add(&mut self, heard: Heard) -> Result<(), BadRecording> {
        match (heard.from, heard.message) {
            (Side::Client, Message::Request { id, method, params }) => {
                self.request(heard.line, heard.at, id, method, params)
            }
            (Side::Client, Message::Notification { method, params }) => {
                self.notification(heard.line, heard.at, method, params)
            }
            (Side::Client, Message::Response { id, result }) => {
                self.answer(&id, result);
                Ok(())
            }
            (Side::Server, Message::Request { id, method, params }) => {
                if let Params::Whole(params) = params {
                    self.asked.insert(id, (method, params));
                }
                Ok(())
            }
            (Side::Server, Message::Notification { .. }) => Ok(()),
            (Side::Server, Message::Response { id, .. }) => {
                self.respond(&id);
                Ok(())
            }
        }
    }

    /// Counts a message of which nobody knows who sent it.
    pub fn skip_unclear(&mut self) {
        self.recorded.unclear += 1;
    }

    /// Takes a response of which the file does not say who sent it: to the server's request of this id, if there is one,
    /// unless it is in the editor's too.
    pub fn add_response(&mut self, id: &str, result: Option<Value>) {
        if self.open.contains_key(id) {
            self.respond(id);
        } else {
            self.answer(id, result);
        }
    }

    /// Sets the directory of the session, where it is not that of `initialize`.
    pub fn set_root(&mut self, root: Root) {
        self.recorded.root = root;
    }

    pub fn finish(mut self) -> Result<Recorded, BadRecording> {
        if self.recorded.messages.is_empty() {
            return Err(BadRecording::of_file(
                "it has no message of an editor after `initialized`",
                "record a session from the start of the server on",
            ));
        }
        let has_contents = self
            .recorded
            .messages
            .iter()
            .any(|sent| matches!(sent.params, Params::Whole(_)) && !matches!(sent.kind, SentKind::Cancel(_)));
        if self.recorded.initialize.is_none() && has_contents {
            return Err(BadRecording::of_file(
                "it has no `initialize`, so its workspace and its editor are unknown",
                "record from the start of the server on: set the trace in the settings, then reload the window",
            ));
        }
        if self.recorded.initialize.is_some() && !self.recorded.root.is_known() {
            return Err(BadRecording::of_file(
                "its `initialize` names no workspace",
                "record a session with an open folder",
            ));
        }
        for place in self.open.into_values() {
            if let SentKind::Request { is_answered } = &mut self.recorded.messages[place].kind {
                *is_answered = false;
            }
        }
        self.recorded.has_times = self.began.is_some();
        Ok(self.recorded)
    }

    fn request(
        &mut self,
        line: usize,
        at: Option<Nanos>,
        id: String,
        method: String,
        params: Params,
    ) -> Result<(), BadRecording> {
        match method.as_str() {
            "initialize" => {
                if self.stage != Stage::Before {
                    self.recorded.more_sessions += 1;
                    self.stage = Stage::Over;
                    return Ok(());
                }
                self.stage = Stage::Running;
                self.began = at;
                if let Params::Whole(params) = params {
                    require_members(line, "initialize", &params)?;
                    if !self.recorded.root.is_known() {
                        self.recorded.root = Root::of_initialize(&params);
                    }
                    self.recorded.initialize = Some(params);
                }
                Ok(())
            }
            "shutdown" => {
                self.end();
                Ok(())
            }
            // lsp-soak itself was the editor, and asks so by itself.
            record::BARRIER => Ok(()),
            _ => {
                let place = self.recorded.messages.len();
                if self.send(line, at, SentKind::Request { is_answered: true }, method, params)? {
                    self.open.insert(id, place);
                }
                Ok(())
            }
        }
    }

    fn notification(
        &mut self,
        line: usize,
        at: Option<Nanos>,
        method: String,
        params: Params,
    ) -> Result<(), BadRecording> {
        match method.as_str() {
            "initialized" => {
                if self.stage == Stage::Running && at.is_some() {
                    self.began = at;
                }
                Ok(())
            }
            "exit" => {
                self.end();
                Ok(())
            }
            "$/cancelRequest" => {
                let id = match &params {
                    Params::Whole(params) => id_text(&params["id"]),
                    Params::Outline(_) => None,
                };
                match id.and_then(|id| self.open.remove(&id)) {
                    Some(place) => self.send(line, at, SentKind::Cancel(place), method, params).map(drop),
                    // It had been answered, so nothing is left to cancel.
                    None => Ok(()),
                }
            }
            _ => self.send(line, at, SentKind::Notification, method, params).map(drop),
        }
    }

    /// Adds a message of the editor; false after the end of its session.
    fn send(
        &mut self,
        line: usize,
        at: Option<Nanos>,
        kind: SentKind,
        method: String,
        params: Params,
    ) -> Result<bool, BadRecording> {
        if self.stage == Stage::Over {
            return Ok(false);
        }
        if let Params::Whole(params) = &params
            && method.starts_with("textDocument/")
        {
            require_members(line, &method, params)?;
        }
        if method == "textDocument/didOpen" && self.recorded.language.is_none() {
            self.recorded.language = language(&params);
        }
        self.began = self.began.or(at);
        let last = self.recorded.messages.last().map_or(0, |sent| sent.at);
        let at = at.zip(self.began).map_or(last, |(at, began)| at.saturating_sub(began));
        self.recorded.messages.push(Sent {
            // A clock that is set back stops nothing.
            at: at.max(last),
            kind,
            method,
            params,
            after: std::mem::take(&mut self.answered),
        });
        Ok(true)
    }

    fn end(&mut self) {
        if self.stage == Stage::Running {
            self.stage = Stage::Over;
        }
    }

    fn respond(&mut self, id: &str) {
        self.answered.extend(self.open.remove(id));
    }

    fn answer(&mut self, id: &str, result: Option<Value>) {
        if let Some((method, params)) = self.asked.remove(id)
            && let Some(result) = result
        {
            self.recorded.answers.push(Answered { method, params, result });
        }
    }
}

/// Refuses a message without its parameters: the trace was not verbose.
fn require_members(line: usize, method: &str, params: &Value) -> Result<(), BadRecording> {
    if params.is_object() {
        return Ok(());
    }
    Err(BadRecording::at(
        line,
        format!("`{method}` has no parameters"),
        "record again with all contents: in VS Code set `….trace.server` to `verbose`, not `messages`",
    ))
}

fn language(params: &Params) -> Option<Language> {
    match params {
        Params::Whole(params) => Some(Language::Id(params["textDocument"]["languageId"].as_str()?.to_owned())),
        Params::Outline(outline) => Some(Language::Extension(outline.document.as_ref()?.extension.clone()?)),
    }
}

/// The id of a request as text: numbers and strings are one space here, for no client uses both.
pub(super) fn id_text(id: &Value) -> Option<String> {
    match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A message of JSON-RPC; `None` of anything else.
pub(super) fn message(value: &mut Value) -> Option<Message> {
    let id = id_text(&value["id"]);
    let method = value["method"].as_str().map(str::to_owned);
    let params = Params::Whole(value["params"].take());
    match (id, method) {
        (Some(id), Some(method)) => Some(Message::Request { id, method, params }),
        (None, Some(method)) => Some(Message::Notification { method, params }),
        (Some(id), None) => {
            let is_result = value["error"].is_null();
            let result = if is_result { Some(value["result"].take()) } else { None };
            Some(Message::Response { id, result })
        }
        (None, None) => None,
    }
}
