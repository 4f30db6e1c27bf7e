use serde_json::json;

use super::*;

fn server(capabilities: Value) -> ServerCapabilities {
    ServerCapabilities::from_result(&json!({
        "capabilities": capabilities,
        "serverInfo": {"name": "fake", "version": "1"},
    }))
}

#[test]
fn what_is_announced_as_true_or_with_options_is_offered() {
    let server = server(json!({
        "definitionProvider": true,
        "hoverProvider": {},
        "referencesProvider": false,
        "renameProvider": null,
        "completionProvider": {"triggerCharacters": [".", ":"], "resolveProvider": true},
        "semanticTokensProvider": {"legend": {}, "full": {"delta": true}},
    }));
    for method in [
        "textDocument/definition",
        "textDocument/hover",
        "completionItem/resolve",
        "textDocument/semanticTokens/full",
        "textDocument/semanticTokens/full/delta",
    ] {
        assert!(offers(&server, &[], method), "{method}");
    }
    for method in [
        "textDocument/references",
        "textDocument/rename",
        "workspace/symbol",
        "textDocument/semanticTokens/range",
        "textDocument/diagnostic",
    ] {
        assert!(!offers(&server, &[], method), "{method}");
    }
    assert_eq!(server.completion_triggers(), [".", ":"]);
    assert_eq!(
        (server.name.as_deref(), server.version.as_deref()),
        (Some("fake"), Some("1"))
    );
}

#[test]
fn what_is_registered_later_is_offered() {
    let server = server(json!({}));
    let registered = [
        "textDocument/formatting",
        "textDocument/semanticTokens",
        "textDocument/diagnostic",
    ];
    let registered = registered.map(str::to_owned);
    assert!(offers(&server, &registered, "textDocument/formatting"));
    assert!(offers(&server, &registered, "textDocument/semanticTokens/full"));
    assert!(!offers(&server, &registered, "workspace/diagnostic"));
    assert!(!offers(&server, &registered, "textDocument/hover"));
}

#[test]
fn a_method_outside_the_protocol_counts_as_supported() {
    assert!(offers(&server(json!({})), &[], "rust-analyzer/viewHir"));
    assert!(offers(&server(json!({})), &[], "workspace/didChangeWatchedFiles"));
}

#[test]
fn the_sync_kind_is_a_number_or_part_of_an_object() {
    for (sync, kind, open, save) in [
        (json!(1), Sync::Full, true, Save::Yes),
        (json!(2), Sync::Incremental, true, Save::Yes),
        (
            json!({"openClose": true, "change": 2, "save": true}),
            Sync::Incremental,
            true,
            Save::Yes,
        ),
        (
            json!({"openClose": true, "change": 1, "save": {"includeText": true}}),
            Sync::Full,
            true,
            Save::WithText,
        ),
        (json!({"change": 0, "save": {}}), Sync::None, false, Save::Yes),
        (
            json!({"openClose": true, "change": 2}),
            Sync::Incremental,
            true,
            Save::No,
        ),
        (json!(null), Sync::None, false, Save::No),
    ] {
        let server = server(json!({"textDocumentSync": sync}));
        assert_eq!(
            (server.sync(), server.open_close(), server.save()),
            (kind, open, save),
            "{sync}"
        );
        assert_eq!(offers(&server, &[], "textDocument/didSave"), save != Save::No);
    }
}

#[test]
fn the_encoding_is_utf16_unless_the_server_chose() {
    for (capabilities, encoding) in [
        (json!({}), Encoding::Utf16),
        (json!({"positionEncoding": "utf-8"}), Encoding::Utf8),
        (json!({"positionEncoding": "utf-32"}), Encoding::Utf32),
        (json!({"positionEncoding": "ebcdic"}), Encoding::Utf16),
    ] {
        assert_eq!(server(capabilities).encoding(), encoding);
    }
}

#[test]
fn what_the_client_takes_registrations_of_may_come_later() {
    let full = crate::capabilities::client_capabilities("default").unwrap();
    let minimal = crate::capabilities::client_capabilities("minimal").unwrap();
    for (method, ..) in OFFERS {
        let folders = *method == "workspace/didChangeWorkspaceFolders";
        let missing = ["textDocument/moniker", "textDocument/documentLink"].contains(method) || folders;
        assert!(may_register(&full, method) || missing, "{method}");
        assert!(!may_register(&minimal, method), "{method}");
    }
}
