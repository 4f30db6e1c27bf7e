//! What `tune` was asked for: the sweep that it plays or lists, by what it chooses, and what it prints. Every mistake is found
//! before any start: a sweep of an hour should not end in a typo.

use std::path::Path;
use std::thread;

use anyhow::{Context, bail};
use clap::ValueEnum;

use crate::campaign::{Jobs, Repeating};
use crate::cli::Tune;
use crate::commands::plan::{CampaignPlan, OutputPlan, find_tracer, require_tracer};
use crate::commands::resume::Place;
use crate::commands::{cold, prepare, show};
use crate::config::tune::{Cell, Preset};
use crate::config::values::{Format, Lenses};
use crate::config::{Loaded, MistakeReport};
use crate::progress::Verbosity;
use crate::resolve::cells::of_sweep;
use crate::resolve::{Program, ServerChoice, detector};
use crate::trace::Tracer;
use analysis::compare::Played;
use analysis::tune::{Rules, Server, are_shared};
use base::text::nearest;
use proctree::host;
use record::{CellFacts, Preload, SweepFacts};
use report::sweep::ship::{Form, text};

use super::cells;
use super::price::Price;

/// A sweep that can begin, or be listed.
pub struct TunePlan {
    pub scenario: Loaded,
    /// The server with nothing changed, then every setting of it.
    pub choices: Vec<ServerChoice>,
    /// Notes on the cells.
    pub notes: Vec<String>,
    pub rules: Rules,
    /// The printed figure that settings are weighed by.
    pub cost: Option<String>,
    pub repeating: Repeating,
    pub price: Price,
    /// Counts memory calls in one more run of each cell.
    pub tracer: Option<Tracer>,
    pub campaign: CampaignPlan,
}

impl TunePlan {
    /// The sweep of the command line, or every mistake in it. Nothing was started yet.
    pub fn from_typed(options: &Tune, place: &Place) -> anyhow::Result<TunePlan> {
        let campaign = CampaignPlan::from_typed("tune", &options.processors, &options.measuring, options.voice)?;
        let tracing = find_tracer(options.trace_syscalls && !options.list, &campaign.jobs)?;
        let understood = understand(options, &campaign, place.new_directory());
        let (tracer, (scenario, mut choices, notes)) = require_tracer(tracing, understood)?;
        let rules = ChoicePlan::from_typed(options).rules(None);
        let jobs = campaign.jobs.at_once().unwrap_or(1);
        let price = Price::new(&scenario, &choices, &rules.rungs, options.time_budget, jobs);
        let price = price.traced(options.trace_syscalls);
        let facts = SweepFacts {
            rungs: rules.rungs.clone(),
            max_private: rules.max_private,
            cost: options.cost.clone(),
            time_budget: options.time_budget.map(|span| record::nanos(span.0)),
            notes: notes.clone(),
            ..SweepFacts::default()
        };
        of_sweep(&mut choices, facts);
        Ok(TunePlan {
            scenario,
            choices,
            notes,
            rules,
            cost: options.cost.clone(),
            repeating: Repeating {
                time_budget: options.time_budget,
                ..Repeating::fixed(price.most())
            },
            price,
            tracer,
            campaign,
        })
    }
}

/// What decides between settings.
pub struct ChoicePlan {
    rungs: Option<Vec<u32>>,
    latency: f64,
    cpu: f64,
    max_private: Option<u64>,
    /// The printed figure that settings are weighed by.
    pub cost: Option<String>,
}

impl ChoicePlan {
    pub fn from_typed(options: &Tune) -> ChoicePlan {
        ChoicePlan {
            rungs: options.rungs.as_ref().map(|rungs| rungs.0.clone()),
            latency: options.choosing.allow_latency.0,
            cpu: options.choosing.allow_cpu.0,
            max_private: options.choosing.max_private.map(|size| size.0),
            cost: options.cost.clone(),
        }
    }

