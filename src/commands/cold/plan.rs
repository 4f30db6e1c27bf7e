//! What `cold` was asked for: commands in projects, each under every allocator, and what is done around them. Every mistake is
//! found before any start.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::campaign::Repeating;
use crate::campaign::single::PAGE_CACHE;
use crate::cli::{self, Cold};
use crate::commands::output;
use crate::commands::plan::{CampaignPlan, find_tracer, require_tracer};
use crate::commands::prepare;
use crate::commands::resume::Place;
use crate::config::values::{Lenses, Runs};
use crate::config::{Catalogue, Loaded, MistakeReport, Pin, Project, Scenario, as_file_name, of_command, short_name};
use crate::resolve::{CommandPlan, ServerChoice, distinct, label_of, preload};
use crate::trace::Tracer;
use base::units;
use proctree::child::Stream;
use record::Preload;

use super::NAME;
use super::choices::{self, Command, Common};
use super::label::{hole, number, preloaded};

/// Campaigns of commands that can begin.
pub struct ColdPlan {
    pub campaigns: Vec<Planned>,
    /// Counts memory calls in one more run of each command.
    pub tracer: Option<Tracer>,
    pub campaign: CampaignPlan,
    /// Shell commands before and after all runs.
    pub setup: Option<String>,
    pub cleanup: Option<String>,
}

/// The commands of a case in a project.
pub struct Planned {
    pub scenario: Loaded,
    pub choices: Vec<ServerChoice>,
    pub repeating: Repeating,
}

impl ColdPlan {
    /// The plan of the command line, or every mistake in it. Nothing was started yet.
    pub fn from_typed(options: &Cold, place: &Place) -> anyhow::Result<ColdPlan> {
        let voice = options.output.voice;
        let campaign = CampaignPlan::from_typed(NAME, &options.processors, &options.measuring, voice)?;
        let tracing = find_tracer(options.trace_syscalls, &campaign.jobs)?;
        let mut mistakes = MistakeReport::default();
        let cases = cases(options, &mut mistakes);
        let campaigns = campaigns(options, cases, &mut mistakes);
        if let Some(out) = place.new_directory() {
            for (title, cure) in output::refusals(out, &scenarios(&campaigns)) {
                mistakes.add_loose(title, cure);
            }
        }
        let (tracer, ()) = require_tracer(tracing, prepare::refuse_mistakes(mistakes))?;
        Ok(ColdPlan {
            campaigns: place.select_played(campaigns),
            tracer,
            campaign,
            setup: options.setup.clone(),
            cleanup: options.cleanup.clone(),
        })
    }
}

pub fn scenarios(campaigns: &[Planned]) -> Vec<Loaded> {
    campaigns.iter().map(|planned| planned.scenario.clone()).collect()
}

