//! Cuts a text into tokens, good enough to know names from everything else, and never lost for good on broken text.

use super::{Family, Language, literal};

/// One token; whitespace lies between tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    /// Offset just past its last byte.
    pub end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Identifier,
    /// A word that is not a name.
    Keyword,
    Number,
    /// A string, a character, a regular expression, a lifetime, text between markup tags.
    Literal,
    Comment,
    Directive,
    /// A bracket or a run of `.`, or any other single character of punctuation.
    Operator,
    /// What stands between a thing and its member.
    Member,
}

/// The tokens of `text`, in order and without overlap.
pub fn tokens<'t>(text: &'t str, language: &'static Language) -> Tokens<'t> {
    Tokens {
        text,
        language,
        at: 0,
        frames: Vec::new(),
        value: false,
        member: false,
        line_start: true,
    }
}

#[derive(Clone, Debug)]
pub struct Tokens<'t> {
    pub(super) text: &'t str,
    pub(super) language: &'static Language,
    pub(super) at: usize,
    pub(super) frames: Vec<Frame>,
    /// Whether the token before ends a value, so that `/` divides and `<` compares.
    pub(super) value: bool,
    /// Whether the token before is a member operator, after which every word is a name.
    member: bool,
    line_start: bool,
}

/// What is open around the current place; only JavaScript and its kin need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// `{` in code or in markup: back to what is around it at `}`.
    Brace,
    /// `${`: back into the template literal at `}`.
    Template,
    /// Between `<` and `>`; `name` until the tag's name was read.
    Tag { closing: bool, name: bool },
    /// Between an opening and a closing tag.
    Children,
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let token = match self.frames.last() {
            Some(Frame::Children) => self.children(),
            Some(Frame::Tag { .. }) => self.tag(),
            Some(Frame::Brace | Frame::Template) | None => self.code(),
        }?;
        self.at = token.end;
        Some(token)
    }
}

impl Tokens<'_> {
    /// Moves past whitespace; `None` at the end of the text.
    pub(super) fn skip_space(&mut self) -> Option<char> {
        for (offset, character) in self.text[self.at..].char_indices() {
            if !character.is_whitespace() {
                self.at += offset;
                return Some(character);
            }
            self.line_start |= matches!(character, '\n' | '\r');
        }
        self.at = self.text.len();
        None
    }

    fn code(&mut self) -> Option<Token> {
        let first = self.skip_space()?;
        let line_start = std::mem::replace(&mut self.line_start, false);
        let after_member = std::mem::replace(&mut self.member, false);
        let (text, at, family) = (self.text, self.at, self.language.family);
        if let Some(end) = literal::comment(self.language, text, at) {
            self.line_start = line_start;
            self.member = after_member;
            return Some(Token {
                kind: Kind::Comment,
                start: at,
                end,
            });
        }
        if line_start && first == '#' {
            if matches!(family, Family::C | Family::Cpp) {
                return Some(Token {
                    kind: Kind::Directive,
                    start: at,
                    end: literal::directive(text, at),
                });
            }
            if at == 0 && text.starts_with("#!") && !text.starts_with("#![") {
                return Some(Token {
                    kind: Kind::Comment,
                    start: at,
                    end: literal::line_end(text, at),
                });
            }
        }
        if let Some(end) = literal::literal(family, text, at) {
            self.value = true;
            return Some(Token {
                kind: Kind::Literal,
                start: at,
                end,
            });
        }
        if is_word_start(first, family) {
            return Some(self.word(first, after_member));
        }
        if first.is_ascii_digit() {
            self.value = true;
            return Some(Token {
                kind: Kind::Number,
                start: at,
                end: literal::number(family, text, at, after_member),
            });
        }
        if matches!(family, Family::Script { .. })
            && let Some(token) = self.script(first)
        {
            return Some(token);
        }
        Some(self.operator(first))
    }

    fn word(&mut self, first: char, after_member: bool) -> Token {
        let family = self.language.family;
        let rest = &self.text[self.at..];
        // `r#type` is a name that looks like a keyword: the name starts after the mark.
        let raw =
            family == Family::Rust && rest.starts_with("r#") && rest[2..].starts_with(|c| is_word_start(c, family));
        let start = if raw { self.at + 2 } else { self.at };
        let tail = first.len_utf8().min(self.text.len() - start);
        let tail = if raw { 0 } else { tail };
        let length = self.text[start + tail..].find(|c| !is_word_part(c, family));
        let end = length.map_or(self.text.len(), |length| start + tail + length);
        let word = &self.text[start..end];
        let builtin = family == Family::Zig && first == '@';
        let keyword = !raw && (builtin || (self.language.is_keyword(word) && (!after_member || word == "await")));
        self.value = !keyword || self.language.receivers.contains(&word) || matches!(word, "true" | "false" | "null");
        Token {
            kind: if keyword { Kind::Keyword } else { Kind::Identifier },
            start,
            end,
        }
    }

    pub(super) fn operator(&mut self, first: char) -> Token {
        let rest = &self.text[self.at..];
        let dots = rest.bytes().take_while(|&byte| byte == b'.').count();
        let member = self
            .language
            .member_operators
            .iter()
            .find(|operator| rest.starts_with(**operator));
        // `::name::` is a label in Lua, `..` a range, `?.5` a choice.
        let label = self.language.family == Family::Lua && rest.starts_with("::");
        let choice = rest.starts_with("?.") && rest[2..].starts_with(|c: char| c.is_ascii_digit());
        let is_member = dots < 2 && !label && !choice;
        let (kind, length) = match member {
            Some(operator) if is_member => (Kind::Member, operator.len()),
            Some(_) | None if dots > 1 => (Kind::Operator, dots),
            Some(_) | None if rest.starts_with("::") => (Kind::Operator, 2),
            Some(_) | None => (Kind::Operator, first.len_utf8()),
        };
        self.member = kind == Kind::Member;
        self.value = matches!(first, ')' | ']');
        Token {
            kind,
            start: self.at,
            end: self.at + length,
        }
    }
}

fn is_word_start(character: char, family: Family) -> bool {
    character == '_'
        || character.is_alphabetic()
        || match family {
            Family::Script { .. } => character == '$',
            Family::Zig => character == '@',
            Family::Python
            | Family::Rust
            | Family::Go
            | Family::C
            | Family::Cpp
            | Family::Lua
            | Family::Generic
            | Family::Data(_)
            | Family::Markup(_)
            | Family::Style
            | Family::Prose => false,
        }
}

fn is_word_part(character: char, family: Family) -> bool {
    let script = matches!(family, Family::Script { .. });
    character == '_' || character.is_alphanumeric() || (script && character == '$')
}
