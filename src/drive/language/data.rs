//! Keys and values of data languages.

use super::places::{Places, Role};
use super::sites::Sites;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Notation {
    Json,
    Yaml,
    Toml,
    Text,
    /// Cells with two spaces or a tab between them: Robot Framework.
    Cells,
}

pub(super) fn sites(text: &str, notation: Notation) -> Sites {
    let mut places = Places::new(text);
    match notation {
        Notation::Json => json(&mut places),
        Notation::Yaml => yaml(&mut places),
        Notation::Toml => toml(&mut places),
        Notation::Text => words(&mut places),
        Notation::Cells => cells(&mut places),
    }
    places.found
}

/// Whether a value after this key names a place of this or another document.
fn refers(key: &str) -> bool {
    matches!(key, "$ref" | "$dynamicRef" | "extends" | "$schema")
}

fn json(places: &mut Places<'_>) {
    let mut refers_next = false;
    while let Some(first) = places.rest().chars().next() {
        let rest = places.rest();
        if rest.starts_with("//") {
            places.skip_past("\n");
        } else if rest.starts_with("/*") {
            places.skip_past("*/");
        } else if first == '"' {
            let range = places.quoted('"', true);
            let key = places.rest().trim_start().starts_with(':');
            let role = match (key, refers_next) {
                (true, _) => Role::Key,
                (false, true) => Role::Use,
                (false, false) => Role::Word,
            };
            refers_next = key && refers(&places.text[range.clone()]);
            places.add(range, role);
        } else if first.is_alphanumeric() || first == '-' {
            let range = places.take(|c| c.is_alphanumeric() || matches!(c, '-' | '+' | '.'));
            places.add(range, Role::Word);
        } else {
            places.skip_one();
        }
    }
}

/// Line by line; the text of block scalars is no place.
fn yaml(places: &mut Places<'_>) {
    // The indentation of the line whose value is a block scalar.
    let mut block: Option<usize> = None;
    while !places.rest().is_empty() {
        let indent = places.take(|c| c == ' ').len();
        let rest = places.rest();
        let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
        let end = places.at + line.len();
        if block.is_some_and(|outer| indent > outer || line.is_empty()) {
            places.at = end;
        } else {
            block = None;
            if !line.starts_with('#') && !line.starts_with("---") && !line.starts_with('%') {
                let mut refers_next = false;
                while places.at < end {
                    let scalar = yaml_item(places, end, &mut refers_next);
                    if scalar {
                        block = Some(indent);
                        break;
                    }
                }
            }
            places.at = end;
        }
        places.take(|c| matches!(c, '\n' | '\r'));
    }
}

/// One key, value or mark of a line that ends at `end`; whether it opens a block scalar.
fn yaml_item(places: &mut Places<'_>, end: usize, refers_next: &mut bool) -> bool {
    let line = &places.text[places.at..end];
    let Some(first) = line.chars().next() else { return false };
    let spaced = line[first.len_utf8()..].chars().next().is_none_or(char::is_whitespace);
    let is_word = |c: char| !c.is_whitespace() && !matches!(c, ',' | ']' | '}');
    match first {
        '#' => places.at = end,
        '-' | '?' | ':' if spaced => places.skip_one(),
        ' ' | '\t' | '{' | '}' | '[' | ']' | ',' => places.skip_one(),
        '|' | '>' => return true,
        '!' => {
            places.take(is_word);
        }
        '&' | '*' => {
            places.skip_one();
            let range = places.take(is_word);
            places.add(range, if first == '*' { Role::Use } else { Role::Key });
        }
        '"' | '\'' => {
            let range = places.quoted(first, first == '"');
            yaml_scalar(places, range, refers_next);
        }
        _ => {
            let flow = |offset: usize, c: char| {
                let next = line[offset + c.len_utf8()..].chars().next();
                let apart = next.is_none_or(char::is_whitespace);
                (c == ':' && apart) || matches!(c, ',' | ']' | '}') || line[offset..].starts_with(" #")
            };
            let length = line.char_indices().find(|(offset, c)| flow(*offset, *c));
            let length = length.map_or(line.len(), |(offset, _)| offset);
            let range = places.at..places.at + line[..length].trim_end().len();
            places.at += length.max(first.len_utf8());
            yaml_scalar(places, range, refers_next);
        }
    }
    false
}

