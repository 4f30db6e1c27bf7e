//! Plays the versions that a search asks for. Every answer is a function of records, so a search that was interrupted goes on
//! where it was.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};

use crate::campaign::{Campaign, Judge, Next, Outcomes};
use crate::commands::{block_on, say, show};
use crate::progress::Verbosity;
use crate::resolve::ServerChoice;
use crate::soak::Interrupt;
use analysis::bisect::{
    self, Bisection, Ends, NoAnswer, Outcome, Pair, PairVerdict, Place, Question, Tried, TriedResult, VersionRuns,
};
use analysis::compare::Played;
use base::exit::Exit;
use record::Ending;
use report::bisect as told;
use stats::Schedule;

use super::plan::BisectPlan;

pub struct Search<'s> {
    pub plan: &'s BisectPlan<'s>,
    pub out: &'s Path,
    pub interrupt: &'s Interrupt,
}

/// The purpose of runs.
#[derive(Clone, Copy)]
enum Purpose<'r> {
    Ends,
    Version(Ends<'r>),
    Pair(Ends<'r>),
}

/// The runs of one campaign.
enum Gathered {
    Runs(Vec<Played>),
    /// A version cannot be installed, built or chosen.
    Unprepared(String),
    Interrupted,
}

/// Ends a campaign once its runs answer, or never will.
struct Asking<'a> {
    question: &'a Question,
    looks: &'a Schedule,
    purpose: Purpose<'a>,
    labels: Vec<String>,
}

