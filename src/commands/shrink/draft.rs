//! A scenario as a tree of TOML values, so that any part of any step can be left out, also of steps that come later.

use std::collections::VecDeque;

use anyhow::Context;
use toml_edit::{DocumentMut, InlineTable, Key, Value};

use crate::config::Scenario;

/// The line before the text of each file in a record and in a loaded scenario.
const FILE: &str = "# file: ";

/// Keys of a workspace that say where it is fetched from.
const ORIGINS: [&str; 8] = ["pypi", "npm", "crate", "git", "rev", "archive", "sha256", "setup"];

#[derive(Clone, Debug)]
pub struct Draft {
    root: InlineTable,
}

/// A step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    Key(String),
    Index(usize),
}

pub type Path = Vec<Segment>;

impl Draft {
    /// The scenario of these texts, each with a line that names its file, without includes and comments. `scenario` is what
    /// they were read as.
    pub fn from_texts(texts: &str, scenario: &Scenario) -> anyhow::Result<Draft> {
        let names: Vec<String> = scenario.phases.iter().map(|phase| phase.name.clone()).collect();
        Draft::from_recorded(texts, &names)
    }

    /// The scenario of a record, which has the names of its phases.
    pub fn from_recorded(texts: &str, phases: &[String]) -> anyhow::Result<Draft> {
        let mut files = split(texts)?;
        let mut root = flattened(&mut files)?;
        for (phase, name) in phases_mut(&mut root).into_iter().zip(phases) {
            phase.insert("name", Value::from(name.as_str()));
        }
        // The description is of the whole scenario.
        root.remove("description");
        Ok(Draft { root })
    }

    /// Opens this directory, whatever the scenario says.
    pub fn set_workspace(&mut self, path: &std::path::Path, language: &str, pattern: &str) {
        let mut workspace = match self.root.remove("workspace") {
            Some(Value::InlineTable(workspace)) => workspace,
            _ => InlineTable::new(),
        };
        for key in ORIGINS {
            workspace.remove(key);
        }
        workspace.remove("isolation");
        workspace.insert("path", Value::from(path.display().to_string()));
        workspace.insert("language", Value::from(language));
        workspace.insert("files", Value::from(pattern));
        self.root.insert("workspace", Value::InlineTable(workspace));
    }

    /// The directory is another one.
    pub fn with_workspace_path(&self, path: &str) -> Draft {
        let mut draft = self.clone();
        draft.set(
            &[Segment::Key("workspace".to_owned()), Segment::Key("path".to_owned())],
            Value::from(path),
        );
        draft
    }

    pub fn set_seed(&mut self, seed: u64) {
        if seed != 1 {
            self.root.insert("seed", Value::from(i64::try_from(seed).unwrap_or(1)));
        }
    }

    /// The children of a value, with their paths.
    pub fn children(&self, path: &[Segment]) -> Vec<(Path, &Value)> {
        let mut children = Vec::new();
        let here = match self.value(path) {
            _ if path.is_empty() => Some(&self.root),
            Some(Value::InlineTable(table)) => Some(table),
            Some(Value::Array(array)) => {
                for (index, value) in array.iter().enumerate() {
                    children.push((below(path, Segment::Index(index)), value));
                }
                None
            }
            Some(_) | None => None,
        };
        for (key, value) in here.into_iter().flatten() {
            children.push((below(path, Segment::Key(key.to_owned())), value));
        }
        children
    }

    pub fn value(&self, path: &[Segment]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        let Segment::Key(key) = first else { return None };
        let mut value = self.root.get(key)?;
        for segment in rest {
            value = match (segment, value) {
                (Segment::Key(key), Value::InlineTable(table)) => table.get(key)?,
                (Segment::Index(index), Value::Array(array)) => array.get(*index)?,
                _ => return None,
            };
        }
        Some(value)
    }

    fn value_mut(&mut self, path: &[Segment]) -> Option<&mut Value> {
        let (first, rest) = path.split_first()?;
        let Segment::Key(key) = first else { return None };
        let mut value = self.root.get_mut(key)?;
        for segment in rest {
            value = match (segment, value) {
                (Segment::Key(key), Value::InlineTable(table)) => table.get_mut(key)?,
                (Segment::Index(index), Value::Array(array)) => array.get_mut(*index)?,
                _ => return None,
            };
        }
        Some(value)
    }

    pub fn remove(&mut self, path: &[Segment]) {
        let Some((last, parent)) = path.split_last() else {
            return;
        };
        match (last, parent, self.value_mut(parent)) {
            (Segment::Key(key), [], _) => {
                self.root.remove(key);
            }
            (Segment::Key(key), _, Some(Value::InlineTable(table))) => {
                table.remove(key);
            }
            (Segment::Index(index), _, Some(Value::Array(array))) if *index < array.len() => {
                array.remove(*index);
            }
            _ => {}
        }
    }

    /// Sets a key of a table that is there.
    pub fn set(&mut self, path: &[Segment], value: Value) {
        let Some((Segment::Key(key), parent)) = path.split_last() else {
            return;
        };
        if let Some(Value::InlineTable(table)) = self.value_mut(parent) {
            table.insert(key, value);
        }
    }

