use super::*;

fn responder() -> Responder {
    let settings = json!({
        "python": {"analysis": {"mode": "strict"}, "pythonPath": "/usr/bin/python3"},
        "rust-analyzer.check": {"command": "clippy"},
        "gopls": {"verboseWorkDoneProgress": true},
    });
    Responder::new(Answers {
        settings,
        choose: vec!["Import build".to_owned()],
        ..Answers::default()
    })
}

fn answer(responder: &mut Responder, method: &str, params: Value) -> Result<Value, Refusal> {
    answered(responder, method, params, &mut Vec::new())
}

fn answered(
    responder: &mut Responder,
    method: &str,
    params: Value,
    registered: &mut Vec<String>,
) -> Result<Value, Refusal> {
    let params = to_raw_value(&params).unwrap();
    let answer = responder.answer(method, Some(&params), registered);
    answer.map(|text| serde_json::from_str(text.get()).unwrap())
}

fn configured(items: Value) -> Value {
    answer(&mut responder(), "workspace/configuration", json!({"items": items})).unwrap()
}

#[test]
fn configuration_has_one_element_for_each_item_asked() {
    assert_eq!(configured(json!([])), json!([]));
    assert_eq!(
        configured(json!([{"section": "gopls"}, {"section": "nowhere"}, {"section": "gopls"}])),
        json!([{"verboseWorkDoneProgress": true}, null, {"verboseWorkDoneProgress": true}])
    );
}

#[test]
fn sections_are_dotted_paths_and_keys_may_have_dots() {
    assert_eq!(
        configured(json!([
            {"section": "python.analysis"},
            {"section": "python.analysis.mode"},
            {"section": "rust-analyzer.check.command"},
            {"section": "python.missing.mode"},
        ])),
        json!([{"mode": "strict"}, "strict", "clippy", null])
    );
}

#[test]
fn an_empty_or_absent_section_is_all_the_settings() {
    let all = responder().answers.settings;
    assert_eq!(
        configured(json!([{"section": ""}, {}, {"scopeUri": "file:///a"}])),
        json!([all, all, all])
    );
}

#[test]
fn registrations_are_always_accepted_and_tracked_with_their_options() {
    let mut responder = responder();
    let watch = json!({"watchers": [
        {"globPattern": "**/*.go", "kind": 5},
        {"globPattern": {"baseUri": "file:///a", "pattern": "*.mod"}},
        {"globPattern": {"baseUri": {"uri": "file:///b", "name": "b"}, "pattern": "*.sum"}},
    ]});
    let params = json!({"registrations": [
        {"id": "1", "method": "workspace/didChangeWatchedFiles", "registerOptions": watch},
        {"id": "2", "method": "textDocument/formatting"},
    ]});
    let mut registered = Vec::new();
    assert_eq!(
        answered(&mut responder, "client/registerCapability", params, &mut registered),
        Ok(Value::Null)
    );
    assert_eq!(
        registered,
        ["workspace/didChangeWatchedFiles", "textDocument/formatting"]
    );
    assert_eq!(
        responder.registered(),
        ["textDocument/formatting", "workspace/didChangeWatchedFiles"]
    );
    let globs: Vec<_> = responder
        .watchers()
        .into_iter()
        .map(|watcher| (watcher.glob, watcher.base, watcher.kind))
        .collect();
    assert_eq!(
        globs,
        [
            ("**/*.go".to_owned(), None, 5),
            ("*.mod".to_owned(), Some("file:///a".to_owned()), 7),
            ("*.sum".to_owned(), Some("file:///b".to_owned()), 7)
        ]
    );
    let params = json!({"unregisterations": [{"id": "1", "method": "workspace/didChangeWatchedFiles"}]});
    assert_eq!(
        answer(&mut responder, "client/unregisterCapability", params),
        Ok(Value::Null)
    );
    assert_eq!(responder.registered(), ["textDocument/formatting"]);
}

#[test]
fn watchers_of_an_id_that_is_registered_again_are_kept_beside_the_new_ones() {
    let mut responder = responder();
    for glob in ["**/pyproject.toml", "**/*.py", "**/*.py"] {
        let params = json!({"registrations": [{"id": "FILEWATCHER", "method": WATCHERS, "registerOptions":
            {"watchers": [{"globPattern": glob}]}}]});
        answer(&mut responder, "client/registerCapability", params).unwrap();
    }
    let globs: Vec<String> = responder.watchers().into_iter().map(|watcher| watcher.glob).collect();
    assert_eq!(globs, ["**/pyproject.toml", "**/*.py"]);
}

