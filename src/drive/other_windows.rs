//! The other windows of an editor on the same project. In each the same documents are open, and each hears of files that
//! change on disk; what a user does is done in the first window.

use std::future::ready;
use std::time::Duration;

use record::Event;

use crate::config::Step;
use crate::config::step::StopBy;

use super::ask::Asker;
use super::documents::OpenDocuments;
use super::session::Session;
use super::steps::{self, Scene};
use super::{Job, Stage, Stop};

/// A window with a server of its own.
pub struct OtherWindow {
    session: Session,
    documents: OpenDocuments,
}

/// The ending of a server that is gone is that of this window, not of the first. A tree that was killed for its memory has
/// another one.
async fn name_ending<T>(
    result: Result<T, Stop>,
    session: &Session,
    stage: &impl Stage,
    during: String,
) -> Result<T, Stop> {
    match result {
        Err(Stop::Gone) if !stage.is_over_limit() => Err(Stop::Ended(session.ending_after_exit(during).await)),
        other => other,
    }
}

impl OtherWindow {
    /// Opens window number `window`, the first of which is 0, and waits until its server is ready.
    pub async fn start<S: Stage>(
        job: &Job,
        stage: &S,
        window: u32,
        documents: OpenDocuments,
        deadline: Option<Duration>,
    ) -> Result<OtherWindow, Stop> {
        let mut session = Session::spawn(job, stage, 0, window)?;
        let shaken = session.handshake(job, stage, deadline).await;
        let during = format!("the start of window {}", window + 1);
        name_ending(shaken, &session, stage, during).await?;
        Ok(OtherWindow { session, documents })
    }

    pub fn client(&self) -> lsp::Client {
        self.session.client.clone()
    }

    /// Opens or closes documents as the first window does. Returns the notifications that this took.
    pub async fn follow<S: Stage>(&mut self, scene: &Scene<'_, S>, step: &Step, during: &str) -> Result<u64, Stop> {
        let patience = scene.job.scenario.deadline().0;
        let asker = Asker::new(&self.session.client, scene.stage, patience);
        let own = Scene {
            session: &self.session,
            stage: scene.stage,
            asker: &asker,
            job: scene.job,
            others: &[],
            place: scene.place.clone(),
            last: scene.last,
        };
        let followed = tokio::select! {
            biased;
            followed = steps::follow(&own, &mut self.documents, step) => followed,
            stop = self.session.fault(scene.stage, patience) => Err(stop),
        };
        name_ending(followed, &self.session, scene.stage, during.to_owned()).await?;
        let (_, _, notifications) = asker.tally();
        Ok(notifications)
    }

    /// The reason that the run cannot go on: the server of this window is gone.
    pub async fn trouble(&self, during: &str) -> Option<Stop> {
        if !self.session.has_ended() {
            return None;
        }
        Some(Stop::Ended(self.session.ending_after_exit(during.to_owned()).await))
    }

    /// Stops the server in this way. What it leaves is found with that of the first window.
    pub async fn leave(&mut self, by: StopBy, patience: Duration, stage: &impl Stage) {
        let shutdown = match by {
            StopBy::Shutdown => self.session.shut_down(ready(())).await,
            StopBy::Kill => self.session.kill().await,
            StopBy::EditorDies => self.session.orphan(patience, stage.private()).await,
        };
        stage.record(Event::Shutdown(shutdown));
    }
}
