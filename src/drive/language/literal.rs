//! Where comments and literals end. Every function takes a text and an offset on a character boundary and returns a
//! larger one; an open literal ends at the end of its line, or of the text where it may span lines.

use super::{Family, Language};

/// The end of the comment that starts at `at`, if one does.
pub(super) fn comment(language: &Language, text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if language.family == Family::Lua
        && rest.starts_with("--[")
        && let Some(end) = long_bracket(text, at + 2)
    {
        return Some(end);
    }
    let inside = language.sigil && text[..at].ends_with(|c: char| !c.is_whitespace());
    if !inside && language.line_comments.iter().any(|start| rest.starts_with(start)) {
        return Some(line_end(text, at));
    }
    let (open, close) = language.block_comment?;
    rest.starts_with(open)
        .then(|| block_end(text, at, open, close, language.nested_comments))
}

/// The end of the string, character or other literal that starts at `at`, prefix included, if one does.
///
/// Template literals and regular expressions are not here: they need to know what stands before them.
pub(super) fn literal(family: Family, text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let prefix = rest.bytes().take(4).take_while(u8::is_ascii_alphanumeric).count();
    let (letters, quoted) = rest.split_at(prefix);
    let quote = at + prefix;
    let first = quoted.as_bytes().first().copied()?;
    match family {
        Family::Python => {
            (is_python_prefix(letters) && matches!(first, b'"' | b'\'')).then(|| python(text, letters, quote))
        }
        Family::Rust => rust(text, letters, quote, first),
        Family::Go => match (prefix, first) {
            (0, b'`') => Some(find(text, at + 1, "`")),
            (0, b'"' | b'\'') => Some(quoted_end(text, at, first)),
            _ => None,
        },
        Family::C => (matches!(letters, "" | "L" | "u" | "U" | "u8") && matches!(first, b'"' | b'\''))
            .then(|| quoted_end(text, quote, first)),
        Family::Cpp => match (letters, first) {
            ("R" | "LR" | "uR" | "UR" | "u8R", b'"') => Some(cpp_raw(text, quote)),
            ("" | "L" | "u" | "U" | "u8", b'"' | b'\'') => Some(quoted_end(text, quote, first)),
            _ => None,
        },
        Family::Script { .. } => (prefix == 0 && matches!(first, b'"' | b'\'')).then(|| quoted_end(text, at, first)),
        Family::Lua => match (prefix, first) {
            (0, b'"' | b'\'') => Some(quoted_end(text, at, first)),
            (0, b'[') => long_bracket(text, at),
            _ => None,
        },
        Family::Zig => match (prefix, first) {
            (0, b'"' | b'\'') => Some(quoted_end(text, at, first)),
            (0, b'\\') if rest.starts_with("\\\\") => Some(line_end(text, at)),
            (0, b'@') if rest.starts_with("@\"") => Some(quoted_end(text, at + 1, b'"')),
            _ => None,
        },
        // An apostrophe may be a prime, a quotation mark or a type variable: only a closed one quotes.
        Family::Generic => match (prefix, first) {
            (0, b'"') if rest.starts_with("\"\"\"") => Some(find(text, at + 3, "\"\"\"")),
            (0, b'"') => Some(quoted_end(text, at, first)),
            (0, b'\'' | b'`') => {
                let end = quoted_end(text, at, first);
                (end > at + 1 && text.as_bytes()[end - 1] == first).then_some(end)
            }
            _ => None,
        },
        Family::Data(_) | Family::Markup(_) | Family::Style | Family::Prose => None,
    }
}

/// The end of a number that starts at `at`; `whole` forbids a fraction, as in the tuple field `x.0.1`.
pub(super) fn number(family: Family, text: &str, at: usize, whole: bool) -> usize {
    let bytes = text.as_bytes();
    let hexadecimal = matches!(bytes.get(at + 1), Some(b'x' | b'X'));
    let mut fraction = whole;
    let mut end = at;
    while let Some(&byte) = bytes.get(end) {
        let next = bytes.get(end + 1).copied().unwrap_or(0);
        let goes_on = match byte {
            b'.' if !fraction && next.is_ascii_digit() => {
                fraction = true;
                true
            }
            b'\'' => family == Family::Cpp && next.is_ascii_alphanumeric(),
            b'+' | b'-' if end > at => match bytes[end - 1] {
                b'e' | b'E' => !hexadecimal && next.is_ascii_digit(),
                b'p' | b'P' => hexadecimal && next.is_ascii_digit(),
                _ => false,
            },
            _ => byte.is_ascii_alphanumeric() || byte == b'_',
        };
        if !goes_on {
            break;
        }
        end += 1;
    }
    end.max(at + 1)
}