#[test]
fn a_registration_implies_what_its_options_say() {
    let mut responder = responder();
    let params = json!({"registrations": [
        {"id": "1", "method": "textDocument/diagnostic", "registerOptions": {"workspaceDiagnostics": true}},
        {"id": "2", "method": "textDocument/completion", "registerOptions": {"resolveProvider": false}},
    ]});
    answer(&mut responder, "client/registerCapability", params).unwrap();
    assert_eq!(
        responder.registered(),
        [
            "textDocument/completion",
            "textDocument/diagnostic",
            "workspace/diagnostic"
        ]
    );
}

#[test]
fn a_registration_that_cannot_be_read_is_accepted_too() {
    for params in [Value::Null, json!({"registrations": [{"id": 3}]})] {
        assert_eq!(
            answer(&mut responder(), "client/registerCapability", params),
            Ok(Value::Null)
        );
    }
}

#[test]
fn every_refresh_is_answered_with_null() {
    for what in [
        "diagnostic", "semanticTokens", "inlayHint", "codeLens", "foldingRange", "inlineValue", "new",
    ] {
        let method = format!("workspace/{what}/refresh");
        assert_eq!(answer(&mut responder(), &method, Value::Null), Ok(Value::Null));
    }
}

#[test]
fn a_question_to_the_user_is_dismissed_unless_an_answer_was_chosen() {
    let asked = json!({"type": 3, "message": "?", "actions": [{"title": "Not now"}, {"title": "Import build"}]});
    let mut responder = responder();
    assert_eq!(
        answer(&mut responder, "window/showMessageRequest", asked.clone()),
        Ok(json!({"title": "Import build"}))
    );
    responder.answers.choose.clear();
    assert_eq!(
        answer(&mut responder, "window/showMessageRequest", asked),
        Ok(Value::Null)
    );
    assert_eq!(
        answer(&mut responder, "window/showMessageRequest", json!({"message": "?"})),
        Ok(Value::Null)
    );
}

#[test]
fn an_edit_is_declined_with_a_reason_and_a_document_is_shown() {
    let applied = answer(&mut responder(), "workspace/applyEdit", json!({"edit": {}})).unwrap();
    assert_eq!(applied["applied"], json!(false));
    assert!(applied["failureReason"].is_string());
    assert_eq!(
        answer(&mut responder(), "window/showDocument", json!({})),
        Ok(json!({"success": true}))
    );
}

#[test]
fn folders_and_client_commands_are_answered() {
    let mut responder = responder();
    let uri = lsp_types::Url::parse("file:///w").unwrap();
    responder.answers.folders = vec![WorkspaceFolder {
        uri,
        name: "w".to_owned(),
    }];
    assert_eq!(
        answer(&mut responder, "workspace/workspaceFolders", Value::Null),
        Ok(json!([{"uri": "file:///w", "name": "w"}]))
    );
    assert_eq!(
        answer(&mut responder, "workspace/executeClientCommand", json!({})),
        Ok(json!([]))
    );
}

#[test]
fn what_is_not_known_is_refused_with_method_not_found() {
    assert_eq!(
        answer(&mut responder(), "custom/thing", Value::Null).unwrap_err().code,
        METHOD_NOT_FOUND
    );
}

#[test]
fn a_progress_token_is_tracked_from_its_creation() {
    let mut responder = responder();
    for token in [json!(4), json!("t")] {
        let params = json!({"token": token});
        assert_eq!(
            answer(&mut responder, "window/workDoneProgress/create", params),
            Ok(Value::Null)
        );
    }
    assert_eq!((responder.progress.open.len(), responder.progress.created), (2, 2));
}

#[test]
fn a_request_that_an_editor_once_answered_is_answered_so_again_unless_it_has_other_parameters() {
    let question = |message: &str| json!({"type": 3, "message": message, "actions": [{"title": "Yes"}]});
    let mut responder = Responder::new(Answers {
        recorded: vec![RecordedAnswer {
            method: "window/showMessageRequest".to_owned(),
            params: question("Import?"),
            result: json!({"title": "Yes"}),
        }],
        ..Answers::default()
    });
    let mut asked = |message| answer(&mut responder, "window/showMessageRequest", question(message)).unwrap();
    assert_eq!(
        (asked("Import?"), asked("Delete?")),
        (json!({"title": "Yes"}), Value::Null)
    );
}
