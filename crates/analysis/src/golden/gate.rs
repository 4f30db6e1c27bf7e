//! Verdicts of invented runs.

use std::collections::BTreeMap;

use base::lens::Lens;
use record::{CALIBRATION_FORMAT, Calibration, Noise};
use stats::Schedule;

use crate::compare::Played;
use crate::compare::calibration::ApplicableCalibration;
use crate::figures::Rules;
use crate::gate::{Calibrations, Judgement, Role, Sides, judge_calibrated};

/// The verdict where calibrations of all sides have shown that every figure varies by a thousandth.
pub fn judge(sides: &Sides, rules: &Rules, looks: &Schedule) -> Judgement {
    let compared = rules.primaries.iter().chain(&rules.advisory).map(|rule| &rule.subject);
    let budgeted = rules.budgets.iter().map(|budget| &budget.subject);
    let runs: Vec<&Played> = sides.baseline.iter().flatten().chain(&sides.candidate).collect();
    let mut noise: Vec<Noise> = Vec::new();
    for subject in compared.chain(budgeted) {
        if let Some(measure) = runs.iter().find_map(|run| subject.measure(&run.summary)) {
            noise.push(Noise {
                place: measure.place.name().to_owned(),
                figure: measure.figure.name().to_owned(),
                primary: true,
                mean: 1e8,
                variation: 0.001,
                believed: 0.001,
            });
        }
    }
    let of_lenses = Lens::ALL.map(|lens| held(lens, noise.clone()));
    let roles = [Role::Baseline, Role::Candidate, Role::Anchor];
    let calibrations = Calibrations {
        of_sides: roles.into_iter().map(|role| (role, of_lenses.to_vec())).collect(),
    };
    judge_calibrated(sides, rules, looks, &calibrations)
}

/// A calibration of twelve runs that holds.
pub fn held(lens: Lens, noise: Vec<Noise>) -> ApplicableCalibration {
    let calibration = Calibration {
        format: CALIBRATION_FORMAT,
        tool: String::new(),
        made: String::new(),
        scenario: String::new(),
        server: String::new(),
        profile: None,
        lens,
        circumstances: BTreeMap::new(),
        runs: 12,
        started: Vec::new(),
        noise,
        recommended_runs: None,
    };
    ApplicableCalibration {
        calibration,
        is_other_version: false,
    }
}
