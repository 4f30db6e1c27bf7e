//! The client's side of a connection: requests with deadlines, notifications, and what the traffic tells.

mod cancelled;
mod outbox;
mod reader;
mod request;
mod state;
mod traffic;
mod violation;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use lsp_types::Range;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

pub use self::state::OTHER_METHODS;
use self::state::Shared;
pub use self::traffic::{CloseReason, OpenRequest, Totals, Traffic};
pub use self::violation::Violation;
use super::answers::{Answers, Watcher};
use super::message::{self, Unread};
use super::position::Encoding;
use super::process::Gauge;
use super::progress::Progress;
use super::scan::Shape;
use super::support::{self, Save, ServerCapabilities, Sync};

/// Events that may wait for the driver. More are dropped and counted: an unread queue must not eat memory.
const MOST_WAITING: usize = 4096;

#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest message that is accepted, in bytes.
    pub max_message: u64,
    /// Longest message that is read whole, in bytes; longer ones are scanned as they arrive and dropped.
    pub keep: usize,
    /// While more bytes than this wait for the server to read them, requests and notifications wait for room.
    pub queue: usize,
    /// Most bytes of answers to the server that may wait for it; over it the connection counts as broken.
    pub answers: usize,
    /// Longest run of bytes that are not LSP.
    pub noise: u64,
    /// How often a stale answer is asked for again.
    pub retries: u32,
    /// Wait before the first such retry; it doubles up to sixteen times this.
    pub backoff: Duration,
    /// Notifications that do not count as a sign of work.
    pub chatter: Vec<String>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_message: 1 << 30,
            keep: 1 << 20,
            queue: 4 << 20,
            answers: 8 << 20,
            noise: 16 << 20,
            retries: 8,
            backoff: Duration::from_millis(25),
            chatter: ["window/logMessage", "telemetry/event", "$/logTrace"]
                .map(str::to_owned)
                .to_vec(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The longest wait for its answer, retries included.
    pub deadline: Duration,
    /// Whether the body of the answer is wanted.
    pub keep: bool,
    /// Whether the server may leave it open for as long as nothing changes.
    pub parks: bool,
}

impl Ask {
    /// An answer within `deadline`, its body not wanted.
    pub fn within(deadline: Duration) -> Ask {
        Ask {
            deadline,
            keep: false,
            parks: false,
        }
    }

    pub fn keeping(self) -> Ask {
        Ask { keep: true, ..self }
    }

    /// The same, as a long poll.
    pub fn parking(self) -> Ask {
        Ask { parks: true, ..self }
    }
}

/// How a request ended. Latencies run from handing it to the writer until the last byte of the final answer.
#[derive(Debug)]
pub enum Reply {
    Answer {
        latency: Duration,
        shape: Shape,
        /// Length of the result in bytes.
        bytes: u64,
        /// Elements, when it is a list or has an `items` list.
        items: Option<u64>,
        /// The result, or why it is not here.
        body: Result<Box<RawValue>, Unread>,
        retries: u32,
    },
    Error {
        latency: Duration,
        code: i64,
        /// Its message, cut to a bounded length.
        message: String,
        retries: u32,
    },
    /// No answer by the deadline; it was cancelled.
    TimedOut,
    /// A long poll that was still open when it was no longer needed; it was cancelled.
    Parked,
    /// The connection ended first, or the server was already being shut down.
    Lost,
}

/// What the server did without being asked.
#[derive(Debug)]
pub enum Incoming {
    Notification {
        method: String,
        /// Its parameters; `None` when absent, or too long to be kept.
        params: Option<Box<RawValue>>,
    },
    /// It asked something, and was answered.
    Answered {
        method: String,
        /// Whether the answer was an error.
        refused: bool,
    },
    Registered {
        /// The method that it now supports.
        method: String,
    },
    Closed(CloseReason),
    /// It broke the protocol in a way that can be lived with.
    Violation(Violation),
}

/// A connection to a server. Clones share it; the last one to go ends its tasks.
#[derive(Clone, Debug)]
pub struct Client {
    shared: Arc<Shared>,
    _tasks: Arc<Tasks>,
}

#[derive(Debug)]
struct Tasks([AbortHandle; 2]);

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

impl Client {
    /// Starts to read and to write, each in its own task, so that a server that does not read cannot keep
    /// its answers from being read. Must be called on a tokio runtime.
    pub fn connect<R, W>(stdout: R, stdin: W, answers: Answers, limits: Limits) -> (Client, mpsc::Receiver<Incoming>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (events, incoming) = mpsc::channel(MOST_WAITING);
        let shared = Arc::new(Shared::new(answers, limits));
        let writer = tokio::spawn(writer::run(stdin, Arc::clone(&shared)));
        let reader = tokio::spawn(reader::run(stdout, Arc::clone(&shared), events));
        let tasks = Tasks([reader.abort_handle(), writer.abort_handle()]);
        (
            Client {
                shared,
                _tasks: Arc::new(tasks),
            },
            incoming,
        )
    }

    /// Sends a request and waits for its end. Stale answers to read-only methods are asked for again; on the
    /// deadline, or when the returned future is dropped, the request is cancelled.
    pub async fn request(&self, method: &str, params: impl Serialize, ask: Ask) -> Reply {
        let params = message::params(&params);
        request::run(&self.shared, method, params.as_deref(), ask).await
    }

