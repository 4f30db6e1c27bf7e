//! The question by which versions are sorted to one end or the other, and its answers by their runs.

use crate::compare::{Inequality, Played, inequalities, is_counted, summaries};
use crate::figures::{GatedFigure, WorkLimits};
use crate::findings::{brief, loss};
use crate::summary::exit_of_run;
use crate::when::{Holds, Level, Measured, Rigour, Undecided, When, mean};
use base::band::Tolerance;
use base::exit::Exit;
use base::lens::Lens;
use stats::{Bounded, Endpoint, Known, LEAST_TO_DECIDE, Seen, decide};

use super::{End, PairVerdict};

/// The share of the difference of the ends from which on a step is one.
const STEP: f64 = 0.5;

#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// A figure that differs between the ends by more than this share.
    By { subject: GatedFigure, share: f64 },
    /// A condition that holds at one end only.
    When(When),
}

/// The reason that runs give no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum NoAnswer {
    /// More runs may give it.
    Open(String),
    /// However many runs there are.
    Never(String),
}

impl NoAnswer {
    /// With the runs that give none.
    fn of(self, runs: &str) -> NoAnswer {
        match self {
            NoAnswer::Open(why) => NoAnswer::Open(format!("{runs}: {why}")),
            NoAnswer::Never(why) => NoAnswer::Never(format!("{runs}: {why}")),
        }
    }

    pub fn reason(&self) -> &str {
        match self {
            NoAnswer::Open(why) | NoAnswer::Never(why) => why,
        }
    }
}

/// The runs of both ends.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'r> {
    pub first: &'r [Played],
    pub last: &'r [Played],
}

impl Question {
    /// The figure, of which ratios are told.
    pub fn subject(&self) -> Option<&GatedFigure> {
        match self {
            Question::By { subject, .. } | Question::When(When::Level(Level { subject, .. })) => Some(subject),
            Question::When(When::Crash | When::Rising(_)) => None,
        }
    }

    /// The lens that it names.
    pub fn lens(&self) -> Option<Lens> {
        match self {
            Question::By { subject, .. } => subject.lens,
            Question::When(when) => when.lens(),
        }
    }

    /// Runs that count.
    pub fn runs(&self, runs: &[Played]) -> usize {
        match self {
            Question::By { .. } => runs.iter().filter(|run| is_counted(&run.summary)).count(),
            Question::When(when) => when.evaluate(runs, Rigour::Verdict).runs,
        }
    }

    /// The figure or growth that it is about, in the runs of one version.
    pub fn measured(&self, runs: &[Played]) -> Measured {
        match self {
            Question::By { subject, .. } => {
                mean(subject, &values(subject, runs)).map_or(Measured::Unknown, Measured::Value)
            }
            Question::When(when) => when.evaluate(runs, Rigour::Verdict).measured,
        }
    }

    /// True if the ends differ. `alpha` is the chance that a bound leaves out the true value.
    pub fn ends_differ(&self, ends: Ends<'_>, alpha: f64) -> Result<bool, NoAnswer> {
        match self {
            Question::By { subject, share } => {
                for (name, runs) in [("the first version", ends.first), ("the last version", ends.last)] {
                    if let Some(why) = failure(runs) {
                        return Err(NoAnswer::Never(why).of(name));
                    }
                }
                let difference = self.decided_ratio(subject, ends.first, ends.last, alpha)?;
                let (below, above) = (1.0 / (1.0 + share), 1.0 + share);
                if difference.low > above || difference.high < below {
                    Ok(true)
                } else if difference.low > below && difference.high < above {
                    Ok(false)
                } else {
                    Err(NoAnswer::Open("the runs are too far apart".to_owned()))
                }
            }
            Question::When(when) => {
                let first = holds(when, ends.first, Rigour::Verdict).map_err(|none| none.of("the first version"))?;
                let last = holds(when, ends.last, Rigour::Verdict).map_err(|none| none.of("the last version"))?;
                Ok(first != last)
            }
        }
    }

