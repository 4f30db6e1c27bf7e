//! Checks before the first run whether the planned runs can be compared with an anchor's records.

use anyhow::{Context, bail};

use crate::campaign::{Measuring, header, single};
use crate::commands::plan::CampaignPlan;
use crate::config::Loaded;
use crate::drive::workspace;
use crate::resolve::ServerChoice;
use analysis::compare::{Played, differences, is_counted};
use analysis::figures::Rules;
use base::Cancel;
use proctree::host;
use record::{Header, Settings, WorkspaceFacts};
use stats::Schedule;

use super::plan::JudgePlan;
use super::sides::{lens_of, require_one_allocator};
use super::tell;

/// Refuses an anchor that nothing could be decided by.
pub fn require_comparable(
    anchor: &[Played],
    scenario: &Loaded,
    choices: &[ServerChoice],
    campaign: &CampaignPlan,
    judging: &JudgePlan,
) -> anyhow::Result<()> {
    let planned = choices
        .iter()
        .map(|choice| (choice.lens.lens, choice.lens.allocator.as_deref()));
    require_one_allocator(planned.chain(anchor.iter().map(lens_of)))?;
    require_enough_runs(anchor, &judging.rules, &judging.looks)?;
    let first = choices.first().context("a gate has servers")?;
    let now = Header {
        host: header::restricted(host::fingerprint(), campaign.jobs.cpus_of_each()),
        ..circumstances(&campaign.measuring, scenario, first)?
    };
    let headers = anchor
        .iter()
        .filter(|run| is_counted(&run.summary))
        .map(|run| &run.summary.header)
        .chain([&now]);
    tell::refuse(&differences(headers), judging.refused)
}

/// Requires that the anchor reaches the first look through every lens that decides.
fn require_enough_runs(anchor: &[Played], rules: &Rules, looks: &Schedule) -> anyhow::Result<()> {
    let first = looks.runs().first().copied().unwrap_or(0);
    for rule in &rules.primaries {
        let lens = rule.subject.lens.unwrap_or(rules.lens);
        let through = anchor
            .iter()
            .filter(|run| is_counted(&run.summary) && lens_of(run).0 == lens);
        match through.count() {
            0 => bail!(
                "the anchor has no run that counts through the {lens} lens, which decides `{}`: record it with --lens \
                 both, or choose another lens with --lens",
                rule.subject
            ),
            runs if runs < first => bail!(
                "the anchor has {runs} of the {first} runs through the {lens} lens that the first interim analysis \
                 needs: record more, or lower --runs or --looks"
            ),
            _ => {}
        }
    }
    Ok(())
}

/// The part of a planned run's header that must be the same in all runs.
fn circumstances(measuring: &Measuring, scenario: &Loaded, choice: &ServerChoice) -> anyhow::Result<Header> {
    let project = &scenario.project;
    let pattern = project
        .pattern
        .parse()
        .context("the pattern was checked when the scenario was read")?;
    let workspace = scenario.scenario.workspace.as_ref();
    let exclude = workspace.map_or(&[][..], |workspace| &workspace.exclude);
    let selection = workspace::select(
        &project.root,
        &pattern,
        exclude,
        &project.language,
        project.largest_file.0,
        &Cancel::default(),
    )?;
    Ok(Header {
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: header::scenario(scenario, scenario.scenario.seed()),
        workspace: WorkspaceFacts {
            sha256: selection.sha256,
            origin: project.origin.clone(),
            ..WorkspaceFacts::default()
        },
        settings: Settings {
            full_decay: header::scenario_as_played(&scenario.scenario, choice).waits_for_full_decay(),
            ..header::settings(measuring, choice, single::capabilities(scenario, choice))
        },
        ..Header::default()
    })
}
