//! What about the machines makes the figures of several runs less sure: each kind once, with how many runs had it.

use crate::findings::strains;
use record::Strain;

use super::Played;

/// A strain that some runs were under.
#[derive(Clone, Debug, PartialEq)]
pub struct Strained {
    pub strain: Strain,
    /// The most there was of it in one run: bytes, a share, or the load for each processor.
    pub worst: f64,
    /// Processors of the machine of that run.
    pub cpus: Option<u64>,
    /// Of each side its name, the runs that were under it, and all that count.
    pub runs: Vec<(String, usize, usize)>,
}

impl Strained {
    /// The runs that were under it, and all of them.
    pub fn all(&self) -> (usize, usize) {
        let runs = self.runs.iter();
        runs.fold((0, 0), |all, (_, strained, runs)| (all.0 + strained, all.1 + runs))
    }

    /// Whether as large a share of each side's runs was under it.
    pub fn is_even(&self) -> bool {
        let (strained, all) = self.all();
        self.runs.iter().all(|(_, own, runs)| own * all == strained * runs)
    }
}

/// The strains that the runs of these sides were under.
pub fn strained<'r>(sides: impl Iterator<Item = (String, Vec<&'r Played>)>) -> Vec<Strained> {
    let sides: Vec<(String, Vec<&Played>)> = sides.filter(|(_, runs)| !runs.is_empty()).collect();
    let of = |strain: Strain| {
        let under = |run: &Played| strains(&run.summary).find_map(|(seen, worst)| (seen == strain).then_some(worst));
        let all = sides.iter().flat_map(|(_, runs)| runs.iter());
        let all = all.filter_map(|run| Some((under(run)?, run.summary.header.host.cpus)));
        let (worst, cpus) = all.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
        let count = |runs: &[&Played]| runs.iter().filter(|run| under(run).is_some()).count();
        Some(Strained {
            strain,
            worst,
            cpus,
            runs: sides
                .iter()
                .map(|(name, runs)| (name.clone(), count(runs), runs.len()))
                .collect(),
        })
    };
    [Strain::Shared, Strain::Busy, Strain::Short, Strain::Counters]
        .into_iter()
        .filter_map(of)
        .collect()
}
