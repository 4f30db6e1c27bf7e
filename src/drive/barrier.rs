//! Asks whether a server has read all earlier messages: notifications have no answer.

use std::time::Duration;

use serde_json::json;

use lsp::{Client, Reply, RequestOptions};
use record::BARRIER;

/// Sends a request that a server answers only after everything before it.
pub async fn ask(client: &Client, deadline: Duration) -> Reply {
    // Parameters may be left out, but servers made with pygls cannot read a request without any.
    client
        .request(
            BARRIER,
            json!({}),
            RequestOptions::with_deadline(deadline + super::fault::GRACE),
        )
        .await
}

/// Waits until the server has answered a request sent after every notification; sends one if there is none. False if
/// the deadline passes first. Never ends if the connection does: the fault watcher reports that in more detail.
pub async fn wait_for_barrier(client: &Client, deadline: Duration) -> bool {
    if client.has_heard_all() {
        return true;
    }
    match ask(client, deadline).await {
        Reply::Answer { .. } | Reply::Error { .. } | Reply::Unreadable { .. } => true,
        Reply::TimedOut | Reply::Parked => false,
        Reply::Lost => std::future::pending().await,
    }
}
