//! What `--runs auto` has found so far.

use analysis::compare::calibration::{ApplicableCalibration, believed_noise_floor};
use analysis::compare::{Played, Target, compare_by_target, primary};
use base::lens::Lens;
use stats::{Endpoint, TooManyEndpoints, Verdict, decide_by_looks};

use super::calibrations;
use super::repeating::Repeating;

/// True if `--runs auto` has its answer: every server's regression is shown or ruled out.
pub fn is_decided(runs: &[Played], repeating: &Repeating) -> bool {
    let verdicts = verdicts(runs, repeating);
    // Nothing is decided before the first comparison, or without one.
    !verdicts.is_empty()
        && verdicts
            .iter()
            .all(|side| side.verdict.as_ref().is_ok_and(Verdict::is_settled))
}

/// The verdict of `--runs auto` on a server against the first one.
pub struct Side {
    pub label: String,
    pub lens: Lens,
    /// Runs that both have of every figure.
    pub runs: usize,
    pub verdict: Result<Verdict, TooManyEndpoints>,
}

/// The verdict on each server beside the first, in each scenario and through each lens.
pub fn verdicts(runs: &[Played], repeating: &Repeating) -> Vec<Side> {
    let scenarios = compare_by_target(runs.to_vec(), repeating.baseline.as_deref());
    let targets = scenarios.values().flatten();
    targets
        .flat_map(|target| verdicts_of_target(target, runs, repeating))
        .collect()
}

fn verdicts_of_target(target: &Target, runs: &[Played], repeating: &Repeating) -> Vec<Side> {
    let comparison = &target.comparison;
    let lens = target.lens.name;
    let mut sides = comparison.sides.iter();
    let Some(baseline) = sides.next() else {
        return Vec::new();
    };
    let of_baseline = calibrations_of(&baseline.label, runs);
    let mut verdicts = Vec::new();
    for (place, side) in sides.enumerate() {
        let calibrations = [of_baseline.as_slice(), &calibrations_of(&side.label, runs)];
        let endpoints = primary(comparison, place + 1, lens, &|measure| {
            believed_noise_floor(measure, measure.figure.noise(), lens, calibrations)
        });
        verdicts.push(Side {
            label: side.label.clone(),
            lens,
            runs: endpoints.iter().map(runs_of_both).min().unwrap_or(0),
            verdict: decide_by_looks(&endpoints, &repeating.looks),
        });
    }
    verdicts
}

/// The calibrations of a server, without those of these runs.
fn calibrations_of(label: &str, runs: &[Played]) -> Vec<ApplicableCalibration> {
    let own = runs.iter().filter(|run| run.summary.header.server.label == label);
    calibrations::for_runs(own, &calibrations::starts(runs.iter()))
}

fn runs_of_both(endpoint: &Endpoint) -> usize {
    endpoint.baseline.len().min(endpoint.candidate.len())
}
