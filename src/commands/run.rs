//! `lsp-soak run`: drives each server through each scenario, then reports what was recorded.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::campaign::{self, Campaign, Jobs, Judge, Next, Outcomes};
use crate::cli::{self, Command};
use crate::commands::output::Directory;
use crate::config::Loaded;
use crate::config::options::{Format, Repeating};
use crate::config::values::Runs;
use crate::resolve::ServerChoice;
use crate::soak::Interrupt;
use crate::trace::Tracer;
use analysis::compare::{Played, counts};
use analysis::summary::exit;
use base::exit::Exit;
use base::lens::Lens;
use base::units;
use report::verdict::regression;

use super::report::require_label;
use super::resume::{Begun, Resumed, begin, directory_hold, new_directory, resume};
use super::show::{Outputs, Shape};
use super::{exports, formats, github, next, prepare};

pub fn run(options: &cli::Run, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let (resumed_options, begun) = match options.resume.as_deref() {
        Some(out) => {
            let (options, begun) = resume_run(out, options)?;
            (Some(options), Some(begun))
        }
        None => (None, None),
    };
    let options = resumed_options.as_ref().unwrap_or(options);
    let out = options.recording.out.as_deref();
    let jobs = prepare::share(&options.recording.processors, options.recording.measuring.thp, "run")?;
    let new_out = new_directory(out, begun.is_some());
    let tracing = prepare::find_tracer(options.trace_syscalls, &options.recording.processors)?;
    let understood = prepare::understood(&prepare::Typed::from_run(options, new_out));
    let (tracer, (scenarios, choices)) = prepare::require_tracer(tracing, understood)?;
    let labels = choices.iter().map(|choice| choice.label.as_str());
    require_label(labels, options.repeating.baseline.as_deref())?;
    // The form of the output depends on the options, not on how far the run came.
    let several = options.repeating.repeats(choices.len());
    let list = scenarios.len() > 1 || several || tracer.is_some();
    let compared = choices.len() > 1;
    let shape = |format| match format {
        Format::Terminal if several || compared => Shape::Compared,
        Format::Json if compared => Shape::Compared,
        _ if list => Shape::List,
        _ => Shape::One,
    };
    // Without a warm-up the first run is drawn by lot: the first server that was named is the baseline.
    let first = choices.first().map(|first| first.label.as_str());
    let baseline = options.repeating.baseline.as_deref().or(first);
    let output = &options.output;
    let targets = exports::targets(output.format, &output.exports, output.export_csv.as_deref())?;
    let directories = match begun {
        Some(begun) => begun.directories(&scenarios)?,
        None => begin(out, &scenarios)?,
    };
    super::warn_of_single_runs(&options.repeating, &choices);
    super::block_on(async {
        interrupt.heed();
        let mut report = Outputs::new(targets, shape, baseline, options.output.voice.details);
        let asked = Asked {
            options,
            scenarios: &scenarios,
            choices: &choices,
            tracer: tracer.as_ref(),
            baseline,
            jobs: &jobs,
        };
        let played = play(&asked, &directories, interrupt, &mut report).await;
        report.finish()?;
        played
    })
}

/// The options of the campaign in `out`, with the scenarios that are played.
fn resume_run(out: &Path, typed: &cli::Run) -> anyhow::Result<(cli::Run, Begun)> {
    let hold = directory_hold(&typed.recording.processors);
    let Resumed { mut options, begun } = resume(out, hold, run_options)?;
    options.scenarios = begun.select_played(options.scenarios);
    options.recording.out = Some(begun.directory().to_owned());
    Ok((options, begun))
}

/// The options of a `run` command; `None` for other commands.
fn run_options(command: Command) -> Option<cli::Run> {
    if let Command::Run(options) = command {
        Some(options)
    } else {
        None
    }
}

struct Asked<'a> {
    options: &'a cli::Run,
    scenarios: &'a [Loaded],
    choices: &'a [ServerChoice],
    /// Counts memory calls in one more run of each server.
    tracer: Option<&'a Tracer>,
    baseline: Option<&'a str>,
    jobs: &'a Jobs,
}

