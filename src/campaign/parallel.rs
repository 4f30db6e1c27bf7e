//! Runs at once. Each is played by a process of its own, on its own processors: lsp-soak adopts the orphans of one server only,
//! and what it needs itself disturbs no other run.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, anyhow};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::config::values::{CpuList, Job};
use crate::plan;
use crate::progress::{self, Progress, RunPlace, Verbosity};
use crate::soak::Interrupt;
use analysis::compare::Played;
use analysis::summary;
use base::exit::Exit;
use proctree::child;
use report::run;

use super::blocks::{Campaign, Outcomes, Turn, called_off, file_name};
use super::earlier_runs::{self, EarlierRuns};
use super::read_played;

/// The end of a process that played a run.
struct Ended {
    run: plan::PlannedRun,
    share: usize,
    /// Its status and the text of its stderr.
    how: io::Result<(ExitStatus, String)>,
}

impl Campaign<'_> {
    /// Plays the runs of a batch, and waits for all of them.
    pub(super) async fn play_batch(
        &self,
        (command, shares): (&str, &[Vec<usize>]),
        (plan, batch): (&[plan::PlannedRun], &[plan::PlannedRun]),
        progress: &Progress,
        interrupt: &Interrupt,
        (outcomes, before): (&mut Outcomes, &mut EarlierRuns),
    ) -> anyhow::Result<Exit> {
        let mut ended: Vec<Played> = Vec::new();
        let mut waiting = Vec::new();
        for planned in batch {
            let cell = self.choices[planned.server].cell.as_ref();
            match earlier_runs::complete_run(&self.path(*planned), self.scenario, cell)? {
                Some(played) => {
                    before.add(&played);
                    progress.played(planned.server, Duration::from_nanos(played.summary.duration));
                    ended.push(played);
                }
                None => waiting.push(*planned),
            }
        }
        let _running = interrupt.running();
        match waiting.as_slice() {
            [] => {}
            [only] => progress.begin(&self.place(plan, *only)),
            [first, .., last] => progress.begin(&self.together(plan, *first, *last)),
        }
        let mut worst = Exit::Passed;
        let mut waiting = waiting.into_iter();
        let mut free: Vec<usize> = (0..shares.len()).rev().collect();
        let mut playing = FuturesUnordered::new();
        loop {
            let goes_on = outcomes.failed.is_none() && !interrupt.is_pressed(1) && !self.ends_with(&ended);
            // A run is taken only when there is a share for it.
            while goes_on && !free.is_empty() {
                let Some((planned, share)) = waiting.next().zip(free.pop()) else {
                    break;
                };
                playing.push(self.process(command, planned, (share, &shares[share]), interrupt));
            }
            let Some(one) = playing.next().await else { break };
            free.push(one.share);
            let place = self.place(plan, one.run);
            let (exit, played) = self.ended(one, &place, interrupt, outcomes);
            worst = worst.worse(exit);
            if let Some(played) = &played {
                let took = Duration::from_nanos(played.summary.duration);
                progress.played_elsewhere(place.server, took / shares.len() as u32);
                if self.talk != Verbosity::Quiet {
                    progress::say(&format!("{}, {}", place.name, run::one_line(&played.summary)));
                }
            }
            ended.extend(played);
        }
        progress.end(false);
        ended.sort_by_key(|played| played.summary.header.plan.run);
        let of_ended = ended.iter().map(|played| summary::exit_of_run(&played.summary));
        let worst = of_ended.fold(worst, Exit::worse);
        outcomes.runs.extend(ended);
        Ok(if interrupt.is_pressed(1) {
            worst.worse(Exit::Interrupted)
        } else {
            worst
        })
    }

    /// Several runs, as the display names them.
    fn together(&self, plan: &[plan::PlannedRun], first: plan::PlannedRun, last: plan::PlannedRun) -> RunPlace {
        let place = self.place(plan, first);
        let (one, all) = (
            format!("run {}", first.number),
            format!("runs {} to {}", first.number, last.number),
        );
        RunPlace {
            name: place.name.replacen(&one, &all, 1),
            label: String::new(),
            ..place
        }
    }

    /// The record that a process left, and how its run ended. What prevented it goes into `outcomes`.
    fn ended(
        &self,
        ended: Ended,
        place: &RunPlace,
        interrupt: &Interrupt,
        outcomes: &mut Outcomes,
    ) -> (Exit, Option<Played>) {
        let path = self.path(ended.run);
        let found = if path.exists() { Some(read_played(&path)) } else { None };
        let failure = match ended.how {
            Err(error) => Some(anyhow!(error).context("cannot start lsp-soak for a run")),
            Ok((status, said)) => {
                let is_ours = match status.code() {
                    Some(code) => code == i32::from(Exit::OwnFailure.code()) || found.is_none(),
                    None => true,
                };
                let said = said.trim().trim_start_matches("error: ").to_owned();
                let how = if said.is_empty() { status.to_string() } else { said };
                if is_ours {
                    Some(anyhow!("{}: {how}", place.name))
                } else {
                    None
                }
            }
        };
        if failure.is_some() && found.is_none() && interrupt.is_pressed(1) {
            progress::say(&called_off(&place.name));
            return (Exit::Interrupted, None);
        }
        let (found, unread) = match found.transpose() {
            Ok(found) => (found, None),
            Err(error) => (None, Some(error)),
        };
        let failed = failure.or(unread);
        let exit = match (&failed, &found) {
            (Some(_), _) | (None, None) => Exit::OwnFailure,
            (None, Some(found)) => summary::exit_of_run(&found.summary),
        };
        outcomes.failed = outcomes.failed.take().or(failed);
        (exit, found)
    }

    /// Plays a run in another process, which is interrupted as often as this one.
    async fn process(
        &self,
        command: &str,
        run: plan::PlannedRun,
        (share, cpus): (usize, &[usize]),
        interrupt: &Interrupt,
    ) -> Ended {
        let job = Job {
            run: run.number,
            cpus: CpuList(cpus.to_vec()),
        };
        let play = async {
            let mut process = tokio::process::Command::new(std::env::current_exe()?);
            process.arg(command).arg("--resume").arg(self.out);
            process.args(["--quiet".to_owned(), format!("--job={job}")]);
            process.env("NO_COLOR", "1").kill_on_drop(true);
            process
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            #[cfg(unix)]
            child::tie(process.as_std_mut());
            let (process, awaited) = child::start(|| process.spawn(), tokio::process::Child::id)?;
            let mut output = std::pin::pin!(process.wait_with_output());
            let mut presses = 0;
            loop {
                tokio::select! {
                    output = &mut output => {
                        let output = output?;
                        return Ok((output.status, String::from_utf8_lossy(&output.stderr).into_owned()));
                    }
                    () = interrupt.pressed(presses + 1) => {
                        presses += 1;
                        child::interrupt(awaited.process());
                    }
                }
            }
        };
        Ended {
            run,
            share,
            how: play.await,
        }
    }

    /// Plays the only run of this process.
    pub(super) async fn job(&self, number: u32, interrupt: &Interrupt) -> anyhow::Result<Outcomes> {
        let plan = self.plan();
        let planned = *plan
            .iter()
            .find(|run| run.number == number)
            .with_context(|| format!("the plan has no run {number}"))?;
        let mut before = EarlierRuns::default();
        // Others of its batch are being written, but have their first line.
        let earlier = plan
            .iter()
            .filter(|run| run.block < planned.block && run.server == planned.server);
        if let Some(played) = earlier.filter_map(|run| read_played(&self.path(*run)).ok()).next() {
            before.add(&played);
        }
        let shown = Progress::show(self.course(vec![planned.server]), self.talk);
        let mut outcomes = Outcomes::default();
        let turn = Turn {
            planned,
            place: self.place(&plan, planned),
            progress: shown.progress(),
        };
        outcomes.exit = self.run(&turn, interrupt, &mut outcomes, &mut before).await?;
        Ok(outcomes)
    }

    /// The record of a run.
    pub(super) fn path(&self, planned: plan::PlannedRun) -> PathBuf {
        let label = file_name(&self.choices[planned.server]);
        self.out.join(format!("run-{:03}-{label}.jsonl", planned.number))
    }
}