/// The command of a sweep with nothing around it, and the scenario of its runs.
pub fn single_command(command: &str, options: &cli::Tune) -> anyhow::Result<(Loaded, ServerChoice)> {
    let defaults = Cold::with_defaults(command)?;
    let project = &options.scenario_options;
    let options = Cold {
        ignore_failure: options.ignore_failure.clone(),
        figures: options.figures,
        workspace: project.workspace.iter().cloned().collect(),
        workspace_setup: project.setup.clone(),
        seed: project.seed.unwrap_or(defaults.seed),
        env: options.extra.env.clone(),
        preload: options.extra.preload.clone(),
        ..defaults
    };
    let mut mistakes = MistakeReport::default();
    let cases = cases(&options, &mut mistakes);
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

/// The commands that are compared with each other: all, or one under several allocators.
struct Case {
    /// The command, if there are others.
    name: Option<String>,
    /// In the order in which they are listed, the reference first.
    choices: Vec<ServerChoice>,
}

/// All commands are one case; under several allocators each is a case of its own. Mistakes are added.
fn cases(options: &Cold, mistakes: &mut MistakeReport) -> Vec<Case> {
    let (preloads, twice) = distinct(&options.preload);
    for wrong in twice {
        mistakes.add_loose(wrong.to_string(), "");
    }
    check_counts(options, mistakes);
    if options.reference.is_some() && preloads.len() > 1 {
        let title = "`--reference` compares commands, and several allocators are compared with each other";
        mistakes.add_loose(title, "leave `--reference` out, or name one allocator");
    }
    check_parameters(options, mistakes);
    check_resources(options, mistakes);
    let known = Catalogue::built_in();
    let mut choices: Vec<ServerChoice> = Vec::new();
    let common = common(options);
    for command in commands(options) {
        choices.extend(choices::choices(command, &common, &known, mistakes));
    }
    number(&mut choices.iter_mut().map(|choice| &mut choice.label).collect::<Vec<_>>());
    let cases: Vec<Case> = cases_of_allocators(choices, &preloads, mistakes)
        .into_iter()
        .map(|case| case_through_lenses(options.lens, case, mistakes))
        .collect();
    for mistake in cases.iter().flat_map(|case| crate::resolve::mistakes(&case.choices)) {
        mistakes.add_loose(mistake, "");
    }
    cases
}

/// Several commands under several allocators are a case each; otherwise all are one case.
fn cases_of_allocators(choices: Vec<ServerChoice>, preloads: &[Preload], mistakes: &mut MistakeReport) -> Vec<Case> {
    if choices.len() > 1 && preloads.len() > 1 {
        let mut cases = Vec::new();
        for choice in &choices {
            cases.push(Case {
                name: Some(as_file_name(&choice.label)),
                choices: choices_under(choice, preloads, Preload::label, mistakes),
            });
        }
        return cases;
    }
    if preloads.is_empty() {
        return vec![Case { name: None, choices }];
    }
    let mut under_allocators = Vec::new();
    for choice in &choices {
        let label = |preload: &Preload| preloaded(&choice.label, preload);
        under_allocators.extend(choices_under(choice, preloads, label, mistakes));
    }
    vec![Case {
        name: None,
        choices: under_allocators,
    }]
}

/// The command under each of these allocators, without those whose library is missing.
fn choices_under(
    choice: &ServerChoice,
    preloads: &[Preload],
    label: impl Fn(&Preload) -> String,
    mistakes: &mut MistakeReport,
) -> Vec<ServerChoice> {
    let mut choices = Vec::new();
    for preload in preloads {
        let mut preloaded = ServerChoice {
            label: label(preload),
            preload: preload.clone(),
            preload_asked: true,
            ..choice.clone()
        };
        match preload::find(&mut preloaded) {
            Ok(()) => choices.push(preloaded),
            Err(mistake) => mistakes.add_loose(mistake, ""),
        }
    }
    choices
}

/// The commands of a case through each lens. A command has no checkpoint before which it could be made to release.
fn case_through_lenses(lenses: Lenses, case: Case, mistakes: &mut MistakeReport) -> Case {
    let choices = prepare::choices_through(lenses, |_| None, case.choices, mistakes);
    if let Some(choice) = choices.iter().find(|choice| choice.lens.collected_by.is_some()) {
        let title = format!("`{}` collects garbage, which a command is not made to do", choice.label);
        mistakes.add_loose(title, "leave `--lens` out");
    }
    Case { choices, ..case }
}

/// What the commands have in common.
fn common(options: &Cold) -> Common<'_> {
    Common {
        shell: options.shell.as_deref(),
        env: &options.env,
        parameters: &options.parameters,
        plan: CommandPlan {
            ignored: options.ignore_failure.clone(),
            prints: options.figures.is_some(),
            drop_caches: options.drop_caches,
            input: match options.input.as_str() {
                "null" => Stream::Null,
                file => Stream::File(absolute(file)),
            },
            output: match options.output_to.as_str() {
                "null" => Stream::Null,
                "pipe" => Stream::Piped,
                "inherit" => Stream::Inherit,
                file => Stream::File(absolute(file)),
            },
            ..CommandPlan::default()
        },
    }
}

/// Commands run in another directory.
fn absolute(file: &str) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.into())
}

/// Each command with its name and the scripts before and after it, the reference first.
fn commands(options: &Cold) -> Vec<Command<'_>> {
    let reference = options
        .reference
        .iter()
        .map(|text| (text, options.reference_name.as_ref()));
    let named = options.commands.iter().enumerate();
    let named = named.map(|(place, text)| (text, options.names.get(place)));
    let mut commands = Vec::new();
    for (place, (text, name)) in reference.chain(named).enumerate() {
        commands.push(Command {
            text,
            name: name.map(String::as_str),
            prepare: script_for(&options.prepare, place),
            conclude: script_for(&options.conclude, place),
        });
    }
    commands
}

/// The script for a command by its place: the only one, or its own where each has one.
fn script_for(scripts: &[String], place: usize) -> Option<&str> {
    match scripts {
        [one] => Some(one),
        several => several.get(place).map(String::as_str),
    }
}

/// Checks that scripts and names are as many as there are commands.
fn check_counts(options: &Cold, mistakes: &mut MistakeReport) {
    let count = options.commands.len();
    let all = count + usize::from(options.reference.is_some());
    for (name, scripts) in [("prepare", &options.prepare), ("conclude", &options.conclude)] {
        if scripts.len() > 1 && scripts.len() != all {
            let title = format!(
                "`--{name}` is given {} times for {}",
                scripts.len(),
                units::count_of(all as u64, "command")
            );
            mistakes.add_loose(
                title,
                "give it once for all commands, or once for each, the reference first",
            );
        }
    }
    if options.names.len() > count {
        let title = format!(
            "{} for {}",
            units::count_of(options.names.len() as u64, "name"),
            units::count_of(count as u64, "command")
        );
        mistakes.add_loose(title, "give at most one `--command-name` for each command");
    }
}