/// Plays every run of the plan.
async fn play(
    asked: &Asked<'_>,
    directories: &[Directory],
    interrupt: &Interrupt,
    report: &mut Outputs,
) -> anyhow::Result<u8> {
    let Asked {
        options,
        scenarios,
        choices,
        tracer,
        baseline,
        jobs,
    } = *asked;
    let mut worst = Exit::Passed;
    for (scenario, out) in scenarios.iter().zip(directories) {
        let campaign = Campaign {
            scenario,
            choices,
            out,
            repeating: &options.repeating,
            measuring: options.recording.measuring,
            talk: crate::commands::talk(options.output.voice),
            judge: &Deciding {
                repeating: &options.repeating,
            },
            is_sweep: false,
            jobs: jobs.clone(),
            calibration_options: &next::calibration_options(out),
        };
        if let Some(doubt) = prepare::quiet_purge(choices, scenario) {
            super::say(&format!("warning: {doubt}"));
        }
        let mut outcomes = campaign.play(interrupt).await?;
        if let Jobs::Of { .. } = jobs {
            return outcomes.code();
        }
        if outcomes.is_refused {
            worst = worst.worse(outcomes.exit);
            continue;
        }
        let traced = campaign.trace(tracer, interrupt, &mut outcomes).await;
        report.add(&outcomes.runs)?;
        github::report_comparison(&outcomes.runs, baseline);
        refuse_too_short(options, choices.len(), &mut outcomes);
        worst = worst.worse(outcomes.exit);
        keep(options, out, directories.len() > 1, outcomes)?;
        traced?;
        if worst == Exit::Interrupted {
            break;
        }
    }
    Ok(worst.code())
}

/// Leaves the reports beside the records and says where they are. Nothing is left of a server that did not start, unless the
/// user named the directory.
fn keep(options: &cli::Run, out: &Directory, is_one_of_several: bool, outcomes: Outcomes) -> anyhow::Result<()> {
    if never_started(&outcomes) && out.discard()? {
        super::say("the server did not start, so no record is kept: `--out DIR` keeps it");
        return Ok(());
    }
    let page = formats::save(out, &outcomes.runs, options.repeating.baseline.as_deref());
    let whole = if is_one_of_several {
        options.recording.out.as_deref()
    } else {
        None
    };
    super::tell_records(out, whole, crate::commands::talk(options.output.voice), &outcomes);
    if let Ok(Some(page)) = &page
        && !options.output.voice.quiet
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
            exit(&run.summary) == Exit::ServerFailed && phases.iter().all(|phase| phase.checkpoint.is_none())
        })
}

/// A campaign that played well and yet has too few runs for a result is a mistake of the command line.
fn refuse_too_short(options: &cli::Run, servers: usize, outcomes: &mut Outcomes) {
    if outcomes.exit != Exit::Passed {
        return;
    }
    if let Some(sentence) = too_short(options, servers, &outcomes.runs) {
        super::say(&format!("error: {sentence}"));
        outcomes.exit = Exit::OwnFailure;
    }
}

/// A sentence if the time was too short for a single run that counts, with a time that would do.
fn too_short(options: &cli::Run, servers: usize, runs: &[Played]) -> Option<String> {
    let budget = options.repeating.time_budget?.0;
    if runs.iter().any(|run| counts(&run.summary)) {
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
struct Deciding<'r> {
    repeating: &'r Repeating,
}

impl Judge for Deciding<'_> {
    fn after_block(&self, runs: &[Played]) -> Next {
        if self.repeating.runs == Some(Runs::Auto) && campaign::is_decided(runs, self.repeating) {
            Next::Decided
        } else {
            Next::Continue
        }
    }

    fn standing(&self, runs: &[Played]) -> Option<String> {
        standing(runs, self.repeating)
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
            .map(|figure| regression(&figure.name, figure, side.runs, &repeating.looks.0))
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
