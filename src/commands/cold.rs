//! `lsp-soak cold`: runs commands to their end, then compares what was recorded.

mod choices;
mod label;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::campaign::single::shell;
use crate::campaign::{Campaign, EveryRun, Jobs, failed_command, invocation};
use crate::cli::{self, Command};
use crate::commands::output::{self, Directory};
use crate::config::options::Repeating;
use crate::config::values::{LookPlan, Runs};
use crate::config::{Loaded, Pin, Project, Report, Scenario, of_command, short_name};
use crate::resolve::{ServerChoice, label_of};
use crate::soak::Interrupt;
use crate::starter::Starter;
use crate::trace::Tracer;
use analysis::compare::Played;
use base::Cancel;
use base::exit::Exit;
use record::Ending;
use stats::Schedule;

use choices::Case;

use super::resume::{Resumed, begin, directory_hold, resume};
use super::show::{Outputs, Shape};
use super::{exports, formats, prepare};

/// The name of a campaign of commands.
const NAME: &str = "cold";

const NO_STARTER: &str = "warning: `lsp-soak-start` is not beside lsp-soak, so peaks under 10 MiB may be those of lsp-soak: \
                          install both with `cargo install --path .`";

/// The valid options of a campaign of commands.
struct Asked<'a> {
    options: &'a cli::Cold,
    campaigns: Vec<Planned>,
    /// Counts memory calls in one more run of each command.
    tracer: Option<Tracer>,
    jobs: Jobs,
}

/// The commands of a case in a project.
struct Planned {
    scenario: Loaded,
    choices: Vec<ServerChoice>,
}

pub fn run(options: &cli::Cold, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let (resumed_options, begun) = match options.resume.as_deref() {
        Some(out) => {
            let hold = directory_hold(&options.processors);
            let Resumed { mut options, begun } = resume(out, hold, cold_options)?;
            options.out = Some(begun.directory().to_owned());
            (Some(options), Some(begun))
        }
        None => (None, None),
    };
    let options = resumed_options.as_ref().unwrap_or(options);
    let jobs = prepare::share(&options.processors, options.measuring.thp, NAME)?;
    let tracing = prepare::find_tracer(options.trace_syscalls, &options.processors)?;
    let mut mistakes = Report::default();
    let cases = choices::cases(options, &mut mistakes);
    let mut campaigns = campaigns(options, cases, &mut mistakes);
    let scenarios: Vec<Loaded> = campaigns.iter().map(|planned| planned.scenario.clone()).collect();
    // A resumed directory is not empty.
    if let (Some(out), None) = (options.out.as_deref(), &begun) {
        for (title, cure) in output::refusals(out, &scenarios) {
            mistakes.add_loose(title, cure);
        }
    }
    let (tracer, ()) = prepare::require_tracer(tracing, prepare::refuse_mistakes(mistakes))?;
    let directories = match begun {
        None => begin(options.out.as_deref(), &scenarios)?,
        Some(begun) => {
            campaigns = begun.select_played(campaigns);
            let scenarios = begun.select_played(scenarios);
            begun.directories(&scenarios)?
        }
    };
    let asked = Asked {
        options,
        campaigns,
        tracer,
        jobs,
    };
    let is_first = options.processors.job.is_none();
    if is_first && !options.output.voice.quiet && !Starter::find()?.is_small() {
        super::say(NO_STARTER);
    }
    if is_first && let Some(first) = asked.campaigns.first() {
        super::warn_of_single_runs(&repeating(options, &first.choices), &first.choices);
    }
    super::block_on(play(&asked, &directories, interrupt))
}

/// The options of a `cold` command; `None` for other commands.
fn cold_options(command: Command) -> Option<cli::Cold> {
    if let Command::Cold(options) = command {
        Some(options)
    } else {
        None
    }
}

