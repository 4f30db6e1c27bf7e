//! The search for the least that still shows it: candidates are played, answered once, and kept if the condition holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

use crate::campaign::{Campaign, Jobs, Judge, Next, Repeating, files};
use crate::commands::plan::CampaignPlan;
use crate::commands::prepare::impossible_checkouts;
use crate::commands::{missing_places, say, when};
use crate::config::files::walk_copied;
use crate::config::{Loaded, Overrides, load_scenario};
use crate::drive::workspace::copy_files;
use crate::progress::Verbosity;
use crate::resolve::ServerChoice;
use crate::soak::Interrupt;
use analysis::compare::Played;
use analysis::summary::exit_of_run;
use analysis::when::{Evaluation, Holds, Rigour, When};
use base::exit::Exit;
use report::when::answer;

use super::cuts::{Cut, Stage, apply, cuts, larger_counts, options};
use super::ddmin::{Tested, minimise};
use super::draft::Draft;

/// Most runs of a candidate, where the first ones are close.
const MOST_RUNS: u32 = 3;

/// Fresh runs that confirm the last candidate.
pub const CONFIRMING_RUNS: u32 = 5;

const CANDIDATES: &str = "candidates";
const CONFIRMED: &str = "confirmed";
const SCENARIO: &str = "scenario.toml";
const WORKSPACE: &str = "workspace";
/// The best so far, at any time.
pub const SHRUNK: &str = "shrunk.toml";

/// The subject of a search and its condition.
pub struct ShrinkPlan {
    pub original: Candidate,
    /// The workspace of the scenario.
    pub root: PathBuf,
    pub choices: Vec<ServerChoice>,
    pub condition: String,
    pub when: When,
    pub overrides: Overrides,
    pub campaign: CampaignPlan,
    pub time_budget: Option<Duration>,
}

/// A part of the scenario on a part of its files.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// It opens the whole workspace.
    pub draft: Draft,
    /// Files and links, relative to the workspace; `None` for all.
    pub files: Option<Vec<PathBuf>>,
}

/// The reason that a search ended before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    Time,
    Interrupted,
}

pub struct Search<'s> {
    plan: &'s ShrinkPlan,
    /// Absolute: the text of a candidate names its workspace.
    out: PathBuf,
    interrupt: &'s Interrupt,
    deadline: Option<Instant>,
    /// The length of a run of the best candidate so far.
    of_one_run: Duration,
    /// True if the condition holds, by the key of a candidate.
    answers: BTreeMap<String, bool>,
    /// Candidates that fresh runs did not confirm.
    refused: BTreeSet<String>,
    /// The workspace of the best candidate so far, which is kept.
    best_workspace: Option<PathBuf>,
    pub stopped: Option<Stopped>,
    pub candidates: usize,
    pub runs: usize,
}

/// The result of playing a candidate.
enum Answered {
    Runs(Evaluation),
    Interrupted,
}

impl Candidate {
    /// Its name in the cache.
    fn key(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.draft.text());
        if let Some(files) = &self.files {
            hasher.update((files.len() as u64).to_le_bytes());
            for file in files {
                hasher.update(b"\0");
                hasher.update(file.as_os_str().as_encoded_bytes());
            }
        }
        hasher
            .finalize()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Without the cuts that are not kept.
    fn without(&self, cuts: &[Cut], kept: &[Cut]) -> Candidate {
        let applied: Vec<Cut> = cuts.iter().filter(|cut| !kept.contains(cut)).cloned().collect();
        Candidate {
            draft: apply(&self.draft, &applied),
            files: self.files.clone(),
        }
    }
}

