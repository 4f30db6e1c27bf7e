//! Splits a text into tokens by the patterns of its language: precise enough to recognise names, and it recovers from
//! broken text.

mod jsx;

use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;
use regex_automata::{Input, Span};

use super::{Family, Language, patterns};

#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    /// Language of this token: a part of a text may be in another language.
    pub language: &'static Language,
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
    /// A bracket, a run of `.`, or any other single punctuation character.
    Operator,
    /// An operator between an object and its member.
    Member,
    /// In data and markup: the name of a definition, for example a key or an anchor.
    Key,
    /// In data and markup: a reference, for example an alias or a variable that is read.
    Use,
    /// In data and markup: a word that the format defines: a value, a tag, an attribute.
    Word,
}

/// The patterns of one language, and the meaning of their groups.
#[derive(Debug)]
pub(super) struct Scanner {
    regex: Regex,
    groups: Vec<Option<Group>>,
}

#[derive(Clone, Copy, Debug)]
enum Group {
    Token(Kind),
    Word,
    Fence,
    Block,
    Part(&'static Language),
}

impl Scanner {
    pub(super) fn new(language: &Language) -> Scanner {
        let mut all = language.patterns.join("|").replace("ATTRIBUTES", language.attributes);
        if language.family != Family::Text {
            let [number, word, dots, operator] = patterns::TAIL;
            // Each character as a class, so that none has a meaning of its own.
            let members: Vec<String> = language
                .member_operators
                .iter()
                .map(|operator| operator.chars().map(|c| format!("[{c}]")).collect())
                .collect();
            let members = if members.is_empty() {
                String::new()
            } else {
                format!("|(?<m>{})", members.join("|"))
            };
            all += &format!("|{number}|{word}|{dots}{members}|{operator}");
        }
        let bytes = syntax::Config::new().unicode(false).utf8(false);
        let regex = Regex::builder()
            .syntax(bytes)
            .build(&all)
            .expect("the patterns are right");
        let names = regex.group_info().pattern_names(regex_automata::PatternID::ZERO);
        let groups = names.map(|name| name.map(group)).collect();
        Scanner { regex, groups }
    }
}

fn group(name: &str) -> Group {
    let kind = match name.as_bytes()[0] {
        b'a' => Kind::Identifier,
        b'c' => Kind::Comment,
        b'd' => Kind::Directive,
        b'k' => Kind::Key,
        b'l' => Kind::Literal,
        b'm' => Kind::Member,
        b'n' => Kind::Number,
        b'u' => Kind::Use,
        b'w' => Kind::Word,
        b'x' => Kind::Keyword,
        b'i' => return Group::Word,
        b'f' => return Group::Fence,
        b'b' => return Group::Block,
        b'e' => {
            let id = name[2..].trim_end_matches(|c: char| c.is_ascii_digit());
            return Group::Part(Language::from_id(id));
        }
        _ => Kind::Operator,
    };
    Group::Token(kind)
}

/// Blanks at the start of a line.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The tokens of `text`, in order and without overlap.
pub fn tokens<'t>(text: &'t str, language: &'static Language) -> Tokens<'t> {
    Tokens {
        lexer: Lexer::new(text, 0, language),
        read: 0,
    }
}

/// Yields tokens match by match, so that a large text needs no memory for all of them.
pub struct Tokens<'t> {
    lexer: Option<Lexer<'t>>,
    /// Number of tokens of the last match that have been read.
    read: usize,
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let lexer = self.lexer.as_mut()?;
        while self.read == lexer.all.len() {
            lexer.all.clear();
            self.read = 0;
            if !lexer.step() {
                return None;
            }
        }
        self.read += 1;
        lexer.all.get(self.read - 1).copied()
    }
}

struct Lexer<'t> {
    pub(super) text: &'t str,
    pub(super) language: &'static Language,
    pub(super) at: usize,
    /// Tokens not yet emitted.
    all: Vec<Token>,
    /// Groups of the last match, reused so that no match allocates.
    captures: Option<Captures>,
    pub(super) frames: Vec<jsx::Frame>,
    /// True if the previous token ends a value, so that `/` divides and `<` compares.
    pub(super) value: bool,
    /// True if the previous token is a member operator, after which every word is a name.
    member: bool,
}

