//! Code whose names a server may not resolve: under a condition that may be false (`#[cfg(…)]`, `#ifdef`), and in Rust
//! the bodies of `macro_rules!`.

use super::Family;
use super::lexer::{Kind, Token};

/// Follows the tokens of a text without its comments.
#[derive(Default)]
pub(super) struct Quiet {
    depth: u32,
    stretch: Option<Stretch>,
    /// True if `macro_rules` was read, but not yet its body.
    armed: bool,
    /// Open preprocessor conditions: whether each hides code, and whether that ends with its branch.
    conditions: Vec<(bool, bool)>,
    /// True if a preprocessor line was read.
    directives: bool,
}

/// A hidden stretch, and the depth of brackets around it.
#[derive(Clone, Copy)]
enum Stretch {
    /// Ends with the bracket that opened it.
    Macro(u32),
    /// The item under a condition: ends with its braces, with `;` or with `,`.
    Item(u32),
}

impl Quiet {
    /// True if `token` is hidden.
    pub(super) fn hides(&mut self, text: &str, token: Token) -> bool {
        let word = &text[token.start..token.end];
        match token.language.family {
            Family::Rust => self.hides_in_rust(word, token.kind),
            Family::C => {
                if token.kind == Kind::Directive {
                    self.directive(word);
                }
                self.conditions.iter().any(|(hidden, _)| *hidden)
            }
            _ => false,
        }
    }

    fn directive(&mut self, line: &str) {
        let mut words = line.trim_start_matches(['#', ' ', '\t']).split_ascii_whitespace();
        match (words.next().unwrap_or_default(), words.next()) {
            ("if", Some("0")) => self.conditions.push((true, true)),
            // The first line of an include guard.
            ("ifndef", _) if !self.directives => self.conditions.push((false, false)),
            ("if" | "ifdef" | "ifndef", _) => self.conditions.push((true, false)),
            ("else" | "elif" | "elifdef" | "elifndef", _) => {
                if let Some((hidden, _)) = self.conditions.last_mut().filter(|(_, branch)| *branch) {
                    *hidden = false;
                }
            }
            ("endif", _) => {
                self.conditions.pop();
            }
            _ => {}
        }
        self.directives = true;
    }

    fn hides_in_rust(&mut self, word: &str, kind: Kind) -> bool {
        let inside = self.stretch.is_some();
        match (kind, word) {
            (Kind::Directive, _) if !inside && is_condition(word) => self.stretch = Some(Stretch::Item(self.depth)),
            (Kind::Keyword, "macro_rules") => self.armed = true,
            (Kind::Operator, "(" | "[" | "{") => {
                if !inside && std::mem::take(&mut self.armed) {
                    self.stretch = Some(Stretch::Macro(self.depth));
                }
                self.depth += 1;
            }
            (Kind::Operator, ")" | "]" | "}") => {
                self.depth = self.depth.saturating_sub(1);
                let ends = match self.stretch {
                    Some(Stretch::Macro(depth)) => self.depth <= depth,
                    // The end of the item, or of the enclosing block.
                    Some(Stretch::Item(depth)) => self.depth < depth || (self.depth == depth && word == "}"),
                    None => false,
                };
                if ends {
                    self.stretch = None;
                }
            }
            (Kind::Operator, ";" | ",") if matches!(self.stretch, Some(Stretch::Item(depth)) if self.depth <= depth) => {
                self.stretch = None;
            }
            _ => {}
        }
        inside || self.stretch.is_some()
    }
}

/// True if an attribute is a `cfg` that covers more than tests.
fn is_condition(attribute: &str) -> bool {
    let condition = attribute.trim_start_matches(['#', '!', '[']).trim_start();
    let condition = condition.strip_prefix("cfg").map(str::trim_start);
    let asks = condition.and_then(|condition| condition.strip_prefix('('));
    asks.is_some_and(|asks| {
        !asks
            .trim_start()
            .strip_prefix("test")
            .is_some_and(|rest| rest.trim_start().starts_with(')'))
    })
}