    /// The end at which a condition holds, where it holds at one only.
    pub fn holds_at(&self, ends: Ends<'_>) -> Option<End> {
        let Question::When(when) = self else { return None };
        let first = holds(when, ends.first, Rigour::Verdict).ok()?;
        let last = holds(when, ends.last, Rigour::Verdict).ok()?;
        match (first, last) {
            (true, false) => Some(End::First),
            (false, true) => Some(End::Last),
            (true, true) | (false, false) => None,
        }
    }

    /// The end that a version is like: the nearer one, once its runs show that it differs from the other. A condition is
    /// answered as in a search; the fresh runs of the last pair confirm the result.
    pub fn end_of(&self, version: &[Played], ends: Ends<'_>, alpha: f64) -> Result<End, NoAnswer> {
        match self {
            Question::By { subject, .. } => {
                let to_first = known_ratio(subject, ends.first, version, alpha)?;
                let to_last = known_ratio(subject, ends.last, version, alpha)?;
                let (end, other) = if distance(to_first) <= distance(to_last) {
                    (End::First, to_last)
                } else {
                    (End::Last, to_first)
                };
                if differs(other) {
                    return Ok(end);
                }
                Err(NoAnswer::Open("its runs do not show which end it is like".to_owned()))
            }
            Question::When(when) => {
                let answer = holds(when, version, Rigour::Search)?;
                let first = holds(when, ends.first, Rigour::Verdict)?;
                Ok(if answer == first { End::First } else { End::Last })
            }
        }
    }

    /// The verdict of the last pair's fresh runs. Open if they do not show what the search found.
    pub fn pair_verdict(
        &self,
        before: &[Played],
        after: &[Played],
        ends: Ends<'_>,
        alpha: f64,
    ) -> Result<PairVerdict, NoAnswer> {
        if !self.is_confirmed(before, after, ends, alpha)? {
            let why = "in fresh runs a version of the pair is not on the side that the search saw";
            return Err(NoAnswer::Open(why.to_owned()));
        }
        if self
            .share_of_step(before, after, ends, alpha)
            .is_some_and(|share| share < STEP)
        {
            return Ok(PairVerdict::Gradual);
        }
        match self.step(before, after, alpha) {
            Some(step) if !differs(step) => Err(NoAnswer::Open("fresh runs show no difference".to_owned())),
            Some(_) | None => Ok(PairVerdict::Step),
        }
    }

