//! Processes that outlive their server.

use std::collections::HashSet;
use std::pin::pin;
use std::time::{Duration, Instant};

use base::units;
use proctree::Living;
use proctree::child;
use record::{MOST_NAMED, Survivor};

#[cfg(target_os = "linux")]
use super::cgroup::Group;

#[cfg(not(target_os = "linux"))]
struct Group;

#[cfg(not(target_os = "linux"))]
impl Group {
    fn new() -> Option<Group> {
        None
    }

    fn kill(&self, _processes: &[Living]) {}
}

/// The interval of checks for processes that outlive the server, or that were killed.
const LOOK: Duration = Duration::from_millis(50);
const GONE: Duration = Duration::from_millis(5);

/// Longest that is killed what comes anew, and waited for what does not go.
const LONGEST: Duration = Duration::from_secs(5);

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Those that were to be killed.
    pub killed: Vec<Survivor>,
    /// Those of them that are there nevertheless.
    pub remaining: Vec<Survivor>,
}

impl Cleared {
    /// The message if killing failed.
    pub fn warning(&self) -> Option<String> {
        const SHOWN: usize = 5;
        if self.remaining.is_empty() {
            return None;
        }
        let shown = self.remaining.iter().take(SHOWN);
        let names: Vec<String> = shown
            .map(|survivor| format!("{} (process {})", survivor.name, survivor.pid))
            .collect();
        Some(format!(
            "{} of the server could not be ended within {}: {}; end them by hand, because they disturb the next run",
            units::count_of(self.remaining.len() as u64, "process"),
            units::duration(LONGEST),
            names.join(", ")
        ))
    }
}

/// Kills the processes that remain after `patience`, until two checks in a row find none. `alive` lists all processes,
/// `orphans` only those reparented to us, which is faster than they can fork.
pub async fn clear(
    alive: impl Fn() -> Vec<Living>,
    orphans: impl Fn() -> Vec<Living>,
    patience: impl Future<Output = ()>,
) -> Cleared {
    let mut patience = pin!(patience);
    let mut living = alive();
    while !living.is_empty() {
        tokio::select! {
            biased;
            () = &mut patience => break,
            () = tokio::time::sleep(LOOK) => living = alive(),
        }
    }
    let begun = Instant::now();
    let (mut killed, mut empty): (Vec<Living>, u32) = (Vec::new(), 0);
    let group = if living.is_empty() { None } else { Group::new() };
    while empty < 2 && begun.elapsed() < LONGEST {
        if let Some(group) = &group {
            group.kill(&living);
        }
        kill(&living);
        let new = not_in(&killed, &living);
        let is_new = !new.is_empty();
        killed.extend(new.into_iter().take(MOST_NAMED - killed.len()));
        // A forking process does so within the pause.
        if is_new {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(GONE).await;
        }
        living = orphans();
        if living.is_empty() {
            living = alive();
        }
        child::reap_orphans();
        if living.is_empty() && !killed.iter().any(is_there) {
            empty += 1;
        } else {
            empty = 0;
        }
    }
    let left = if empty < 2 { living } else { Vec::new() };
    Cleared {
        killed: survivors(killed),
        remaining: survivors(left),
    }
}

fn survivors(living: Vec<Living>) -> Vec<Survivor> {
    let living = living.into_iter();
    living.map(|(pid, _, name)| Survivor { pid, name }).collect()
}

/// Processes that are not in `killed`. One that is killed may change its name, so names are not compared.
fn not_in(killed: &[Living], living: &[Living]) -> Vec<Living> {
    let known: HashSet<(u32, u64)> = killed.iter().map(|(pid, started, _)| (*pid, *started)).collect();
    living
        .iter()
        .filter(|(pid, started, _)| !known.contains(&(*pid, *started)))
        .cloned()
        .collect()
}

/// True if the process still exists, even as a zombie.
#[cfg(target_os = "linux")]
fn is_there((pid, ..): &Living) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// No zombies to reap on this system.
#[cfg(not(target_os = "linux"))]
fn is_there(_process: &Living) -> bool {
    false
}

fn kill(processes: &[Living]) {
    for (pid, started, _) in processes {
        // An ended process is the goal; one that may not be killed is found again.
        let _ = proctree::process::kill_pid(*pid, || proctree::start_time(*pid) == Some(*started));
    }
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
        // A process with much memory takes time to end. Only we wait for it, as for an orphan.
        let mut command = Command::new("sh");
        command.args(["-c", "x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo up; read y"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
        let pid = child.id();
        let living = || proctree::start_time(pid).map(|started| (pid, started, "sh".to_owned()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let cleared = clear(|| living().into_iter().collect(), Vec::new, async {});
        let cleared = runtime.unwrap().block_on(cleared);
        assert_eq!((cleared.killed.len(), cleared.remaining.len()), (1, 0));
        assert!(child.wait().is_err(), "it was still to be reaped");
    }

    #[test]
    fn a_survivor_that_changes_its_name_while_it_is_killed_counts_once() {
        let named = |pid, name: &str| (pid, 5, name.to_owned());
        let killed = [named(10, "node tsserver.js")];
        // It loses its command line at the end, and its name with it.
        let living = [named(10, "node"), named(11, "node")];
        assert_eq!(not_in(&killed, &living), [named(11, "node")]);
    }

    #[test]
    fn what_cannot_be_ended_is_told_with_what_to_do() {
        let begun = Instant::now();
        // A process that is another one by the time it is killed.
        let stays = || vec![(std::process::id(), 0, "stays".to_owned())];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let cleared = runtime.unwrap().block_on(clear(stays, Vec::new, async {}));
        assert!(begun.elapsed() >= LONGEST);
        assert_eq!((cleared.killed.len(), cleared.remaining.len()), (1, 1));
        let warning = cleared.warning().unwrap();
        assert!(
            warning.contains("1 process") && warning.contains("stays (process"),
            "{warning}"
        );
        assert_eq!(Cleared::default().warning(), None);
    }
}
