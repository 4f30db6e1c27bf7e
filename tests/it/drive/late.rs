//! Capabilities that servers register, or load, only once a document is open.

use std::time::Duration;

use base::Cancel;
use lsp_soak::drive::documents::OpenDocuments;
use lsp_soak::drive::{Player, Stop};
use record::{Ending, Event};
use serde_json::{Value, json};

use super::player::{METHOD_NOT_FOUND, Play, get_ready, heard, method, play, step_end};
use crate::lsp::peer::Peer;

const RENAME: &str = r#"
    [[phase]]
    name = "refactor"
    steps = [{ open = {} }, { rename = { per-file = 2, prepare = false } }]
"#;

#[tokio::test]
async fn what_is_registered_after_the_first_open_is_offered_when_its_step_is_reached() {
    let script = async |peer: &mut Peer| {
        method(peer, "textDocument/didOpen").await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let one = json!({ "id": "r", "method": "textDocument/rename" });
        peer.ask(
            json!("r"),
            "client/registerCapability",
            json!({ "registrations": [one] }),
        )
        .await;
        for _ in 0..2 {
            let rename = method(peer, "textDocument/rename").await;
            peer.answer(&rename, json!({ "changes": { "file:///a": [{ "newText": "b" }] } }))
                .await;
        }
    };
    let (stage, ..) = heard(RENAME, script).await;
    let end = step_end(&stage, "rename");
    assert_eq!((end.requests, end.skipped), (2, false));
}

/// The ending of a play with a server that registers nothing, and its completed steps.
async fn ended(capabilities: &str) -> (Ending, Vec<String>) {
    let Play {
        mut job,
        stage,
        mut peer,
        place: _place,
    } = play("", RENAME);
    capabilities.clone_into(&mut job.capabilities);
    let server = async {
        get_ready(&mut peer).await;
        loop {
            let message = peer.receive().await;
            if !message["id"].is_null() {
                peer.refuse(&message, METHOD_NOT_FOUND, Value::Null).await;
            }
        }
    };
    let mut player = Player::new(&job, &stage, OpenDocuments::new(&job, &Cancel::default()));
    let stop = tokio::select! {
        result = player.play() => result.unwrap_err(),
        () = server => unreachable!("it never ends"),
    };
    let opened = stage.events().into_iter().filter_map(|event| match event {
        Event::StepEnded(end) => Some(end.name),
        _ => None,
    });
    match stop {
        Stop::Ended(ending) => (ending, opened.collect()),
        stop => panic!("{stop:?}"),
    }
}

#[tokio::test]
async fn what_is_never_registered_ends_the_run_where_it_is_needed() {
    let line = "`rename` in phase `refactor` needs `textDocument/rename`".to_owned();
    let missing = Ending::Unsupported { steps: vec![line] };
    let (ending, steps) = ended("default").await;
    assert_eq!(
        (ending, steps),
        (missing.clone(), vec!["start".to_owned(), "open".to_owned()])
    );
    // A client without dynamic registration knows at once.
    let (ending, steps) = ended("minimal").await;
    assert_eq!((ending, steps.contains(&"open".to_owned())), (missing, false));
}
