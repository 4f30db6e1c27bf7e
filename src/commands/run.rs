//! `lsp-soak run`: drives each server through each scenario, then reports what was recorded.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::campaign::{self, Campaign, Judge, Next, Outcomes, Repeating};
use crate::cli;
use crate::commands::output::Directory;
use crate::config::Loaded;
use crate::config::values::{Format, Runs};
use crate::progress::Verbosity;
use crate::resolve::ServerChoice;
use crate::soak::Interrupt;
use crate::trace::Tracer;
use analysis::compare::{Played, is_counted};
use analysis::summary::exit_of_run;
use base::exit::Exit;
use base::lens::Lens;
use base::units;
use report::verdict::regression;

use super::plan::{CampaignPlan, OutputPlan, find_tracer, require_tracer};
use super::report::require_label;
use super::resume::Place;
use super::show::{Outputs, Shape};
use super::{formats, github, next, prepare};

/// The runs of a command line, which can begin.
struct RunPlan {
    scenarios: Vec<Loaded>,
    choices: Vec<ServerChoice>,
    /// Counts memory calls in one more run of each server.
    tracer: Option<Tracer>,
    repeating: Repeating,
    campaign: CampaignPlan,
}

impl RunPlan {
    /// The plan, or every mistake in the command line. Nothing was started yet.
    fn from_typed(command: &'static str, options: &cli::Run, place: &Place) -> anyhow::Result<RunPlan> {
        let recording = &options.recording;
        let voice = options.output.voice;
        let campaign = CampaignPlan::from_typed(command, &recording.processors, &recording.measuring, voice)?;
        let tracing = find_tracer(options.trace_syscalls, &campaign.jobs)?;
        let understood = prepare::understand(&prepare::TypedCommand {
            scenarios: &place.select_played(options.scenarios.clone()),
            options: &options.scenario,
            servers: &options.servers.servers,
            extras: &options.servers.extra,
            lenses: recording.lens,
            out: place.new_directory(),
            only_checks: false,
        });
        let (tracer, (scenarios, choices)) = require_tracer(tracing, understood)?;
        let labels = choices.iter().map(|choice| choice.label.as_str());
        require_label(labels, options.repeating.baseline.as_deref())?;
        Ok(RunPlan {
            scenarios,
            choices,
            tracer,
            repeating: Repeating::from(&options.repeating),
            campaign,
        })
    }

    /// The shape of a format. It depends on what was asked for, not on how far the runs came.
    fn shape(&self, format: Format) -> Shape {
        let several = self.repeating.repeats(self.choices.len());
        let compared = self.choices.len() > 1;
        match format {
            Format::Terminal if several || compared => Shape::Compared,
            Format::Json if compared => Shape::Compared,
            _ if self.scenarios.len() > 1 || several || self.tracer.is_some() => Shape::List,
            _ => Shape::One,
        }
    }

    /// Without a warm-up the first run is drawn by lot: the first server that was named is the baseline.
    fn baseline(&self) -> Option<&str> {
        let first = self.choices.first().map(|first| first.label.as_str());
        self.repeating.baseline.as_deref().or(first)
    }
}

pub fn run(options: &cli::Run, place: Place, interrupt: &Interrupt) -> anyhow::Result<u8> {
    play_as("run", options, place, interrupt)
}

/// Plays what the subcommand of this name means.
pub fn play_as(command: &'static str, options: &cli::Run, place: Place, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let plan = RunPlan::from_typed(command, options, &place)?;
    let whole = place.named().map(Path::to_owned);
    let directories = place.directories(&plan.scenarios)?;
    // Exports may go into the new directory.
    let output = OutputPlan::from_output(&options.output)?;
    super::warn_of_single_runs(&plan.repeating, &plan.choices);
    super::block_on(async {
        interrupt.heed();
        let shape = |format| plan.shape(format);
        let mut report = Outputs::new(output.targets, shape, plan.baseline(), output.details);
        let played = play(&plan, &directories, whole.as_deref(), interrupt, &mut report).await;
        report.finish()?;
        played
    })
}

/// Plays every run of the plan. `whole` has the directories of all scenarios.
async fn play(
    plan: &RunPlan,
    directories: &[Directory],
    whole: Option<&Path>,
    interrupt: &Interrupt,
    report: &mut Outputs,
) -> anyhow::Result<u8> {
    let whole = if directories.len() > 1 { whole } else { None };
    let mut worst = Exit::Passed;
    for (scenario, out) in plan.scenarios.iter().zip(directories) {
        let campaign = Campaign {
            scenario,
            choices: &plan.choices,
            out,
            repeating: &plan.repeating,
            measuring: plan.campaign.measuring,
            talk: plan.campaign.talk,
            judge: &plan.repeating,
            is_sweep: false,
            jobs: plan.campaign.jobs.clone(),
            calibration_options: &next::calibration_options(out),
        };
        if let Some(doubt) = prepare::quiet_purge(&plan.choices, scenario) {
            super::say(&format!("warning: {doubt}"));
        }
        let mut outcomes = campaign.play(interrupt).await?;
        if plan.campaign.jobs.is_part() {
            return outcomes.code();
        }
        if outcomes.is_refused {
            worst = worst.worse(outcomes.exit);
            continue;
        }
        let traced = campaign.trace(plan.tracer.as_ref(), interrupt, &mut outcomes).await;
        report.add(&outcomes.runs)?;
        github::report_comparison(&outcomes.runs, plan.baseline());
        refuse_too_short(plan, &mut outcomes);
        worst = worst.worse(outcomes.exit);
        keep(plan, out, whole, outcomes)?;
        traced?;
        if worst == Exit::Interrupted {
            break;
        }
    }
    Ok(worst.code())
}

