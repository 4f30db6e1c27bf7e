//! Processes that outlive their server.

use std::time::{Duration, Instant};

use crate::lsp;
use crate::record::Survivor;
use crate::sample::{self, Living};

/// Kills what is still there after the server and some patience, and says what it was.
pub async fn clear(alive: impl Fn() -> Vec<Living>, patience: Duration) -> Vec<Survivor> {
    let begun = Instant::now();
    let mut left = alive();
    while !left.is_empty() && begun.elapsed() < patience {
        tokio::time::sleep(Duration::from_millis(50)).await;
        left = alive();
    }
    kill(&left);
    // What these started meanwhile has become ours and goes the same way.
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let more = alive();
        if more.is_empty() {
            break;
        }
        kill(&more);
    }
    left.into_iter().map(|(pid, _, name)| Survivor { pid, name }).collect()
}

fn kill(processes: &[Living]) {
    for (pid, started, _) in processes {
        // One that is gone meanwhile is what was wanted; one that may not be killed is looked for again.
        let _ = lsp::process::kill_pid(*pid, || sample::started(*pid) == Some(*started));
    }
    lsp::process::reap_orphans();
}
