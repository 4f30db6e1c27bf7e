//! The ladder of a shutdown: each measure is used when, and only when, it is needed.

use std::time::Duration;

use lsp::{Answers, Client, Limits, Reply};
use lsp_soak::drive::stop::{Deadlines, StoppedServer, kill_now, shut_down};
use proctree::process::ServerProcess;
use record::{ShutdownReply, ShutdownStage};
use serde_json::json;
use tokio::time::timeout;

use super::peer::{PATIENCE, ask};
use super::process::shell;

const SHUTDOWN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#;
const EXIT: &str = r#"{"jsonrpc":"2.0","method":"exit"}"#;

/// Long for the measure that should work, short for the others.
fn deadlines(stage: ShutdownStage) -> Deadlines {
    Deadlines {
        answer: deadline(stage, ShutdownStage::Exit),
        exit: deadline(stage, ShutdownStage::Exit),
        stdin: deadline(stage, ShutdownStage::StdinClosed),
        terminate: deadline(stage, ShutdownStage::Terminated),
        kill: PATIENCE,
    }
}

fn deadline(expected: ShutdownStage, stage: ShutdownStage) -> Duration {
    if stage == expected {
        PATIENCE
    } else {
        Duration::from_millis(50)
    }
}

fn start(script: &str) -> (ServerProcess, Client) {
    let mut server = ServerProcess::spawn(&shell(script)).unwrap();
    let (stdout, stdin) = server.take_pipes().unwrap();
    let (client, _incoming) = Client::connect(stdout, stdin, Answers::default(), Limits::default());
    (server, client)
}

async fn stopped(script: &str, stage: ShutdownStage) -> StoppedServer {
    let (server, client) = start(script);
    let stopped = shut_down(&client, &server, &deadlines(stage), async {}).await;
    assert_eq!(stopped.stage, stage, "{stopped:?}");
    stopped
}

/// A script line that reads a message with this body.
fn read(body: &str) -> String {
    format!(
        "head -c {} >/dev/null",
        format!("Content-Length: {}\r\n\r\n{body}", body.len()).len()
    )
}

fn write(body: &str) -> String {
    format!("printf 'Content-Length: {}\\r\\n\\r\\n{body}'", body.len())
}

#[tokio::test]
async fn a_good_server_leaves_on_exit() {
    let answer = write(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
    let script = format!("{}; {answer}; {}; exit 0", read(SHUTDOWN), read(EXIT));
    let stopped = stopped(&script, ShutdownStage::Exit).await;
    let exit = stopped.exit.unwrap();
    assert_eq!((exit.code, exit.signal), (Some(0), None));
    assert_eq!(
        (stopped.reply, stopped.exit_sent),
        (Some(ShutdownReply::Answered), Some(true))
    );
}

#[tokio::test]
async fn a_refused_shutdown_is_kept_with_its_words() {
    let answer = write(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"not now"}}"#);
    let script = format!("{}; {answer}; {}; exit 0", read(SHUTDOWN), read(EXIT));
    let refused = ShutdownReply::Refused {
        code: -32603,
        message: "not now".to_owned(),
    };
    assert_eq!(stopped(&script, ShutdownStage::Exit).await.reply, Some(refused));
}

#[tokio::test]
async fn a_server_that_dies_of_shutdown_was_not_sent_exit() {
    for death in ["kill -ABRT $$", "exec 1>&-; sleep 0.3; kill -ABRT $$"] {
        let (server, client) = start(&format!("{}; {death}; cat >/dev/null", read(SHUTDOWN)));
        let stopped = shut_down(&client, &server, &deadlines(ShutdownStage::Exit), async {}).await;
        assert_eq!(
            (stopped.reply, stopped.exit_sent),
            (Some(ShutdownReply::Gone), Some(false)),
            "{death}"
        );
        assert_eq!(stopped.exit.unwrap().signal, Some(6));
    }
}