    /// Queues a notification behind everything queued before; never blocks. Who sends many, or long ones, waits for
    /// [`Client::room`] before each.
    pub fn notify(&self, method: &str, params: impl Serialize) {
        self.shared.notify(method, &params);
    }

    /// Waits until little waits for the server. The caller bounds the wait, as that of [`Client::flushed`].
    pub async fn room(&self) {
        self.shared.room().await;
    }

    /// Whether a request was answered that had been sent after every notification, so that all of them have been read.
    pub fn has_heard_all(&self) -> bool {
        self.shared.state().has_heard_all()
    }

    /// From now on what the server has not read counts, and not only what its pipe has not taken.
    pub fn gauge(&self, gauge: Option<Gauge>) {
        self.shared.state().outbox.gauge = gauge;
    }

    /// A document is open now: the newest diagnostics of it are kept.
    pub fn opened_document(&self, uri: &str) {
        self.shared.state().diagnostics.opened(uri);
    }

    pub fn closed_document(&self, uri: &str) {
        self.shared.state().diagnostics.closed(uri);
    }

    /// The server answered `textDocument/diagnostic` for a document.
    pub fn pulled(&self, uri: &str, report: &RawValue) {
        self.shared.state().diagnostics.pulled(uri, report);
    }

    /// The newest diagnostics of an open document that overlap or touch the range, as the server wrote them.
    pub fn diagnostics_at(&self, uri: &str, range: Range) -> Vec<Box<RawValue>> {
        self.shared.state().diagnostics.at(uri, range)
    }

    /// Waits until everything queued so far has been written. The caller bounds the wait: a server that does
    /// not read makes it endless. Returns at once when writing is over.
    pub async fn flushed(&self) {
        self.shared.flushed().await;
    }

    /// The state of the connection now, cheap enough to be read twenty times a second.
    pub fn traffic(&self) -> Traffic {
        self.shared.state().traffic()
    }

    /// Counts since the connection was opened.
    pub fn totals(&self) -> Totals {
        self.shared.state().totals()
    }

    /// The server's own work in progress.
    pub fn progress(&self) -> Progress {
        self.shared.state().responder.progress.clone()
    }

    /// Looks at the server's own work in progress without a copy.
    pub fn with_progress<T>(&self, look: impl FnOnce(&Progress) -> T) -> T {
        look(&self.shared.state().responder.progress)
    }

    /// The methods that are dynamically registered now.
    pub fn registrations(&self) -> Vec<String> {
        self.shared.state().responder.registered()
    }

    /// The options of every dynamic registration of `method`.
    pub fn registration_options(&self, method: &str) -> Vec<Value> {
        self.shared.state().responder.options(method)
    }

    /// The file patterns whose changes the server wants to hear of.
    pub fn watchers(&self) -> Vec<Watcher> {
        self.shared.state().responder.watchers()
    }

    /// Notes what the server said in its answer to `initialize`.
    pub fn agree(&self, capabilities: ServerCapabilities) {
        self.shared.state().agreed = Some(Arc::new(capabilities));
    }

    /// What was agreed on; `None` before [`Client::agree`].
    pub fn agreed(&self) -> Option<Arc<ServerCapabilities>> {
        self.shared.state().agreed.clone()
    }

    /// The position encoding agreed on; UTF-16 until then.
    pub fn encoding(&self) -> Encoding {
        self.agreed().map_or(Encoding::Utf16, |agreed| agreed.encoding())
    }

    /// How documents are kept in step; not at all until that is agreed.
    pub fn sync(&self) -> Sync {
        let agreed = self.agreed().map_or(Sync::None, |agreed| agreed.sync());
        let registered = || self.registration_options("textDocument/didChange");
        match agreed {
            Sync::None => Sync::registered(&registered()),
            Sync::Full | Sync::Incremental => agreed,
        }
    }

    /// Whether the server wants to hear of saves, and how; registered wishes count too.
    pub fn save(&self) -> Save {
        let agreed = self.agreed().map_or(Save::No, |agreed| agreed.save());
        match agreed {
            Save::No => Save::registered(&self.registration_options("textDocument/didSave")),
            Save::Yes | Save::WithText => agreed,
        }
    }

    /// Characters that start a completion, registered ones too.
    pub fn completion_triggers(&self) -> Vec<String> {
        let mut triggers = self
            .agreed()
            .map_or_else(Vec::new, |agreed| agreed.completion_triggers());
        for options in self.registration_options("textDocument/completion") {
            triggers.extend(support::texts(&options["triggerCharacters"]));
        }
        triggers.sort();
        triggers.dedup();
        triggers
    }

    /// Whether the server supports `method`, now that its dynamic registrations are known.
    pub fn offers(&self, method: &str) -> bool {
        self.agreed()
            .is_some_and(|agreed| super::support::offers(&agreed, &self.registrations(), method))
    }

    /// Cancels every long poll; each ends as [`Reply::Parked`].
    pub fn cancel_parked(&self) {
        self.shared.cancel_parked();
    }

    /// From now on nothing is sent but `shutdown`, `exit` and answers; servers treat more as an error.
    pub(super) fn begin_shutdown(&self) {
        self.shared.cancel_parked();
        self.shared.state().shutting_down = true;
    }

    /// Closes the server's stdin at once; what it did not read is dropped.
    pub fn close_stdin(&self) {
        self.shared.stop_writing();
    }

    /// Why nothing more can come, once that is so.
    pub fn closed(&self) -> Option<CloseReason> {
        self.shared.state().closed.clone()
    }
}