/// Leaves the reports beside the records and says where they are. Nothing is left of a server that did not start, unless the
/// user named the directory.
fn keep(plan: &RunPlan, out: &Directory, whole: Option<&Path>, outcomes: Outcomes) -> anyhow::Result<()> {
    if never_started(&outcomes) && out.discard()? {
        super::say("the server did not start, so no record is kept: `--out DIR` keeps it");
        return Ok(());
    }
    let page = formats::save(out, &outcomes.runs, plan.repeating.baseline.as_deref());
    let talk = plan.campaign.talk;
    super::tell_records(out, whole, talk, &outcomes);
    if let Ok(Some(page)) = &page
        && talk != Verbosity::Quiet
    {
        super::say(&format!("report: {page}"));
    }
    // Only now: what filled the disk may be what cut the run short, and that is the better story.
    outcomes.failed.map_or(Ok(()), Err).and(page.map(drop))
}

/// True if every run failed before its first checkpoint, and nothing else went wrong.
fn never_started(outcomes: &Outcomes) -> bool {
    outcomes.failed.is_none()
        && !outcomes.runs.is_empty()
        && outcomes.runs.iter().all(|run| {
            let phases = &run.summary.phases;
            exit_of_run(&run.summary) == Exit::ServerFailed && phases.iter().all(|phase| phase.checkpoint.is_none())
        })
}

/// A campaign that played well and yet has too few runs for a result is a mistake of the command line.
fn refuse_too_short(plan: &RunPlan, outcomes: &mut Outcomes) {
    if outcomes.exit != Exit::Passed {
        return;
    }
    let budget = plan.repeating.time_budget;
    if let Some(sentence) = budget.and_then(|budget| too_short(budget.0, plan.choices.len(), &outcomes.runs)) {
        super::say(&format!("error: {sentence}"));
        outcomes.exit = Exit::OwnFailure;
    }
}

/// A sentence if the time was too short for a single run that counts, with a time that would do.
fn too_short(budget: Duration, servers: usize, runs: &[Played]) -> Option<String> {
    if runs.iter().any(|run| is_counted(&run.summary)) {
        return None;
    }
    let warm_ups: Vec<u64> = runs
        .iter()
        .filter(|run| run.summary.header.plan.warm_up)
        .map(|run| run.summary.duration)
        .collect();
    let warm_up = Duration::from_nanos(warm_ups.iter().sum());
    Some(format!(
        "no run counts: the warm-up took {} of the budget of {}; set --time-budget to {} or more, or use --runs",
        units::duration(warm_up),
        units::duration(budget),
        // The block that warms up, one run of each server, and half as much for what comes before a server.
        units::duration(warm_up.mul_f64(1.0 + 1.5 * servers as f64 / warm_ups.len().max(1) as f64))
    ))
}

/// Ends `--runs auto` once every server's regression is shown or ruled out.
impl Judge for Repeating {
    fn after_block(&self, runs: &[Played]) -> Next {
        if self.runs == Some(Runs::Auto) && campaign::is_decided(runs, self) {
            Next::Decided
        } else {
            Next::Continue
        }
    }

    fn verdict_so_far(&self, runs: &[Played]) -> Option<String> {
        standing(runs, self)
    }
}

/// The verdicts of `--runs auto` so far, a line for each server that has one.
fn standing(runs: &[Played], repeating: &Repeating) -> Option<String> {
    let sides = campaign::verdicts(runs, repeating);
    let lenses: BTreeSet<Lens> = sides.iter().map(|side| side.lens).collect();
    let mut lines = Vec::new();
    for side in &sides {
        let Ok(verdict) = &side.verdict else { continue };
        let figures: Vec<String> = verdict
            .endpoints
            .iter()
            .map(|figure| regression(&figure.name, figure, side.runs, &repeating.looks))
            .collect();
        if figures.is_empty() {
            continue;
        }
        let lens = if lenses.len() > 1 {
            format!(" ({})", side.lens.name())
        } else {
            String::new()
        };
        lines.push(format!("{}{lens}: {}", side.label, figures.join("; ")));
    }
    if lines.is_empty() { None } else { Some(lines.join("\n")) }
}
