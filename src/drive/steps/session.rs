//! Plays a recorded session: every message of the editor at its time, and after the answers that came before it.

mod documents;
mod outline;

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::config::recorded::{Params, Recorded, Sent, SentKind};
use crate::config::step::{Session, Speed};
use crate::drive::ask::Body;
use crate::drive::replay::{self, Mapping};
use crate::drive::{Stage, Stop};
use base::units;
use record::{Event, Warning, WarningKind};

use super::Scene;
use documents::Documents;

/// Methods that a warning names.
const NAMED: usize = 5;

/// Longest wait for a request that was open until the end of its session.
const LONGEST: Duration = Duration::from_secs(7 * 86_400);

/// `session`.
pub async fn play<S: Stage>(scene: &Scene<'_, S>, options: &Session) -> Result<(), Stop> {
    let recorded = options.recorded.as_ref();
    tell_gaps(scene, recorded, options.speed);
    let mut player = SessionPlayer {
        scene,
        mapping: replay::mapping(recorded, scene.job),
        documents: Documents::new(scene),
        result_ids: HashMap::new(),
        left_out: BTreeMap::new(),
        given_up: HashMap::new(),
    };
    player.play(recorded, options.speed).await?;
    player.tell_left_out();
    scene.asker.flushed().await
}

struct SessionPlayer<'s, 'a, S: Stage> {
    scene: &'s Scene<'a, S>,
    mapping: Mapping,
    documents: Documents<'s>,
    /// The newest result that the server named, by method and document: the next request names it.
    result_ids: HashMap<(String, String), Value>,
    /// Messages that cannot be made from what was recorded, by method.
    left_out: BTreeMap<String, u64>,
    /// Ends the wait for each open request, by its place in the session.
    given_up: HashMap<usize, oneshot::Sender<()>>,
}

/// A request that has ended.
struct Ended {
    place: usize,
    /// Method and document of results with an id.
    named: Option<(String, String)>,
    body: Body,
}

impl<S: Stage> SessionPlayer<'_, '_, S> {
    async fn play(&mut self, recorded: &Recorded, speed: Speed) -> Result<(), Stop> {
        let (scene, begun) = (self.scene, Instant::now());
        let mut pending = FuturesUnordered::new();
        for (place, sent) in recorded.messages.iter().enumerate() {
            let due = begun + speed.scale(Duration::from_nanos(sent.at));
            let mut timer = pin!(tokio::time::sleep_until(due));
            let mut is_due = false;
            while !is_due || sent.after.iter().any(|request| self.given_up.contains_key(request)) {
                tokio::select! {
                    biased;
                    Some(ended) = pending.next(), if !pending.is_empty() => self.note_end(ended?),
                    () = &mut timer, if !is_due => is_due = true,
                }
            }
            let Some(messages) = self.parameters(sent) else {
                *self.left_out.entry(sent.method.clone()).or_default() += 1;
                continue;
            };
            for params in messages {
                match sent.kind {
                    SentKind::Notification => scene.asker.notify(&sent.method, &params).await?,
                    SentKind::Cancel(request) => drop(self.given_up.remove(&request)),
                    SentKind::Request { is_answered } => {
                        let (give_up, given_up) = oneshot::channel();
                        self.given_up.insert(place, give_up);
                        pending.push(ask(scene, place, sent, params, is_answered, given_up));
                    }
                }
            }
            // A request is sent when it is first polled, and the order is that of the session.
            while let Some(Some(ended)) = pending.next().now_or_never() {
                self.note_end(ended?);
            }
        }
        // A request that stayed open to the end of the session stays open here.
        for (place, sent) in recorded.messages.iter().enumerate() {
            if sent.kind == (SentKind::Request { is_answered: false }) {
                self.given_up.remove(&place);
            }
        }
        while let Some(ended) = pending.next().await {
            self.note_end(ended?);
        }
        Ok(())
    }

