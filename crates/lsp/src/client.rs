//! The client's side of a connection: requests with deadlines, notifications, and traffic figures.

mod cancelled;
mod gauge;
mod outbox;
mod reader;
mod request;
mod state;
mod traffic;
mod violation;
mod writer;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lsp_types::Range;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

pub use self::gauge::Gauge;
pub use self::state::OTHER_METHODS;
use self::state::Shared;
pub use self::traffic::{CloseReason, OpenRequest, Totals, Traffic, Unfinished};
pub use self::violation::Violation;
use super::answers::{Answers, Watcher};
use super::message::{self, Id, UnreadReason};
use super::position::Encoding;
use super::progress::Progress;
use super::provider::Provider;
use super::pulls::NextPull;
use super::results::Parts;
use super::scan::{Reports, Shape};
use super::support::{self, Save, ServerCapabilities, Sync};

/// Most events that wait for the driver. More are dropped and counted, so that an unread queue cannot grow.
const MOST_WAITING: usize = 4096;

#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest message that is accepted, in bytes.
    pub max_message: u64,
    /// Longest message that is read whole, in bytes; longer ones are scanned as they arrive and dropped.
    pub keep: usize,
    /// Above this many unread bytes, requests and notifications wait for room.
    pub queue: usize,
    /// Most unread bytes of answers to the server; above it the connection counts as broken.
    pub answers: usize,
    /// Longest run of bytes that are not LSP.
    pub noise: u64,
    /// Most retries of a stale request.
    pub retries: u32,
    /// Wait before the first retry; it doubles up to sixteen times this.
    pub backoff: Duration,
    /// Notifications that are no sign of work.
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
pub struct RequestOptions {
    /// Longest wait for the answer, including retries.
    pub deadline: Duration,
    /// True to keep the body of the answer.
    pub keep: bool,
    /// True if the server may leave it open while nothing changes.
    pub parks: bool,
    /// Time after which the request is cancelled. Its answer is still awaited.
    pub cancel_after: Option<Duration>,
}

impl RequestOptions {
    /// A request whose answer must come within `deadline`; its body is dropped.
    pub fn with_deadline(deadline: Duration) -> RequestOptions {
        RequestOptions {
            deadline,
            keep: false,
            parks: false,
            cancel_after: None,
        }
    }

    pub fn keeping(self) -> RequestOptions {
        RequestOptions { keep: true, ..self }
    }

    /// Marks it as a long poll.
    pub fn parking(self) -> RequestOptions {
        RequestOptions { parks: true, ..self }
    }
}

/// The end of a request. Latency runs from queueing it until the last byte of the final answer.
#[derive(Debug)]
pub enum Reply {
    Answer {
        latency: Duration,
        shape: Shape,
        /// Length of the result in bytes.
        bytes: u64,
        /// Elements, by the result type of the method.
        items: Option<u64>,
        /// The reports of diagnostics in it, if its body was wanted.
        reports: Reports,
        /// The result, or why it is missing.
        body: Result<Box<RawValue>, UnreadReason>,
        retries: u32,
    },
    Error {
        latency: Duration,
        code: i64,
        /// The message, cut to a bounded length.
        message: String,
        retries: u32,
        /// True if the server gave the request up after [`RequestOptions::cancel_after`].
        is_cancelled: bool,
    },
    /// An answer that cannot be read: it is not JSON, or the first answer does not name its request.
    Unreadable {
        latency: Duration,
        /// The received and the expected text, for people.
        why: String,
        retries: u32,
    },
    /// No answer by the deadline; the request was cancelled.
    TimedOut,
    /// A long poll that was still open when no longer needed; it was cancelled.
    Parked,
    /// The connection ended first, or shutdown had begun.
    Lost,
}

