//! Finds where a new statement fits in a text, and which existing names it can use.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::drive::doubt::doubtful;
use crate::drive::language::{Family, Identifier, Kind, Language, Member, Token, sites, tokens};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) offset: usize,
    /// The indentation of the new line, or `None` to type into the existing line.
    pub(super) line: Option<Range<usize>>,
    pub(super) receiver: Range<usize>,
    /// The member operator; empty without member access.
    pub(super) operator: &'static str,
    /// The delimiters of a word without member access: the quotes of a key, the brackets of a tag.
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// The member that the text uses there; empty if none.
    pub(super) member: Range<usize>,
}

/// With fewer spots than this, typing would repeat at one place.
const FEW: usize = 8;

/// The best spots of a text, in order. First: new statements above a statement that uses a member of something in
/// scope. If few: above statements that use a name. Otherwise: existing member accesses, typed again.
pub(super) fn spots(text: &str, language: &'static Language) -> Vec<Spot> {
    let list = sites(text, language);
    if language.completes_names() {
        return words(text, &list.identifiers);
    }
    let statements = statements(text, language);
    let names = Names::collect(text, &list.identifiers);
    let mut spots: Vec<Spot> = Vec::new();
    for member in &list.members {
        let Ok(statement) = statements.binary_search_by_key(&member.line, |statement| statement.line) else {
            continue;
        };
        let statement = &statements[statement];
        let taken = spots.last().is_some_and(|last| last.offset == statement.offset);
        if !taken && names.in_scope_above(text, language, member) {
            spots.push(spot(
                text,
                language,
                member,
                statement.offset,
                Some(statement.indent.clone()),
            ));
        }
    }
    let doubtful = doubtful(text, language, &list.identifiers, &HashSet::new());
    let is_sure = |spot: &Spot| !doubtful.contains(&spot.receiver.start);
    if spots.iter().filter(|spot| is_sure(spot)).count() >= FEW {
        spots.retain(is_sure);
    }
    if spots.len() < FEW {
        let used = list.identifiers.iter().filter(|name| !name.definition && !name.member);
        spots.extend(used.filter_map(|name| {
            let at = statements.binary_search_by_key(&name.line, |statement| statement.line);
            let statement = &statements[at.ok()?];
            Some(begun(text, name, statement.offset, statement.indent.clone()))
        }));
        spots.sort_by_key(|spot| (spot.offset, spot.operator.is_empty()));
        spots.dedup_by_key(|spot| spot.offset);
    }
    if spots.is_empty() {
        spots = list
            .members
            .iter()
            .map(|member| spot(text, language, member, member.receiver.start, None))
            .collect();
    }
    spots
}

fn spot(text: &str, language: &'static Language, member: &Member, offset: usize, line: Option<Range<usize>>) -> Spot {
    let before = &text[..member.offset];
    let operator = language
        .member_operators
        .iter()
        .find(|operator| before.ends_with(**operator));
    Spot {
        offset,
        line,
        receiver: member.receiver.clone(),
        operator: operator.copied().unwrap_or("."),
        open: "",
        close: "",
        member: member.offset..member.end,
    }
}

/// The first letters of a name, typed on a new line.
fn begun(text: &str, name: &Identifier, offset: usize, indent: Range<usize>) -> Spot {
    let length: usize = text[name.range.clone()].chars().take(2).map(char::len_utf8).sum();
    let end = name.range.start + length;
    Spot {
        offset,
        line: Some(indent),
        receiver: name.range.start..end,
        operator: "",
        open: "",
        close: "",
        member: end..name.range.end,
    }
}

