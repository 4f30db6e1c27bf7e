//! The start of a recorded session: the `initialize` of its editor, and the editor's answers.

mod mapping;

use lsp::{Answers, RecordedAnswer};
use serde_json::Value;

use crate::config::recorded::Recorded;

use super::{Job, uri};

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
    keep_own_folders(&mut params["workspaceFolders"], job);
    Some(params)
}

/// Leaves out folders of the recorded session that are not in the copy of the workspace: a server might write there.
pub fn keep_own_folders(folders: &mut Value, job: &Job) {
    let own = uri::from_path(&job.root);
    if let Some(folders) = folders.as_array_mut() {
        folders.retain(|folder| {
            let rest = folder["uri"].as_str().and_then(|uri| uri.strip_prefix(own.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
    }
}

/// The recorded editor's answers; whatever it was not asked is answered as usual.
pub fn answers(recorded: &Recorded, job: &Job, usual: Answers) -> Answers {
    let mapping = mapping(recorded, job);
    let (mut answers, mut sections) = (usual, Vec::new());
    for answered in &recorded.answers {
        let (params, result) = (mapping.moved(&answered.params), mapping.moved(&answered.result));
        if answered.method == CONFIGURATION {
            sections.extend(settings(&params, result));
        } else {
            answers.recorded.push(RecordedAnswer {
                method: answered.method.clone(),
                params,
                result,
            });
        }
    }
    // A section without a value says nothing of those below it.
    sections.sort_by_key(|(section, _)| section.split('.').filter(|key| !key.is_empty()).count());
    for (section, value) in sections {
        set(&mut answers.settings, &section, value);
    }
    answers
}

/// The sections and values in the answer to a `workspace/configuration`.
fn settings(params: &Value, result: Value) -> Vec<(String, Value)> {
    let Value::Array(values) = result else {
        return Vec::new();
    };
    let items = params["items"].as_array().into_iter().flatten();
    let sections = items.map(|item| item["section"].as_str().unwrap_or_default().to_owned());
    sections.zip(values).collect()
}

/// Sets the value of a dotted section of a tree.
fn set(tree: &mut Value, section: &str, value: Value) {
    let mut place = tree;
    for key in section.split('.').filter(|key| !key.is_empty()) {
        if !place.is_object() {
            *place = Value::Null;
        }
        // Makes an object of null.
        place = &mut place[key];
    }
    *place = value;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::recorded::Root;

    #[test]
    fn sections_that_were_asked_for_one_by_one_make_one_tree() {
        let mut tree = json!({ "a": { "old": 1 }, "mine": true });
        let params = json!({ "items": [{ "section": "a" }, { "section": "a.b" }, { "section": "c" }] });
        for (section, value) in settings(&params, json!([null, { "x": 1 }, [2]])) {
            set(&mut tree, &section, value);
        }
        assert_eq!(tree, json!({ "a": { "b": { "x": 1 } }, "c": [2], "mine": true }));
    }

    #[test]
    fn paths_and_uris_below_the_recorded_workspace_are_moved_and_nothing_else() {
        let root = Root {
            uris: vec!["file:///home/a%20b".to_owned()],
            paths: Vec::new(),
        };
        let mapping = Mapping::new(&root, std::path::Path::new("/copy"));
        let moved = mapping.moved(&json!({
            "uri": "file:///home/a%20b/x.py", "root": "file:///home/a%20b", "path": "/home/a b/y", "other": "/home/a bc",
            "file:///home/a%20b/k": ["file:///home/a%20bc", 1],
        }));
        let expected = json!({
            "uri": "file:///copy/x.py", "root": "file:///copy", "path": "/copy/y", "other": "/home/a bc",
            "file:///copy/k": ["file:///home/a%20bc", 1],
        });
        assert_eq!(moved, expected);
    }
}