impl<'t> Lexer<'t> {
    /// Reads `text` from `at` on; `None` for a language without tokens.
    fn new(text: &'t str, at: usize, language: &'static Language) -> Option<Lexer<'t>> {
        (!language.patterns.is_empty()).then(|| Lexer {
            text,
            language,
            at,
            all: Vec::new(),
            captures: Some(language.scanner().regex.create_captures()),
            frames: Vec::new(),
            value: false,
            member: false,
        })
    }

    /// Reads the next match; false at the end of the text.
    fn step(&mut self) -> bool {
        if self.at >= self.text.len() {
            return false;
        }
        let script = matches!(self.language.family, Family::Script { .. });
        if !(script && self.script()) {
            self.read_match();
        }
        true
    }

    /// Adds a token that begins here, and moves past it.
    pub(super) fn push(&mut self, kind: Kind, length: usize) {
        let (start, end) = (self.at, (self.at + length).min(self.text.len()));
        self.add(kind, start, end);
        self.at = end;
    }

    fn add(&mut self, kind: Kind, start: usize, end: usize) {
        let language = self.language;
        let word = &self.text[start..end];
        self.value = match kind {
            Kind::Comment => self.value,
            Kind::Keyword => language.receivers.contains(&word) || matches!(word, "true" | "false" | "null"),
            Kind::Operator => matches!(word, ")" | "]"),
            _ => kind != Kind::Member && kind != Kind::Directive,
        };
        self.member = kind == Kind::Member || (self.member && kind == Kind::Comment);
        if start < end {
            self.all.push(Token {
                kind,
                start,
                end,
                language,
            });
        }
    }

    /// Reads the next match of the language's patterns and its groups.
    fn read_match(&mut self) {
        let scanner = self.language.scanner();
        let input = Input::new(self.text).range(self.at..);
        // Guarantees progress: the text ends here, or reading advances.
        self.at = self.text.len();
        let Some(mut captures) = self.captures.take() else {
            return;
        };
        scanner.regex.search_captures(&input, &mut captures);
        let Some(whole) = captures.get_match() else { return };
        self.at = self.text.ceil_char_boundary(whole.end().max(input.start() + 1));
        let spans = scanner.groups.iter().zip(captures.iter()).skip(1);
        for (group, span) in spans.filter_map(|(group, span)| Some(((*group)?, span?))) {
            self.add_group(group, span);
        }
        self.captures = Some(captures);
    }

    fn add_group(&mut self, group: Group, Span { start, end }: Span) {
        match group {
            Group::Token(kind @ (Kind::Key | Kind::Use | Kind::Word)) => {
                // Quotation marks, dashes and symbols outside ASCII belong to no word.
                let is_foreign = |c: char| !c.is_ascii() && !c.is_alphanumeric();
                let (start, end) = (self.text.ceil_char_boundary(start), self.text.floor_char_boundary(end));
                let word = self.text[start..end.max(start)].trim_start_matches(is_foreign);
                let start = end.max(start) - word.len();
                self.add(kind, start, start + word.trim_end_matches(is_foreign).len());
            }
            Group::Token(Kind::Identifier) => {
                if let Some(end) = self.name_end_or_operator(start, end) {
                    self.add_name(Kind::Identifier, start, end);
                }
            }
            Group::Token(kind) => self.add(kind, start, self.at.min(self.text.ceil_char_boundary(end))),
            Group::Word => self.add_word(start, end),
            Group::Fence => {
                let mirror = mirrored(&self.text[start..end]);
                let closing = memchr::memmem::find(&self.text.as_bytes()[end..], mirror.as_bytes());
                self.at = closing.map_or(self.text.len(), |offset| end + offset + mirror.len());
                if let Some(last) = self.all.last_mut() {
                    last.end = self.at;
                }
            }
            Group::Block => {
                let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
                let outer = indent(&self.text[line..]);
                self.at += self.text[self.at..].find('\n').map_or(0, |at| at + 1);
                let lines = self.text[self.at..].split_inclusive('\n');
                let inside = lines.take_while(|line| indent(line) > outer || line.trim().is_empty());
                self.at += inside.map(str::len).sum::<usize>();
            }
            Group::Part(language) => {
                if let Some(mut part) = Lexer::new(&self.text[..end], start, language) {
                    while part.step() {}
                    self.all.append(&mut part.all);
                }
            }
        }
    }

    fn add_word(&mut self, start: usize, end: usize) {
        let Some(end) = self.name_end_or_operator(start, end) else {
            return;
        };
        let word = &self.text[start..end];
        let name = (self.member && word != "await") || !self.language.is_keyword(word);
        let name = name || word.starts_with('$');
        self.add_name(if name { Kind::Identifier } else { Kind::Keyword }, start, end);
    }

    /// The end of the name at `start`; adds an operator if the text begins like none. Patterns are of bytes, in which
    /// every character outside ASCII looks like a letter.
    fn name_end_or_operator(&mut self, start: usize, end: usize) -> Option<usize> {
        let length = self.text[start..end]
            .find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$'))
            .unwrap_or(end - start);
        let first = self.text[start..start + length].chars().next();
        if first.is_some_and(|first| !first.is_numeric()) {
            return Some(start + length);
        }
        self.at = start;
        let other = self.text[start..].chars().next().map_or(1, char::len_utf8);
        self.push(Kind::Operator, other);
        None
    }

    fn add_name(&mut self, kind: Kind, start: usize, end: usize) {
        self.add(kind, start, end);
        self.at = end;
    }
}

/// The end of a literal with this start: `#"` ends with `"#`, `[=[` with `]=]`, `"mark(` with `)mark"`.
fn mirrored(fence: &str) -> String {
    let turned = |c: char| match c {
        '[' => ']',
        '(' => ')',
        other => other,
    };
    let mut all: Vec<char> = fence.chars().map(turned).collect();
    let last = all.len().saturating_sub(1);
    all.swap(0, last);
    all.into_iter().collect()
}
