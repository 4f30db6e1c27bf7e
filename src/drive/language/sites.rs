//! Places in a text where requests make sense: names, member accesses, argument lists.

use std::ops::Range;

use super::lexer::{Kind, Token, tokens};
use super::quiet::Quiet;
use super::{Family, Language};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identifier {
    /// In bytes.
    pub range: Range<usize>,
    /// Line number, from 0.
    pub line: u32,
    /// True if it is a definition, judging by the words before it.
    pub definition: bool,
    /// True if it is a member: `name` in `thing.name`.
    pub member: bool,
    /// True if a server may resolve it: true for names in programs, false for tags of HTML.
    pub leads: bool,
}

/// A member operator after a name: an editor requests completions here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub offset: usize,
    /// Offset after the member's name, or after the operator if there is none.
    pub end: usize,
    /// Line number, from 0.
    pub line: u32,
    /// The name or keyword before the operator.
    pub receiver: Range<usize>,
}

/// The place after a `(` that follows a name: an editor requests the signature here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub offset: usize,
    /// Line number, from 0.
    pub line: u32,
    pub name: Range<usize>,
}

/// All sites of one text, each list sorted by offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    pub identifiers: Vec<Identifier>,
    pub members: Vec<Member>,
    pub calls: Vec<Call>,
}

/// Finds the sites of `text`; none in prose.
pub fn sites(text: &str, language: &'static Language) -> Sites {
    let mut reader = Reader {
        text,
        lines: LineCounter { text, at: 0, line: 0 },
        before: None,
        last: None,
        found: Sites::default(),
    };
    let mut quiet = Quiet::default();
    let all = tokens(text, language);
    for token in all.filter(|token| token.kind != Kind::Comment) {
        if !quiet.hides(text, token) {
            reader.read(token);
        }
        reader.before = reader.last.replace(token);
    }
    reader.found
}

/// Collects sites from tokens, each with the two significant ones before it.
struct Reader<'t> {
    text: &'t str,
    lines: LineCounter<'t>,
    before: Option<Token>,
    last: Option<Token>,
    found: Sites,
}

impl Reader<'_> {
    fn read(&mut self, token: Token) {
        let line = self.lines.line_of(token.start);
        let last = self.last.map_or(0..0, |last| last.start..last.end);
        let named = self.last.is_some_and(|last| last.kind == Kind::Identifier);
        match token.kind {
            Kind::Identifier | Kind::Key | Kind::Use | Kind::Word => self.name(token, line),
            Kind::Member if named || token.language.receivers.contains(&&self.text[last.clone()]) => {
                self.found.members.push(Member {
                    offset: token.end,
                    end: token.end,
                    line,
                    receiver: last,
                });
            }
            Kind::Operator if named && &self.text[token.start..token.end] == "(" && !self.declares(token) => {
                self.found.calls.push(Call {
                    offset: token.end,
                    line,
                    name: last,
                });
            }
            _ => {}
        }
    }

    fn name(&mut self, token: Token, line: u32) {
        let (language, range) = (token.language, token.start..token.end);
        let follows = self.found.members.last_mut();
        if let Some(member) = follows.filter(|member| member.offset == token.start) {
            member.end = token.end;
        }
        if language.completes_names() && (!language.instructions || self.instructs(token)) {
            // Servers complete no instruction that is already complete.
            let begun = self.text.ceil_char_boundary(token.start + 2).min(token.end);
            self.found.members.push(Member {
                offset: token.start,
                end: if language.instructions { begun } else { token.end },
                line,
                receiver: range.clone(),
            });
        }
        let sigil = self.text[..token.start].ends_with(['$', '{']);
        self.found.identifiers.push(Identifier {
            range,
            leads: token.kind == Kind::Use || (token.kind == Kind::Identifier && (sigil || !language.sigil)),
            line,
            definition: token.kind == Kind::Key || self.defines(self.last),
            member: self.last.is_some_and(|last| last.kind == Kind::Member),
        });
    }

    /// True if a word begins an instruction: it is the first of a line that does not continue the previous one.
    fn instructs(&self, token: Token) -> bool {
        let line = self.text[..token.start].trim_end_matches([' ', '\t']);
        let goes_on = self.last.is_some_and(|last| &self.text[last.start..last.end] == "\\");
        (line.is_empty() || line.ends_with(['\n', '\r'])) && !goes_on
    }

    /// True if the name before the `(` is being declared: after a keyword, or in C after its type.
    fn declares(&self, token: Token) -> bool {
        let typed = self.before.is_some_and(|before| {
            let word = &self.text[before.start..before.end];
            before.kind == Kind::Identifier
                || matches!(word, "*" | "&" | ">")
                || (before.kind == Kind::Keyword
                    && !matches!(
                        word,
                        "return" | "else" | "do" | "case" | "co_await" | "co_return" | "throw" | "and" | "or"
                    ))
        });
        let family = token.language.family;
        let c = family == Family::C;
        let typed = typed && c;
        // A name without lower-case letters is a macro, and macros have no signature.
        let macro_call = c
            && self
                .last
                .is_some_and(|last| !self.text[last.start..last.end].contains(char::is_lowercase));
        // `func (receiver) name(` in Go, where no two statements share such a line.
        let method = family == Family::Go
            && self.before.zip(self.last).is_some_and(|(before, last)| {
                self.text[..before.end].ends_with(')') && !self.text[before.end..last.start].contains(['\n', '\r'])
            });
        // gopls returns no signature before a string.
        let string = family == Family::Go && self.text[token.end..].starts_with(['"', '`', '\'']);
        self.defines(self.before) || typed || macro_call || method || string
    }

    /// True if a token is a keyword that a definition follows.
    fn defines(&self, token: Option<Token>) -> bool {
        token.is_some_and(|token| {
            token.kind == Kind::Keyword && token.language.is_definer(&self.text[token.start..token.end])
        })
    }
}

/// Line numbers for increasing offsets; a line ends with LF, CR LF or CR.
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
