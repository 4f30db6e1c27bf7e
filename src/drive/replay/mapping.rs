//! Moves what was recorded in one directory to another: rewrites paths and URIs.

use std::path::Path;

use serde_json::Value;

use crate::config::recorded::Root;
use crate::drive::uri;

/// The texts that begin with a recorded root, and what they begin with instead.
#[derive(Clone, Debug, Default)]
pub struct Mapping(Vec<(String, String)>);

impl Mapping {
    /// From a recorded directory to one of this machine.
    pub fn new(root: &Root, to: &Path) -> Mapping {
        let (mut texts, uri, path) = (Vec::new(), uri::from_path(to), to.display().to_string());
        for old in &root.uris {
            texts.push((old.clone(), uri.clone()));
            // Settings and arguments of commands have paths, also where `rootPath` was left out.
            if let Some(old) = uri::to_path(old) {
                texts.push((old.display().to_string(), path.clone()));
            }
        }
        for old in &root.paths {
            texts.push((old.clone(), path.clone()));
        }
        Mapping(texts)
    }

    /// The value with every path and URI below the recorded root moved.
    pub fn moved(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.moved_text(text)),
            Value::Array(values) => Value::Array(values.iter().map(|value| self.moved(value)).collect()),
            Value::Object(members) => {
                let members = members.iter();
                Value::Object(
                    members
                        .map(|(key, value)| (self.moved_text(key), self.moved(value)))
                        .collect(),
                )
            }
            other => other.clone(),
        }
    }

    fn moved_text(&self, text: &str) -> String {
        for (old, new) in &self.0 {
            if let Some(rest) = text.strip_prefix(old.as_str())
                && (rest.is_empty() || rest.starts_with(['/', '\\', '?', '#']))
            {
                return format!("{new}{rest}");
            }
        }
        text.to_owned()
    }
}
