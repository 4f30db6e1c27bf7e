//! Text to type as in an editor, key by key: a new statement that uses an existing name.

mod spots;
#[cfg(test)]
mod tests;

use base::random::Random;

use super::document::line_end;
use super::language::Language;
use super::target::looked_at;
use spots::{Spot, spots};

/// Text to type at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    pub offset: usize,
    /// The keys: each a character, or a line end with the indentation that an editor adds.
    pub keys: Vec<Key>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub text: String,
    /// True if an editor requests completions after this key.
    pub ask: Option<Ask>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// This character is one of the server's trigger characters.
    Trigger(char),
    /// The user requested it, because the server has no matching trigger character.
    Invoked,
}

impl Snippet {
    pub fn text(&self) -> String {
        self.keys.iter().map(|key| key.text.as_str()).collect()
    }

    /// Number of completion requests.
    pub fn asks(&self) -> usize {
        self.keys.iter().filter(|key| key.ask.is_some()).count()
    }
}

/// Composes `count` snippets for the current text; undo each before the next. They are spread over the text. Different
/// `serial`s give different snippets; each snippet uses one. A text without names gives none.
///
/// `triggers` are the server's trigger characters for completion.
pub fn compose(text: &str, language: &str, triggers: &[String], count: usize, seed: u64, serial: u64) -> Vec<Snippet> {
    let language = Language::from_id(language);
    let mut places = spots(looked_at(text), language);
    let mut random = Random::for_use(seed ^ serial, "snippets");
    if places.len() > count {
        places = (0..count)
            .map(|stretch| {
                let (start, end) = (places.len() * stretch / count, places.len() * (stretch + 1) / count);
                places[start + random.below(end - start)].clone()
            })
            .collect();
    }
    let line_end = line_end(text);
    let turns = places.iter().cycle().take(count).zip(serial..);
    turns
        .map(|(spot, serial)| type_at(spot, text, language, triggers, &unique(serial, seed), line_end))
        .collect()
}

/// A new name, so that no cache of the server contains it.
fn unique(serial: u64, seed: u64) -> String {
    let tail = Random::for_use(seed, "names").bits() & 0xffff;
    format!("soak_{serial}_{tail:04x}")
}

/// The keys for a spot.
fn type_at(spot: &Spot, text: &str, language: &Language, triggers: &[String], name: &str, line_end: &str) -> Snippet {
    let mut keys = Vec::new();
    let receiver = &text[spot.receiver.clone()];
    if let Some(indent) = &spot.line {
        keys.push(Key {
            text: format!("{line_end}{}", &text[indent.clone()]),
            ask: None,
        });
        if !language.completes_names() {
            let (before, after) = language.declaration;
            push(&mut keys, &format!("{before}{name}{after}"));
        }
        push(&mut keys, spot.open);
    }
    push(&mut keys, receiver);
    push(&mut keys, spot.operator);
    if let Some(last) = keys.last_mut() {
        last.ask = Some(match spot.operator.chars().next_back() {
            Some(typed) if triggers.iter().any(|trigger| trigger.starts_with(typed)) => Ask::Trigger(typed),
            _ => Ask::Invoked,
        });
    }
    if language.completes_names() {
        // The started word becomes a unique one.
        push(&mut keys, &format!("_{name}{}", spot.close));
    } else if spot.line.is_some() {
        push(&mut keys, &text[spot.member.clone()]);
        push(&mut keys, language.terminator);
    }
    Snippet {
        offset: spot.offset,
        keys,
    }
}

fn push(keys: &mut Vec<Key>, text: &str) {
    keys.extend(text.chars().map(|character| Key {
        text: character.to_string(),
        ask: None,
    }));
}