    /// The typed rules, else those of the records, else the defaults. With records, rungs are never typed.
    pub fn rules(&self, planned: Option<&SweepFacts>) -> Rules {
        let rungs = self
            .rungs
            .clone()
            .or_else(|| planned.map(|planned| planned.rungs.clone()));
        Rules {
            rungs: rungs.unwrap_or_else(|| Rules::default().rungs),
            latency: self.latency,
            cpu: self.cpu,
            max_private: self
                .max_private
                .or_else(|| planned.and_then(|planned| planned.max_private)),
            ..Rules::default()
        }
    }
}

/// What is printed of a sweep.
pub struct TellPlan {
    pub output: OutputPlan,
    /// The forms to paste, which are printed instead of the report.
    pub forms: Vec<Form>,
    /// Label of the setting to print in these forms; `None` for the recommended one.
    pub cell: Option<String>,
}

impl TellPlan {
    pub fn from_typed(options: &Tune) -> anyhow::Result<TellPlan> {
        let telling = &options.telling;
        Ok(TellPlan {
            output: OutputPlan::from_typed(telling.format, &telling.exports, None, options.voice)?,
            forms: telling.print.clone(),
            cell: telling.cell.clone(),
        })
    }
}

/// The runs of `--from`, or every mistake in options that do not suit them.
pub fn recorded(options: &Tune) -> anyhow::Result<Vec<Played>> {
    let mut mistakes = MistakeReport::default();
    if options.rungs.is_some() {
        let title = "`--rungs` cannot be used with `--from`: the records were made with their own rungs";
        mistakes.add_loose(title, "omit `--rungs`, or run the sweep again with it");
    }
    check_print(options, &mut mistakes);
    prepare::refuse_mistakes(mistakes)?;
    let runs = show::all_played(&options.from)?;
    let mut mistakes = MistakeReport::default();
    check_memory(options, are_shared(&runs), &mut mistakes);
    prepare::refuse_mistakes(mistakes)?;
    Ok(runs)
}

type ScenarioAndCells = (Loaded, Vec<ServerChoice>, Vec<String>);

/// The scenario, the server with every setting, and notes on them.
fn understand(options: &Tune, campaign: &CampaignPlan, new_out: Option<&Path>) -> anyhow::Result<ScenarioAndCells> {
    let (grids, mut mistakes) = cells::grids(&options.grid);
    check_preload(&options.extra.preload, &mut mistakes);
    check_print(options, &mut mistakes);
    check_memory(options, campaign.jobs.at_once().is_some(), &mut mistakes);
    check_cost(options.cost.as_deref(), &mut mistakes);
    let understood = understand_target(options, new_out, mistakes);
    let (mut scenarios, servers) = require_settings(options, understood)?;
    let server = servers
        .first()
        .context("a sweep takes one server: name it with --server")?;
    if let Some(other) = servers.iter().find(|other| other.label != server.label) {
        bail!(
            "a sweep takes one server, and a range of versions names more, such as `{}`: name one version",
            other.label
        );
    }
    let server = cells::built(server.clone(), campaign.talk == Verbosity::Quiet)?;
    let note_on_jobs = note_on_jobs(&campaign.jobs, &server, &grids)?;
    let (server, choices, mut notes) = do_on_processors(campaign.jobs.cpus_of_each(), || {
        let server = cells::looked_at(server);
        let (choices, notes) = cells::choices(&server, &options.preset, grids)?;
        Ok((server, choices, notes))
    })?;
    let (mistakes, printing_notes) = check_forms(options, &server, &choices);
    prepare::refuse_mistakes(mistakes)?;
    notes.extend(printing_notes);
    notes.extend(note_on_jobs);
    let scenario = scenarios.pop().context("a sweep takes one scenario: name it")?;
    Ok((scenario, choices, notes))
}

