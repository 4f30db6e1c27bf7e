//! The server's process: started, drained, watched and ended.

use std::path::Path;
use std::time::Duration;

use lsp_soak::lsp::process::{Launch, Server, kill_pid};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::peer::PATIENCE;

/// A shell script as a server.
pub fn shell(script: &str) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: Vec::new(),
        cwd: std::env::temp_dir(),
    }
}

async fn output(server: &mut Server) -> String {
    let (mut stdout, _stdin) = server.take_pipes().expect("the first to ask");
    let mut text = String::new();
    timeout(PATIENCE, stdout.read_to_string(&mut text))
        .await
        .expect("the server ends")
        .unwrap();
    text
}

/// One line of output, from a server that goes on running.
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

#[cfg(target_os = "linux")]
fn is_running(pid: &str) -> bool {
    // An ended process that nobody waited for is still there, as a zombie.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[cfg(target_os = "linux")]
async fn ends(pid: &str) -> bool {
    let gone = async {
        while is_running(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, gone).await.is_ok()
}

#[tokio::test]
async fn the_environment_is_inherited_changed_and_cut_as_asked() {
    let directory = tempfile::tempdir().unwrap();
    let mut launch = shell("echo \"$ADDED ${CARGO_MANIFEST_DIR-gone} $(pwd -P)\"; exit 3");
    launch.cwd = directory.path().to_path_buf();
    launch.env = vec![
        ("ADDED".into(), Some("yes".into())),
        ("CARGO_MANIFEST_DIR".into(), None),
    ];
    let mut server = Server::spawn(&launch).unwrap();
    let place = std::fs::canonicalize(directory.path()).unwrap();
    assert_eq!(
        output(&mut server).await.trim(),
        format!("yes gone {}", place.display())
    );
    let exit = timeout(PATIENCE, server.exited()).await.unwrap();
    assert_eq!((exit.code, exit.signal, server.exit()), (Some(3), None, Some(exit)));
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_our_error() {
    let launch = Launch {
        program: "/no/such/server".into(),
        cwd: "/".into(),
        ..Launch::default()
    };
    assert_eq!(Server::spawn(&launch).unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[tokio::test]
async fn a_signal_is_told_apart_from_an_exit_code() {
    let server = Server::spawn(&shell("kill -SEGV $$")).unwrap();
    let exit = timeout(PATIENCE, server.exited()).await.unwrap();
    assert_eq!((exit.code, exit.signal), (None, Some(11)));
}

#[tokio::test]
async fn a_flood_on_stderr_is_drained_and_its_end_is_kept() {
    let server = Server::spawn(&shell("head -c 30000000 /dev/zero >&2; echo the last words >&2")).unwrap();
    timeout(PATIENCE, server.exited())
        .await
        .expect("a full pipe would stop it");
    timeout(PATIENCE, server.stderr_ended()).await.unwrap();
    assert_eq!(server.stderr_bytes(), 30_000_000 + 15);
    assert_eq!(server.stderr_tail().len(), 64 * 1024);
    assert!(server.stderr_tail().ends_with("the last words\n"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn killing_the_group_ends_the_children_too() {
    let mut server = Server::spawn(&shell("sleep 1000 & echo $!; sleep 1000")).unwrap();
    let (mut stdout, _stdin) = server.take_pipes().unwrap();
    let child = line(&mut stdout).await;
    assert!(is_running(&child));
    server.kill_group();
    let exit = timeout(PATIENCE, server.exited()).await.unwrap();
    assert_eq!(exit.signal, Some(9));
    assert!(ends(&child).await);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_a_server_ends_it() {
    let mut server = Server::spawn(&shell("trap '' TERM; sleep 1000 & echo $!; wait")).unwrap();
    let (mut stdout, _stdin) = server.take_pipes().unwrap();
    let child = line(&mut stdout).await;
    let pid = server.pid.to_string();
    drop(server);
    assert!(ends(&child).await && ends(&pid).await);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn one_process_is_killed_only_if_it_is_still_the_one_that_was_meant() {
    let server = Server::spawn(&shell("exec sleep 1000")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid)).unwrap();
    let started: u64 = stat
        .rsplit(") ")
        .next()
        .unwrap()
        .split(' ')
        .nth(19)
        .unwrap()
        .parse()
        .unwrap();
    assert!(!kill_pid(server.pid, started + 1).unwrap());
    assert!(is_running(&server.pid.to_string()));
    assert!(kill_pid(server.pid, started).unwrap());
    let exit = timeout(PATIENCE, server.exited()).await.unwrap();
    assert_eq!(exit.signal, Some(9));
    assert!(!kill_pid(server.pid, started).unwrap());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_orphan_of_the_server_comes_to_us_and_is_reaped() {
    // The inner shell ends at once; its child, in a session of its own, is then an orphan for a moment.
    let mut server = Server::spawn(&shell("sh -c 'setsid sleep 0.2 & echo $!'; exec sleep 1000")).unwrap();
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

/// Started by the test below as a process of its own.
#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "a helper that runs until it is killed"]
async fn helper_that_starts_a_server() {
    let server = Server::spawn(&shell("exec sleep 1000")).unwrap();
    let place = std::env::var("LSP_SOAK_TEST_PID_FILE").unwrap();
    std::fs::write(format!("{place}.new"), server.pid.to_string()).unwrap();
    std::fs::rename(format!("{place}.new"), place).unwrap();
    tokio::time::sleep(PATIENCE).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_does_not_outlive_us_even_when_we_are_killed() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("pid");
    let mut helper = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lsp::process::helper_that_starts_a_server", "--ignored"])
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
