//! What a server supports: what it said at the start, and what it registered since.

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::lsp::position::Encoding;

/// The capabilities that a server announced, as it wrote them.
///
/// They are kept as a JSON tree: servers announce things that typed structures of any one version do not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerCapabilities {
    tree: Value,
    pub name: Option<String>,
    pub version: Option<String>,
}

/// How a server wants documents to be kept in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    None,
    /// The whole text at each change.
    Full,
    Incremental,
}

impl Sync {
    /// The first kind that dynamic registrations of `didChange` name.
    pub(super) fn registered(options: &[Value]) -> Sync {
        match options.iter().find_map(|options| options["syncKind"].as_u64()) {
            Some(1) => Sync::Full,
            Some(2) => Sync::Incremental,
            Some(_) | None => Sync::None,
        }
    }

    /// Its name in records and reports.
    pub fn name(self) -> &'static str {
        match self {
            Sync::None => "none",
            Sync::Full => "full",
            Sync::Incremental => "incremental",
        }
    }
}

/// Whether a server wants to hear of saves, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Save {
    No,
    Yes,
    WithText,
}

impl Save {
    /// What dynamic registrations of `didSave` ask for.
    pub(super) fn registered(options: &[Value]) -> Save {
        match options {
            [] => Save::No,
            some if some.iter().any(|options| options["includeText"] == Value::Bool(true)) => Save::WithText,
            _ => Save::Yes,
        }
    }
}

impl ServerCapabilities {
    pub fn from_result(result: &Value) -> ServerCapabilities {
        let said = |name: &str| result["serverInfo"][name].as_str().map(str::to_owned);
        ServerCapabilities {
            tree: result["capabilities"].clone(),
            name: said("name"),
            version: said("version"),
        }
    }

    /// The position encoding that the server chose. Servers older than the choice say nothing and mean UTF-16.
    pub fn encoding(&self) -> Encoding {
        let name = self.tree["positionEncoding"]
            .as_str()
            .or_else(|| self.tree["offsetEncoding"].as_str());
        name.and_then(Encoding::from_name).unwrap_or_default()
    }

    /// How documents are kept in step: a number, or `change` of an object.
    pub fn sync(&self) -> Sync {
        let sync = &self.tree["textDocumentSync"];
        match sync.as_u64().or_else(|| sync["change"].as_u64()) {
            Some(1) => Sync::Full,
            Some(2) => Sync::Incremental,
            Some(_) | None => Sync::None,
        }
    }

    /// Whether opens and closes are wanted. With the number form of the sync kind they are.
    pub fn open_close(&self) -> bool {
        let sync = &self.tree["textDocumentSync"];
        sync.as_u64().is_some_and(|kind| kind > 0) || sync["openClose"].as_bool().unwrap_or(false)
    }

    pub fn save(&self) -> Save {
        let sync = &self.tree["textDocumentSync"];
        let save = &sync["save"];
        if save["includeText"] == Value::Bool(true) {
            Save::WithText
        } else if save.is_object() || *save == Value::Bool(true) || sync.is_u64() {
            Save::Yes
        } else {
            Save::No
        }
    }

    pub fn completion_triggers(&self) -> Vec<String> {
        texts(&self.tree["completionProvider"]["triggerCharacters"])
    }
}

