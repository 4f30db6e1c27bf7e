//! Plays all runs of one scenario in the order of the plan. Each record is on disk before the next run begins.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::config::values::Runs;
use crate::config::{Loaded, as_file_name};
use crate::plan::{self, Blocks};
use crate::progress::{self, Course, Progress, RunPlace, Verbosity};
use crate::resolve::ServerChoice;
use crate::soak::Interrupt;
use analysis::compare::Played;
use analysis::summary;
use base::exit::Exit;
use base::lens::Lens;
use record::{Ending, PlanFacts};
use report::run;

use super::earlier_runs::{self, EarlierRuns};
use super::header::Measuring;
use super::invocation::Invocation;
use super::jobs::Jobs;
use super::judge::{Judge, Next};
use super::probe::Answered;
use super::repeating::Repeating;
use super::single::Outcome;
use super::{forecast, header};

pub struct Campaign<'c> {
    pub scenario: &'c Loaded,
    /// Each server once per lens.
    pub choices: &'c [ServerChoice],
    pub out: &'c Path,
    pub repeating: &'c Repeating,
    pub measuring: Measuring,
    pub talk: Verbosity,
    pub judge: &'c dyn Judge,
    /// True if each server is a cell of a sweep: cells may be eliminated, and the failure of one does not end the others.
    pub is_sweep: bool,
    pub jobs: Jobs,
    /// Options that a calibration of these servers has too, as they are typed.
    pub calibration_options: &'c str,
}

/// One run of the plan, about to be played.
pub(super) struct Turn<'o> {
    pub planned: plan::PlannedRun,
    pub place: RunPlace,
    pub progress: &'o Progress,
}

#[derive(Debug)]
pub struct Outcomes {
    /// Runs with a record, in their order.
    pub runs: Vec<Played>,
    pub exit: Exit,
    /// The error that prevented the remaining runs.
    pub failed: Option<anyhow::Error>,
    /// True if nothing was played, because a server lacks what the scenario needs or was not asked to the end. The reason
    /// was printed.
    pub is_refused: bool,
}

impl Default for Outcomes {
    /// Nothing was played yet.
    fn default() -> Outcomes {
        Outcomes {
            runs: Vec::new(),
            exit: Exit::Passed,
            failed: None,
            is_refused: false,
        }
    }
}

impl Outcomes {
    /// The exit code, or the error that prevented the remaining runs.
    pub fn code(self) -> anyhow::Result<u8> {
        self.failed.map_or(Ok(self.exit.code()), Err)
    }
}

