//! `lsp-soak tune`: tries settings of a server beside its default, and recommends one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::campaign::{Campaign, Jobs, Judge, Next, Outcomes};
use crate::cli::{self, Command};
use crate::commands::output::Directory;
use crate::config::options::Repeating;
use crate::config::tune::Cell;
use crate::config::values::{Lenses, LookPlan, Runs};
use crate::config::{Loaded, Report};
use crate::progress::Talk;
use crate::resolve::ServerChoice;
use crate::resolve::cells::of_sweep;
use crate::soak::Interrupt;
use crate::trace::Tracer;
use analysis::compare::Played;
use analysis::tune::{Rules, alike, are_shared, planned, stopped, sweep};
use base::exit::Exit;
use proctree::host;
use record::SweepFacts;
use report::sweep::{set, stop};
use stats::Schedule;

use super::exports::{self, Target};
use super::resume::{begin, directory_hold, new_directory, resume};
use super::{prepare, show};
use price::Price;
use tell::report_sweep;

mod asked;
mod cells;
mod price;
mod tell;

pub fn run(options: &cli::Tune, interrupt: &Interrupt) -> anyhow::Result<u8> {
    if let Some(out) = &options.resume {
        let resumed = resume(out, directory_hold(&options.processors), tune_options)?;
        return live(&resumed.options, Some(resumed.begun.alone()?), interrupt);
    }
    if options.from.is_empty() {
        live(options, None, interrupt)
    } else {
        choose_from_records(options)
    }
}

/// The options of a `tune` command; `None` for other commands.
fn tune_options(command: Command) -> Option<cli::Tune> {
    if let Command::Tune(options) = command {
        Some(options)
    } else {
        None
    }
}

/// Drives every cell, then chooses. A resumed directory plays only the missing runs.
fn live(options: &cli::Tune, resumed: Option<Directory>, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let jobs = prepare::share(&options.processors, options.measuring.thp, "tune")?;
    let tracing = prepare::find_tracer(options.trace_syscalls && !options.list, &options.processors)?;
    let talk = crate::commands::talk(options.voice);
    let new_out = new_directory(options.out.as_deref(), resumed.is_some());
    let understood = understood(options, new_out, jobs.each());
    let (tracer, understood) = prepare::require_tracer(tracing, understood)?;
    let Understood {
        scenarios,
        mut choices,
        notes,
    } = understood;
    let scenario = scenarios.first().context("a sweep takes one scenario: name it")?;
    let rules = rules(options, None);
    let at_once = options.processors.jobs;
    let price =
        Price::new(scenario, &choices, &rules.rungs, options.time_budget, at_once).traced(options.trace_syscalls);
    if options.list {
        return list(&choices, &price, &notes);
    }
    price.require_budget()?;
    let targets = targets(options)?;
    let is_one_of_several = matches!(jobs, Jobs::Of { .. });
    if talk != Talk::Quiet && !is_one_of_several {
        say_before_runs(&notes, &price);
    }
    let out = match resumed {
        Some(out) => out,
        None => begin(options.out.as_deref(), &scenarios)?.remove(0),
    };
    of_sweep(&mut choices, sweep_facts(options, &rules, notes));
    let campaign = Campaign {
        scenario,
        choices: &choices,
        out: &out,
        repeating: &repeating(options, &rules)?,
        measuring: options.measuring,
        talk,
        judge: &Sweeping {
            options,
            rules: &rules,
            price: &price,
        },
        is_sweep: true,
        jobs,
        calibration_options: "",
    };
    let has_answer = |runs: &[Played]| unprinted(runs, options).is_none() && default_counts(runs, &rules);
    let outcomes = super::block_on(play(&campaign, tracer.as_ref(), has_answer, interrupt))?;
    if is_one_of_several {
        return outcomes.code();
    }
    super::tell_records(&out, None, talk, &outcomes);
    let Outcomes { runs, exit, failed, .. } = outcomes;
    failed.map_or(Ok(()), Err)?;
    if exit == Exit::Interrupted {
        return Ok(exit.code());
    }
    tell_sweep(options, &runs, targets, Some(&out))
}

fn say_before_runs(notes: &[String], price: &Price) {
    for note in notes {
        super::say(note);
    }
    super::say(&price.text_before_runs());
}

/// Eliminates cells after each block; ends a sweep that can give no answer.
struct Sweeping<'s> {
    options: &'s cli::Tune,
    rules: &'s Rules,
    price: &'s Price,
}

