//! One running server and its connection, from spawn to shutdown.

use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lsp_types::{Url, WorkspaceFolder};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::resolve;
use lsp::position::Encoding;
use lsp::{Answers, Client, CloseReason, Gauge, Incoming, Limits, Reply, RequestOptions, ServerCapabilities, Sync};
use proctree::process::{Exit, ServerProcess};
use record::{Close, Ending, Event, Initialized, ReadyOutcome, Shutdown, UnfinishedMessage, Warning, WarningKind};

use super::editor::Editor;
use super::flood::Flood;
use super::quiet::Observations;
use super::signal::Signals;
use super::stop::{self, Deadlines, StoppedServer};
use super::violations::Violations;
use super::{Crash, Job, Stage, Stop, fault, pull, readiness, replay, uri};

/// Longest message of a server that is kept, in bytes.
const MESSAGE: usize = 2000;

pub struct Session {
    pub client: Client,
    /// The capabilities in the answer to `initialize`.
    pub offered: Arc<ServerCapabilities>,
    server: ServerProcess,
    /// The process that stands for the editor; `None` where lsp-soak itself is the editor.
    editor: Option<Editor>,
    signals: Arc<Signals>,
    violations: Arc<Violations>,
    flood: Arc<Flood>,
    spawned: Instant,
    /// Number of the editor window, from 0. The report is about the start of the first.
    window: u32,
    listener: AbortHandle,
    /// Pulls diagnostics; `None` before the handshake, and for an editor that pulls none.
    puller: Option<AbortHandle>,
    /// True once the wait for readiness ended without a failure.
    is_ready: bool,
    /// True if missing answers mean a permanent fault, so that the shutdown may be short.
    hopeless: bool,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.listener.abort();
        if let Some(puller) = &self.puller {
            puller.abort();
        }
    }
}

impl Session {
    /// Starts the server; sends nothing yet.
    pub fn spawn<S: Stage>(job: &Job, stage: &S, restarts: u32, window: u32) -> Result<Session, Stop> {
        let mut server = ServerProcess::spawn(&job.launch).map_err(|error| unstarted(job, restarts, error))?;
        let spawned = Instant::now();
        stage.record(Event::Spawned {
            pid: server.pid,
            restarts,
            window,
        });
        stage
            .spawned(server.pid)
            .map_err(Stop::failed("watch the memory of the server"))?;
        let (stdout, stdin) = server.take_pipes().ok_or(Stop::Gone)?;
        let editor = if job.scenario.lets_editor_die() {
            Some(Editor::start().map_err(Stop::failed("start a process that stands for the editor"))?)
        } else {
            None
        };
        let profile = &job.choice.profile;
        let answers = Answers {
            settings: profile.settings.clone().unwrap_or(Value::Null),
            folders: first_folders(job),
            choose: profile.choose.clone(),
            recorded: Vec::new(),
        };
        let answers = match job.scenario.recorded() {
            Some(recorded) => replay::answers(recorded, job, answers),
            None => answers,
        };
        let mut limits = Limits::default();
        limits.chatter.extend(profile.chatter.iter().cloned());
        let gauge = Gauge::of(&stdin);
        let (client, incoming) = Client::connect(stdout, stdin, answers, limits);
        client.gauge(gauge);
        let signals = Arc::new(Signals::new(profile));
        let violations = Arc::new(Violations::default());
        let flood = Arc::new(Flood::default());
        let heard = (Arc::clone(&signals), Arc::clone(&violations), Arc::clone(&flood));
        let ear = listen(incoming, heard, stage.clone());
        let listener = tokio::spawn(ear).abort_handle();
        let offered = Arc::new(ServerCapabilities::default());
        Ok(Session {
            client,
            offered,
            server,
            editor,
            signals,
            violations,
            flood,
            spawned,
            window,
            listener,
            puller: None,
            is_ready: false,
            hopeless: false,
        })
    }

