//! One primary endpoint: its tolerance, its values, and the evidence in them.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use base::band::{NoiseFloor, Tolerance};
use base::shown;

use super::arm::{Seen, Unusable};
use super::bounds::Bounds;
use super::contrast::Contrast;
use super::known::{Known, largest_missed_share};
use super::strata::{Side, Strata};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// A difference that matters is ruled out.
    Pass,
    /// A difference that is not tolerated is shown.
    Fail,
    /// Neither: more runs are needed, or there are no usable data.
    Inconclusive,
}

impl Answer {
    /// Both must hold: FAIL wins over INCONCLUSIVE, and that over PASS.
    pub fn and(self, other: Answer) -> Answer {
        match (self, other) {
            (Answer::Fail, _) | (_, Answer::Fail) => Answer::Fail,
            (Answer::Inconclusive, _) | (_, Answer::Inconclusive) => Answer::Inconclusive,
            (Answer::Pass, Answer::Pass) => Answer::Pass,
        }
    }

    /// All must hold; an empty list is INCONCLUSIVE.
    pub fn all(answers: impl IntoIterator<Item = Answer>) -> Answer {
        answers.into_iter().reduce(Answer::and).unwrap_or(Answer::Inconclusive)
    }
}

/// The ratio above which all of the interval must lie for FAIL: `1 + max(tol, floor/base)`.
fn fail_above(tolerance: &Tolerance, base: f64) -> Bound {
    bound(tolerance.tol(), tolerance.floor() / base)
}

/// The ratio below which all of it must lie for PASS: `1 + max(fail, floor/base)`.
fn pass_below(tolerance: &Tolerance, base: f64) -> Bound {
    bound(tolerance.fail(), tolerance.floor() / base)
}

fn bound(share: f64, floor: f64) -> Bound {
    Bound {
        ratio: 1.0 + share.max(floor),
        by_floor: floor > share,
    }
}

/// A limit of the ratio, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bound {
    /// As a ratio: 1.05 for 5 % more.
    pub ratio: f64,
    /// True if the absolute floor set it, rather than the share.
    #[serde(skip)]
    pub by_floor: bool,
}

/// One thing that decides, named before the data are seen: a metric at a checkpoint, smaller is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Endpoint {
    /// The figure's name in reports.
    #[serde(skip)]
    pub name: String,
    #[serde(skip)]
    pub tolerance: Tolerance,
    /// The least noise that is believed of this metric on either side.
    #[serde(rename = "least_spread")]
    pub noise: NoiseFloor,
    /// Where the least spread that is believed comes from.
    pub known: Known,
    /// One value per run of the baseline, in order.
    pub baseline: Vec<Seen>,
    /// The figure in each run of the candidate that counts.
    pub candidate: Vec<Seen>,
}

/// What the data say of one endpoint, in numbers that are enough to put it in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndpointVerdict {
    #[serde(skip)]
    pub name: String,
    /// The answer.
    pub answer: Answer,
    /// The evidence, or which side has no usable data and why.
    #[serde(flatten, serialize_with = "shown::<Weighed, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "Weighed"))]
    pub evidence: Result<Evidence, (Side, Unusable)>,
    /// Runs of each side at the look that it is of, where it was looked at several times.
    pub look: Option<usize>,
}

impl EndpointVerdict {
    /// True if more runs would change nothing.
    pub(super) fn is_settled(&self) -> bool {
        let spoilt = self.evidence.is_err_and(|(_, why)| why.is_final());
        spoilt || self.answer != Answer::Inconclusive
    }
}

/// What an endpoint's answer rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Runs of the baseline and of the candidate, on machines that have two of each.
    #[serde(flatten)]
    pub runs: RunsOfBoth,
    /// Their geometric means; over several machines with the weights of the contrast, so that their ratio is its.
    #[serde(flatten)]
    pub means: MeansOfBoth,
    /// On how many machines they are compared.
    pub machines: usize,
    /// The lowest and highest ratio of a single machine.
    #[serde(skip)]
    pub spread: (f64, f64),
    /// The difference, for intervals at any other level.
    #[serde(rename = "ratio", serialize_with = "ratio")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub contrast: Contrast,
    /// The lower bound of the ratio at `fail_level`; FAIL if it is above `fail_above`.
    #[serde(rename = "low")]
    pub lower: f64,
    /// The one-sided level of `lower`, after Holm.
    #[serde(rename = "low_level")]
    pub fail_level: f64,
    /// The ratio that `low` must be above to fail.
    #[serde(rename = "fails_above")]
    pub fail_above: Bound,
    /// The one-sided p of "no more than `fail_above`".
    #[serde(rename = "p")]
    pub p_fail: f64,
    /// The upper bound of the ratio at `pass_level`; PASS if it is below `pass_below`.
    #[serde(rename = "high")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub upper: f64,
    /// The one-sided level of `upper`. Not corrected for the number of endpoints, because all of them must pass.
    #[serde(rename = "high_level")]
    pub pass_level: f64,
    /// The ratio that `high` must be below to pass.
    #[serde(rename = "passes_below")]
    pub pass_below: Bound,
    /// The distance between two groups of runs, as a ratio, where it makes the bounds wider than the spread does.
    #[serde(rename = "groups_apart")]
    pub groups: Option<f64>,
    /// The largest share of all runs that a second group can have and yet be in none of a side's runs once in twenty times.
    #[serde(rename = "missed_group")]
    pub missed: f64,
}