impl<'s> Search<'s> {
    pub fn new(plan: &'s ShrinkPlan, out: &Path, interrupt: &'s Interrupt) -> anyhow::Result<Search<'s>> {
        let out = fs::canonicalize(out).with_context(|| format!("cannot read `{}`", out.display()))?;
        Ok(Search {
            plan,
            out,
            interrupt,
            deadline: plan.time_budget.map(|budget| Instant::now() + budget),
            of_one_run: Duration::ZERO,
            answers: BTreeMap::new(),
            refused: BTreeSet::new(),
            best_workspace: None,
            stopped: None,
            candidates: 0,
            runs: 0,
        })
    }

    /// Fails unless the condition holds for the whole scenario.
    pub fn require_condition(&mut self) -> anyhow::Result<()> {
        let original = self.plan.original.clone();
        let place = self.out.join(CANDIDATES).join(original.key());
        let Some((loaded, when)) = self.write(&original, &place)? else {
            bail!("the scenario of `{}` cannot be read again", place.display());
        };
        match self.play(&loaded, &when, &place, Rigour::Search)? {
            Answered::Interrupted => self.stopped = Some(Stopped::Interrupted),
            Answered::Runs(evaluation) if evaluation.holds == Holds::Yes => {
                self.say_answer("whole scenario", &evaluation);
                self.answers.insert(original.key(), true);
                self.keep(&original, &place)?;
            }
            Answered::Runs(evaluation) => bail!(
                "nothing to shrink, `{}` is not shown by the whole scenario: it {}; change the condition, or the scenario",
                self.plan.when,
                answer(&when, &evaluation)
            ),
        }
        Ok(())
    }

    /// The least that holds, by the answers so far and by new ones.
    pub fn find(&mut self) -> anyhow::Result<Candidate> {
        self.stopped = None;
        let mut best = self.plan.original.clone();
        // A phase that opens documents can go once the steps have gone that need them.
        loop {
            let before = best.draft.text();
            for stage in Stage::ALL {
                if self.stopped.is_none() {
                    best = self.shrink_stage(best, stage)?;
                }
            }
            if self.stopped.is_some() || best.draft.text() == before {
                break;
            }
        }
        best = self.without_defaults(best)?;
        if self.stopped.is_none() {
            best = self.shrink_files(best)?;
        }
        Ok(best)
    }

    /// Without options that say what holds anyway.
    fn without_defaults(&self, best: Candidate) -> anyhow::Result<Candidate> {
        let before = self.loaded(&best)?.scenario;
        let mut draft = best.draft;
        for cut in options(&draft).iter().rev() {
            let shorter = apply(&draft, std::slice::from_ref(cut));
            let after = self.understand_text(&shorter.text())?;
            if after.is_some_and(|(after, _)| after.scenario == before) {
                draft = shorter;
            }
        }
        Ok(Candidate { draft, ..best })
    }

    fn shrink_stage(&mut self, best: Candidate, stage: Stage) -> anyhow::Result<Candidate> {
        let keeps_rounds = matches!(self.plan.when, When::Rising(_));
        let all = self.possible(&best, cuts(&best.draft, stage, keeps_rounds))?;
        let minimal = minimise(&all, |kept| {
            let words = format!("{} {} of {}", stage.name(), kept.len(), all.len());
            self.test(&best.without(&all, kept), &words)
        })?;
        let mut best = best.without(&all, &minimal.kept);
        for cut in minimal.kept.iter().filter(|cut| cut.count.is_some()) {
            if self.stopped.is_some() {
                break;
            }
            best = self.lower_count(best, cut, stage)?;
        }
        Ok(best)
    }

    /// The least of some counts with which the condition holds, where one is too few.
    fn lower_count(&mut self, best: Candidate, cut: &Cut, stage: Stage) -> anyhow::Result<Candidate> {
        for count in larger_counts(&best.draft, cut) {
            let larger = Cut {
                count: Some(count),
                ..cut.clone()
            };
            let Some(larger) = self.possible(&best, vec![larger])?.pop() else {
                continue;
            };
            let candidate = best.without(&[larger], &[]);
            match self.test(&candidate, &format!("{}, a count of {count}", stage.name()))? {
                Tested::Holds => return Ok(candidate),
                Tested::Fails => {}
                Tested::Stop => break,
            }
        }
        Ok(best)
    }

    fn shrink_files(&mut self, best: Candidate) -> anyhow::Result<Candidate> {
        if self.has_history(&best)? {
            return Ok(best);
        }
        let all = copied_files(&self.plan.root)?;
        let minimal = minimise(&all, |kept| {
            let candidate = Candidate {
                draft: best.draft.clone(),
                files: Some(kept.to_vec()),
            };
            self.test(&candidate, &format!("files {} of {}", kept.len(), all.len()))
        })?;
        if minimal.kept.len() == all.len() {
            return Ok(best);
        }
        Ok(Candidate {
            draft: best.draft,
            files: Some(minimal.kept),
        })
    }

    /// True if steps check out commits, whose files are not only those of the workspace.
    fn has_history(&self, candidate: &Candidate) -> anyhow::Result<bool> {
        Ok(self.loaded(candidate)?.scenario.checks_out_commits())
    }

    /// The cuts that leave a valid scenario, and another one.
    fn possible(&self, best: &Candidate, all: Vec<Cut>) -> anyhow::Result<Vec<Cut>> {
        let Some((before, _)) = self.understand_text(&best.draft.text())? else {
            return Ok(Vec::new());
        };
        let mut possible = Vec::new();
        for cut in all {
            let text = apply(&best.draft, std::slice::from_ref(&cut)).text();
            let after = self.understand_text(&text)?;
            if after.is_some_and(|(after, _)| after.scenario != before.scenario) {
                possible.push(cut);
            }
        }
        Ok(possible)
    }

    /// The scenario of a candidate on the whole workspace.
    pub fn loaded(&self, candidate: &Candidate) -> anyhow::Result<Loaded> {
        let understood = self.understand_text(&candidate.draft.text())?;
        let (loaded, _) = understood.context("the scenario that is left cannot be read again")?;
        Ok(loaded)
    }

    fn understand_text(&self, text: &str) -> anyhow::Result<Option<(Loaded, When)>> {
        let place = tempfile::tempdir_in(&self.out).context("cannot write into the directory of the search")?;
        let path = place.path().join(SCENARIO);
        fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(self.understand(&path))
    }

    /// The scenario of a candidate with the condition in its names; `None` where it is not one that can be played.
    fn understand(&self, path: &Path) -> Option<(Loaded, When)> {
        let loaded = load_scenario(path, &self.plan.overrides, &|_| None).ok()??;
        let is_playable =
            missing_places::phases_without_places(&loaded).is_empty() && impossible_checkouts(&loaded).is_empty();
        if !is_playable {
            return None;
        }
        let when = when::understand(&self.plan.condition, &loaded, &self.plan.choices).ok()?;
        Some((loaded, when))
    }

    fn test(&mut self, candidate: &Candidate, words: &str) -> anyhow::Result<Tested> {
        let key = candidate.key();
        if self.refused.contains(&key) {
            return Ok(Tested::Fails);
        }
        if let Some(holds) = self.answers.get(&key) {
            return Ok(if *holds { Tested::Holds } else { Tested::Fails });
        }
        let place = self.out.join(CANDIDATES).join(&key);
        let is_begun = place.join(SCENARIO).exists();
        if !is_begun && self.is_over() {
            return Ok(Tested::Stop);
        }
        let Some((loaded, when)) = self.write(candidate, &place)? else {
            self.answers.insert(key, false);
            return Ok(Tested::Fails);
        };
        let evaluation = match self.play(&loaded, &when, &place, Rigour::Search)? {
            Answered::Interrupted => {
                self.stopped = Some(Stopped::Interrupted);
                return Ok(Tested::Stop);
            }
            Answered::Runs(evaluation) => evaluation,
        };
        self.say_answer(words, &evaluation);
        let holds = evaluation.holds == Holds::Yes;
        self.answers.insert(key, holds);
        if holds {
            self.keep(candidate, &place)?;
            return Ok(Tested::Holds);
        }
        remove_workspace(&place.join(WORKSPACE))?;
        Ok(Tested::Fails)
    }

    /// True once no other candidate fits into the time, with the runs that confirm the last one.
    fn is_over(&mut self) -> bool {
        if self.interrupt.is_pressed(1) {
            self.stopped = Some(Stopped::Interrupted);
        } else if let Some(deadline) = self.deadline
            && Instant::now() + self.of_one_run * (CONFIRMING_RUNS + 1) > deadline
        {
            self.stopped = Some(Stopped::Time);
        }
        self.stopped.is_some()
    }

    /// Writes the scenario of a candidate, and its workspace; `None` where it cannot be played.
    fn write(&self, candidate: &Candidate, place: &Path) -> anyhow::Result<Option<(Loaded, When)>> {
        let path = place.join(SCENARIO);
        fs::create_dir_all(place).with_context(|| format!("cannot make `{}`", place.display()))?;
        let mut draft = candidate.draft.clone();
        if let Some(files) = &candidate.files {
            let workspace = place.join(WORKSPACE);
            remove_workspace(&workspace)?;
            fs::create_dir(&workspace).with_context(|| format!("cannot make `{}`", workspace.display()))?;
            copy_files(&self.plan.root, &workspace, files)?;
            draft = draft.with_workspace_path(&workspace.display().to_string());
        }
        files::write(&path, &draft.text(), "make room, and resume")?;
        let understood = self.understand(&path);
        if understood.is_none() {
            fs::remove_dir_all(place).with_context(|| format!("cannot remove `{}`", place.display()))?;
        }
        Ok(understood)
    }

    /// Plays runs of a candidate until its answer is known. Records of an earlier search are its runs too.
    fn play(&mut self, loaded: &Loaded, when: &When, place: &Path, rigour: Rigour) -> anyhow::Result<Answered> {
        let runs = match rigour {
            Rigour::Search => MOST_RUNS,
            Rigour::Verdict => CONFIRMING_RUNS,
        };
        let judge = CandidateJudge { when, rigour };
        let campaign = Campaign {
            scenario: loaded,
            choices: &self.plan.choices,
            out: place,
            repeating: &Repeating {
                warm_ups: Some(0),
                ..Repeating::fixed(runs)
            },
            measuring: self.plan.campaign.measuring,
            talk: match self.plan.campaign.talk {
                Verbosity::Verbose => Verbosity::Verbose,
                Verbosity::Usual | Verbosity::Quiet => Verbosity::Quiet,
            },
            judge: &judge,
            is_sweep: false,
            jobs: Jobs::Alone,
            calibration_options: "",
        };
        let outcomes = crate::commands::block_on(async {
            self.interrupt.heed();
            campaign.play(self.interrupt).await
        })?;
        if outcomes.exit == Exit::Interrupted {
            return Ok(Answered::Interrupted);
        }
        if let Some(error) = outcomes.failed {
            return Err(error);
        }
        self.candidates += usize::from(rigour == Rigour::Search);
        self.runs += outcomes.runs.len();
        let evaluation = when.evaluate(&outcomes.runs, rigour);
        if let (Holds::Yes, Some(last)) = (&evaluation.holds, outcomes.runs.last()) {
            self.of_one_run = Duration::from_nanos(last.summary.duration);
        }
        Ok(Answered::Runs(evaluation))
    }

    /// The answer of fresh runs that the search did not use; `None` if it was interrupted.
    pub fn confirm(&mut self, best: &Candidate) -> anyhow::Result<Option<Evaluation>> {
        let key = best.key();
        let own = self.out.join(CANDIDATES).join(&key);
        let Some((loaded, when)) = self.write(best, &own)? else {
            bail!("the scenario of candidate `{key}` cannot be read again");
        };
        self.keep(best, &own)?;
        let place = self.out.join(CONFIRMED).join(&key);
        fs::create_dir_all(&place).with_context(|| format!("cannot make `{}`", place.display()))?;
        match self.play(&loaded, &when, &place, Rigour::Verdict)? {
            Answered::Interrupted => {
                self.stopped = Some(Stopped::Interrupted);
                Ok(None)
            }
            Answered::Runs(evaluation) => {
                self.say_answer("confirming", &evaluation);
                Ok(Some(evaluation))
            }
        }
    }

    /// The condition does not hold for this candidate, whatever its first runs said.
    pub fn refuse(&mut self, candidate: &Candidate) {
        self.refused.insert(candidate.key());
    }

    /// Keeps a candidate as the best so far.
    fn keep(&mut self, candidate: &Candidate, place: &Path) -> anyhow::Result<()> {
        let workspace = candidate.files.as_ref().map(|_| place.join(WORKSPACE));
        let draft = match &workspace {
            Some(workspace) => candidate.draft.with_workspace_path(&workspace.display().to_string()),
            None => candidate.draft.clone(),
        };
        files::write(&self.out.join(SHRUNK), &draft.text(), "make room, and resume")?;
        let before = std::mem::replace(&mut self.best_workspace, workspace);
        if let Some(before) = before.filter(|before| Some(before) != self.best_workspace.as_ref()) {
            remove_workspace(&before)?;
        }
        Ok(())
    }

    /// Puts the workspace of the result beside its scenario; returns the scenario's text.
    pub fn finish(&self, best: &Candidate) -> anyhow::Result<String> {
        let mut draft = best.draft.clone();
        if let Some(files) = &best.files {
            let workspace = self.out.join(WORKSPACE);
            remove_workspace(&workspace)?;
            fs::create_dir(&workspace).with_context(|| format!("cannot make `{}`", workspace.display()))?;
            copy_files(&self.plan.root, &workspace, files)?;
            draft = draft.with_workspace_path(WORKSPACE);
        }
        let text = draft.text();
        files::write(&self.out.join(SHRUNK), &text, "make room, and resume")?;
        Ok(text)
    }

    fn say_answer(&self, words: &str, evaluation: &Evaluation) {
        if self.plan.campaign.talk != Verbosity::Quiet {
            say(&format!("{words}: {}", answer(&self.plan.when, evaluation)));
        }
    }
}

