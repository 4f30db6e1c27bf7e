//! Asks a server whether it has read what it was sent: notifications have no answer.

use std::time::Duration;

use serde_json::json;

use crate::lsp::{Ask, Client, Reply};
use crate::record::BARRIER;

/// Asks what only a server answers that is done with everything before it.
pub async fn ask(client: &Client, deadline: Duration) -> Reply {
    // Parameters may be left out, but servers made with pygls cannot read a request without any.
    client.request(BARRIER, json!({}), Ask::within(deadline)).await
}

/// Waits until the server has answered a request that was sent after every notification, and sends one if there is none;
/// false when it was not answered by the deadline. Never ends when the connection does: whoever watches for faults sees
/// the same and says more.
pub async fn pass(client: &Client, deadline: Duration) -> bool {
    if client.has_heard_all() {
        return true;
    }
    match ask(client, deadline).await {
        Reply::Answer { .. } | Reply::Error { .. } => true,
        Reply::TimedOut | Reply::Parked => false,
        Reply::Lost => std::future::pending().await,
    }
}
