//! Answers every request of the server, at once.
//!
//! Servers wait for these answers before they load a workspace, and some stop for good without them.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Instant;

use lsp_types::WorkspaceFolder;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::message::{Refusal, modest};
use crate::progress::Progress;
use crate::support::implied;

/// The notification of changed files, for which servers register watchers.
pub const WATCHERS: &str = "workspace/didChangeWatchedFiles";

/// Beginning of the answer to an unknown request. A program that echoes our requests receives and echoes it too.
pub const UNKNOWN_METHOD: &str = "lsp-soak does not know";

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
/// A request exceeds a limit: the server receives this error, and a violation is reported.
pub(super) const REQUEST_FAILED: i64 = -32803;
/// Longest answer to a server, in bytes. A request may repeat the same settings any number of times.
const LONGEST_ANSWER: usize = 2 << 20;
/// Longest id or method of a registration, in bytes.
const LONGEST_NAME: usize = 512;
/// Most text of all registrations in bytes, and most registrations; no known server comes near.
const MOST_REGISTERED: usize = 2 << 20;
const MOST_REGISTRATIONS: usize = 4096;

/// The answers to the server's requests.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Settings: a tree that `workspace/configuration` reads by dotted path.
    pub settings: Value,
    pub folders: Vec<WorkspaceFolder>,
    /// Titles to choose when the server asks the user, for example `Import build`; other questions are dismissed.
    pub choose: Vec<String>,
    /// Answers to requests with just these parameters, before all others.
    pub recorded: Vec<RecordedAnswer>,
}

/// An answer of an editor that was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAnswer {
    pub method: String,
    pub params: Value,
    pub result: Value,
}

impl Default for Answers {
    fn default() -> Answers {
        Answers {
            settings: Value::Object(serde_json::Map::new()),
            folders: Vec::new(),
            choose: Vec::new(),
            recorded: Vec::new(),
        }
    }
}

/// A pattern of files whose changes the server watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watcher {
    pub glob: String,
    /// The base URI of a relative pattern.
    pub base: Option<String>,
    /// Bits: 1 created, 2 changed, 4 deleted.
    pub kind: u8,
}

/// A capability that the server registered while running.
#[derive(Clone, Debug)]
struct Registration {
    id: String,
    method: String,
    /// Raw JSON: a parsed tree takes many times as much memory.
    options: Option<Box<RawValue>>,
    /// Methods that the options imply.
    implied: Vec<&'static str>,
}

impl Registration {
    /// True if this takes the place of `known`. An editor keeps the watchers of an id that is registered again beside the
    /// new ones.
    fn replaces(&self, known: &Registration) -> bool {
        let is_same = self.id == known.id && self.method == known.method;
        is_same && (self.method != WATCHERS || self.options() == known.options())
    }

    fn size(&self) -> usize {
        self.id.len() + self.method.len() + self.options.as_ref().map_or(0, |options| options.get().len())
    }

    fn options(&self) -> Value {
        let options = self.options.as_ref().and_then(|options| modest(options.get()).ok());
        options.unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Registrations<'a> {
    #[serde(borrow)]
    registrations: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct OneRegistration<'a> {
    id: Cow<'a, str>,
    method: Cow<'a, str>,
    #[serde(borrow, rename = "registerOptions")]
    options: Option<&'a RawValue>,
}

/// The protocol misspells the name; some libraries send the correct spelling.
#[derive(Deserialize)]
struct Unregistrations<'a> {
    #[serde(borrow, alias = "unregistrations")]
    unregisterations: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct OneUnregistration<'a> {
    id: Cow<'a, str>,
    method: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Configuration<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Item<'a> {
    section: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Question<'a> {
    #[serde(borrow)]
    actions: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Titled<'a> {
    title: Cow<'a, str>,
}

/// The answer to the server: a result as text, or an error.
pub(super) type Answer = Result<Box<RawValue>, Refusal>;

/// The answering side of a connection, with the state that the requests set.
#[derive(Debug, Default)]
pub(super) struct Responder {
    pub(super) answers: Answers,
    pub(super) progress: Progress,
    registrations: Vec<Registration>,
}

/// True if the answer depends on the parameters.
pub(super) fn reads_params(method: &str) -> bool {
    matches!(
        method,
        "workspace/configuration"
            | "window/workDoneProgress/create"
            | "client/registerCapability"
            | "client/unregisterCapability"
            | "window/showMessageRequest"
    )
}

