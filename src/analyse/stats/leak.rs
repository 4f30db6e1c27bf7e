//! Whether memory grows from cycle to cycle: a slope per run, and several runs that agree.

use super::decide::Answer;
use super::median::middle;
use super::shape::{Shape, shape};
use super::trend::{Trend, trend};

/// Fewer cycles say nothing of a slope.
pub const LEAST_CYCLES: usize = 8;

/// Cycles that are left out at the beginning: caches fill.
pub const WARM_UP_CYCLES: usize = 2;

/// Fewer runs cannot agree "all but one".
pub const LEAST_RUNS: usize = 3;

/// What growth is tolerated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeakLimit {
    /// Per cycle, in the unit of the values.
    pub slope: f64,
    /// Over the last half of the cycles, as a share of the level; the larger of both counts.
    pub relative: f64,
    /// Over the last half of the cycles, in the unit of the values.
    pub absolute: f64,
}

impl Default for LeakLimit {
    /// 64 KiB per cycle, which is the noise floor, and 1 % or 2 MiB over the last half.
    fn default() -> LeakLimit {
        LeakLimit {
            slope: 65_536.0,
            relative: 0.01,
            absolute: 2.0 * 1_048_576.0,
        }
    }
}

/// One run's growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunGrowth {
    /// The slope per cycle with its 95 % interval, over the cycles that count.
    pub trend: Trend,
    /// The growth over the last half of them: its Theil–Sen slope times its length.
    pub late: f64,
    /// What `late` must exceed to matter.
    pub least: f64,
    /// How it grows.
    pub shape: Shape,
    /// What this run says alone.
    pub growth: Growth,
}

/// What one run says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The whole interval is above the limit and the late growth matters.
    Above,
    /// The whole interval is below the limit.
    Below,
    /// Neither.
    Unclear,
}

/// Whether there is a leak.
#[derive(Clone, Debug, PartialEq)]
pub struct LeakVerdict {
    /// FAIL when growth over the limit is shown, PASS when it is ruled out.
    pub answer: Answer,
    /// Each run; `None` for one with too few cycles or an unknown value.
    pub runs: Vec<Option<RunGrowth>>,
    /// The median of the runs' slopes, and the hull of their intervals; `None` without any.
    pub slope: Option<(f64, f64, f64)>,
}

/// Judges the values at the end of each cycle, one series per run: after the decay window, of the purged lens.
///
/// The first two cycles are left out. FAIL when at least all runs but one, of three or more, have the lower end of their
/// slope's interval above the limit *and* have grown over the last half by more than `max(relative × level, absolute)`,
/// which a cache that has filled up has not. PASS when all but one have the upper end below the limit and none says
/// FAIL. Otherwise, and with fewer cycles or runs, INCONCLUSIVE. A run without a verdict counts as a run.
///
/// As-shipped values grow by what the allocator keeps: call it retention growth, never a leak.
pub fn judge_leak(runs: &[Vec<Option<f64>>], limit: &LeakLimit) -> LeakVerdict {
    let runs: Vec<Option<RunGrowth>> = runs.iter().map(|values| run_growth(values, limit)).collect();
    let says = |growth| runs.iter().flatten().filter(|run| run.growth == growth).count();
    let (above, below) = (says(Growth::Above), says(Growth::Below));
    let known: Vec<RunGrowth> = runs.iter().flatten().copied().collect();
    let answer = if known.len() < LEAST_RUNS {
        Answer::Inconclusive
    } else if above + 1 >= runs.len() {
        Answer::Fail
    } else if above == 0 && below + 1 >= runs.len() {
        Answer::Pass
    } else {
        Answer::Inconclusive
    };
    let slope = (!known.is_empty()).then(|| {
        let slopes = known.iter().map(|run| run.trend.slope).collect();
        let low = known.iter().map(|run| run.trend.low).fold(f64::INFINITY, f64::min);
        let high = known.iter().map(|run| run.trend.high).fold(f64::NEG_INFINITY, f64::max);
        (middle(slopes), low, high)
    });
    LeakVerdict { answer, runs, slope }
}

