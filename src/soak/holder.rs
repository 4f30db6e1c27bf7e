//! The programs that held the tree's memory at checkpoints, and which allocator each has.

use crate::drive::{Job, MemoryHolder};
use base::Cancel;
use record::{AllocatorFacts, AllocatorFamily, Confidence, Holder, ServerFacts};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The programs that held the most at a checkpoint: a process of each, and the libraries that it had mapped.
#[derive(Debug, Default)]
pub struct Holders {
    seen: Mutex<BTreeMap<PathBuf, (u32, Vec<PathBuf>)>>,
    /// What was found in programs that were looked at during the run: a large one takes a second.
    families: Mutex<BTreeMap<PathBuf, Option<AllocatorFamily>>>,
}

impl Holders {
    /// Remembers the program whose processes have the most memory now, with the largest of them and the libraries that it maps.
    pub fn note_leader(&self, pids: impl IntoIterator<Item = u32>) {
        let tree = proctree::holders(pids);
        let Some(leader) = proctree::leader(&tree) else { return };
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", leader.pid)).unwrap_or_default();
        let mut known = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(leader.program.clone(), (leader.pid, proctree::mapped_files(&maps)));
    }

    /// The program whose processes have the most memory now; `own` is the server's, which was inspected before the run.
    pub async fn current(&self, pids: Vec<u32>, own: &Path) -> Option<MemoryHolder> {
        let tree = proctree::holders(pids);
        let leader = proctree::leader(&tree)?;
        let (pid, program) = (leader.pid, leader.program.clone());
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let is_own = program == own;
        let family = if is_own { None } else { self.family(pid, &program).await };
        Some(MemoryHolder {
            program,
            words: split_words(&words),
            family,
            is_own,
        })
    }

    /// The allocator of a program, looked at once; `None` if it is only guessed.
    async fn family(&self, pid: u32, program: &Path) -> Option<AllocatorFamily> {
        let known = self
            .families
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(program)
            .copied();
        if let Some(family) = known {
            return family;
        }
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let (path, libraries) = (program.to_owned(), proctree::mapped_files(&maps));
        let inspected =
            tokio::task::spawn_blocking(move || allocator::of_process(&path, &libraries, &Cancel::default()).facts);
        let family = match inspected.await {
            Ok(facts) if facts.confidence > Some(Confidence::Guess) => Some(facts.family),
            _ => None,
        };
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        families.insert(program.to_owned(), family);
        family
    }

    /// Takes what was seen, with the allocator of each program. The server's own was inspected before the run: for it only an
    /// allocator that a module brought is named.
    pub fn take_identified(&self, job: &Job, server: &ServerFacts, cancel: &Cancel) -> Vec<Holder> {
        let known = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let holders = known.into_iter().map(|(program, (pid, libraries))| {
            let (allocator, unread) = if program == job.native {
                (allocator_of_module(job, &program, &libraries, cancel), Vec::new())
            } else {
                let holders = allocator::of_process(&program, &libraries, cancel);
                let variables = server.knobs.iter().map(|knob| knob.variable.clone());
                let mut unread: Vec<String> = variables
                    .filter(|name| !allocator::knobs::is_read(name, &holders))
                    .collect();
                unread.dedup();
                (
                    Some(allocator::knobs::facts_under_variables(&server.env, holders.facts)),
                    unread,
                )
            };
            Holder {
                pid,
                program: program.display().to_string(),
                allocator,
                unread,
            }
        });
        holders.collect()
    }
}

/// The allocator that a native module brought into the interpreter of a script: which modules it loads is known only
/// afterwards.
fn allocator_of_module(job: &Job, program: &Path, libraries: &[PathBuf], cancel: &Cancel) -> Option<AllocatorFacts> {
    let is_script = proctree::host::named_interpreter(&job.launch.program).is_some();
    // A preload gives an account of its own.
    let has_preload = !job.choice.libraries.is_empty();
    if !is_script || has_preload {
        return None;
    }
    let facts = allocator::of_process(program, libraries, cancel).facts;
    if facts.family.is_replacement() {
        Some(facts)
    } else {
        None
    }
}

/// The words of `/proc/PID/cmdline`, each of which ends with a zero byte.
fn split_words(line: &[u8]) -> Vec<String> {
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_has_its_words() {
        assert_eq!(
            split_words(b"java\0-XX:+UseZGC\0-jar\0a b.jar\0"),
            ["java", "-XX:+UseZGC", "-jar", "a b.jar"]
        );
        assert!(split_words(b"").is_empty());
    }

    #[tokio::test]
    async fn the_holder_is_inspected_unless_it_is_the_server_itself() {
        let holders = Holders::default();
        let pid = std::process::id();
        let program = std::fs::read_link("/proc/self/exe").expect("it is running");
        let own = holders.current(vec![pid], &program).await.expect("it is readable");
        assert!(own.is_own && own.family.is_none() && !own.words.is_empty(), "{own:?}");
        let other = holders
            .current(vec![pid], Path::new("/bin/other"))
            .await
            .expect("it is readable");
        assert!(!other.is_own && other.program == program, "{other:?}");
        let families = holders.families.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(families.get(&program), Some(&other.family), "it is not inspected twice");
    }
}
