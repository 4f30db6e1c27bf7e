//! `lsp-soak tune`: tries settings of a server beside its default, and recommends one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::bail;

use crate::campaign::{Campaign, Judge, Next, Outcomes};
use crate::cli;
use crate::progress::Verbosity;
use crate::soak::Interrupt;
use analysis::compare::Played;
use analysis::tune::{Rules, eliminated_cells, planned_sweep, sweep, undecisive_differences};
use base::exit::Exit;
use report::sweep::{elimination_clause, settings_line};

use super::resume::Place;
use plan::{ChoicePlan, TellPlan, TunePlan};
use tell::report_sweep;

mod cells;
mod plan;
mod price;
mod tell;

pub fn run(options: &cli::Tune, place: Place, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let choosing = ChoicePlan::from_typed(options);
    if !options.from.is_empty() {
        let runs = plan::recorded(options)?;
        return tell_sweep(&choosing, &runs, TellPlan::from_typed(options)?, None);
    }
    let plan = TunePlan::from_typed(options, &place)?;
    if options.list {
        return list(&plan);
    }
    plan.price.require_budget()?;
    let out = place.directory(&plan.scenario)?;
    // Exports may go into the new directory.
    let telling = TellPlan::from_typed(options)?;
    let (is_part, talk) = (plan.campaign.jobs.is_part(), plan.campaign.talk);
    if talk != Verbosity::Quiet && !is_part {
        say_before_runs(&plan);
    }
    let outcomes = play(&plan, &out, interrupt)?;
    if is_part {
        return outcomes.code();
    }
    super::tell_records(&out, None, talk, &outcomes);
    let Outcomes { runs, exit, failed, .. } = outcomes;
    failed.map_or(Ok(()), Err)?;
    if exit == Exit::Interrupted {
        return Ok(exit.code());
    }
    tell_sweep(&choosing, &runs, telling, Some(&out))
}

fn say_before_runs(plan: &TunePlan) {
    for note in &plan.notes {
        super::say(note);
    }
    super::say(&plan.price.text_before_runs());
}

/// Eliminates cells after each block; ends a sweep that can give no answer.
impl Judge for TunePlan {
    fn after_block(&self, runs: &[Played]) -> Next {
        if undecisive_differences(runs).is_err() || missing_cost_mistake(runs, self.cost.as_deref()).is_some() {
            Next::Hopeless
        } else {
            Next::WithoutCells(elimination_clauses(runs, &self.rules))
        }
    }

    fn time_forecast(&self, of_one_run: Duration) -> Option<Vec<String>> {
        Some(self.price.texts_after_run(of_one_run))
    }
}

/// Plays the sweep as far as its judge and its budget let it. Then, if it has a result, plays one more run of each cell
/// with the tracer.
fn play(plan: &TunePlan, out: &Path, interrupt: &Interrupt) -> anyhow::Result<Outcomes> {
    let campaign = Campaign {
        scenario: &plan.scenario,
        choices: &plan.choices,
        out,
        repeating: &plan.repeating,
        measuring: plan.campaign.measuring,
        talk: plan.campaign.talk,
        judge: plan,
        is_sweep: true,
        jobs: plan.campaign.jobs.clone(),
        calibration_options: "",
    };
    super::block_on(async {
        interrupt.heed();
        let mut outcomes = campaign.play(interrupt).await?;
        let tracer = match &plan.tracer {
            Some(tracer) if has_answer(plan, &outcomes.runs) => Some(tracer),
            _ => None,
        };
        if let Err(error) = campaign.trace(tracer, interrupt, &mut outcomes).await {
            outcomes.failed.get_or_insert(error);
        }
        Ok(outcomes)
    })
}

/// True if a run of the default counts, and the command does not lack the figure of `--cost`.
fn has_answer(plan: &TunePlan, runs: &[Played]) -> bool {
    missing_cost_mistake(runs, plan.cost.as_deref()).is_none()
        && sweep(runs, &plan.rules)
            .is_ok_and(|sweep| sweep.cells.first().is_some_and(|default| !default.runs.is_empty()))
}

/// A mistake if the command prints figures, but not the one of `--cost`.
fn missing_cost_mistake(runs: &[Played], cost: Option<&str>) -> Option<String> {
    let cost = cost?;
    let names: BTreeSet<&str> = runs
        .iter()
        .filter_map(|run| run.summary.lifecycle.command.as_ref()?.printed.as_ref())
        .flat_map(BTreeMap::keys)
        .map(String::as_str)
        .collect();
    if names.is_empty() || names.contains(cost) {
        return None;
    }
    let names: Vec<&str> = names.into_iter().collect();
    Some(format!(
        "`--cost {cost}`: the command prints no such figure, but {}",
        names.join(", ")
    ))
}

/// Prints the sweep of these records. A resumed sweep prints the same as its records, even if other programs are
/// installed by then.
fn tell_sweep(choosing: &ChoicePlan, runs: &[Played], telling: TellPlan, beside: Option<&Path>) -> anyhow::Result<u8> {
    if let Some(mistake) = missing_cost_mistake(runs, choosing.cost.as_deref()) {
        bail!(mistake);
    }
    let planned = planned_sweep(runs);
    let notes = planned.map_or(&[][..], |planned| &planned.notes);
    let sweep = sweep(runs, &choosing.rules(planned))?;
    report_sweep(telling, &sweep, runs, notes, beside)
}

/// For each cell that is not run any more, the reason as a clause.
fn elimination_clauses(runs: &[Played], rules: &Rules) -> BTreeMap<String, String> {
    eliminated_cells(runs, rules)
        .eliminated
        .iter()
        .map(|(label, stopped)| (label.clone(), elimination_clause(stopped)))
        .collect()
}

fn list(plan: &TunePlan) -> anyhow::Result<u8> {
    let wide = plan.choices.iter().map(|choice| choice.label.len()).max().unwrap_or(0);
    let mut text = String::new();
    for choice in &plan.choices {
        let label = &choice.label;
        let sets = choice.cell.as_ref().map(settings_line).unwrap_or_default();
        text.push_str(&format!("{label:wide$}  {sets}\n"));
    }
    for line in plan.notes.iter().chain([&plan.price.text_before_runs()]) {
        text.push_str(&format!("\n{line}\n"));
    }
    super::print(&text)?;
    Ok(Exit::Passed.code())
}