/// The end of the C preprocessor directive at `at`: continued lines, comments in it, and all of an `#if 0`.
pub(super) fn directive(text: &str, at: usize) -> usize {
    let end = directive_line(text, at);
    if is_dead(&text[at..end]) {
        dead_branch(text, end)
    } else {
        end
    }
}

/// Whether a directive starts a branch that is never compiled.
pub(super) fn is_dead(directive: &str) -> bool {
    directive_words(directive) == ("if", "0")
}

/// The end of a regular expression at `at`, or `None` when the line ends first and it must be a division.
pub(super) fn regex(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut class = false;
    let mut end = at + 1;
    loop {
        match bytes.get(end)? {
            b'\n' | b'\r' => return None,
            b'\\' => end += 1,
            b'[' => class = true,
            b']' => class = false,
            b'/' if !class => break,
            _ => {}
        }
        end += 1;
    }
    end += 1;
    end += bytes[end..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    Some(end)
}

/// From inside a template literal: the end of its next piece, and whether an expression follows (`${`).
pub(super) fn template(text: &str, at: usize) -> (usize, bool) {
    let bytes = text.as_bytes();
    let mut end = at;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 1,
            b'`' => return (end + 1, false),
            b'$' if bytes.get(end + 1) == Some(&b'{') => return (end + 2, true),
            _ => {}
        }
        end += 1;
    }
    (text.len(), false)
}

/// The end of the line that holds `at`, its terminator excluded.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    memchr::memchr2(b'\n', b'\r', &text.as_bytes()[at..]).map_or(text.len(), |offset| at + offset)
}

/// Just past the next `what` at or after `at`, or the end of the text.
fn find(text: &str, at: usize, what: &str) -> usize {
    memchr::memmem::find(&text.as_bytes()[at.min(text.len())..], what.as_bytes())
        .map_or(text.len(), |offset| at + offset + what.len())
}

fn block_end(text: &str, at: usize, open: &str, close: &str, nested: bool) -> usize {
    if !nested {
        return find(text, at + open.len(), close);
    }
    let mut depth = 1;
    let mut end = at + open.len();
    while depth > 0 && end < text.len() {
        let rest = &text.as_bytes()[end..];
        if rest.starts_with(close.as_bytes()) {
            depth -= 1;
            end += close.len();
        } else if rest.starts_with(open.as_bytes()) {
            depth += 1;
            end += open.len();
        } else {
            end += 1;
        }
    }
    end
}

/// The end of a string between single quotes or double quotes on one line; a backslash takes the next character along.
fn quoted_end(text: &str, at: usize, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += if bytes[end + 1..].starts_with(b"\r\n") { 2 } else { 1 },
            b'\n' | b'\r' => return end,
            _ if byte == quote => return end + 1,
            _ => {}
        }
        end += 1;
    }
    text.len()
}

fn is_python_prefix(letters: &str) -> bool {
    letters.len() <= 2 && letters.bytes().all(|letter| b"rRbBuUfFtT".contains(&letter))
}

fn python(text: &str, letters: &str, quote: usize) -> usize {
    let bytes = text.as_bytes();
    let mark = bytes[quote];
    if bytes[quote..].starts_with(&[mark; 3]) {
        let mut end = quote + 3;
        while end < bytes.len() && !bytes[end..].starts_with(&[mark; 3]) {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        return (end + 3).min(text.len());
    }
    if letters.bytes().any(|letter| b"fFtT".contains(&letter)) {
        return formatted(text, quote);
    }
    quoted_end(text, quote, mark)
}

/// A formatted string: its own quote inside braces opens a nested string (Python 3.12).
fn formatted(text: &str, quote: usize) -> usize {
    let bytes = text.as_bytes();
    let mark = bytes[quote];
    let mut depth = 0_usize;
    let mut end = quote + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += if bytes[end + 1..].starts_with(b"\r\n") { 2 } else { 1 },
            b'\n' | b'\r' => return end,
            b'{' if depth == 0 && bytes.get(end + 1) == Some(&b'{') => end += 1,
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'"' | b'\'' if depth > 0 => {
                end = quoted_end(text, end, byte);
                continue;
            }
            _ if byte == mark => return end + 1,
            _ => {}
        }
        end += 1;
    }
    text.len()
}