/// The answer to a request with unreadable parameters: an error, because any result would be a guess.
pub(super) fn unread(method: &str) -> Refusal {
    Refusal {
        code: REQUEST_FAILED,
        message: format!("the parameters of `{method}` are too long to be read here"),
    }
}

impl Responder {
    pub(super) fn new(answers: Answers) -> Responder {
        Responder {
            answers,
            ..Responder::default()
        }
    }

    /// The answer to one request. Newly registered methods are added to `registered`.
    pub(super) fn answer(&mut self, method: &str, params: Option<&RawValue>, registered: &mut Vec<String>) -> Answer {
        let params = params.map_or("null", RawValue::get);
        if let Some(result) = self.recorded_result(method, params) {
            return plain(result);
        }
        match method {
            "workspace/configuration" => self.configuration(params),
            "window/workDoneProgress/create" => {
                if self.progress.create(params, Instant::now()) {
                    null()
                } else {
                    Err(excess("a progress token of over 512 bytes"))
                }
            }
            "client/registerCapability" => self.register(params, registered),
            "client/unregisterCapability" => {
                self.unregister(params);
                null()
            }
            "window/showMessageRequest" => Ok(self.choice(params)),
            "window/showDocument" => plain(&json!({"success": true})),
            "workspace/applyEdit" => plain(&json!({
                "applied": false,
                "failureReason": "lsp-soak measures memory and does not apply edits that the server starts",
            })),
            "workspace/workspaceFolders" => plain(&self.answers.folders),
            "workspace/executeClientCommand" => plain(&json!([])),
            _ if is_refresh(method) => null(),
            _unknown => Err(Refusal {
                code: METHOD_NOT_FOUND,
                message: format!("{UNKNOWN_METHOD} `{method}`"),
            }),
        }
    }

    /// The answer of the recorded editor to the same request. Of settings, each section is looked up by itself, and what a request
    /// registers or creates is needed here, too.
    fn recorded_result(&self, method: &str, params: &str) -> Option<&Value> {
        let is_own = matches!(
            method,
            "workspace/configuration"
                | "window/workDoneProgress/create"
                | "client/registerCapability"
                | "client/unregisterCapability"
        );
        if is_own || self.answers.recorded.is_empty() {
            return None;
        }
        let params: Value = modest(params).ok()?;
        let mut all = self.answers.recorded.iter();
        let same = all.find(|known| known.method == method && known.params == params)?;
        Some(&same.result)
    }

    /// The registered methods, each once, including those that the options imply.
    pub(super) fn registered(&self) -> Vec<String> {
        let mut methods: Vec<String> = self.registrations.iter().map(|known| known.method.clone()).collect();
        let implied = self.registrations.iter().flat_map(|known| &known.implied);
        methods.extend(implied.map(|method| (*method).to_owned()));
        methods.sort_unstable();
        methods.dedup();
        methods
    }

    /// The options of every registration of `method`.
    pub(super) fn options(&self, method: &str) -> Vec<Value> {
        self.registrations
            .iter()
            .filter(|known| known.method == method)
            .map(Registration::options)
            .collect()
    }

    /// The current file watchers.
    pub(super) fn watchers(&self) -> Vec<Watcher> {
        self.registrations
            .iter()
            .filter(|known| known.method == WATCHERS)
            .flat_map(|known| watchers(&known.options()))
            .collect()
    }

    /// One element per requested item: servers assert that the lengths agree.
    fn configuration(&self, params: &str) -> Answer {
        let Ok(Configuration { items }) = serde_json::from_str(params) else {
            let message = "`workspace/configuration` came without `items`".to_owned();
            return Err(Refusal {
                code: INVALID_PARAMS,
                message,
            });
        };
        let mut text = b"[".to_vec();
        for item in items {
            let item = serde_json::from_str::<Item<'_>>(item.get()).ok();
            let section = item.and_then(|item| item.section).unwrap_or_default();
            if text.len() > 1 {
                text.push(b',');
            }
            let value = section_of(&self.answers.settings, &section).unwrap_or(&Value::Null);
            serde_json::to_writer(&mut text, value).expect("a tree of JSON has a JSON form");
            if text.len() > LONGEST_ANSWER {
                return Err(excess("an answer to `workspace/configuration`"));
            }
        }
        text.push(b']');
        let text = String::from_utf8(text).expect("JSON is text");
        Ok(RawValue::from_string(text).expect("a list of JSON is JSON"))
    }