/// A command with nothing around it, and the scenario of its runs.
pub fn single(command: &str, options: &cli::Tune) -> anyhow::Result<(Loaded, ServerChoice)> {
    let mut words: Vec<OsString> = ["lsp-soak", "cold"].map(OsString::from).to_vec();
    if let Some(ignored) = &options.ignore_failure {
        words.push(format!("--ignore-failure={ignored}").into());
    }
    let mut add = |name: &str, value: OsString| words.extend([name.into(), value]);
    if options.figures.is_some() {
        add("--figures", "json".into());
    }
    if let Some(workspace) = &options.scenario_options.workspace {
        add("--workspace", workspace.into());
    }
    if let Some(setup) = &options.scenario_options.setup {
        add("--workspace-setup", setup.into());
    }
    if let Some(seed) = options.scenario_options.seed {
        add("--seed", seed.to_string().into());
    }
    for variable in &options.extra.env {
        add("--env", variable.into());
    }
    for preload in &options.extra.preload {
        add("--preload", preload.to_string().into());
    }
    words.extend(["--", command].map(OsString::from));
    let Command::Cold(options) = cli::parse_extended(words)?.command else {
        bail!("`{command}` is not understood as a command");
    };
    let mut mistakes = Report::default();
    let cases = choices::cases(&options, &mut mistakes);
    let mut campaigns = campaigns(&options, cases, &mut mistakes);
    prepare::refuse_mistakes(mistakes)?;
    let planned = campaigns.pop().context("there is no command to run")?;
    let choice = planned
        .choices
        .into_iter()
        .next()
        .context("there is no command to run")?;
    Ok((planned.scenario, choice))
}

/// The runs: as many of each command as were asked for, after as many that are discarded.
fn repeating(options: &cli::Cold, choices: &[ServerChoice]) -> Repeating {
    // Allocators are compared with the first of them.
    let has_reference = options.reference.is_some() || options.preload.len() > 1;
    let baseline = if has_reference {
        choices.first().map(|choice| choice.label.clone())
    } else {
        None
    };
    Repeating {
        runs: Some(Runs::Fixed(options.runs)),
        looks: LookPlan(Schedule::default()),
        time_budget: None,
        partition: options.partition,
        baseline,
        warm_ups: Some(options.warmup),
    }
}

/// Each case in each workspace, else in the current directory.
fn campaigns(options: &cli::Cold, cases: Vec<Case>, mistakes: &mut Report) -> Vec<Planned> {
    // Pinned workspaces are fetched when nothing is wrong.
    let is_fine = mistakes.is_empty();
    let setup = options.workspace_setup.as_deref();
    let workspaces = match options.workspace.as_slice() {
        [] => vec![None],
        named => named.iter().map(|path| Some(path.as_path())).collect(),
    };
    let pinned = prepare::Projects::default();
    let mut projects = Vec::new();
    for workspace in workspaces {
        let fetch = |pin: &Pin| if is_fine { Some(pinned.fetched(pin)) } else { None };
        match of_command(workspace, setup, &fetch) {
            Ok(project) => projects.push(project),
            Err(missing) if is_fine => {
                let (title, cure) = missing.words();
                mistakes.add_loose(title, &cure);
            }
            Err(_) => {}
        }
    }
    let mut planned = Vec::new();
    for (name, project) in names(&projects).iter().zip(projects) {
        let name = if options.workspace.is_empty() {
            None
        } else {
            Some(name.as_str())
        };
        for case in &cases {
            let scenario = scenario(name, case, options.seed);
            planned.push(Planned {
                scenario: Loaded::new(scenario, PathBuf::new(), text(options, name), project.clone()),
                choices: case.choices.clone(),
            });
        }
    }
    planned
}

/// A name for each project, since its runs are compared with each other: that of its directory or of its package.
fn names(projects: &[Project]) -> Vec<String> {
    let mut names: Vec<String> = projects.iter().map(project_name).collect();
    label::number(&mut names.iter_mut().collect::<Vec<_>>());
    names
}

fn project_name(project: &Project) -> String {
    let package = project.origin.as_ref().and_then(|facts| short_name(&facts.origin));
    let name = package.or_else(|| project.root.file_name().map(|name| name.to_string_lossy().into_owned()));
    let label = label_of(&name.unwrap_or_default());
    if label.is_empty() { "project".to_owned() } else { label }
}

