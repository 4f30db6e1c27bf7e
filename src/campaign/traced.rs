//! `--trace-syscalls`: one more run of each server, for its memory calls alone.

use crate::drive::workspace::KeptCopy;
use crate::progress::{self, Progress, RunPlace, Verbosity};
use crate::resolve::{ServerChoice, which};
use crate::soak::Interrupt;
use crate::trace::{Tracer, Untraceable};
use analysis::summary;
use base::exit::Exit;
use record::PlanFacts;

use super::blocks::{Campaign, Outcomes, called_off, file_name, title};
use super::scratch::Scratch;
use super::single::Outcome;
use super::{earlier_runs, header, read_played};

pub fn tracer() -> anyhow::Result<Result<Tracer, Untraceable>> {
    let scratch = Scratch::claim("tracer")?;
    Ok(Tracer::probe(which(None).program("strace"), scratch.path()))
}

impl Campaign<'_> {
    /// Plays the scenario once more with every server, traced, unless the campaign has failed. A traced server is
    /// slow, so a failure here does not change the campaign's result.
    /// Nothing without a tracer.
    pub async fn trace(
        &self,
        tracer: Option<&Tracer>,
        interrupt: &Interrupt,
        outcomes: &mut Outcomes,
    ) -> anyhow::Result<()> {
        match tracer {
            Some(tracer) => self.trace_with(tracer, interrupt, outcomes).await,
            None => Ok(()),
        }
    }

    async fn trace_with(&self, tracer: &Tracer, interrupt: &Interrupt, outcomes: &mut Outcomes) -> anyhow::Result<()> {
        let shown = Progress::show(self.course((0..self.choices.len()).collect()), self.talk);
        for ((server, choice), number) in self.choices.iter().enumerate().zip(self.plan().len() as u32 + 1..) {
            let is_over = outcomes.failed.is_some() || self.ends_with(&outcomes.runs);
            if is_over || outcomes.exit == Exit::Interrupted {
                return Ok(());
            }
            let path = self.out.join(format!("traced-{}.jsonl", file_name(choice)));
            if let Some(played) = earlier_runs::complete_run(&path, self.scenario, choice.cell.as_ref())? {
                outcomes.runs.push(played);
                continue;
            }
            let run = self.traced(number, choice, tracer, shown.progress());
            shown.progress().begin(&RunPlace {
                number: server + 1,
                name: "traced run".to_owned(),
                server,
                label: title(choice),
            });
            let outcome = run.record(&path, interrupt).await;
            shown.progress().end(matches!(outcome, Ok(Outcome::Played)));
            match outcome? {
                Outcome::Played => {}
                Outcome::Failed(error) => {
                    outcomes.failed = Some(error);
                    return Ok(());
                }
                Outcome::CalledOff => {
                    progress::say(&called_off(&format!("the traced run of `{}`", choice.label)));
                    outcomes.exit = outcomes.exit.worse(Exit::Interrupted);
                    return Ok(());
                }
            }
            let played = read_played(&path)?;
            match summary::exit_of_run(&played.summary) {
                Exit::Interrupted => outcomes.exit = outcomes.exit.worse(Exit::Interrupted),
                Exit::ServerFailed => progress::say(&format!(
                    "warning: `{}` failed while it was traced, which does not affect the other runs",
                    choice.label
                )),
                _ if self.talk == Verbosity::Quiet => {}
                _ => progress::say(&report::run::one_line(&played.summary)),
            }
            outcomes.runs.push(played);
        }
        Ok(())
    }

    fn traced(&self, number: u32, choice: &ServerChoice, tracer: &Tracer, progress: &Progress) -> header::RunSetup {
        let mut choice = choice.clone();
        // The defaults of an allocator follow from its processors: they are those of the runs that count.
        if choice.cpus.is_empty() {
            choice.cpus = self.jobs.cpus_of_each().to_vec();
        }
        header::RunSetup {
            called: self.called(),
            loaded: self.scenario.clone(),
            plan: PlanFacts {
                run: number,
                traced: Some(tracer.facts()),
                cell: choice.cell.clone(),
                ..PlanFacts::default()
            },
            choice,
            before: None,
            measuring: self.measuring,
            tracer: Some(tracer.clone()),
            probe: false,
            copy: KeptCopy::default(),
            progress: progress.clone(),
        }
    }
}
