//! Placeholders in raw parameters: `${uri}`, `${file}`, `${position}`, `${workspace}` and `${workspace-uri}`.

use serde_json::Value;

/// Number of times that a template must be sent to use all its placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// It does not depend on the document.
    Once,
    Document,
    /// It contains a position in a document.
    Position,
}

impl Scope {
    /// True if there must be an open document.
    pub fn needs_open(self) -> bool {
        self > Scope::Once
    }
}

#[derive(Clone, Debug, Default)]
pub struct Values {
    pub uri: String,
    pub file: String,
    /// LSP position: line and character.
    pub position: (u32, u32),
    pub workspace: String,
    pub workspace_uri: String,
}

pub const PLACEHOLDERS: [&str; 5] = ["uri", "file", "position", "workspace", "workspace-uri"];

/// Number of times that `template` must be sent.
pub fn scope(template: &Value) -> Scope {
    let mut widest = Scope::Once;
    each_placeholder(template, &mut |name| {
        widest = widest.max(match name {
            "position" => Scope::Position,
            "uri" | "file" => Scope::Document,
            _ => Scope::Once,
        });
    });
    widest
}

/// Unknown placeholders in `template`.
pub fn unknown(template: &Value) -> Vec<String> {
    let mut names = Vec::new();
    each_placeholder(template, &mut |name| {
        if !PLACEHOLDERS.contains(&name) {
            names.push(name.to_owned());
        }
    });
    names
}

/// The template with values in place of placeholders. A string that is exactly `${position}` becomes an object.
pub fn fill(template: &Value, values: &Values) -> Value {
    let (line, character) = values.position;
    match template {
        Value::String(text) if text == "${position}" => serde_json::json!({ "line": line, "character": character }),
        Value::String(text) => Value::String(
            text.replace("${uri}", &values.uri)
                .replace("${file}", &values.file)
                .replace("${position}", &format!("{}:{}", line + 1, character + 1))
                .replace("${workspace}", &values.workspace)
                .replace("${workspace-uri}", &values.workspace_uri),
        ),
        Value::Array(items) => Value::Array(items.iter().map(|item| fill(item, values)).collect()),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(key, value)| (key.clone(), fill(value, values)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    }
}

fn each_placeholder(template: &Value, found: &mut impl FnMut(&str)) {
    match template {
        Value::String(text) => {
            for part in text.split("${").skip(1) {
                if let Some((name, _)) = part.split_once('}') {
                    found(name);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_placeholder(item, found)),
        Value::Object(members) => members.values().for_each(|value| each_placeholder(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_filled_at_any_depth_and_a_lone_position_is_an_object() {
        let values = Values {
            uri: "file:///w/a.py".to_owned(),
            file: "/w/a.py".to_owned(),
            position: (2, 7),
            workspace: "/w".to_owned(),
            workspace_uri: "file:///w".to_owned(),
        };
        let template = json!({
            "textDocument": { "uri": "${uri}" },
            "position": "${position}",
            "arguments": ["${file}:${position}", 3, true, null, "in ${workspace} or ${workspace-uri}"],
        });
        assert_eq!(
            fill(&template, &values),
            json!({
                "textDocument": { "uri": "file:///w/a.py" },
                "position": { "line": 2, "character": 7 },
                "arguments": ["/w/a.py:3:8", 3, true, null, "in /w or file:///w"],
            })
        );
    }

    #[test]
    fn the_widest_placeholder_decides_how_often_it_is_sent() {
        assert_eq!(scope(&json!({ "query": "${workspace}" })), Scope::Once);
        assert_eq!(scope(&json!({ "uri": "${uri}" })), Scope::Document);
        assert_eq!(scope(&json!(["${uri}", { "at": "${position}" }])), Scope::Position);
    }

    #[test]
    fn placeholders_that_mean_nothing_are_found() {
        assert_eq!(unknown(&json!(["${uri}", "${path}", "$HOME ${"])), ["path"]);
    }
}
