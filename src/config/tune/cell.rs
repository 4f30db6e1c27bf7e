//! One setting of a sweep: its changes to a server, and its label.

use std::collections::BTreeMap;

use serde_json::Value;

use super::file::ValueEntry;
use crate::config::is_file_name;
use record::Preload;
use record::leaves;
use record::variables::{separator, with_added_entries};

/// The label of the unchanged server.
pub const DEFAULT: &str = "default";

const LONGEST: usize = 64;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pub label: String,
    /// The allocator to preload, instead of the server's own option.
    pub preload: Option<Preload>,
    pub env: BTreeMap<String, String>,
    pub args: Vec<String>,
    pub settings: Option<Value>,
    pub init_options: Option<Value>,
    /// Processors of the server; empty for all.
    pub cpus: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict(pub String);

impl Cell {
    /// A cell that sets one variable.
    pub fn variable(label: &str, name: &str, value: &str) -> Cell {
        Cell {
            label: label.to_owned(),
            env: [(name.to_owned(), value.to_owned())].into(),
            ..Cell::default()
        }
    }

    /// True if both make the same changes, whatever their labels.
    pub fn sets_as(&self, other: &Cell) -> bool {
        let unnamed = |cell: &Cell| Cell {
            label: String::new(),
            ..cell.clone()
        };
        unnamed(self) == unnamed(other)
    }

    pub fn is_default(&self) -> bool {
        self.sets_as(&Cell::default())
    }

    /// The combined changes and labels of both.
    pub fn combined_with(&self, other: &Cell) -> Result<Cell, Conflict> {
        let mut both = self.clone();
        for (name, value) in &other.env {
            let value = match both.env.get(name) {
                None => value.clone(),
                Some(own) => with_added_entries(name, own, value).ok_or_else(|| Conflict(format!("`{name}`")))?,
            };
            both.env.insert(name.clone(), value);
        }
        both.args.extend(other.args.iter().cloned());
        both.settings = merged(&self.settings, &other.settings).map_err(|key| Conflict(format!("setting `{key}`")))?;
        both.init_options = merged(&self.init_options, &other.init_options)
            .map_err(|key| Conflict(format!("initialization option `{key}`")))?;
        match (&self.preload, &other.preload) {
            (Some(_), Some(_)) => return Err(Conflict("`preload`".to_owned())),
            (None, Some(preload)) => both.preload = Some(preload.clone()),
            (_, None) => {}
        }
        match (self.cpus.is_empty(), other.cpus.is_empty()) {
            (false, false) => return Err(Conflict("`cpus`".to_owned())),
            (true, _) => both.cpus.clone_from(&other.cpus),
            (false, true) => {}
        }
        let labels = [self.label.as_str(), other.label.as_str()];
        let labels: Vec<&str> = labels.into_iter().filter(|label| !label.is_empty()).collect();
        both.label = labels.join(".");
        Ok(both)
    }
}

/// Merges two objects by member; an error names a member with two different values.
fn merged(one: &Option<Value>, other: &Option<Value>) -> Result<Option<Value>, String> {
    let (Some(one), Some(other)) = (one, other) else {
        return Ok(one.clone().or(other.clone()));
    };
    let mut both = one.clone();
    let mut clash = None;
    overlay(&mut both, other, "", &mut |path| clash = Some(path.to_owned()));
    match clash {
        Some(path) => Err(path),
        None => Ok(Some(both)),
    }
}

/// Merges `other` into `value` by member. Reports replaced values.
pub fn overlay(value: &mut Value, other: &Value, path: &str, replaced: &mut dyn FnMut(&str)) {
    match (value, other) {
        (Value::Object(members), Value::Object(others)) => {
            for (name, other) in others {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                match members.get_mut(name) {
                    Some(own) => overlay(own, other, &path, replaced),
                    None => {
                        members.insert(name.clone(), other.clone());
                    }
                }
            }
        }
        (value, other) if *value != *other => {
            *value = other.clone();
            replaced(path);
        }
        _ => {}
    }
}

/// The shortest label for the settings of an entry.
pub fn label_of(entry: &ValueEntry) -> String {
    let mut words: Vec<String> = Vec::new();
    if let Some(preload) = &entry.preload {
        let name = preload.suffix();
        words.push(if name.is_empty() { preload.to_string() } else { name });
    }
    for (name, value) in &entry.env {
        words.push(match separator(name) {
            // The pairs of a list name their own options.
            Some(_) => value.clone(),
            None => format!("{name}-{value}"),
        });
    }
    words.extend(entry.args.iter().cloned());
    for value in [&entry.settings, &entry.init_options].into_iter().flatten() {
        leaves(value, "", &mut |path, value| words.push(format!("{path}-{value}")));
    }
    words.extend(entry.cpus.as_ref().map(|cpus| format!("cpus-{cpus}")));
    let label = words.iter().map(|word| safe(word)).collect::<Vec<String>>().join(".");
    cut(&label, LONGEST)
}

/// The text without characters that are invalid in file names.
fn safe(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c.is_ascii_alphanumeric() || "_.".contains(c) {
            true => safe.push(c),
            false if safe.ends_with('-') || safe.is_empty() => {}
            false => safe.push('-'),
        }
    }
    safe.trim_matches(['-', '.', '_']).to_owned()
}

fn cut(text: &str, longest: usize) -> String {
    let cut: String = text.chars().take(longest).collect();
    cut.trim_end_matches(['-', '.', '_']).to_owned()
}

/// The label, or its first numbered variant that is unused and a valid file name.
pub fn unlike(label: &str, taken: impl Fn(&str) -> bool) -> String {
    let first = cut(label, LONGEST);
    if is_file_name(&first) && !taken(&first) {
        return first;
    }
    let numbered = (2_u32..).map(|number| format!("{}-{number}", cut(&first, LONGEST - 5)));
    let mut fit = numbered.filter(|label| is_file_name(label) && !taken(label));
    fit.next().unwrap_or_default()
}
