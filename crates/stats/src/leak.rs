//! Memory growth from round to round: a slope per run, and the verdict over several runs.

use serde::Serialize;

use crate::schedule::Schedule;
use base::band::{LEAST_ROUNDS, LeakLimit};
use base::shown;
use base::units::median_of;

use super::bounds::Bounded;
use super::endpoint::Answer;
use super::rounds::{MOST_FALL, WARM_UP_CYCLES, Weighed, fall, is_bent, last_half, rounds_needed};
use super::shape::{Shape, shape};
use super::trend::{Trend, trend};

pub const LEAST_CYCLES: usize = 8;

pub const LEAST_RUNS: usize = 3;

/// The chance of a false "grows" that one verdict may have.
pub const LEAK_ALPHA: f64 = 0.05;

/// Memory is counted in pages, and growth by less than one in a round is not called growth: every server has some.
const PAGE: f64 = 4_096.0;

/// Less growth over all rounds has no shape, unless it is shown.
const FLAT: f64 = 65_536.0;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunGrowth {
    /// The slope per round with its 95 % interval, over the rounds that count.
    #[serde(flatten)]
    pub trend: Trend,
    /// The growth over the last half of them: its Theil–Sen slope times its length.
    pub late: f64,
    /// The least slope per round that would have been shown in 80 of 100 such runs.
    pub detectable: f64,
    /// How it grows.
    pub shape: Shape,
    /// Whether it grows, by this run alone: that goes on in the last half of at least 20 rounds, neither slowing down nor falling again.
    #[serde(rename = "grows")]
    pub growth: Growth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// Growth above the limit, which goes on in the last half.
    #[serde(rename = "yes")]
    Above,
    /// What must be ruled out is ruled out for the last half.
    #[serde(rename = "no")]
    Below,
    Unclear,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeakVerdict {
    /// FAIL when growth over the limit is shown, PASS when growth that matters is ruled out.
    pub answer: Answer,
    /// Each run; `None` for one with fewer than eight rounds or an unknown value.
    #[serde(skip)]
    pub runs: Vec<Option<RunGrowth>>,
    /// The median of the runs' slopes, and the hull of their intervals; `None` without any.
    #[serde(flatten, serialize_with = "shown::<SlopeOfRuns, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "SlopeOfRuns"))]
    pub slope: Option<Bounded>,
    /// The mean slope of the last half over the runs with its one-sided bounds; `None` with too few runs or rounds.
    #[serde(flatten, serialize_with = "shown::<LateSlopes, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "LateSlopes"))]
    pub late: Option<Bounded>,
    /// The least slope per round that would have been shown with a chance of 80 %, in bytes; `None` with too few runs
    /// or rounds.
    #[serde(rename = "detectable_slope")]
    pub detectable: Option<f64>,
    /// The shape of the runs' mean; `None` without any run.
    #[serde(skip)]
    pub shape: Option<Shape>,
    /// Why nothing is decided; `None` where it is.
    #[serde(skip)]
    pub open: Option<Open>,
    /// How many rounds would probably decide it; `None` where it is decided, where runs are missing, and where no sensible
    /// number would.
    #[serde(rename = "needed_rounds")]
    pub needed: Option<usize>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SlopeOfRuns {
    /// The median of the runs' slopes, in bytes per round; `null` of too few rounds.
    slope: Option<f64>,
    /// Lowest lower end of the runs' intervals.
    low: Option<f64>,
    /// Highest upper end of the runs' intervals.
    high: Option<f64>,
}

impl From<&Option<Bounded>> for SlopeOfRuns {
    fn from(slope: &Option<Bounded>) -> SlopeOfRuns {
        SlopeOfRuns {
            slope: slope.map(|slope| slope.value),
            low: slope.map(|slope| slope.low),
            high: slope.map(|slope| slope.high),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LateSlopes {
    /// The mean slope of the last half of the rounds, in bytes per round; `null` of too few runs or rounds.
    late: Option<f64>,
    /// Its lower bound: above the limit it fails.
    late_lower: Option<f64>,
    /// Its upper bound: below what must be ruled out it passes.
    late_upper: Option<f64>,
}

impl From<&Option<Bounded>> for LateSlopes {
    fn from(late: &Option<Bounded>) -> LateSlopes {
        LateSlopes {
            late: late.map(|slope| slope.value),
            late_lower: late.map(|slope| slope.low),
            late_upper: late.map(|slope| slope.high),
        }
    }
}

/// A reason why growth is neither shown nor ruled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// There are fewer than three runs.
    Runs,
    /// There are not three runs of enough rounds, all of known memory.
    Rounds,
    /// A run did not do the work that would make it grow. The caller sets this: a series of values does not show it.
    Unasked,
    /// It grows, and slower and slower: a cache fills, and what grows under it cannot be seen yet.
    Slowing,
    /// It grows, and a run also falls by as much.
    Falling,
    /// The runs are too far apart.
    Noise,
}

/// Judges the values at the end of each round, one series per run: after the decay window, of the purged lens.
///
/// The first two rounds are left out. Over the runs, one-sided t at `alpha` of the Theil–Sen slopes of all rounds and of
/// their last half. FAIL when both are above the limit and a page or more, growth is not shown to slow down, and no run
/// falls by 0.8 of the growth or more. PASS when the upper bound of the last half is below what must be ruled
/// out. Otherwise, and of fewer than three runs of twenty rounds, INCONCLUSIVE.
///
/// As-shipped values grow by what the allocator keeps: call it retention growth, never a leak.
pub fn judge_leak(runs: &[Vec<Option<f64>>], limit: &LeakLimit, alpha: f64) -> LeakVerdict {
    let growths: Vec<Option<RunGrowth>> = runs.iter().map(|values| run_growth(values, limit)).collect();
    let long = known_runs(runs, LEAST_ROUNDS);
    let mut verdict = LeakVerdict {
        answer: Answer::Inconclusive,
        slope: hull(&growths),
        runs: growths,
        late: None,
        detectable: None,
        shape: mean_shape(runs, false),
        open: Some(Open::Runs),
        needed: None,
    };
    if runs.len() < LEAST_RUNS {
        return verdict;
    }
    if long.len() < LEAST_RUNS {
        verdict.open = Some(Open::Rounds);
        verdict.needed = Some(LEAST_ROUNDS);
        return verdict;
    }
    let weighed = Weighed::new(&long, alpha);
    (verdict.answer, verdict.open) = answer(&weighed, limit);
    if verdict.open.is_some() {
        verdict.needed = rounds_needed(&long, &weighed, limit, alpha);
    }
    verdict.late = Some(weighed.late_bounds());
    verdict.detectable = Some(weighed.detectable(limit.slope).max(PAGE));
    if verdict.answer == Answer::Fail {
        verdict.shape = mean_shape(runs, true);
    }
    verdict
}

/// Judges the runs up to each look at its share of α, and stops at the first answer.
pub fn judge_leak_by_looks(runs: &[Vec<Option<f64>>], limit: &LeakLimit, looks: &Schedule) -> LeakVerdict {
    let alpha = looks.alpha_each();
    let mut verdict = None;
    for look in looks.runs() {
        if *look > runs.len() {
            break;
        }
        let now = judge_leak(&runs[..*look], limit, alpha);
        let is_decided = now.answer != Answer::Inconclusive;
        verdict = Some(now);
        if is_decided {
            break;
        }
    }
    // Before the first look there is something to print, but nothing to decide.
    verdict.unwrap_or_else(|| LeakVerdict {
        answer: Answer::Inconclusive,
        open: Some(Open::Runs),
        needed: None,
        ..judge_leak(runs, limit, alpha)
    })
}

/// The answer, and the reason where there is none.
pub(super) fn answer(weighed: &Weighed, limit: &LeakLimit) -> (Answer, Option<Open>) {
    let (whole, late) = (&weighed.whole, &weighed.late);
    let is_growing = is_shown(whole.mean, whole.lower(), limit) && is_shown(late.mean, late.lower(), limit);
    let is_falling = weighed.fall >= MOST_FALL * weighed.gain;
    if is_growing && !weighed.is_slowing && !is_falling {
        return (Answer::Fail, None);
    }
    if late.upper() < limit.ruled_out {
        return (Answer::Pass, None);
    }
    let open = if weighed.is_slowing && (is_growing || late.mean > 0.0) {
        Open::Slowing
    } else if is_growing {
        Open::Falling
    } else {
        Open::Noise
    };
    (Answer::Inconclusive, Some(open))
}

/// True if a slope with this lower bound is shown to be above the limit, and is a page or more.
fn is_shown(slope: f64, lower: f64, limit: &LeakLimit) -> bool {
    lower > limit.slope && slope >= PAGE
}

/// The rounds that count; `None` where a value of any round is not known.
pub(super) fn counted_rounds(values: &[Option<f64>]) -> Option<Vec<f64>> {
    let known: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
    if known.iter().any(|value| !value.is_finite()) {
        return None;
    }
    Some(known[WARM_UP_CYCLES.min(known.len())..].to_vec())
}

/// The rounds that count of each run that has at least this many rounds, all of them known.
fn known_runs(runs: &[Vec<Option<f64>>], least_rounds: usize) -> Vec<Vec<f64>> {
    let long = runs.iter().filter(|values| values.len() >= least_rounds);
    long.filter_map(|values| counted_rounds(values)).collect()
}

/// The median of the runs' slopes, with the lowest and the highest end of their intervals.
fn hull(runs: &[Option<RunGrowth>]) -> Option<Bounded> {
    let trends: Vec<Trend> = runs.iter().flatten().map(|run| run.trend).collect();
    if trends.is_empty() {
        return None;
    }
    Some(Bounded {
        value: median_of(trends.iter().map(|trend| trend.slope).collect()),
        low: trends.iter().map(|trend| trend.low).fold(f64::INFINITY, f64::min),
        high: trends.iter().map(|trend| trend.high).fold(f64::NEG_INFINITY, f64::max),
    })
}

/// The shape of the mean over the runs, which has less noise than each run.
fn mean_shape(runs: &[Vec<Option<f64>>], is_growing: bool) -> Option<Shape> {
    let known = known_runs(runs, LEAST_CYCLES);
    let rounds = known.iter().map(Vec::len).min()?;
    let mut means = Vec::new();
    for round in 0..rounds {
        means.push(known.iter().map(|run| run[round]).sum::<f64>() / known.len() as f64);
    }
    let least = if is_growing { 0.0 } else { least_growth(&means) };
    shape(&means, least)
}

/// The least growth from the first third to the last that stands out of the noise, by the median change from round to
/// round.
fn least_growth(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual = median_of(steps.clone());
    let noise = 1.4826 * median_of(steps.iter().map(|step| (step - usual).abs()).collect()) / 2.0_f64.sqrt();
    FLAT.max(2.0 * noise)
}

/// The least distance above a limit at which intervals this wide lie above it in 80 of 100 runs: half of the width, and
/// as much more as estimate and width vary from run to run, by simulation.
fn detectable_distance(width: f64) -> f64 {
    const MORE: f64 = 0.65;
    width / 2.0 * (1.0 + MORE)
}

/// The growth of one run, which alone is no verdict. `None` of fewer than eight rounds, or where a value is not known.
pub fn run_growth(values: &[Option<f64>], limit: &LeakLimit) -> Option<RunGrowth> {
    if values.len() < LEAST_CYCLES {
        return None;
    }
    let rounds = counted_rounds(values)?;
    let all = trend(&rounds, 0.95)?;
    let half = last_half(&rounds);
    let late = trend(half, 0.95)?;
    let fall = fall(&rounds);
    let steps = (rounds.len() - 1) as f64;
    let is_falling = fall >= MOST_FALL * all.slope * steps;
    let is_growing = is_shown(all.slope, all.low, limit) && is_shown(late.slope, late.low, limit);
    let growth = if values.len() < LEAST_ROUNDS {
        Growth::Unclear
    } else if is_growing && !is_bent(&[&rounds]) && !is_falling {
        Growth::Above
    } else if late.high < limit.ruled_out {
        Growth::Below
    } else {
        Growth::Unclear
    };
    let least = if all.low > 0.0 { 0.0 } else { least_growth(&rounds) };
    Some(RunGrowth {
        trend: all,
        late: late.slope * (half.len() - 1) as f64,
        detectable: (limit.slope + detectable_distance(late.high - late.low))
            .max(fall / (MOST_FALL * steps))
            .max(PAGE),
        shape: shape(&rounds, least)?,
        growth,
    })
}
