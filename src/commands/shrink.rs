//! `lsp-soak shrink`: the least of a scenario and of its workspace that still shows something.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::campaign::{self, Scratch, files};
use crate::cli;
use crate::config::recorded;
use crate::config::values::Lenses;
use crate::config::{Isolation, Loaded, MistakeReport, Overrides};
use crate::plan::outline;
use crate::soak::Interrupt;
use analysis::when::Holds;
use base::exit::Exit;
use base::text::quoted;
use proctree::host;
use record::is_record;
use report::document::NextCommand;
use report::shrink::{Confirmation, Extent, Shrunk, document, json};

use super::formats::{self, Printable};
use super::plan::{CampaignPlan, OutputPlan};
use super::resume::Place;
use super::{exports, output, prepare, replay, say, when};
use draft::Draft;
use search::{Candidate, SHRUNK, Search, ShrinkPlan, Stopped, copied_files};

mod cuts;
mod ddmin;
mod draft;
mod search;

pub fn run(options: &cli::Shrink, place: Place, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let (plan, loaded) = understand(options, &place)?;
    let out = place.directory(&loaded)?;
    // Exports may go into the new directory.
    let output = OutputPlan::of_search(&options.searching)?;
    let mut search = Search::new(&plan, &out, interrupt)?;
    let found = shrink(&mut search, &plan)?;
    let shrunk = Shrunk {
        scenario: loaded.scenario.name.clone(),
        server: plan
            .choices
            .first()
            .map(|choice| choice.label.clone())
            .unwrap_or_default(),
        when: plan.when.clone(),
        is_complete: search.stopped.is_none(),
        before: extent(&plan, &plan.original, &loaded)?,
        after: extent(&plan, &found.best, &search.loaded(&found.best)?)?,
        candidates: search.candidates as u64,
        runs: search.runs as u64,
        text: search.finish(&found.best)?,
        next: next_command(options, &out, &found),
        confirmation: found.confirmation,
    };
    let result = Printable {
        document: &|| document(&shrunk),
        json: &|| json(&shrunk),
        picture: None,
        suites: None,
        followed: None,
    };
    exports::print(output.targets, |format| {
        formats::render(&result, format, output.details)
    })?;
    let exit = match &shrunk.confirmation {
        _ if search.stopped == Some(Stopped::Interrupted) => Exit::Interrupted,
        Confirmation::Confirmed(_) => Exit::Passed,
        Confirmation::None | Confirmation::Refused(_) => Exit::Inconclusive,
    };
    Ok(exit.code())
}

/// The result of a search.
struct Found {
    best: Candidate,
    confirmation: Confirmation,
}

/// Searches until fresh runs confirm the result, or there is no time. Hundreds of answers have false ones among them: where
/// fresh runs deny the result, the search goes back a step and on by another way.
fn shrink(search: &mut Search<'_>, plan: &ShrinkPlan) -> anyhow::Result<Found> {
    search.require_condition()?;
    loop {
        let best = if search.stopped.is_some() {
            plan.original.clone()
        } else {
            search.find()?
        };
        let evaluation = match search.stopped {
            Some(Stopped::Interrupted) => None,
            Some(Stopped::Time) | None => search.confirm(&best)?,
        };
        let Some(evaluation) = evaluation else {
            let confirmation = Confirmation::None;
            return Ok(Found { best, confirmation });
        };
        if evaluation.holds == Holds::Yes {
            let confirmation = Confirmation::Confirmed(evaluation);
            return Ok(Found { best, confirmation });
        }
        let is_whole = best.draft.text() == plan.original.draft.text() && best.files.is_none();
        if is_whole || search.stopped.is_some() {
            let confirmation = Confirmation::Refused(evaluation);
            return Ok(Found { best, confirmation });
        }
        say("fresh runs do not confirm this scenario: the search goes back a step");
        search.refuse(&best);
    }
}