impl Campaign<'_> {
    /// The runs that this machine plays, unless the campaign ends early.
    pub fn plan(&self) -> Vec<plan::PlannedRun> {
        self.repeating.planned_runs(self.choices, self.scenario.scenario.seed())
    }

    /// Plays the plan until it ends, the answer is known, the time is up, or the user interrupts.
    pub async fn play(&self, interrupt: &Interrupt) -> anyhow::Result<Outcomes> {
        if let Jobs::Of { run, .. } = self.jobs {
            return self.job(run, interrupt).await;
        }
        let mut outcomes = Outcomes::default();
        let plan = self.plan();
        let shown = Progress::show(self.course(plan.iter().map(|run| run.server).collect()), self.talk);
        let mut before = EarlierRuns::default();
        match self.ask_servers(&before.copy, interrupt).await? {
            Answered::Able => {}
            Answered::Refused(exit) => {
                (outcomes.exit, outcomes.is_refused) = (exit, true);
                return Ok(outcomes);
            }
            Answered::Fails(server) => {
                let failed = self.first_run_of(server, &plan, shown.progress(), interrupt).await?;
                if failed.exit != Exit::Passed || failed.failed.is_some() {
                    return Ok(failed);
                }
                // It started this time. Its run is found again in its block.
            }
        }
        if self.is_auto() && self.judge.is_decided_without_runs() {
            return Ok(outcomes);
        }
        let mut clock = Clock::start(self.repeating.time_budget.map(|span| span.0));
        let mut eliminated = BTreeMap::new();
        let mut next = Next::Continue;
        for batch in plan::batches(&plan, self.jobs.at_once().unwrap_or(1), &self.ends()) {
            match next {
                Next::Continue => {}
                Next::Decided | Next::Hopeless => break,
                Next::WithoutCells(now) => {
                    self.say_eliminated(&now, &eliminated);
                    eliminated = now;
                }
            }
            let batch = self.remaining(batch, &eliminated);
            if batch.is_empty() || !clock.has_time(batch.len()) {
                break;
            }
            let state = (&mut outcomes, &mut before);
            let exit = self.batch((&plan, &batch), shown.progress(), interrupt, state).await?;
            let is_warm_up = batch[0].warm_up;
            // A failure in the warm-up run would repeat in every run.
            let is_over = exit == Exit::Interrupted
                || outcomes.failed.is_some()
                || (is_warm_up && outcomes.exit != Exit::Passed)
                || self.ends_with(&outcomes.runs);
            if is_over {
                return Ok(outcomes);
            }
            clock.lap(before.took, batch.len());
            next = self.judge.after_block(&outcomes.runs);
            if self.talk != Verbosity::Quiet && !matches!(next, Next::Hopeless) {
                self.say_after_block(is_warm_up, &outcomes.runs, &clock);
            }
        }
        Ok(outcomes)
    }

    fn say_after_block(&self, is_warm_up: bool, runs: &[Played], clock: &Clock) {
        if is_warm_up {
            let sentences = match self.judge.time_forecast(clock.longest) {
                Some(sentences) => sentences,
                None => forecast::sentences(self, runs, clock.fitting(self.choices.len())),
            };
            for sentence in sentences {
                progress::say(&sentence);
            }
        } else if self.is_auto()
            && let Some(sentence) = self.judge.verdict_so_far(runs)
        {
            progress::say(&sentence);
        }
    }

    fn is_auto(&self) -> bool {
        self.repeating.runs == Some(Runs::Auto)
    }

    /// Plays the first run of a server that failed to start, so that a report of it is made before any other run.
    async fn first_run_of(
        &self,
        server: usize,
        plan: &[plan::PlannedRun],
        progress: &Progress,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Outcomes> {
        let first: Vec<plan::PlannedRun> = plan
            .iter()
            .copied()
            .filter(|run| run.server == server)
            .take(1)
            .collect();
        let mut outcomes = Outcomes::default();
        let mut before = EarlierRuns::default();
        self.batch((plan, &first), progress, interrupt, (&mut outcomes, &mut before))
            .await?;
        Ok(outcomes)
    }

    /// Plays the runs of a batch until one is interrupted or cannot be played.
    async fn batch(
        &self,
        (plan, batch): (&[plan::PlannedRun], &[plan::PlannedRun]),
        progress: &Progress,
        interrupt: &Interrupt,
        (outcomes, before): (&mut Outcomes, &mut EarlierRuns),
    ) -> anyhow::Result<Exit> {
        if let Jobs::Beside { command, shares } = &self.jobs {
            let runs = (plan, batch);
            let exit = self
                .play_batch((command, shares), runs, progress, interrupt, (&mut *outcomes, before))
                .await?;
            outcomes.exit = outcomes.exit.worse(exit);
            return Ok(exit);
        }
        for planned in batch {
            let turn = Turn {
                planned: *planned,
                place: self.place(plan, *planned),
                progress,
            };
            let exit = self.run(&turn, interrupt, outcomes, before).await?;
            outcomes.exit = outcomes.exit.worse(exit);
            if exit == Exit::Interrupted || outcomes.failed.is_some() || self.ends_with(&outcomes.runs) {
                return Ok(exit);
            }
        }
        Ok(Exit::Passed)
    }

    /// True if a command of these runs failed, which in a comparison of commands ends all of them, as in hyperfine.
    pub(super) fn ends_with(&self, runs: &[Played]) -> bool {
        !self.is_sweep && failed_command(runs).is_some()
    }

    /// Says which cells of `now` are eliminated that were not `before`.
    fn say_eliminated(&self, now: &BTreeMap<String, String>, before: &BTreeMap<String, String>) {
        if self.talk == Verbosity::Quiet {
            return;
        }
        for (label, why) in now {
            if !before.contains_key(label) {
                progress::say(&format!("{label} is eliminated: {why}"));
            }
        }
    }

    /// The runs of a batch without those of eliminated cells; none if only the default or only others would be left.
    fn remaining(&self, batch: &[plan::PlannedRun], eliminated: &BTreeMap<String, String>) -> Vec<plan::PlannedRun> {
        if !self.is_sweep || batch[0].warm_up {
            return batch.to_vec();
        }
        let mut remaining = batch.to_vec();
        remaining.retain(|run| !eliminated.contains_key(&self.choices[run.server].label));
        let has_default = remaining.iter().any(|run| run.server == 0);
        if has_default && remaining.len() > 1 {
            remaining
        } else {
            Vec::new()
        }
    }

    /// The course of these runs, for the progress display.
    pub(super) fn course(&self, runs: Vec<usize>) -> Course {
        let Loaded { scenario, project, .. } = self.scenario;
        let first = header::scenario_as_played(scenario, &self.choices[0]);
        Course {
            scenario: scenario.name.clone(),
            outline: plan::outline(&first, project.files.len() as u64),
            runs,
            budget: self.repeating.time_budget.map(|span| span.0),
        }
    }

    /// The name of a run among several. A plan that may end early only bounds their number, so it shows no total.
    pub(super) fn place(&self, plan: &[plan::PlannedRun], planned: plan::PlannedRun) -> RunPlace {
        let bounded = self.repeating.time_budget.is_some() || self.is_auto() || self.is_sweep;
        let number = planned.number;
        RunPlace {
            number: 1 + plan.iter().take_while(|run| run.number != number).count(),
            name: match plan.len() {
                1 => String::new(),
                _ if bounded => format!("run {number}"),
                all => format!("run {number} of {all}"),
            },
            server: planned.server,
            label: title(&self.choices[planned.server]),
        }
    }

    /// Plays one run, unless its record exists.
    pub(super) async fn run(
        &self,
        turn: &Turn<'_>,
        interrupt: &Interrupt,
        outcomes: &mut Outcomes,
        before: &mut EarlierRuns,
    ) -> anyhow::Result<Exit> {
        let Turn {
            planned,
            place,
            progress,
        } = turn;
        let choice = &self.choices[planned.server];
        let path = self.path(*planned);
        if let Some(played) = earlier_runs::complete_run(&path, self.scenario, choice.cell.as_ref())? {
            let exit = summary::exit_of_run(&played.summary);
            before.add(&played);
            progress.played(planned.server, Duration::from_nanos(played.summary.duration));
            outcomes.runs.push(played);
            return Ok(exit);
        }
        progress.begin(place);
        let outcome = self.prepared(turn, before).record(&path, interrupt).await;
        progress.end(matches!(outcome, Ok(Outcome::Played)));
        match outcome? {
            Outcome::Played => {}
            Outcome::Failed(error) => {
                // Without a record the error is the whole message.
                outcomes.runs.extend(super::read_played(&path));
                outcomes.failed = Some(error);
                return Ok(Exit::OwnFailure);
            }
            Outcome::CalledOff => {
                progress::say(&called_off(&place.name));
                return Ok(Exit::Interrupted);
            }
        }
        let played = super::read_played(&path)?;
        let exit = summary::exit_of_run(&played.summary);
        if !place.name.is_empty() && self.talk != Verbosity::Quiet {
            progress::say(&format!("{}, {}", place.name, run::one_line(&played.summary)));
        }
        outcomes.runs.push(played);
        Ok(exit)
    }

    /// Blocks after which no other may have begun. After each of a sweep settings may stop.
    fn ends(&self) -> Vec<u32> {
        match self.repeating.runs {
            Some(Runs::Fixed(most)) if self.is_sweep => (1..=most).collect(),
            _ => self.looks(),
        }
    }

    /// The interim analyses of `--runs auto`; empty otherwise.
    fn looks(&self) -> Vec<u32> {
        if !self.is_auto() {
            return Vec::new();
        }
        self.repeating.looks.runs().iter().map(|runs| *runs as u32).collect()
    }

    /// How it was called: of a resumed campaign the first call, which can be made again.
    pub(super) fn called(&self) -> Option<Vec<OsString>> {
        // The campaigns of a bisection lie below its directory.
        let above = || Invocation::read(self.out.parent().unwrap_or(self.out));
        Some(Invocation::read(self.out).or_else(|_| above()).ok()?.command_line)
    }

    fn prepared(&self, turn: &Turn<'_>, before: &EarlierRuns) -> header::RunSetup {
        let choice = &self.choices[turn.planned.server];
        header::RunSetup {
            called: self.called(),
            loaded: self.scenario.clone(),
            choice: choice.clone(),
            plan: PlanFacts {
                run: turn.planned.number,
                block: turn.planned.block,
                warm_up: turn.planned.warm_up,
                partition: self.repeating.partition.map(|part| part.to_string()),
                traced: None,
                looks: self.looks(),
                cell: choice.cell.clone(),
                jobs: self.jobs.at_once(),
            },
            before: before.first(choice).cloned(),
            measuring: self.measuring,
            tracer: None,
            probe: false,
            copy: before.copy.clone(),
            progress: turn.progress.clone(),
        }
    }
}

