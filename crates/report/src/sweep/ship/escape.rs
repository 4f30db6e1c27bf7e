//! Escapes foreign text so that each reader of a pasted line gets it back unchanged and shows nothing misleading.

use serde_json::Value;

use base::text::{is_hidden, quoted};

/// The text with hidden characters written by `as_written`.
fn spelled(text: &str, as_written: impl Fn(char) -> String) -> String {
    let mut spelled = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => spelled.push_str(&as_written(c)),
            false => spelled.push(c),
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
    let is_odd = |c: char| is_hidden(c) && c != '\n' && c != '\t';
    if !body.contains(is_odd) {
        return quoted(word);
    }
    let mut text = String::new();
    for c in body.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            c if is_odd(c) => {
                let mut bytes = [0; 4];
                let bytes = c.encode_utf8(&mut bytes).bytes();
                bytes.for_each(|byte| text.push_str(&format!("\\0{byte:03o}")));
            }
            c => text.push(c),
        }
    }
    let ends = match &word[body.len()..] {
        "" => String::new(),
        ends => quoted(ends),
    };
    format!("\"$(printf '%b' {})\"{ends}", quoted(&text))
}

/// True if a shell accepts the name of a variable.
pub(crate) fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// JSON in lines. Outside of strings only line ends are hidden.
pub(crate) fn json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let lines = text
        .split('\n')
        .map(|line| spelled(line, |c| format!("\\u{:04x}", u32::from(c))));
    lines.collect::<Vec<String>>().join("\n")
}

/// What stands between the quotes of a byte string of Rust.
pub(crate) fn bytes(text: &str) -> String {
    let escaped = text.bytes().flat_map(std::ascii::escape_default).map(char::from);
    escaped.collect()
}

pub(crate) fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}