fn rust(text: &str, letters: &str, quote: usize, first: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    match (letters, first) {
        ("" | "b" | "c", b'"') => Some(multiline(text, quote)),
        ("r" | "br" | "cr", b'"' | b'#') => {
            let hashes = bytes[quote..].iter().take_while(|&&byte| byte == b'#').count();
            let opened = bytes.get(quote + hashes) == Some(&b'"');
            opened.then(|| find(text, quote + hashes + 1, &format!("\"{}", "#".repeat(hashes))))
        }
        ("b", b'\'') => Some(quoted_end(text, quote, b'\'')),
        ("", b'\'') => {
            let mut after = text[quote + 1..].chars();
            let character = after.next()?;
            if character == '\\' {
                return Some(quoted_end(text, quote, b'\''));
            }
            if after.next() == Some('\'') {
                return Some(quote + character.len_utf8() + 2);
            }
            // A lifetime or a loop label: no string, but no name that resolves everywhere either.
            let name = text[quote + 1..].find(|c: char| !c.is_alphanumeric() && c != '_');
            Some(name.map_or(text.len(), |length| quote + 1 + length))
        }
        _ => None,
    }
}

/// A string in double quotes that may span lines.
fn multiline(text: &str, quote: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = quote + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    text.len()
}

/// `R"mark( … )mark"`; a mark is at most 16 characters and has no space, parenthesis or backslash.
fn cpp_raw(text: &str, quote: usize) -> usize {
    let rest = &text[quote + 1..];
    match rest.find(['(', ')', '\\', ' ', '\n', '\r']) {
        Some(length) if length <= 16 && rest[length..].starts_with('(') => {
            find(text, quote + 1 + length, &format!("){}\"", &rest[..length]))
        }
        Some(_) | None => quoted_end(text, quote, b'"'),
    }
}

/// `[[ … ]]` or `[==[ … ]==]` at `at`.
fn long_bracket(text: &str, at: usize) -> Option<usize> {
    let level = text.as_bytes()[at + 1..]
        .iter()
        .take_while(|&&byte| byte == b'=')
        .count();
    let opened = text.as_bytes().get(at + 1 + level) == Some(&b'[');
    opened.then(|| find(text, at + 2 + level, &format!("]{}]", "=".repeat(level))))
}

/// The end of one directive: its line, lines continued with a backslash, and comments that it opens.
fn directive_line(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = at;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'\n' | b'\r' => return end,
            b'\\' => end += if bytes[end + 1..].starts_with(b"\r\n") { 3 } else { 2 },
            b'/' if bytes.get(end + 1) == Some(&b'*') => end = find(text, end + 2, "*/"),
            b'/' if bytes.get(end + 1) == Some(&b'/') => return line_end(text, end),
            _ => end += 1,
        }
    }
    text.len()
}

/// `#  if  0 // why` → (`if`, `0`).
fn directive_words(line: &str) -> (&str, &str) {
    let mut words = line.trim_start_matches([' ', '\t', '#']).split_ascii_whitespace();
    (words.next().unwrap_or(""), words.next().unwrap_or(""))
}

/// From the end of an `#if 0` line: the start of the branch that lives, or of what follows `#endif`.
fn dead_branch(text: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while at < text.len() {
        let start = at + text[at..].len() - text[at..].trim_start().len();
        let end = line_end(text, start.min(text.len()));
        let line = &text[start..end];
        if line.starts_with('#') {
            match (directive_words(line).0, depth) {
                ("if" | "ifdef" | "ifndef", _) => depth += 1,
                ("else" | "elif" | "elifdef" | "elifndef" | "endif", 0) => return end,
                ("endif", _) => depth -= 1,
                _ => {}
            }
        }
        at = end + 1;
    }
    text.len()
}