/// A scenario of one phase, in which nothing is asked: it has the name of the project and of the case.
fn scenario(project: Option<&str>, case: &Case, seed: u64) -> Scenario {
    let name = match (project, &case.name) {
        (None, None) => NAME.to_owned(),
        (Some(project), None) => project.to_owned(),
        (None, Some(case)) => case.clone(),
        (Some(project), Some(case)) => format!("{project}-{case}"),
    };
    Scenario::of_command(&name, crate::drive::command::PHASE, seed)
}

/// Everything that decides the measurement, besides the command and the project's files. Records with different texts are
/// not compared.
fn text(options: &cli::Cold, project: Option<&str>) -> String {
    let words = [
        format!("project {}", project.unwrap_or_default()),
        format!("prepare {:?}, conclude {:?}", options.prepare, options.conclude),
        format!("input {}, output {}", options.input, options.output_to),
        format!("shell {}", options.shell.as_deref().unwrap_or_default()),
    ];
    words.join("\n")
}

/// Runs a shell command before or after all runs, where this process plays all.
fn run_script(asked: &Asked<'_>, script: Option<&str>, cancel: &Cancel) -> anyhow::Result<()> {
    let here = std::env::current_dir().context("cannot tell the current directory")?;
    if let Some(script) = script
        && asked.options.processors.job.is_none()
    {
        shell(script, &here, &Vec::new(), cancel)?;
    }
    Ok(())
}

async fn play(asked: &Asked<'_>, directories: &[Directory], interrupt: &Interrupt) -> anyhow::Result<u8> {
    interrupt.heed();
    let options = asked.options;
    let output = &options.output;
    let targets = exports::targets(output.format, &output.exports, output.export_csv.as_deref())?;
    let set_up = run_script(asked, options.setup.as_deref(), interrupt.first_press());
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
    for (planned, out) in asked.campaigns.iter().zip(directories) {
        failed = campaign(asked, planned, out, interrupt, &mut all).await.err();
        let is_over = failed.is_some() || failed_command(&all.runs).is_some();
        if is_over || all.worst == Exit::Interrupted {
            break;
        }
    }
    // Whatever went wrong in the runs, what the setup made is taken away, and what was recorded is shown.
    let cleaned = run_script(asked, options.cleanup.as_deref(), interrupt.second_press());
    if let (Some(_), Err(error)) = (&failed, &cleaned) {
        super::say(&format!("error: {error:#}"));
    }
    if let Jobs::Of { .. } = asked.jobs {
        return failed.map_or(Ok(all.worst.code()), Err);
    }
    let saved = match common_directory(options, directories) {
        Some(out) => formats::save(out, &all.runs, all.baseline.as_deref()),
        None if directories.len() == 1 => Ok(all.page),
        None => Ok(None),
    };
    if let Ok(Some(page)) = &saved
        && !output.voice.quiet
    {
        super::say(&format!("report: {page}"));
    }
    let mut report = Outputs::new(
        targets,
        |_| Shape::Compared,
        all.baseline.as_deref(),
        output.voice.details,
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
fn common_directory<'o>(options: &'o cli::Cold, directories: &[Directory]) -> Option<&'o Path> {
    let out = options.out.as_deref()?;
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
    asked: &Asked<'_>,
    Planned { scenario, choices }: &Planned,
    out: &Path,
    interrupt: &Interrupt,
    all: &mut Results,
) -> anyhow::Result<()> {
    let options = asked.options;
    let repeating = repeating(options, choices);
    let campaign = Campaign {
        scenario,
        choices,
        out,
        repeating: &repeating,
        measuring: options.measuring,
        talk: super::talk(options.output.voice),
        judge: &EveryRun,
        is_sweep: false,
        jobs: asked.jobs.clone(),
        calibration_options: "",
    };
    let mut outcomes = campaign.play(interrupt).await?;
    if let Jobs::Of { .. } = asked.jobs {
        all.worst = outcomes.exit;
        return outcomes.failed.map_or(Ok(()), Err);
    }
    let traced = campaign.trace(asked.tracer.as_ref(), interrupt, &mut outcomes).await;
    let saved = formats::save(out, &outcomes.runs, repeating.baseline.as_deref());
    let whole = match asked.campaigns.len() {
        0 | 1 => None,
        _ => options.out.as_deref(),
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
