//! `lsp-soak gate`: whether a candidate may replace a baseline, from runs made here or from records.

use std::path::Path;

use anyhow::Context;

use crate::analyse::Exit;
use crate::analyse::compare::{Played, counts};
use crate::analyse::gate::judge;
use crate::analyse::growth::repeated;
use crate::analyse::stats::Looks;
use crate::cli::{self, Command, Lenses, Repeating, Runs};
use crate::config::GateContext;
use crate::lens::Lens;
use crate::soak::Interrupt;

use super::campaign::{Campaign, Outcomes};
use super::resume::Invocation;
use super::{output, prepare};
use rules::{held, lenses, planned, rules};
use sides::{alike, driven, is_records, read, recorded, split, unseen_settings};
use tell::{Verdict, tell};

mod rules;
mod sides;
mod tell;

/// Runs the command.
pub fn run(options: &cli::Gate) -> anyhow::Result<u8> {
    if let Some(out) = &options.resume {
        let gate = |command| {
            if let Command::Gate(options) = command {
                Some(options)
            } else {
                None
            }
        };
        let resumed = Invocation::resume(out, gate)?;
        return live(&resumed.options, Some(&resumed.out));
    }
    match options.from.is_empty() {
        true => live(options, None),
        false => from(options),
    }
}

/// Drives every side here, then decides; in a directory that is gone on with, what was not played before.
fn live(options: &cli::Gate, resumed: Option<&Path>) -> anyhow::Result<u8> {
    prepare::keep_to(options.cpus.as_ref())?;
    prepare::limit_huge_pages(options.measuring.thp)?;
    let looks = looks(options)?;
    let anchor = options.anchor.as_deref();
    let kept = anchor.filter(|anchor| is_records(anchor)).map(read).transpose()?;
    let servers = driven(options, anchor.filter(|_| kept.is_none()));
    let (scenarios, choices) = prepare::understood(&prepare::Typed {
        scenarios: options.scenario.as_slice(),
        options: &options.scenario_options,
        servers: &servers,
        extras: &options.extra,
        lenses: options.lens.unwrap_or(Lenses::AsShipped),
        // A directory that is gone on with is not empty.
        out: options.out.as_deref().filter(|_| resumed.is_none()),
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
    let out = match resumed {
        Some(out) => out.to_owned(),
        None => Invocation::begin(output::directories(options.out.as_deref(), &scenarios)?)?.remove(0),
    };
    let campaign = Campaign {
        scenario,
        choices: &choices,
        out: &out,
        repeating: &repeating(options),
        measuring: options.measuring,
        quiet: options.quiet,
        enough: &|runs| judge(&side(runs), &rules, &looks).is_final(),
    };
    let outcomes = super::block_on(async {
        let interrupt = Interrupt::listen().context("cannot listen for ctrl-c")?;
        campaign.play(&interrupt).await
    })?;
    if !options.quiet && !outcomes.runs.is_empty() {
        super::say(&format!("records: {}", campaign.out.display()));
    }
    let Outcomes { runs, exit, failed } = outcomes;
    if let Some(error) = failed {
        return Err(error);
    }
    let sides = side(&runs);
    let judgement = judge(&sides, &rules, &looks);
    if exit == Exit::Interrupted {
        return Ok(exit.code());
    }
    notes.extend(unseen_settings(&sides));
    let verdict = Verdict {
        sides: &sides,
        judgement: &judgement,
        notes: &notes,
    };
    tell(options, &verdict, Some(&out))
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
        methods: first.map_or_else(Vec::new, |run| {
            run.methods.iter().map(|one| one.method.clone()).collect()
        }),
        repeated: first.map_or_else(Vec::new, |run| repeated(run).into_iter().map(|one| one.name).collect()),
        lenses: Lens::ALL.into_iter().filter(|lens| through(*lens)).collect(),
        ..held(options)
    };
    let rules = rules(options, &context)?;
    if context.lenses.contains(&Lens::Purged) {
        alike(all().flatten())?;
    }
    let verdict = Verdict {
        sides: &sides,
        judgement: &judge(&sides, &rules, &looks),
        notes: &unseen_settings(&sides),
    };
    tell(options, &verdict, None)
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