impl Judge for Sweeping<'_> {
    fn after_block(&self, runs: &[Played]) -> Next {
        if alike(runs).is_err() || unprinted(runs, self.options).is_some() {
            Next::Hopeless
        } else {
            Next::WithoutCells(stop_sentences(runs, self.rules))
        }
    }

    fn price(&self, of_one_run: Duration) -> Option<Vec<String>> {
        Some(self.price.texts_after_run(of_one_run))
    }
}

/// Plays every run. Then, if `has_answer` finds a result in these runs, plays one more of each cell with a tracer.
async fn play(
    campaign: &Campaign<'_>,
    tracer: Option<&Tracer>,
    has_answer: impl Fn(&[Played]) -> bool,
    interrupt: &Interrupt,
) -> anyhow::Result<Outcomes> {
    interrupt.heed();
    let mut outcomes = campaign.play(interrupt).await?;
    let tracer = match tracer {
        Some(tracer) if has_answer(&outcomes.runs) => Some(tracer),
        _ => None,
    };
    if let Err(error) = campaign.trace(tracer, interrupt, &mut outcomes).await {
        outcomes.failed.get_or_insert(error);
    }
    Ok(outcomes)
}

/// True if a run of the default counts.
fn default_counts(runs: &[Played], rules: &Rules) -> bool {
    sweep(runs, rules).is_ok_and(|sweep| sweep.cells.first().is_some_and(|default| !default.runs.is_empty()))
}

