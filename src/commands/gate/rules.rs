//! What a gate holds to: what there is to name, and every mistake in naming it.

use std::collections::BTreeSet;

use anyhow::bail;

use crate::cli;
use crate::commands::Mistakes;
use crate::config::{self, GateContext, Loaded, Repeat, Step};
use crate::resolve::ServerChoice;
use analysis::compare::Played;
use analysis::figures::Rules;
use analysis::growth;
use analysis::summary::exit;
use base::band::LEAST_ROUNDS;
use base::exit::Exit;
use base::lens::Lens;

use super::sides;

/// Keeps the lenses that the rules measure through: what decides nothing is not played, unless it was asked for.
pub fn needed(options: &cli::Gate, rules: &Rules, mut choices: Vec<ServerChoice>) -> Vec<ServerChoice> {
    let used = rules.lenses();
    choices.retain(|choice| options.lens.is_some() || used.contains(&choice.lens.lens));
    choices
}

/// What a gate file may name, of runs that are to be made.
pub fn planned(options: &cli::Gate, scenario: &Loaded, choices: &[ServerChoice]) -> GateContext {
    let phases = &scenario.scenario.phases;
    // How many rounds a time has is not known before.
    let often = |repeat: &Repeat| match repeat {
        Repeat::Times(times) => *times >= LEAST_ROUNDS as u64,
        Repeat::For(_) => true,
    };
    let repeated = phases.iter().filter(|phase| phase.repeat.as_ref().is_some_and(often));
    let whole = scenario.scenario.repeat.filter(often).map(|_| growth::WHOLE.to_owned());
    let looked = |lens: &Lens| choices.iter().any(|choice| choice.lens.lens == *lens);
    let possible = Lens::ALL.into_iter().filter(looked);
    // The first lens decides; the other is played only for a rule that names it.
    let (lenses, optional_lenses) = match options.lens {
        Some(_) => (possible.collect(), Vec::new()),
        None => possible.partition(|lens| choices.first().is_some_and(|choice| choice.lens.lens == *lens)),
    };
    let steps = phases.iter().flat_map(|phase| &phase.steps);
    let sent = |step: &Step| -> Vec<String> {
        let besides = step.follows().iter().copied();
        step.method().into_iter().chain(besides).map(str::to_owned).collect()
    };
    GateContext {
        phases: phases.iter().map(|phase| phase.name.clone()).collect(),
        methods: steps.flat_map(sent).collect::<BTreeSet<String>>().into_iter().collect(),
        all_methods: true,
        repeated: repeated.map(|phase| phase.name.clone()).chain(whole).collect(),
        lenses,
        optional_lenses,
        is_collected: choices
            .iter()
            .any(|choice| choice.lens.collected_by.is_some() && !choice.lens.without_live),
        is_shared: options.processors.jobs > 1,
        ..held(options)
    }
}

/// What a gate file may name, of runs that were made: whatever any of them has.
pub fn played(options: &cli::Gate, runs: &[&Played], lenses: Vec<Lens>) -> GateContext {
    let summaries = || runs.iter().map(|run| &run.summary);
    let each = |names: &mut dyn Iterator<Item = String>| -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        names.for_each(|name| {
            if !seen.contains(&name) {
                seen.push(name);
            }
        });
        seen
    };
    let phases = each(&mut summaries().flat_map(|run| run.header.scenario.phases.iter().cloned()));
    let methods = summaries().flat_map(|run| run.methods.iter().map(|one| one.method.clone()));
    let repeated = summaries().flat_map(growth::repeated);
    let repeated = repeated
        .filter(|one| one.values.len() >= LEAST_ROUNDS)
        .map(|one| one.name);
    // A failed server may not have reached the named place, and its failure is the result then.
    let failed = summaries().any(|run| exit(run) == Exit::ServerFailed);
    let unseen = phases
        .iter()
        .cloned()
        .chain([growth::WHOLE.to_owned()])
        .filter(|_| failed);
    GateContext {
        methods: each(&mut methods.into_iter()),
        all_methods: !failed,
        repeated: each(&mut repeated.chain(unseen)),
        phases,
        lenses,
        is_collected: summaries().any(|run| run.header.server.lens.reports_live()),
        is_command: summaries().any(|run| run.command.is_some()),
        is_shared: summaries().any(|run| run.header.plan.jobs.is_some()),
        ..held(options)
    }
}

/// What the command line says of the rules. Records may have a baseline that was not named.
fn held(options: &cli::Gate) -> GateContext {
    let holding = &options.holding;
    GateContext {
        tol: holding.tol,
        fail: holding.fail,
        floor: holding.floor,
        budgets: holding.budgets.clone(),
        is_alone: sides::is_alone(options),
        ..GateContext::default()
    }
}

/// The rules, or every mistake in the file and in the options.
pub fn rules(options: &cli::Gate, context: &GateContext) -> anyhow::Result<Rules> {
    let text = match &options.holding.gate {
        None => None,
        Some(path) => match config::read_text(path, "name a TOML file") {
            Ok(text) => Some((path.display().to_string(), text)),
            Err((why, cure)) => bail!("cannot read the gate file `{}`: {why}; {cure}", path.display()),
        },
    };
    let file = text.as_ref().map(|(path, text)| (path.as_str(), text.as_str()));
    context.rules(file).map_err(|report| Mistakes::of(&report).into())
}
