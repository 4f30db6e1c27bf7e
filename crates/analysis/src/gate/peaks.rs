//! Resident peaks of the runs that a gate judges. The kernel marks them in every run, through every lens.

use serde::Serialize;

use crate::compare::Played;
use crate::summary::exit_of_run;
use base::exit::Exit;
use base::lens::Lens;

use super::role::Role;

/// The candidate's peaks beside those of another side, of runs through one lens. All in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Peaks {
    pub against: Role,
    pub lens: Lens,
    pub candidate: Range,
    pub other: Range,
    /// True if every peak of the candidate is far above every peak of the other side.
    pub is_far_above: bool,
}

/// The smallest and the largest peak of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
            let Some((candidate, runs)) = both_sides(candidate, runs, lens) else {
                continue;
            };
            let (Some(own), Some(other)) = (range(&candidate), range(&runs)) else {
                continue;
            };
            let distance = own.least.saturating_sub(other.most);
            // A run that failed might have come to a higher peak.
            let is_whole = runs.iter().all(|run| exit_of_run(&run.summary) != Exit::ServerFailed);
            all.push(Peaks {
                against: *role,
                lens,
                candidate: own,
                other,
                is_far_above: is_whole && distance >= LEAST && distance >= other.most / FAR,
            });
        }
    }
    all
}

/// The measured runs of both sides. A gate that ends in its warm-up has no others.
fn both_sides<'r>(
    candidate: &'r [Played],
    other: &'r [Played],
    lens: Lens,
) -> Option<(Vec<&'r Played>, Vec<&'r Played>)> {
    [false, true]
        .into_iter()
        .map(|warm_up| (measured(candidate, lens, warm_up), measured(other, lens, warm_up)))
        .find(|(candidate, other)| !candidate.is_empty() && !other.is_empty())
}

/// The runs through a lens whose peaks are known: also those that the server failed, because that may be why.
fn measured(runs: &[Played], lens: Lens, warm_up: bool) -> Vec<&Played> {
    let mut measured = Vec::new();
    for run in runs {
        let plan = &run.summary.header.plan;
        let is_played = matches!(exit_of_run(&run.summary), Exit::Passed | Exit::ServerFailed) && plan.traced.is_none();
        if is_played && plan.warm_up == warm_up && run.summary.header.server.lens.name == lens {
            measured.push(run);
        }
    }
    measured
}

fn range(runs: &[&Played]) -> Option<Range> {
    let peaks: Vec<u64> = runs
        .iter()
        .filter_map(|run| Some(run.summary.memory.peak?.lower))
        .collect();
    Some(Range {
        least: *peaks.iter().min()?,
        most: *peaks.iter().max()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::run;
    use record::Ending;

    const MIB: u64 = 1 << 20;

    fn played(peaks: &[u64], lens: Lens) -> Vec<Played> {
        let mut runs = Vec::new();
        for (number, peak) in (1..).zip(peaks) {
            let mut run = run("server", number, 100);
            run.summary_mut().header.server.lens.name = lens;
            run.summary_mut().memory.peak.as_mut().unwrap().lower = peak * MIB;
            runs.push(run);
        }
        runs
    }

    fn peaks_of(baseline: &Vec<Played>, candidate: &Vec<Played>) -> Vec<Peaks> {
        peaks(&[(Role::Baseline, baseline), (Role::Candidate, candidate)])
    }

    fn is_far(baseline: &[u64], candidate: &[u64]) -> bool {
        let lens = Lens::Purged;
        peaks_of(&played(baseline, lens), &played(candidate, lens))[0].is_far_above
    }

    fn fail(runs: &mut [Played]) {
        for run in runs {
            run.summary_mut().ending = Some(Ending::Crashed {
                signal: Some(6),
                code: None,
                during: String::new(),
            });
        }
    }

    #[test]
    fn peaks_are_compared_through_every_lens_that_both_sides_have() {
        for lens in Lens::ALL {
            let all = peaks_of(&played(&[100, 103], lens), &played(&[101, 104], lens));
            let [one] = all.as_slice() else { panic!("{all:?}") };
            assert_eq!((one.lens, one.is_far_above), (lens, false));
            assert_eq!((one.candidate.least, one.candidate.most), (101 * MIB, 104 * MIB));
        }
        let [one, other] = Lens::ALL;
        assert_eq!(peaks_of(&played(&[100], one), &played(&[100], other)), []);
    }

    #[test]
    fn a_peak_is_far_above_only_if_every_run_is() {
        assert!(is_far(&[100, 110], &[140, 150]));
        assert!(!is_far(&[100, 110], &[109, 300]), "one run may be an outlier");
        assert!(!is_far(&[100, 110], &[130, 140]), "less than a quarter more");
        assert!(!is_far(&[10], &[20]), "a spike of some MiB is common");
    }

    #[test]
    fn a_gate_that_ends_in_its_warm_up_has_peaks_too() {
        let lens = Lens::Purged;
        let [mut baseline, mut candidate] = [played(&[100], lens), played(&[3_000], lens)];
        fail(&mut candidate);
        for run in baseline.iter_mut().chain(&mut candidate) {
            run.summary_mut().header.plan.warm_up = true;
        }
        assert!(peaks_of(&baseline, &candidate)[0].is_far_above);
        baseline.extend(played(&[200], lens));
        assert_eq!(peaks_of(&baseline, &candidate)[0].other.most, 100 * MIB);
    }

    #[test]
    fn peaks_of_failed_runs_tell_why_they_failed() {
        let lens = Lens::Purged;
        let (baseline, mut candidate) = (played(&[100], lens), played(&[3_000], lens));
        fail(&mut candidate);
        assert!(peaks_of(&baseline, &candidate)[0].is_far_above);
        let mut failed = baseline;
        fail(&mut failed);
        assert!(
            !peaks_of(&failed, &candidate)[0].is_far_above,
            "it might have come higher"
        );
    }
}