/// Where a method is announced, as a path into the capabilities, and the method whose dynamic registration
/// covers it when that is not its own name.
const OFFERS: &[(&str, &[&str], &str)] = &[
    ("textDocument/completion", &["completionProvider"], ""),
    ("completionItem/resolve", &["completionProvider", "resolveProvider"], ""),
    ("textDocument/hover", &["hoverProvider"], ""),
    ("textDocument/signatureHelp", &["signatureHelpProvider"], ""),
    ("textDocument/declaration", &["declarationProvider"], ""),
    ("textDocument/definition", &["definitionProvider"], ""),
    ("textDocument/typeDefinition", &["typeDefinitionProvider"], ""),
    ("textDocument/implementation", &["implementationProvider"], ""),
    ("textDocument/references", &["referencesProvider"], ""),
    ("textDocument/documentHighlight", &["documentHighlightProvider"], ""),
    ("textDocument/documentSymbol", &["documentSymbolProvider"], ""),
    ("textDocument/codeAction", &["codeActionProvider"], ""),
    ("codeAction/resolve", &["codeActionProvider", "resolveProvider"], ""),
    ("textDocument/codeLens", &["codeLensProvider"], ""),
    ("codeLens/resolve", &["codeLensProvider", "resolveProvider"], ""),
    ("textDocument/documentLink", &["documentLinkProvider"], ""),
    ("textDocument/documentColor", &["colorProvider"], ""),
    ("textDocument/formatting", &["documentFormattingProvider"], ""),
    ("textDocument/rangeFormatting", &["documentRangeFormattingProvider"], ""),
    (
        "textDocument/onTypeFormatting",
        &["documentOnTypeFormattingProvider"],
        "",
    ),
    ("textDocument/rename", &["renameProvider"], ""),
    ("textDocument/prepareRename", &["renameProvider", "prepareProvider"], ""),
    ("textDocument/foldingRange", &["foldingRangeProvider"], ""),
    ("textDocument/selectionRange", &["selectionRangeProvider"], ""),
    ("textDocument/linkedEditingRange", &["linkedEditingRangeProvider"], ""),
    ("textDocument/prepareCallHierarchy", &["callHierarchyProvider"], ""),
    (
        "callHierarchy/incomingCalls",
        &["callHierarchyProvider"],
        "textDocument/prepareCallHierarchy",
    ),
    (
        "callHierarchy/outgoingCalls",
        &["callHierarchyProvider"],
        "textDocument/prepareCallHierarchy",
    ),
    ("textDocument/prepareTypeHierarchy", &["typeHierarchyProvider"], ""),
    (
        "typeHierarchy/supertypes",
        &["typeHierarchyProvider"],
        "textDocument/prepareTypeHierarchy",
    ),
    (
        "typeHierarchy/subtypes",
        &["typeHierarchyProvider"],
        "textDocument/prepareTypeHierarchy",
    ),
    (
        "textDocument/semanticTokens/full",
        &["semanticTokensProvider", "full"],
        "textDocument/semanticTokens",
    ),
    (
        "textDocument/semanticTokens/range",
        &["semanticTokensProvider", "range"],
        "textDocument/semanticTokens",
    ),
    (
        "textDocument/semanticTokens/full/delta",
        &["semanticTokensProvider", "full", "delta"],
        "textDocument/semanticTokens",
    ),
    ("textDocument/inlayHint", &["inlayHintProvider"], ""),
    ("inlayHint/resolve", &["inlayHintProvider", "resolveProvider"], ""),
    ("textDocument/inlineValue", &["inlineValueProvider"], ""),
    ("textDocument/moniker", &["monikerProvider"], ""),
    ("textDocument/diagnostic", &["diagnosticProvider"], ""),
    (
        "workspace/diagnostic",
        &["diagnosticProvider", "workspaceDiagnostics"],
        "",
    ),
    ("workspace/symbol", &["workspaceSymbolProvider"], ""),
    (
        "workspaceSymbol/resolve",
        &["workspaceSymbolProvider", "resolveProvider"],
        "",
    ),
    ("workspace/executeCommand", &["executeCommandProvider"], ""),
    (
        "workspace/didChangeWorkspaceFolders",
        &["workspace", "workspaceFolders", "supported"],
        "",
    ),
];

/// Whether the server supports `method`: announced at the start, or registered since.
///
/// Notifications about open documents follow the sync kind; every other notification, and methods outside
/// the protocol, nobody announces, so they count as supported.
pub fn offers(server: &ServerCapabilities, registrations: &[String], method: &str) -> bool {
    let registered = |name: &str| registrations.iter().any(|known| known == name);
    if registered(method) {
        return true;
    }
    match method {
        "textDocument/didOpen" | "textDocument/didClose" => return server.open_close(),
        "textDocument/didChange" => return server.sync() != Sync::None,
        "textDocument/didSave" => return server.save() != Save::No,
        _other => {}
    }
    let Some((_, path, covering)) = OFFERS.iter().find(|(name, ..)| *name == method) else {
        return true;
    };
    let announced = path.iter().fold(&server.tree, |tree, name| &tree[*name]);
    present(announced) || registered(covering)
}

/// Whether a server that did not announce `method` may still register it, because the client said that it takes
/// registrations of it: `client` are the capabilities that it sent.
pub fn may_register(client: &Value, method: &str) -> bool {
    let (section, name) = method.split_once('/').unwrap_or_default();
    let section = match section {
        "textDocument" | "workspace" => section,
        // What resolves or follows is registered with what it belongs to.
        "callHierarchy" | "typeHierarchy" | "completionItem" | "codeAction" | "codeLens" | "inlayHint" => {
            "textDocument"
        }
        "workspaceSymbol" => "workspace",
        _ => return false,
    };
    let name = match (method, name) {
        ("workspace/diagnostic", _) => return may_register(client, "textDocument/diagnostic"),
        (_, "prepareCallHierarchy" | "incomingCalls" | "outgoingCalls") => "callHierarchy",
        (_, "prepareTypeHierarchy" | "supertypes" | "subtypes") => "typeHierarchy",
        (_, "prepareRename") => "rename",
        (_, "documentColor") => "colorProvider",
        ("completionItem/resolve", _) => "completion",
        ("codeAction/resolve" | "codeLens/resolve" | "inlayHint/resolve", _) => {
            method.split('/').next().unwrap_or(name)
        }
        ("workspaceSymbol/resolve", _) => "symbol",
        (_, name) => name.split('/').next().unwrap_or(name),
    };
    client[section][name]["dynamicRegistration"] == Value::Bool(true)
}

/// `false` and null are a no; `true` and options, even empty ones, are a yes.
fn present(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

pub(super) fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}
