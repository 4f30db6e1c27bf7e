//! The list of workloads.

mod alloc_test;
mod cache_scratch;
mod larson;
mod mpsc;
mod redis_like;
mod sh6;
mod sh8;
mod spawn;
#[cfg(test)]
mod tests;
mod xmalloc;

use std::fmt;

use clap::ValueEnum;

use crate::options::Options;
use crate::trial::Outcome;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// Tiny tokio tasks on a runtime with several threads
    Spawn,
    /// Threads send messages through one channel to one receiver
    Mpsc,
    /// A server whose blocks outlive the threads that took them
    Larson,
    /// Some threads only allocate, the others only free
    Xmalloc,
    /// Blocks of skewed sizes, freed last-in first-out or oldest first
    Sh6,
    /// As sh6, and blocks that live long are freed by another thread
    Sh8,
    /// Sizes and lifetimes by a power law
    AllocTest,
    /// Passive false sharing: threads write objects that may lie side by side
    CacheScratch,
    /// A keyspace of strings with churn, expiry and eviction
    RedisLike,
}

impl Workload {
    pub fn run(self, options: &Options) -> Outcome {
        match self {
            Workload::Spawn => spawn::run(options),
            Workload::Mpsc => mpsc::run(options),
            Workload::Larson => larson::run(options),
            Workload::Xmalloc => xmalloc::run(options),
            Workload::Sh6 => sh6::run(options),
            Workload::Sh8 => sh8::run(options),
            Workload::AllocTest => alloc_test::run(options),
            Workload::CacheScratch => cache_scratch::run(options),
            Workload::RedisLike => redis_like::run(options),
        }
    }

    /// True if --payload and --bounded have a meaning: mpsc alone sends messages.
    pub fn has_payload(self) -> bool {
        self == Workload::Mpsc
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no workload is hidden");
        f.write_str(value.get_name())
    }
}
