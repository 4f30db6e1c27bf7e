//! `lsp-soak cold`: runs commands to their end, then compares what was recorded.

mod choices;

use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::campaign::single::shell;
use crate::campaign::{Campaign, Jobs};
use crate::cli::{self, Command};
use crate::commands::output::{self, Directory};
use crate::compare::{Played, counts};
use crate::config::options::Repeating;
use crate::config::values::{LookPlan, Runs};
use crate::config::{Loaded, Report, Scenario, of_command};
use crate::exit::Exit;
use crate::record::Schedule;
use crate::resolve::{ServerChoice, label_of};
use crate::soak::Interrupt;

use super::resume::{begin, holding, resume};
use super::show::{Outputs, Shape};
use super::{exports, formats, prepare};

/// The name of a campaign of commands.
const NAME: &str = "cold";

/// What is asked for, when nothing is wrong with it.
struct Asked<'a> {
    options: &'a cli::Cold,
    scenarios: Vec<Loaded>,
    choices: Vec<ServerChoice>,
    repeating: Repeating,
    jobs: Jobs,
}

pub fn run(options: &cli::Cold, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let cold = |command| {
        if let Command::Cold(options) = command {
            Some(options)
        } else {
            None
        }
    };
    let out = options.resume.as_deref();
    let resumed = out
        .map(|out| resume(out, holding(&options.processors), cold))
        .transpose()?;
    let (resumed, begun) = resumed
        .map(|resumed| (resumed.options, (resumed.scenario, resumed.out)))
        .unzip();
    let options = resumed.as_ref().unwrap_or(options);
    let jobs = prepare::share(&options.processors, options.measuring.thp, NAME)?;
    let mut mistakes = Report::default();
    let choices = choices::choices(options, &mut mistakes);
    let mut scenarios = scenarios(options, &choices, &mut mistakes);
    let new = options.out.as_deref().filter(|_| resumed.is_none());
    for (title, cure) in new.iter().flat_map(|out| output::refused(out, &scenarios)) {
        mistakes.add_loose(title, cure);
    }
    prepare::told(mistakes)?;
    let directories = match begun {
        None => begin(output::directories(options.out.as_deref(), &scenarios)?)?,
        Some((scenario, out)) => {
            scenarios = scenarios.into_iter().skip(scenario).take(1).collect();
            vec![out]
        }
    };
    let asked = Asked {
        repeating: repeating(options, &choices),
        options,
        scenarios,
        choices,
        jobs,
    };
    super::block_on(play(&asked, &directories, interrupt))
}

/// The runs: as many of each command as were asked for, after as many that are discarded.
fn repeating(options: &cli::Cold, choices: &[ServerChoice]) -> Repeating {
    let reference = options.reference.as_ref().and(choices.first());
    Repeating {
        runs: Some(Runs::Fixed(options.runs)),
        looks: LookPlan(Schedule::default()),
        time_budget: None,
        partition: options.partition,
        baseline: reference.map(|choice| choice.label.clone()),
        warm_ups: Some(options.warmup),
    }
}

/// One for each workspace, else one for the current directory.
fn scenarios(options: &cli::Cold, choices: &[ServerChoice], mistakes: &mut Report) -> Vec<Loaded> {
    let workspaces: Vec<Option<&Path>> = match options.workspace.as_slice() {
        [] => vec![None],
        named => named.iter().map(|path| Some(path.as_path())).collect(),
    };
    let mut loaded = Vec::new();
    for workspace in workspaces {
        // Pinned workspaces are fetched when nothing is wrong.
        let is_fine = mistakes.is_empty();
        let project = of_command(workspace, options.workspace_setup.as_deref(), &|pin| {
            is_fine.then(|| prepare::fetched(pin))
        });
        match project {
            Ok(project) => {
                let text = text(options, choices, workspace);
                let digest = Sha256::digest(&text);
                loaded.push(Loaded {
                    scenario: scenario(workspace, options.seed),
                    path: PathBuf::new(),
                    sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
                    text,
                    project,
                });
            }
            Err(missing) if is_fine => {
                let (title, cure) = missing.words();
                mistakes.add_loose(title, &cure);
            }
            Err(_) => {}
        }
    }
    loaded
}

