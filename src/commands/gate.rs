//! `lsp-soak gate`: whether a candidate may replace a baseline, from runs made here or from records.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::analyse::Exit;
use crate::analyse::compare::{Played, counts};
use crate::analyse::gate::{Judgement, Role, Rules, Sides, judge};
use crate::analyse::growth::{self, repeated};
use crate::analyse::stats::Looks;
use crate::cli::{self, Inconclusive, Lenses, Repeating, Runs};
use crate::config::{self, GateContext, Loaded, ServerChoice};
use crate::lens::Lens;
use crate::report;
use crate::soak::Interrupt;

use super::campaign::{Campaign, Outcomes};
use super::{Mistakes, output, prepare, show};

/// Runs the command.
pub fn run(options: &cli::Gate) -> anyhow::Result<u8> {
    match options.from.is_empty() {
        true => live(options),
        false => from(options),
    }
}

/// Drives every side here, then decides.
fn live(options: &cli::Gate) -> anyhow::Result<u8> {
    let looks = looks(options)?;
    let anchor = options.anchor.as_deref();
    let kept = anchor.filter(|anchor| is_records(anchor)).map(read).transpose()?;
    let driven = anchor.filter(|_| kept.is_none());
    let sides = [
        (Role::Baseline, options.baseline.as_deref()),
        (Role::Candidate, options.candidate.as_deref()),
        (Role::Anchor, driven),
    ];
    let servers: Vec<String> = sides
        .iter()
        .filter_map(|(role, text)| Some(labelled(*role, (*text)?)))
        .collect();
    let (scenarios, choices) = prepare::understood(&prepare::Typed {
        scenarios: options.scenario.as_slice(),
        options: &options.scenario_options,
        servers: &servers,
        extras: &options.extra,
        lenses: options.lens.unwrap_or(Lenses::AsShipped),
        out: options.out.as_deref(),
    })?;
    let scenario = scenarios.first().context("a gate has one scenario; name it")?;
    let labels: Vec<String> = choices
        .iter()
        .take(servers.len())
        .map(|choice| choice.label.clone())
        .collect();
    let (choices, mut notes) = lenses(options, choices);
    notes.extend(prepare::quiet_purge(&choices, scenario));
    let rules = rules(options, &planned(options, scenario, &choices))?;
    let side = |runs: &[Played]| split(runs, &labels, kept.clone());
    let directories = output::directories(options.out.as_deref(), &scenarios)?;
    let campaign = Campaign {
        scenario,
        choices: &choices,
        out: directories.first().context("a scenario has a directory")?,
        repeating: &repeating(options),
        measuring: options.measuring,
        quiet: options.quiet,
        enough: &|runs| judge(&side(runs), &rules, &looks).is_final(),
    };
    let outcomes = super::block_on(async {
        let interrupt = Interrupt::listen().context("cannot listen for ctrl-c")?;
        campaign.play(&interrupt).await
    })?;
    if !options.quiet {
        super::say(&format!("records: {}", campaign.out.display()));
    }
    let Outcomes { runs, exit, failed } = outcomes;
    if let Some(error) = failed {
        return Err(error);
    }
    let judgement = judge(&side(&runs), &rules, &looks);
    if exit == Exit::Interrupted {
        return Ok(exit.code());
    }
    told(options, &judgement, &notes)
}

/// Decides from records.
fn from(options: &cli::Gate) -> anyhow::Result<u8> {
    let looks = looks(options)?;
    let sides = recorded(options)?;
    let all = || {
        [&sides.baseline, &sides.candidate]
            .into_iter()
            .chain(sides.anchor.as_ref())
    };
    let through = |lens: Lens| {
        let mut sides = all();
        sides.all(|runs| {
            let mut runs = runs.iter().filter(|run| counts(&run.summary));
            runs.any(|run| run.summary.header.server.lens.name == lens)
        })
    };
    let first = sides.candidate.first().map(|run| &run.summary);
    let context = GateContext {
        phases: first.map_or_else(Vec::new, |run| run.header.scenario.phases.clone()),
        repeated: first.map_or_else(Vec::new, |run| repeated(run).into_iter().map(|one| one.name).collect()),
        lenses: Lens::ALL.into_iter().filter(|lens| through(*lens)).collect(),
        ..held(options)
    };
    let rules = rules(options, &context)?;
    if context.lenses.contains(&Lens::Purged) {
        alike(all().flatten())?;
    }
    told(options, &judge(&sides, &rules, &looks), &[])
}

