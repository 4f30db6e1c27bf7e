//! The newest diagnostics of each open document, as raw JSON: an editor sends them with a request for code actions.

use std::borrow::Cow;
use std::collections::HashMap;

use lsp_types::Range;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Most text kept over all documents, in bytes; more is dropped.
const MOST: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    lists: HashMap<String, Option<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct Published<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
    #[serde(borrow)]
    diagnostics: &'a RawValue,
}

/// A report without items means no change.
#[derive(Deserialize)]
struct Report<'a> {
    #[serde(borrow)]
    items: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Place {
    range: Range,
}

impl Diagnostics {
    /// A document was opened or closed: only open ones have a list.
    pub(super) fn opened(&mut self, uri: &str) {
        self.lists.insert(uri.to_owned(), None);
    }

    pub(super) fn closed(&mut self, uri: &str) {
        self.lists.remove(uri);
    }

    /// The server published a list; `None` if it was too long to read, so its document is unknown.
    pub(super) fn published(&mut self, params: Option<&[u8]>) {
        let Some(params) = params else {
            return self.lists.values_mut().for_each(|list| *list = None);
        };
        if let Ok(Published { uri, diagnostics }) = serde_json::from_slice(params) {
            self.put(&uri, diagnostics);
        }
    }

    /// The server answered `textDocument/diagnostic` for a document.
    pub(super) fn pulled(&mut self, uri: &str, report: &RawValue) {
        if let Ok(Report { items: Some(items) }) = serde_json::from_str(report.get()) {
            self.put(uri, items);
        }
    }

    /// The diagnostics of a document that overlap or touch the range.
    pub(super) fn at(&self, uri: &str, range: Range) -> Vec<Box<RawValue>> {
        let Some(Some(list)) = self.lists.get(uri) else {
            return Vec::new();
        };
        let all: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap_or_default();
        let touches = |one: &&&RawValue| {
            let place = serde_json::from_str::<Place>(one.get());
            place.is_ok_and(|Place { range: own }| own.start <= range.end && range.start <= own.end)
        };
        all.iter().filter(touches).map(|one| (*one).to_owned()).collect()
    }

    fn put(&mut self, uri: &str, list: &RawValue) {
        if !self.lists.contains_key(uri) {
            return;
        }
        self.lists.insert(uri.to_owned(), None);
        let kept: usize = self.lists.values().flatten().map(|list| list.get().len()).sum();
        let list = (kept + list.get().len() <= MOST).then(|| list.to_owned());
        self.lists.insert(uri.to_owned(), list);
    }
}

#[cfg(test)]
mod tests {
    use lsp_types::Position;
    use serde_json::{Value, json};

    use super::*;

    fn diagnostic(line: u32, from: u32, to: u32, message: &str) -> Value {
        let range = json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } });
        json!({ "range": range, "message": message, "data": { "own": 1 } })
    }

    fn publish(diagnostics: &mut Diagnostics, uri: &str, list: Value) {
        let params = json!({ "uri": uri, "diagnostics": list }).to_string();
        diagnostics.published(Some(params.as_bytes()));
    }

    fn at(diagnostics: &Diagnostics, uri: &str, from: u32, to: u32) -> Vec<Value> {
        let range = Range::new(Position::new(1, from), Position::new(1, to));
        let diagnostic = diagnostics.at(uri, range);
        diagnostic
            .iter()
            .map(|one| serde_json::from_str(one.get()).unwrap())
            .collect()
    }

    #[test]
    fn the_newest_list_counts_whoever_asked_for_it() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.opened("file:///a");
        publish(&mut diagnostics, "file:///a", json!([diagnostic(1, 0, 9, "old")]));
        publish(&mut diagnostics, "file:///a", json!([diagnostic(1, 0, 4, "new")]));
        assert_eq!(at(&diagnostics, "file:///a", 0, 2), [diagnostic(1, 0, 4, "new")]);
        let report = |text: Value| serde_json::value::to_raw_value(&text).unwrap();
        let full = report(json!({ "kind": "full", "items": [diagnostic(1, 2, 4, "pulled")] }));
        diagnostics.pulled("file:///a", &full);
        diagnostics.pulled("file:///a", &report(json!({ "kind": "unchanged", "resultId": "1" })));
        assert_eq!(at(&diagnostics, "file:///a", 0, 2), [diagnostic(1, 2, 4, "pulled")]);
    }

    #[test]
    fn only_what_overlaps_or_touches_is_sent() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.opened("file:///a");
        let list = [
            diagnostic(1, 0, 3, "before"),
            diagnostic(1, 3, 5, "touches"),
            diagnostic(1, 6, 7, "within"),
            diagnostic(1, 9, 12, "after"),
            diagnostic(2, 5, 8, "below"),
        ];
        publish(&mut diagnostics, "file:///a", json!(list));
        assert_eq!(at(&diagnostics, "file:///a", 5, 8), list[1..3]);
    }

    #[test]
    fn nothing_is_kept_of_documents_that_are_not_open() {
        let mut diagnostics = Diagnostics::default();
        publish(&mut diagnostics, "file:///a", json!([diagnostic(1, 0, 9, "early")]));
        diagnostics.opened("file:///a");
        assert!(at(&diagnostics, "file:///a", 0, 9).is_empty());
        publish(&mut diagnostics, "file:///a", json!([diagnostic(1, 0, 9, "open")]));
        diagnostics.closed("file:///a");
        diagnostics.opened("file:///a");
        assert!(at(&diagnostics, "file:///a", 0, 9).is_empty());
    }

    #[test]
    fn a_server_that_complains_without_end_does_not_grow_us() {
        let mut diagnostics = Diagnostics::default();
        let long = "x".repeat(MOST / 3);
        for number in 0..10 {
            let uri = format!("file:///{number}");
            diagnostics.opened(&uri);
            publish(&mut diagnostics, &uri, json!([diagnostic(1, 0, 9, &long)]));
        }
        let kept = |number: &u32| !at(&diagnostics, &format!("file:///{number}"), 0, 9).is_empty();
        assert_eq!((0..10).filter(kept).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_list_that_nobody_could_read_makes_all_of_them_old() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.opened("file:///a");
        publish(&mut diagnostics, "file:///a", json!([diagnostic(1, 0, 9, "old")]));
        diagnostics.published(None);
        assert!(at(&diagnostics, "file:///a", 0, 9).is_empty());
    }
}