/// A mistake if the command prints figures, but not the one of `--cost`.
fn unprinted(runs: &[Played], options: &cli::Tune) -> Option<String> {
    let cost = options.cost.as_deref()?;
    let names: BTreeSet<&str> = runs
        .iter()
        .filter_map(|run| run.summary.command.as_ref()?.printed.as_ref())
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

fn targets(options: &cli::Tune) -> anyhow::Result<Vec<Target>> {
    exports::targets(options.telling.format, &options.telling.exports, None)
}

/// Prints the sweep of these records. A resumed sweep prints the same as its records, even if other programs are
/// installed by then.
fn tell_sweep(options: &cli::Tune, runs: &[Played], targets: Vec<Target>, beside: Option<&Path>) -> anyhow::Result<u8> {
    if let Some(mistake) = unprinted(runs, options) {
        bail!(mistake);
    }
    let planned = planned(runs);
    let notes = planned.map_or(&[][..], |planned| &planned.notes);
    report_sweep(
        options,
        &sweep(runs, &rules(options, planned))?,
        runs,
        notes,
        targets,
        beside,
    )
}

/// The sweep as it was asked for, which its records keep.
fn sweep_facts(options: &cli::Tune, rules: &Rules, notes: Vec<String>) -> SweepFacts {
    SweepFacts {
        rungs: rules.rungs.clone(),
        max_private: rules.max_private,
        cost: options.cost.clone(),
        time_budget: options.time_budget.map(|span| record::nanos(span.0)),
        notes,
        ..SweepFacts::default()
    }
}

struct Understood {
    scenarios: Vec<Loaded>,
    /// The server with nothing changed, then every setting of it.
    choices: Vec<ServerChoice>,
    /// Notes on the cells.
    notes: Vec<String>,
}

/// The sweep of the command line, or every mistake in it. Nothing was started yet. `cpus` are those of a run, where runs share
/// the processors.
fn understood(options: &cli::Tune, out: Option<&Path>, cpus: &[usize]) -> anyhow::Result<Understood> {
    let (grids, mut mistakes) = cells::grids(&options.grid);
    asked::of_one_server(&options.extra, &mut mistakes);
    asked::of_one_kind(options, &mut mistakes);
    asked::of_memory(options, options.processors.jobs > 1, &mut mistakes);
    asked::of_cost(options, &mut mistakes);
    let understood = match &options.command {
        Some(command) => understand_command(command, options, mistakes),
        None => understand_server(options, out, mistakes),
    };
    let (scenarios, servers) = require_settings(options, understood)?;
    let server = servers
        .first()
        .context("a sweep takes one server: name it with --server")?;
    if let Some(other) = servers.iter().find(|other| other.label != server.label) {
        bail!(
            "a sweep takes one server, and a range of versions names more, such as `{}`: name one version",
            other.label
        );
    }
    let server = cells::built(server.clone(), crate::commands::talk(options.voice) == Talk::Quiet)?;
    let note_on_jobs = note_on_jobs(options, &server, &grids)?;
    let (server, choices, mut notes) = do_on_processors(cpus, || {
        let server = cells::looked_at(server);
        let (choices, notes) = cells::choices(&server, &options.preset, grids)?;
        Ok((server, choices, notes))
    })?;
    let (mistakes, printing_notes) = asked::check_forms(&options.telling, &server, &choices);
    prepare::refuse_mistakes(mistakes)?;
    notes.extend(printing_notes);
    notes.extend(note_on_jobs);
    Ok(Understood {
        scenarios,
        choices,
        notes,
    })
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

fn understand_command(command: &str, options: &cli::Tune, mistakes: Report) -> ScenarioAndServer {
    prepare::refuse_mistakes(mistakes)?;
    let (scenario, choice) = super::cold::single(command, options)?;
    Ok((vec![scenario], vec![choice]))
}

fn understand_server(options: &cli::Tune, out: Option<&Path>, mistakes: Report) -> ScenarioAndServer {
    let typed = prepare::Typed {
        scenarios: options.scenario.as_slice(),
        options: &options.scenario_options,
        servers: options.server.as_slice(),
        extras: &options.extra,
        lenses: Lenses::AsShipped,
        out,
    };
    prepare::understood_with(&typed, mistakes)
}

/// Adds a mistake if there is nothing to try.
fn require_settings(options: &cli::Tune, understood: ScenarioAndServer) -> ScenarioAndServer {
    if !options.grid.is_empty() || !options.preset.is_empty() {
        return understood;
    }
    let server = understood.as_ref().ok().and_then(|(_, servers)| servers.first());
    let cure = asked::cure_without_settings(server.cloned());
    prepare::with_mistake(understood, "no settings to try", &cure)
}

/// A note if runs are played at once; a mistake if a setting names its processors too.
fn note_on_jobs(options: &cli::Tune, server: &ServerChoice, grids: &[Cell]) -> anyhow::Result<Option<String>> {
    let jobs = options.processors.jobs;
    if jobs == 1 {
        return Ok(None);
    }
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

/// For each cell that is not run any more, a sentence with the reason.
fn stop_sentences(runs: &[Played], rules: &Rules) -> BTreeMap<String, String> {
    stopped(runs, rules)
        .stopped
        .iter()
        .map(|(label, stopped)| (label.clone(), stop(stopped)))
        .collect()
}

fn choose_from_records(options: &cli::Tune) -> anyhow::Result<u8> {
    let mut mistakes = Report::default();
    if options.rungs.is_some() {
        let title = "`--rungs` cannot be used with `--from`: the records were made with their own rungs";
        mistakes.add_loose(title, "omit `--rungs`, or run the sweep again with it");
    }
    asked::of_one_kind(options, &mut mistakes);
    prepare::refuse_mistakes(mistakes)?;
    let runs = show::all_played(&options.from)?;
    let mut mistakes = Report::default();
    asked::of_memory(options, are_shared(&runs), &mut mistakes);
    prepare::refuse_mistakes(mistakes)?;
    tell_sweep(options, &runs, targets(options)?, None)
}

fn list(choices: &[ServerChoice], price: &Price, notes: &[String]) -> anyhow::Result<u8> {
    let wide = choices.iter().map(|choice| choice.label.len()).max().unwrap_or(0);
    let mut text = String::new();
    for choice in choices {
        let label = &choice.label;
        let sets = choice.cell.as_ref().map(set).unwrap_or_default();
        text.push_str(&format!("{label:wide$}  {sets}\n"));
    }
    for line in notes.iter().chain(std::iter::once(&price.text_before_runs())) {
        text.push_str(&format!("\n{line}\n"));
    }
    super::print(&text)?;
    Ok(Exit::Passed.code())
}

/// The options' rules, else those of the records, else the defaults. With records, rungs are never an option.
fn rules(options: &cli::Tune, planned: Option<&SweepFacts>) -> Rules {
    let typed = options.rungs.as_ref().map(|rungs| rungs.0.clone());
    let rungs = typed.or_else(|| planned.map(|planned| planned.rungs.clone()));
    let max_private = options.choosing.max_private.map(|size| size.0);
    Rules {
        rungs: rungs.unwrap_or_else(|| Rules::default().rungs),
        latency: options.choosing.allow_latency.0,
        cpu: options.choosing.allow_cpu.0,
        max_private: max_private.or_else(|| planned.and_then(|planned| planned.max_private)),
        ..Rules::default()
    }
}

fn repeating(options: &cli::Tune, rules: &Rules) -> anyhow::Result<Repeating> {
    let Some(most) = rules.rungs.last() else {
        bail!("`--rungs` names no runs; write such as 1,3,5,8");
    };
    Ok(Repeating {
        runs: Some(Runs::Fixed(*most)),
        looks: LookPlan(Schedule::default()),
        time_budget: options.time_budget,
        partition: None,
        baseline: None,
        warm_ups: None,
    })
}