    /// Accepts registrations that the client did not offer: servers register anyway, and give up when refused. A
    /// request over the limits is refused as a whole.
    fn register(&mut self, params: &str, registered: &mut Vec<String>) -> Answer {
        let all = match serde_json::from_str::<Registrations<'_>>(params) {
            Ok(params) => params.registrations,
            Err(_) => Vec::new(),
        };
        let kept: usize = self.registrations.iter().map(Registration::size).sum();
        let more: usize = all.iter().map(|text| text.get().len()).sum();
        if kept + more > MOST_REGISTERED || self.registrations.len() + all.len() > MOST_REGISTRATIONS {
            return Err(excess("all that is registered"));
        }
        let mut new = Vec::with_capacity(all.len());
        for text in all {
            let Ok(request) = serde_json::from_str::<OneRegistration<'_>>(text.get()) else {
                continue;
            };
            let options = match request.options.map(|options| modest(options.get())) {
                Some(Ok(options)) => options,
                Some(Err(_)) => return Err(excess("the options of a registration")),
                None => Value::Null,
            };
            if request.id.len().max(request.method.len()) > LONGEST_NAME {
                return Err(excess("the id or the method of a registration"));
            }
            new.push(Registration {
                id: request.id.into_owned(),
                implied: implied(&request.method, &options),
                method: request.method.into_owned(),
                options: request.options.map(ToOwned::to_owned),
            });
        }
        for registration in new {
            self.registrations.retain(|known| !registration.replaces(known));
            registered.push(registration.method.clone());
            self.registrations.push(registration);
        }
        null()
    }

    fn unregister(&mut self, params: &str) {
        let Ok(params) = serde_json::from_str::<Unregistrations<'_>>(params) else {
            return;
        };
        for text in params.unregisterations {
            if let Ok(OneUnregistration { id, method }) = serde_json::from_str(text.get()) {
                self.registrations
                    .retain(|known| known.id != id || method.as_ref().is_some_and(|method| *method != known.method));
            }
        }
    }

    /// The first offered action with a title to choose; null if there is none.
    fn choice(&self, params: &str) -> Box<RawValue> {
        let Ok(Question { actions }) = serde_json::from_str(params) else {
            return RawValue::NULL.to_owned();
        };
        for title in &self.answers.choose {
            for action in &actions {
                if serde_json::from_str(action.get()).is_ok_and(|action: Titled<'_>| action.title == **title) {
                    return (*action).to_owned();
                }
            }
        }
        RawValue::NULL.to_owned()
    }
}

fn null() -> Answer {
    Ok(RawValue::NULL.to_owned())
}

/// A small answer of lsp-soak's own.
fn plain(value: &impl Serialize) -> Answer {
    Ok(to_raw_value(value).expect("it is plain data with string keys"))
}

fn excess(what: &str) -> Refusal {
    Refusal {
        code: REQUEST_FAILED,
        message: format!("{what} would be more than lsp-soak keeps for a server"),
    }
}

fn is_refresh(method: &str) -> bool {
    method
        .strip_prefix("workspace/")
        .and_then(|rest| rest.strip_suffix("/refresh"))
        .is_some()
}

/// Resolves a dotted path; a key that itself contains dots is found too. An empty path is the whole tree.
fn section_of<'a>(settings: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(settings);
    }
    if let Some(found) = settings.get(path) {
        return Some(found);
    }
    path.match_indices('.')
        .find_map(|(dot, _)| section_of(settings.get(&path[..dot])?, &path[dot + 1..]))
}

fn watchers(options: &Value) -> Vec<Watcher> {
    let all = options["watchers"].as_array();
    all.into_iter().flatten().filter_map(watcher).collect()
}

fn watcher(value: &Value) -> Option<Watcher> {
    let kind = value["kind"]
        .as_u64()
        .and_then(|kind| u8::try_from(kind).ok())
        .unwrap_or(7);
    let pattern = &value["globPattern"];
    if let Some(glob) = pattern.as_str() {
        return Some(Watcher {
            glob: glob.to_owned(),
            base: None,
            kind,
        });
    }
    let base = &pattern["baseUri"];
    let base = base.as_str().or_else(|| base["uri"].as_str()).map(str::to_owned);
    Some(Watcher {
        glob: pattern["pattern"].as_str()?.to_owned(),
        base,
        kind,
    })
}
