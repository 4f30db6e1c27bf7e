//! A small blocking client for the fixture server: enough of LSP to ask it, and a look at `/proc` of its own.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::SYSTEM;

/// Long enough for a loaded machine; only a failing test waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What the server sent: a message with its length, or something that is none.
#[derive(Debug)]
pub enum Sent {
    Message(Value, usize),
    Noise(String),
}

/// A running fixture server.
pub struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    sent: Receiver<Sent>,
    last_id: i64,
    /// Whether the server's own requests are answered.
    pub answers: bool,
    /// What came besides answers, by method; noise is under the empty name.
    pub seen: HashMap<String, Vec<Value>>,
    /// The length of the last answer's body.
    pub last_length: usize,
}

impl Peer {
    /// Spawns the server, without a word.
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

    /// A server that is initialized and has indexed the shop.
    pub fn start(arguments: &[&str]) -> Peer {
        Peer::start_on(SYSTEM, arguments)
    }

    /// The same, on the allocator of that fixture.
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

    /// Throws stderr away; the result is the number of bytes, once the server has closed it.
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

    /// Sends a request and gives its number back.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message);
        self.last_id
    }

    /// The answer to a request, its result or its error.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id, PATIENCE)
            .unwrap_or_else(|| panic!("`{method}` was not answered"))
    }

    /// Waits for an answer, and answers the server meanwhile.
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
        // A server that has crashed takes nothing more; the missing answer tells.
        let _ = write!(stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).and_then(|()| stdin.flush());
    }

    pub fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "python", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    pub fn close(&mut self, uri: &str) {
        self.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    /// What the server says of itself, after everything sent so far.
    pub fn truth(&mut self) -> Value {
        self.request("fixture/truth", Value::Null)
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits until the server has ended; `None` if it does not within `patience`.
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
        // Already ended is as good as killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Frames and everything between them, until the pipe closes or nobody listens.
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

/// The anonymous memory of a process, counted by the kernel page by page.
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

/// Looks again and again until something holds.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what} did not come to pass");
        thread::sleep(Duration::from_millis(10));
    }
}
