//! The rules of a gate: what there is to name, and every mistake in naming it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::bail;

use crate::commands::Mistakes;
use crate::config::{self, GateContext, Loaded, Repeat};
use crate::resolve::ServerChoice;
use analysis::compare::Played;
use analysis::figures::Rules;
use analysis::growth;
use analysis::summary::exit_of_run;
use base::band::LEAST_ROUNDS;
use base::exit::Exit;
use base::lens::Lens;

/// The names that a gate file may use for runs that are still to be made.
pub fn planned(typed: GateContext, scenario: &Loaded, choices: &[ServerChoice], is_lens_typed: bool) -> GateContext {
    let phases = &scenario.scenario.phases;
    let mut repeated: Vec<String> = phases
        .iter()
        .filter(|phase| phase.repeat.as_ref().is_some_and(may_show_growth))
        .map(|phase| phase.name.clone())
        .collect();
    if scenario.scenario.repeat.as_ref().is_some_and(may_show_growth) {
        repeated.push(growth::WHOLE.to_owned());
    }
    let possible = Lens::ALL
        .into_iter()
        .filter(|lens| choices.iter().any(|choice| choice.lens.lens == *lens));
    // The first lens decides; the other is played only for a rule that names it.
    let (lenses, optional_lenses) = if is_lens_typed {
        (possible.collect(), Vec::new())
    } else {
        possible.partition(|lens| choices.first().is_some_and(|choice| choice.lens.lens == *lens))
    };
    let methods: BTreeSet<&str> = phases
        .iter()
        .flat_map(|phase| &phase.steps)
        .flat_map(|step| step.method().into_iter().chain(step.follows().iter().copied()))
        .collect();
    GateContext {
        phases: phases.iter().map(|phase| phase.name.clone()).collect(),
        methods: methods.into_iter().map(str::to_owned).collect(),
        all_methods: true,
        repeated,
        lenses,
        optional_lenses,
        is_collected: choices
            .iter()
            .any(|choice| choice.lens.collected_by.is_some() && !choice.lens.without_live),
        ..typed
    }
}

/// True if there may be enough rounds to see growth. The number of rounds in a given time is not known beforehand.
fn may_show_growth(repeat: &Repeat) -> bool {
    match repeat {
        Repeat::Times(times) => *times >= LEAST_ROUNDS as u64,
        Repeat::For(_) => true,
    }
}

/// The names that a gate file may use for runs that were made: whatever any of them has.
pub fn played(typed: GateContext, runs: &[&Played], lenses: Vec<Lens>) -> GateContext {
    let mut phases = Vec::new();
    let mut methods = Vec::new();
    let mut repeated = Vec::new();
    for run in runs {
        phases.extend(run.summary.header.scenario.phases.iter().cloned());
        methods.extend(run.summary.traffic.methods.iter().map(|facts| facts.method.clone()));
        for place in growth::repeated_parts(&run.summary) {
            if place.values.len() >= LEAST_ROUNDS {
                repeated.push(place.name);
            }
        }
    }
    let phases = each_once(phases);
    // A failed server may not have reached the named place, and its failure is the result then.
    let failed = runs.iter().any(|run| exit_of_run(&run.summary) == Exit::ServerFailed);
    if failed {
        repeated.extend(phases.iter().cloned());
        repeated.push(growth::WHOLE.to_owned());
    }
    GateContext {
        methods: each_once(methods),
        all_methods: !failed,
        repeated: each_once(repeated),
        phases,
        lenses,
        is_collected: runs.iter().any(|run| run.summary.header.server.lens.reports_live()),
        is_command: runs.iter().any(|run| run.summary.lifecycle.command.is_some()),
        is_shared: runs.iter().any(|run| run.summary.header.plan.jobs.is_some()),
        ..typed
    }
}

/// The names without repetitions, in the order in which each came first.
fn each_once(names: Vec<String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// The rules, or every mistake in the file and in the options.
pub fn rules(context: &GateContext, file: Option<&Path>) -> anyhow::Result<Rules> {
    let text = match file {
        None => None,
        Some(path) => match config::read_text(path, "name a TOML file") {
            Ok(text) => Some((path.display().to_string(), text)),
            Err((why, cure)) => bail!("cannot read the gate file `{}`: {why}; {cure}", path.display()),
        },
    };
    let file = text.as_ref().map(|(path, text)| (path.as_str(), text.as_str()));
    context
        .rules(file)
        .map_err(|report| Mistakes::from_report(&report).into())
}
