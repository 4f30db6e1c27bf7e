//! Stretches whose names a server may not resolve: code under a condition that may not hold here (`#[cfg(…)]`,
//! `#ifdef`), and in Rust attributes and the bodies of `macro_rules!`.

use super::lexer::{Kind, Token};
use super::{Family, Language, literal};

/// Follows the tokens of a text, comments left out.
#[derive(Default)]
pub(super) struct Quiet {
    depth: u32,
    stretch: Option<Stretch>,
    /// `macro_rules` was read, and its body is yet to come.
    armed: bool,
    /// The preprocessor's open conditions, and whether each leaves something out.
    conditions: Vec<bool>,
    /// Whether a preprocessor line was read.
    directives: bool,
}

/// A stretch being left out, and the depth of brackets around it.
#[derive(Clone, Copy)]
enum Stretch {
    /// Ends with the bracket that opened it.
    Bracket(u32),
    /// An attribute that begins with `cfg`; `test` when that is all it asks for.
    Condition { depth: u32, test: bool },
    /// What a condition applies to: ends with its braces, with `;` or with `,`.
    Item(u32),
}

impl Quiet {
    /// Whether `token`, which comes after `last`, is left out.
    pub(super) fn hides(&mut self, text: &str, language: &Language, last: Option<Token>, token: Token) -> bool {
        match language.family {
            Family::Rust => self.hides_in_rust(text, last, token),
            Family::C | Family::Cpp => {
                if token.kind == Kind::Directive {
                    self.directive(&text[token.start..token.end]);
                }
                self.conditions.contains(&true)
            }
            Family::Python
            | Family::Go
            | Family::Script { .. }
            | Family::Lua
            | Family::Zig
            | Family::Generic
            | Family::Data(_)
            | Family::Markup(_)
            | Family::Style
            | Family::Prose => false,
        }
    }

    fn directive(&mut self, text: &str) {
        let word = |line: &str| {
            line.trim_start_matches(['#', ' ', '\t'])
                .split(|c: char| !c.is_alphabetic())
                .next()
                .map(str::to_owned)
        };
        match word(text).unwrap_or_default().as_str() {
            // What is left out for good is part of the token: only a branch that lives may follow.
            "if" if literal::is_dead(text) => {
                let end = text.lines().next_back().unwrap_or_default();
                if word(end.trim_start()).is_some_and(|word| word.starts_with("el")) {
                    self.conditions.push(false);
                }
            }
            // The first line of a header that is to be read once.
            "ifndef" if !self.directives => self.conditions.push(false),
            "if" | "ifdef" | "ifndef" => self.conditions.push(true),
            "endif" => {
                self.conditions.pop();
            }
            _ => {}
        }
        self.directives = true;
    }

    fn hides_in_rust(&mut self, text: &str, last: Option<Token>, token: Token) -> bool {
        let word = &text[token.start..token.end];
        let inside = self.stretch.is_some();
        match (token.kind, word) {
            (Kind::Keyword, "macro_rules") => self.armed = true,
            (Kind::Operator, "(" | "[" | "{") => {
                let attribute = word == "[" && last.is_some_and(|last| opens_attribute(text, last));
                if attribute && matches!(self.stretch, None | Some(Stretch::Item(_))) {
                    self.attribute(text, token);
                } else if !inside && std::mem::take(&mut self.armed) {
                    self.stretch = Some(Stretch::Bracket(self.depth));
                }
                self.depth += 1;
            }
            (Kind::Operator, ")" | "]" | "}") => {
                self.depth = self.depth.saturating_sub(1);
                self.close(word);
            }
            (Kind::Operator, ";" | ",") => {
                if matches!(self.stretch, Some(Stretch::Item(depth)) if self.depth <= depth) {
                    self.stretch = None;
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
        inside || self.stretch.is_some()
    }

    /// An attribute opens with the bracket `token`.
    fn attribute(&mut self, text: &str, token: Token) {
        let rest = text[token.end..].trim_start();
        let condition = rest
            .strip_prefix("cfg")
            .map(str::trim_start)
            .filter(|rest| rest.starts_with('('));
        let depth = self.depth;
        match (condition, self.stretch) {
            // Attributes of an item that is left out stay in its stretch.
            (_, Some(Stretch::Item(_))) => {}
            (Some(rest), _) => {
                let test = rest[1..]
                    .trim_start()
                    .strip_prefix("test")
                    .is_some_and(|rest| rest.trim_start().starts_with(')'));
                self.stretch = Some(Stretch::Condition { depth, test });
            }
            (None, _) => self.stretch = Some(Stretch::Bracket(depth)),
        }
    }

    fn close(&mut self, word: &str) {
        self.stretch = match self.stretch {
            Some(Stretch::Bracket(depth)) if self.depth <= depth => None,
            Some(Stretch::Condition { depth, test }) if self.depth <= depth => (!test).then_some(Stretch::Item(depth)),
            // The end of the item, or of what is around it.
            Some(Stretch::Item(depth)) if self.depth < depth || (self.depth == depth && word == "}") => None,
            going @ (Some(Stretch::Bracket(_) | Stretch::Condition { .. } | Stretch::Item(_)) | None) => going,
        };
    }
}

/// Whether a `[` after this token opens an attribute: `#[` or `#![`.
fn opens_attribute(text: &str, last: Token) -> bool {
    let upto = &text[..last.end];
    upto.ends_with('#') || upto.ends_with("#!")
}