/// The first server of each program. A warm-up fills the machine's caches, whatever the settings and the lens.
pub(super) fn programs(choices: &[ServerChoice]) -> Vec<usize> {
    let mut first: Vec<usize> = Vec::new();
    for (server, choice) in choices.iter().enumerate() {
        // One interpreter may run servers of several profiles.
        let is_known = first.iter().any(|other| {
            let other = &choices[*other];
            (&other.program, &other.profile_name) == (&choice.program, &choice.profile_name)
        });
        if !is_known {
            first.push(server);
        }
    }
    first
}

/// The first run of a command that ended with a code that is not accepted.
pub fn failed_command(runs: &[Played]) -> Option<&Played> {
    runs.iter().find(|run| {
        run.summary.lifecycle.command.is_some() && matches!(run.summary.ending, Some(Ending::Crashed { .. }))
    })
}

/// The name of a server's files. The label of a command is its text, which need not be a file name.
pub(super) fn file_name(choice: &ServerChoice) -> String {
    through_lens(as_file_name(&choice.label), choice)
}

/// A server's name in the display of progress.
pub(super) fn title(choice: &ServerChoice) -> String {
    through_lens(choice.label.clone(), choice)
}

/// The usual lens adds nothing to a name.
fn through_lens(name: String, choice: &ServerChoice) -> String {
    match choice.lens.lens {
        Lens::AsShipped => name,
        Lens::Purged => format!("{name}-purged"),
    }
}