/// Does `work` on these processors, or on all if none is named. Allocators have defaults by how many there are.
fn do_on_processors<T: Send>(cpus: &[usize], work: impl FnOnce() -> anyhow::Result<T> + Send) -> anyhow::Result<T> {
    if cpus.is_empty() {
        return work();
    }
    thread::scope(|scope| {
        let confined = scope.spawn(|| {
            host::keep_to(cpus).context("cannot keep to the processors of a run, leave `--jobs` out")?;
            work()
        });
        match confined.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

type ScenarioAndServer = anyhow::Result<(Vec<Loaded>, Vec<ServerChoice>)>;

/// The scenario and the server, or the command in their place.
fn understand_target(options: &Tune, new_out: Option<&Path>, mistakes: MistakeReport) -> ScenarioAndServer {
    if let Some(command) = &options.command {
        prepare::refuse_mistakes(mistakes)?;
        let (scenario, choice) = cold::single_command(command, options)?;
        return Ok((vec![scenario], vec![choice]));
    }
    let typed = prepare::TypedCommand {
        scenarios: options.scenario.as_slice(),
        options: &options.scenario_options,
        servers: options.server.as_slice(),
        extras: &options.extra,
        lenses: Lenses::AsShipped,
        out: new_out,
        only_checks: false,
    };
    prepare::understand_with(&typed, mistakes)
}

/// Adds a mistake if there is nothing to try.
fn require_settings(options: &Tune, understood: ScenarioAndServer) -> ScenarioAndServer {
    if !options.grid.is_empty() || !options.preset.is_empty() {
        return understood;
    }
    let server = understood.as_ref().ok().and_then(|(_, servers)| servers.first());
    let cure = cure_without_settings(server.cloned());
    prepare::with_mistake(understood, "no settings to try", &cure)
}

/// A note if runs are played at once; a mistake if a setting names its processors too.
fn note_on_jobs(jobs: &Jobs, server: &ServerChoice, grids: &[Cell]) -> anyhow::Result<Option<String>> {
    let Some(jobs) = jobs.at_once() else {
        return Ok(None);
    };
    let mut confined = grids
        .iter()
        .map(|cell| (&cell.label, &cell.cpus))
        .chain([(&server.label, &server.cpus)])
        .filter(|(_, cpus)| !cpus.is_empty());
    if let Some((label, _)) = confined.next() {
        bail!("`{label}` names its processors, and `--jobs {jobs}` shares them out: omit one of the two");
    }
    Ok(Some(format!(
        "{jobs} runs are played at once, each on its own share of the processors: latency and CPU time decide nothing"
    )))
}

/// A sweep has one server.
fn check_preload(preloads: &[Preload], mistakes: &mut MistakeReport) {
    if preloads.len() > 1 {
        let all: Vec<String> = preloads.iter().map(ToString::to_string).collect();
        let title = format!(
            "`--preload {}` names several, and a sweep has one server",
            all.join(",")
        );
        mistakes.add_loose(
            title,
            "try them as settings, with --preset preloads or a `preload` axis in a grid, or name one for all settings",
        );
    }
}

/// The least of a cost is best.
fn check_cost(cost: Option<&str>, mistakes: &mut MistakeReport) {
    const RATES: [&str; 3] = ["per_second", "per_sec", "/s"];
    if let Some(cost) = cost
        && RATES.iter().any(|end| cost.ends_with(end))
    {
        mistakes.add_loose(
            format!("`--cost {cost}` is a rate, of which more is better"),
            "name a time in nanoseconds that the command prints, such as nanoseconds_per_operation",
        );
    }
}

/// Runs that are played at once tell nothing of latency, by which the fastest is chosen.
fn check_memory(options: &Tune, is_shared: bool, mistakes: &mut MistakeReport) {
    if is_shared && options.choosing.max_private.is_some() {
        mistakes.add_loose(
            "`--max-private` chooses the fastest setting, and latencies of runs that are played at once decide nothing",
            "omit `--max-private`, or play the runs without `--jobs`",
        );
    }
}

/// Forms to paste are the whole output: beside a list or another format one of the two would be dropped silently.
fn check_print(options: &Tune, mistakes: &mut MistakeReport) {
    let Some(form) = options.telling.print.first() else {
        return;
    };
    let print = format!("`--print {}`", form.name());
    if options.list {
        let title = format!("{print} cannot be used with `--list`: nothing is recommended before a run");
        mistakes.add_loose(title, "omit one of the two");
    }
    if options.telling.format != Format::Terminal {
        let format = options.telling.format.to_possible_value();
        let format = format.map_or_else(String::new, |value| format!(" {}", value.get_name()));
        let title = format!("{print} cannot be used with `--format{format}`: the text to paste has its own format");
        mistakes.add_loose(
            title,
            "omit one of the two, and take the other with --from from the records",
        );
    }
}

/// The cure for a sweep without settings. It names the preset for the server's allocator, if that is found without a build.
fn cure_without_settings(server: Option<ServerChoice>) -> String {
    let fitting = server.and_then(|mut server| {
        detector::look(std::slice::from_mut(&mut server));
        Preset::fitting(server.found?.family)
    });
    match fitting {
        Some(preset) => format!("write --preset {preset}, for the allocator that the server has, or --grid FILE"),
        None => {
            let all: Vec<&str> = Preset::value_variants().iter().map(|preset| preset.name()).collect();
            format!(
                "write --preset NAME or --grid FILE; there are the presets {}",
                all.join(", ")
            )
        }
    }
}

/// Checks the forms of `--print`. One that no setting has is a mistake; one that only some have is a note.
fn check_forms(options: &Tune, server: &ServerChoice, choices: &[ServerChoice]) -> (MistakeReport, Vec<String>) {
    let telling = &options.telling;
    let (mut mistakes, mut notes) = (MistakeReport::default(), Vec::new());
    let server = described(server);
    let cells: Vec<(&str, &CellFacts)> = choices
        .iter()
        .filter_map(|choice| Some((choice.label.as_str(), choice.cell.as_ref()?)))
        .collect();
    let tried: Vec<(&str, &CellFacts)> = match &telling.cell {
        Some(label) => cells.iter().filter(|(own, _)| own == label).copied().collect(),
        None => cells.into_iter().filter(|(_, cell)| !cell.default).collect(),
    };
    if let (Some(label), []) = (&telling.cell, tried.as_slice()) {
        let (title, cure) = unknown(label, choices.iter().map(|choice| choice.label.as_str()));
        mistakes.add_loose(title, cure);
        return (mistakes, notes);
    }
    for form in &telling.print {
        let refused: Vec<(&str, String)> = tried
            .iter()
            .filter_map(|(label, cell)| Some((*label, text(*form, &server, cell).err()?)))
            .collect();
        let Some((label, why)) = refused.first() else { continue };
        if telling.cell.is_some() {
            mistakes.add_loose(format!("`--print {}` of `{label}`: {why}", form.name()), "");
        } else if refused.len() == tried.len() {
            mistakes.add_loose(none_at_all(*form, why), "");
        } else {
            let labels: Vec<&str> = refused.iter().map(|(label, _)| *label).collect();
            notes.push(format!(
                "`--print {}` is possible unless one of these is recommended: {}",
                form.name(),
                labels.join(", ")
            ));
        }
    }
    (mistakes, notes)
}

fn none_at_all(form: Form, why: &str) -> String {
    format!(
        "`--print {}` is possible for no setting of this sweep: {why}",
        form.name()
    )
}

/// The mistake that no setting has this label, and its cure.
pub fn unknown<'l>(label: &str, labels: impl Iterator<Item = &'l str> + Clone) -> (String, String) {
    let cure = match nearest(label, labels.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("give --cell one of {}", labels.collect::<Vec<&str>>().join(", ")),
    };
    (format!("no setting is called `{label}`"), cure)
}

/// The server as the records will tell of it, as far as forms need it.
fn described(choice: &ServerChoice) -> Server {
    let program = match &choice.program {
        Program::File(path) => path.file_name().map(Path::new),
        Program::Build(_) => None,
    };
    let program = program.map(|name| name.display().to_string()).unwrap_or_default();
    Server {
        name: choice.profile_name.clone().unwrap_or_else(|| program.clone()),
        version: None,
        program,
        // Which forms there are does not depend on it.
        path: None,
        is_command: choice.command.is_some(),
        args: choice.args.clone(),
        allocator: choice.found.clone(),
    }
}
