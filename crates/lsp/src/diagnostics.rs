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
    /// Only open documents have a list.
    pub(super) fn open(&mut self, uri: &str) {
        self.lists.insert(uri.to_owned(), None);
    }

    pub(super) fn close(&mut self, uri: &str) {
        self.lists.remove(uri);
    }

    /// Stores a list that the server published. `None` if it was too long to read: as its document is unknown, all lists
    /// are dropped.
    pub(super) fn store_published(&mut self, params: Option<&[u8]>) {
        let Some(params) = params else {
            for list in self.lists.values_mut() {
                *list = None;
            }
            return;
        };
        if let Ok(Published { uri, diagnostics }) = serde_json::from_slice(params) {
            self.put(&uri, diagnostics);
        }
    }

    /// Stores the answer to `textDocument/diagnostic` for a document.
    pub(super) fn store_pulled(&mut self, uri: &str, report: &RawValue) {
        if let Ok(Report { items: Some(items) }) = serde_json::from_str(report.get()) {
            self.put(uri, items);
        }
    }

    /// The diagnostics of a document that overlap or touch the range.
    pub(super) fn overlapping(&self, uri: &str, range: Range) -> Vec<Box<RawValue>> {
        let Some(Some(list)) = self.lists.get(uri) else {
            return Vec::new();
        };
        let all: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap_or_default();
        let overlapping = all.into_iter().filter(|diagnostic| touches(diagnostic, range));
        overlapping.map(ToOwned::to_owned).collect()
    }

    fn put(&mut self, uri: &str, list: &RawValue) {
        if !self.lists.contains_key(uri) {
            return;
        }
        self.lists.insert(uri.to_owned(), None);
        let kept: usize = self.lists.values().flatten().map(|list| list.get().len()).sum();
        if kept + list.get().len() <= MOST {
            self.lists.insert(uri.to_owned(), Some(list.to_owned()));
        }
    }
}

/// True if the range of a diagnostic overlaps or touches `range`.
fn touches(diagnostic: &RawValue, range: Range) -> bool {
    serde_json::from_str(diagnostic.get())
        .is_ok_and(|Place { range: own }| own.start <= range.end && range.start <= own.end)
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
        diagnostics.store_published(Some(params.as_bytes()));
    }

    fn overlapping(diagnostics: &Diagnostics, uri: &str, from: u32, to: u32) -> Vec<Value> {
        let range = Range::new(Position::new(1, from), Position::new(1, to));
        diagnostics
            .overlapping(uri, range)
            .iter()
            .map(|diagnostic| serde_json::from_str(diagnostic.get()).unwrap())
            .collect()
    }

    #[test]
    fn the_newest_list_counts_whoever_asked_for_it() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.open("file:///a");
        publish(&mut diagnostics, "file:///a", json!([diagnostic(1, 0, 9, "old")]));
        publish(&mut diagnostics, "file:///a", json!([diagnostic(1, 0, 4, "new")]));
        assert_eq!(
            overlapping(&diagnostics, "file:///a", 0, 2),
            [diagnostic(1, 0, 4, "new")]
        );
        for report in [
            json!({ "kind": "full", "items": [diagnostic(1, 2, 4, "pulled")] }),
            json!({ "kind": "unchanged", "resultId": "1" }),
        ] {
            let report = serde_json::value::to_raw_value(&report).unwrap();
            diagnostics.store_pulled("file:///a", &report);
        }
        assert_eq!(
            overlapping(&diagnostics, "file:///a", 0, 2),
            [diagnostic(1, 2, 4, "pulled")]
        );
    }

    #[test]
    fn only_what_overlaps_or_touches_is_sent() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.open("file:///a");
        let list = [
            diagnostic(1, 0, 3, "before"),
            diagnostic(1, 3, 5, "touches"),
            diagnostic(1, 6, 7, "within"),
            diagnostic(1, 9, 12, "after"),
            diagnostic(2, 5, 8, "below"),
        ];
        publish(&mut diagnostics, "file:///a", json!(list));
        assert_eq!(overlapping(&diagnostics, "file:///a", 5, 8), list[1..3]);
    }

    #[test]
    fn nothing_is_kept_of_documents_that_are_not_open() {
        let mut diagnostics = Diagnostics::default();
        publish(&mut diagnostics, "file:///a", json!([diagnostic(1, 0, 9, "early")]));
        diagnostics.open("file:///a");
        assert!(overlapping(&diagnostics, "file:///a", 0, 9).is_empty());
        publish(&mut diagnostics, "file:///a", json!([diagnostic(1, 0, 9, "open")]));
        diagnostics.close("file:///a");
        diagnostics.open("file:///a");
        assert!(overlapping(&diagnostics, "file:///a", 0, 9).is_empty());
    }

    #[test]
    fn a_server_that_complains_without_end_does_not_grow_us() {
        let mut diagnostics = Diagnostics::default();
        let long = "x".repeat(MOST / 3);
        for number in 0..10 {
            let uri = format!("file:///{number}");
            diagnostics.open(&uri);
            publish(&mut diagnostics, &uri, json!([diagnostic(1, 0, 9, &long)]));
        }
        for number in 0..10 {
            let is_kept = !overlapping(&diagnostics, &format!("file:///{number}"), 0, 9).is_empty();
            assert_eq!(is_kept, number < 2, "{number}");
        }
    }

    #[test]
    fn a_list_that_nobody_could_read_makes_all_of_them_old() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.open("file:///a");
        publish(&mut diagnostics, "file:///a", json!([diagnostic(1, 0, 9, "old")]));
        diagnostics.store_published(None);
        assert!(overlapping(&diagnostics, "file:///a", 0, 9).is_empty());
    }
}
