//! The ids of the last diagnostics that a server sent, and results that come in parts.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Most text of ids and of the URIs beside them, in bytes; of more, the server sends full reports again.
const MOST: usize = 4 << 20;

/// `identifier` of a provider; empty if it has none.
type Identifier = String;

/// The `resultId` of every document, by provider: an editor sends it with the next request, and the server then says
/// that nothing has changed.
#[derive(Debug, Default)]
pub(super) struct ResultIds {
    ids: HashMap<Identifier, HashMap<String, String>>,
    size: usize,
}

/// A report on one document, or a member of a report on the workspace.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow)]
    result_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Reports<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

impl ResultIds {
    /// The server answered for one document; a report without an id has nothing to go on from.
    pub fn pulled(&mut self, identifier: Option<&str>, uri: &str, report: &str) {
        let id = serde_json::from_str::<Report<'_>>(report)
            .ok()
            .and_then(|report| report.result_id);
        self.put(identifier, uri, id.as_deref());
    }

    /// Takes a whole or partial report on the workspace; returns how many documents are in it.
    pub fn reported(&mut self, identifier: Option<&str>, report: &str) -> u64 {
        let Ok(Reports { items }) = serde_json::from_str(report) else {
            return 0;
        };
        for item in &items {
            if let Ok(Report {
                uri: Some(uri),
                result_id,
            }) = serde_json::from_str(item.get())
            {
                self.put(identifier, &uri, result_id.as_deref());
            }
        }
        items.len() as u64
    }

    pub fn closed(&mut self, uri: &str) {
        for ids in self.ids.values_mut() {
            if let Some(id) = ids.remove(uri) {
                self.size -= uri.len() + id.len();
            }
        }
    }

    /// Parameters of `textDocument/diagnostic`.
    pub fn document_params(&self, identifier: Option<&str>, uri: &str) -> Value {
        let mut params = json!({ "textDocument": { "uri": uri } });
        if let Some(identifier) = identifier {
            params["identifier"] = json!(identifier);
        }
        if let Some(id) = self.of_provider(identifier).and_then(|ids| ids.get(uri)) {
            params["previousResultId"] = json!(id);
        }
        params
    }

    /// Parameters of `workspace/diagnostic`; its result may come in parts that have this token.
    pub fn workspace_params(&self, identifier: Option<&str>, token: &str) -> Value {
        let mut previous: Vec<(&String, &String)> = self.of_provider(identifier).into_iter().flatten().collect();
        previous.sort_unstable();
        let previous: Vec<Value> = previous
            .into_iter()
            .map(|(uri, id)| json!({ "uri": uri, "value": id }))
            .collect();
        let mut params = json!({ "previousResultIds": previous, "partialResultToken": token });
        if let Some(identifier) = identifier {
            params["identifier"] = json!(identifier);
        }
        params
    }

    fn of_provider(&self, identifier: Option<&str>) -> Option<&HashMap<String, String>> {
        self.ids.get(identifier.unwrap_or_default())
    }

    fn put(&mut self, identifier: Option<&str>, uri: &str, id: Option<&str>) {
        let ids = self.ids.entry(identifier.unwrap_or_default().to_owned()).or_default();
        if let Some(before) = ids.remove(uri) {
            self.size -= uri.len() + before.len();
        }
        let Some(id) = id else { return };
        let more = uri.len() + id.len();
        if self.size + more <= MOST {
            self.size += more;
            ids.insert(uri.to_owned(), id.to_owned());
        }
    }
}

/// Results in parts, by the token that their request sent.
#[derive(Debug, Default)]
pub(super) struct Partials {
    tokens: u64,
    open: HashMap<String, Open>,
}

#[derive(Debug, Default)]
struct Open {
    identifier: Option<String>,
    parts: Parts,
}

/// The parts of a result so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub count: u64,
    /// Elements in all parts.
    pub items: u64,
    /// Length of all parts in bytes.
    pub bytes: u64,
}

#[derive(Deserialize)]
struct Progress<'a> {
    #[serde(borrow)]
    token: Cow<'a, str>,
    #[serde(borrow)]
    value: &'a RawValue,
}

