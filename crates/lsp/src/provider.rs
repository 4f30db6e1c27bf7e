//! The providers of pulled diagnostics that a server has: one that it announces, and any number that it registers.

use globset::Glob;
use lsp_types::Url;
use serde_json::Value;

/// A provider of diagnostics that can be pulled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provider {
    /// The name by which the server tells the diagnostics of this provider from others; absent for most.
    pub identifier: Option<String>,
    /// True if a change of one document changes the diagnostics of others.
    pub inter_file: bool,
    /// True if it answers `workspace/diagnostic`.
    pub workspace: bool,
    /// `documentSelector`; null for all documents.
    selector: Value,
}

impl Provider {
    /// The provider of `diagnosticProvider`, or of the options of a registration.
    pub(super) fn from_options(options: &Value) -> Provider {
        Provider {
            identifier: options["identifier"].as_str().map(str::to_owned),
            inter_file: options["interFileDependencies"] == true,
            workspace: options["workspaceDiagnostics"] == true,
            selector: options["documentSelector"].clone(),
        }
    }

    /// True if it has diagnostics of a document in this language.
    pub fn covers(&self, uri: &str, language: &str) -> bool {
        match &self.selector {
            Value::Array(filters) => filters.iter().any(|filter| is_met(filter, uri, language)),
            _absent => true,
        }
    }
}

/// True if a document meets a filter: the name of a language, or an object each of whose members must hold.
fn is_met(filter: &Value, uri: &str, language: &str) -> bool {
    if let Some(name) = filter.as_str() {
        return is_name(name, language);
    }
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let pattern = &filter["pattern"];
    // A relative pattern is an object with its base beside it.
    let pattern = pattern.as_str().or_else(|| pattern["pattern"].as_str());
    filter["language"].as_str().is_none_or(|name| is_name(name, language))
        && filter["scheme"].as_str().is_none_or(|name| is_name(name, scheme))
        && pattern.is_none_or(|pattern| is_path(pattern, uri))
}

fn is_name(wanted: &str, name: &str) -> bool {
    wanted == "*" || wanted == name
}

/// True if the path of a document matches. A pattern that cannot be read matches all, as it does for file watchers.
fn is_path(pattern: &str, uri: &str) -> bool {
    let path = Url::parse(uri).ok().and_then(|url| url.to_file_path().ok());
    match (Glob::new(pattern), path) {
        (Ok(glob), Some(path)) => glob.compile_matcher().is_match(path),
        _unreadable => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_selector_says_which_documents_a_provider_covers() {
        for (selector, is_covered) in [
            (Value::Null, true),
            (json!(["typescript"]), true),
            (json!(["*"]), true),
            (
                json!([{ "language": "python" }, { "language": "typescript", "scheme": "file" }]),
                true,
            ),
            (json!([{ "pattern": "**/*.ts" }]), true),
            (json!([]), false),
            (json!(["python"]), false),
            (json!([{ "language": "typescript", "scheme": "untitled" }]), false),
            (json!([{ "pattern": "**/*.py" }]), false),
        ] {
            let provider = Provider::from_options(&json!({ "documentSelector": selector }));
            let covers = provider.covers("file:///w/src/a.ts", "typescript");
            assert_eq!(covers, is_covered, "{selector}");
        }
    }
}