impl Search<'_> {
    /// The whole search; `None` if it was interrupted.
    pub fn bisection(&self) -> anyhow::Result<Option<Bisection>> {
        let (plan, question) = (self.plan, &self.plan.question);
        let last = plan.versions.len() - 1;
        let runs = match self.gather(Purpose::Ends, &[0, last], "ends")? {
            Gathered::Runs(runs) => runs,
            Gathered::Unprepared(why) => bail!("an end cannot be tried: {why}; name another version"),
            Gathered::Interrupted => return Ok(None),
        };
        let [first, newest] = [0, last].map(|end| labelled_runs(&runs, &self.label(end)));
        let ends = Ends {
            first: &first,
            last: &newest,
        };
        let alpha = plan.looks().alpha_each();
        let mut bisection = Bisection {
            scenario: plan.scenario.scenario.name.clone(),
            question: question.clone(),
            versions: plan.versions.len(),
            tried: vec![
                self.tried(0, &first, TriedResult::Like(bisect::End::First)),
                self.tried(last, &newest, TriedResult::Like(bisect::End::Last)),
            ],
            holds_at: question.holds_at(ends),
            difference: question.step(&first, &newest, alpha),
            outcome: Outcome::Alike,
        };
        match question.ends_differ(ends, alpha) {
            Ok(true) => {}
            Ok(false) => return Ok(Some(bisection)),
            Err(why) => {
                bisection.outcome = Outcome::Unknown(why.reason().to_owned());
                return Ok(Some(bisection));
            }
        }
        let Some((before, after)) = self.narrow(ends, &mut bisection.tried)? else {
            return Ok(None);
        };
        let Some(pair) = self.pair(before, after, ends)? else {
            return Ok(None);
        };
        bisection.outcome = Outcome::Pair(Box::new(pair));
        Ok(Some(bisection))
    }

    /// Judges versions until a pair is left, which it returns; `None` if it was interrupted.
    fn narrow(&self, ends: Ends<'_>, all_tried: &mut Vec<Tried>) -> anyhow::Result<Option<(usize, usize)>> {
        let last = self.plan.versions.len() - 1;
        let mut places = vec![Place::Untried; last + 1];
        (places[0], places[last]) = (Place::Like(bisect::End::First), Place::Like(bisect::End::Last));
        loop {
            let version = match bisect::next(&places) {
                bisect::Next::Judge(version) => version,
                bisect::Next::Pair { before, after } => return Ok(Some((before, after))),
            };
            let Some(tried) = self.judge(version, ends)? else {
                return Ok(None);
            };
            if self.plan.campaign.talk != Verbosity::Quiet {
                say(&told::judged(&self.plan.question, &tried));
            }
            places[version] = match &tried.result {
                TriedResult::Like(end) => Place::Like(*end),
                TriedResult::Skipped(_) => Place::Skipped,
            };
            let place = places[..version]
                .iter()
                .filter(|place| **place != Place::Untried)
                .count();
            all_tried.insert(place, tried);
        }
    }

    fn label(&self, version: usize) -> String {
        self.plan.versions.label(version)
    }

    fn version_runs(&self, version: usize, runs: &[Played]) -> VersionRuns {
        VersionRuns {
            version: self.plan.versions.version(version),
            runs: self.plan.question.runs(runs),
            measured: self.plan.question.measured(runs),
        }
    }

    fn tried(&self, version: usize, runs: &[Played], result: TriedResult) -> Tried {
        Tried {
            of: self.version_runs(version, runs),
            result,
        }
    }

    /// The end that a version is like, or why it is skipped; `None` if it was interrupted.
    fn judge(&self, version: usize, ends: Ends<'_>) -> anyhow::Result<Option<Tried>> {
        let runs = match self.gather(Purpose::Version(ends), &[version], &self.label(version))? {
            Gathered::Runs(runs) => runs,
            Gathered::Unprepared(why) => return Ok(Some(self.tried(version, &[], TriedResult::Skipped(why)))),
            Gathered::Interrupted => return Ok(None),
        };
        let alpha = self.plan.looks().alpha_each();
        let result = match self.plan.question.end_of(&runs, ends, alpha) {
            Ok(end) => TriedResult::Like(end),
            Err(why) => TriedResult::Skipped(why.reason().to_owned()),
        };
        Ok(Some(self.tried(version, &runs, result)))
    }

    /// Plays the last pair side by side; `None` if it was interrupted.
    fn pair(&self, before: usize, after: usize, ends: Ends<'_>) -> anyhow::Result<Option<Pair>> {
        let name = format!("pair-{}-{}", self.label(before), self.label(after));
        let runs = match self.gather(Purpose::Pair(ends), &[before, after], &name)? {
            Gathered::Runs(runs) => runs,
            Gathered::Unprepared(why) => {
                return Err(anyhow!("a version of the last pair cannot be played again: {why}"));
            }
            Gathered::Interrupted => return Ok(None),
        };
        let [older, newer] = [before, after].map(|version| labelled_runs(&runs, &self.label(version)));
        let (question, alpha) = (&self.plan.question, self.plan.looks().alpha_each());
        Ok(Some(Pair {
            before: self.version_runs(before, &older),
            after: self.version_runs(after, &newer),
            between: (before + 1..after)
                .map(|version| self.plan.versions.version(version))
                .collect(),
            step: question.step(&older, &newer, alpha),
            share: question.share_of_step(&older, &newer, ends, alpha),
            work: bisect::unequal_work(&older, &newer),
            verdict: match question.pair_verdict(&older, &newer, ends, alpha) {
                Ok(verdict) => verdict,
                Err(why) => PairVerdict::Unconfirmed(why.reason().to_owned()),
            },
        }))
    }

    /// The runs of these versions in a directory below that of all: those that are there if they answer, else as many more as
    /// the answer needs.
    fn gather(&self, purpose: Purpose<'_>, versions: &[usize], name: &str) -> anyhow::Result<Gathered> {
        let directory = self.out.join(name);
        let asking = Asking {
            question: &self.plan.question,
            looks: self.plan.looks(),
            purpose,
            labels: versions.iter().map(|version| self.label(*version)).collect(),
        };
        if let Some(runs) = self.recorded(&directory)?
            && asking.is_over(&runs)
        {
            return Ok(Gathered::Runs(runs));
        }
        let mut choices = Vec::new();
        for version in versions {
            match self.plan.choice(*version) {
                Ok(choice) => choices.push(choice),
                Err(why) => return Ok(Gathered::Unprepared(why)),
            }
        }
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot create `{}`, make room there", directory.display()))?;
        let mut outcomes = self.play(&asking, &choices, &directory)?;
        // A server that fails at its start is played first and once, and a condition may be about that failure.
        if outcomes.exit == Exit::ServerFailed && !outcomes.is_refused && !asking.is_over(&outcomes.runs) {
            outcomes = self.play(&asking, &choices, &directory)?;
        }
        if outcomes.exit == Exit::Interrupted {
            return Ok(Gathered::Interrupted);
        }
        if outcomes.is_refused {
            bail!(
                "`{}` cannot be compared: name other versions, or another scenario",
                asking.labels.join("` and `")
            );
        }
        match outcomes.failed {
            Some(error) => Err(error),
            None => Ok(Gathered::Runs(outcomes.runs)),
        }
    }

    fn play(&self, asking: &Asking<'_>, choices: &[ServerChoice], directory: &Path) -> anyhow::Result<Outcomes> {
        let campaign = Campaign {
            scenario: &self.plan.scenario,
            choices,
            out: directory,
            repeating: &self.plan.repeating(),
            measuring: self.plan.campaign.measuring,
            talk: self.plan.campaign.talk,
            judge: asking,
            is_sweep: false,
            jobs: self.plan.campaign.jobs.clone(),
            calibration_options: "",
        };
        let outcomes = block_on(async {
            self.interrupt.heed();
            campaign.play(self.interrupt).await
        });
        self.interrupt.stop_heeding();
        outcomes
    }

    /// The complete runs of a directory; `None` where there are none.
    fn recorded(&self, directory: &Path) -> anyhow::Result<Option<Vec<Played>>> {
        if !directory.is_dir() || fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none()) {
            return Ok(None);
        }
        let mut runs = show::all_played(&[directory.to_owned()])?;
        runs.retain(|run| !matches!(run.summary.ending, None | Some(Ending::Interrupted)));
        let sha256 = &self.plan.scenario.sha256;
        if runs.iter().any(|run| run.summary.header.scenario.sha256 != *sha256) {
            bail!(
                "`{}` was recorded with another text of the scenario: start anew, because the runs could not be compared",
                directory.display()
            );
        }
        Ok(Some(runs))
    }
}

