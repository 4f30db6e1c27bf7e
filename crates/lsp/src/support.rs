//! The methods that a server supports: announced at the start, or registered later.

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::position::Encoding;
use crate::provider::Provider;

/// The capabilities that a server announced, as a JSON tree: typed structures of one protocol version miss some.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerCapabilities {
    tree: Value,
    pub name: Option<String>,
    pub version: Option<String>,
}

/// The kind of document synchronisation that a server wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    None,
    /// The full text at each change.
    Full,
    Incremental,
}

impl Sync {
    /// The first kind in the dynamic registrations of `didChange`.
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

/// The save notifications that a server wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Save {
    No,
    Yes,
    WithText,
}

impl Save {
    /// The setting in the dynamic registrations of `didSave`.
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
        let server = &result["serverInfo"];
        ServerCapabilities {
            tree: result["capabilities"].clone(),
            name: server["name"].as_str().map(str::to_owned),
            version: server["version"].as_str().map(str::to_owned),
        }
    }

    /// The server's position encoding. Older servers do not name one and use UTF-16.
    pub fn encoding(&self) -> Encoding {
        let name = self.tree["positionEncoding"]
            .as_str()
            .or_else(|| self.tree["offsetEncoding"].as_str());
        name.and_then(Encoding::from_name).unwrap_or_default()
    }

    /// The kind of document synchronisation: a number, or `change` of an object.
    pub fn sync(&self) -> Sync {
        let sync = &self.tree["textDocumentSync"];
        match sync.as_u64().or_else(|| sync["change"].as_u64()) {
            Some(1) => Sync::Full,
            Some(2) => Sync::Incremental,
            Some(_) | None => Sync::None,
        }
    }

    /// True if the server wants open and close notifications. The number form of the sync kind implies them.
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

    /// The provider of `diagnosticProvider`.
    pub(super) fn diagnostic_provider(&self) -> Option<Provider> {
        let options = &self.tree["diagnosticProvider"];
        if present(options) {
            Some(Provider::from_options(options))
        } else {
            None
        }
    }

    pub fn completion_triggers(&self) -> Vec<String> {
        texts(&self.tree["completionProvider"]["triggerCharacters"])
    }

    /// The characters after which the server formats.
    pub fn formatting_triggers(&self) -> Vec<String> {
        formatting_triggers(&self.tree["documentOnTypeFormattingProvider"])
    }
}

/// Where a method is announced, as a path into the capabilities. The first entry with a prefix is the one that
/// registers all of them.
const OFFERS: &[(&str, &str)] = &[
    ("textDocument/completion", "completionProvider"),
    ("completionItem/resolve", "completionProvider/resolveProvider"),
    ("textDocument/hover", "hoverProvider"),
    ("textDocument/signatureHelp", "signatureHelpProvider"),
    ("textDocument/declaration", "declarationProvider"),
    ("textDocument/definition", "definitionProvider"),
    ("textDocument/typeDefinition", "typeDefinitionProvider"),
    ("textDocument/implementation", "implementationProvider"),
    ("textDocument/references", "referencesProvider"),
    ("textDocument/documentHighlight", "documentHighlightProvider"),
    ("textDocument/documentSymbol", "documentSymbolProvider"),
    ("textDocument/codeAction", "codeActionProvider"),
    ("codeAction/resolve", "codeActionProvider/resolveProvider"),
    ("textDocument/codeLens", "codeLensProvider"),
    ("codeLens/resolve", "codeLensProvider/resolveProvider"),
    ("textDocument/documentLink", "documentLinkProvider"),
    ("textDocument/documentColor", "colorProvider"),
    ("textDocument/formatting", "documentFormattingProvider"),
    ("textDocument/rangeFormatting", "documentRangeFormattingProvider"),
    ("textDocument/onTypeFormatting", "documentOnTypeFormattingProvider"),
    ("textDocument/rename", "renameProvider"),
    ("textDocument/prepareRename", "renameProvider/prepareProvider"),
    ("textDocument/foldingRange", "foldingRangeProvider"),
    ("textDocument/selectionRange", "selectionRangeProvider"),
    ("textDocument/linkedEditingRange", "linkedEditingRangeProvider"),
    ("textDocument/prepareCallHierarchy", "callHierarchyProvider"),
    ("callHierarchy/incomingCalls", "callHierarchyProvider"),
    ("callHierarchy/outgoingCalls", "callHierarchyProvider"),
    ("textDocument/prepareTypeHierarchy", "typeHierarchyProvider"),
    ("typeHierarchy/supertypes", "typeHierarchyProvider"),
    ("typeHierarchy/subtypes", "typeHierarchyProvider"),
    ("textDocument/semanticTokens/full", "semanticTokensProvider/full"),
    ("textDocument/semanticTokens/range", "semanticTokensProvider/range"),
    (
        "textDocument/semanticTokens/full/delta",
        "semanticTokensProvider/full/delta",
    ),
    ("textDocument/inlayHint", "inlayHintProvider"),
    ("inlayHint/resolve", "inlayHintProvider/resolveProvider"),
    ("textDocument/inlineValue", "inlineValueProvider"),
    ("textDocument/moniker", "monikerProvider"),
    ("textDocument/diagnostic", "diagnosticProvider"),
    ("workspace/diagnostic", "diagnosticProvider/workspaceDiagnostics"),
    ("workspace/symbol", "workspaceSymbolProvider"),
    ("workspaceSymbol/resolve", "workspaceSymbolProvider/resolveProvider"),
    ("workspace/executeCommand", "executeCommandProvider"),
    (
        "workspace/didChangeWorkspaceFolders",
        "workspace/workspaceFolders/supported",
    ),
];

