//! `lsp-soak calibrate`: a server against itself, to know its noise before it is compared.

use crate::campaign::{Campaign, calibrations};
use crate::cli::{self, Command};
use crate::compare::calibration::{Calibrated, noise, recommended};
use crate::compare::report::calibration;
use crate::compare::{Played, Target, by_target, circumstances};
use crate::config::options::Repeating;
use crate::config::values::Runs;
use crate::document::terminal;
use crate::exit::Exit;
use crate::findings::loss;
use crate::record::{CALIBRATION_FORMAT, Calibration, Schedule};
use crate::soak::Interrupt;
use crate::summary::exit;

use super::resume::{begin, holding, resume};
use super::{formats, prepare};

pub fn run(options: &cli::Calibrate, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let calibrate = |command| {
        if let Command::Calibrate(options) = command {
            Some(options)
        } else {
            None
        }
    };
    let out = options.resume.as_deref();
    let hold = holding(&options.recording.processors);
    let resumed = out.map(|out| resume(out, hold, calibrate)).transpose()?;
    let options = as_run(resumed.as_ref().map_or(options, |resumed| &resumed.options));
    let out = options.recording.out.as_deref();
    let jobs = prepare::share(
        &options.recording.processors,
        options.recording.measuring.thp,
        "calibrate",
    )?;
    // A directory that is gone on with is not empty.
    let new = out.filter(|_| resumed.is_none());
    let (scenarios, choices) = prepare::understood(&prepare::Typed::of(&options, new))?;
    let directories = match resumed {
        Some(resumed) => vec![resumed.begun.alone()?],
        None => begin(out, &scenarios)?,
    };
    let (Some(scenario), Some(out)) = (scenarios.first(), directories.first()) else {
        return Ok(Exit::Passed.code());
    };
    let outcomes = super::block_on(async {
        interrupt.heed();
        let campaign = Campaign {
            scenario,
            choices: &choices,
            out,
            repeating: &options.repeating,
            measuring: options.recording.measuring,
            talk: crate::commands::talk(options.output.voice),
            enough: &|_| false,
            standing: &|_| None,
            hopeless: &is_hopeless,
            sweep: None,
            jobs,
        };
        campaign.play(interrupt).await
    })?;
    if options.recording.processors.job.is_some() || outcomes.is_refused {
        return outcomes.code();
    }
    super::tell_records(out, None, crate::commands::talk(options.output.voice), &outcomes);
    if let Some(error) = outcomes.failed {
        return Err(error);
    }
    // Interrupted runs give no calibration.
    let exit = match outcomes.exit {
        Exit::Passed => tell(outcomes.runs, &options)?,
        exit => exit,
    };
    Ok(exit.code())
}

/// True once no calibration can come of the runs.
fn is_hopeless(runs: &[Played]) -> bool {
    runs.iter()
        .any(|run| exit(&run.summary) != Exit::Passed || loss(&run.summary).is_some())
}

/// Prints and stores a calibration for each server and lens.
fn tell(runs: Vec<Played>, options: &cli::Run) -> anyhow::Result<Exit> {
    if let Some(lost) = runs.iter().find_map(|run| loss(&run.summary)) {
        super::say(&format!(
            "no calibration: the server lost the process with most of its memory: {lost}"
        ));
        return Ok(Exit::ServerFailed);
    }
    for calibration in calibrated(runs, &options.repeating.looks.0) {
        let document = calibration::document(&calibration, &options.repeating.looks.0);
        let look = formats::look(options.output.voice.details);
        super::print(&terminal::render(&document, look))?;
        let path = calibrations::store(&calibration)?;
        if !options.output.voice.quiet {
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
    let usable = calibrated(runs.to_vec(), looks).into_iter().filter(|one| one.runs > 1);
    for calibration in usable {
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

/// A calibration is runs of one server.
fn as_run(options: &cli::Calibrate) -> cli::Run {
    let cli::Calibrate {
        scenario,
        resume: _,
        servers,
        extra,
        runs,
        options,
        recording,
        voice,
    } = options.clone();
    cli::Run {
        scenarios: scenario.into_iter().collect(),
        resume: None,
        servers: crate::config::options::ServerOptions { servers, extra },
        scenario: options,
        repeating: Repeating {
            runs: Some(Runs::Fixed(runs)),
            looks: crate::config::values::LookPlan(Schedule::default()),
            time_budget: None,
            partition: None,
            baseline: None,
            warm_ups: None,
        },
        recording,
        trace_syscalls: false,
        output: crate::config::options::Output {
            format: crate::config::options::Format::Terminal,
            exports: crate::config::options::Exports::default(),
            export_csv: None,
            voice,
        },
    }
}

/// One for each server and lens.
fn calibrated(runs: Vec<Played>, looks: &Schedule) -> Vec<Calibration> {
    let headers: Vec<_> = runs.iter().map(|run| run.summary.header.clone()).collect();
    let made = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let targets = by_target(runs, None).into_values().flatten();
    let of_side = |target: &Target, place: usize| {
        let side = &target.comparison.sides[place];
        let header = headers
            .iter()
            .find(|header| header.server.label == side.label && header.server.lens.name == target.lens.name)?;
        let mut calibration = Calibration {
            format: CALIBRATION_FORMAT,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            made: made.clone(),
            scenario: header.scenario.name.clone(),
            server: side.label.clone(),
            profile: header.server.profile.clone(),
            lens: target.lens.name,
            circumstances: circumstances(header),
            runs: side.runs.len() as u64,
            recommended_runs: None,
            noise: noise(&target.comparison, place, target.lens.name),
        };
        let runs = recommended(Calibrated::all(&calibration, true), looks);
        calibration.recommended_runs = runs.map(|runs| runs as u64);
        Some(calibration)
    };
    let of_target = |target: Target| {
        let sides = 0..target.comparison.sides.len();
        sides
            .filter_map(|place| of_side(&target, place))
            .collect::<Vec<Calibration>>()
    };
    targets.flat_map(of_target).collect()
}
