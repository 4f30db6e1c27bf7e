//! Text that others wrote, as each reader of a pasted line takes it back unchanged, and as nobody can be misled by.

use serde_json::Value;

use crate::text::{is_hidden, quoted};

/// The text with what is hidden in it written by `as_written`.
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

/// A word of a POSIX shell. Quotes take everything, but a terminal that it is pasted into takes no control characters:
/// those are made by `printf`, but for line ends, whose last ones would be lost so.
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

/// Whether shells and systemd take the name of a variable.
pub(crate) fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// An assignment between the double quotes of a unit of systemd: `%` is a specifier there, `$` is nothing special.
pub(crate) fn systemd(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    let text = spelled(&text, |c| match c {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        c if c.is_ascii() => format!("\\x{:02x}", u32::from(c)),
        c => format!("\\u{:04x}", u32::from(c)),
    });
    format!("\"{text}\"")
}

/// JSON in lines. Outside of its strings there is nothing hidden but line ends.
pub(crate) fn json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let lines = text
        .split('\n')
        .map(|line| spelled(line, |c| format!("\\u{:04x}", u32::from(c))));
    lines.collect::<Vec<String>>().join("\n")
}

pub(crate) fn lua(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "\\'");
    let text = spelled(&text, |c| match c {
        '\n' => "\\n".to_owned(),
        c => {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).bytes();
            bytes.map(|byte| format!("\\{byte:03}")).collect()
        }
    });
    format!("'{text}'")
}

/// What stands between the quotes of a byte string of Rust.
pub(crate) fn bytes(text: &str) -> String {
    let escaped = text.bytes().flat_map(std::ascii::escape_default).map(char::from);
    escaped.collect()
}

pub(crate) fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}
