//! Escapes foreign text so that each reader of a pasted line gets it back unchanged and shows nothing misleading.

use serde_json::Value;

use base::text::{is_hidden, quoted};

/// The text with hidden characters written by `as_written`.
fn spelled(text: &str, as_written: impl Fn(char) -> String) -> String {
    let mut spelled = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            spelled.push_str(&as_written(c));
        } else {
            spelled.push(c);
        }
    }
    spelled
}

/// A comment: one line, whatever is in it.
pub(crate) fn comment(sign: &str, text: &str) -> String {
    format!("{sign} {}", spelled(text, |c| c.escape_default().to_string()))
}

/// A word of a POSIX shell. Quotes accept every character, but a terminal drops pasted control characters: `printf`
/// makes those. Line ends stay, since `$(…)` would drop trailing ones.
pub(crate) fn shell(word: &str) -> String {
    let body = word.trim_end_matches('\n');
    if !body.contains(is_dropped) {
        return quoted(word);
    }
    let mut text = String::new();
    for c in body.chars() {
        if c == '\\' {
            text.push_str("\\\\");
        } else if is_dropped(c) {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                text.push_str(&format!("\\0{byte:03o}"));
            }
        } else {
            text.push(c);
        }
    }
    let line_ends = match &word[body.len()..] {
        "" => String::new(),
        line_ends => quoted(line_ends),
    };
    format!("\"$(printf '%b' {})\"{line_ends}", quoted(&text))
}

/// True if a terminal may drop or change the character when it is pasted.
fn is_dropped(c: char) -> bool {
    is_hidden(c) && c != '\n' && c != '\t'
}

/// True if a shell accepts the name of a variable.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// JSON in lines. Outside of strings only line ends are hidden.
pub(crate) fn json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut lines = Vec::new();
    for line in text.split('\n') {
        lines.push(spelled(line, |c| format!("\\u{:04x}", u32::from(c))));
    }
    lines.join("\n")
}

/// The content of a Rust byte string, without its quotes.
pub(crate) fn byte_string(text: &str) -> String {
    text.bytes()
        .flat_map(std::ascii::escape_default)
        .map(char::from)
        .collect()
}

/// Ends each line and joins them.
pub(crate) fn join_lines(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}
