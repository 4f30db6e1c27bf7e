//! The context-dependent parts of JavaScript and TypeScript: templates, regular expressions and JSX.

use super::{Family, Kind, Lexer};

/// An open construct around the current offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// `{` in code or in markup; `}` closes it.
    Brace,
    /// `${`; `}` returns to the template literal.
    Template,
    /// Between `<` and `>`; `name` is set until the tag's name was read.
    Tag { closing: bool, name: bool },
    /// Between an opening and a closing tag.
    Children,
}

impl Lexer<'_> {
    /// Adds a token that only these languages have, if one is next. Counts braces.
    pub(super) fn script(&mut self) -> bool {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        let Some(first) = rest.chars().next() else { return true };
        match self.frames.last().copied() {
            Some(Frame::Children) => self.children(first, rest),
            Some(Frame::Tag { closing, name }) => self.tag(first, rest, closing, name),
            Some(Frame::Brace | Frame::Template) | None => return self.code(first, rest),
        }
        true
    }

    fn code(&mut self, first: char, rest: &str) -> bool {
        match first {
            '`' => self.template(rest),
            '{' => {
                self.frames.push(Frame::Brace);
                return false;
            }
            '}' if self.frames.pop() == Some(Frame::Template) => self.template(rest),
            '/' if !self.value && !rest.starts_with("//") && !rest.starts_with("/*") => match regex(rest) {
                Some(length) => self.push(Kind::Literal, length),
                None => return false,
            },
            '<' if self.language.family == (Family::Script { markup: true })
                && !self.value
                && opens_tag(&rest[1..]) =>
            {
                self.open_tag(false);
            }
            _ => return false,
        }
        true
    }

    /// A piece of a template literal, up to its end or to an expression in it.
    fn template(&mut self, rest: &str) {
        let bytes = rest.as_bytes();
        let mut end = 1;
        while end < bytes.len() && bytes[end] != b'`' && !bytes[end..].starts_with(b"${") {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let expression = bytes.get(end) == Some(&b'$');
        let length = rest.ceil_char_boundary(end + if expression { 2 } else { 1 });
        self.push(Kind::Literal, length);
        self.value = !expression;
        if expression {
            self.frames.push(Frame::Template);
        }
    }

    /// Inside a tag: its name, attributes, strings and `{ … }`.
    fn tag(&mut self, first: char, rest: &str, closing: bool, name: bool) {
        match first {
            '>' => {
                self.frames.pop();
                if closing {
                    self.frames.pop_if(|frame| *frame == Frame::Children);
                } else {
                    self.frames.push(Frame::Children);
                }
                self.push(Kind::Operator, 1);
                self.value = true;
            }
            '/' if rest.starts_with("/>") => {
                self.frames.pop();
                self.push(Kind::Operator, 2);
                self.value = true;
            }
            '{' => self.open_expression(),
            '"' | '\'' => self.push(Kind::Literal, rest[1..].find(first).map_or(rest.len(), |at| at + 2)),
            _ if first == '_' || first == '$' || first.is_alphabetic() => {
                let length = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$' | '-' | ':'));
                let word = &rest[..length.unwrap_or(rest.len())];
                let after_dot = self.text[..self.at].ends_with('.');
                if let Some(Frame::Tag { name, .. }) = self.frames.last_mut() {
                    *name = false;
                }
                // A lower-case tag is an HTML element, and `data-x` is no name.
                let host = name && !after_dot && word.starts_with(char::is_lowercase);
                let literal = host || word.contains(['-', ':']);
                self.push(if literal { Kind::Literal } else { Kind::Identifier }, word.len());
            }
            _ => self.push(Kind::Operator, first.len_utf8()),
        }
    }

    /// Between tags: text, an expression in braces, the next tag.
    fn children(&mut self, first: char, rest: &str) {
        match first {
            '{' => self.open_expression(),
            '<' => self.open_tag(rest.starts_with("</")),
            _ => self.push(Kind::Literal, rest.find(['{', '<']).unwrap_or(rest.len())),
        }
    }

    fn open_tag(&mut self, closing: bool) {
        self.frames.push(Frame::Tag { closing, name: true });
        self.push(Kind::Operator, if closing { 2 } else { 1 });
    }

    fn open_expression(&mut self) {
        self.frames.push(Frame::Brace);
        self.push(Kind::Operator, 1);
    }
}

/// The length of a regular expression; `None` if the line ends first, so it is a division.
fn regex(rest: &str) -> Option<usize> {
    let (mut class, mut escaped) = (false, true);
    let end = rest.find(|c| {
        let skipped = std::mem::take(&mut escaped);
        match c {
            '\n' | '\r' => return true,
            _ if skipped => {}
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '/' => return !class,
            _ => {}
        }
        false
    })?;
    let flags = rest[end..].strip_prefix('/')?;
    Some(rest.len() - flags.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len())
}

/// True if the text after a `<` at the start of a value is a tag, not the type parameters of an arrow function.
fn opens_tag(rest: &str) -> bool {
    let name = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$' | '-' | '.' | ':'));
    let (name, after) = rest.split_at(name.unwrap_or(rest.len()));
    if name.is_empty() {
        return after.starts_with('>');
    }
    let after = after.trim_start();
    let parameter =
        after.starts_with([',', '=']) || after.starts_with("extends ") || (name.len() == 1 && after.starts_with('>'));
    name.starts_with(char::is_alphabetic) && !parameter
}
