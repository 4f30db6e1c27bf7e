//! Stretches of Rust whose names a server does not resolve: attributes, the bodies of `macro_rules!`, and items that
//! are compiled only under a condition, which may not hold here.

use super::lexer::{Kind, Token};
use super::{Family, Language};

/// Follows the tokens of a text, comments left out.
#[derive(Default)]
pub(super) struct Quiet {
    depth: u32,
    stretch: Option<Stretch>,
    /// `macro_rules` was read, and its body is yet to come.
    armed: bool,
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
        if language.family != Family::Rust {
            return false;
        }
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

    /// A bracket was closed.
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