impl Partials {
    /// A token that no other request has.
    pub fn new_token(&mut self) -> String {
        self.tokens += 1;
        format!("lsp-soak-parts-{}", self.tokens)
    }

    /// From now on, parts with this token are taken. `identifier` is that of the provider asked.
    pub fn expect(&mut self, token: &str, identifier: Option<&str>) {
        self.open.insert(
            token.to_owned(),
            Open {
                identifier: identifier.map(str::to_owned),
                parts: Parts::default(),
            },
        );
    }

    pub fn parts(&self, token: &str) -> Parts {
        self.open.get(token).map(|open| open.parts).unwrap_or_default()
    }

    pub fn end(&mut self, token: &str) {
        self.open.remove(token);
    }

    /// Takes the parameters of `$/progress`; false if they are no part that a request waits for.
    pub fn take(&mut self, params: &str, ids: &mut ResultIds) -> bool {
        if self.open.is_empty() {
            return false;
        }
        let Ok(Progress { token, value }) = serde_json::from_str(params) else {
            return false;
        };
        let Some(open) = self.open.get_mut(&*token) else {
            return false;
        };
        let listed = serde_json::from_str::<Vec<&RawValue>>(value.get()).map(|list| list.len() as u64);
        open.parts.count += 1;
        open.parts.bytes += value.get().len() as u64;
        open.parts.items += listed.unwrap_or_else(|_| ids.reported(open.identifier.as_deref(), value.get()));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_request_of_a_provider_has_the_id_of_its_last_result() {
        let mut ids = ResultIds::default();
        let params = |ids: &ResultIds, identifier| ids.document_params(identifier, "file:///a");
        ids.pulled(
            Some("lint"),
            "file:///a",
            r#"{"kind":"full","items":[],"resultId":"7"}"#,
        );
        let document = json!({ "uri": "file:///a" });
        assert_eq!(
            params(&ids, Some("lint")),
            json!({ "textDocument": document, "identifier": "lint", "previousResultId": "7" })
        );
        assert_eq!(params(&ids, None), json!({ "textDocument": document }));
        ids.pulled(Some("lint"), "file:///a", r#"{"kind":"full","items":[]}"#);
        assert_eq!(params(&ids, Some("lint")).get("previousResultId"), None);
    }

    #[test]
    fn a_report_on_the_workspace_has_an_id_for_each_document_also_in_parts() {
        let mut ids = ResultIds::default();
        let mut partials = Partials::default();
        let token = partials.new_token();
        partials.expect(&token, Some("lint"));
        let part = |token: &str, uri: &str| {
            let item = json!({ "kind": "full", "uri": uri, "resultId": "1", "items": [] });
            json!({ "token": token, "value": { "items": [item] } }).to_string()
        };
        assert!(partials.take(&part(&token, "file:///b"), &mut ids));
        assert!(partials.take(&part(&token, "file:///a"), &mut ids));
        assert!(!partials.take(&part("other", "file:///c"), &mut ids));
        assert_eq!((partials.parts(&token).count, partials.parts(&token).items), (2, 2));
        let previous = ids.workspace_params(Some("lint"), "t");
        let expected = ["file:///a", "file:///b"].map(|uri| json!({ "uri": uri, "value": "1" }));
        assert_eq!(previous["previousResultIds"], json!(expected));
        ids.closed("file:///a");
        assert_eq!(
            ids.workspace_params(Some("lint"), "t")["previousResultIds"],
            json!(expected[1..])
        );
    }

    #[test]
    fn ids_of_a_server_without_end_do_not_grow_us() {
        let mut ids = ResultIds::default();
        let report = json!({ "kind": "full", "items": [], "resultId": "x".repeat(MOST / 3) }).to_string();
        for number in 0..10 {
            ids.pulled(None, &format!("file:///{number}"), &report);
        }
        assert!(ids.size <= MOST);
        let kept = |number: &i32| {
            let params = ids.document_params(None, &format!("file:///{number}"));
            params.get("previousResultId").is_some()
        };
        assert_eq!((0..10).filter(kept).count(), 2);
    }
}