    /// True if fresh runs put each version on its side: neither is like the other end.
    fn is_confirmed(&self, before: &[Played], after: &[Played], ends: Ends<'_>, alpha: f64) -> Result<bool, NoAnswer> {
        match self {
            Question::By { subject, .. } => {
                let from_last = self.decided_ratio(subject, ends.last, before, alpha)?;
                let from_first = self.decided_ratio(subject, ends.first, after, alpha)?;
                Ok(differs(from_last) && differs(from_first))
            }
            Question::When(when) => {
                for (fresh, end) in [(before, ends.first), (after, ends.last)] {
                    if holds(when, fresh, Rigour::Verdict)? != holds(when, end, Rigour::Verdict)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// The ratio of the figure, where the question is about one.
    pub fn step(&self, from: &[Played], to: &[Played], alpha: f64) -> Option<Bounded> {
        ratio(self.subject()?, from, to, alpha)
    }

    /// The step as a share of the difference of the ends: of logarithms of a figure, of growth as it is.
    pub fn share_of_step(&self, before: &[Played], after: &[Played], ends: Ends<'_>, alpha: f64) -> Option<f64> {
        let whole = self.amount(ends.first, ends.last, alpha)?;
        let share = self.amount(before, after, alpha)? / whole;
        if share.is_finite() { Some(share) } else { None }
    }

    fn amount(&self, from: &[Played], to: &[Played], alpha: f64) -> Option<f64> {
        if self.subject().is_some() {
            return Some(self.step(from, to, alpha)?.value.ln());
        }
        match (self.measured(from), self.measured(to)) {
            (Measured::Value(from), Measured::Value(to)) => Some(to.value - from.value),
            _ => None,
        }
    }

    /// A ratio of as many runs as decide a gate.
    fn decided_ratio(
        &self,
        subject: &GatedFigure,
        from: &[Played],
        to: &[Played],
        alpha: f64,
    ) -> Result<Bounded, NoAnswer> {
        let ratio = known_ratio(subject, from, to, alpha)?;
        let have = self.runs(from).min(self.runs(to));
        if have < LEAST_TO_DECIDE {
            return Err(NoAnswer::Open(
                Undecided::TooFewRuns {
                    have,
                    need: LEAST_TO_DECIDE,
                }
                .to_string(),
            ));
        }
        Ok(ratio)
    }
}

/// Work that two versions did not do alike.
pub fn unequal_work(before: &[Played], after: &[Played]) -> Vec<Inequality> {
    let [before, after] = [before, after].map(|runs| {
        let counted: Vec<&Played> = runs.iter().filter(|run| is_counted(&run.summary)).collect();
        summaries(&counted)
    });
    inequalities(&before, &after, WorkLimits::default())
}

/// True if the condition holds in these runs.
fn holds(when: &When, runs: &[Played], rigour: Rigour) -> Result<bool, NoAnswer> {
    match when.evaluate(runs, rigour).holds {
        Holds::Yes => Ok(true),
        Holds::No => Ok(false),
        Holds::Undecided(why) if why.needs_runs() => Err(NoAnswer::Open(why.to_string())),
        Holds::Undecided(why) => Err(NoAnswer::Never(why.to_string())),
    }
}

/// The ratio of a figure, unless a run fails or lacks the figure.
fn known_ratio(subject: &GatedFigure, from: &[Played], to: &[Played], alpha: f64) -> Result<Bounded, NoAnswer> {
    for runs in [from, to] {
        if let Some(why) = failure(runs) {
            return Err(NoAnswer::Never(why));
        }
        let counted = runs.iter().filter(|run| is_counted(&run.summary)).count();
        if values(subject, runs).len() < counted {
            return Err(NoAnswer::Never(Undecided::NotMeasured.to_string()));
        }
    }
    ratio(subject, from, to, alpha).ok_or_else(|| {
        let have = values(subject, from).len().min(values(subject, to).len());
        NoAnswer::Open(Undecided::TooFewRuns { have, need: 2 }.to_string())
    })
}

/// The first failure of a run, or its loss.
fn failure(runs: &[Played]) -> Option<String> {
    for run in runs {
        if exit_of_run(&run.summary) == Exit::ServerFailed {
            return Some(brief(&run.summary));
        }
        if let Some(loss) = loss(&run.summary) {
            return Some(loss);
        }
    }
    None
}

fn values(subject: &GatedFigure, runs: &[Played]) -> Vec<f64> {
    let counted = runs.iter().filter(|run| is_counted(&run.summary));
    counted.filter_map(|run| subject.value(&run.summary)).collect()
}

/// The ratio of a figure in two versions with its bounds.
fn ratio(subject: &GatedFigure, from: &[Played], to: &[Played], alpha: f64) -> Option<Bounded> {
    let sides = [from, to].map(|runs| values(subject, runs));
    let [baseline, candidate] = sides
        .each_ref()
        .map(|values| values.iter().map(|value| Seen::on_only_machine(Some(*value))).collect());
    let endpoint = Endpoint {
        name: subject.to_string(),
        tolerance: Tolerance::PURGED,
        noise: subject.figure.noise_of(sides.into_iter().flatten()),
        known: Known::Seen,
        baseline,
        candidate,
    };
    let verdict = decide(&[endpoint], alpha).ok()?;
    let evidence = verdict.endpoints.first()?.evidence.ok()?;
    Some(Bounded {
        value: evidence.contrast.ratio(),
        low: evidence.lower,
        high: evidence.upper,
    })
}

fn differs(ratio: Bounded) -> bool {
    ratio.low > 1.0 || ratio.high < 1.0
}

fn distance(ratio: Bounded) -> f64 {
    ratio.value.ln().abs()
}