    /// Sends `initialize`, `initialized` and settings, then waits until the server is ready. Returns what was observed of
    /// its rest, if it rested until the end of the wait.
    pub async fn handshake<S: Stage>(
        &mut self,
        job: &Job,
        stage: &S,
        deadline: Option<Duration>,
    ) -> Result<Option<Observations>, Stop> {
        let limits = job.scenario.readiness.completed_from(job.choice.profile.ready.limits);
        let limits = crate::config::ReadinessLimits {
            timeout: deadline.map_or(limits.timeout, base::units::Span),
            ..limits
        };
        let result = tokio::select! {
            biased;
            result = initialize(&self.client, job, self.editor_pid(), limits.timeout.0) => result?,
            stop = self.fault(stage, limits.timeout.0) => return Err(stop),
        };
        let (capabilities, latency) = result;
        self.offered = Arc::new(capabilities.clone());
        if self.window == 0 {
            stage.record(Event::Initialized(initialized(&capabilities, latency)));
        }
        self.client.set_server_capabilities(capabilities);
        self.client.notify("initialized", json!({}));
        let settings = self.client.answers().settings;
        // A recorded editor's settings and requests for diagnostics are among its messages.
        let is_recorded = job.scenario.recorded().is_some();
        if !is_recorded && job.choice.profile.push_settings.unwrap_or(true) && !settings.is_null() {
            self.client
                .notify("workspace/didChangeConfiguration", json!({ "settings": settings }));
        }
        if lsp::capabilities::pulls_diagnostics(&job.capabilities) && !job.probe && !is_recorded {
            let deadline = job.scenario.deadline().0;
            self.puller = Some(pull::start(&self.client, stage, deadline, &job.choice.profile.parks));
        }
        if is_recorded {
            // Its editor did not wait either.
            self.is_ready = true;
            return Ok(None);
        }
        let (ready, observed) = tokio::select! {
            biased;
            ready = readiness::wait(&self.client, stage, &limits, &self.signals, self.spawned) => ready,
            stop = self.fault(stage, limits.timeout.0) => return Err(stop),
        };
        let (outcome, missing) = (ready.outcome, ready.missing.clone());
        if self.window == 0 {
            stage.record(Event::Ready(ready));
        }
        self.is_ready = outcome != ReadyOutcome::Failed;
        match outcome {
            ReadyOutcome::Ready | ReadyOutcome::NoWork => Ok(observed),
            ReadyOutcome::Timeout => {
                let text = format!("the server was not ready in time: {missing}; raise `timeout` in `[readiness]`");
                stage.record(Event::Warning(Warning {
                    kind: WarningKind::Readiness,
                    text,
                }));
                Ok(observed)
            }
            ReadyOutcome::Failed => Err(Stop::Ended(Ending::Refused { reason: missing })),
        }
    }

    /// The process that the server is told is its editor.
    fn editor_pid(&self) -> u32 {
        self.editor.as_ref().map_or_else(std::process::id, |editor| editor.pid)
    }

    /// A failure that the server reported for the workspace, at any time so far.
    pub fn failure(&self) -> Option<String> {
        self.signals.failure(&self.client)
    }

    /// True if the server supports `method`, including its current dynamic registrations.
    pub fn offers(&self, method: &str) -> bool {
        self.client.offers(method)
    }

    /// The way in which documents are synchronised.
    pub fn sync(&self) -> Sync {
        self.client.sync()
    }

    pub fn encoding(&self) -> Encoding {
        self.client.encoding()
    }

    /// True if the process or the connection has ended.
    pub fn has_ended(&self) -> bool {
        self.server.exit().is_some() || self.client.close_reason().is_some()
    }

    /// Waits until the server is gone, or hangs for `patience`.
    pub async fn fault(&self, stage: &impl Stage, patience: Duration) -> Stop {
        fault::watch(&self.client, || self.trouble(stage), stage, patience).await
    }

    /// The fault that already happened to the server and ends its run.
    pub fn trouble(&self, stage: &impl Stage) -> Option<Stop> {
        // How it ends is known when all that was in flight has been told.
        if self.has_ended() || stage.is_over_limit() {
            return Some(Stop::Gone);
        }
        let during = String::new();
        if let Some(Crash { name, pid, cause }) = stage.crash() {
            return Some(Stop::Ended(Ending::ProcessCrashed {
                name,
                pid,
                cause,
                during,
            }));
        }
        // Before it is ready, the handshake ends the run by the same report.
        if !self.is_ready {
            return None;
        }
        let reason = self.failure()?;
        Some(Stop::Ended(Ending::ReportedFailure { reason, during }))
    }

    /// The ending of a server that is gone: from its process, or from its connection if that ended first. A server
    /// whose connection was closed soon exits, and its exit then tells nothing.
    pub async fn ending_after_exit(&self, during: String) -> Ending {
        let broken = self.client.close_reason().filter(CloseReason::is_ours);
        let exit = match broken {
            Some(_) => None,
            None => tokio::time::timeout(Duration::from_secs(2), self.server.exited())
                .await
                .ok(),
        };
        match (exit, self.client.close_reason()) {
            (Some(Exit { code, signal, .. }), _) => Ending::Crashed { code, signal, during },
            (None, Some(reason)) => Ending::Disconnected {
                reason: format!("{reason} (in {during})"),
            },
            (None, None) => Ending::Disconnected {
                reason: format!("the server stopped responding (in {during})"),
            },
        }
    }

    /// Marks the server as hopeless: no answer is expected from now on.
    pub fn give_up(&mut self) {
        self.hopeless = true;
    }

