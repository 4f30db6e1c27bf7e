//! What the rounds of several runs say of growth: slopes with bounds, and how many rounds would say more.

use super::leak::{LeakLimit, MOST_FALL, WARM_UP_CYCLES};
use super::median::middle;
use super::student::upper_quantile;
use super::trend::theil_sen;

/// The level at which the last third is slower than the middle third.
const SLOWING_ALPHA: f64 = 0.05;

/// By how much of its slope the last third is at least slower: where there is next to no noise, any less is significant.
pub(super) const SLOWER: f64 = 0.1;

/// How much of what the scatter within runs makes likely the spread of the last half's slopes has at least. With all of it,
/// 64 KiB per round would be found less often than nine times in ten; without any, a cache that has just filled is growth.
const OWN_SCATTER: f64 = 0.85;

/// The chance of an answer that a number of rounds should have before it is recommended.
const WANTED: f64 = 0.8;

/// More rounds are not recommended.
const MOST_ROUNDS: f64 = 1_000.0;

/// Slopes of several runs together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slopes {
    /// Their mean.
    pub mean: f64,
    /// The standard error of the mean.
    error: f64,
    /// The same, with all of what the scatter within runs makes likely.
    cautious: f64,
    /// What exceeds the mean by so many errors is excluded.
    t: f64,
}

impl Slopes {
    /// The slopes of the same part of each run.
    fn of(parts: &[&[f64]], share: f64, t: f64) -> Slopes {
        let slopes: Vec<f64> = parts.iter().map(|part| theil_sen(part)).collect();
        let own: f64 = parts
            .iter()
            .zip(&slopes)
            .map(|(part, slope)| scatter(part, *slope))
            .sum();
        Slopes::from(&slopes, own / parts.len() as f64, share, t)
    }

    /// Of these slopes, whose own variance within runs is known.
    fn from(slopes: &[f64], own: f64, share: f64, t: f64) -> Slopes {
        let runs = slopes.len() as f64;
        let mean = slopes.iter().sum::<f64>() / runs;
        let between = slopes.iter().map(|slope| (slope - mean).powi(2)).sum::<f64>() / (runs - 1.0).max(1.0);
        let error = |least: f64| (between.max(least) / runs).sqrt();
        Slopes {
            mean,
            error: error(own * share * share),
            cautious: error(own),
            t,
        }
    }

    /// What the true slope exceeds.
    pub fn lower(&self) -> f64 {
        self.mean - self.t * self.error
    }

    /// What the true slope is below.
    pub fn upper(&self) -> f64 {
        self.mean + self.t * self.cautious
    }
}

/// The rounds that count of several runs, weighed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weighed {
    /// The slopes over all of them.
    pub whole: Slopes,
    /// The slopes over their last half.
    pub late: Slopes,
    /// By how much the last third is steeper than the middle third.
    change: Slopes,
    /// The mean slope of the middle third.
    central: f64,
    /// The growth from the first round to the last.
    pub gain: f64,
    /// The largest fall of any run below what it had reached.
    pub fall: f64,
}

impl Weighed {
    /// Of one run at least, each of six rounds at least that count.
    pub fn of(runs: &[Vec<f64>], alpha: f64) -> Weighed {
        let freedom = (runs.len() - 1) as f64;
        let t = upper_quantile(alpha, freedom);
        let all: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        let halves: Vec<&[f64]> = all.iter().map(|run| &run[run.len() - run.len() / 2..]).collect();
        let whole = Slopes::of(&all, 0.0, t);
        let rounds = runs.iter().map(Vec::len).min().unwrap_or(0);
        let (change, central) = change(runs, upper_quantile(SLOWING_ALPHA, freedom));
        Weighed {
            whole,
            late: Slopes::of(&halves, OWN_SCATTER, t),
            change,
            central,
            gain: whole.mean * rounds.saturating_sub(1) as f64,
            fall: runs.iter().map(|run| fall(run)).fold(0.0, f64::max),
        }
    }

    /// Whether the last third is shown to be slower than the middle third, and by more than a little.
    pub fn is_slowing(&self) -> bool {
        self.change.upper() < 0.0 && -self.change.mean >= SLOWER * self.central
    }

    /// The slope of the last half with its bounds.
    pub fn late_bounds(&self) -> (f64, f64, f64) {
        (self.late.mean, self.late.lower(), self.late.upper())
    }
}

