//! What `--runs auto` has found so far.

use crate::config::options::Repeating;
use analysis::compare::calibration::believed;
use analysis::compare::{Played, Target, by_target, primary};
use base::lens::Lens;
use stats::{Endpoint, TooManyEndpoints, Verdict, decide_by_looks};

use super::calibrations;

/// Whether `--runs auto` has its answer: every server's regression is shown or ruled out.
pub fn decided(runs: &[Played], repeating: &Repeating) -> bool {
    let verdicts = verdicts(runs, repeating);
    // Nothing is decided before the first comparison, or without one.
    let settled = |side: &Side| side.verdict.as_ref().is_ok_and(Verdict::is_settled);
    !verdicts.is_empty() && verdicts.iter().all(settled)
}

/// What `--runs auto` says of a server against the first one.
pub struct Side {
    pub label: String,
    pub lens: Lens,
    /// Runs that both have of every figure.
    pub runs: usize,
    pub verdict: Result<Verdict, TooManyEndpoints>,
}

/// Of each server beside the first, in each scenario and through each lens.
pub fn verdicts(runs: &[Played], repeating: &Repeating) -> Vec<Side> {
    let scenarios = by_target(runs.to_vec(), repeating.baseline.as_deref());
    let of_target = |target: &Target| {
        let comparison = &target.comparison;
        let calibrated = |side: usize| {
            let label = &comparison.sides[side].label;
            let own = runs.iter().filter(|run| run.summary.header.server.label == *label);
            calibrations::for_runs(own, &calibrations::starts(runs.iter()))
        };
        let baseline = calibrated(0);
        let lens = target.lens.name;
        let side = |side: usize| {
            let sides = [baseline.as_slice(), &calibrated(side)];
            let endpoints = primary(comparison, side, lens, &|measure| {
                believed(measure, measure.figure.noise(), lens, sides)
            });
            Side {
                label: comparison.sides[side].label.clone(),
                lens,
                runs: endpoints.iter().map(both).min().unwrap_or(0),
                verdict: decide_by_looks(&endpoints, &repeating.looks.0),
            }
        };
        (1..comparison.sides.len()).map(side).collect::<Vec<Side>>()
    };
    scenarios.values().flatten().flat_map(of_target).collect()
}

fn both(endpoint: &Endpoint) -> usize {
    endpoint.baseline.len().min(endpoint.candidate.len())
}