/// The growth of one run, which alone is no verdict. `None` of fewer than eight cycles, or where a value is not known.
pub fn run_growth(values: &[Option<f64>], limit: &LeakLimit) -> Option<RunGrowth> {
    let values: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
    if values.len() < LEAST_CYCLES {
        return None;
    }
    let kept = &values[WARM_UP_CYCLES..];
    let trend_of_all = trend(kept, 0.95)?;
    let half = kept.len() / 2;
    let late = trend(&kept[kept.len() - half..], 0.95)?.slope * (half - 1) as f64;
    let least = limit.absolute.max(limit.relative * middle(kept.to_vec()));
    let growth = if trend_of_all.low > limit.slope && late > least {
        Growth::Above
    } else if trend_of_all.high < limit.slope {
        Growth::Below
    } else {
        Growth::Unclear
    };
    Some(RunGrowth {
        trend: trend_of_all,
        late,
        least,
        shape: shape(kept, least)?,
        growth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    fn run(cycles: usize, value: impl Fn(f64) -> f64) -> Vec<Option<f64>> {
        // A spread of 0.1 %, the purged lens's, that is the same on every machine.
        let noise = |cycle: f64| 1.0 + 0.001 * (cycle * 12.9).sin();
        (0..cycles)
            .map(|cycle| Some(MIB * value(cycle as f64) * noise(cycle as f64)))
            .collect()
    }

    fn answer(runs: &[Vec<Option<f64>>]) -> Answer {
        judge_leak(runs, &LeakLimit::default()).answer
    }

    #[test]
    fn a_leak_in_every_run_fails_and_is_sized() {
        let verdict = judge_leak(&vec![run(10, |cycle| 160.0 + 2.0 * cycle); 3], &LeakLimit::default());
        assert_eq!(verdict.answer, Answer::Fail);
        let (slope, low, high) = verdict.slope.unwrap();
        assert!(
            (slope / MIB - 2.0).abs() < 0.1 && low <= slope && slope <= high,
            "{verdict:?}"
        );
        assert!(verdict.runs.iter().flatten().all(|run| run.shape == Shape::Linear));
    }

    #[test]
    fn a_server_that_keeps_its_level_passes() {
        assert_eq!(answer(&vec![run(20, |_| 160.0); 3]), Answer::Pass);
    }

    #[test]
    fn a_cache_that_fills_up_is_no_leak() {
        let filling = run(20, |cycle| 200.0 - 40.0 * (-cycle / 2.0).exp());
        let verdict = judge_leak(&vec![filling; 3], &LeakLimit::default());
        assert_ne!(verdict.answer, Answer::Fail, "{verdict:?}");
    }

    #[test]
    fn growth_over_the_limit_that_adds_up_to_little_is_unclear() {
        let steady: Vec<Option<f64>> = (0..8)
            .map(|cycle| Some(160.0 * MIB + 100_000.0 * f64::from(cycle)))
            .collect();
        let verdict = judge_leak(&vec![steady; 3], &LeakLimit::default());
        assert_eq!(verdict.answer, Answer::Inconclusive, "{verdict:?}");
        assert_eq!(verdict.slope, Some((100_000.0, 100_000.0, 100_000.0)));
    }

    #[test]
    fn one_run_of_three_may_differ_but_not_two() {
        let leak = run(10, |cycle| 160.0 + 2.0 * cycle);
        let flat = run(20, |_| 160.0);
        assert_eq!(answer(&[leak.clone(), leak.clone(), flat.clone()]), Answer::Fail);
        assert_eq!(answer(&[leak, flat.clone(), flat]), Answer::Inconclusive);
    }

    #[test]
    fn too_few_runs_or_cycles_never_pass() {
        let flat = run(20, |_| 160.0);
        let mut unknown = flat.clone();
        unknown[5] = None;
        assert_eq!(answer(&[]), Answer::Inconclusive);
        assert_eq!(answer(&[flat.clone(), flat.clone()]), Answer::Inconclusive);
        assert_eq!(answer(&vec![flat[..7].to_vec(); 3]), Answer::Inconclusive);
        assert_eq!(answer(&[flat.clone(), flat.clone(), unknown]), Answer::Inconclusive);
        assert_eq!(answer(&vec![vec![]; 5]), Answer::Inconclusive);
        assert_eq!(answer(&vec![vec![Some(f64::INFINITY); 20]; 5]), Answer::Inconclusive);
    }
}
