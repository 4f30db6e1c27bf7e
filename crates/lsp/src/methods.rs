//! The methods that the LSP specification has.

/// Requests and notifications of LSP 3.17 and 3.18, in order.
const METHODS: [&str; 95] = [
    "$/cancelRequest",
    "$/logTrace",
    "$/progress",
    "$/setTrace",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "client/registerCapability",
    "client/unregisterCapability",
    "codeAction/resolve",
    "codeLens/resolve",
    "completionItem/resolve",
    "documentLink/resolve",
    "exit",
    "initialize",
    "initialized",
    "inlayHint/resolve",
    "notebookDocument/didChange",
    "notebookDocument/didClose",
    "notebookDocument/didOpen",
    "notebookDocument/didSave",
    "shutdown",
    "telemetry/event",
    "textDocument/codeAction",
    "textDocument/codeLens",
    "textDocument/colorPresentation",
    "textDocument/completion",
    "textDocument/declaration",
    "textDocument/definition",
    "textDocument/diagnostic",
    "textDocument/didChange",
    "textDocument/didClose",
    "textDocument/didOpen",
    "textDocument/didSave",
    "textDocument/documentColor",
    "textDocument/documentHighlight",
    "textDocument/documentLink",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/formatting",
    "textDocument/hover",
    "textDocument/implementation",
    "textDocument/inlayHint",
    "textDocument/inlineCompletion",
    "textDocument/inlineValue",
    "textDocument/linkedEditingRange",
    "textDocument/moniker",
    "textDocument/onTypeFormatting",
    "textDocument/prepareCallHierarchy",
    "textDocument/prepareRename",
    "textDocument/prepareTypeHierarchy",
    "textDocument/publishDiagnostics",
    "textDocument/rangeFormatting",
    "textDocument/rangesFormatting",
    "textDocument/references",
    "textDocument/rename",
    "textDocument/selectionRange",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/full/delta",
    "textDocument/semanticTokens/range",
    "textDocument/signatureHelp",
    "textDocument/typeDefinition",
    "textDocument/willSave",
    "textDocument/willSaveWaitUntil",
    "typeHierarchy/subtypes",
    "typeHierarchy/supertypes",
    "window/logMessage",
    "window/showDocument",
    "window/showMessage",
    "window/showMessageRequest",
    "window/workDoneProgress/cancel",
    "window/workDoneProgress/create",
    "workspace/applyEdit",
    "workspace/codeLens/refresh",
    "workspace/configuration",
    "workspace/diagnostic",
    "workspace/diagnostic/refresh",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWatchedFiles",
    "workspace/didChangeWorkspaceFolders",
    "workspace/didCreateFiles",
    "workspace/didDeleteFiles",
    "workspace/didRenameFiles",
    "workspace/executeCommand",
    "workspace/foldingRange/refresh",
    "workspace/inlayHint/refresh",
    "workspace/inlineValue/refresh",
    "workspace/semanticTokens/refresh",
    "workspace/symbol",
    "workspace/textDocumentContent",
    "workspace/textDocumentContent/refresh",
    "workspace/willCreateFiles",
    "workspace/willDeleteFiles",
    "workspace/willRenameFiles",
    "workspace/workspaceFolders",
    "workspaceSymbol/resolve",
];

/// The method as the specification has it; `None` of any other name, which may come from a user.
pub fn specified(method: &str) -> Option<&'static str> {
    let place = METHODS.binary_search(&method).ok()?;
    Some(METHODS[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_in_order_so_that_each_is_found() {
        assert!(METHODS.is_sorted());
        for method in METHODS {
            assert_eq!(specified(method), Some(method));
        }
    }

    #[test]
    fn a_method_of_a_server_of_its_own_is_unknown() {
        for method in ["rust-analyzer/analyzerStatus", "textDocument/hover/", "", "Exit"] {
            assert_eq!(specified(method), None, "{method}");
        }
    }
}
