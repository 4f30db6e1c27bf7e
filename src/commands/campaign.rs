//! Every run of one scenario, in the order of the plan: each record is on disk before the next run begins.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::analyse::compare::{Played, by_target, primary};
use crate::analyse::stats::{Answer, decide_by_looks};
use crate::analyse::{self, Exit};
use crate::cli::{Measuring, Repeating, Runs};
use crate::config::{Loaded, ServerChoice};
use crate::lens::Lens;
use crate::plan::{self, Blocks, Partition};
use crate::record::PlanFacts;
use crate::report;
use crate::soak::Interrupt;

use super::single::{self, Outcome};
use super::{forecast, resume, show};

/// Runs of each server when nobody says how many and there is something to compare.
const USUAL: u32 = 5;

/// More runs than a time budget is ever used for.
const MOST: u32 = 1_000;

/// The runs of one scenario.
pub struct Campaign<'c> {
    /// The scenario and its project.
    pub scenario: &'c Loaded,
    /// The servers, once for each lens.
    pub choices: &'c [ServerChoice],
    /// Where the records go.
    pub out: &'c Path,
    /// How often.
    pub repeating: &'c Repeating,
    /// How it is measured.
    pub measuring: Measuring,
    /// No progress.
    pub quiet: bool,
    /// Whether these runs are enough, where their number is not fixed.
    pub enough: &'c dyn Fn(&[Played]) -> bool,
}

/// What came of a campaign.
pub struct Outcomes {
    /// The runs that have a record, in their order.
    pub runs: Vec<Played>,
    /// The worst that a run came to.
    pub exit: Exit,
    /// Why the rest could not be played: a failure of our own.
    pub failed: Option<anyhow::Error>,
}

impl Campaign<'_> {
    /// The runs that are planned here, if nothing ends the campaign before.
    pub fn plan(&self) -> Vec<plan::Run> {
        of_runs(self.repeating, self.choices, self.scenario.scenario.seed())
    }

    /// Plays the plan to its end, until enough is known, the time is up, or somebody interrupts.
    pub async fn play(&self, interrupt: &Interrupt) -> anyhow::Result<Outcomes> {
        let mut outcomes = Outcomes {
            runs: Vec::new(),
            exit: Exit::Passed,
            failed: None,
        };
        let plan = self.plan();
        let mut clock = Clock::start(self.repeating.time_budget.map(|span| span.0));
        for block in plan.chunk_by(|a, b| a.block == b.block) {
            let auto = self.repeating.runs == Some(Runs::Auto);
            if !clock.has_time() || (auto && (self.enough)(&outcomes.runs)) {
                break;
            }
            for planned in block {
                let exit = self.run(*planned, plan.len(), interrupt, &mut outcomes).await?;
                outcomes.exit = outcomes.exit.worse(exit);
                if exit == Exit::Interrupted || outcomes.failed.is_some() {
                    return Ok(outcomes);
                }
            }
            if block[0].warm_up && outcomes.exit != Exit::Passed {
                // What fails when it is warming up would fail every time.
                return Ok(outcomes);
            }
            clock.lap();
            if block[0].warm_up && !self.quiet {
                for sentence in forecast::sentences(self, &outcomes.runs, clock.fitting()) {
                    super::say(&sentence);
                }
            }
        }
        Ok(outcomes)
    }

    /// Plays one run, unless its record is there already.
    async fn run(
        &self,
        planned: plan::Run,
        all: usize,
        interrupt: &Interrupt,
        outcomes: &mut Outcomes,
    ) -> anyhow::Result<Exit> {
        let choice = &self.choices[planned.server];
        let path = self
            .out
            .join(format!("run-{:03}-{}.jsonl", planned.number, name(choice)));
        if let Some(played) = resume::kept(&path, self.scenario)? {
            let exit = analyse::exit(&played.summary);
            outcomes.runs.push(played);
            return Ok(exit);
        }
        let run = single::Run {
            loaded: self.scenario.clone(),
            choice: choice.clone(),
            plan: PlanFacts {
                run: planned.number,
                block: planned.block,
                warm_up: planned.warm_up,
                partition: self.repeating.partition.map(|part| part.to_string()),
            },
            measuring: self.measuring,
            probe: false,
            quiet: self.quiet,
        };
        match run.record(&path, interrupt).await? {
            Outcome::Played => {}
            Outcome::Failed(error) => {
                // Where there is not even a record, the error says all there is to say.
                outcomes.runs.extend(show::played(&path));
                outcomes.failed = Some(error);
                return Ok(Exit::OwnFailure);
            }
            Outcome::CalledOff => {
                super::say(&called_off(planned.number, all));
                return Ok(Exit::Interrupted);
            }
        }
        let played = show::played(&path)?;
        let exit = analyse::exit(&played.summary);
        if all > 1 && !self.quiet {
            super::say(&format!(
                "run {} of {all}, {}",
                planned.number,
                report::one_line(&played.summary)
            ));
        }
        outcomes.runs.push(played);
        Ok(exit)
    }
}

