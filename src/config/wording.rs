//! Translates the parsers' messages into advice.

use std::ops::Range;

use super::problem::Mistake;
use base::text::nearest;

pub fn syntax(text: &str, error: &toml::de::Error) -> Mistake {
    let span = error.span().unwrap_or(0..0);
    let span = span.start.min(text.len())..span.end.min(text.len());
    let cure = match error.message() {
        message if message.contains("duplicate key") => "keep one of the two",
        message if message.contains("must be quoted") => {
            "a value is a string in quotes, a number, `true`, `false`, `[a list]` or `{ a = table }`"
        }
        message if message.contains("string") => "close the string with the quote that it began with",
        _ => "a line is `key = value`, `[table]` or `[[phase]]`; strings are in quotes",
    };
    Mistake::new(span, format!("not TOML: {}", error.message().replace('\n', ", ")), cure)
}

/// A mistake of spelling or type that serde found at `span`, inside the keys of `path`.
pub fn mistake(message: &str, span: Range<usize>, path: &[String]) -> Mistake {
    let message = message.lines().next().unwrap_or_default();
    let inside = path.last().map_or("the file", String::as_str);
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return unknown(span, "key", inside, rest);
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let what = match inside {
            "steps" => "step",
            "isolation" => "isolation",
            "mode" => "mode",
            _ => "word",
        };
        return unknown(span, what, inside, rest);
    }
    if let Some(rest) = message.strip_prefix("invalid type: ") {
        return wrong_type(span, inside, rest);
    }
    if let Some(rest) = message.strip_prefix("invalid value: ") {
        let (actual, expected) = rest.split_once(", expected ").unwrap_or((rest, "another value"));
        return Mistake::new(
            span,
            format!("`{inside}` cannot be {actual}"),
            format!("write {}", kind(expected)),
        );
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        return Mistake::new(span, format!("`{inside}` has no {rest}"), format!("add {rest}"));
    }
    let not_tagged = ["wanted exactly 1 element", "wanted string or table", "expected table"];
    if not_tagged.iter().any(|start| message.starts_with(start)) {
        return one_key(span, inside, message.contains("more than 1"));
    }
    match message.split_once(": ") {
        Some((title, cure)) => Mistake::new(span, title, cure),
        None => Mistake::new(span, message, "see the example scenarios for what belongs here"),
    }
}

/// `rest` is serde's "`word`, expected one of `a`, `b`" or "`word`, there are no fields".
fn unknown(span: Range<usize>, what: &str, inside: &str, rest: &str) -> Mistake {
    let mut words = rest.split('`').skip(1).step_by(2);
    let word = words.next().unwrap_or_default();
    let known: Vec<&str> = words.collect();
    let place = match inside {
        "steps" | "the file" => String::new(),
        inside if what == inside => String::new(),
        inside => format!(" in `{inside}`"),
    };
    let list = known
        .iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let all = match known.as_slice() {
        [] => "it takes no keys".to_owned(),
        [_] => format!("there is only {list}"),
        _ => format!("there are {list}"),
    };
    match nearest(word, known.iter().copied()) {
        Some(near) => {
            Mistake::new(span, format!("unknown {what} `{word}`{place}"), all).label(format!("did you mean `{near}`?"))
        }
        None => Mistake::new(span, format!("unknown {what} `{word}`{place}"), all),
    }
}

fn wrong_type(span: Range<usize>, inside: &str, rest: &str) -> Mistake {
    let (actual, expected) = rest.split_once(", expected ").unwrap_or((rest, "another type"));
    if actual == "unit variant" || expected.starts_with("enum ") && inside == "steps" {
        let cure = "a step is a table with its options: `{ hover = {} }`";
        return Mistake::new(span, "a step without options", cure);
    }
    if actual == "map" && expected == "a sequence" {
        let title = format!("`{inside}` must be a list of tables");
        let cure = match inside {
            "phase" => "write `[[phase]]` with two brackets",
            _ => "write it in brackets, such as [{ hover = {} }]",
        };
        return Mistake::new(span, title, cure);
    }
    // The number exceeds the widest type of a scenario.
    if let Some(number) = actual.strip_suffix(" as i128").or(actual.strip_suffix(" as u128")) {
        let number = number.trim_start_matches("integer ");
        let cure = "write a smaller whole number, such as 20";
        return Mistake::new(span, format!("`{inside}` cannot be {number}"), cure);
    }
    if inside == "files" && actual == "sequence" && expected == "a string" {
        let cure = "write one pattern, in which braces join several: files = \"**/*.{ts,tsx}\"";
        return Mistake::new(span, "`files` must be one pattern, not an array", cure);
    }
    let actual = match actual {
        "map" => "a table",
        "sequence" => "an array",
        other => other,
    };
    let cure = match expected {
        "a string" => "write it in quotes, with a unit where it has one, such as \"30s\" or \"5%\"",
        "i64" | "u32" | "u64" | "u8" => "write a whole number without quotes, such as 20",
        "a boolean" => "write `true` or `false` without quotes",
        "a sequence" => "write it in brackets, such as [\"a\", \"b\"]",
        _ => "write the options in braces, such as { per-file = 20 }, or {} for the defaults",
    };
    Mistake::new(
        span,
        format!("`{inside}` must be {}, not {actual}", kind(expected)),
        cure,
    )
}

fn one_key(span: Range<usize>, inside: &str, several: bool) -> Mistake {
    match (inside, several) {
        ("repeat", _) => Mistake::new(
            span,
            "`repeat` must be either a number of times or a duration",
            "write `repeat = { times = 10 }` or `repeat = { for = \"8h\" }`",
        ),
        ("steps", true) => Mistake::new(
            span,
            "several steps in one table",
            "write a table for each: `{ open = {} }, { hover = {} }`",
        ),
        ("steps", false) => Mistake::new(
            span,
            "a step without a name",
            "write the step and its options: `{ hover = {} }`",
        ),
        (inside, _) => Mistake::new(
            span,
            format!("`{inside}` must have exactly one key"),
            "keep the one that is meant",
        ),
    }
}

/// The plain name of a serde type.
fn kind(expected: &str) -> &str {
    match expected {
        "i64" | "u32" | "u64" | "u8" => "a whole number",
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "a table",
        other if other.starts_with("struct ") || other.starts_with("enum ") => "a table",
        other => other,
    }
}
/// Suggests a replacement for an unknown name.
pub(super) fn instead(name: &str, names: &[&str]) -> String {
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names.join(", ")),
    }
}
