//! Decodes TOML text into a value and reports every mistake of spelling and type.
//!
//! serde stops at the first mistake. Here the key or value at that place is removed and the rest is tried again. So all
//! independent mistakes are found, each with serde's exact place.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::place::{BadValue, Place};
use super::problem::Mistake;
use super::problem::{MEND, MOST, more};
use super::wording;

/// A parsed document, for the places of mistakes found later.
#[derive(Clone, Debug)]
pub struct Document<'t> {
    root: Spanned<DeTable<'t>>,
}

/// A step of a path to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'p> {
    Key(&'p str),
    Index(usize),
}

impl<'p> From<&'p str> for Segment<'p> {
    fn from(key: &'p str) -> Self {
        Segment::Key(key)
    }
}

impl From<usize> for Segment<'_> {
    fn from(index: usize) -> Self {
        Segment::Index(index)
    }
}

impl<'t> Document<'t> {
    /// Parses the text, or reports its syntax errors.
    pub fn parse(text: &'t str) -> Result<Document<'t>, Vec<Mistake>> {
        let (root, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            return Ok(Document { root });
        }
        let mut faults: Vec<Mistake> = errors
            .iter()
            .take(MOST)
            .map(|error| wording::syntax(text, error))
            .collect();
        if let Some(next) = errors.get(MOST) {
            faults.push(more(next.span().unwrap_or(text.len()..text.len()), errors.len() - MOST));
        }
        Err(faults)
    }

    /// The place of the value at `path`, or of the nearest existing parent.
    pub fn span(&self, path: &[Segment<'_>]) -> Range<usize> {
        let longest = (1..=path.len()).rev().find_map(|length| self.get(&path[..length]));
        longest.map_or(0..0, Spanned::span)
    }

    /// True if the table at `path` has this key.
    pub fn has(&self, path: &[Segment<'_>], key: &str) -> bool {
        self.member(path, key).is_some()
    }

    /// True if the table at `path` has this key with an empty array.
    pub fn is_empty_array(&self, path: &[Segment<'_>], key: &str) -> bool {
        let array = self.member(path, key).and_then(|value| value.get_ref().as_array());
        array.is_some_and(|array| array.is_empty())
    }

    fn member(&self, path: &[Segment<'_>], key: &str) -> Option<&Spanned<DeValue<'t>>> {
        self.get(path)?.get_ref().as_table()?.get(key)
    }

    fn get(&self, path: &[Segment<'_>]) -> Option<&Spanned<DeValue<'t>>> {
        let (Segment::Key(first), rest) = path.split_first()? else {
            return None;
        };
        let first = self.root.get_ref().get(*first)?;
        rest.iter().try_fold(first, |value, segment| match segment {
            Segment::Key(key) => value.get_ref().as_table()?.get(*key),
            Segment::Index(index) => value.get_ref().as_array()?.get(*index),
        })
    }

    pub fn table(&self) -> &DeTable<'t> {
        self.root.get_ref()
    }

    /// The integer at a top-level key, before anything else is read.
    pub fn integer(&self, key: &str) -> Option<i64> {
        self.get(&[Segment::Key(key)])?
            .get_ref()
            .as_integer()?
            .to_string()
            .parse()
            .ok()
    }

    /// Reads a value and reports every mistake; wrong parts are removed from the value.
    pub fn read<T: DeserializeOwned>(&self) -> (Option<T>, Vec<Mistake>) {
        let mut root = DeValue::Table(self.root.get_ref().clone());
        let mut faults = Vec::new();
        loop {
            let BadValue { message, span } = match T::deserialize(Place::new(&root, self.root.span())) {
                Ok(value) => return (Some(value), faults),
                Err(mistake) => mistake,
            };
            let span = span.unwrap_or(0..0);
            // Every round removes something, so this ends; a replacement that is itself wrong must not loop forever.
            let hopeless = span.is_empty();
            let mut path = Vec::new();
            let mode = if message.starts_with("unknown variant") {
                Mode::Whole
            } else {
                Mode::Entry
            };
            let cut = cut(&mut root, &span, mode, &mut path);
            faults.push(wording::mistake(&message, span.clone(), &path));
            if faults.len() == MOST {
                let title = format!("the file has {MOST} mistakes before here, and was not read further");
                faults.push(Mistake::new(span, title, MEND));
                return (None, faults);
            }
            if cut != Cut::Done || hopeless {
                return (None, faults);
            }
        }
    }
}

/// The part to remove when a key is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Entry,
    /// The enclosing table: an externally tagged value with an unknown tag.
    Whole,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    /// The place is not in this value.
    NotFound,
    Done,
    /// The parent must remove this value.
    Me,
}

/// Removes the value at `span` from `value`; `path` becomes its keys.
fn cut(value: &mut DeValue<'_>, span: &Range<usize>, mode: Mode, path: &mut Vec<String>) -> Cut {
    match value {
        DeValue::Table(table) => cut_table(table, span, mode, path),
        DeValue::Array(array) => {
            let mut found = None;
            for (index, element) in array.iter_mut().enumerate() {
                let cut = if element.span() == *span {
                    Cut::Me
                } else {
                    cut(element.get_mut(), span, mode, path)
                };
                if cut != Cut::NotFound {
                    found = Some((index, cut));
                    break;
                }
            }
            match found {
                None => Cut::NotFound,
                Some((index, Cut::Me)) => {
                    replace(array, index, path);
                    Cut::Done
                }
                Some((_, cut)) => cut,
            }
        }
        _ => Cut::NotFound,
    }
}

fn cut_table(table: &mut DeTable<'_>, span: &Range<usize>, mode: Mode, path: &mut Vec<String>) -> Cut {
    let mut doomed = None;
    for (key, value) in table.iter_mut() {
        let name = key.get_ref().to_string();
        if key.span() == *span {
            if mode == Mode::Whole {
                return Cut::Me;
            }
            doomed = Some((name, false));
            break;
        }
        path.push(name.clone());
        let cut = if value.span() == *span && !holds_tag(value.get_ref(), span) {
            Cut::Me
        } else {
            cut(value.get_mut(), span, mode, path)
        };
        match cut {
            Cut::Done => return Cut::Done,
            Cut::Me => {
                doomed = Some((name, true));
                break;
            }
            Cut::NotFound => {
                path.pop();
            }
        }
    }
    let Some((name, was_value)) = doomed else {
        return Cut::NotFound;
    };
    table.remove(name.as_str());
    // A table without its only value may have been a tag with options: without the tag it would be wrong again.
    if was_value && table.is_empty() {
        Cut::Me
    } else {
        Cut::Done
    }
}

/// True if the span is that of a nested key: tables made by dotted keys have the place of their key.
fn holds_tag(value: &DeValue<'_>, span: &Range<usize>) -> bool {
    match value {
        DeValue::Table(table) => table.iter().any(|(key, _)| key.span() == *span),
        _ => false,
    }
}

/// Removes a broken element. Phases, steps and other numbered elements are replaced by a harmless one, so that the
/// others keep their numbers.
fn replace(array: &mut toml::de::DeArray<'_>, index: usize, path: &[String]) {
    let harmless = match path.last().map(String::as_str) {
        Some("steps") => "{ pause = {} }",
        Some("phase" | "endpoint" | "axis" | "values" | "cell" | "exclude") => "{}",
        _ => {
            let all = array.clone().into_iter().enumerate();
            *array = all.filter(|(at, _)| *at != index).map(|(_, element)| element).collect();
            return;
        }
    };
    let stand_in = DeValue::parse(harmless).expect("a constant that parses").into_inner();
    if let Some(element) = array.get_mut(index) {
        *element = Spanned::new(0..0, stand_in);
    }
}
