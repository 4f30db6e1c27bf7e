//! What `gate` was asked for: the sides, how they are judged, and what is printed.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::campaign::Repeating;
use crate::campaign::invocation::Invocation;
use crate::cli::{self, Command, Gate, Inconclusive};
use crate::commands::lenses::servers_per_lens;
use crate::commands::plan::{CampaignPlan, OutputPlan};
use crate::commands::prepare;
use crate::commands::resume::Place;
use crate::config::values::{Lenses, Runs};
use crate::config::{GateContext, Loaded};
use crate::resolve::ServerChoice;
use analysis::compare::{Played, Weight};
use analysis::figures::Rules;
use analysis::gate::{Role, Sides};
use base::exit::Exit;
use stats::Schedule;

use super::records::{Named, NamedSides, recorded};
use super::sides::{NO_FIRST_BASELINE, common, lens_of, require_one_allocator, require_settings, server_texts};
use super::{anchor, rules};

/// How sides are judged.
pub struct JudgePlan {
    pub rules: Rules,
    pub looks: Schedule,
    /// The least difference between circumstances for which a verdict is refused.
    pub refused: Weight,
}

/// A gate that can begin.
pub struct GatePlan {
    pub scenario: Loaded,
    /// Each driven server through each lens that decides.
    pub choices: Vec<ServerChoice>,
    /// Labels of baseline, candidate and a driven anchor.
    pub labels: Vec<String>,
    /// True if there is no baseline.
    pub is_alone: bool,
    /// Runs of an anchor that was measured before.
    pub anchor: Option<Vec<Played>>,
    pub repeating: Repeating,
    pub judging: JudgePlan,
    pub notes: Vec<String>,
    pub campaign: CampaignPlan,
}

impl GatePlan {
    /// The gate of the command line, or every mistake in it. Nothing was started yet.
    pub fn from_typed(options: &Gate, place: &Place) -> anyhow::Result<GatePlan> {
        let campaign = CampaignPlan::from_typed("gate", &options.processors, &options.measuring, options.voice)?;
        let looks = schedule(options)?;
        let (servers, recorded_anchor) = typed_sides(options)?;
        let (mut scenarios, choices) = prepare::understand(&prepare::TypedCommand {
            scenarios: options.scenario.as_slice(),
            options: &options.scenario_options,
            servers: &servers,
            extras: &options.extra,
            lenses: options.lens.unwrap_or(Lenses::AsShipped),
            out: place.new_directory(),
            only_checks: false,
        })?;
        let scenario = scenarios.pop().context("a gate takes one scenario: name it")?;
        let labels = labels(&choices, servers.len())?;
        let (mut choices, mut notes) = servers_per_lens(options.lens, choices);
        let typed = GateContext {
            is_shared: campaign.jobs.at_once().is_some(),
            ..typed_context(options)
        };
        let context = rules::planned(typed, &scenario, &choices, options.lens.is_some());
        let judging = judging(options, &context, looks)?;
        // What decides nothing is not played, unless it was asked for.
        let used = judging.rules.lenses();
        choices.retain(|choice| options.lens.is_some() || used.contains(&choice.lens.lens));
        notes.extend(prepare::quiet_purge(&choices, &scenario));
        if let Some(recorded_anchor) = &recorded_anchor {
            anchor::require_comparable(recorded_anchor, &scenario, &choices, &campaign, &judging)?;
        }
        Ok(GatePlan {
            scenario,
            choices,
            labels,
            is_alone: options.baseline.is_none(),
            anchor: recorded_anchor,
            repeating: Repeating {
                runs: Some(options.runs),
                looks: options.looks.0.clone(),
                time_budget: options.time_budget,
                ..Repeating::default()
            },
            judging,
            notes,
            campaign,
        })
    }
}

