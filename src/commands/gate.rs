//! `lsp-soak gate`: whether a candidate may replace a baseline, from runs made here or from records.

use std::path::Path;

use crate::campaign::{Campaign, Judge, Next, Outcomes, calibrations};
use crate::cli;
use crate::config::values::Runs;
use crate::soak::Interrupt;
use analysis::compare::Played;
use analysis::gate::{Judgement, Sides, judge_calibrated};
use base::exit::Exit;

use super::next;
use super::resume::Place;
use after::{added_runs, after_verdict};
use plan::{GatePlan, JudgePlan, TellPlan, recorded_sides};
use sides::{require_settings, split, unseen_settings};
use tell::{Verdict, report_verdict};

pub use rules::{planned, rules};

mod after;
mod anchor;
mod plan;
mod records;
mod rules;
mod sides;
mod tell;

/// Drives every side, then decides; or decides from records. A resumed directory plays only the missing runs.
pub fn run(options: &cli::Gate, place: Place, interrupt: &Interrupt) -> anyhow::Result<u8> {
    if !options.from.is_empty() {
        return judge_records(options);
    }
    let plan = GatePlan::from_typed(options, &place)?;
    let out = place.directory(&plan.scenario)?;
    // Exports may go into the new directory.
    let telling = TellPlan::from_typed(options)?;
    let (runs, exit) = play(&plan, &out, interrupt)?;
    let is_over = exit != Exit::Interrupted && !plan.campaign.jobs.is_part();
    let (true, Some(runs)) = (is_over, runs) else {
        return Ok(exit.code());
    };
    let sides = plan.sides(&runs);
    let mut notes = plan.notes;
    notes.extend(added_runs(plan.repeating.runs, &out));
    notes.extend(unseen_settings(&sides));
    conclude(&plan.judging, &sides, &out, telling, &notes)
}

/// Judges a gate whose runs are over, keeps what they show of the baseline, and tells.
fn conclude(judging: &JudgePlan, sides: &Sides, out: &Path, telling: TellPlan, notes: &[String]) -> anyhow::Result<u8> {
    // By calibrations of before this gate: its own runs would count twice.
    let judgement = judged(sides, judging);
    let next = after_verdict(&judgement, &judging.looks, sides, out);
    // Where the settings of its lens were not in force, the baseline calibrates nothing.
    require_settings(sides)?;
    if let Some(baseline) = &sides.baseline {
        super::calibrate::add_baseline(baseline, &judging.looks, telling.output.is_quiet);
    }
    let verdict = Verdict {
        sides,
        judgement: &judgement,
        notes,
        next,
    };
    report_verdict(&verdict, judging.refused, telling, Some(out))
}

fn judge_records(options: &cli::Gate) -> anyhow::Result<u8> {
    let (sides, judging) = recorded_sides(options)?;
    let telling = TellPlan::from_typed(options)?;
    let judgement = judged(&sides, &judging);
    let next = match options.from.as_slice() {
        [out] => after_verdict(&judgement, &judging.looks, &sides, out),
        _ => None,
    };
    let verdict = Verdict {
        sides: &sides,
        judgement: &judgement,
        notes: &unseen_settings(&sides),
        next,
    };
    report_verdict(&verdict, judging.refused, telling, None)
}

impl GatePlan {
    fn sides(&self, runs: &[Played]) -> Sides {
        split(self.is_alone, runs, &self.labels, self.anchor.clone())
    }

    /// True if the verdict is refused however many runs there will be: a server failed, ran without its settings, or the
    /// circumstances have changed.
    fn is_hopeless(&self, sides: &Sides) -> bool {
        require_settings(sides).is_err()
            || !sides.broken().is_empty()
            || tell::refuse(&sides.differences(), self.judging.refused).is_err()
    }
}

/// Ends a gate once its verdict is final, or can no longer be reached.
impl Judge for GatePlan {
    fn is_decided_without_runs(&self) -> bool {
        judged(&self.sides(&[]), &self.judging).is_final()
    }

    fn after_block(&self, runs: &[Played]) -> Next {
        let sides = self.sides(runs);
        if self.is_hopeless(&sides) {
            return Next::Hopeless;
        }
        let judgement = judged(&sides, &self.judging);
        if judgement.is_hopeless() {
            Next::Hopeless
        } else if judgement.is_final() && self.repeating.runs == Some(Runs::Auto) {
            Next::Decided
        } else {
            Next::Continue
        }
    }

    fn verdict_so_far(&self, runs: &[Played]) -> Option<String> {
        report::verdict::standing(&judged(&self.sides(runs), &self.judging), &self.judging.looks)
    }
}

/// The verdict, by what calibrations say of these servers.
fn judged(sides: &Sides, judging: &JudgePlan) -> Judgement {
    judge_calibrated(sides, &judging.rules, &judging.looks, &calibrations::for_sides(sides))
}

/// Plays the runs, says where their records are, and how the worst of them ended. No runs if a server was refused.
fn play(plan: &GatePlan, out: &Path, interrupt: &Interrupt) -> anyhow::Result<(Option<Vec<Played>>, Exit)> {
    let campaign = Campaign {
        scenario: &plan.scenario,
        choices: &plan.choices,
        out,
        repeating: &plan.repeating,
        measuring: plan.campaign.measuring,
        talk: plan.campaign.talk,
        judge: plan,
        is_sweep: false,
        jobs: plan.campaign.jobs.clone(),
        calibration_options: &next::calibration_options(out),
    };
    let outcomes = super::block_on(async {
        interrupt.heed();
        campaign.play(interrupt).await
    })?;
    super::tell_records(out, None, campaign.talk, &outcomes);
    let Outcomes {
        runs,
        exit,
        failed,
        is_refused,
    } = outcomes;
    if is_refused {
        return Ok((None, exit));
    }
    failed.map_or(Ok((Some(runs), exit)), Err)
}
