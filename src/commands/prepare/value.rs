//! A file of settings or options, JSON or TOML, with its mistakes where they are.

use std::path::Path;

use serde_json::Value;

use crate::config::place::{self, BadValue};
use crate::config::{self, Mistake, MistakeReport};

/// Reads a JSON file, or a TOML one by its name.
pub(super) fn value(path: &Path, mistakes: &mut MistakeReport) -> Option<Value> {
    let shown = path.display().to_string();
    let text = match config::read_text(path, "name a JSON file, or a TOML one that ends in `.toml`") {
        Ok(text) => text,
        Err((why, cure)) => {
            mistakes.add_loose(format!("cannot read `{shown}`: {why}"), cure);
            return None;
        }
    };
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let (value, fault) = if is_toml { in_toml(&text) } else { in_json(&text) };
    mistakes.add(&shown, &text, fault.into_iter().collect());
    value
}

fn in_toml(text: &str) -> (Option<Value>, Option<Mistake>) {
    match place::read(text) {
        Ok(value) => (Some(value), None),
        Err(BadValue { message, span }) => {
            // Settings are sent as JSON, so a date has no type that it could become.
            let (title, cure) = if message.starts_with("invalid type: a date") {
                ("JSON has no dates".to_owned(), "write it in quotes")
            } else {
                (
                    format!("this is not TOML: {message}"),
                    "mend it, or call a JSON file `.json`",
                )
            };
            (None, Some(Mistake::new(span.unwrap_or(0..0), title, cure)))
        }
    }
}

fn in_json(text: &str) -> (Option<Value>, Option<Mistake>) {
    match serde_json::from_str(text) {
        Ok(value) => (Some(value), None),
        Err(error) => {
            // The words end with the place, which the caret shows.
            let words = error.to_string();
            let words = words
                .rsplit_once(" at line ")
                .map_or(words.as_str(), |(words, _)| words);
            let before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            let at = before.map(str::len).sum::<usize>() + error.column();
            // The column counts bytes up to and with the last that was read, which may be a line end or half a letter.
            let read = &text[..text.ceil_char_boundary(at.min(text.len()))];
            let last = read.trim_end().char_indices().last();
            let span = last.map_or(0..0, |(start, letter)| start..start + letter.len_utf8());
            let title = format!("this is not JSON: {words}");
            let cure = "mend it, or call a TOML file `.toml`";
            (None, Some(Mistake::new(span, title, cure)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_in_toml_is_a_mistake_that_quotes_mend() {
        let text = "since = 2026-01-01";
        let fault = in_toml(text).1.expect("it is a mistake");
        assert_eq!(fault.title, "JSON has no dates");
        assert_eq!(text.get(fault.span), Some("2026-01-01"));
        assert!(in_toml("since = \"2026-01-01\"").1.is_none());
    }

    #[test]
    fn a_mistake_in_json_is_shown_where_it_is() {
        for (text, at) in [
            ("{\n  \"a\": tru\n}", "u"),
            ("{\n  \"a\": tru,\n}", ","),
            ("{\"ä\": nope}", "o"),
            ("{ü}", "ü"),
            ("{} ü", "ü"),
            ("[1, 2", "2"),
            ("", ""),
        ] {
            let (value, fault) = in_json(text);
            let span = fault.expect("it is a mistake").span;
            assert!(value.is_none());
            assert_eq!(text.get(span), Some(at), "{text:?}");
        }
        assert_eq!(in_json("{\"a\": [1]}").0, Some(serde_json::json!({ "a": [1] })));
    }
}
