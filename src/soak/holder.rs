//! The programs that held the tree's memory at checkpoints, and which allocator each has: looked at when the server is gone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::allocator;
use crate::drive::Job;
use crate::record::{AllocatorFacts, Holder, ServerFacts};
use crate::sample;

/// The programs that held the most at a checkpoint: a process of each, and the libraries that it had mapped.
#[derive(Debug, Default)]
pub struct Holders(Mutex<BTreeMap<PathBuf, (u32, Vec<PathBuf>)>>);

impl Holders {
    /// Remembers the process with the most memory now.
    pub fn look(&self, pids: impl IntoIterator<Item = u32>) {
        let tree = sample::holders(pids);
        let Some(leader) = sample::leader(&tree) else { return };
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", leader.pid)).unwrap_or_default();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(leader.program.clone(), (leader.pid, sample::mapped(&maps)));
    }

    /// What each of them has for an allocator; nothing of the program that was looked at before the run.
    pub fn found(&self, job: &Job, server: &ServerFacts, stop: &dyn Fn() -> bool) -> Vec<Holder> {
        let known = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let holders = known.into_iter().map(|(program, (pid, libraries))| {
            let (mut allocator, mut unread) = (None::<AllocatorFacts>, Vec::new());
            if program != job.native {
                let holders = allocator::of_process(&program, &libraries, stop);
                let variables = server.knobs.iter().map(|knob| knob.variable.clone());
                unread = variables
                    .filter(|name| !allocator::knobs::is_read(name, &holders))
                    .collect();
                unread.dedup();
                allocator = Some(allocator::knobs::under(&server.env, holders.facts));
            }
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