/// The servers to drive, and the runs of an anchor that was measured before.
fn typed_sides(options: &Gate) -> anyhow::Result<(Vec<String>, Option<Vec<Played>>)> {
    if options.extra.preload.len() > 1 {
        let cure = "name one for all sides, or compare them with `lsp-soak run --preload`";
        bail!("a gate compares servers under one allocator, and --preload names several: {cure}");
    }
    if options.anchor.is_some() && options.baseline.is_none() {
        bail!("{NO_FIRST_BASELINE}");
    }
    let anchor = options.anchor.as_deref();
    let recorded_anchor = anchor.and_then(Named::parse).map(Named::read).transpose()?;
    let sides = [
        (Role::Baseline, options.baseline.as_deref()),
        (Role::Candidate, options.candidate.as_deref()),
        (Role::Anchor, if recorded_anchor.is_none() { anchor } else { None }),
    ];
    Ok((server_texts(&sides, options.extra.preload.first()), recorded_anchor))
}

/// The sides of the records that were named, and how they are judged.
pub fn recorded_sides(options: &Gate) -> anyhow::Result<(Sides, JudgePlan)> {
    let looks = schedule(options)?;
    let holding = &options.holding;
    let named = NamedSides {
        baseline: options.baseline.as_deref(),
        candidate: options.candidate.as_deref(),
        anchor: options.anchor.as_deref(),
    };
    let has_limits = !holding.budgets.is_empty() || holding.gate.is_some();
    let sides = recorded(&options.from, &named, has_limits)?;
    require_settings(&sides)?;
    let lenses = common(&sides)?;
    require_one_allocator(sides.runs().map(lens_of).filter(|(lens, _)| lenses.contains(lens)))?;
    let runs: Vec<&Played> = sides.runs().collect();
    let context = GateContext {
        // Records may have a baseline that was not named.
        is_alone: sides.baseline.is_none(),
        ..rules::played(typed_context(options), &runs, lenses)
    };
    Ok((sides, judging(options, &context, looks)?))
}

/// What is printed of a verdict, and the exit code of an open one.
pub struct TellPlan {
    pub output: OutputPlan,
    pub inconclusive: Exit,
}

impl TellPlan {
    pub fn from_typed(options: &Gate) -> anyhow::Result<TellPlan> {
        Ok(TellPlan {
            output: OutputPlan::from_typed(options.format, &options.exports, None, options.voice)?,
            inconclusive: match options.holding.inconclusive {
                None => Exit::Inconclusive,
                Some(Inconclusive::Pass) => Exit::Passed,
                Some(Inconclusive::Fail) => Exit::GateFailed,
            },
        })
    }
}

/// A gate as it was typed when it began.
pub struct Begun {
    pub scenario: Option<PathBuf>,
    /// Baseline, candidate and a driven anchor.
    pub servers: [Option<String>; 3],
    pub runs: Runs,
}

impl Begun {
    /// The gate that began in this directory; `None` where none did.
    pub fn read(out: &Path) -> Option<Begun> {
        let called = Invocation::read(out).ok()?;
        let Command::Gate(options) = cli::parse_extended(called.command_line).ok()?.command else {
            return None;
        };
        let anchor = options.anchor.filter(|anchor| Named::parse(anchor).is_none());
        Some(Begun {
            scenario: options.scenario,
            servers: [options.baseline, options.candidate, anchor],
            runs: options.runs,
        })
    }
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

/// Every look there will be; a number of runs that was fixed beforehand has all of α.
fn schedule(options: &Gate) -> anyhow::Result<Schedule> {
    let auto = &options.looks.0;
    match options.runs {
        Runs::Auto => Ok(auto.clone()),
        Runs::Fixed(runs) => Schedule::single_look(runs as usize, auto.alpha()).context("in `--runs`"),
    }
}

/// The rules that the command line sets.
fn typed_context(options: &Gate) -> GateContext {
    let holding = &options.holding;
    GateContext {
        tol: holding.tol,
        fail: holding.fail,
        floor: holding.floor,
        budgets: holding.budgets.clone(),
        is_alone: options.baseline.is_none(),
        ..GateContext::default()
    }
}

/// The rules of these names, or every mistake in them.
fn judging(options: &Gate, context: &GateContext, looks: Schedule) -> anyhow::Result<JudgePlan> {
    Ok(JudgePlan {
        rules: rules::rules(context, options.holding.gate.as_deref())?,
        looks,
        refused: if options.holding.allow_different_hosts {
            Weight::Measurement
        } else {
            Weight::Host
        },
    })
}
