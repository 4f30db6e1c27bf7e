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
    // What these started meanwhile has become ours and goes the same way; what has ended is ours to reap.
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let more = alive();
        kill(&more);
        if more.is_empty() && !left.iter().any(is_there) {
            break;
        }
    }
    left.into_iter().map(|(pid, _, name)| Survivor { pid, name }).collect()
}

/// Whether anything of a process is there, were it only to be reaped.
#[cfg(target_os = "linux")]
fn is_there((pid, ..): &Living) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Nobody has to reap them here.
#[cfg(not(target_os = "linux"))]
fn is_there(_process: &Living) -> bool {
    false
}

fn kill(processes: &[Living]) {
    for (pid, started, _) in processes {
        // One that is gone meanwhile is what was wanted; one that may not be killed is looked for again.
        let _ = lsp::process::kill_pid(*pid, || sample::started(*pid) == Some(*started));
    }
    lsp::process::reap_orphans();
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    const ALONE: &str = "LSP_SOAK_TEST_ALONE";

    /// Reaping takes whatever ended child there is, so this has a process to itself.
    #[test]
    fn a_survivor_that_was_killed_is_reaped() {
        if std::env::var_os(ALONE).is_none() {
            let this = std::env::current_exe().unwrap();
            let name = "soak::survivors::tests::a_survivor_that_was_killed_is_reaped";
            let alone = Command::new(this).args(["--exact", name]).env(ALONE, "1").output();
            let alone = alone.unwrap();
            assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stdout));
            return;
        }
        // One that holds memory is not gone at once. Nobody but us waits for it, as for an orphan.
        let mut command = Command::new("sh");
        command.args(["-c", "x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo up; read y"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
        let pid = child.id();
        let living = || sample::started(pid).map(|started| (pid, started, "sh".to_owned()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let cleared = clear(|| living().into_iter().collect(), Duration::ZERO);
        let killed = runtime.unwrap().block_on(cleared);
        assert_eq!(killed.len(), 1);
        assert!(child.wait().is_err(), "it was still to be reaped");
    }
}
