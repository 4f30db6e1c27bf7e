//! Resident peaks of the runs that a gate judges. The kernel marks them in every run, through every lens.

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::Played;
use crate::lens::Lens;

use super::judgement::Role;
use super::sides::through;

/// The candidate's peaks beside those of another side, of runs through one lens. All in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Peaks {
    pub against: Role,
    pub lens: Lens,
    pub candidate: Range,
    pub other: Range,
    /// True if every peak of the candidate is far above every peak of the other side.
    pub is_far_above: bool,
}

/// The smallest and the largest peak of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Range {
    pub least: u64,
    pub most: u64,
}

/// Peaks of one server vary by 3 %, with groups by 10 %: a quarter more is no chance.
const FAR: u64 = 4;

/// Least distance that is worth a headline: a spike of some MiB is common in small servers.
const LEAST: u64 = 16 << 20;

/// The measured peaks of the candidate against every other side, through each lens that both have.
pub(super) fn peaks(parties: &[(Role, &Vec<Played>)]) -> Vec<Peaks> {
    let candidate = parties.iter().find(|(role, _)| *role == Role::Candidate);
    let Some((_, candidate)) = candidate else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (role, runs) in parties.iter().filter(|(role, _)| *role != Role::Candidate) {
        for lens in Lens::ALL {
            let (Some(own), Some(other)) = (range(candidate, lens), range(runs, lens)) else {
                continue;
            };
            let distance = own.least.saturating_sub(other.most);
            all.push(Peaks {
                against: *role,
                lens,
                candidate: own,
                other,
                is_far_above: distance >= LEAST && distance >= other.most / FAR,
            });
        }
    }
    all
}

fn range(runs: &[Played], lens: Lens) -> Option<Range> {
    let runs = through(runs, Some(lens));
    let peaks: Vec<u64> = runs.iter().filter_map(|run| Some(run.summary.peak?.lower)).collect();
    Some(Range {
        least: *peaks.iter().min()?,
        most: *peaks.iter().max()?,
    })
}