/// Prints the verdict and says what it comes to.
fn told(options: &cli::Gate, judgement: &Judgement, notes: &[String]) -> anyhow::Result<u8> {
    let decisive: Vec<String> = judgement
        .differences
        .iter()
        .filter(|difference| difference.decisive)
        .map(|difference| format!("{} ({})", difference.what, difference.values.join(", ")))
        .collect();
    if !decisive.is_empty() && !options.holding.allow_different_hosts {
        bail!(
            "the runs differ in {}, which alone can make memory differ: make them under the same circumstances, or \
             decide all the same with --allow-different-hosts",
            decisive.join("; ")
        );
    }
    super::print(&report::gate::terminal(judgement, notes, show::look()))?;
    let exit = match (judgement.exit(), options.holding.inconclusive) {
        (Exit::Inconclusive, Some(Inconclusive::Pass)) => Exit::Passed,
        (Exit::Inconclusive, Some(Inconclusive::Fail)) => Exit::GateFailed,
        (exit, _) => exit,
    };
    Ok(exit.code())
}

/// Every look there will be; a number of runs that was fixed beforehand has all of α.
fn looks(options: &cli::Gate) -> anyhow::Result<Looks> {
    let auto = &options.looks.0;
    match options.runs {
        Runs::Auto => Ok(auto.clone()),
        Runs::Fixed(runs) => Looks::once(runs as usize, auto.alpha()).context("in `--runs`"),
    }
}

fn repeating(options: &cli::Gate) -> Repeating {
    Repeating {
        runs: Some(options.runs),
        looks: options.looks.clone(),
        time_budget: options.time_budget,
        partition: None,
        baseline: None,
    }
}

/// A server with the name of its part, unless it was given one.
fn labelled(role: Role, text: &str) -> String {
    let spec: Result<config::ServerSpec, _> = text.parse();
    match spec {
        Ok(config::ServerSpec { label: None, .. }) => format!("{}: {text}", role.name()),
        // What is wrong with it is told with everything else that is.
        Ok(_) | Err(_) => text.to_owned(),
    }
}

/// The servers under both lenses when nobody says which, or as they are and why.
fn lenses(options: &cli::Gate, choices: Vec<ServerChoice>) -> (Vec<ServerChoice>, Vec<String>) {
    if options.lens.is_some() {
        return (choices, Vec::new());
    }
    match config::purged(&choices) {
        Ok(purged) => ([purged, choices].concat(), Vec::new()),
        Err(errors) => {
            let why = errors.iter().map(|error| format!("as-shipped decides: {error}"));
            (choices, why.collect())
        }
    }
}

/// What a gate file may name, of runs that are to be made.
fn planned(options: &cli::Gate, scenario: &Loaded, choices: &[ServerChoice]) -> GateContext {
    let phases = &scenario.scenario.phases;
    let repeated = phases.iter().filter(|phase| phase.repeat.is_some());
    let whole = scenario.scenario.repeat.map(|_| growth::WHOLE.to_owned());
    let looked = |lens: &Lens| choices.iter().any(|choice| choice.lens.lens == *lens);
    GateContext {
        phases: phases.iter().map(|phase| phase.name.clone()).collect(),
        repeated: repeated.map(|phase| phase.name.clone()).chain(whole).collect(),
        lenses: Lens::ALL.into_iter().filter(looked).collect(),
        ..held(options)
    }
}

/// What the command line says of the rules.
fn held(options: &cli::Gate) -> GateContext {
    let holding = &options.holding;
    GateContext {
        tol: holding.tol,
        fail: holding.fail,
        floor: holding.floor,
        budgets: holding.budgets.clone(),
        ..GateContext::default()
    }
}