fn ratio<S: Serializer>(contrast: &Contrast, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(contrast.ratio())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunsOfBoth {
    /// Runs of the other server, of machines that have two of each.
    #[serde(rename = "baseline_runs")]
    pub baseline: usize,
    /// Runs of the candidate.
    #[serde(rename = "candidate_runs")]
    pub candidate: usize,
}

impl RunsOfBoth {
    /// Runs of the side that has fewer.
    pub fn least(self) -> usize {
        self.baseline.min(self.candidate)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeansOfBoth {
    /// Geometric mean of the other server.
    pub baseline: f64,
    /// Geometric mean of the candidate.
    pub candidate: f64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Weighed {
    /// What the answer rests on; `null` where there are no usable data.
    evidence: Option<Evidence>,
    /// Why there are none.
    unusable: Option<String>,
}

impl From<&Result<Evidence, (Side, Unusable)>> for Weighed {
    fn from(result: &Result<Evidence, (Side, Unusable)>) -> Weighed {
        Weighed {
            evidence: result.ok(),
            unusable: result.err().map(|(side, why)| match side {
                Side::Baseline => format!("baseline: {why}"),
                Side::Candidate => format!("candidate: {why}"),
            }),
        }
    }
}

impl Endpoint {
    /// The runs by machine, or which side cannot be used.
    pub fn strata(&self) -> Result<Strata<usize>, (Side, Unusable)> {
        Strata::from_runs(&self.baseline, &self.candidate)
    }

    /// This endpoint at the first moment at which `runs` runs of each side decide. It may have more runs than that: those
    /// of a machine that has less than two of either side decide nothing.
    pub fn first_deciding(&self, runs: usize) -> Endpoint {
        for count in runs..self.most_runs() {
            let endpoint = self.first_runs(count);
            if endpoint.deciding_runs() >= runs {
                return endpoint;
            }
        }
        self.first_runs(self.most_runs().max(runs))
    }

    /// This endpoint with the first runs of each side.
    fn first_runs(&self, count: usize) -> Endpoint {
        Endpoint {
            baseline: self.baseline.iter().copied().take(count).collect(),
            candidate: self.candidate.iter().copied().take(count).collect(),
            ..self.clone()
        }
    }

    /// Runs of the side that has more.
    pub fn most_runs(&self) -> usize {
        self.baseline.len().max(self.candidate.len())
    }

    /// Runs that both sides have to decide by: those of machines that have two of each.
    pub fn deciding_runs(&self) -> usize {
        let mut machines: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for seen in &self.baseline {
            machines.entry(seen.machine).or_default().0 += 1;
        }
        for seen in &self.candidate {
            machines.entry(seen.machine).or_default().1 += 1;
        }
        let (mut baseline, mut candidate) = (0, 0);
        for (baseline_runs, candidate_runs) in machines.into_values() {
            if baseline_runs >= 2 && candidate_runs >= 2 {
                baseline += baseline_runs;
                candidate += candidate_runs;
            }
        }
        baseline.min(candidate)
    }

    /// The evidence with the lower bound at level `alpha`, to which Holm's correction is still to be applied, and the bounds
    /// at any level.
    pub(super) fn weigh(&self, alpha: f64) -> Result<(Evidence, Bounds), (Side, Unusable)> {
        let strata = self.strata()?;
        let (base, other) = strata.means();
        let means = MeansOfBoth {
            baseline: base,
            candidate: other,
        };
        let bounds = strata.bounds(self.noise);
        let fail_above = fail_above(&self.tolerance, base);
        let (baseline, candidate) = strata.runs();
        let runs = RunsOfBoth { baseline, candidate };
        let evidence = Evidence {
            runs,
            means,
            machines: strata.parts().len(),
            spread: strata.spread(),
            contrast: bounds.contrast(),
            lower: bounds.lower(alpha),
            fail_level: alpha,
            fail_above,
            p_fail: bounds.p_above(fail_above.ratio),
            upper: bounds.upper(alpha),
            pass_level: alpha,
            pass_below: pass_below(&self.tolerance, base),
            groups: bounds.groups(alpha),
            missed: largest_missed_share(runs.least()),
        };
        Ok((evidence, bounds))
    }
}
