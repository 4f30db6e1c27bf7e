//! `lsp-soak calibrate`: a server against itself, to know its noise before it is compared.

use std::path::Path;

use anyhow::Context;

use crate::campaign::{Campaign, Judge, Next, Repeating, calibrations};
use crate::cli;
use crate::config::values::Lenses;
use crate::resolve::ServerChoice;
use crate::soak::Interrupt;
use analysis::compare::calibration::{Calibrated, LEAST_RUNS, noise, recommended_runs};
use analysis::compare::{Played, Target, circumstances, compare_by_target, is_counted};
use analysis::findings::loss;
use analysis::summary::exit_of_run;
use base::exit::Exit;
use record::{CALIBRATION_FORMAT, Calibration, Header};
use report::comparison::calibration;
use report::document::{NextCommand, terminal};
use stats::Schedule;

use super::lenses::servers_through_deciding;
use super::plan::CampaignPlan;
use super::resume::Place;
use super::{formats, next, prepare};

/// The fewest runs that `--runs` takes.
const FEWEST: u64 = 6;

/// Plays the runs, then calibrates. A resumed directory plays only the missing runs.
pub fn run(options: &cli::Calibrate, place: Place, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let plan = CampaignPlan::from_typed("calibrate", &options.processors, &options.measuring, options.voice)?;
    let (scenarios, choices) = prepare::understand(&prepare::TypedCommand {
        scenarios: options.scenario.as_slice(),
        options: &options.options,
        servers: &options.servers,
        extras: &options.extra,
        lenses: options.lens.unwrap_or(Lenses::AsShipped),
        out: place.new_directory(),
        only_checks: false,
    })?;
    let (choices, notes) = servers_through_deciding(options.lens, choices);
    let scenario = scenarios.first().context("a calibration takes one scenario: name it")?;
    let out = place.directory(scenario)?;
    for note in &notes {
        super::say(note);
    }
    let outcomes = super::block_on(async {
        interrupt.heed();
        let campaign = Campaign {
            scenario,
            choices: &choices,
            out: &out,
            repeating: &Repeating::fixed(options.runs),
            measuring: plan.measuring,
            talk: plan.talk,
            judge: &Calibrating,
            is_sweep: false,
            jobs: plan.jobs.clone(),
            calibration_options: "",
        };
        campaign.play(interrupt).await
    })?;
    if plan.jobs.is_part() || outcomes.is_refused {
        return outcomes.code();
    }
    super::tell_records(&out, None, plan.talk, &outcomes);
    if let Some(error) = outcomes.failed {
        return Err(error);
    }
    // Interrupted runs give no calibration.
    let exit = match outcomes.exit {
        Exit::Passed => {
            let commands = Commands {
                choices: &choices,
                scenario: &scenario.path,
                out: &out,
            };
            report_calibrations(&outcomes.runs, options.voice.details, options.voice.quiet, &commands)?
        }
        exit => exit,
    };
    Ok(exit.code())
}

/// True once no calibration can come of the runs.
fn is_hopeless(runs: &[Played]) -> bool {
    runs.iter()
        .any(|run| exit_of_run(&run.summary) != Exit::Passed || loss(&run.summary).is_some())
}

/// Plays every run, as long as all of them can enter a calibration.
struct Calibrating;

impl Judge for Calibrating {
    fn after_block(&self, runs: &[Played]) -> Next {
        if is_hopeless(runs) {
            Next::Hopeless
        } else {
            Next::Continue
        }
    }
}

/// The parts of the next command.
struct Commands<'c> {
    choices: &'c [ServerChoice],
    scenario: &'c Path,
    out: &'c Path,
}

impl Commands<'_> {
    /// The command after calibrations, the smallest of which has so many runs: a gate, or what is missing to the number of
    /// runs with which gates decide early.
    fn next_command(&self, runs: u64) -> Option<NextCommand> {
        let missing = LEAST_RUNS.saturating_sub(runs);
        if missing > 0 {
            let runs = if missing == 1 { "run lets" } else { "runs let" };
            let why = format!("{missing} more calibration {runs} a gate decide after 3 runs");
            let command = next::calibration_of(self.choices, self.scenario, self.out)?;
            let command = format!("{command} --runs {}", missing.max(FEWEST));
            return Some(NextCommand { why, command });
        }
        let command = next::gate_of(self.choices, self.scenario, self.out)?;
        let why = if command.contains(next::NEW) {
            format!("compare versions, the one to judge instead of `{}`", next::NEW)
        } else {
            "compare these servers".to_owned()
        };
        Some(NextCommand { why, command })
    }
}

