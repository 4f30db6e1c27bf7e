//! Waits for work that servers start only when a document is open: loading the project, registering capabilities.

use std::time::Instant;

use crate::config::ReadinessLimits;

use super::quiet::{IdleWatch, Rules};
use super::session::Session;
use super::{Stage, Stop};

/// Waits until `done`, or until the server has been idle for the whole start grace.
pub async fn wait<S: Stage>(
    session: &Session,
    stage: &S,
    limits: &ReadinessLimits,
    done: impl Fn() -> bool,
) -> Result<(), Stop> {
    let begun = Instant::now();
    let waiting = async {
        let rules = Rules {
            period: limits.quiet.0,
            cpu: limits.cpu.0,
        };
        let mut watch = IdleWatch::begin(&session.client, stage, rules).await;
        loop {
            let unrest = watch.check_after_interval().await;
            let rested = unrest.is_none() && watch.has_rested(begun, limits.start_grace.map(|grace| grace.0));
            if done() || rested || begun.elapsed() >= limits.timeout.0 {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        () = waiting => Ok(()),
        stop = session.fault(stage, limits.timeout.0) => Err(stop),
    }
}
