//! `lsp-soak check`: every mistake in a scenario at once, or the plan of what it would do.

use std::path::Path;

use crate::campaign::{self, Probed, Repeating, Scratch, header, window_warnings};
use crate::config::values::{Lenses, Runs};
use crate::config::{Loaded, MistakeReport};
use crate::drive::lacks;
use crate::drive::workspace::KeptCopy;
use crate::resolve::ServerChoice;
use crate::soak::Interrupt;
use crate::{cli, plan};
use analysis::summary::{self, Summary};
use base::exit::Exit;
use base::lens::Lens;
use base::text::fold;
use base::units;
use proctree::host;
use record::Ending;
use report::document::terminal;
use report::run;
use report::when::explanation;

use super::{formats, prepare, print, when};

pub fn run(options: &cli::Check, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let (scenarios, choices) = prepare::understand(&prepare::TypedCommand {
        scenarios: &options.scenarios,
        options: &options.scenario,
        servers: &options.servers,
        extras: &options.extra,
        lenses: options.lens,
        out: None,
        only_checks: true,
    })?;
    let repeating = Repeating::from(&options.repeating);
    let mut mistakes = MistakeReport::default();
    let mut explanations = Vec::new();
    for (scenario, text) in scenarios.iter().zip(options.when.iter().cycle()) {
        match when::understand(text, scenario, &choices) {
            Ok(when) => explanations.push(explanation(&when)),
            Err(report) => mistakes.merge(report),
        }
    }
    prepare::refuse_mistakes(mistakes)?;
    for sentence in explanations {
        print_folded(&format!("{sentence}\n\n"))?;
    }
    for scenario in &scenarios {
        for lens in options.lens.list() {
            if options.lens != Lenses::AsShipped {
                print(&format!("lens: {lens}\n"))?;
            }
            print_plan(&repeating, scenario, &choices, *lens)?;
        }
    }
    // A server offers the same through each lens.
    let first = options.lens.list()[0];
    let choices: Vec<ServerChoice> = choices.into_iter().filter(|choice| choice.lens.lens == first).collect();
    if choices.is_empty() {
        return Ok(Exit::Passed.code());
    }
    // Records of probes have no memory figures, so they are not kept.
    let records = Scratch::claim("check")?;
    super::block_on(async {
        interrupt.heed();
        let mut worst = Exit::Passed;
        for (number, scenario) in scenarios.iter().enumerate() {
            for choice in &choices {
                let path = records.path().join(format!("{number}-{}.jsonl", choice.label));
                worst = worst.worse(probe(scenario, choice, &path, interrupt).await?);
            }
        }
        Ok(worst.code())
    })
}

/// Prints what is played through a lens.
fn print_plan(repeating: &Repeating, scenario: &Loaded, choices: &[ServerChoice], lens: Lens) -> anyhow::Result<()> {
    let choices: Vec<ServerChoice> = choices
        .iter()
        .filter(|choice| choice.lens.lens == lens)
        .cloned()
        .collect();
    let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
    let mut played = scenario.clone();
    played.scenario = match (choices.first(), lens) {
        (Some(choice), _) => header::scenario_as_played(&scenario.scenario, choice),
        (None, Lens::Purged) => scenario.scenario.for_purged_run(false),
        (None, Lens::AsShipped) => scenario.scenario.clone(),
    };
    let runs = repeating.planned_runs(&choices, scenario.scenario.seed());
    print(&plan::describe(
        &played,
        &runs,
        &labels,
        &limits(repeating),
        formats::columns(),
    ))?;
    for (phase, command) in scenario.scenario.shell_commands() {
        print_folded(&format!("`shell` in {phase} runs, with --allow-shell: {command}\n"))?;
    }
    if let Some(limit) = host::memory_left(&host::fingerprint().memory, 1) {
        let limit = units::bytes(limit);
        print(&fold(
            &format!("memory limit: a run ends above {limit} private memory; change it with --memory-limit\n"),
            formats::columns(),
        ))?;
    }
    for sentence in choices
        .iter()
        .filter_map(|choice| window_warnings::collector_wait(choice, &played))
    {
        print_folded(&format!("{sentence}\n"))?;
    }
    for doubt in choices
        .iter()
        .flat_map(|choice| window_warnings::length_warnings(choice, &played))
    {
        print(&format!("warning: {doubt}\n"))?;
    }
    Ok(())
}

/// Sentences on the part of the plan that is played, and on what ends it early.
fn limits(repeating: &Repeating) -> Vec<String> {
    let mut limits = Vec::new();
    if let Some(part) = repeating.partition {
        limits.push(format!("part {part} of the plan"));
    }
    if repeating.runs == Some(Runs::Auto) {
        let looks: Vec<String> = repeating.looks.runs().iter().map(ToString::to_string).collect();
        limits.push(format!(
            "ends once everything is decided, at the earliest after {} runs",
            looks.join(", ")
        ));
    }
    if let Some(budget) = repeating.time_budget {
        limits.push(format!("as many blocks as fit into {}", units::duration(budget.0)));
    }
    limits
}

/// Asks a server whether it offers what the scenario needs, and prints the answer.
async fn probe(scenario: &Loaded, choice: &ServerChoice, path: &Path, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    let played = match campaign::probe(scenario, choice, path, KeptCopy::default(), interrupt).await? {
        Probed::Ended(played) => played,
        Probed::CalledOff => return Ok(Exit::Interrupted),
    };
    let summary = &*played.summary;
    let exit = summary::exit_of_run(summary);
    if let Some(sentence) = campaign::missing_steps(summary, scenario) {
        print_folded(&format!("{sentence}\n"))?;
        return Ok(exit);
    }
    match &summary.ending {
        Some(Ending::Completed) if exit == Exit::Passed => {
            print_folded(&offered(scenario, choice, &left_out(summary, scenario, choice)))?;
        }
        _ => {
            let document = run::document(&played);
            print(&terminal::render(&document, formats::look(true)))?;
        }
    }
    Ok(exit)
}

/// Prints sentences, as wide as the terminal.
fn print_folded(text: &str) -> anyhow::Result<()> {
    print(&fold(text, formats::columns()))
}

/// The sentence for a server that can play the scenario, with the optional steps that it skips.
fn offered(scenario: &Loaded, choice: &ServerChoice, left_out: &[String]) -> String {
    let (label, name) = (&choice.label, &scenario.scenario.name);
    if left_out.is_empty() {
        return format!("`{label}` offers every step of `{name}`\n");
    }
    let all = scenario.scenario.phases.iter().flat_map(|phase| &phase.steps);
    let asking = all.filter(|step| step.method().is_some()).count();
    let lines: String = left_out.iter().map(|line| format!("  {line}\n")).collect();
    format!(
        "`{label}` offers every step that `{name}` requires, and {} of its {} that send requests; skipped, because they are \
         optional:\n{lines}",
        asking.saturating_sub(left_out.len()),
        units::count_of(asking as u64, "step"),
    )
}

/// Optional steps that the server does not offer, each with the missing capability.
fn left_out(summary: &Summary, scenario: &Loaded, choice: &ServerChoice) -> Vec<String> {
    let mut lines = Vec::new();
    for played in &summary.phases {
        let Some(phase) = scenario.scenario.phases.get(played.phase.phase as usize) else {
            continue;
        };
        for played_step in played.steps.iter().filter(|step| step.skipped) {
            if let Some(step) = phase.steps.get(played_step.step as usize) {
                lines.push(lacks(&choice.profile, step, &phase.name));
            }
        }
    }
    lines
}