/// Without members: the first letters of the word that begins a line, typed on a line above it.
fn words(text: &str, names: &[Identifier]) -> Vec<Spot> {
    let mut spots: Vec<Spot> = Vec::new();
    for name in names {
        let start = text[..name.range.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let before = &text[start..name.range.start];
        let indent = start..start + before.len() - before.trim_start().len();
        let open = match before.trim_start() {
            "" => "",
            "\"" => "\"",
            "<" => "<",
            _ => continue,
        };
        if start == 0 || spots.last().is_some_and(|last| last.line == Some(indent.clone())) {
            continue;
        }
        let rest = text[name.range.end..].trim_start();
        let close = match open {
            "\"" if rest.starts_with('"') => "\": 0,",
            "<" => " />",
            _ if rest.starts_with(':') => ": 0",
            _ if rest.starts_with('=') => " = 0",
            _ => "",
        };
        let offset = text[..start].strip_suffix("\r\n").map_or(start - 1, str::len);
        let spot = begun(text, name, offset, indent);
        spots.push(Spot { open, close, ..spot });
    }
    spots
}

/// A line on which a statement begins.
struct Statement {
    line: u32,
    /// The end of the line above, where a new line can be typed.
    offset: usize,
    indent: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Block,
    Other,
}

fn statements(text: &str, language: &'static Language) -> Vec<Statement> {
    let mut list = Vec::new();
    let mut open: Vec<Bracket> = Vec::new();
    let mut header = Header::default();
    let mut decorated = false;
    let (mut line, mut start, mut read) = (0, 0, 0);
    let mut last: Option<Token> = None;
    let mut all = tokens(text, language)
        .filter(|token| token.kind != Kind::Comment)
        .peekable();
    while let Some(token) = all.next() {
        let word = &text[token.start..token.end];
        for at in line_starts(text, read..token.start) {
            line += 1;
            start = at;
        }
        read = token.start;
        let indent = &text[start..token.start];
        let first = start > 0 && indent.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
        if first {
            let label = all.peek().is_some_and(|next| &text[next.start..next.end] == ":");
            let fits = begins(text, language, last, token, open.last().copied());
            let member = matches!(token.kind, Kind::Identifier | Kind::Keyword);
            if fits && member && !decorated && (!label || language.family == Family::Python) {
                let offset = text[..start].strip_suffix("\r\n").map_or(start - 1, str::len);
                list.push(Statement {
                    line,
                    offset,
                    indent: start..token.start,
                });
            }
            // A decorator belongs to the next statement.
            decorated = word == "@" && open.is_empty();
        }
        match word {
            "(" | "[" => open.push(Bracket::Other),
            "{" => {
                let block = token.kind == Kind::Operator && header.opens_block(text, language, last);
                open.push(if block { Bracket::Block } else { Bracket::Other });
            }
            ")" | "]" | "}" => {
                open.pop();
            }
            _ => {}
        }
        header.read(language, token.kind, word, open.last().copied());
        last = Some(token);
    }
    list
}

/// True if a statement can begin with `token`, the first of its line, so that another may precede it.
fn begins(text: &str, language: &Language, last: Option<Token>, token: Token, open: Option<Bracket>) -> bool {
    let word = &text[token.start..token.end];
    let before = last.map_or("", |last| &text[last.start..last.end]);
    let continues = [
        "and", "case", "catch", "default", "do", "elif", "else", "elseif", "end", "except", "finally", "or", "private",
        "protected", "public", "static", "then", "until", "while",
    ];
    if continues.contains(&word) {
        return false;
    }
    let apart = matches!(before, ";" | "{" | "}")
        || (language.family == Family::C && last.is_some_and(|last| last.kind == Kind::Directive));
    let value = last.is_some_and(|last| match last.kind {
        Kind::Identifier | Kind::Number | Kind::Literal => true,
        Kind::Keyword => matches!(
            before,
            "return" | "break" | "continue" | "true" | "false" | "nil" | "null" | "this" | "end"
        ),
        Kind::Operator => matches!(before, ")" | "]"),
        _ => false,
    });
    match language.family {
        // An import names modules, but does not access their members.
        Family::Python => open.is_none() && before != "\\" && !matches!(word, "from" | "import"),
        Family::Lua => open.is_none() && (value || matches!(before, "then" | "do" | "else" | "}" | ";")),
        Family::Go => open == Some(Bracket::Block) && (apart || value),
        Family::Script { .. } => open != Some(Bracket::Other) && (apart || value),
        Family::Rust | Family::C | Family::Generic => open == Some(Bracket::Block) && apart,
        Family::Text => false,
    }
}

/// The tokens since the last statement; they decide the meaning of a brace.
#[derive(Default)]
struct Header {
    function: bool,
    control: bool,
    definition: bool,
}

impl Header {
    fn read(&mut self, language: &Language, kind: Kind, word: &str, open: Option<Bracket>) {
        match (kind, word) {
            (Kind::Operator, "{" | "}") => *self = Header::default(),
            (Kind::Operator, ";")
                if open != Some(Bracket::Other) && !(self.control && language.family == Family::Go) =>
            {
                *self = Header::default();
            }
            (Kind::Keyword, "fn" | "func" | "function") => self.function = true,
            (Kind::Keyword, "else" | "for" | "if" | "loop" | "select" | "switch" | "try" | "unsafe" | "while") => {
                self.control = true;
            }
            (
                Kind::Keyword,
                "class" | "enum" | "extern" | "impl" | "interface" | "match" | "mod" | "namespace" | "struct" | "trait"
                | "type" | "union",
            ) => self.definition = true,
            _ => {}
        }
    }

    /// True if a following brace opens a block of statements, rather than fields, members, arms or a value.
    fn opens_block(&self, text: &str, language: &Language, last: Option<Token>) -> bool {
        let before = last.map_or("", |last| &text[last.start..last.end]);
        let c_function = before == ")" && language.family == Family::C;
        if self.function || c_function {
            return true;
        }
        if self.definition {
            return false;
        }
        let closure = language.family == Family::Rust && before == "|";
        let arrow = before == ">" && text[..last.map_or(0, |last| last.end)].ends_with("=>");
        self.control || closure || arrow || matches!(before, ")" | "do" | "finally" | "move" | "async")
    }
}

/// The offsets after each line end in a range of the text.
fn line_starts(text: &str, range: Range<usize>) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    range.filter_map(move |at| match bytes[at] {
        b'\n' => Some(at + 1),
        b'\r' if bytes.get(at + 1) != Some(&b'\n') => Some(at + 1),
        _ => None,
    })
}

