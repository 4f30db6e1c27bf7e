//! The ids of the last diagnostics that a server sent, and results that come in parts.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::message::Id;
use super::scan::{Facts, Reports, Shape};

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

/// A report on one document.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(borrow)]
    result_id: Option<Cow<'a, str>>,
}

impl ResultIds {
    /// Stores the id of a report on one document; without one the next request asks for a full report.
    pub fn store_document(&mut self, identifier: Option<&str>, uri: &str, report: &str) {
        let id = serde_json::from_str::<Report<'_>>(report)
            .ok()
            .and_then(|report| report.result_id);
        self.put(identifier, uri, id.as_deref());
    }

    /// Stores the ids of a whole or partial report on the workspace.
    pub fn store_workspace(&mut self, identifier: Option<&str>, reports: &Reports) {
        for report in &reports.named {
            self.put(identifier, &report.uri, report.result_id.as_deref());
        }
    }

    pub fn forget(&mut self, uri: &str) {
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
    open: HashMap<Id, Open>,
}

#[derive(Debug)]
struct Open {
    method: String,
    identifier: Option<String>,
    parts: Parts,
}

/// The parts of a result so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub count: u64,
    /// Parts that are not empty. A report that nothing has changed is not empty and has no elements.
    pub full: u64,
    /// Elements in all parts.
    pub items: u64,
    /// Length of all parts in bytes.
    pub bytes: u64,
}

impl Partials {
    /// A token that no other request has.
    pub fn new_token(&mut self) -> String {
        self.tokens += 1;
        format!("lsp-soak-parts-{}", self.tokens)
    }

    /// Takes parts with this token from now on, as parts of a result of `method`. `identifier` is that of the provider
    /// asked.
    pub fn expect(&mut self, token: &Id, method: &str, identifier: Option<&str>) {
        self.open.insert(
            token.clone(),
            Open {
                method: method.to_owned(),
                identifier: identifier.map(str::to_owned),
                parts: Parts::default(),
            },
        );
    }

    /// True while parts may come.
    pub fn are_expected(&self) -> bool {
        !self.open.is_empty()
    }

    pub fn parts(&self, token: &Id) -> Parts {
        self.open.get(token).map(|open| open.parts).unwrap_or_default()
    }

    pub fn end(&mut self, token: &Id) {
        self.open.remove(token);
    }

    /// Takes a `$/progress`; false if it is no part that a request waits for.
    pub fn take_part(&mut self, facts: &Facts, ids: &mut ResultIds) -> bool {
        let Some(open) = facts.token.as_ref().and_then(|token| self.open.get_mut(token)) else {
            return false;
        };
        // Every result that comes in parts is a list or has one; a value without is progress of another kind.
        if facts.items.is_none() && facts.reports.related == 0 {
            return true;
        }
        open.parts.count += 1;
        open.parts.full += u64::from(facts.shape == Shape::Full);
        open.parts.bytes += facts.value_bytes;
        open.parts.items += facts.elements(&open.method).unwrap_or(0);
        ids.store_workspace(open.identifier.as_deref(), &facts.reports);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Scanner;

    fn number(token: i64) -> Id {
        Id::Number(token)
    }

    /// The facts of a part.
    fn part(token: &Id, value: Value) -> Facts {
        let mut scanner = Scanner::default();
        scanner.reset(true, false);
        let text = json!({ "method": "$/progress", "params": { "token": token, "value": value } }).to_string();
        scanner.feed(text.as_bytes());
        scanner.facts().unwrap().clone()
    }

    #[test]
    fn the_next_request_of_a_provider_has_the_id_of_its_last_result() {
        let mut ids = ResultIds::default();
        ids.store_document(
            Some("lint"),
            "file:///a",
            r#"{"kind":"full","items":[],"resultId":"7"}"#,
        );
        let document = json!({ "uri": "file:///a" });
        assert_eq!(
            ids.document_params(Some("lint"), "file:///a"),
            json!({ "textDocument": document, "identifier": "lint", "previousResultId": "7" })
        );
        assert_eq!(
            ids.document_params(None, "file:///a"),
            json!({ "textDocument": document })
        );
        ids.store_document(Some("lint"), "file:///a", r#"{"kind":"full","items":[]}"#);
        let params = ids.document_params(Some("lint"), "file:///a");
        assert_eq!(params.get("previousResultId"), None);
    }

    #[test]
    fn a_report_on_the_workspace_has_an_id_for_each_document_also_in_parts() {
        let mut ids = ResultIds::default();
        let mut partials = Partials::default();
        let token = Id::Text(partials.new_token());
        partials.expect(&token, "workspace/diagnostic", Some("lint"));
        for (token, uri, is_expected) in [
            (&token, "file:///b", true),
            (&token, "file:///a", true),
            (&number(7), "file:///c", false),
        ] {
            let report = json!({ "kind": "full", "uri": uri, "resultId": "1", "items": [1, 2] });
            let part = part(token, json!({ "items": [report] }));
            assert_eq!(partials.take_part(&part, &mut ids), is_expected, "{uri}");
        }
        let parts = partials.parts(&token);
        assert_eq!((parts.count, parts.full, parts.items), (2, 2, 4));
        let previous = ids.workspace_params(Some("lint"), "t");
        let expected = ["file:///a", "file:///b"].map(|uri| json!({ "uri": uri, "value": "1" }));
        assert_eq!(previous["previousResultIds"], json!(expected));
        ids.forget("file:///a");
        assert_eq!(
            ids.workspace_params(Some("lint"), "t")["previousResultIds"],
            json!(expected[1..])
        );
    }

    #[test]
    fn parts_of_a_list_are_counted_by_their_elements() {
        let (mut ids, mut partials) = (ResultIds::default(), Partials::default());
        partials.expect(&number(1), "textDocument/references", None);
        for (value, expected) in [(json!([1, 2]), (1, 2)), (json!([]), (1, 2)), (json!([3]), (2, 3))] {
            assert!(partials.take_part(&part(&number(1), value), &mut ids));
            let parts = partials.parts(&number(1));
            assert_eq!((parts.full, parts.items), expected);
        }
        assert_eq!(partials.parts(&number(1)).bytes, "[1,2][][3]".len() as u64);
    }

    #[test]
    fn values_without_a_list_are_no_parts() {
        let (mut ids, mut partials) = (ResultIds::default(), Partials::default());
        partials.expect(&number(1), "workspace/diagnostic", None);
        for value in [json!({}), json!(null), json!({"kind": "begin"})] {
            assert!(partials.take_part(&part(&number(1), value), &mut ids));
        }
        assert_eq!(partials.parts(&number(1)).count, 0);
    }

    #[test]
    fn ids_of_a_server_without_end_do_not_grow_us() {
        let mut ids = ResultIds::default();
        let report = json!({ "kind": "full", "items": [], "resultId": "x".repeat(MOST / 3) }).to_string();
        for number in 0..10 {
            ids.store_document(None, &format!("file:///{number}"), &report);
        }
        assert!(ids.size <= MOST);
        let mut kept = 0;
        for number in 0..10 {
            let params = ids.document_params(None, &format!("file:///{number}"));
            kept += usize::from(params.get("previousResultId").is_some());
        }
        assert_eq!(kept, 2);
    }
}
