//! A small blocking LSP client for the fixture, with its own readers of `/proc`.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::SYSTEM;

/// Long enough for a loaded machine; only a failing test waits this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Output of the server: a message with its length, or noise.
#[derive(Debug)]
pub enum Sent {
    Message(Value, usize),
    Noise(String),
}

pub struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    sent: Receiver<Sent>,
    last_id: i64,
    /// True to answer the server's requests.
    pub answers: bool,
    /// Messages besides answers, by method; noise has the empty name.
    pub seen: HashMap<String, Vec<Value>>,
    /// Length of the last answer's body.
    pub last_length: usize,
}

impl Peer {
    /// Spawns the server without any message.
    pub fn spawn(arguments: &[&str]) -> Peer {
        Peer::spawn_on(SYSTEM, arguments)
    }

    fn spawn_on(program: &str, arguments: &[&str]) -> Peer {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the fixture is built beside its tests");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (sender, sent) = channel();
        thread::spawn(move || read_all(stdout, |message| sender.send(message).is_ok()));
        let stdin = child.stdin.take();
        Peer {
            child,
            stdin,
            sent,
            last_id: 0,
            answers: true,
            seen: HashMap::new(),
            last_length: 0,
        }
    }

    /// An initialized server that has indexed the shop.
    pub fn start(arguments: &[&str]) -> Peer {
        Peer::start_on(SYSTEM, arguments)
    }

    /// As [`Peer::start`], with the fixture on another allocator.
    pub fn start_on(program: &str, arguments: &[&str]) -> Peer {
        let mut peer = Peer::spawn_on(program, arguments);
        peer.drain_stderr();
        peer.initialize();
        peer.notify("initialized", json!({}));
        peer.request("workspace/symbol", json!({ "query": "Order" }));
        peer
    }

    pub fn initialize(&mut self) -> Value {
        let root = format!("file://{}/fixtures/workspaces/shop", env!("CARGO_MANIFEST_DIR"));
        let capabilities = json!({
            "window": { "workDoneProgress": true },
            "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } },
        });
        self.request(
            "initialize",
            json!({ "processId": null, "rootUri": root, "capabilities": capabilities }),
        )
    }

    /// Discards stderr and counts its bytes until the server closes it.
    pub fn drain_stderr(&mut self) -> thread::JoinHandle<u64> {
        let mut stderr = self.child.stderr.take().expect("stderr is piped");
        thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()).unwrap_or_default())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message);
        self.last_id
    }

    /// Sends a request and returns its result or error.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id, PATIENCE)
            .unwrap_or_else(|| panic!("`{method}` was not answered"))
    }

    /// Waits for an answer, and answers the server's requests meanwhile.
    pub fn answer(&mut self, id: i64, patience: Duration) -> Option<Value> {
        let end = Instant::now() + patience;
        loop {
            match self.sent.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Sent::Message(message, length)) if message.get("method").is_none() => {
                    if message["id"] == json!(id) {
                        self.last_length = length;
                        return Some(
                            message
                                .get("result")
                                .or(message.get("error"))
                                .cloned()
                                .unwrap_or_default(),
                        );
                    }
                }
                Ok(Sent::Message(message, _)) => self.receive(message),
                Ok(Sent::Noise(line)) => self.seen.entry(String::new()).or_default().push(json!(line)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn receive(&mut self, message: Value) {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if let (Some(id), true) = (message.get("id"), self.answers) {
            let items = message.pointer("/params/items").and_then(Value::as_array).map(Vec::len);
            let result = items.map_or(Value::Null, |items| json!(vec![Value::Null; items]));
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        }
        self.seen.entry(method).or_default().push(message);
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let stdin = self.stdin.as_mut().expect("stdin is open");
        // A crashed server accepts nothing; the missing answer shows that.
        let _ = write!(stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).and_then(|()| stdin.flush());
    }

    pub fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "python", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    pub fn close(&mut self, uri: &str) {
        self.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    /// The fixture's account of its memory, after everything sent so far.
    pub fn truth(&mut self) -> Value {
        self.request("fixture/truth", Value::Null)
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the server's end; `None` after `patience`.
    pub fn ended(&mut self, patience: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + patience;
        loop {
            match self.child.try_wait().expect("a child of ours can be waited for") {
                None if Instant::now() < end => thread::sleep(Duration::from_millis(10)),
                status => return status,
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // An already ended process is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads frames and noise until the pipe closes or `listen` returns false.
fn read_all(mut stdout: impl BufRead, mut listen: impl FnMut(Sent) -> bool) {
    let mut line = String::new();
    while matches!(stdout.read_line(&mut line), Ok(1..)) {
        let length = line
            .strip_prefix("Content-Length: ")
            .and_then(|length| length.trim().parse().ok());
        let sent = match length {
            None => Sent::Noise(line.clone()),
            Some(length) => {
                let mut body = vec![0; length];
                let blank = stdout.read_line(&mut line).is_ok();
                if !blank || stdout.read_exact(&mut body).is_err() {
                    return;
                }
                Sent::Message(serde_json::from_slice(&body).expect("the fixture writes JSON"), length)
            }
        };
        if !listen(sent) {
            return;
        }
        line.clear();
    }
}

/// A line of `/proc/PID/FILE` in bytes.
pub fn proc_bytes(pid: u32, file: &str, key: &str) -> u64 {
    let path = format!("/proc/{pid}/{file}");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{path}`: {error}"));
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or_else(|| panic!("`{path}` has no `{key}`")) * 1024
}

/// Anonymous memory of a process, counted by the kernel page by page.
pub fn anonymous(pid: u32) -> u64 {
    proc_bytes(pid, "smaps_rollup", "Anonymous")
}

/// Fails unless two sizes agree within 2 % or 256 KiB.
#[track_caller]
pub fn same(measured: u64, truth: u64) {
    let allowed = (truth / 50).max(256 << 10);
    assert!(
        measured.abs_diff(truth) <= allowed,
        "measured {measured}, truth {truth}, allowed ±{allowed}"
    );
}

/// Polls until the condition holds.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what} did not come to pass");
        thread::sleep(Duration::from_millis(10));
    }
}
