//! The directory that a session was recorded in.

use serde_json::Value;

/// The directory of a session, in the ways in which its messages write it. Empty where it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Root {
    pub uris: Vec<String>,
    pub paths: Vec<String>,
}

impl Root {
    /// The directory that `initialize` names.
    pub fn of_initialize(params: &Value) -> Root {
        let mut root = Root::default();
        let folders = params["workspaceFolders"].as_array();
        let first = folders.and_then(|folders| folders.first()).map(|folder| &folder["uri"]);
        for uri in [Some(&params["rootUri"]), first].into_iter().flatten() {
            if let Some(uri) = uri.as_str().map(trimmed).filter(|uri| !uri.is_empty())
                && !root.uris.contains(&uri)
            {
                root.uris.push(uri);
            }
        }
        root.paths.extend(params["rootPath"].as_str().map(trimmed));
        root.paths.retain(|path| !path.is_empty());
        root
    }

    pub fn is_known(&self) -> bool {
        !self.uris.is_empty() || !self.paths.is_empty()
    }
}

/// A path or URI without a slash at its end.
fn trimmed(text: &str) -> String {
    text.trim_end_matches(['/', '\\']).to_owned()
}
