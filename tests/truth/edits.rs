//! Edits arrive in order, whatever else is sent between them.

use std::time::Duration;

use lsp::{Answers, Client, Limits, Reply, RequestOptions, ServerCapabilities};
use lsp_soak::drive::document::{Change, Document};
use lsp_soak::drive::stop::Deadlines;
use lsp_types::Url;
use proctree::process::{Launch, ServerProcess};
use serde_json::{Value, json};

use crate::fixture::SYSTEM;
use crate::outcome::phase;
use crate::soak::passing;

/// Two thousand edits, each at a place that depends on all earlier ones: a swap would garble the text.
#[tokio::test(flavor = "current_thread")]
async fn two_thousand_edits_between_requests_leave_the_same_text_on_both_sides() {
    for sync in ["incremental", "full"] {
        let launch = Launch {
            before: Vec::new(),
            program: SYSTEM.into(),
            args: ["--sync", sync].map(Into::into).to_vec(),
            cwd: std::env::temp_dir(),
            cpus: Vec::new(),
            ..Launch::default()
        };
        let mut server = ServerProcess::spawn(&launch).expect("the fixture is built beside its tests");
        let (stdout, stdin) = server.take_pipes().expect("nobody else has them");
        let (client, _incoming) = Client::connect(stdout, stdin, Answers::default(), Limits::default());
        let capabilities = json!({ "capabilities": {}, "rootUri": null, "processId": null });
        let offered = answer(&client, "initialize", capabilities).await;
        client.set_server_capabilities(ServerCapabilities::from_result(&offered));
        client.notify("initialized", json!({}));

        let uri = Url::parse("file:///nowhere/one.py").expect("it is one");
        let text = "# é 🦀\r\nvalue = 1\r\n".to_owned();
        let mut document = Document::new(uri, "python", text, client.sync(), client.encoding());
        client.notify("textDocument/didOpen", document.opened());
        for number in 0..2_000usize {
            let change = edit(&mut document, number).expect("the server wants changes");
            client.notify("textDocument/didChange", document.change(&change, false));
            if number % 100 == 99 {
                let told = answer(&client, "fixture/text", json!({ "uri": document.uri() })).await;
                assert_eq!(told, document.text(), "after {number} edits, {sync}");
            }
        }
        assert_eq!(document.version(), document.opened().text_document.version);
        let told = answer(&client, "fixture/text", json!({ "uri": document.uri() })).await;
        assert_eq!(told, document.text());
        lsp_soak::drive::stop::shut_down(&client, &server, &Deadlines::default(), async {}).await;
    }
}

/// An edit whose place and size depend on the current text.
fn edit(document: &mut Document, number: usize) -> Option<Change> {
    let text = document.text();
    let start = text.floor_char_boundary(number.wrapping_mul(7_919) % (text.len() + 1));
    let end = if number.is_multiple_of(3) {
        text.floor_char_boundary(start + number % 5)
    } else {
        start
    };
    let inserted = ["🦀", "é", "\r\n", "x", "αβγ"][number % 5];
    document.edit(start..end.max(start), &format!("{inserted}{number}"))
}

async fn answer(client: &Client, method: &str, params: Value) -> Value {
    match client
        .request(
            method,
            params,
            RequestOptions::with_deadline(Duration::from_secs(60)).keeping(),
        )
        .await
    {
        Reply::Answer { body: Ok(body), .. } => serde_json::from_str(body.get()).expect("the fixture writes JSON"),
        reply => panic!("`{method}`: {reply:?}"),
    }
}

#[test]
fn two_thousand_keys_of_a_run_are_all_undone() {
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }, { request = { method = "fixture/text", params = { uri = "${uri}" } } }]
[[phase]]
name = "edit"
steps = [
    { type = { per-file = 100, keystrokes = 20, text = "value_of_the_order_${n} = ", cadence = "0ms" } },
    { request = { method = "fixture/text", params = { uri = "${uri}" }, times = 2 } },
]
"#;
    let summary = passing(phases, &[]);
    assert_eq!(phase(&summary, "edit").steps[0].notifications, Some(100 * (20 + 1)));
    let texts = summary
        .traffic
        .methods
        .iter()
        .find(|method| method.method == "fixture/text")
        .expect("it was asked for");
    // An equal length shows that every edit changed the intended range.
    assert_eq!((texts.count, texts.bytes % 3), (3, 0));
    assert!(texts.bytes > 3_000);
}