fn yaml_scalar(places: &mut Places<'_>, range: std::ops::Range<usize>, refers_next: &mut bool) {
    let key = places.rest().trim_start_matches(' ').starts_with(':');
    let role = match (key, *refers_next) {
        (true, _) => Role::Key,
        (false, true) => Role::Use,
        (false, false) => Role::Word,
    };
    *refers_next = key && refers(&places.text[range.clone()]);
    places.add(range, role);
}

fn toml(places: &mut Places<'_>) {
    // What is open: inline tables hold keys, arrays do not.
    let mut open: Vec<char> = Vec::new();
    let (mut key, mut header) = (true, false);
    while let Some(first) = places.rest().chars().next() {
        let rest = places.rest();
        let role = if key { Role::Key } else { Role::Word };
        match first {
            '#' => {
                places.take(|c| !matches!(c, '\n' | '\r'));
            }
            '"' | '\'' => {
                let long = String::from(first).repeat(3);
                if rest.starts_with(&long) {
                    places.at += 3;
                    places.skip_past(&long);
                } else {
                    let range = places.quoted(first, first == '"');
                    places.add(range, role);
                }
            }
            '=' => {
                key = false;
                places.skip_one();
            }
            '[' if key && open.is_empty() => {
                header = true;
                places.skip_one();
            }
            '[' | '{' => {
                open.push(first);
                key = first == '{';
                places.skip_one();
            }
            ']' | '}' => {
                if !header {
                    open.pop();
                }

                places.skip_one();
            }
            ',' => {
                key = open.last() == Some(&'{');
                places.skip_one();
            }
            '\n' | '\r' => {
                if open.is_empty() {
                    (key, header) = (true, false);
                }
                places.skip_one();
            }
            _ if first.is_alphanumeric() || matches!(first, '_' | '-' | '+') => {
                let range = places
                    .take(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+') || (!key && matches!(c, '.' | ':')));
                places.add(range, role);
            }
            _ => places.skip_one(),
        }
    }
}

fn words(places: &mut Places<'_>) {
    while let Some(first) = places.rest().chars().next() {
        if places.rest().starts_with("](") {
            places.at += 2;
            let target = places.take(|c| !c.is_whitespace() && c != ')');
            places.add(target, Role::Use);
        } else if first.is_alphanumeric() {
            let word = places.take(|c| c.is_alphanumeric() || c == '_');
            places.add(word, Role::Word);
        } else {
            places.skip_one();
        }
    }
}

/// Tests and keywords by their cells; what is called comes first in its line, after what it is given to.
fn cells(places: &mut Places<'_>) {
    let text = places.text;
    for line in text.split_inclusive('\n') {
        let (start, body) = (places.at, line.trim_end());
        let content = body.trim_start();
        if !content.starts_with('*') && !content.starts_with('#') {
            let mut called = false;
            let mut at = start + body.len() - content.len();
            for cell in content.split("  ").flat_map(|part| part.split('\t')) {
                let word = cell.trim();
                let begin = text[at..].find(word).map_or(at, |offset| at + offset);
                at = begin + word.len();
                let given = word.trim_end_matches([' ', '=']).ends_with('}');
                let setting = word.starts_with('[') || word.starts_with("...");
                called |= setting;
                let role = match word {
                    "" => continue,
                    _ if begin == start => Role::Key,
                    _ if called => Role::Word,
                    _ if given => Role::Use,
                    _ => {
                        called = true;
                        Role::Use
                    }
                };
                places.add(begin..begin + word.len(), role);
            }
        }
        places.at = start + line.len();
    }
}
