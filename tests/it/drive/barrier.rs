//! Barriers detect whether a server reads its notifications.

use std::time::Duration;

use base::Cancel;
use lsp_soak::drive::documents::OpenDocuments;
use lsp_soak::drive::{Player, Stop};
use record::{BARRIER, Ending, Event};
use serde_json::{Value, json};

use super::player::{METHOD_NOT_FOUND, Play, get_ready, heard, method, play, step_end};
use crate::lsp::peer::Peer;

/// An answer too late to count in a short window.
const LATE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_server_that_hangs_over_notifications_is_wedged_when_its_phase_settles() {
    let phases = r#"
        [[phase]]
        name = "typing"
        steps = [{ open = {} }, { type = { per-file = 3, cadence = "1ms" } }]
    "#;
    let Play {
        job,
        stage,
        mut peer,
        place: _place,
    } = play("deadline = \"4s\"", phases);
    let mut player = Player::new(&job, &stage, OpenDocuments::new(&job, &Cancel::default()));
    let script = async {
        get_ready(&mut peer).await;
        while peer.receive().await["method"] != BARRIER {}
    };
    let (result, ()) = tokio::join!(player.play(), script);
    match result {
        Err(Stop::Ended(Ending::Wedged { method, .. })) => assert_eq!(method, BARRIER),
        other => panic!("{other:?}"),
    }
    assert_eq!(player.during, "phase `typing`, settling");
    assert!(
        !stage.events().iter().any(|event| matches!(event, Event::Request(_))),
        "it is none of the scenario's"
    );
}

#[tokio::test]
async fn whether_notifications_were_read_is_asked_once_and_never_in_silence() {
    let idle = r#"{ idle = { mode = "silent", for = "200ms" } }"#;
    for (what, phases) in [
        (
            "in phases of their own",
            format!(
                "[[phase]]\nname = \"open\"\nsteps = [{{ open = {{}} }}]\n[[phase]]\nname = \"idle\"\nsteps = [{idle}]"
            ),
        ),
        (
            "in one phase",
            format!("[[phase]]\nname = \"open\"\nsteps = [{{ open = {{}} }}, {idle}]"),
        ),
    ] {
        let script = async |peer: &mut Peer| {
            method(peer, "textDocument/didOpen").await;
            let barrier = peer.receive().await;
            assert_eq!(barrier["method"], BARRIER);
            tokio::time::sleep(LATE).await;
            peer.refuse(&barrier, METHOD_NOT_FOUND, Value::Null).await;
        };
        let (stage, (), rest) = heard(&phases, script).await;
        assert_eq!(rest, Vec::<String>::new(), "{what}");
        let window = step_end(&stage, "idle").idle.unwrap();
        assert!(
            u128::from(window.took) < LATE.as_nanos(),
            "the question is not part of the window: {window:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_answered_after_the_last_notification_is_not_asked_again() {
    let phases = r#"
        [[phase]]
        name = "hover"
        steps = [{ open = {} }, { hover = { per-file = 1 } }]
    "#;
    let script = async |peer: &mut Peer| {
        method(peer, "textDocument/didOpen").await;
        let hover = method(peer, "textDocument/hover").await;
        peer.answer(&hover, json!({ "contents": "a value" })).await;
    };
    let (_, (), rest) = heard(phases, script).await;
    assert_eq!(rest, Vec::<String>::new());
}
