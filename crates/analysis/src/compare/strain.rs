//! What about the machines makes the figures of several runs less sure: each kind once, with how many runs had it.

use crate::findings::strains;
use record::Strain;

use super::Played;

/// A strain that some runs were under.
#[derive(Clone, Debug, PartialEq)]
pub struct StrainedRuns {
    pub strain: Strain,
    /// The most there was of it in one run: bytes, a share, or the load for each processor.
    pub worst: f64,
    /// Processors of the machine of that run.
    pub cpus: Option<u64>,
    /// Of each side its name, the runs that were under it, and all that count.
    pub runs: Vec<(String, usize, usize)>,
}

impl StrainedRuns {
    /// The runs that were under it, and all of them.
    pub fn run_counts(&self) -> (usize, usize) {
        let strained = self.runs.iter().map(|(_, strained, _)| strained).sum();
        let all = self.runs.iter().map(|(_, _, all)| all).sum();
        (strained, all)
    }

    /// True if the same share of each side's runs was under it.
    pub fn is_even(&self) -> bool {
        let (strained, all) = self.run_counts();
        self.runs.iter().all(|(_, own, runs)| own * all == strained * runs)
    }
}

/// The strains that the runs of these sides were under.
pub fn strained_runs<'r>(sides: impl Iterator<Item = (String, Vec<&'r Played>)>) -> Vec<StrainedRuns> {
    let sides: Vec<(String, Vec<&Played>)> = sides.filter(|(_, runs)| !runs.is_empty()).collect();
    [Strain::Shared, Strain::Busy, Strain::Short, Strain::Counters]
        .into_iter()
        .filter_map(|strain| under_strain(strain, &sides))
        .collect()
}

/// A strain with the runs of these sides that were under it; `None` if none was.
fn under_strain(strain: Strain, sides: &[(String, Vec<&Played>)]) -> Option<StrainedRuns> {
    // The strain of the worst run, and the processors of its machine.
    let mut worst: Option<(f64, Option<u64>)> = None;
    let mut counts = Vec::new();
    for (name, runs) in sides {
        let mut strained_runs = 0;
        for run in runs {
            let Some(amount) = amount_of(strain, run) else {
                continue;
            };
            strained_runs += 1;
            if worst.is_none_or(|(most, _)| amount > most) {
                worst = Some((amount, run.summary.header.host.cpus));
            }
        }
        counts.push((name.clone(), strained_runs, runs.len()));
    }
    let (worst, cpus) = worst?;
    Some(StrainedRuns {
        strain,
        worst,
        cpus,
        runs: counts,
    })
}

/// The amount of a strain in a run; `None` if the run was not under it.
fn amount_of(strain: Strain, run: &Played) -> Option<f64> {
    let (_, amount) = strains(&run.summary).find(|(seen, _)| *seen == strain)?;
    Some(amount)
}
