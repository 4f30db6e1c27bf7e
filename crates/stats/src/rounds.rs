//! What the rounds of several runs say of growth: slopes with bounds, and how many rounds would say more.

use base::band::LeakLimit;
use base::units::middle;

use super::student::upper_quantile;
use super::trend::theil_sen;

/// Rounds that are left out at the beginning: caches fill.
pub const WARM_UP_CYCLES: usize = 2;

/// A run that falls by more than this share of the growth rises and falls: it does not grow.
pub(super) const MOST_FALL: f64 = 0.8;

/// The level at which the last third is slower than the middle third, and at which it is not slower by half.
const THIRDS_ALPHA: f64 = 0.05;

/// By how much of its slope the last third is at least slower: where there is next to no noise, any less is significant.
const SLOWER: f64 = 0.1;

/// The level at which growth is bent.
const BENT_ALPHA: f64 = 0.01;

/// Growth slows down if the slope of the last half is at most this share of the first third's.
const BENT: f64 = 0.8;

/// What a cache that fills has left at most of its slope from one third to the next, where it is not yet seen to slow down.
const GOES_ON: f64 = 0.5;

/// The chance of an answer that a number of rounds should have before it is recommended.
const WANTED: f64 = 0.8;

const MOST_ROUNDS: f64 = 1_000.0;

/// Runs have slopes of their own if these vary by this many times what the scatter within runs makes likely.
const OWN_SLOPES: f64 = 2.0;

/// A few runs do not know how far their slopes are apart: the bound that a later session needs in 80 of 100 cases is
/// higher by about this share per degree of freedom, for 3 to 12 runs.
const SEEN_BY_RUNS: f64 = 1.5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slopes {
    pub mean: f64,
    /// The standard error of the mean.
    error: f64,
    /// The same, with all of what the scatter within runs makes likely.
    cautious: f64,
    /// Values this many errors from the mean are excluded.
    t: f64,
    /// The least distance above a limit that puts the lower bound above it with a chance of 80 %.
    detectable: f64,
}

impl Slopes {
    /// The slopes of the same part of each run.
    fn of(parts: &[&[f64]], t: f64) -> Slopes {
        let slopes: Vec<f64> = parts.iter().map(|part| theil_sen(part)).collect();
        let own = parts.iter().zip(&slopes).map(|(part, slope)| scatter(part, *slope));
        Slopes::from(&slopes, own.sum::<f64>() / slopes.len() as f64, t)
    }

    /// For slopes whose own variance within runs is known.
    fn from(slopes: &[f64], own: f64, t: f64) -> Slopes {
        let runs = slopes.len() as f64;
        let mean = slopes.iter().sum::<f64>() / runs;
        let between = slopes.iter().map(|slope| (slope - mean).powi(2)).sum::<f64>() / (runs - 1.0).max(1.0);
        let freedom = (runs - 1.0).max(1.0);
        let (error, cautious) = ((between / runs).sqrt(), (between.max(own) / runs).sqrt());
        // The mean falls short of the true slope by more than this many errors with a chance of 20 %.
        let short = upper_quantile(1.0 - WANTED, freedom);
        let mut detectable = (t + short) * cautious;
        if between > OWN_SLOPES * own {
            detectable = detectable.max((t * (1.0 + SEEN_BY_RUNS / freedom) + short) * error);
        }
        Slopes {
            mean,
            error,
            cautious,
            t,
            detectable,
        }
    }

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
    /// Whether growth is shown to slow down, and by more than a little.
    pub is_slowing: bool,
    /// Steps from the first round to the last.
    steps: f64,
    /// The growth over all of them.
    pub gain: f64,
    /// The largest fall of any run below its previous maximum.
    pub fall: f64,
}

impl Weighed {
    /// Of one run at least, each of six rounds at least that count.
    pub fn of(runs: &[Vec<f64>], alpha: f64) -> Weighed {
        let t = upper_quantile(alpha, (runs.len() - 1) as f64);
        let all: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        let halves: Vec<&[f64]> = all.iter().map(|run| &run[run.len() - run.len() / 2..]).collect();
        let whole = Slopes::of(&all, t);
        let steps = runs.iter().map(Vec::len).min().unwrap_or(0).saturating_sub(1) as f64;
        Weighed {
            whole,
            late: Slopes::of(&halves, t),
            is_slowing: is_slowing(&all),
            steps,
            gain: whole.mean * steps,
            fall: runs.iter().map(|run| fall(run)).fold(0.0, f64::max),
        }
    }

    /// The slope that is shown to be above `limit` with a chance of 80 %: by its lower bounds over all rounds and over the
    /// last half, and by more growth than the runs fall.
    pub fn detectable(&self, limit: f64) -> f64 {
        let by_bounds = limit + self.whole.detectable.max(self.late.detectable);
        by_bounds.max(self.fall / (MOST_FALL * self.steps))
    }

    /// The slope of the last half with its bounds.
    pub fn late_bounds(&self) -> (f64, f64, f64) {
        (self.late.mean, self.late.lower(), self.late.upper())
    }
}