impl Asking<'_> {
    fn answer(&self, runs: &[Played]) -> Result<(), NoAnswer> {
        let alpha = self.looks.alpha_each();
        let sides: Vec<Vec<Played>> = self.labels.iter().map(|label| labelled_runs(runs, label)).collect();
        match (self.purpose, sides.as_slice()) {
            (Purpose::Ends, [first, last]) => self.question.ends_differ(Ends { first, last }, alpha).map(drop),
            (Purpose::Version(ends), [version]) => self.question.end_of(version, ends, alpha).map(drop),
            (Purpose::Pair(ends), [before, after]) => self.question.pair_verdict(before, after, ends, alpha).map(drop),
            _ => Err(NoAnswer::Never(
                "there are not as many versions as are asked about".to_owned(),
            )),
        }
    }

    /// Runs of the version that has fewest.
    fn runs(&self, runs: &[Played]) -> usize {
        let counts = self
            .labels
            .iter()
            .map(|label| self.question.runs(&labelled_runs(runs, label)));
        counts.min().unwrap_or(0)
    }

    /// True if these runs are all that a campaign plays. An answer is looked for only after some numbers of runs.
    fn is_over(&self, runs: &[Played]) -> bool {
        let have = self.runs(runs);
        match self.answer(runs) {
            Ok(()) => self.looks.runs().contains(&have),
            Err(NoAnswer::Open(_)) => self.looks.next_after(have).is_none(),
            Err(NoAnswer::Never(_)) => !runs.is_empty(),
        }
    }
}

impl Judge for Asking<'_> {
    fn after_block(&self, runs: &[Played]) -> Next {
        if self.is_over(runs) {
            Next::Decided
        } else {
            Next::Continue
        }
    }

    /// A search compares nothing, so there is no size that it could detect.
    fn time_forecast(&self, _of_one_run: Duration) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}

fn labelled_runs(runs: &[Played], label: &str) -> Vec<Played> {
    let own = runs.iter().filter(|run| run.summary.header.server.label == label);
    own.cloned().collect()
}
