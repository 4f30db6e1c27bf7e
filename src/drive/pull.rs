//! The diagnostics that the imitated editor pulls by itself, beside the steps. [`lsp::NextPull`] says when.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::task::{AbortHandle, JoinSet};

use lsp::{Client, NextPull, Provider, Reply, RequestOptions};
use record::{Event, Outcome, Request};

use super::ask::{record_reply, with_parts};
use super::{Stage, fault, parked};

const LOOK: Duration = Duration::from_millis(20);

const DOCUMENT: &str = "textDocument/diagnostic";
pub const WORKSPACE: &str = "workspace/diagnostic";

/// Pulls until the returned handle is aborted. A request that is not answered within `deadline` is cancelled; `parks` are
/// the methods that the server may keep open.
pub fn start<S: Stage>(client: &Client, stage: &S, deadline: Duration, parks: &[String]) -> AbortHandle {
    client.enable_pulls();
    let puller = Puller {
        client: client.clone(),
        stage: stage.clone(),
        deadline,
        documents_park: parks.iter().any(|method| method == DOCUMENT),
    };
    tokio::spawn(puller.run()).abort_handle()
}

/// Waits until everything is pulled, or until `patience` ends, and sends nothing from then on until
/// [`Client::hold_pulls`] allows it.
pub async fn wait_and_hold(client: &Client, patience: Duration) {
    let begun = Instant::now();
    client.hold_pulls(false);
    client.hurry_pulls();
    while client.has_pulls() && begun.elapsed() < patience {
        tokio::time::sleep(LOOK).await;
    }
    client.hold_pulls(true);
}

#[derive(Clone)]
struct Puller<S> {
    client: Client,
    stage: S,
    deadline: Duration,
    /// True if the server may keep the request for a document open.
    documents_park: bool,
}

impl<S: Stage> Puller<S> {
    async fn run(self) {
        let mut under_way = JoinSet::new();
        loop {
            let next = self.client.next_pull();
            match next {
                NextPull::Document { uri, providers } => {
                    let puller = self.clone();
                    under_way.spawn(async move { puller.document(&uri, &providers).await });
                    continue;
                }
                NextPull::Workspace(provider) => {
                    let puller = self.clone();
                    under_way.spawn(async move { puller.workspace(&provider).await });
                    continue;
                }
                NextPull::At(time) => {
                    // The end of the wait is no news: it is looked again either way.
                    let _ = tokio::time::timeout_at(time.into(), self.client.pulls_changed()).await;
                }
                NextPull::Nothing => self.client.pulls_changed().await,
            }
            while under_way.try_join_next().is_some() {}
        }
    }

    /// Asks each provider of a document at once.
    async fn document(&self, uri: &str, providers: &[Provider]) {
        join_all(providers.iter().map(|provider| self.document_of(uri, provider))).await;
        self.client.document_pull_ended(uri);
    }

    async fn document_of(&self, uri: &str, provider: &Provider) {
        let identifier = provider.identifier.as_deref();
        let params = self.client.document_diagnostic_params(identifier, uri);
        let ask = RequestOptions::with_deadline(self.deadline + fault::GRACE).keeping();
        let reply = if self.documents_park {
            tokio::select! {
                biased;
                reply = self.client.request(DOCUMENT, &params, ask.parking()) => reply,
                () = parked::wait(&self.client, &self.stage, None) => Reply::Parked,
            }
        } else {
            self.client.request(DOCUMENT, &params, ask).await
        };
        let written = record_reply(DOCUMENT, reply);
        if let Some(report) = written.body {
            self.client.store_document_report(identifier, uri, &report);
        }
        self.record(written.request);
    }

    /// The server may keep this request open, and send its result in parts.
    async fn workspace(&self, provider: &Provider) {
        /// Longer than any session: an editor waits for ever.
        const FOREVER: Duration = Duration::from_secs(7 * 24 * 3_600);
        let identifier = provider.identifier.as_deref();
        let (params, token) = self.client.workspace_diagnostic_params(identifier);
        self.client.expect_parts(&token, WORKSPACE, identifier);
        let ask = RequestOptions::with_deadline(FOREVER).keeping().parking();
        let reply = self.client.request(WORKSPACE, &params, ask).await;
        let written = record_reply(WORKSPACE, reply);
        self.client.pulled_workspace(identifier, &written.reports);
        let is_error = matches!(written.request.outcome, Outcome::Error { .. });
        let parts = self.client.parts(&token);
        self.client.end_parts(&token);
        self.record(with_parts(written.request, parts));
        self.client.workspace_pull_ended(&provider.identifier, is_error);
    }

    fn record(&self, request: Request) {
        self.stage.record(Event::Request(Request {
            editor: true,
            ..request
        }));
    }
}
