//! Collects the places of texts that are no programs: of data, markup and styles.

use std::ops::Range;

use super::Language;
use super::sites::{Identifier, LineCounter, Member, Sites, sites};

/// What a place is to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Names something that is there already: an alias, a reference, a variable that is read.
    Use,
    /// Names something new: a key, an anchor.
    Key,
    /// Says what the format itself gives a meaning to: a value, a tag, an attribute.
    Word,
}

/// The places found so far, and how far the text was read.
pub(super) struct Places<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    lines: LineCounter<'t>,
    pub(super) found: Sites,
}

impl<'t> Places<'t> {
    pub(super) fn new(text: &'t str) -> Places<'t> {
        Places {
            text,
            at: 0,
            lines: LineCounter { text, at: 0, line: 0 },
            found: Sites::default(),
        }
    }

    /// What is left to be read.
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Moves just past the next `mark`, or to the end of the text.
    pub(super) fn skip_past(&mut self, mark: &str) {
        self.at = self
            .rest()
            .find(mark)
            .map_or(self.text.len(), |offset| self.at + offset + mark.len());
    }

    pub(super) fn skip_one(&mut self) {
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    /// Moves past all characters that fit, and gives where they were.
    pub(super) fn take(&mut self, fits: impl Fn(char) -> bool) -> Range<usize> {
        let start = self.at;
        let length = self.rest().find(|c| !fits(c)).unwrap_or(self.rest().len());
        self.at += length;
        start..self.at
    }

    /// Moves past a string in quotes, and gives what is between them. An open one ends with its line.
    pub(super) fn quoted(&mut self, quote: char, escapes: bool) -> Range<usize> {
        let start = self.at + quote.len_utf8();
        let mut escaped = false;
        for (offset, c) in self.text[start..].char_indices() {
            let end = start + offset;
            if escaped {
                escaped = false;
            } else if c == quote {
                self.at = end + c.len_utf8();
                return start..end;
            } else if matches!(c, '\n' | '\r') {
                self.at = end;
                return start..end;
            } else {
                escaped = escapes && c == '\\';
            }
        }
        self.at = self.text.len();
        start..self.at
    }

    /// A place to ask at, from its first character to past its last one, where completions are asked for.
    pub(super) fn add(&mut self, range: Range<usize>, role: Role) {
        if range.is_empty() {
            return;
        }
        let line = self.lines.line_of(range.start);
        self.found.members.push(Member {
            offset: range.start,
            end: range.end,
            line,
            receiver: range.clone(),
        });
        self.found.identifiers.push(Identifier {
            range,
            line,
            definition: role == Role::Key,
            member: false,
            leads: role == Role::Use,
        });
    }

    /// The places of a part that is written in another language.
    pub(super) fn embed(&mut self, part: Range<usize>, language: &str) {
        let inner = sites(&self.text[part.clone()], Language::of(language));
        let first = self.lines.line_of(part.start);
        let moved = |range: Range<usize>| range.start + part.start..range.end + part.start;
        let found = &mut self.found;
        found.identifiers.extend(inner.identifiers.into_iter().map(|mut name| {
            (name.range, name.line) = (moved(name.range), name.line + first);
            name
        }));
        found.members.extend(inner.members.into_iter().map(|mut member| {
            (member.receiver, member.line) = (moved(member.receiver), member.line + first);
            (member.offset, member.end) = (member.offset + part.start, member.end + part.start);
            member
        }));
        found.calls.extend(inner.calls.into_iter().map(|mut call| {
            (call.name, call.line) = (moved(call.name), call.line + first);
            call.offset += part.start;
            call
        }));
    }
}
