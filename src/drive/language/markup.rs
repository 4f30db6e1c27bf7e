//! The parts of JavaScript and TypeScript whose meaning depends on what is around them: templates, regular
//! expressions and JSX.

use super::lexer::{Frame, Kind, Token, Tokens};
use super::{Family, literal};

impl Tokens<'_> {
    /// A token that only these languages have, or `None` for a plain operator. Keeps count of braces.
    pub(super) fn script(&mut self, first: char) -> Option<Token> {
        let markup = self.language.family == (Family::Script { markup: true });
        match first {
            '`' => Some(self.template(self.at + 1)),
            '{' => {
                self.frames.push(Frame::Brace);
                None
            }
            '}' => match self.frames.pop() {
                Some(Frame::Template) => Some(self.template(self.at + 1)),
                Some(Frame::Brace | Frame::Tag { .. } | Frame::Children) | None => None,
            },
            '/' if !self.value => {
                let end = literal::regex(self.text, self.at)?;
                self.value = true;
                Some(Token {
                    kind: Kind::Literal,
                    start: self.at,
                    end,
                })
            }
            '<' if markup && !self.value && opens_tag(&self.text[self.at + 1..]) => {
                self.frames.push(Frame::Tag {
                    closing: false,
                    name: true,
                });
                Some(self.punctuation(1))
            }
            _ => None,
        }
    }

    /// A piece of a template literal, from the current place; `inside` is where its text goes on.
    fn template(&mut self, inside: usize) -> Token {
        let (end, expression) = literal::template(self.text, inside);
        if expression {
            self.frames.push(Frame::Template);
        }
        self.value = !expression;
        Token {
            kind: Kind::Literal,
            start: self.at,
            end,
        }
    }

    /// Inside a tag: its name, attributes, strings and `{ … }`.
    pub(super) fn tag(&mut self) -> Option<Token> {
        let first = self.skip_space()?;
        let rest = &self.text[self.at..];
        let Some(Frame::Tag { closing, name }) = self.frames.last().copied() else {
            return Some(self.punctuation(first.len_utf8()));
        };
        match first {
            '>' => {
                self.frames.pop();
                if closing {
                    self.frames.pop_if(|frame| *frame == Frame::Children);
                } else {
                    self.frames.push(Frame::Children);
                }
                self.value = true;
                Some(self.punctuation(1))
            }
            '/' if rest.starts_with("/>") => {
                self.frames.pop();
                self.value = true;
                Some(self.punctuation(2))
            }
            '{' => Some(self.open_expression()),
            '"' | '\'' => {
                let end = rest[1..]
                    .find(first)
                    .map_or(self.text.len(), |offset| self.at + offset + 2);
                Some(Token {
                    kind: Kind::Literal,
                    start: self.at,
                    end,
                })
            }
            _ if first == '_' || first == '$' || first.is_alphabetic() => {
                let length = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$' | '-' | ':'));
                let end = length.map_or(self.text.len(), |length| self.at + length);
                let word = &self.text[self.at..end];
                let after_dot = self.text[..self.at].ends_with('.');
                if let Some(Frame::Tag { name, .. }) = self.frames.last_mut() {
                    *name = false;
                }
                // A lower-case tag is the host's own element, and `data-x` is no name.
                let host = name && !after_dot && word.starts_with(char::is_lowercase);
                let kind = if host || word.contains(['-', ':']) {
                    Kind::Literal
                } else {
                    Kind::Identifier
                };
                Some(Token {
                    kind,
                    start: self.at,
                    end,
                })
            }
            _ => Some(self.punctuation(first.len_utf8())),
        }
    }

    /// Between tags: text, an expression in braces, the next tag.
    pub(super) fn children(&mut self) -> Option<Token> {
        let first = self.skip_space()?;
        let rest = &self.text[self.at..];
        match first {
            '{' => Some(self.open_expression()),
            '<' => {
                let closing = rest.starts_with("</");
                self.frames.push(Frame::Tag { closing, name: true });
                Some(self.punctuation(if closing { 2 } else { 1 }))
            }
            _ => {
                let end = rest.find(['{', '<']).map_or(self.text.len(), |offset| self.at + offset);
                Some(Token {
                    kind: Kind::Literal,
                    start: self.at,
                    end,
                })
            }
        }
    }

    fn open_expression(&mut self) -> Token {
        self.frames.push(Frame::Brace);
        self.value = false;
        self.punctuation(1)
    }

    fn punctuation(&self, length: usize) -> Token {
        Token {
            kind: Kind::Operator,
            start: self.at,
            end: self.at + length,
        }
    }
}

/// Whether what follows a `<` where a value may begin is a tag, and not the type parameters of an arrow function.
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