fn remove_workspace(path: &Path) -> anyhow::Result<()> {
    if path.exists() {
        fs::remove_dir_all(path).with_context(|| format!("cannot remove `{}`", path.display()))?;
    }
    Ok(())
}

/// Files and links that a copy of the workspace has, sorted.
pub fn copied_files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in walk_copied(root) {
        let entry = entry.with_context(|| format!("cannot read `{}`", root.display()))?;
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !is_directory && let Ok(relative) = entry.path().strip_prefix(root) {
            all.push(relative.to_owned());
        }
    }
    all.sort();
    Ok(all)
}

/// Ends the runs of a candidate once they answer, or cannot.
struct CandidateJudge<'w> {
    when: &'w When,
    rigour: Rigour,
}

impl Judge for CandidateJudge<'_> {
    fn after_block(&self, runs: &[Played]) -> Next {
        if runs
            .last()
            .is_some_and(|run| exit_of_run(&run.summary) == Exit::OwnFailure)
        {
            return Next::Hopeless;
        }
        // Fresh runs need not go on once the first of them denies it.
        match (self.when.evaluate(runs, Rigour::Search).holds, self.rigour) {
            (Holds::Yes, Rigour::Verdict) => Next::Continue,
            (Holds::Yes | Holds::No, _) => Next::Decided,
            (Holds::Undecided(why), _) if why.needs_runs() => Next::Continue,
            (Holds::Undecided(_), _) => Next::Hopeless,
        }
    }
}
