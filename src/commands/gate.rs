//! `lsp-soak gate`: whether a candidate may replace a baseline, from runs made here or from records.

use std::path::Path;

use anyhow::{Context, bail};

use crate::campaign::{Campaign, Judge, Next, Outcomes, calibrations, header};
use crate::cli::{self, Command};
use crate::commands::output::Directory;
use crate::config::GateContext;
use crate::config::options::Repeating;
use crate::config::values::{Lenses, Runs};
use crate::resolve::ServerChoice;
use crate::soak::Interrupt;
use analysis::compare::Played;
use analysis::figures::Rules;
use analysis::gate::{Judgement, Sides, judge_calibrated};
use base::exit::Exit;
use proctree::host;
use stats::Schedule;

use super::exports::Target;
use super::lenses::servers_per_lens;
use super::resume::{begin, directory_hold, new_directory, resume};
use super::{exports, next, prepare};
use after::{added_runs, after_verdict};
use records::{Named, recorded};
use rules::{needed, planned, played, rules};
use sides::{
    NO_FIRST_BASELINE, common, driven, is_alone, lens_of, require_one_allocator, require_settings, split,
    unseen_settings,
};
use tell::{Verdict, report_verdict};

mod after;
mod anchor;
mod records;
mod rules;
mod sides;
mod tell;

pub fn run(options: &cli::Gate, interrupt: &Interrupt) -> anyhow::Result<u8> {
    if let Some(out) = &options.resume {
        let resumed = resume(out, directory_hold(&options.processors), gate_options)?;
        return live(&resumed.options, Some(resumed.begun.alone()?), interrupt);
    }
    if options.from.is_empty() {
        live(options, None, interrupt)
    } else {
        judge_records(options)
    }
}

/// The options of a `gate` command; `None` for other commands.
fn gate_options(command: Command) -> Option<cli::Gate> {
    if let Command::Gate(options) = command {
        Some(options)
    } else {
        None
    }
}

/// Drives every side, then decides. A resumed directory plays only the missing runs.
fn live(options: &cli::Gate, resumed: Option<Directory>, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let jobs = prepare::share(&options.processors, options.measuring.thp, "gate")?;
    require_one_preload(options)?;
    require_baseline_of_anchor(options)?;
    let looks = looks(options)?;
    let anchor = options.anchor.as_deref();
    let recorded_anchor = anchor.and_then(Named::parse).map(Named::read).transpose()?;
    let servers = driven(options, if recorded_anchor.is_none() { anchor } else { None });
    let new_out = new_directory(options.out.as_deref(), resumed.is_some());
    let (scenarios, choices) = prepare::understood(&prepare::Typed {
        scenarios: options.scenario.as_slice(),
        options: &options.scenario_options,
        servers: &servers,
        extras: &options.extra,
        lenses: options.lens.unwrap_or(Lenses::AsShipped),
        out: new_out,
    })?;
    let scenario = scenarios.first().context("a gate takes one scenario: name it")?;
    let labels = labels(&choices, servers.len())?;
    let (choices, mut notes) = servers_per_lens(options.lens, choices);
    let rules = rules(options, &planned(options, scenario, &choices))?;
    let choices = needed(options, &rules, choices);
    notes.extend(prepare::quiet_purge(&choices, scenario));
    if let Some(recorded_anchor) = &recorded_anchor {
        let host = header::restricted(host::fingerprint(), jobs.each());
        anchor::require_comparable(recorded_anchor, (options, host), scenario, &choices, (&rules, &looks))?;
    }
    let targets = exports::targets(options.format, &options.exports, None)?;
    let out = match resumed {
        Some(out) => out,
        None => begin(options.out.as_deref(), &scenarios)?.remove(0),
    };
    let gating = Gating {
        options,
        labels: &labels,
        anchor: recorded_anchor,
        rules: &rules,
        looks: &looks,
    };
    let campaign = Campaign {
        scenario,
        choices: &choices,
        out: &out,
        repeating: &repeating(options),
        measuring: options.measuring,
        talk: crate::commands::talk(options.voice),
        judge: &gating,
        is_sweep: false,
        jobs,
        calibration_options: &next::calibration_options(&out),
    };
    let (runs, exit) = play(&campaign, interrupt)?;
    let is_over = exit != Exit::Interrupted && options.processors.job.is_none();
    let (true, Some(runs)) = (is_over, runs) else {
        return Ok(exit.code());
    };
    let sides = gating.sides(&runs);
    notes.extend(added_runs(options, &out));
    notes.extend(unseen_settings(&sides));
    conclude(options, &sides, &out, (&rules, &looks), targets, &notes)
}

/// Judges a gate whose runs are over, keeps what they show of the baseline, and tells.
fn conclude(
    options: &cli::Gate,
    sides: &Sides,
    out: &Path,
    (rules, looks): (&Rules, &Schedule),
    targets: Vec<Target>,
    notes: &[String],
) -> anyhow::Result<u8> {
    // By calibrations of before this gate: its own runs would count twice.
    let judgement = judged(sides, rules, looks);
    let next = after_verdict(&judgement, looks, sides, out);
    keep_baseline(sides, looks, options)?;
    let verdict = Verdict {
        sides,
        judgement: &judgement,
        notes,
        next,
    };
    report_verdict(options, &verdict, targets, Some(out))
}