/// A scenario of one phase, in which nothing is asked.
fn scenario(workspace: Option<&Path>, seed: u64) -> Scenario {
    let name = workspace.map_or_else(|| NAME.to_owned(), |workspace| label_of(&workspace.to_string_lossy()));
    Scenario::of_command(&name, crate::drive::command::PHASE, seed)
}

/// What decides what a run measures, besides its own command: records of other texts are not compared.
fn text(options: &cli::Cold, choices: &[ServerChoice], workspace: Option<&Path>) -> String {
    let mut words = vec![format!("workspace {}", workspace.unwrap_or(Path::new(".")).display())];
    words.extend(choices.iter().filter_map(|choice| {
        let plan = choice.command.as_ref()?;
        let around = [&plan.prepare, &plan.conclude].map(|script| script.clone().unwrap_or_default());
        Some(format!("{}: {} {around:?}", choice.label, plan.typed))
    }));
    words.push(format!("page cache dropped: {}", options.drop_caches));
    words.join("\n")
}

async fn play(asked: &Asked<'_>, directories: &[Directory], interrupt: &Interrupt) -> anyhow::Result<u8> {
    interrupt.heed();
    let Asked { options, choices, .. } = asked;
    let here = std::env::current_dir().context("cannot tell the current directory")?;
    let around = |script: &Option<String>| match script {
        Some(script) if options.processors.job.is_none() => shell(script, &here, &Vec::new()),
        Some(_) | None => Ok(()),
    };
    let output = &options.output;
    let targets = exports::targets(output.format, &output.exports, output.export_csv.as_deref())?;
    around(&options.setup)?;
    let mut worst = Exit::Passed;
    let (mut runs, mut failed) = (Vec::new(), None);
    for (scenario, out) in asked.scenarios.iter().zip(directories) {
        let campaign = Campaign {
            scenario,
            choices,
            out,
            repeating: &asked.repeating,
            measuring: options.measuring,
            talk: super::talk(output.voice),
            enough: &|_| false,
            standing: &|_| None,
            hopeless: &|_| false,
            sweep: None,
            jobs: asked.jobs.clone(),
        };
        let outcomes = campaign.play(interrupt).await?;
        if let Jobs::Of { .. } = asked.jobs {
            return outcomes.code();
        }
        formats::save(out, &outcomes.runs, asked.repeating.baseline.as_deref())?;
        super::tell_records(out, campaign.talk, &outcomes);
        worst = worst.worse(outcomes.exit);
        runs.extend(outcomes.runs);
        failed = outcomes.failed;
        if worst == Exit::Interrupted || failed.is_some() {
            break;
        }
    }
    around(&options.cleanup)?;
    let fastest = asked.repeating.baseline.clone().or_else(|| fastest(&runs));
    let mut report = Outputs::new(targets, |_| Shape::Compared, fastest.as_deref(), output.voice.details);
    report.add(&runs)?;
    report.finish()?;
    failed.map_or(Ok(worst.code()), Err)
}

/// The command with the least median wall time over all projects together.
fn fastest(runs: &[Played]) -> Option<String> {
    let mut labels: Vec<&str> = runs
        .iter()
        .map(|run| run.summary.header.server.label.as_str())
        .collect();
    labels.sort_unstable();
    labels.dedup();
    let median = |label: &&str| {
        let own = runs
            .iter()
            .filter(|run| run.summary.header.server.label == **label && counts(&run.summary));
        let mut walls: Vec<u64> = own.filter_map(|run| Some(run.summary.command.as_ref()?.wall)).collect();
        walls.sort_unstable();
        walls.get(walls.len() / 2).copied().unwrap_or(u64::MAX)
    };
    labels.into_iter().min_by_key(median).map(str::to_owned)
}