/// Stores and prints a calibration for each server and lens, and the next command under the last one.
fn report_calibrations(
    runs: &[Played],
    details: bool,
    is_quiet: bool,
    commands: &Commands<'_>,
) -> anyhow::Result<Exit> {
    if let Some(lost) = runs.iter().find_map(|run| loss(&run.summary)) {
        super::say(&format!(
            "no calibration: the server lost the process with most of its memory: {lost}"
        ));
        return Ok(Exit::ServerFailed);
    }
    let looks = Schedule::default();
    let all = calibrated(runs, &looks);
    let mut paths = Vec::new();
    for (calibration, _) in &all {
        paths.push(calibrations::store(calibration)?);
    }
    let mut fewest = u64::MAX;
    for (place, (calibration, header)) in all.iter().enumerate() {
        let together = calibrations::pooled_for(header).unwrap_or_else(|| calibration.clone());
        fewest = fewest.min(together.runs);
        let is_last = place + 1 == all.len();
        let next = if is_last { commands.next_command(fewest) } else { None };
        let document = calibration::document(calibration, &together, &looks, next);
        super::print(&terminal::render(&document, formats::look(details)))?;
    }
    if !is_quiet {
        for path in paths {
            super::say(&format!("calibration: {}", path.display()));
        }
    }
    Ok(Exit::Passed)
}

/// Adds the baseline's runs of a gate to the calibrations of its server. A gate does not fail for lack of a place to store
/// them.
pub(super) fn add_baseline(runs: &[Played], looks: &Schedule, is_quiet: bool) {
    if is_hopeless(runs) {
        return;
    }
    for (calibration, _) in calibrated(runs, looks) {
        if calibration.runs < 2 {
            continue;
        }
        let text = match calibrations::store(&calibration) {
            Ok(path) => format!(
                "calibration: {} ({} runs of the baseline)",
                path.display(),
                calibration.runs
            ),
            Err(why) => format!("warning: the baseline's runs are no calibration: {why:#}"),
        };
        if !is_quiet {
            super::say(&text);
        }
    }
}

/// One for each server and lens, with the header of its first run.
fn calibrated(runs: &[Played], looks: &Schedule) -> Vec<(Calibration, Header)> {
    let made = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut all = Vec::new();
    for target in compare_by_target(runs.to_vec(), None).into_values().flatten() {
        for place in 0..target.comparison.sides.len() {
            all.extend(side_calibration(&target, place, runs, &made, looks));
        }
    }
    all
}

fn side_calibration(
    target: &Target,
    place: usize,
    runs: &[Played],
    made: &str,
    looks: &Schedule,
) -> Option<(Calibration, Header)> {
    let side = &target.comparison.sides[place];
    let lens = target.lens.name;
    let mut own = Vec::new();
    for run in runs {
        let server = &run.summary.header.server;
        if server.label == side.label && server.lens.name == lens && is_counted(&run.summary) {
            own.push(&run.summary.header);
        }
    }
    let header = *own.first()?;
    let mut calibration = Calibration {
        format: CALIBRATION_FORMAT,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        made: made.to_owned(),
        scenario: header.scenario.name.clone(),
        server: side.label.clone(),
        profile: header.server.profile.clone(),
        lens,
        circumstances: circumstances(header),
        runs: side.runs.len() as u64,
        started: own.iter().map(|header| header.started.clone()).collect(),
        recommended_runs: None,
        noise: noise(&target.comparison, place, lens),
    };
    let recommended = recommended_runs(Calibrated::all(&calibration, true), looks);
    calibration.recommended_runs = recommended.map(|runs| runs as u64);
    Some((calibration, header.clone()))
}