    /// Shuts the server down in escalating stages; awaits `before_exit` while it still runs.
    pub async fn shut_down(&self, before_exit: impl Future<Output = ()>) -> Shutdown {
        let second = Duration::from_secs(1);
        let deadlines = if self.hopeless {
            Deadlines {
                answer: second,
                exit: second,
                stdin: second,
                ..Deadlines::default()
            }
        } else {
            Deadlines::default()
        };
        shutdown_record(stop::shut_down(&self.client, &self.server, &deadlines, before_exit).await)
    }

    /// Kills the server and everything in its group at once.
    pub async fn kill(&self) -> Shutdown {
        shutdown_record(stop::kill_now(&self.client, &self.server, Duration::from_secs(2)).await)
    }

    /// Lets the editor die; the server has `patience` to end by itself. `read_kept` reads what one has that stays.
    pub async fn orphan(&mut self, patience: Duration, read_kept: impl Future<Output = Option<u64>>) -> Shutdown {
        if let Some(editor) = self.editor.take() {
            editor.die().await;
        }
        let (stopped, orphaned) = stop::orphan(&self.client, &self.server, patience, read_kept).await;
        Shutdown {
            orphaned: Some(orphaned),
            ..shutdown_record(stopped)
        }
    }

    /// Totals of the connection. Waits briefly for the end of stderr, which a surviving child may hold open.
    pub async fn totals(&self) -> Close {
        // On a timeout the tail is what was read so far.
        let _ = tokio::time::timeout(Duration::from_secs(1), self.server.stderr_ended()).await;
        let totals = self.client.totals();
        Close {
            sent: totals.sent,
            received: totals.received,
            noise: totals.noise,
            noise_sample: totals.noise_sample,
            unfinished: totals.unfinished.map(|message| UnfinishedMessage {
                announced: message.announced,
                came: message.came,
            }),
            stderr: self.server.stderr_bytes(),
            stderr_tail: self.server.stderr_tail(),
            stderr_head: self.server.stderr_head(),
            held: None,
            notifications: totals.notifications,
            dropped: totals.dropped_events,
            unread: totals.dropped_params,
            violations: self.violations.counts(),
            unwritten: self.flood.unwritten(),
        }
    }
}

/// The answer to `initialize` as it is recorded.
fn initialized(capabilities: &ServerCapabilities, latency: Duration) -> Initialized {
    Initialized {
        name: capabilities.name.clone(),
        version: capabilities.version.clone(),
        encoding: capabilities.encoding().name().to_owned(),
        sync: capabilities.sync().name().to_owned(),
        latency: Some(latency.as_nanos() as u64),
    }
}

/// The error for a program that did not start. After a restart the server's own changes may be the cause.
fn unstarted(job: &Job, restarts: u32, error: io::Error) -> Stop {
    let program = &job.launch.program;
    if restarts > 0 {
        return refused(format!(
            "the server could not be started again: `{}`: {error}",
            program.display()
        ));
    }
    // For a missing interpreter, the system reports the script itself as not found.
    let error = match error.kind() {
        io::ErrorKind::NotFound => match resolve::unrunnable(program) {
            Some(why) => io::Error::new(io::ErrorKind::NotFound, why),
            None => error,
        },
        _ => error,
    };
    Stop::failed(format!("start `{}`", program.display()))(error)
}

fn shutdown_record(stopped: StoppedServer) -> Shutdown {
    let (code, signal) = stopped.exit.map_or((None, None), |exit| (exit.code, exit.signal));
    let took = Some(stopped.took.as_nanos() as u64);
    Shutdown {
        stage: stopped.stage,
        reply: stopped.reply,
        exit_sent: stopped.exit_sent,
        code,
        signal,
        took,
        orphaned: None,
        survivors: Vec::new(),
    }
}

/// A directory as a workspace folder; `None` if no URI can name it.
pub fn workspace_folder(directory: &Path) -> Option<WorkspaceFolder> {
    let uri = Url::parse(&uri::from_path(directory)).ok()?;
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Some(WorkspaceFolder { uri, name })
}

/// The workspace folders at the start: those of the scenario, or the workspace itself.
fn first_folders(job: &Job) -> Vec<WorkspaceFolder> {
    let mut folders = Vec::new();
    for directory in &job.folders {
        folders.extend(workspace_folder(&job.root.join(directory)));
    }
    if folders.is_empty() {
        folders.extend(workspace_folder(&job.root));
    }
    folders
}

