//! Shared ends of processes: children end with their server, orphans with lsp-soak, and the server with lsp-soak.
//! Reads `/proc`.

use std::path::Path;
use std::time::Duration;

use proctree::process::{ServerProcess, kill_pid};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::peer::PATIENCE;
use super::process::shell;

/// One line of output, from a server that keeps running.
async fn line(stdout: &mut tokio::process::ChildStdout) -> String {
    let mut line = String::new();
    while !line.ends_with('\n') {
        line.push(char::from(
            timeout(PATIENCE, stdout.read_u8())
                .await
                .expect("a line")
                .expect("a byte"),
        ));
    }
    line.trim().to_owned()
}

fn is_running(pid: &str) -> bool {
    // An ended process stays as a zombie until somebody waits for it.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

async fn ends(pid: &str) -> bool {
    let gone = async {
        while is_running(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, gone).await.is_ok()
}

#[tokio::test]
async fn killing_the_group_ends_the_children_too() {
    let mut server = ServerProcess::spawn(&shell("sleep 1000 & echo $!; sleep 1000")).unwrap();
    let (mut stdout, _stdin) = server.take_pipes().unwrap();
    let child = line(&mut stdout).await;
    assert!(is_running(&child));
    server.kill_group();
    let exit = timeout(PATIENCE, server.exited()).await.unwrap();
    assert_eq!(exit.signal, Some(9));
    assert!(ends(&child).await);
}

#[tokio::test]
async fn dropping_a_server_ends_it() {
    let mut server = ServerProcess::spawn(&shell("trap '' TERM; sleep 1000 & echo $!; wait")).unwrap();
    let (mut stdout, _stdin) = server.take_pipes().unwrap();
    let child = line(&mut stdout).await;
    let pid = server.pid.to_string();
    drop(server);
    assert!(ends(&child).await && ends(&pid).await);
}

#[tokio::test]
async fn one_process_is_killed_only_if_it_is_still_the_one_that_was_meant() {
    let server = ServerProcess::spawn(&shell("exec sleep 1000")).unwrap();
    let pid = server.pid;
    let started = proctree::start_time(pid).unwrap();
    assert!(!kill_pid(pid, || proctree::start_time(pid) == Some(started + 1)).unwrap());
    assert!(is_running(&pid.to_string()));
    assert!(kill_pid(pid, || proctree::start_time(pid) == Some(started)).unwrap());
    let exit = timeout(PATIENCE, server.exited()).await.unwrap();
    assert_eq!(exit.signal, Some(9));
    assert!(!kill_pid(pid, || proctree::start_time(pid) == Some(started)).unwrap());
}

#[tokio::test]
async fn an_orphan_of_the_server_comes_to_us_and_is_reaped() {
    // The inner shell ends at once, so its child, in another session, is briefly an orphan.
    let mut server = ServerProcess::spawn(&shell("sh -c 'setsid sleep 0.2 & echo $!'; exec sleep 1000")).unwrap();
    let (mut stdout, _stdin) = server.take_pipes().unwrap();
    let orphan = line(&mut stdout).await;
    let reaped = async {
        while Path::new(&format!("/proc/{orphan}")).exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, reaped).await.expect("the orphan stays a zombie");
    server.kill_group();
}

/// The test below starts this as a separate process.
#[tokio::test]
async fn helper_that_starts_a_server_when_asked_to() {
    let Ok(place) = std::env::var("LSP_SOAK_TEST_PID_FILE") else {
        return;
    };
    let server = ServerProcess::spawn(&shell("exec sleep 1000")).unwrap();
    std::fs::write(format!("{place}.new"), server.pid.to_string()).unwrap();
    std::fs::rename(format!("{place}.new"), place).unwrap();
    tokio::time::sleep(PATIENCE).await;
}

#[tokio::test]
async fn a_server_does_not_outlive_us_even_when_we_are_killed() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("pid");
    let mut helper = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lsp::lifetime::helper_that_starts_a_server_when_asked_to"])
        .env("LSP_SOAK_TEST_PID_FILE", &place)
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let started = async {
        while !place.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, started).await.expect("the helper starts its server");
    let pid = std::fs::read_to_string(&place).unwrap();
    assert!(is_running(&pid));
    helper.kill().await.unwrap();
    assert!(ends(&pid).await);
}
