//! Asks servers before the first run whether they start and offer what the scenario needs.

use std::path::Path;
use std::time::Duration;

use crate::config::Loaded;
use crate::drive::workspace::KeptCopy;
use crate::progress::{self, Progress};
use crate::resolve::ServerChoice;
use crate::soak::Interrupt;
use analysis::compare::Played;
use analysis::summary::{Summary, exit_of_run};
use base::exit::Exit;
use record::{Ending, PlanFacts};

use super::blocks::{Campaign, programs};
use super::header::Measuring;
use super::scratch::Scratch;
use super::single::Outcome;
use super::{header, read_played};

/// What the probes of all programs of a campaign say.
pub(super) enum Answered {
    /// The campaign can be played.
    Able,
    /// Nothing is played: a server lacks what the scenario needs, or the user interrupted. The reason was printed.
    Refused(Exit),
    /// This server failed to start.
    Fails(usize),
}

/// How a probe ended.
pub enum Probed {
    /// The server was asked and shut down.
    Ended(Played),
    CalledOff,
}

/// Starts a server, sees whether it offers what the scenario needs, and shuts it down. The record in `path` has no memory
/// figures.
pub async fn probe(
    scenario: &Loaded,
    choice: &ServerChoice,
    path: &Path,
    copy: KeptCopy,
    interrupt: &Interrupt,
) -> anyhow::Result<Probed> {
    let measuring = Measuring {
        interval: Duration::from_millis(50),
        huge_pages: None,
        resets_peaks: false,
        memory_limit: None,
        allows_unsupported: false,
    };
    let run = header::RunSetup {
        called: None,
        loaded: scenario.clone(),
        choice: choice.clone(),
        plan: PlanFacts::default(),
        before: None,
        measuring,
        tracer: None,
        probe: true,
        copy,
        progress: Progress::silent(),
    };
    match run.record(path, interrupt).await? {
        Outcome::Played => Ok(Probed::Ended(read_played(path)?)),
        Outcome::Failed(error) => Err(error),
        Outcome::CalledOff => Ok(Probed::CalledOff),
    }
}

/// Names the steps that a server lacks, with a cure; `None` where it lacks none.
pub fn missing_steps(summary: &Summary, scenario: &Loaded) -> Option<String> {
    let Some(Ending::Unsupported { steps }) = &summary.ending else {
        return None;
    };
    let steps: String = steps.iter().map(|step| format!("  {step}\n")).collect();
    Some(format!(
        "`{}` lacks steps that `{}` requires:\n{steps}mark these steps `optional = true`, or run with --allow-unsupported",
        summary.header.server.label, scenario.scenario.name
    ))
}

impl Campaign<'_> {
    /// Asks each program of several, so that a comparison ends before its first warm-up if one of them cannot play the
    /// scenario. A single program answers at the start of its first run.
    pub(super) async fn ask_servers(&self, copy: &KeptCopy, interrupt: &Interrupt) -> anyhow::Result<Answered> {
        let programs = programs(self.choices);
        if programs.len() < 2 || !self.is_probed() {
            return Ok(Answered::Able);
        }
        let records = Scratch::claim("check")?;
        let mut answered = Answered::Able;
        for place in programs {
            let path = records.path().join(format!("{place}.jsonl"));
            let choice = &self.choices[place];
            let summary = match probe(self.scenario, choice, &path, copy.clone(), interrupt).await? {
                Probed::Ended(played) => played.summary,
                Probed::CalledOff => {
                    progress::say(&super::called_off(""));
                    return Ok(Answered::Refused(Exit::Interrupted));
                }
            };
            if let Some(sentence) = missing_steps(&summary, self.scenario) {
                progress::say(&format!("error: {sentence}"));
                answered = Answered::Refused(Exit::ServerFailed);
            } else if matches!(answered, Answered::Able) && exit_of_run(&summary) == Exit::ServerFailed {
                answered = Answered::Fails(place);
            }
        }
        Ok(answered)
    }

    /// True if a server that lacks a step would end this campaign, and nothing of it was played before.
    fn is_probed(&self) -> bool {
        let is_command = self.choices.iter().any(|choice| choice.command.is_some());
        let is_part = self.jobs.is_part();
        let is_begun = self.plan().iter().any(|run| self.path(*run).exists());
        !is_command && !is_part && !is_begun && !self.is_sweep && !self.measuring.allows_unsupported
    }
}