/// Whether `auto` has its answer: of every server it is shown, or ruled out, that it needs more than the baseline.
pub fn decided(runs: &[Played], repeating: &Repeating) -> bool {
    let scenarios = by_target(runs.to_vec(), repeating.baseline.as_deref());
    let targets = || scenarios.values().flatten();
    // Nothing is decided where nothing was compared yet, or nothing ever will be.
    targets().any(|target| target.comparison.sides.len() > 1)
        && targets().all(|target| {
            let comparison = &target.comparison;
            (1..comparison.sides.len()).all(|side| {
                let verdict = decide_by_looks(&primary(comparison, side, target.lens.name), &repeating.looks.0);
                verdict.is_ok_and(|verdict| verdict.answer != Answer::Inconclusive)
            })
        })
}

/// The runs that are asked for of these servers. The time that is given for them ends a plan of its own.
pub fn of_runs(repeating: &Repeating, choices: &[ServerChoice], seed: u64) -> Vec<plan::Run> {
    // One server under two lenses is not compared with itself.
    let lens = |choice: &&ServerChoice| choice.lens.lens == choices[0].lens.lens;
    let many = repeating.repeats(choices.iter().filter(lens).count());
    let blocks = match (repeating.runs, repeating.time_budget) {
        (Some(Runs::Fixed(runs)), _) => runs,
        (Some(Runs::Auto), _) => repeating.looks.0.runs().last().map_or(0, |runs| *runs as u32),
        (None, Some(_)) => MOST,
        (None, None) if many => USUAL,
        (None, None) => 1,
    };
    let blocks = Blocks {
        servers: choices.len(),
        blocks,
        warm_up: many,
        seed,
    };
    blocks.share(repeating.partition.unwrap_or(Partition::WHOLE))
}

/// What the files of a server are called; the usual lens needs no word.
fn name(choice: &ServerChoice) -> String {
    match choice.lens.lens {
        Lens::AsShipped => choice.label.clone(),
        Lens::Purged => format!("{}-purged", choice.label),
    }
}

/// What is said of a run that was interrupted before it began.
fn called_off(run: u32, all: usize) -> String {
    match all {
        0 | 1 => "interrupted before the server was started; nothing was recorded".to_owned(),
        all => format!("interrupted before the server of run {run} of {all} was started; it has no record"),
    }
}

/// Whether another block fits into the time that was given.
struct Clock {
    began: Instant,
    budget: Option<Duration>,
    lap: Instant,
    longest: Duration,
}

impl Clock {
    fn start(budget: Option<Duration>) -> Clock {
        Clock {
            began: Instant::now(),
            budget,
            lap: Instant::now(),
            longest: Duration::ZERO,
        }
    }

    fn lap(&mut self) {
        self.longest = self.longest.max(self.lap.elapsed());
        self.lap = Instant::now();
    }

    /// How many blocks as long as the longest still fit; `None` without a budget.
    fn fitting(&self) -> Option<u32> {
        let left = self.budget?.saturating_sub(self.began.elapsed());
        Some(Blocks::fitting(left, self.longest, false))
    }

    fn has_time(&self) -> bool {
        self.budget
            .is_none_or(|budget| self.began.elapsed() + self.longest <= budget)
    }
}