/// The methods whose dynamic registration covers other methods with a prefix, if it is not the method itself.
const COVERED: &[(&str, &str)] = &[
    ("callHierarchy/", "textDocument/prepareCallHierarchy"),
    ("typeHierarchy/", "textDocument/prepareTypeHierarchy"),
    ("textDocument/semanticTokens/", "textDocument/semanticTokens"),
];

fn provider_path(method: &str) -> Option<&'static str> {
    OFFERS.iter().find(|(name, _)| *name == method).map(|(_, path)| *path)
}

/// The methods that the options of a registration of `method` imply, for example `resolveProvider`.
pub(super) fn implied(method: &str, options: &Value) -> Vec<&'static str> {
    let Some(path) = provider_path(method) else {
        return Vec::new();
    };
    let mut methods = Vec::new();
    for (name, longer) in OFFERS {
        let option = longer.strip_prefix(path).and_then(|rest| rest.strip_prefix('/'));
        if option.is_some_and(|option| options[option] == true) {
            methods.push(*name);
        }
    }
    methods
}

/// True if the server supports `method`: announced at the start, or registered later.
///
/// Notifications about open documents follow the sync kind. Other notifications, and methods outside the protocol, are
/// never announced, so they count as supported.
pub fn offers(server: &ServerCapabilities, registrations: &[String], method: &str) -> bool {
    if registrations.iter().any(|known| known == method) {
        return true;
    }
    match method {
        "textDocument/didOpen" | "textDocument/didClose" => return server.open_close(),
        "textDocument/didChange" => return server.sync() != Sync::None,
        "textDocument/didSave" => return server.save() != Save::No,
        _other => {}
    }
    let Some(path) = provider_path(method) else { return true };
    let announced = path.split('/').fold(&server.tree, |tree, name| &tree[name]);
    let covering = COVERED.iter().find(|(start, _)| method.starts_with(start));
    present(announced) || covering.is_some_and(|(_, covering)| registrations.iter().any(|known| known == covering))
}

/// True if a server may still register an unannounced `method`, because the client capabilities `client` allow it.
pub fn may_register(client: &Value, method: &str) -> bool {
    // A resolve or follow-up method is registered with its main method.
    let provider = provider_path(method).and_then(|path| path.split('/').next());
    let belongs =
        provider.and_then(|provider| OFFERS.iter().find(|(_, path)| path.split('/').next() == Some(provider)));
    let method = belongs.map_or(method, |(name, _)| name);
    let (section, name) = method.split_once('/').unwrap_or_default();
    if !matches!(section, "textDocument" | "workspace") {
        return false;
    }
    let name = match name {
        "prepareCallHierarchy" => "callHierarchy",
        "prepareTypeHierarchy" => "typeHierarchy",
        "documentColor" => "colorProvider",
        name => name.split('/').next().unwrap_or(name),
    };
    client[section][name]["dynamicRegistration"] == Value::Bool(true)
}

/// `false` and null mean no; `true` and options, even empty ones, mean yes.
fn present(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

/// The characters in the options of formatting after a key.
pub(super) fn formatting_triggers(options: &Value) -> Vec<String> {
    let mut triggers: Vec<String> = options["firstTriggerCharacter"]
        .as_str()
        .map(str::to_owned)
        .into_iter()
        .collect();
    triggers.extend(texts(&options["moreTriggerCharacter"]));
    triggers
}

pub(super) fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}
