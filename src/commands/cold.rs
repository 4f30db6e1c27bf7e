//! `lsp-soak cold`: runs commands to their end, then compares what was recorded.

mod choices;
mod label;
mod plan;

use std::path::Path;

use anyhow::Context;

use crate::campaign::single::shell;
use crate::campaign::{Campaign, EveryRun, failed_command, invocation};
use crate::cli;
use crate::commands::output::Directory;
use crate::soak::Interrupt;
use crate::starter::Starter;
use analysis::compare::Played;
use base::Cancel;
use base::exit::Exit;
use record::Ending;

use super::formats;
use super::plan::OutputPlan;
use super::resume::Place;
use super::show::{Outputs, Shape};
pub use plan::single_command;
use plan::{ColdPlan, Planned};

/// The name of a campaign of commands.
const NAME: &str = "cold";

const NO_STARTER: &str = "warning: `lsp-soak-start` is not beside lsp-soak, so peaks under 10 MiB may be those of lsp-soak: \
                          install both with `cargo install --path .`";

pub fn run(options: &cli::Cold, place: Place, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let plan = ColdPlan::from_typed(options, &place)?;
    let whole = place.named().map(Path::to_owned);
    let directories = place.directories(&plan::scenarios(&plan.campaigns))?;
    // Exports may go into the new directory.
    let output = OutputPlan::from_output(&options.output)?;
    let is_first = !plan.campaign.jobs.is_part();
    if is_first && !output.is_quiet && !Starter::find()?.is_small() {
        super::say(NO_STARTER);
    }
    if is_first && let Some(first) = plan.campaigns.first() {
        super::warn_of_single_runs(&first.repeating, &first.choices);
    }
    super::block_on(play(&plan, &directories, whole.as_deref(), output, interrupt))
}

/// Runs a shell command before or after all runs, where this process plays all.
fn run_script(plan: &ColdPlan, script: Option<&str>, cancel: &Cancel) -> anyhow::Result<()> {
    let here = std::env::current_dir().context("cannot tell the current directory")?;
    if let Some(script) = script
        && !plan.campaign.jobs.is_part()
    {
        shell(script, &here, &Vec::new(), cancel)?;
    }
    Ok(())
}

async fn play(
    plan: &ColdPlan,
    directories: &[Directory],
    whole: Option<&Path>,
    output: OutputPlan,
    interrupt: &Interrupt,
) -> anyhow::Result<u8> {
    interrupt.heed();
    let set_up = run_script(plan, plan.setup.as_deref(), interrupt.first_press());
    if interrupt.is_pressed(1) {
        return Ok(Exit::Interrupted.code());
    }
    set_up?;
    let mut all = Results {
        worst: Exit::Passed,
        runs: Vec::new(),
        baseline: None,
        page: None,
    };
    let mut failed = None;
    for (planned, out) in plan.campaigns.iter().zip(directories) {
        failed = campaign(plan, planned, (out, whole), interrupt, &mut all).await.err();
        let is_over = failed.is_some() || failed_command(&all.runs).is_some();
        if is_over || all.worst == Exit::Interrupted {
            break;
        }
    }
    // Whatever went wrong in the runs, what the setup made is taken away, and what was recorded is shown.
    let cleaned = run_script(plan, plan.cleanup.as_deref(), interrupt.second_press());
    if let (Some(_), Err(error)) = (&failed, &cleaned) {
        super::say(&format!("error: {error:#}"));
    }
    if plan.campaign.jobs.is_part() {
        return failed.map_or(Ok(all.worst.code()), Err);
    }
    let saved = match common_directory(whole, directories) {
        Some(out) => formats::save(out, &all.runs, all.baseline.as_deref()),
        None if directories.len() == 1 => Ok(all.page),
        None => Ok(None),
    };
    if let Ok(Some(page)) = &saved
        && !output.is_quiet
    {
        super::say(&format!("report: {page}"));
    }
    let mut report = Outputs::new(
        output.targets,
        |_| Shape::Compared,
        all.baseline.as_deref(),
        output.details,
    );
    report.add(&all.runs)?;
    report.finish()?;
    match failed {
        Some(error) => return Err(error),
        None => cleaned.and(saved)?,
    };
    say_ended_by(&all.runs);
    Ok(all.worst.code())
}

/// The directory above those of several campaigns, unless it holds the reports of another campaign.
fn common_directory<'o>(whole: Option<&'o Path>, directories: &[Directory]) -> Option<&'o Path> {
    let out = whole?;
    if directories.len() > 1 && !out.join(invocation::FILE).exists() {
        Some(out)
    } else {
        None
    }
}

/// Names the command whose failure ended all runs, and the option to go on.
fn say_ended_by(runs: &[Played]) {
    let Some(run) = failed_command(runs) else {
        return;
    };
    let command = &run.summary.header.server.label;
    let how = match &run.summary.ending {
        Some(Ending::Crashed {
            signal: Some(signal), ..
        }) => format!("was ended by signal {signal}"),
        Some(Ending::Crashed { code: Some(code), .. }) => format!("ended with exit code {code}"),
        _ => "failed".to_owned(),
    };
    super::say(&format!(
        "`{command}` {how}, and no more runs were played: `-i` ignores exit codes"
    ));
}

/// The results of all campaigns.
struct Results {
    worst: Exit,
    runs: Vec<Played>,
    baseline: Option<String>,
    /// Path of the last page.
    page: Option<String>,
}

/// Plays one campaign, and keeps what it recorded even when it fails.
async fn campaign(
    plan: &ColdPlan,
    planned: &Planned,
    (out, whole): (&Path, Option<&Path>),
    interrupt: &Interrupt,
    all: &mut Results,
) -> anyhow::Result<()> {
    let repeating = &planned.repeating;
    let campaign = Campaign {
        scenario: &planned.scenario,
        choices: &planned.choices,
        out,
        repeating,
        measuring: plan.campaign.measuring,
        talk: plan.campaign.talk,
        judge: &EveryRun,
        is_sweep: false,
        jobs: plan.campaign.jobs.clone(),
        calibration_options: "",
    };
    let mut outcomes = campaign.play(interrupt).await?;
    if plan.campaign.jobs.is_part() {
        all.worst = outcomes.exit;
        return outcomes.failed.map_or(Ok(()), Err);
    }
    let traced = campaign.trace(plan.tracer.as_ref(), interrupt, &mut outcomes).await;
    let saved = formats::save(out, &outcomes.runs, repeating.baseline.as_deref());
    let whole = match plan.campaigns.len() {
        0 | 1 => None,
        _ => whole,
    };
    super::tell_records(out, whole, campaign.talk, &outcomes);
    all.worst = all.worst.worse(outcomes.exit);
    all.runs.append(&mut outcomes.runs);
    all.baseline = all.baseline.take().or_else(|| repeating.baseline.clone());
    // What filled the disk may be what cut the runs short, and that is the better story.
    outcomes.failed.map_or(Ok(()), Err).and(traced)?;
    all.page = saved?;
    Ok(())
}