/// The occurrences of every name in a text.
struct Names<'t>(HashMap<&'t str, Vec<&'t Identifier>>);

impl<'t> Names<'t> {
    fn collect(text: &'t str, identifiers: &'t [Identifier]) -> Names<'t> {
        let mut names: HashMap<&str, Vec<&Identifier>> = HashMap::new();
        for identifier in identifiers {
            names
                .entry(&text[identifier.range.clone()])
                .or_default()
                .push(identifier);
        }
        Names(names)
    }

    /// True if the object of a member exists on the line above: it starts its chain, occurs earlier, and its line only
    /// accesses it, so does not bind it.
    fn in_scope_above(&self, text: &str, language: &Language, member: &Member) -> bool {
        let before = text[..member.receiver.start].trim_end();
        if language
            .member_operators
            .iter()
            .any(|operator| before.ends_with(operator))
        {
            return false;
        }
        let path = text[..member.offset].ends_with("::");
        if path && language.family == Family::Rust {
            return false;
        }
        let Some(uses) = self.0.get(&text[member.receiver.clone()]) else {
            // A keyword such as `self` is in scope wherever it is used.
            return true;
        };
        // Sorted by offset, and possibly very many.
        let (above, rest) = uses.split_at(uses.partition_point(|name| name.line < member.line));
        above.iter().any(|name| !name.member)
            && rest
                .iter()
                .take_while(|name| name.line == member.line)
                .all(|name| name.member || is_accessed(&text[name.range.end..], language))
    }
}

/// True if a member operator comes first after a name.
fn is_accessed(after: &str, language: &Language) -> bool {
    let after = after.trim_start();
    language
        .member_operators
        .iter()
        .any(|operator| after.starts_with(operator))
}