/// Checks that each parameter has one list of values, and is named where it is replaced.
fn check_parameters(options: &Cold, mistakes: &mut MistakeReport) {
    let mut names: Vec<&str> = Vec::new();
    for parameter in options.parameters.chunks_exact(2) {
        let (name, hole) = (parameter[0].as_str(), hole(&parameter[0]));
        if names.contains(&name) {
            let title = format!("`--parameter-list {name}` is given twice");
            mistakes.add_loose(title, "give all its values in one list");
        }
        names.push(name);
        let mut texts = options
            .commands
            .iter()
            .chain(&options.reference)
            .chain(&options.prepare)
            .chain(&options.conclude);
        if !texts.any(|text| text.contains(&hole)) {
            let title = format!("`--parameter-list {name}`: no command contains `{hole}`");
            mistakes.add_loose(title, "write it where the values shall stand");
        }
        for command in commands(options) {
            let is_named = command.name.is_some_and(|name| name.contains(&hole));
            let text = command.text;
            if is_named && !text.contains(&hole) && !command.scripts_contain(&hole) {
                let title = format!("the name of `{text}` contains `{hole}`, and it does not");
                mistakes.add_loose(title, "name it without, or use the parameter in it");
            }
        }
        for (option, file) in [("input", &options.input), ("output", &options.output_to)] {
            if file.contains(&hole) {
                let title = format!("`--{option}` contains `{hole}`, and is one file for all commands");
                mistakes.add_loose(title, "use --shell, and redirect in the command");
            }
        }
        for (option, script) in [("setup", &options.setup), ("cleanup", &options.cleanup)] {
            if script.as_ref().is_some_and(|script| script.contains(&hole)) {
                let title = format!("`--{option}` contains `{hole}`, and is run once for all commands");
                mistakes.add_loose(title, "use --prepare or --conclude, which are run with each value");
            }
        }
    }
}

/// Checks the input file, and the permission to drop the page cache.
fn check_resources(options: &Cold, mistakes: &mut MistakeReport) {
    let input = options.input.as_str();
    if input != "null" && !Path::new(input).is_file() {
        let title = format!("`--input {input}`: there is no such file");
        mistakes.add_loose(title, "name a file, or null");
    }
    if options.drop_caches && File::options().write(true).open(PAGE_CACHE).is_err() {
        let title = format!("`--drop-caches` cannot write to `{PAGE_CACHE}`");
        mistakes.add_loose(title, "run as root on Linux, or leave it out");
    }
}

/// The runs: as many of each command as were asked for, after as many that are discarded.
fn repeating(options: &Cold, choices: &[ServerChoice]) -> Repeating {
    // Allocators are compared with the first of them.
    let has_reference = options.reference.is_some() || options.preload.len() > 1;
    let baseline = if has_reference {
        choices.first().map(|choice| choice.label.clone())
    } else {
        None
    };
    Repeating {
        runs: Some(Runs::Fixed(options.runs)),
        partition: options.partition,
        baseline,
        warm_ups: Some(options.warmup),
        ..Repeating::default()
    }
}

/// Each case in each workspace, else in the current directory.
fn campaigns(options: &Cold, cases: Vec<Case>, mistakes: &mut MistakeReport) -> Vec<Planned> {
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
                repeating: repeating(options, &case.choices),
                choices: case.choices.clone(),
            });
        }
    }
    planned
}

/// A name for each project, since its runs are compared with each other: that of its directory or of its package.
fn names(projects: &[Project]) -> Vec<String> {
    let mut names: Vec<String> = projects.iter().map(project_name).collect();
    number(&mut names.iter_mut().collect::<Vec<_>>());
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
fn text(options: &Cold, project: Option<&str>) -> String {
    let words = [
        format!("project {}", project.unwrap_or_default()),
        format!("prepare {:?}, conclude {:?}", options.prepare, options.conclude),
        format!("input {}, output {}", options.input, options.output_to),
        format!("shell {}", options.shell.as_deref().unwrap_or_default()),
    ];
    words.join("\n")
}

#[cfg(test)]
mod tests {
    use super::script_for;

    #[test]
    fn each_command_has_its_script_or_all_have_one() {
        let scripts = ["r", "a", "b"].map(str::to_owned);
        for (place, script) in scripts.iter().enumerate() {
            assert_eq!(script_for(&scripts, place), Some(script.as_str()));
            assert_eq!(script_for(&scripts[..1], place), Some("r"));
        }
        assert_eq!(script_for(&[], 0), None);
    }
}