/// Whether growth slows down as it does while a cache fills: the last third is shown to be slower than the middle third;
/// or all rounds are bent, as those of a small cache are before that shows, and the last third is not shown to have more
/// than half of the slope of the middle third.
fn is_slowing(runs: &[&[f64]]) -> bool {
    let thirds: Vec<[&[f64]; 2]> = runs
        .iter()
        .map(|run| {
            let third = run.len().div_ceil(3);
            [2 * third, third].map(|from| &run[run.len() - from..][..third])
        })
        .collect();
    let slopes: Vec<[f64; 2]> = thirds.iter().map(|parts| parts.map(theil_sen)).collect();
    let t = upper_quantile(THIRDS_ALPHA, (runs.len() - 1) as f64);
    let difference = |of: [f64; 2]| {
        let differences: Vec<f64> = slopes
            .iter()
            .map(|[middle, last]| of[0] * middle + of[1] * last)
            .collect();
        let parts = thirds.iter().zip(&slopes);
        let own = parts.map(|(parts, slopes)| {
            let own = |at: usize| of[at].powi(2) * scatter(parts[at], slopes[at]);
            own(0) + own(1)
        });
        Slopes::from(&differences, own.sum::<f64>() / runs.len() as f64, t)
    };
    let change = difference([-1.0, 1.0]);
    let central = slopes.iter().map(|[middle, _]| middle).sum::<f64>() / runs.len() as f64;
    let is_slower = change.upper() < 0.0 && -change.mean >= SLOWER * central;
    let goes_on = difference([GOES_ON, -1.0]).upper() < 0.0;
    is_slower || (is_bent(runs) && !goes_on)
}

/// Whether the runs bend down together: the quadratic term of a least-squares parabola, by the scatter about it within
/// runs, is below 0, and the last half is flatter than the first third by more than a little.
pub(super) fn is_bent(runs: &[&[f64]]) -> bool {
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / runs.len() as f64;
    let early = mean(&mut runs.iter().map(|run| theil_sen(&run[..run.len() / 3])));
    let late = mean(&mut runs.iter().map(|run| theil_sen(&run[run.len() - run.len() / 2..])));
    let bends: Vec<Bend> = runs.iter().map(|run| Bend::of(run)).collect();
    let freedom: f64 = bends.iter().map(|bend| bend.freedom).sum();
    if freedom < 1.0 || late > BENT * early {
        return false;
    }
    let scatter = bends.iter().map(|bend| bend.squares).sum::<f64>() / freedom;
    let bend = mean(&mut bends.iter().map(|bend| bend.quadratic));
    let error = mean(&mut bends.iter().map(|bend| scatter / bend.weight)) / runs.len() as f64;
    bend + upper_quantile(BENT_ALPHA, freedom) * error.sqrt() < 0.0
}

struct Bend {
    quadratic: f64,
    /// The sum of squares of the term that it is estimated by.
    weight: f64,
    /// The sum of squares of the values about the parabola.
    squares: f64,
    /// How many values more there are than the parabola has terms.
    freedom: f64,
}

impl Bend {
    fn of(values: &[f64]) -> Bend {
        let n = values.len() as f64;
        let level = values.iter().sum::<f64>() / n;
        let width = (n * n - 1.0) / 12.0;
        // Orthogonal polynomials of equal steps.
        let terms = |round: usize| {
            let step = round as f64 - (n - 1.0) / 2.0;
            (step, step * step - width)
        };
        let sum = |of: &dyn Fn(f64, (f64, f64)) -> f64| -> f64 {
            let values = values.iter().enumerate();
            values.map(|(round, value)| of(value - level, terms(round))).sum()
        };
        let weight = sum(&|_, (_, square)| square * square);
        let slope = sum(&|value, (step, _)| value * step) / sum(&|_, (step, _)| step * step);
        let quadratic = sum(&|value, (_, square)| value * square) / weight;
        Bend {
            quadratic,
            weight,
            squares: sum(&|value, (step, square)| (value - slope * step - quadratic * square).powi(2)),
            freedom: n - 3.0,
        }
    }
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

/// The number of rounds, discarded ones included, that would decide with a chance of 80 % if the trend continues.
///
/// The error of a slope falls with the 1.5th power of the rounds. Slowing growth is extrapolated as an exponential
/// approach to a line, from the slopes of the three thirds; the middle of the rounds must lie where it has nearly
/// ended.
pub(super) fn rounds_needed(runs: &[Vec<f64>], weighed: &Weighed, limit: &LeakLimit, alpha: f64) -> Option<usize> {
    let rounds = runs.iter().map(Vec::len).min()? as f64;
    let freedom = (runs.len() - 1) as f64;
    let errors = upper_quantile(alpha, freedom) + upper_quantile(1.0 - WANTED, freedom);
    let (late, filled) = match weighed.is_slowing {
        true => filling(runs, limit).unwrap_or((weighed.late.mean, 0.0)),
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
    // If the thirds do not show how fast it slows down, each is assumed to halve the slope.
    let shrinks = (before / after).max(2.0);
    let left = after / (shrinks - 1.0);
    let small = limit.ruled_out / 16.0;
    let more = (left / small).max(1.0).ln() / shrinks.ln() * third as f64;
    let end = 2.0 * (rounds as f64 - third as f64 / 2.0 + more);
    Some((last - left, end))
}