/// The rules, or every mistake in the file and in the options.
fn rules(options: &cli::Gate, context: &GateContext) -> anyhow::Result<Rules> {
    let text = match &options.holding.gate {
        None => None,
        Some(path) => match fs::read_to_string(path) {
            Ok(text) => Some((path.display().to_string(), text)),
            Err(error) => bail!(
                "cannot read the gate file `{}`: {}; name a TOML file",
                path.display(),
                config::reason(&error)
            ),
        },
    };
    let file = text.as_ref().map(|(path, text)| (path.as_str(), text.as_str()));
    context.rules(file).map_err(|report| Mistakes(report.styled()).into())
}

/// The runs of each side by the labels of the baseline, the candidate and the anchor.
fn split(runs: &[Played], labels: &[String], anchor: Option<Vec<Played>>) -> Sides {
    let of = |label: &String| labelled_runs(runs, label);
    let mut sides = labels.iter().map(of);
    Sides {
        baseline: sides.next().unwrap_or_default(),
        candidate: sides.next().unwrap_or_default(),
        anchor: sides.next().or(anchor),
    }
}

fn labelled_runs(runs: &[Played], label: &str) -> Vec<Played> {
    let own = runs.iter().filter(|run| run.summary.header.server.label == label);
    own.cloned().collect()
}

/// Whether this names records rather than a server.
fn is_records(text: &str) -> bool {
    let path = Path::new(text);
    path.is_dir() || path.extension().is_some_and(|extension| extension == "jsonl")
}

fn read(path: impl AsRef<Path>) -> anyhow::Result<Vec<Played>> {
    show::all_played(&[path.as_ref().to_owned()])
}

/// The sides of the records that were named.
fn recorded(options: &cli::Gate) -> anyhow::Result<Sides> {
    let sources: Vec<Vec<Played>> = options.from.iter().map(read).collect::<anyhow::Result<_>>()?;
    let (baseline, candidate) = (options.baseline.as_deref(), options.candidate.as_deref());
    let anchor = match options.anchor.as_deref() {
        Some(anchor) if is_records(anchor) => Some(read(anchor)?),
        Some(label) => Some(one(&sources[0], Some(label), Role::Anchor)?),
        None => None,
    };
    match sources.as_slice() {
        [both] => {
            let own = labelled_runs(both, Role::Anchor.name());
            Ok(Sides {
                baseline: one(both, baseline.or(Some(Role::Baseline.name())), Role::Baseline)?,
                candidate: one(both, candidate.or(Some(Role::Candidate.name())), Role::Candidate)?,
                anchor: anchor.or(Some(own).filter(|own| !own.is_empty())),
            })
        }
        [a, b, ..] => Ok(Sides {
            baseline: one(a, baseline, Role::Baseline)?,
            candidate: one(b, candidate, Role::Candidate)?,
            anchor,
        }),
        [] => bail!("--from names no records; name a directory"),
    }
}

/// The runs of one server: the one with this label, or the only one there is.
fn one(runs: &[Played], label: Option<&str>, role: Role) -> anyhow::Result<Vec<Played>> {
    let mut labels: Vec<&str> = runs
        .iter()
        .map(|run| run.summary.header.server.label.as_str())
        .collect();
    labels.sort_unstable();
    labels.dedup();
    let all = labels.join(", ");
    let role = role.name();
    match (label, labels.as_slice()) {
        (Some(label), labels) if labels.contains(&label) => Ok(labelled_runs(runs, label)),
        (None, [_]) => Ok(runs.to_vec()),
        (Some(label), _) => {
            bail!("no record is of a server called `{label}`: there are {all}; say which with --{role} LABEL")
        }
        (None, _) => bail!("the records of the {role} are of several servers: {all}; say which with --{role} LABEL"),
    }
}

/// Refuses allocators that were told to purge in different ways.
fn alike<'r>(runs: impl Iterator<Item = &'r Played>) -> anyhow::Result<()> {
    let lenses = runs.map(|run| &run.summary.header.server.lens);
    let mut allocators: Vec<&str> = lenses
        .filter(|lens| lens.name == Lens::Purged)
        .filter_map(|lens| lens.allocator.as_deref())
        .collect();
    allocators.sort_unstable();
    allocators.dedup();
    match allocators.len() {
        0 | 1 => Ok(()),
        _ => bail!(
            "the purged lens compares versions of one server, and these use {}: compare them as shipped",
            allocators.join(" and ")
        ),
    }
}
