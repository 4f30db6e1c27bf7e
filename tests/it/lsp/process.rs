//! The server's process: start, output, watching and end.

use proctree::process::{Launch, ServerProcess};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::peer::PATIENCE;

/// A shell script as a server.
pub fn shell(script: &str) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: std::env::temp_dir(),
        ..Launch::default()
    }
}

async fn output(server: &mut ServerProcess) -> String {
    let (mut stdout, _stdin) = server.take_pipes().expect("the first to ask");
    let mut text = String::new();
    timeout(PATIENCE, stdout.read_to_string(&mut text))
        .await
        .expect("the server ends")
        .unwrap();
    text
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
    let mut server = ServerProcess::spawn(&launch).unwrap();
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
        before: Vec::new(),
        program: "/no/such/server".into(),
        cwd: "/".into(),
        cpus: Vec::new(),
        ..Launch::default()
    };
    assert_eq!(
        ServerProcess::spawn(&launch).unwrap_err().kind(),
        std::io::ErrorKind::NotFound
    );
}

#[tokio::test]
async fn a_signal_is_told_apart_from_an_exit_code() {
    let server = ServerProcess::spawn(&shell("kill -SEGV $$")).unwrap();
    let exit = timeout(PATIENCE, server.exited()).await.unwrap();
    assert_eq!((exit.code, exit.signal), (None, Some(11)));
}

#[tokio::test]
async fn a_flood_on_stderr_is_drained_and_its_end_is_kept() {
    let server = ServerProcess::spawn(&shell("head -c 30000000 /dev/zero >&2; echo the last words >&2")).unwrap();
    timeout(PATIENCE, server.exited())
        .await
        .expect("a full pipe would stop it");
    timeout(PATIENCE, server.stderr_ended()).await.unwrap();
    assert_eq!(server.stderr_bytes(), 30_000_000 + 15);
    assert_eq!(server.stderr_tail().len(), 64 * 1024);
    assert!(server.stderr_tail().ends_with("the last words\n"));
}