    /// Leaves out the phases that have no steps any more.
    pub fn remove_empty_phases(&mut self) {
        if let Some(Value::Array(phases)) = self.root.get_mut("phase") {
            phases.retain(|phase| {
                let steps = phase.as_inline_table().and_then(|phase| phase.get("steps"));
                steps.and_then(Value::as_array).is_none_or(|steps| !steps.is_empty())
            });
        }
    }

    /// The scenario as a file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.root {
            if key != "phase" {
                push_line(&mut text, key, value);
            }
        }
        for (path, _) in self.children(&[Segment::Key("phase".to_owned())]) {
            text.push_str("\n[[phase]]\n");
            for (child, value) in self.children(&path) {
                if let Some(Segment::Key(key)) = child.last() {
                    push_line(&mut text, key, value);
                }
            }
        }
        text
    }
}

fn push_line(text: &mut String, key: &str, value: &Value) {
    let mut value = value.clone();
    clean(&mut value);
    text.push_str(&format!("{} = {}\n", Key::new(key), value.to_string().trim()));
}

pub fn below(path: &[Segment], last: Segment) -> Path {
    let mut path = path.to_vec();
    path.push(last);
    path
}

/// Removes comments and spaces.
fn clean(value: &mut Value) {
    match value {
        Value::Array(array) => {
            for inner in array.iter_mut() {
                clean(inner);
            }
            array.fmt();
        }
        Value::InlineTable(table) => {
            for (_, inner) in table.iter_mut() {
                clean(inner);
            }
            table.fmt();
        }
        _ => {}
    }
    value.decor_mut().clear();
}

/// The files of these texts, as tables of values.
fn split(texts: &str) -> anyhow::Result<VecDeque<InlineTable>> {
    let mut files: Vec<String> = Vec::new();
    for line in texts.lines() {
        match files.last_mut() {
            _ if line.starts_with(FILE) => files.push(String::new()),
            None => files.push(format!("{line}\n")),
            Some(file) => {
                file.push_str(line);
                file.push('\n');
            }
        }
    }
    let mut tables = VecDeque::new();
    for file in files {
        let document: DocumentMut = file.parse().context("the scenario of the record is not TOML")?;
        tables.push_back(document.as_table().clone().into_inline_table());
    }
    Ok(tables)
}

/// The first file with what it includes, as [`crate::config`] merges them: each file comes before those that it includes.
fn flattened(files: &mut VecDeque<InlineTable>) -> anyhow::Result<InlineTable> {
    let mut own = files
        .pop_front()
        .context("the text of an included scenario is missing")?;
    let includes = own.remove("include").and_then(|names| Some(names.as_array()?.len()));
    let Some(includes) = includes else { return Ok(own) };
    let mut phases: Vec<InlineTable> = take_phases(&mut own);
    let leads = phases.first().is_some_and(starts_server);
    let tail = phases.split_off(usize::from(leads));
    for _ in 0..includes {
        let mut part = flattened(files)?;
        for mut phase in take_phases(&mut part) {
            fill_settle(&mut phase, part.get("settle"));
            phases.push(phase);
        }
        if let (None, Some(workspace)) = (own.get("workspace"), part.remove("workspace")) {
            own.insert("workspace", workspace);
        }
    }
    phases.extend(tail);
    own.insert("phase", Value::Array(keep_one_start(phases).into_iter().collect()));
    Ok(own)
}

fn phases_mut(root: &mut InlineTable) -> Vec<&mut InlineTable> {
    let phases = root.get_mut("phase").and_then(Value::as_array_mut);
    let values = phases.into_iter().flat_map(|phases| phases.iter_mut());
    values.filter_map(Value::as_inline_table_mut).collect()
}

fn take_phases(scenario: &mut InlineTable) -> Vec<InlineTable> {
    match scenario.remove("phase") {
        Some(Value::Array(phases)) => phases
            .into_iter()
            .filter_map(|phase| phase.as_inline_table().cloned())
            .collect(),
        _ => Vec::new(),
    }
}

fn is_start(step: &Value) -> bool {
    step.as_inline_table().is_some_and(|step| step.contains_key("start"))
}

fn starts_server(phase: &InlineTable) -> bool {
    let steps = phase.get("steps").and_then(Value::as_array);
    steps.is_some_and(|steps| steps.iter().any(is_start))
}

fn keep_one_start(phases: Vec<InlineTable>) -> Vec<InlineTable> {
    let mut is_started = false;
    let mut kept = Vec::new();
    for mut phase in phases {
        let starts = starts_server(&phase);
        if is_started && let Some(steps) = phase.get_mut("steps").and_then(Value::as_array_mut) {
            steps.retain(|step| !is_start(step));
            if steps.is_empty() {
                continue;
            }
        }
        is_started |= starts;
        kept.push(phase);
    }
    kept
}

fn fill_settle(phase: &mut InlineTable, under: Option<&Value>) {
    let Some(under) = under.and_then(Value::as_inline_table) else {
        return;
    };
    let mut settle = under.clone();
    if let Some(own) = phase.get("settle").and_then(Value::as_inline_table) {
        settle.extend(own.iter().map(|(key, value)| (key.to_owned(), value.clone())));
    }
    phase.insert("settle", Value::InlineTable(settle));
}
