//! The server's end of a connection, played by the test.

use std::time::Duration;

use lsp::{Answers, Client, Incoming, Limits, RequestOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

/// Long enough for the slowest machine; only a failing test waits this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A deadline that no test should reach.
pub fn ask() -> RequestOptions {
    RequestOptions::with_deadline(PATIENCE)
}

/// A deadline that a test should reach.
pub fn brief() -> RequestOptions {
    RequestOptions::with_deadline(Duration::from_millis(40))
}

/// A server that the test scripts.
pub struct Peer {
    input: DuplexStream,
    output: DuplexStream,
}

/// Connects a client with pipes of `capacity` bytes.
pub fn connect(capacity: usize, answers: Answers, limits: Limits) -> (Client, Receiver<Incoming>, Peer) {
    let (stdin, input) = duplex(capacity);
    let (output, stdout) = duplex(capacity);
    let (client, incoming) = Client::connect(stdout, stdin, answers, limits);
    (client, incoming, Peer::over(input, output))
}

/// Connects a client with default settings.
pub fn usual() -> (Client, Receiver<Incoming>, Peer) {
    connect(
        64 * 1024,
        Answers::default(),
        Limits {
            backoff: Duration::from_millis(1),
            ..Limits::default()
        },
    )
}

impl Peer {
    /// A peer on these pipes.
    pub fn over(input: DuplexStream, output: DuplexStream) -> Peer {
        Peer { input, output }
    }

    /// The next message of the client.
    pub async fn receive(&mut self) -> Value {
        serde_json::from_str(&self.receive_text().await).unwrap()
    }

    /// The next message of the client, unparsed.
    pub async fn receive_text(&mut self) -> String {
        timeout(PATIENCE, self.read()).await.expect("the client sends nothing")
    }

    async fn read(&mut self) -> String {
        let mut header = Vec::new();
        while !header.ends_with(b"\r\n\r\n") {
            header.push(self.input.read_u8().await.expect("the client closed its output"));
        }
        let header = String::from_utf8(header).unwrap();
        let length = header
            .trim()
            .strip_prefix("Content-Length: ")
            .expect("the one header")
            .parse()
            .unwrap();
        let mut body = vec![0; length];
        self.input.read_exact(&mut body).await.unwrap();
        String::from_utf8(body).unwrap()
    }

    /// True if the client closed its output after all its messages.
    pub async fn reads_to_the_end(&mut self) -> bool {
        let mut rest = Vec::new();
        timeout(PATIENCE, self.input.read_to_end(&mut rest)).await.is_ok()
    }

    pub async fn send(&mut self, message: Value) {
        let body = message.to_string();
        self.send_raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
            .await;
    }

    pub async fn send_raw(&mut self, bytes: &[u8]) {
        timeout(PATIENCE, self.output.write_all(bytes))
            .await
            .expect("the client does not read")
            .unwrap();
    }

    pub async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
    }

    pub async fn refuse(&mut self, request: &Value, code: i64, data: Value) {
        let error = json!({"code": code, "message": "no", "data": data});
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
            .await;
    }

    /// Sends the client a request and returns its answer.
    pub async fn ask(&mut self, id: Value, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Ends the server's output.
    pub fn end(self) -> DuplexStream {
        self.input
    }
}

pub async fn next(incoming: &mut Receiver<Incoming>) -> Incoming {
    timeout(PATIENCE, incoming.recv())
        .await
        .expect("no event")
        .expect("the connection is gone")
}

/// The text of the next violation; skips other events.
pub async fn violation(incoming: &mut Receiver<Incoming>) -> String {
    loop {
        if let Incoming::Violation(violation) = next(incoming).await {
            return violation.to_string();
        }
    }
}
