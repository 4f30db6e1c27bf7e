//! Collects the garbage of Java processes and reads what is live, by the `jcmd` of each one's JDK.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::drive::ReleaseResult;
use crate::resolve::Collector;
use base::Cancel;
use proctree::host;
use record::{ReleasedBy, Releaser};

/// Longest wait for one process: a full collection of a heap of many GiB takes seconds.
const LONGEST: Duration = Duration::from_secs(60);

/// Has every Java virtual machine of `alive` collect its garbage and count its live objects, one after the other.
pub async fn collect(alive: Vec<u32>, patience: Duration) -> ReleaseResult {
    let collected = tokio::task::spawn_blocking(move || collect_each(&alive, patience.min(LONGEST)));
    collected.await.unwrap_or_else(|error| ReleaseResult {
        missing: vec![format!("the collection was not waited for: {error}")],
        ..ReleaseResult::default()
    })
}

fn collect_each(alive: &[u32], patience: Duration) -> ReleaseResult {
    let machines: Vec<(u32, PathBuf)> = alive.iter().filter_map(|pid| Some((*pid, tool(*pid)?))).collect();
    let mut given = ReleaseResult::default();
    if machines.is_empty() {
        given
            .missing
            .push("no process of the server is a Java virtual machine".to_owned());
    }
    for (pid, jcmd) in &machines {
        match histogram(*pid, jcmd, patience) {
            Ok(releaser) => given.used.push(releaser),
            Err(why) => given.missing.push(format!("process {pid} was not collected: {why}")),
        }
    }
    if given.used.len() < machines.len() {
        given.forget_live();
    }
    given
}

/// The `jcmd` of the JDK whose virtual machine a process has loaded: `lib/server/libjvm.so` stands beside `bin/jcmd`.
fn tool(pid: u32) -> Option<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let library = proctree::mapped_files(&maps)
        .into_iter()
        .find(|path| path.ends_with("libjvm.so"))?;
    Some(library.ancestors().nth(3)?.join("bin/jcmd"))
}

fn histogram(pid: u32, jcmd: &Path, patience: Duration) -> Result<Releaser, String> {
    let what = Collector::Java.to_string();
    // A histogram has a line for each of thousands of classes.
    let mut command = Command::new("sh");
    command.args(["-c", r#""$0" "$1" "$2" | tail -n 1"#]);
    command.arg(jcmd).args([&pid.to_string(), &what]);
    let begun = Instant::now();
    let heard = host::run_program(&mut command, patience, &Cancel::default());
    let said = heard.map_err(|error| format!("cannot start a shell: {error}"))?.said;
    let accounted = total(&said.stdout).ok_or_else(|| {
        let words = said.stderr.lines().next().unwrap_or("it printed no total");
        format!("`{}`, which a JDK has: {words}", jcmd.display())
    })?;
    Ok(Releaser {
        by: ReleasedBy::Server,
        answer: format!("{accounted} bytes"),
        what,
        pid: Some(pid),
        accounted: Some(accounted),
        took: begun.elapsed().as_nanos() as u64,
    })
}

/// Bytes of the last line of a histogram: `Total        714893       39411192`.
fn total(line: &str) -> Option<u64> {
    line.strip_prefix("Total ")?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_memory_is_the_total_of_the_histogram() {
        assert_eq!(total("Total        714893       39411192\n"), Some(39_411_192));
        assert_eq!(total("java.io.IOException: Connection refused\n"), None);
        assert_eq!(total(""), None);
    }

    #[tokio::test]
    async fn a_tree_without_java_has_no_live_memory() {
        let given = collect(vec![std::process::id()], LONGEST).await;
        assert!(given.used.is_empty() && given.missing.len() == 1, "{given:?}");
    }
}
