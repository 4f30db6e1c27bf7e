//! `lsp-soak wrap` between a test as the editor and a script as the server.

mod ends;
mod privacy;
mod records;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use record::{Entry, Event};

/// An editor that has started `lsp-soak wrap`.
struct Editor {
    wrap: Child,
    /// `None` once it is closed.
    input: Option<ChildStdin>,
    output: ChildStdout,
    directory: tempfile::TempDir,
}

impl Editor {
    /// Wraps a shell script.
    fn with_script(script: &str) -> Editor {
        Editor::with_options(&[], script)
    }

    fn with_options(options: &[&str], script: &str) -> Editor {
        let directory = tempfile::tempdir().unwrap();
        let mut command = wrap(&directory.path().join("records"));
        command.args(options).args(["--", "sh", "-c", script]);
        Editor::start(command, directory)
    }

    fn start(mut command: Command, directory: tempfile::TempDir) -> Editor {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut wrap = command.spawn().unwrap();
        Editor {
            input: wrap.stdin.take(),
            output: wrap.stdout.take().unwrap(),
            wrap,
            directory,
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn read_line(&mut self) -> String {
        let mut line = Vec::new();
        let mut byte = [0];
        while self.output.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap()
    }

    fn read_to_end(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.output.read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// Closes the input, reads the rest and waits for the end.
    fn close(mut self) -> (Vec<u8>, PathBuf, tempfile::TempDir) {
        self.input = None;
        let rest = self.read_to_end();
        self.wrap.wait().unwrap();
        let record = only_record(&self.directory.path().join("records"));
        (rest, record, self.directory)
    }
}

fn wrap(records: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    command.arg("wrap").arg("--out").arg(records);
    command
}

fn only_record(directory: &Path) -> PathBuf {
    let mut records = fs::read_dir(directory).unwrap();
    let record = records.next().unwrap().unwrap().path();
    assert!(records.next().is_none());
    record
}

fn framed(content: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{content}", content.len())
}

fn events(record: &Path) -> Vec<Event> {
    let entries: Vec<Entry> = record::open(record).unwrap().map(Result::unwrap).collect();
    entries.into_iter().map(|entry| entry.event).collect()
}

/// Bytes without any pattern.
fn garbage(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut bytes = vec![0; length];
    random.fill(&mut bytes);
    bytes
}

#[test]
fn bytes_pass_unchanged_both_ways_whether_or_not_they_are_messages() {
    let message = framed(&format!("{{\"id\":1,\"result\":\"{}\"}}", "é".repeat(5 << 20)));
    let stream = [garbage(3 << 20), message.into_bytes(), garbage(1 << 20)].concat();
    let mut editor = Editor::with_script("cat");
    let mut input = editor.input.take().unwrap();
    let sent = stream.clone();
    let writer = thread::spawn(move || {
        for part in sent.chunks(70_001) {
            input.write_all(part).unwrap();
        }
    });
    let (received, ..) = editor.close();
    writer.join().unwrap();
    assert!(received == stream, "{} of {} bytes", received.len(), stream.len());
}

#[test]
fn a_large_result_is_passed_on_before_it_is_complete() {
    let mut editor = Editor::with_script(
        "printf 'Content-Length: 10485760\\r\\n\\r\\n'; head -c 1048576 /dev/zero; read go; head -c 9437184 /dev/zero",
    );
    let mut begun = vec![1; 1 << 20];
    editor.output.read_exact(&mut begun).unwrap();
    editor.send(b"go\n");
    let (rest, ..) = editor.close();
    assert_eq!(
        begun.len() + rest.len(),
        "Content-Length: 10485760\r\n\r\n".len() + (10 << 20)
    );
}

#[test]
fn stderr_passes_unchanged_and_nothing_is_added() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = wrap(directory.path());
    let output = command
        .args(["--", "sh", "-c", "printf 'a\\nb' >&2; echo out"])
        .output()
        .unwrap();
    assert_eq!(
        (output.stderr.as_slice(), output.stdout.as_slice()),
        (&b"a\nb"[..], &b"out\n"[..])
    );
}

#[test]
fn bytes_pass_where_no_record_can_be_made_and_one_line_says_why() {
    let mut command = wrap(Path::new("/proc/nowhere"));
    let output = command.args(["--", "echo", "out"]).output().unwrap();
    assert_eq!(
        (output.stdout.as_slice(), output.status.code()),
        (&b"out\n"[..], Some(0))
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("cannot create `/proc/nowhere/server-"), "{said}");
}

/// Only root may mount.
#[test]
fn bytes_pass_where_the_disk_is_full() {
    let directory = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=16k none '{0}' && exec '{1}' wrap --out '{0}' -- cat",
        directory.path().display(),
        env!("CARGO_BIN_EXE_lsp-soak")
    );
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let message = framed("{\"method\":\"textDocument/hover\",\"id\":1,\"params\":{}}").repeat(20_000);
    let sent = message.clone();
    let writer = thread::spawn(move || {
        // Fails if nothing may be mounted here.
        let _ = input.write_all(sent.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    if output.status.success() {
        assert!(output.stdout == message.as_bytes());
    }
}

#[test]
fn a_command_is_named_after_two_dashes_and_must_start() {
    for (words, said) in [
        (&["wrap"][..], "required arguments were not provided"),
        (&["wrap", "ty", "server"], "unexpected argument 'ty'"),
        (&["wrap", "--", "no-such-server"], "cannot start `no-such-server`"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
        let output = command.args(words).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(said) && output.stdout.is_empty(), "{text}");
    }
}