/// The last third's slope minus that of the middle third, and the mean of the latter.
fn change(runs: &[Vec<f64>], t: f64) -> (Slopes, f64) {
    let (mut own, mut central) = (0.0, 0.0);
    let mut differences = Vec::with_capacity(runs.len());
    for run in runs {
        let third = run.len().div_ceil(3);
        let part = |from: usize| &run[run.len() - from..][..third];
        let (middle, last) = (part(2 * third), part(third));
        let (before, after) = (theil_sen(middle), theil_sen(last));
        own += scatter(middle, before) + scatter(last, after);
        differences.push(after - before);
        central += before;
    }
    let runs = runs.len() as f64;
    (Slopes::from(&differences, own / runs, 1.0, t), central / runs)
}

/// The variance of a slope by the scatter of its values about the line.
fn scatter(values: &[f64], slope: f64) -> f64 {
    let n = values.len() as f64;
    if n < 3.0 {
        return 0.0;
    }
    let flat: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(round, value)| value - slope * round as f64)
        .collect();
    let level = middle(flat.clone());
    let squares: f64 = flat.iter().map(|value| (value - level).powi(2)).sum();
    squares / (n - 2.0) / (n * (n * n - 1.0) / 12.0)
}

/// The largest fall below the highest value before it.
pub(super) fn fall(values: &[f64]) -> f64 {
    let mut highest = f64::NEG_INFINITY;
    values.iter().fold(0.0, |fall: f64, value| {
        highest = highest.max(*value);
        fall.max(highest - value)
    })
}

/// How many rounds, those that are left out among them, would decide with a chance of 80 % if everything went on as it does.
///
/// The error of a slope falls with the 1.5th power of the rounds. What slows down is taken as an exponential approach to a
/// line, from the slopes of the three thirds; the middle of the rounds must then lie where it has all but ended.
pub(super) fn rounds_needed(runs: &[Vec<f64>], weighed: &Weighed, limit: &LeakLimit, alpha: f64) -> Option<usize> {
    let rounds = runs.iter().map(Vec::len).min()? as f64;
    let freedom = (runs.len() - 1) as f64;
    let errors = upper_quantile(alpha, freedom) + upper_quantile(1.0 - WANTED, freedom);
    let (late, filled) = match weighed.is_slowing() {
        true => filling(runs, limit)?,
        false => (weighed.late.mean, 0.0),
    };
    let (to_fail, to_pass) = (late - limit.slope, limit.ruled_out - late);
    let by_noise = rounds * (errors * weighed.late.cautious / to_fail.max(to_pass)).powf(2.0 / 3.0);
    // What rises and falls is growth only once it has grown by more than it falls.
    let by_fall = if to_fail > to_pass {
        weighed.fall / (MOST_FALL * late)
    } else {
        0.0
    };
    let needed = by_noise.max(filled).max(by_fall) + WARM_UP_CYCLES as f64;
    let more = needed.max(rounds + WARM_UP_CYCLES as f64 + 1.0);
    (more <= MOST_ROUNDS).then(|| (more / 5.0).ceil() as usize * 5)
}

/// The slope that is left when a cache has filled, and after how many rounds half of them lie behind that.
fn filling(runs: &[Vec<f64>], limit: &LeakLimit) -> Option<(f64, f64)> {
    let rounds = runs.iter().map(Vec::len).min()?;
    let third = rounds / 3;
    let slope = |place: usize| -> f64 {
        let part = |run: &Vec<f64>| theil_sen(&run[run.len() - (3 - place) * third..][..third]);
        runs.iter().map(part).sum::<f64>() / runs.len() as f64
    };
    let (early, central, last) = (slope(0), slope(1), slope(2));
    let (before, after) = (early - central, central - last);
    if after <= 0.0 {
        return None;
    }
    // Where the thirds say nothing of how fast it slows down, each is taken to halve the slope.
    let shrinks = (before / after).max(2.0);
    let left = after / (shrinks - 1.0);
    let small = limit.ruled_out / 16.0;
    let more = (left / small).max(1.0).ln() / shrinks.ln() * third as f64;
    let end = 2.0 * (rounds as f64 - third as f64 / 2.0 + more);
    Some((last - left, end))
}
