//! A run that was played: which machine it is of, and whether it is a copy of another.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::summary::Summary;
use base::units;
use record::ServerFacts;

use super::circumstances::without_patch;

/// A run and the name of its record.
#[derive(Clone, Debug)]
pub struct Played {
    pub record: String,
    pub summary: Arc<Summary>,
}

pub(crate) fn summaries<'r>(runs: &[&'r Played]) -> Vec<&'r Summary> {
    runs.iter().map(|run| &*run.summary).collect()
}

impl Played {
    /// `record` is the name of the run's record.
    pub fn new(record: String, summary: Summary) -> Played {
        Played {
            record,
            summary: Arc::new(summary),
        }
    }

    /// The run, to change it; copied if another comparison has it too.
    pub fn summary_mut(&mut self) -> &mut Summary {
        Arc::make_mut(&mut self.summary)
    }

    /// The identity of the run's machine: hardware, system, and part of the plan. Machines of one type may differ by
    /// kernel patches and by megabytes.
    pub fn machine(&self) -> String {
        let host = &self.summary.header.host;
        let mut machine = format!(
            "{}, {}, {}, {}",
            host.cpu.as_deref().unwrap_or(units::UNKNOWN),
            units::or_unknown(host.cpus, |cpus| units::count_of(cpus, "processor")),
            units::or_unknown(host.memory.total, |total| format!(
                "about {}",
                units::bytes(nominal(total))
            )),
            units::or_unknown(host.kernel.as_deref(), without_patch),
        );
        if let Some(partition) = &self.summary.header.plan.partition {
            machine = format!("part {partition} on {machine}");
        }
        machine
    }
}

/// The size that a machine with so much memory is sold as: the nearest of 1, 1.5, 2, 3, 4, 6, 8, 12 GiB and so on. The system
/// keeps some for itself, which differs from machine to machine.
fn nominal(bytes: u64) -> u64 {
    let power = bytes.checked_ilog2().map_or(0, |exponent| 1_u64 << exponent);
    let sizes = [power, power / 2 * 3, power.saturating_mul(2)];
    let nearest = sizes
        .into_iter()
        .min_by(|a, b| log_distance(bytes, *a).total_cmp(&log_distance(bytes, *b)));
    nearest.unwrap_or(bytes)
}

fn log_distance(bytes: u64, size: u64) -> f64 {
    (bytes as f64 / size as f64).ln().abs()
}

/// True if no two records are of one scenario, so that there is nothing to compare.
pub fn are_unlike<T: Ord>(mut scenarios: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    scenarios.all(|name| seen.insert(name))
}

/// The labels of the servers, each once.
pub fn labels(runs: &[Played]) -> BTreeSet<&str> {
    let labels = runs.iter().map(|run| run.summary.header.server.label.as_str());
    labels.collect()
}

/// A record that was left out, and the one that is of the same run.
pub type Copied = (String, String);

/// Each run once, by its first record.
pub fn distinct_runs(runs: Vec<Played>) -> (Vec<Played>, Vec<Copied>) {
    let mut kept: Vec<Played> = Vec::new();
    let mut copies = Vec::new();
    for run in runs {
        match kept.iter().find(|first| first.is_copy_of(&run)) {
            Some(first) => copies.push((run.record, first.record.clone())),
            None => kept.push(run),
        }
    }
    (kept, copies)
}

impl Played {
    /// True if both records are of one run, perhaps truncated at different places. Facts from before the run identify it:
    /// the millisecond, the free memory, its directories. Its label may have changed since.
    pub fn is_copy_of(&self, other: &Played) -> bool {
        let (a, b) = (&self.summary.header, &other.summary.header);
        a.started == b.started
            && a.plan == b.plan
            && a.host == b.host
            && a.scenario == b.scenario
            && a.workspace == b.workspace
            && without_label(&a.server) == without_label(&b.server)
    }
}

fn without_label(server: &ServerFacts) -> ServerFacts {
    ServerFacts {
        label: String::new(),
        ..server.clone()
    }
}

#[cfg(test)]
mod tests {
    use crate::compare::Played;
    use crate::golden;

    use super::{distinct_runs, nominal};

    #[test]
    fn memory_is_that_of_the_machine_that_was_bought() {
        for (mib, sold) in [(5_800, 6_144), (11_900, 12_288), (15_700, 16_384)] {
            assert_eq!(nominal(mib << 20), sold << 20, "{mib}");
        }
    }

    #[test]
    fn a_run_counts_once_however_many_records_there_are_of_it() {
        let mut copy = golden::run("b", 1, 100);
        copy.record = "copies/run-001-a.jsonl".to_owned();
        let mut later = golden::run("a", 1, 100);
        later.summary_mut().header.started = "2026-11-21T13:00:00.000Z".to_owned();
        let runs = vec![golden::run("a", 1, 100), golden::run("a", 2, 100), copy, later];
        let (runs, copies) = distinct_runs(runs);
        let numbers: Vec<u32> = runs.iter().map(|run: &Played| run.summary.header.plan.run).collect();
        assert_eq!(numbers, [1, 2, 1]);
        let copied = ("copies/run-001-a.jsonl".to_owned(), "run-001-a.jsonl".to_owned());
        assert_eq!(copies, [copied]);
    }
}
