//! The requests that are retried when their answer is stale.

/// The document changed while the server worked.
pub const CONTENT_MODIFIED: i64 = -32801;
/// The server cancelled; for diagnostics it may say whether to retry.
pub const SERVER_CANCELLED: i64 = -32802;
/// Cancelled; some servers send this while indexing although nobody cancelled.
pub const REQUEST_CANCELLED: i64 = -32800;

/// Read-only methods. Methods that change text or that a user would notice twice (rename, formatting, code actions,
/// commands) are never retried.
pub const RETRIED: &[&str] = &[
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "completionItem/resolve",
    "documentLink/resolve",
    "inlayHint/resolve",
    "textDocument/codeLens",
    "textDocument/completion",
    "textDocument/declaration",
    "textDocument/definition",
    "textDocument/diagnostic",
    "textDocument/documentColor",
    "textDocument/documentHighlight",
    "textDocument/documentLink",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/hover",
    "textDocument/implementation",
    "textDocument/inlayHint",
    "textDocument/moniker",
    "textDocument/prepareCallHierarchy",
    "textDocument/prepareTypeHierarchy",
    "textDocument/references",
    "textDocument/selectionRange",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/full/delta",
    "textDocument/semanticTokens/range",
    "textDocument/signatureHelp",
    "textDocument/typeDefinition",
    "typeHierarchy/subtypes",
    "typeHierarchy/supertypes",
    "workspace/diagnostic",
    "workspace/symbol",
    "workspaceSymbol/resolve",
];

/// True if a server answers with this code what it has given up.
pub(super) fn is_given_up(code: i64) -> bool {
    matches!(code, REQUEST_CANCELLED | SERVER_CANCELLED | CONTENT_MODIFIED)
}

/// True if an error means "retry". `retrigger` is the server's `data.retriggerRequest`.
pub(super) fn is_stale(method: &str, code: i64, retrigger: Option<bool>) -> bool {
    let transient = match code {
        CONTENT_MODIFIED | REQUEST_CANCELLED => true,
        SERVER_CANCELLED => retrigger.unwrap_or(true),
        _ => false,
    };
    transient && RETRIED.binary_search(&method).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        assert!(RETRIED.is_sorted());
    }

    #[test]
    fn requests_that_change_something_are_never_repeated() {
        for method in [
            "textDocument/rename",
            "textDocument/formatting",
            "textDocument/codeAction",
            "codeAction/resolve",
            "workspace/executeCommand",
            "shutdown",
            "initialize",
        ] {
            for code in [CONTENT_MODIFIED, SERVER_CANCELLED, REQUEST_CANCELLED] {
                assert!(!is_stale(method, code, Some(true)), "{method} {code}");
            }
        }
    }

    #[test]
    fn the_server_decides_about_its_own_cancellations() {
        let method = "textDocument/diagnostic";
        assert!(is_stale(method, SERVER_CANCELLED, None));
        assert!(is_stale(method, SERVER_CANCELLED, Some(true)));
        assert!(!is_stale(method, SERVER_CANCELLED, Some(false)));
        assert!(is_stale(method, CONTENT_MODIFIED, Some(false)));
        assert!(!is_stale(method, -32603, None));
    }
}