pub fn called_off(place: &str) -> String {
    match place {
        "" => "interrupted before the server started; nothing was recorded".to_owned(),
        run => format!("interrupted before the server of {run} started; that run has no record"),
    }
}

/// Measures runs, to tell if another block fits into the time budget.
struct Clock {
    began: Instant,
    budget: Option<Duration>,
    lap: Instant,
    /// Time per run in the slowest block.
    longest: Duration,
    /// Time of the runs from before a resume.
    before: Duration,
}

impl Clock {
    fn start(budget: Option<Duration>) -> Clock {
        Clock {
            began: Instant::now(),
            budget,
            lap: Instant::now(),
            longest: Duration::ZERO,
            before: Duration::ZERO,
        }
    }

    /// Ends a block of `runs`. `before` is the total time of the existing runs so far, which take no time now.
    fn lap(&mut self, before: Duration, runs: usize) {
        let block = self.lap.elapsed() + before.saturating_sub(self.before);
        self.longest = self.longest.max(block / count(runs));
        self.before = before;
        self.lap = Instant::now();
    }

    fn used(&self) -> Duration {
        self.began.elapsed() + self.before
    }

    /// How many blocks of `runs` fit at the slowest speed; `None` without a budget.
    fn fitting(&self, runs: usize) -> Option<u32> {
        let remaining = self.budget?.saturating_sub(self.used());
        Some(Blocks::fitting(remaining, self.longest * count(runs), false))
    }

    /// True if a block of `runs` fits at the slowest speed. The first block is always played: by it the others are measured.
    fn has_time(&self, runs: usize) -> bool {
        match self.budget {
            Some(budget) if !self.longest.is_zero() => self.used() + self.longest * count(runs) <= budget,
            _ => true,
        }
    }
}

/// The number of runs as a factor, at least 1.
fn count(runs: usize) -> u32 {
    u32::try_from(runs).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_were_played_before_have_used_their_time() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let mut clock = Clock::start(Some(minutes(10)));
        clock.lap(minutes(2), 2);
        // Eight minutes remain, minus the time of this test; a block takes two.
        assert_eq!(clock.fitting(2), Some(3));
        clock.lap(minutes(4), 2);
        assert_eq!(clock.fitting(2), Some(2));
        assert!(clock.has_time(2));
        clock.lap(minutes(9), 2);
        assert!(!clock.has_time(2), "five minutes do not fit into one");
        assert_eq!(Clock::start(None).fitting(2), None);
    }

    #[test]
    fn the_first_block_is_played_whatever_the_budget() {
        let mut clock = Clock::start(Some(Duration::ZERO));
        assert!(clock.has_time(2));
        clock.lap(Duration::from_secs(1), 2);
        assert!(!clock.has_time(1));
    }

    #[test]
    fn a_smaller_block_takes_less_of_the_time() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let mut clock = Clock::start(Some(minutes(10)));
        clock.lap(minutes(8), 8);
        assert!(!clock.has_time(2) && clock.has_time(1));
        assert_eq!((clock.fitting(2), clock.fitting(1)), (Some(0), Some(1)));
    }
}
