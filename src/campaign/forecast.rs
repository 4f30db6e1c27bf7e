//! The detectable difference of the planned runs, reported after the warm-up run.

use crate::campaign::Campaign;
use crate::config::values::Runs;
use crate::resolve::ServerChoice;
use analysis::compare::Played;
use analysis::compare::calibration::LEAST_RUNS;
use base::lens::Lens;
use base::text::quoted;
use base::units::{self, Span};
use record::Header;
use report::comparison::calibration::smallest_growths;

use super::calibrations::{self, FoundCalibration};

/// One sentence per lens, and one about the time budget; empty for a fixed number of runs.
pub fn sentences(campaign: &Campaign<'_>, runs: &[Played], fitting: Option<u32>) -> Vec<String> {
    let repeating = campaign.repeating;
    let looks = &repeating.looks;
    let (planned, alpha): (Vec<usize>, f64) = match (repeating.runs, fitting) {
        (Some(Runs::Auto), None) => (looks.runs().to_vec(), looks.alpha_each()),
        (Some(Runs::Auto), Some(fitting)) => {
            let fitting = fitting as usize;
            let mut planned: Vec<usize> = looks.runs().iter().copied().filter(|look| *look <= fitting).collect();
            if planned.is_empty() {
                planned.push(fitting);
            }
            (planned, looks.alpha_each())
        }
        (Some(Runs::Fixed(runs)), Some(fitting)) => (vec![fitting.min(runs) as usize], looks.alpha()),
        (None, Some(fitting)) => (vec![fitting as usize], looks.alpha()),
        (Some(Runs::Fixed(_)) | None, None) => return Vec::new(),
    };
    let mut sentences = Vec::new();
    if let (Some(fitting), Some(budget)) = (fitting, repeating.time_budget) {
        sentences.push(budget_sentence(fitting, budget));
    }
    for choice in campaign.choices {
        let is_baseline = repeating.baseline.as_deref().unwrap_or(&campaign.choices[0].label) == choice.label;
        if is_baseline && let Some(header) = header_of(runs, &choice.label, choice.lens.lens) {
            let all = are_calibrated(campaign.choices, choice.lens.lens, runs);
            sentences.push(match calibrations::find(header) {
                FoundCalibration::Fits(path, held) => {
                    let seen = smallest_growths(&held.calibration, &planned, alpha, all);
                    format!("{seen}, by `{}`", path.display())
                }
                FoundCalibration::Differs(path, circumstances) => format!(
                    "the detectable difference is not known: `{}` was made with another {}; calibrate again with `{}`",
                    path.display(),
                    circumstances.join(", "),
                    command(campaign, choice)
                ),
                FoundCalibration::Nothing => format!(
                    "the detectable difference is not known: run `{}`",
                    command(campaign, choice)
                ),
            });
        }
    }
    sentences
}

/// True if every server has calibrations for this lens. One that did not warm up is known by another that is started alike.
fn are_calibrated(choices: &[ServerChoice], lens: Lens, runs: &[Played]) -> bool {
    let mut own = choices.iter().filter(|choice| choice.lens.lens == lens);
    own.all(|choice| {
        let alike = choices.iter().filter(|other| other.starts_like(choice));
        let mut known = alike.filter_map(|other| header_of(runs, &other.label, lens));
        known.any(is_calibrated)
    })
}

/// The header of a run of this server through this lens.
fn header_of<'r>(runs: &'r [Played], label: &str, lens: Lens) -> Option<&'r Header> {
    let mut headers = runs.iter().map(|run| &run.summary.header);
    headers.find(|header| header.server.label == label && header.server.lens.name == lens)
}

/// True if calibrations of this server have enough runs for a gate.
fn is_calibrated(header: &Header) -> bool {
    match calibrations::find(header) {
        FoundCalibration::Fits(_, held) => held.calibration.runs >= LEAST_RUNS,
        FoundCalibration::Differs(..) | FoundCalibration::Nothing => false,
    }
}

fn budget_sentence(fitting: u32, budget: Span) -> String {
    let runs = match fitting {
        0 => "no run that counts fits".to_owned(),
        fitting => format!(
            "about {} of each server fit",
            units::count_of(u64::from(fitting), "run")
        ),
    };
    format!("{runs} into {} after the warm-up", units::duration(budget.0))
}

/// The command that calibrates this server through its lens.
fn command(campaign: &Campaign<'_>, choice: &ServerChoice) -> String {
    let server = quoted(&choice.typed);
    format!(
        "lsp-soak calibrate {} --server {server} --lens {}{}",
        quoted(&campaign.scenario.path.display().to_string()),
        choice.lens.lens,
        campaign.calibration_options
    )
}