/// The label of each side. A range of versions is refused: each side is one server.
fn labels(choices: &[ServerChoice], sides: usize) -> anyhow::Result<Vec<String>> {
    let labels: Vec<String> = choices.iter().take(sides).map(|choice| choice.label.clone()).collect();
    match choices.iter().find(|choice| !labels.contains(&choice.label)) {
        Some(more) => bail!(
            "a gate compares one version with another, and a range names more, such as `{}`: name one version on each \
             side, or compare them all with `lsp-soak run`",
            more.label
        ),
        None => Ok(labels),
    }
}

/// Refuses an anchor without a baseline: it is a second one.
fn require_baseline_of_anchor(options: &cli::Gate) -> anyhow::Result<()> {
    if options.anchor.is_some() && is_alone(options) {
        bail!("{NO_FIRST_BASELINE}");
    }
    Ok(())
}

fn require_one_preload(options: &cli::Gate) -> anyhow::Result<()> {
    if options.extra.preload.len() > 1 {
        let cure = "name one for all sides, or compare them with `lsp-soak run --preload`";
        bail!("a gate compares servers under one allocator, and --preload names several: {cure}");
    }
    Ok(())
}

/// True if the verdict is refused however many runs there will be: a server failed, ran without its settings, or the
/// circumstances have changed.
fn hopeless(sides: &Sides, options: &cli::Gate) -> bool {
    require_settings(sides).is_err()
        || !sides.broken().is_empty()
        || tell::refuse(&sides.differences(), options).is_err()
}

/// Ends a gate once its verdict is final, or can no longer be reached.
struct Gating<'g> {
    options: &'g cli::Gate,
    /// Of baseline, candidate and a driven anchor.
    labels: &'g [String],
    /// Runs of an anchor that was measured before.
    anchor: Option<Vec<Played>>,
    rules: &'g Rules,
    looks: &'g Schedule,
}

impl Gating<'_> {
    fn sides(&self, runs: &[Played]) -> Sides {
        split(self.options, runs, self.labels, self.anchor.clone())
    }
}

impl Judge for Gating<'_> {
    fn is_decided_without_runs(&self) -> bool {
        judged(&self.sides(&[]), self.rules, self.looks).is_final()
    }

    fn after_block(&self, runs: &[Played]) -> Next {
        let sides = self.sides(runs);
        if hopeless(&sides, self.options) {
            return Next::Hopeless;
        }
        let judgement = judged(&sides, self.rules, self.looks);
        if judgement.is_hopeless() {
            Next::Hopeless
        } else if judgement.is_final() && self.options.runs == Runs::Auto {
            Next::Decided
        } else {
            Next::Continue
        }
    }

    fn standing(&self, runs: &[Played]) -> Option<String> {
        report::verdict::standing(&judged(&self.sides(runs), self.rules, self.looks), self.looks)
    }
}

/// The verdict, by what calibrations say of these servers.
fn judged(sides: &Sides, rules: &Rules, looks: &Schedule) -> Judgement {
    judge_calibrated(sides, rules, looks, &calibrations::for_sides(sides))
}

/// Adds the baseline's runs to the calibrations if the settings of its lens were in force.
fn keep_baseline(sides: &Sides, looks: &Schedule, options: &cli::Gate) -> anyhow::Result<()> {
    require_settings(sides)?;
    if let Some(baseline) = &sides.baseline {
        super::calibrate::add_baseline(baseline, looks, options.voice.quiet);
    }
    Ok(())
}

/// Plays the runs, says where their records are, and how the worst of them ended. No runs if a server was refused.
fn play(campaign: &Campaign<'_>, interrupt: &Interrupt) -> anyhow::Result<(Option<Vec<Played>>, Exit)> {
    let outcomes = super::block_on(async {
        interrupt.heed();
        campaign.play(interrupt).await
    })?;
    super::tell_records(campaign.out, None, campaign.talk, &outcomes);
    let Outcomes {
        runs,
        exit,
        failed,
        is_refused,
    } = outcomes;
    if is_refused {
        return Ok((None, exit));
    }
    failed.map_or(Ok((Some(runs), exit)), Err)
}

fn judge_records(options: &cli::Gate) -> anyhow::Result<u8> {
    let looks = looks(options)?;
    let sides = recorded(options)?;
    require_settings(&sides)?;
    let lenses = common(&sides)?;
    require_one_allocator(sides.runs().map(lens_of).filter(|(lens, _)| lenses.contains(lens)))?;
    let context = GateContext {
        is_alone: sides.baseline.is_none(),
        ..played(options, &sides.runs().collect::<Vec<&Played>>(), lenses)
    };
    let rules = rules(options, &context)?;
    let judgement = judged(&sides, &rules, &looks);
    let next = match options.from.as_slice() {
        [out] => after_verdict(&judgement, &looks, &sides, out),
        _ => None,
    };
    let verdict = Verdict {
        sides: &sides,
        judgement: &judgement,
        notes: &unseen_settings(&sides),
        next,
    };
    report_verdict(
        options,
        &verdict,
        exports::targets(options.format, &options.exports, None)?,
        None,
    )
}

/// Every look there will be; a number of runs that was fixed beforehand has all of α.
fn looks(options: &cli::Gate) -> anyhow::Result<Schedule> {
    let auto = &options.looks.0;
    match options.runs {
        Runs::Auto => Ok(auto.clone()),
        Runs::Fixed(runs) => Schedule::once(runs as usize, auto.alpha()).context("in `--runs`"),
    }
}

fn repeating(options: &cli::Gate) -> Repeating {
    Repeating {
        runs: Some(options.runs),
        looks: options.looks.clone(),
        time_budget: options.time_budget,
        partition: None,
        baseline: None,
        warm_ups: None,
    }
}