/// Unprompted messages and events of the server.
#[derive(Debug)]
pub enum Incoming {
    Notification {
        method: String,
        /// The parameters; `None` if absent or too long to keep.
        params: Option<Box<RawValue>>,
    },
    /// A request of the server, already answered.
    Answered {
        method: String,
        /// True if the answer was an error.
        refused: bool,
    },
    Registered {
        method: String,
    },
    Closed(CloseReason),
    /// A tolerable protocol violation.
    Violation(Violation),
}

/// A connection to a server. Clones share it; dropping the last ends its tasks.
#[derive(Clone, Debug)]
pub struct Client {
    shared: Arc<Shared>,
    tasks: Arc<Tasks>,
}

#[derive(Debug)]
struct Tasks([AbortHandle; 2]);

impl Tasks {
    fn abort(&self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.abort();
    }
}

impl Client {
    /// Starts a reading and a writing task, so that a server that does not read cannot block its own answers. Must be
    /// called on a tokio runtime.
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
                tasks: Arc::new(tasks),
            },
            incoming,
        )
    }

    /// Sends a request and waits for its end. Retries stale answers to read-only methods. Cancels the request at the
    /// deadline, or if the returned future is dropped.
    pub async fn request(&self, method: &str, params: impl Serialize, ask: RequestOptions) -> Reply {
        let params = message::params(&params);
        request::run(&self.shared, method, params.as_deref(), ask).await
    }

    /// Queues a notification behind all earlier messages; never blocks. Before many or long ones, wait for
    /// [`Client::wait_for_room`].
    pub fn notify(&self, method: &str, params: impl Serialize) {
        self.shared.notify(method, &params);
    }

    /// Waits until few bytes are queued. The caller bounds the wait, as with [`Client::wait_until_written`].
    pub async fn wait_for_room(&self) {
        self.shared.wait_for_room().await;
    }

    /// True if the server has answered a request sent after every notification, so it has read them all.
    pub fn has_heard_all(&self) -> bool {
        self.shared.state().has_heard_all()
    }

    /// From now on, bytes in the pipe that the server has not read count as unread.
    pub fn gauge(&self, gauge: Option<Gauge>) {
        self.shared.state().outbox.gauge = gauge;
    }

    /// Marks a document as open: its newest diagnostics are kept, and it is to be pulled.
    pub fn opened_document(&self, uri: &str, language: &str) {
        let mut state = self.shared.state();
        state.diagnostics.open(uri);
        state.pulls.open_document(uri, language, Instant::now());
        self.shared.pull_changed();
    }

    /// Marks a document as changed: it is to be pulled after a pause.
    pub fn changed_document(&self, uri: &str) {
        self.shared.state().pulls.change_document(uri, Instant::now());
        self.shared.pull_changed();
    }

    pub fn closed_document(&self, uri: &str) {
        let mut state = self.shared.state();
        state.diagnostics.close(uri);
        state.result_ids.forget(uri);
        state.pulls.close_document(uri, Instant::now());
        self.shared.pull_changed();
    }

    /// Stores the answer to `textDocument/diagnostic` for a document, of the provider with this identifier.
    pub fn store_document_report(&self, identifier: Option<&str>, uri: &str, report: &RawValue) {
        let mut state = self.shared.state();
        state.diagnostics.store_pulled(uri, report);
        state.result_ids.store_document(identifier, uri, report.get());
    }

    /// Stores the answer to `workspace/diagnostic`, of the provider with this identifier.
    pub fn pulled_workspace(&self, identifier: Option<&str>, reports: &Reports) {
        self.shared.state().result_ids.store_workspace(identifier, reports);
    }

    /// Parameters of `textDocument/diagnostic`, with the id of the last result.
    pub fn document_diagnostic_params(&self, identifier: Option<&str>, uri: &str) -> Value {
        self.shared.state().result_ids.document_params(identifier, uri)
    }

    /// Parameters of `workspace/diagnostic` with the ids of the last results, and the token of its own in them.
    pub fn workspace_diagnostic_params(&self, identifier: Option<&str>) -> (Value, Id) {
        let mut state = self.shared.state();
        let token = state.partials.new_token();
        let params = state.result_ids.workspace_params(identifier, &token);
        (params, Id::Text(token))
    }

    /// From now on, takes the parts of the result whose request has this method and token, until [`Client::end_parts`].
    pub fn expect_parts(&self, token: &Id, method: &str, identifier: Option<&str>) {
        self.shared.state().partials.expect(token, method, identifier);
    }

    pub fn parts(&self, token: &Id) -> Parts {
        self.shared.state().partials.parts(token)
    }

    pub fn end_parts(&self, token: &Id) {
        self.shared.state().partials.end(token);
    }

    /// From now on, the editor pulls diagnostics.
    pub fn enable_pulls(&self) {
        self.shared.state().pulls.enable();
    }

    /// The next diagnostics that an editor pulls; they count as under way until [`Client::document_pull_ended`] or
    /// [`Client::workspace_pull_ended`].
    pub fn next_pull(&self) -> NextPull {
        let providers = self.providers();
        self.shared.state().pulls.next(Instant::now(), &providers)
    }

    /// Waits until [`Client::next_pull`] may have another answer. Only one task may wait.
    pub async fn pulls_changed(&self) {
        self.shared.pulls_changed().await;
    }

    pub fn document_pull_ended(&self, uri: &str) {
        let providers = self.providers();
        self.shared.state().pulls.end_document(uri, Instant::now(), &providers);
        self.shared.pull_changed();
    }

    pub fn workspace_pull_ended(&self, identifier: &Option<String>, is_error: bool) {
        self.shared.state().pulls.end_workspace(identifier, is_error);
        self.shared.pull_changed();
    }

    /// True if diagnostics are still to be pulled or answered, apart from a request that may stay open.
    pub fn has_pulls(&self) -> bool {
        let providers = self.providers();
        self.shared.state().pulls.is_pending(&providers)
    }

    /// Pulls that the server keeps open.
    pub fn open_pulls(&self) -> u64 {
        self.shared.state().pulls.kept_open()
    }

    /// Makes the pulls due that wait for a pause in typing.
    pub fn hurry_pulls(&self) {
        self.shared.state().pulls.hurry(Instant::now());
        self.shared.pull_changed();
    }

    /// A step asks for diagnostics of the workspace: the editor does not, until as many calls of
    /// [`Client::end_own_workspace_pull`].
    pub fn begin_own_workspace_pull(&self) {
        self.shared.state().pulls.begin_own_workspace_pull();
    }

    pub fn end_own_workspace_pull(&self) {
        self.shared.state().pulls.end_own_workspace_pull();
        self.shared.pull_changed();
    }

    /// Sends no pull while held; what becomes due is sent afterwards.
    pub fn hold_pulls(&self, is_held: bool) {
        self.shared.state().pulls.hold(is_held);
        self.shared.pull_changed();
    }

    /// The providers of pulled diagnostics, announced and registered.
    pub fn providers(&self) -> Vec<Provider> {
        let announced = self.agreed().and_then(|agreed| agreed.diagnostic_provider());
        let registered = self.registration_options("textDocument/diagnostic");
        let registered = registered.iter().map(Provider::from_options);
        announced.into_iter().chain(registered).collect()
    }

    /// The newest diagnostics of an open document that overlap or touch the range, as the server wrote them.
    pub fn diagnostics_at(&self, uri: &str, range: Range) -> Vec<Box<RawValue>> {
        self.shared.state().diagnostics.overlapping(uri, range)
    }

    /// Waits until all queued bytes are written. The caller bounds the wait: it is endless if the server does not read.
    /// Returns at once if writing has ended.
    pub async fn wait_until_written(&self) {
        self.shared.wait_until_written().await;
    }

    /// The current state of the connection, cheap enough to read twenty times a second.
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

    /// Reads the server's own work in progress without a copy.
    pub fn with_progress<T>(&self, look: impl FnOnce(&Progress) -> T) -> T {
        look(&self.shared.state().responder.progress)
    }

    /// The dynamically registered methods.
    pub fn registrations(&self) -> Vec<String> {
        self.shared.state().responder.registered()
    }

    /// The options of every dynamic registration of `method`.
    pub fn registration_options(&self, method: &str) -> Vec<Value> {
        self.shared.state().responder.options(method)
    }

    /// The answers to the server's requests, settings and folders among them.
    pub fn answers(&self) -> Answers {
        self.shared.state().responder.answers.clone()
    }

    /// Answers differently from now on; the caller notifies the server.
    pub fn set_answers(&self, answers: Answers) {
        self.shared.state().responder.answers = answers;
    }

    /// The server's file watchers.
    pub fn watchers(&self) -> Vec<Watcher> {
        self.shared.state().responder.watchers()
    }

    /// Stores the capabilities in the answer to `initialize`.
    pub fn set_server_capabilities(&self, capabilities: ServerCapabilities) {
        self.shared.state().agreed = Some(Arc::new(capabilities));
        self.shared.pull_changed();
    }

    /// The server's capabilities; `None` before [`Client::set_server_capabilities`].
    pub fn agreed(&self) -> Option<Arc<ServerCapabilities>> {
        self.shared.state().agreed.clone()
    }

    /// The agreed position encoding; UTF-16 until then.
    pub fn encoding(&self) -> Encoding {
        self.agreed().map_or(Encoding::Utf16, |agreed| agreed.encoding())
    }

    /// The agreed or registered kind of document synchronisation; none before [`Client::set_server_capabilities`].
    pub fn sync(&self) -> Sync {
        let agreed = self.agreed().map_or(Sync::None, |agreed| agreed.sync());
        match agreed {
            Sync::None => Sync::registered(&self.registration_options("textDocument/didChange")),
            Sync::Full | Sync::Incremental => agreed,
        }
    }

    /// The save notifications that the server wants, by its capabilities or dynamic registrations.
    pub fn save(&self) -> Save {
        let agreed = self.agreed().map_or(Save::No, |agreed| agreed.save());
        match agreed {
            Save::No => Save::registered(&self.registration_options("textDocument/didSave")),
            Save::Yes | Save::WithText => agreed,
        }
    }

    /// Trigger characters of completion, including registered ones.
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

    /// Characters after which the server formats, including registered ones.
    pub fn formatting_triggers(&self) -> Vec<String> {
        let mut triggers = self
            .agreed()
            .map_or_else(Vec::new, |agreed| agreed.formatting_triggers());
        for options in self.registration_options("textDocument/onTypeFormatting") {
            triggers.extend(support::formatting_triggers(&options));
        }
        triggers
    }

    /// True if the server supports `method`, including its current dynamic registrations.
    pub fn offers(&self, method: &str) -> bool {
        self.agreed()
            .is_some_and(|agreed| support::offers(&agreed, &self.registrations(), method))
    }

    /// Cancels every long poll; each ends as [`Reply::Parked`].
    pub fn cancel_parked(&self) {
        self.shared.cancel_parked();
    }

    /// From now on, sends only `shutdown`, `exit` and answers; servers treat other messages as an error.
    pub fn begin_shutdown(&self) {
        self.hold_pulls(true);
        self.shared.cancel_parked();
        self.shared.state().shutting_down = true;
    }

    /// Closes the server's stdin at once; unread bytes in the queue are dropped.
    pub fn close_stdin(&self) {
        self.shared.stop_writing();
    }

    /// Closes both pipes without a word, as an editor that dies.
    pub fn disconnect(&self) {
        self.shared.state().shutting_down = true;
        self.shared.stop_writing();
        self.tasks.abort();
    }

    /// Ends the connection because nobody reads the server's input any more.
    pub fn close_broken_input(&self) {
        self.shared.stop_writing();
        let error = io::Error::from(io::ErrorKind::BrokenPipe);
        self.shared.close(CloseReason::Input(error.to_string()));
    }

    /// The reason why the connection ended; `None` while it is open.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.shared.state().closed.clone()
    }
}