    fn note_end(&mut self, ended: Ended) {
        self.given_up.remove(&ended.place);
        if let (Some(named), Some(body)) = (ended.named, ended.body)
            && let Ok(result) = serde_json::from_str::<Value>(body.get())
            && !result["resultId"].is_null()
        {
            self.result_ids.insert(named, result["resultId"].clone());
        }
    }

    /// The parameters to send, more than one for several changes of an outline; `None` if they cannot be made.
    fn parameters(&mut self, sent: &Sent) -> Option<Vec<Value>> {
        let mut all = match &sent.params {
            Params::Whole(params) => {
                let mut params = self.mapping.moved(params);
                if sent.method == "workspace/didChangeWorkspaceFolders" {
                    replay::keep_own_folders(&mut params["event"]["added"], self.scene.job);
                }
                vec![self.documents.follow(&sent.method, params)]
            }
            Params::Outline(outline) => {
                outline::parameters(self.scene.job, &mut self.documents, &sent.method, outline)?
            }
        };
        for params in &mut all {
            if let Some(named) = named_result(&sent.method, params)
                && let Some(id) = self.result_ids.get(&named)
                && params.get("previousResultId").is_some()
            {
                params["previousResultId"] = id.clone();
            }
        }
        Some(all)
    }

    fn tell_left_out(&self) {
        if self.left_out.is_empty() {
            return;
        }
        let mut methods: Vec<(&String, &u64)> = self.left_out.iter().collect();
        methods.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let count = units::count_of(self.left_out.values().sum(), "message");
        let mut names: Vec<String> = Vec::new();
        for (method, count) in methods.iter().take(NAMED) {
            names.push(format!("{method} ×{count}"));
        }
        if methods.len() > NAMED {
            names.push(format!("{} more methods", methods.len() - NAMED));
        }
        let why = "what they were about is not in the recorded session, or no file of the project stands for it";
        warn(self.scene, format!("{count} not sent ({}): {why}", names.join(", ")));
    }
}

/// Sends a request and waits for its end.
async fn ask<S: Stage>(
    scene: &Scene<'_, S>,
    place: usize,
    sent: &Sent,
    params: Value,
    is_answered: bool,
    given_up: oneshot::Receiver<()>,
) -> Result<Ended, Stop> {
    let named = named_result(&sent.method, &params);
    let limit = if is_answered { None } else { Some(LONGEST) };
    let body = scene
        .asker
        .ask_until(&sent.method, &params, limit, named.is_some(), async {
            // Nobody waits any more, even if the sender is gone.
            let _ = given_up.await;
        })
        .await?;
    Ok(Ended { place, named, body })
}

/// Method without its form, and document, of a request whose result has an id; `None` of any other.
fn named_result(method: &str, params: &Value) -> Option<(String, String)> {
    let family = match method {
        "textDocument/semanticTokens/full" | "textDocument/semanticTokens/full/delta" => "semanticTokens",
        "textDocument/diagnostic" => "diagnostic",
        _ => return None,
    };
    let uri = params["textDocument"]["uri"].as_str()?;
    Some((family.to_owned(), uri.to_owned()))
}

/// Says what the file of a session does not have.
fn tell_gaps<S: Stage>(scene: &Scene<'_, S>, recorded: &Recorded, speed: Speed) {
    if !recorded.has_times && speed != Speed::Max {
        let text = "the recorded session has no times: each message was sent when the answers before it had come";
        warn(scene, text.to_owned());
    }
    if recorded.more_sessions > 0 {
        let more = units::count_of(recorded.more_sessions, "more session");
        warn(
            scene,
            format!("the file has {more} after the first, which was played alone"),
        );
    }
    if recorded.unclear > 0 {
        let unclear = units::count_of(recorded.unclear, "message");
        let text = format!("{unclear} not sent: the recorded session does not say which method, or who sent it");
        warn(scene, text);
    }
}

fn warn<S: Stage>(scene: &Scene<'_, S>, text: String) {
    scene.stage.record(Event::Warning(Warning {
        kind: WarningKind::Scenario,
        text,
    }));
}
