//! Answers the requests that a server makes of its client: all of them, at once, and never with silence.
//!
//! Servers wait for these answers before they load a workspace, and some stop for good without them.

#[cfg(test)]
mod tests;

use std::time::Instant;

use lsp_types::WorkspaceFolder;
use serde_json::{Value, json};

use crate::lsp::message::{Id, Refusal};
use crate::lsp::progress::Progress;

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const REQUEST_FAILED: i64 = -32803;
/// Registrations that are remembered; no server of good sense comes near.
const MOST_REGISTRATIONS: usize = 4096;

/// Options of a registration that add a method of their own.
const IMPLIED: &[(&str, &str, &str)] = &[
    ("textDocument/completion", "resolveProvider", "completionItem/resolve"),
    ("textDocument/codeAction", "resolveProvider", "codeAction/resolve"),
    ("textDocument/codeLens", "resolveProvider", "codeLens/resolve"),
    ("textDocument/inlayHint", "resolveProvider", "inlayHint/resolve"),
    ("textDocument/rename", "prepareProvider", "textDocument/prepareRename"),
    (
        "textDocument/diagnostic",
        "workspaceDiagnostics",
        "workspace/diagnostic",
    ),
    ("workspace/symbol", "resolveProvider", "workspaceSymbol/resolve"),
];

/// What the server gets to hear when it asks.
#[derive(Clone, Debug)]
pub struct Answers {
    /// The settings, a tree that `workspace/configuration` picks from by dotted path.
    pub settings: Value,
    /// The open folders.
    pub folders: Vec<WorkspaceFolder>,
    /// Titles to choose when the server asks the user, such as `Import build`; anything else is dismissed.
    pub choose: Vec<String>,
}

impl Default for Answers {
    fn default() -> Answers {
        Answers {
            settings: Value::Object(serde_json::Map::new()),
            folders: Vec::new(),
            choose: Vec::new(),
        }
    }
}

/// A pattern of files whose changes the server wants to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watcher {
    /// The glob pattern.
    pub glob: String,
    /// The URI that a relative pattern starts from.
    pub base: Option<String>,
    /// Bits: 1 created, 2 changed, 4 deleted.
    pub kind: u8,
}

/// A capability that the server registered while running.
#[derive(Clone, Debug)]
struct Registration {
    id: String,
    method: String,
    options: Value,
}

/// The answering side of a connection, with what it learns from the questions.
#[derive(Debug, Default)]
pub(super) struct Responder {
    pub(super) answers: Answers,
    pub(super) progress: Progress,
    registrations: Vec<Registration>,
}

/// Whether the answer depends on the parameters.
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

/// The answer to a request whose parameters could not be read: an error is right where any result would be a guess.
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

    /// The answer to one request. Methods that it registered are added to `registered`.
    pub(super) fn answer(
        &mut self,
        method: &str,
        params: &Value,
        registered: &mut Vec<String>,
    ) -> Result<Value, Refusal> {
        match method {
            "workspace/configuration" => self.configuration(params),
            "window/workDoneProgress/create" => {
                if let Some(token) = params.get("token").and_then(Id::from_value) {
                    self.progress.create(token, Instant::now());
                }
                Ok(Value::Null)
            }
            "client/registerCapability" => {
                self.register(params, registered);
                Ok(Value::Null)
            }
            "client/unregisterCapability" => {
                self.unregister(params);
                Ok(Value::Null)
            }
            "window/showMessageRequest" => Ok(self.choice(params)),
            "window/showDocument" => Ok(json!({"success": true})),
            "workspace/applyEdit" => Ok(json!({
                "applied": false,
                "failureReason": "this client measures memory and does not apply edits that the server starts",
            })),
            "workspace/workspaceFolders" => Ok(json!(self.answers.folders)),
            "workspace/executeClientCommand" => Ok(json!([])),
            _ if is_refresh(method) => Ok(Value::Null),
            _unknown => Err(Refusal {
                code: METHOD_NOT_FOUND,
                message: format!("`{method}` is not known here"),
            }),
        }
    }

    /// The methods registered now, each once, with those that follow from the options.
    pub(super) fn registered(&self) -> Vec<String> {
        let mut methods: Vec<String> = self.registrations.iter().map(|one| one.method.clone()).collect();
        for one in &self.registrations {
            let implied = IMPLIED
                .iter()
                .filter(|(method, option, _)| *method == one.method && one.options[*option] == Value::Bool(true));
            methods.extend(implied.map(|(.., method)| (*method).to_owned()));
        }
        methods.sort_unstable();
        methods.dedup();
        methods
    }

    /// The options of every registration of `method`.
    pub(super) fn options(&self, method: &str) -> Vec<Value> {
        self.registrations
            .iter()
            .filter(|one| one.method == method)
            .map(|one| one.options.clone())
            .collect()
    }

    /// The file patterns that are watched now.
    pub(super) fn watchers(&self) -> Vec<Watcher> {
        self.registrations
            .iter()
            .filter(|one| one.method == "workspace/didChangeWatchedFiles")
            .filter_map(|one| one.options["watchers"].as_array())
            .flatten()
            .filter_map(watcher)
            .collect()
    }

    /// One element for each item asked for: servers assert that the lengths agree.
    fn configuration(&self, params: &Value) -> Result<Value, Refusal> {
        let Some(items) = params["items"].as_array() else {
            let message = "`workspace/configuration` came without `items`".to_owned();
            return Err(Refusal {
                code: INVALID_PARAMS,
                message,
            });
        };
        let sections = items.iter().map(|item| item["section"].as_str().unwrap_or(""));
        Ok(sections
            .map(|section| section_of(&self.answers.settings, section).cloned().unwrap_or_default())
            .collect())
    }

    /// Accepted even though nobody may have offered it: servers register anyway, and give up when refused.
    fn register(&mut self, params: &Value, registered: &mut Vec<String>) {
        for one in params["registrations"].as_array().into_iter().flatten() {
            let (Some(id), Some(method)) = (one["id"].as_str(), one["method"].as_str()) else {
                continue;
            };
            self.registrations
                .retain(|known| known.id != id || known.method != method);
            if self.registrations.len() == MOST_REGISTRATIONS {
                self.registrations.remove(0);
            }
            let options = one["registerOptions"].clone();
            self.registrations.push(Registration {
                id: id.to_owned(),
                method: method.to_owned(),
                options,
            });
            registered.push(method.to_owned());
        }
    }

    fn unregister(&mut self, params: &Value) {
        // The misspelt name is the one in the protocol; some libraries send the right word.
        for name in ["unregisterations", "unregistrations"] {
            for one in params[name].as_array().into_iter().flatten() {
                self.registrations.retain(|known| {
                    one["id"].as_str() != Some(&known.id)
                        || one["method"].as_str().is_some_and(|method| method != known.method)
                });
            }
        }
    }

    fn choice(&self, params: &Value) -> Value {
        let actions = params["actions"].as_array().map_or(&[][..], Vec::as_slice);
        let titled = |title: &String| actions.iter().find(|action| action["title"] == **title);
        self.answers.choose.iter().find_map(titled).cloned().unwrap_or_default()
    }
}

fn is_refresh(method: &str) -> bool {
    method
        .strip_prefix("workspace/")
        .and_then(|rest| rest.strip_suffix("/refresh"))
        .is_some()
}

/// Walks a dotted path; a key that itself contains dots is found too. An empty path is everything.
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