/// The task of `shrink`, or every mistake in it. Nothing was started yet.
fn understand(options: &cli::Shrink, place: &Place) -> anyhow::Result<(ShrinkPlan, Loaded)> {
    let campaign = CampaignPlan::of_search("shrink", &options.searching)?;
    if options.lens == Lenses::Both {
        bail!("a condition is judged through one lens: use --lens purged, or leave it out");
    }
    if campaign.measuring.memory_limit.is_none() && host::memory_left(&host::fingerprint().memory, 1).is_none() {
        bail!("it is not known how much memory this machine has left: set a limit, such as --memory-limit 4GiB");
    }
    let subject = options
        .scenario
        .as_deref()
        .context("name a scenario, or a record of it")?;
    let written = Scratch::claim("shrink")?;
    let (subject, workspace) = scenario_of(subject, written.path())?;
    let mut scenario_options = options.options.clone();
    scenario_options.workspace = scenario_options.workspace.or(workspace);
    let (mut scenarios, choices) = prepare::understand(&prepare::TypedCommand {
        scenarios: &[subject],
        options: &scenario_options,
        servers: options.server.as_slice(),
        extras: &options.extra,
        lenses: options.lens,
        out: place.new_directory(),
        only_checks: false,
    })?;
    let loaded = scenarios.pop().context("a search takes one scenario: name it")?;
    if choices.len() != 1 {
        bail!("a scenario is shrunk on one server: name one version, without --preload of several");
    }
    let condition = options.when.clone().context("name a condition with --when")?;
    let when = when::understand(&condition, &loaded, &choices).or_else(refuse)?;
    let isolation = loaded.project.isolation;
    if isolation == Isolation::InPlace {
        bail!("a search plays parts of a workspace, and never in place: use --isolation copy");
    }
    let mut draft = Draft::from_texts(&loaded.text, &loaded.scenario)?;
    draft.set_workspace(&loaded.project.root, &loaded.project.language, &loaded.project.pattern);
    draft.set_seed(loaded.scenario.seed());
    let plan = ShrinkPlan {
        original: Candidate { draft, files: None },
        root: loaded.project.root.clone(),
        choices,
        condition,
        when,
        overrides: Overrides {
            largest_file: Some(options.options.largest_file),
            full_decay: options.options.full_decay,
            isolation: Some(isolation),
            ..Overrides::default()
        },
        campaign,
        time_budget: options.time_budget.map(|budget| budget.0),
    };
    Ok((plan, loaded))
}

fn refuse<T>(mistakes: MistakeReport) -> anyhow::Result<T> {
    prepare::refuse_mistakes(mistakes)?;
    bail!("the condition cannot be judged")
}

/// The file of the scenario that is to be shrunk, and the workspace if it is another one: a scenario is its own file, and that
/// in the header of a record, or that a recorded session amounts to, is written into `scratch`.
fn scenario_of(subject: &Path, scratch: &Path) -> anyhow::Result<(PathBuf, Option<PathBuf>)> {
    if recorded::is_recorded(subject) {
        let session = replay::read(subject)?;
        let path = scratch.join("recorded.toml");
        files::write(&path, &recorded::outline::text("session", &session), "make room")?;
        return Ok((path, None));
    }
    if !is_record(subject) {
        return Ok((subject.to_owned(), None));
    }
    let header = campaign::open(subject)?.header().clone();
    let path = scratch.join("recorded.toml");
    let draft = Draft::from_recorded(&header.scenario.text, &header.scenario.phases)
        .with_context(|| format!("`{}` has no scenario: name another record", subject.display()))?;
    files::write(&path, &draft.text(), "make room")?;
    Ok((path, Some(header.workspace.path.into())))
}

fn extent(plan: &ShrinkPlan, candidate: &Candidate, loaded: &Loaded) -> anyhow::Result<Extent> {
    let files = match &candidate.files {
        Some(files) => files.len(),
        None => copied_files(&plan.root)?.len(),
    };
    let outline = outline(&loaded.scenario, loaded.project.files.len() as u64);
    let rounds = outline
        .phases
        .iter()
        .map(|phase| phase.steps.iter().map(|step| step.amount.requests).sum());
    Ok(Extent {
        phases: loaded.scenario.phases.len() as u64,
        steps: loaded
            .scenario
            .phases
            .iter()
            .map(|phase| phase.steps.len() as u64)
            .sum(),
        requests: rounds.max().unwrap_or(0),
        files: files as u64,
    })
}

/// The command that plays the result, or that goes on with the search.
fn next_command(options: &cli::Shrink, out: &Path, found: &Found) -> NextCommand {
    if let Confirmation::Confirmed(_) = found.confirmation {
        let server = options.server.as_deref().unwrap_or_default();
        let path = out.join(SHRUNK).display().to_string();
        return NextCommand {
            why: "play it".to_owned(),
            command: format!("lsp-soak run {} --server {}", quoted(&path), quoted(server)),
        };
    }
    let command = output::begun_subcommand(out).unwrap_or_else(|| "shrink".to_owned());
    NextCommand {
        why: "go on".to_owned(),
        command: format!("lsp-soak {command} --resume {}", quoted(&out.display().to_string())),
    }
}