/// The parameters of `initialize`: those of a recorded editor, or of ours.
fn initialize_params(client: &Client, job: &Job, editor: u32) -> Value {
    let recorded = job.scenario.recorded();
    if let Some(recorded) = recorded.and_then(|recorded| replay::initialize(recorded, job)) {
        return recorded;
    }
    let profile = &job.choice.profile;
    let folders = client.answers().folders;
    // As editors do: the first folder is the root of servers that know only one.
    let first = folders.first().and_then(|folder| uri::to_path(folder.uri.as_str()));
    let root = first.unwrap_or_else(|| job.root.clone());
    let mut params = json!({
        "processId": editor,
        "clientInfo": { "name": "lsp-soak", "version": env!("CARGO_PKG_VERSION") },
        "locale": "en",
        "rootPath": root,
        "rootUri": uri::from_path(&root),
        "workspaceFolders": folders,
        "capabilities": lsp::capabilities::client_capabilities(&job.capabilities),
        "trace": "off",
    });
    if let Some(options) = profile.initialization_options() {
        params["initializationOptions"] = options.clone();
    }
    params
}

async fn initialize(
    client: &Client,
    job: &Job,
    editor: u32,
    deadline: Duration,
) -> Result<(ServerCapabilities, Duration), Stop> {
    match client
        .request(
            "initialize",
            initialize_params(client, job, editor),
            RequestOptions::with_deadline(deadline + fault::GRACE).keeping(),
        )
        .await
    {
        Reply::Answer {
            body: Ok(body),
            latency,
            ..
        } => match lsp::modest(body.get()) {
            Ok(Value::Object(result)) => Ok((ServerCapabilities::from_result(&Value::Object(result)), latency)),
            Ok(other) => Err(refused(format!(
                "the answer to `initialize` is {}, not an object",
                kind(&other)
            ))),
            Err(why) => Err(unread(&why)),
        },
        Reply::Answer { body: Err(why), .. } => Err(unread(&why)),
        // Our own answer to a request that we do not serve.
        Reply::Error { message, .. } if message.starts_with(lsp::UNKNOWN_METHOD) => Err(refused(
            "it is no language server: it sent our own request back".to_owned(),
        )),
        Reply::Error { code, message, .. } => Err(refused(format!("`initialize` failed: {message} ({code})"))),
        Reply::Unreadable { why, .. } => Err(refused(format!("the answer to `initialize` cannot be read: {why}"))),
        Reply::TimedOut | Reply::Parked => {
            let (method, after) = ("initialize".to_owned(), deadline.as_nanos() as u64);
            Err(Stop::Ended(Ending::TimedOut {
                method,
                after,
                unsent: 0,
                during: String::new(),
            }))
        }
        Reply::Lost => Err(Stop::Gone),
    }
}

fn unread(why: &lsp::UnreadReason) -> Stop {
    refused(format!("the answer to `initialize` cannot be read: {why}"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn refused(reason: String) -> Stop {
    Stop::Ended(Ending::Refused { reason })
}

/// Handles the server's own messages until the connection ends.
async fn listen<S: Stage>(
    mut incoming: mpsc::Receiver<Incoming>,
    (signals, violations, flood): (Arc<Signals>, Arc<Violations>, Arc<Flood>),
    stage: S,
) {
    let mut asked = HashSet::new();
    let tell = |event: Event| {
        if flood.admits(&event) {
            stage.record(event);
        }
    };
    while let Some(news) = incoming.recv().await {
        match news {
            Incoming::Notification { method, params } => {
                let params = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
                signals.hear(&method, params.as_ref());
                if let Some(event) = message(&method, params.as_ref()) {
                    tell(event);
                }
            }
            Incoming::Answered { method, refused } => {
                let method = bounded_method(&mut asked, method);
                tell(Event::ServerRequest { method, refused });
            }
            Incoming::Registered { method } => tell(Event::Registered { method }),
            Incoming::Violation(violation) => {
                if let Some(text) = violations.hear(&violation) {
                    stage.record(Event::Warning(Warning {
                        kind: WarningKind::Protocol,
                        text,
                    }));
                }
            }
            Incoming::Closed(_) => {}
        }
    }
}

/// The method of a server's request. Bounds the names in a record: above the limit, all new ones become one.
fn bounded_method(asked: &mut HashSet<String>, method: String) -> String {
    const MOST: usize = 1024;
    if asked.len() < MOST {
        asked.insert(method.clone());
    }
    if asked.contains(&method) {
        method
    } else {
        lsp::OTHER_METHODS.to_owned()
    }
}

/// A message of the server to the user, if it is a warning or worse.
fn message(method: &str, params: Option<&Value>) -> Option<Event> {
    if !matches!(method, "window/logMessage" | "window/showMessage") {
        return None;
    }
    let level = params?.get("type")?.as_u64().filter(|level| (1..=2).contains(level))?;
    let text = params?.get("message")?.as_str()?.chars().take(MESSAGE).collect();
    Some(Event::ServerMessage {
        level: level as u8,
        text,
    })
}
