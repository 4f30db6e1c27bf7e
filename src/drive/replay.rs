//! What a server is started with to play a recorded session: the `initialize` of its editor, and what that answered.

mod mapping;

use lsp::{Answers, RecordedAnswer};
use serde_json::{Map, Value};

use crate::config::recorded::Recorded;

use super::Job;

pub use mapping::Mapping;

const CONFIGURATION: &str = "workspace/configuration";

/// Moves what was recorded to the workspace of the run.
pub fn mapping(recorded: &Recorded, job: &Job) -> Mapping {
    Mapping::new(&recorded.root, &job.root)
}

/// The parameters of `initialize` as the editor sent them, in the workspace of the run; `None` if only sizes were recorded.
pub fn initialize(recorded: &Recorded, job: &Job) -> Option<Value> {
    let mut params = mapping(recorded, job).moved(recorded.initialize.as_ref()?);
    // The server ends when this process does.
    params["processId"] = std::process::id().into();
    Some(params)
}

/// What the editor answered; whatever it was not asked is answered as usual.
pub fn answers(recorded: &Recorded, job: &Job, usual: Answers) -> Answers {
    let mapping = mapping(recorded, job);
    let mut answers = usual;
    let mut settings = Value::Null;
    for answered in &recorded.answers {
        let (params, result) = (mapping.moved(&answered.params), mapping.moved(&answered.result));
        if answered.method == CONFIGURATION {
            add_settings(&mut settings, &params, result);
        } else {
            answers.recorded.push(RecordedAnswer {
                method: answered.method.clone(),
                params,
                result,
            });
        }
    }
    if !settings.is_null() {
        answers.settings = settings;
    }
    answers
}

/// Adds the answer to a `workspace/configuration` to a tree that dotted sections are read from.
fn add_settings(tree: &mut Value, params: &Value, result: Value) {
    let Value::Array(values) = result else { return };
    let items = params["items"].as_array().into_iter().flatten();
    for (item, value) in items.zip(values) {
        let section = item["section"].as_str().unwrap_or_default();
        let mut place = &mut *tree;
        for key in section.split('.').filter(|key| !key.is_empty()) {
            place = members(place).entry(key).or_insert(Value::Null);
        }
        match value {
            Value::Object(new) => members(place).extend(new),
            // An empty section says nothing of those below it.
            Value::Null => {}
            other => *place = other,
        }
    }
}

/// The members of an object, which replaces whatever is there instead.
fn members(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(members) => members,
        _ => unreachable!("it was made an object above"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::recorded::Root;

    #[test]
    fn sections_that_were_asked_for_one_by_one_make_one_tree() {
        let mut tree = Value::Null;
        let params = json!({ "items": [{ "section": "a.b" }, { "section": "a" }, { "section": "c" }] });
        add_settings(&mut tree, &params, json!([{ "x": 1 }, { "y": [2] }, null]));
        add_settings(
            &mut tree,
            &json!({ "items": [{}, { "section": "a.z" }] }),
            json!([{ "d": 3 }, true]),
        );
        assert_eq!(
            tree,
            json!({ "a": { "b": { "x": 1 }, "y": [2], "z": true }, "d": 3, "c": null })
        );
    }

    #[test]
    fn paths_and_uris_below_the_recorded_workspace_are_moved_and_nothing_else() {
        let root = Root {
            uris: vec!["file:///home/a%20b".to_owned()],
            paths: Vec::new(),
        };
        let mapping = Mapping::new(&root, std::path::Path::new("/work"));
        let moved = mapping.moved(&json!({
            "uri": "file:///home/a%20b/x.py", "root": "file:///home/a%20b", "path": "/home/a b/y", "other": "/home/a bc",
            "file:///home/a%20b/k": ["file:///home/a%20bc", 1],
        }));
        let expected = json!({
            "uri": "file:///work/x.py", "root": "file:///work", "path": "/work/y", "other": "/home/a bc",
            "file:///work/k": ["file:///home/a%20bc", 1],
        });
        assert_eq!(moved, expected);
    }
}
