//! The places of a text where requests make sense: names, member accesses, argument lists.

use std::ops::Range;

use super::lexer::{Kind, Token, tokens};
use super::{Family, Language};

/// A name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identifier {
    /// Its bytes.
    pub range: Range<usize>,
    /// Its line, from 0.
    pub line: u32,
    /// Whether it stands where a new thing is named, as far as the words before it tell.
    pub definition: bool,
    /// Whether it is a member of something: `name` in `thing.name`.
    pub member: bool,
}

/// A place just past a member operator that follows a name, where an editor asks for completions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Offset just past the operator.
    pub offset: usize,
    /// Its line, from 0.
    pub line: u32,
    /// The name or keyword before the operator.
    pub receiver: Range<usize>,
}

/// A place just past the `(` that follows a name, where an editor asks for the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Offset just past the `(`.
    pub offset: usize,
    /// Its line, from 0.
    pub line: u32,
    /// The name before it.
    pub name: Range<usize>,
}

/// Everything found in one text, each list in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    /// Names.
    pub identifiers: Vec<Identifier>,
    /// Member accesses.
    pub members: Vec<Member>,
    /// Argument lists.
    pub calls: Vec<Call>,
}

/// Finds the sites of `text`; none in languages without names.
pub fn sites(text: &str, language: &'static Language) -> Sites {
    let mut found = Sites::default();
    if !language.has_names() {
        return found;
    }
    let mut lines = LineCounter { text, at: 0, line: 0 };
    let mut quiet = Quiet::default();
    // The two significant tokens before the current one.
    let (mut before, mut last): (Option<Token>, Option<Token>) = (None, None);
    for token in tokens(text, language) {
        if token.kind == Kind::Comment {
            continue;
        }
        if !quiet.hides(text, language, last, token) {
            let line = lines.line_of(token.start);
            let word = last.map_or("", |last| &text[last.start..last.end]);
            let named = last.is_some_and(|last| last.kind == Kind::Identifier);
            match token.kind {
                Kind::Identifier => found.identifiers.push(Identifier {
                    range: token.start..token.end,
                    line,
                    definition: last.is_some_and(|last| last.kind == Kind::Keyword)
                        && language.definers.contains(&word),
                    member: last.is_some_and(|last| last.kind == Kind::Member),
                }),
                Kind::Member if named || language.receivers.contains(&word) => {
                    let receiver = last.map_or(0..0, |last| last.start..last.end);
                    found.members.push(Member {
                        offset: token.end,
                        line,
                        receiver,
                    });
                }
                Kind::Operator if named && &text[token.start..token.end] == "(" => {
                    let defined = before.is_some_and(|before| {
                        before.kind == Kind::Keyword && language.definers.contains(&&text[before.start..before.end])
                    });
                    if !defined {
                        let name = last.map_or(0..0, |last| last.start..last.end);
                        found.calls.push(Call {
                            offset: token.end,
                            line,
                            name,
                        });
                    }
                }
                Kind::Keyword
                | Kind::Number
                | Kind::Literal
                | Kind::Comment
                | Kind::Directive
                | Kind::Operator
                | Kind::Member => {}
            }
        }
        before = last.replace(token);
    }
    found
}

/// Stretches whose names no server resolves: Rust attributes and the bodies of `macro_rules!`.
#[derive(Default)]
struct Quiet {
    depth: u32,
    /// The depth outside the stretch, while in one.
    outside: Option<u32>,
    /// `macro_rules` was read and its body is yet to come.
    armed: bool,
}

impl Quiet {
    fn hides(&mut self, text: &str, language: &Language, last: Option<Token>, token: Token) -> bool {
        if language.family != Family::Rust {
            return false;
        }
        let word = &text[token.start..token.end];
        let was_inside = self.outside.is_some();
        match (token.kind, word) {
            (Kind::Keyword, "macro_rules") => self.armed = true,
            (Kind::Operator, "(" | "[" | "{") => {
                let attribute = word == "[" && last.is_some_and(|last| opens_attribute(text, last));
                if !was_inside && (attribute || self.armed) {
                    self.outside = Some(self.depth);
                    self.armed = false;
                }
                self.depth += 1;
            }
            (Kind::Operator, ")" | "]" | "}") => {
                self.depth = self.depth.saturating_sub(1);
                if self.outside.is_some_and(|outside| self.depth <= outside) {
                    self.outside = None;
                }
            }
            (
                Kind::Identifier
                | Kind::Keyword
                | Kind::Number
                | Kind::Literal
                | Kind::Comment
                | Kind::Directive
                | Kind::Operator
                | Kind::Member,
                _,
            ) => {}
        }
        was_inside || self.outside.is_some()
    }
}

/// Whether a `[` after this token opens an attribute: `#[` or `#![`.
fn opens_attribute(text: &str, last: Token) -> bool {
    let upto = &text[..last.end];
    upto.ends_with('#') || upto.ends_with("#!")
}

/// Line numbers for offsets that only grow; a line ends with LF, CR LF or CR.
struct LineCounter<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl LineCounter<'_> {
    fn line_of(&mut self, offset: usize) -> u32 {
        let bytes = self.text.as_bytes();
        for at in self.at..offset {
            let ends = match bytes[at] {
                b'\n' => true,
                b'\r' => bytes.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            self.line += u32::from(ends);
        }
        self.at = self.at.max(offset);
        self.line
    }
}