#[tokio::test]
async fn a_server_that_answers_and_leaves_has_answered_and_was_not_sent_exit() {
    let answer = write(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
    let (server, client) = start(&format!("{}; {answer}; exit 0", read(SHUTDOWN)));
    let gone = async {
        server.exited().await;
    };
    let stopped = shut_down(&client, &server, &deadlines(ShutdownStage::Exit), gone).await;
    assert_eq!(
        (stopped.reply, stopped.exit_sent),
        (Some(ShutdownReply::Answered), Some(false))
    );
}

#[tokio::test]
async fn what_is_to_be_done_before_exit_is_done_between_the_answer_and_exit() {
    let answer = write(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
    let (server, client) = start(&format!("{}; {answer}; {}; exit 3", read(SHUTDOWN), read(EXIT)));
    let mut whole = false;
    let look = async {
        // Long enough for the server to end by mistake.
        whole = timeout(Duration::from_millis(300), server.exited()).await.is_err();
    };
    let stopped = shut_down(&client, &server, &deadlines(ShutdownStage::Exit), look).await;
    assert_eq!(stopped.exit.unwrap().code, Some(3));
    assert!(whole);
}

#[tokio::test]
async fn the_questions_of_a_server_are_answered_while_it_shuts_down() {
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"client/registerCapability","params":{"registrations":[]}}"#;
    let reply = r#"{"jsonrpc":"2.0","id":"q","result":null}"#;
    let answer = write(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
    let script = format!(
        "{}; {}; {}; {answer}; {}; exit 7",
        read(SHUTDOWN),
        write(question),
        read(reply),
        read(EXIT)
    );
    assert_eq!(stopped(&script, ShutdownStage::Exit).await.exit.unwrap().code, Some(7));
}

#[tokio::test]
async fn a_server_that_leaves_without_waiting_for_exit_left_on_exit() {
    let stopped = stopped(&format!("{}; exit 0", read(SHUTDOWN)), ShutdownStage::Exit).await;
    assert_eq!(
        (stopped.reply, stopped.exit_sent),
        (Some(ShutdownReply::Gone), Some(false))
    );
}

#[tokio::test]
async fn a_server_that_ignores_both_leaves_when_its_input_ends() {
    let stopped = stopped("cat >/dev/null", ShutdownStage::StdinClosed).await;
    assert_eq!(
        (stopped.reply, stopped.exit_sent),
        (Some(ShutdownReply::Unanswered), Some(true))
    );
}

#[tokio::test]
async fn a_server_that_never_reads_is_terminated() {
    let exit = stopped("exec sleep 1000", ShutdownStage::Terminated)
        .await
        .exit
        .unwrap();
    assert_eq!((exit.code, exit.signal), (None, Some(15)));
}

#[tokio::test]
async fn a_server_that_ignores_signals_is_killed() {
    let exit = stopped("trap '' TERM; while :; do sleep 1; done", ShutdownStage::Killed)
        .await
        .exit
        .unwrap();
    assert_eq!(exit.signal, Some(9));
}

#[tokio::test]
async fn a_server_that_is_gone_is_not_asked() {
    let (server, client) = start("exit 5");
    timeout(PATIENCE, server.exited()).await.unwrap();
    let stopped = shut_down(&client, &server, &Deadlines::default(), async {}).await;
    assert_eq!(
        (stopped.stage, stopped.exit.unwrap().code),
        (ShutdownStage::AlreadyGone, Some(5))
    );
}

#[tokio::test]
async fn nothing_more_is_asked_once_the_shutdown_began_and_long_polls_are_called_off() {
    let (server, client) = start("cat >/dev/null");
    let asking = client.clone();
    let poll = tokio::spawn(async move { asking.request("workspace/diagnostic", json!({}), ask().parking()).await });
    tokio::task::yield_now().await;
    let ended = shut_down(&client, &server, &deadlines(ShutdownStage::StdinClosed), async {}).await;
    assert_eq!(ended.stage, ShutdownStage::StdinClosed);
    assert!(matches!(poll.await.unwrap(), Reply::Parked));
    assert!(matches!(
        client.request("textDocument/hover", json!({}), ask()).await,
        Reply::Lost
    ));
}

#[tokio::test]
async fn a_second_ctrl_c_kills_at_once() {
    let (server, client) = start("trap '' TERM; while :; do sleep 1; done");
    let stopped = kill_now(&client, &server, PATIENCE).await;
    assert_eq!(
        (stopped.stage, stopped.exit.unwrap().signal),
        (ShutdownStage::Killed, Some(9))
    );
}
