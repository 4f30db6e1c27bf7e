//! Ends: of one side they reach the other.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use record::{Ending, Event, Shutdown};

use super::{Editor, events};

/// Longest wait for what must happen.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(happened: impl Fn() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < PATIENCE, "it did not happen");
        thread::sleep(Duration::from_millis(10));
    }
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill")
        .arg(format!("-{name}"))
        .arg(pid.to_string())
        .status()
        .unwrap();
    assert!(sent.success());
}

/// True if a process is gone, or has ended and is not yet reaped.
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

fn status_of(script: &str) -> ExitStatus {
    let mut editor = Editor::with_script(script);
    editor.input = None;
    editor.wrap.wait().unwrap()
}

fn ending(record: &Path) -> (Shutdown, Ending) {
    let mut shutdown = None;
    for event in events(record) {
        match event {
            Event::Shutdown(found) => shutdown = Some(found),
            Event::Ended(ending) => return (shutdown.unwrap(), ending),
            _other => {}
        }
    }
    panic!("the record has no end");
}

#[test]
fn an_exit_code_and_a_signal_of_the_server_are_those_of_wrap() {
    assert_eq!(status_of("exit 7").code(), Some(7));
    for number in [6, 9, 11, 15] {
        assert_eq!(status_of(&format!("kill -{number} $$")).signal(), Some(number));
    }
}

#[test]
fn a_signal_to_wrap_reaches_the_server() {
    use rustix::process::Signal;
    for (name, number) in [
        ("HUP", Signal::HUP),
        ("INT", Signal::INT),
        ("QUIT", Signal::QUIT),
        ("TERM", Signal::TERM),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
    ] {
        // Whoever starts the tests in the background may have it ignored, and then the server ignores it too.
        if proctree::process::ignores_signal(number.as_raw()) {
            continue;
        }
        let mut editor = Editor::with_script(&format!(
            "trap 'exit 9' {name}; echo ready; while :; do sleep 0.01; done"
        ));
        assert_eq!(editor.read_line(), "ready");
        signal(name, editor.wrap.id());
        assert_eq!(editor.wrap.wait().unwrap().code(), Some(9), "{name}");
    }
}

#[test]
fn a_server_that_a_signal_to_wrap_ends_was_asked_to() {
    let mut editor = Editor::with_script("echo ready; exec sleep 1000");
    assert_eq!(editor.read_line(), "ready");
    signal("TERM", editor.wrap.id());
    assert_eq!(editor.wrap.wait().unwrap().signal(), Some(15));
    let record = super::only_record(&editor.directory.path().join("records"));
    let (shutdown, ending) = ending(&record);
    assert_eq!((shutdown.signal, ending), (Some(15), Ending::Completed));
}

#[test]
fn a_server_that_ends_by_itself_has_crashed() {
    let mut editor = Editor::with_script("echo ready; read go; exit 3");
    assert_eq!(editor.read_line(), "ready");
    editor.send(b"go\n");
    assert_eq!(editor.wrap.wait().unwrap().code(), Some(3));
    let record = super::only_record(&editor.directory.path().join("records"));
    assert!(matches!(ending(&record).1, Ending::Crashed { code: Some(3), .. }));
}

#[test]
fn killing_wrap_ends_the_server() {
    let mut editor = Editor::with_script("echo $$; exec sleep 1000");
    let server: u32 = editor.read_line().parse().unwrap();
    assert!(!has_ended(server));
    signal("KILL", editor.wrap.id());
    wait_until(|| has_ended(server));
    editor.wrap.wait().unwrap();
}

#[test]
fn a_closed_input_of_the_editor_is_the_end_of_the_servers_input() {
    let editor = Editor::with_script("cat; echo over");
    let (rest, record, _directory) = editor.close();
    assert_eq!(rest, b"over\n");
    assert_eq!(ending(&record).1, Ending::Completed);
}

#[test]
fn a_server_that_closes_its_output_closes_that_of_wrap() {
    let mut editor = Editor::with_script("exec >&-; cat >/dev/null; exit 5");
    assert_eq!(editor.read_to_end(), b"");
    assert!(editor.wrap.try_wait().unwrap().is_none(), "the server still runs");
    editor.input = None;
    assert_eq!(editor.wrap.wait().unwrap().code(), Some(5));
}

#[test]
fn a_server_that_closes_its_input_closes_that_of_wrap() {
    let mut editor = Editor::with_script("exec <&-; echo closed; exec sleep 1000");
    assert_eq!(editor.read_line(), "closed");
    let mut input = editor.input.take().unwrap();
    let begun = Instant::now();
    while input.write_all(b"x").is_ok() {
        assert!(begun.elapsed() < PATIENCE, "the input stays open");
        thread::sleep(Duration::from_millis(1));
    }
    signal("KILL", editor.wrap.id());
    editor.wrap.wait().unwrap();
}

#[test]
fn an_editor_that_closes_the_output_ends_a_server_that_writes_there() {
    let Editor {
        mut wrap,
        output,
        input,
        ..
    } = Editor::with_script("trap '' PIPE; while echo x; do :; done; exit 4");
    drop(output);
    assert_eq!(wrap.wait().unwrap().code(), Some(4));
    drop(input);
}

#[test]
fn a_process_that_the_server_leaves_behind_holds_nothing_up() {
    let mut editor = Editor::with_script("sleep 1000 & echo $!; echo last; exit 3");
    let left: u32 = editor.read_line().parse().unwrap();
    assert_eq!(editor.read_to_end(), b"last\n");
    assert_eq!(editor.wrap.wait().unwrap().code(), Some(3));
    signal("KILL", left);
}
