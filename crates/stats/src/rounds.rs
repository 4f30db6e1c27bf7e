//! Growth over the rounds of several runs: slopes with bounds, and the number of rounds that would decide.

use base::band::LeakLimit;
use base::units::median_of;

use super::bounds::Bounded;
use super::student::upper_quantile;
use super::trend::theil_sen;

/// Rounds that are left out at the beginning: caches fill.
pub const WARM_UP_CYCLES: usize = 2;

/// A run that falls by more than this share of the growth rises and falls: it does not grow.
pub(super) const MOST_FALL: f64 = 0.8;

/// The level at which the last third is slower than the middle third, and at which it is not slower by half.
const THIRDS_ALPHA: f64 = 0.05;

/// The last third is slower by at least this share of the slope: where there is next to no noise, any less is significant.
const SLOWER: f64 = 0.1;

/// The level at which growth is bent.
const BENT_ALPHA: f64 = 0.01;

/// Growth slows down if the slope of the last half is at most this share of the first third's.
const BENT: f64 = 0.8;

/// A cache that fills keeps at most this share of its slope from one third to the next, while it is not yet shown to slow
/// down.
const GOES_ON: f64 = 0.5;

/// The chance of an answer that a number of rounds should have before it is recommended.
const WANTED: f64 = 0.8;

const MOST_ROUNDS: f64 = 1_000.0;

/// Runs have slopes of their own if these vary by this many times what the scatter within runs makes likely.
const OWN_SLOPES: f64 = 2.0;

/// A few runs do not know how far their slopes are apart: the bound that a later session needs in 80 of 100 cases is
/// higher by about this share per degree of freedom, for 3 to 12 runs.
const SEEN_BY_RUNS: f64 = 1.5;

/// The mean slope over the runs, with what its error allows to say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slopes {
    pub mean: f64,
    /// The standard error of the mean.
    error: f64,
    /// The standard error, no smaller than the scatter within runs makes likely.
    cautious: f64,
    /// Values this many errors from the mean are excluded.
    t: f64,
    /// The least distance above a limit that puts the lower bound above it with a chance of 80 %.
    detectable: f64,
}

impl Slopes {
    /// The Theil–Sen slopes of one part of each run.
    fn of_parts(parts: &[&[f64]], t: f64) -> Slopes {
        let slopes: Vec<f64> = parts.iter().map(|part| theil_sen(part)).collect();
        let variances = parts.iter().zip(&slopes).map(|(part, slope)| scatter(part, *slope));
        let within = variances.sum::<f64>() / slopes.len() as f64;
        Slopes::new(&slopes, within, t)
    }

    /// `within` is the variance of a slope by the scatter within its run, in the mean of the runs.
    fn new(slopes: &[f64], within: f64, t: f64) -> Slopes {
        let runs = slopes.len() as f64;
        let mean = slopes.iter().sum::<f64>() / runs;
        let between = slopes.iter().map(|slope| (slope - mean).powi(2)).sum::<f64>() / (runs - 1.0).max(1.0);
        let freedom = (runs - 1.0).max(1.0);
        let error = (between / runs).sqrt();
        let cautious = (between.max(within) / runs).sqrt();
        // The mean falls short of the true slope by more than this many errors with a chance of 20 %.
        let short = upper_quantile(1.0 - WANTED, freedom);
        let mut detectable = (t + short) * cautious;
        if between > OWN_SLOPES * within {
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

    pub fn upper(&self) -> f64 {
        self.mean + self.t * self.cautious
    }
}

/// The evidence in the rounds that count, over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weighed {
    /// The slopes over all of them.
    pub whole: Slopes,
    /// The slopes over their last half.
    pub late: Slopes,
    /// True if growth is shown to slow down, and by more than a little.
    pub is_slowing: bool,
    /// Steps from the first round to the last.
    steps: f64,
    /// The growth over all of them.
    pub gain: f64,
    /// The largest fall of any run below its previous maximum.
    pub fall: f64,
}

impl Weighed {
    /// Takes at least one run; each has at least six rounds that count.
    pub fn new(runs: &[Vec<f64>], alpha: f64) -> Weighed {
        let t = upper_quantile(alpha, (runs.len() - 1) as f64);
        let all: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        let halves: Vec<&[f64]> = all.iter().map(|run| last_half(run)).collect();
        let whole = Slopes::of_parts(&all, t);
        let steps = runs.iter().map(Vec::len).min().unwrap_or(0).saturating_sub(1) as f64;
        Weighed {
            whole,
            late: Slopes::of_parts(&halves, t),
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
    pub fn late_bounds(&self) -> Bounded {
        Bounded {
            value: self.late.mean,
            low: self.late.lower(),
            high: self.late.upper(),
        }
    }
}

pub(super) fn last_half(values: &[f64]) -> &[f64] {
    &values[values.len() - values.len() / 2..]
}

/// The middle and the last third of a run, in this order, with their slopes.
struct LateThirds<'r> {
    parts: [&'r [f64]; 2],
    slopes: [f64; 2],
}

impl LateThirds<'_> {
    fn new(run: &[f64]) -> LateThirds<'_> {
        let third = run.len().div_ceil(3);
        let parts = [2 * third, third].map(|from_end| &run[run.len() - from_end..][..third]);
        LateThirds {
            parts,
            slopes: parts.map(theil_sen),
        }
    }

    /// The sum of both slopes, each times its factor.
    fn combined_slope(&self, factors: [f64; 2]) -> f64 {
        factors[0] * self.slopes[0] + factors[1] * self.slopes[1]
    }

    /// The variance of that sum by the scatter within both thirds.
    fn combined_scatter(&self, factors: [f64; 2]) -> f64 {
        let [middle, last] = [0, 1].map(|part| factors[part].powi(2) * scatter(self.parts[part], self.slopes[part]));
        middle + last
    }
}

/// The combined slopes of the late thirds over the runs.
fn combined_slopes(runs: &[LateThirds<'_>], factors: [f64; 2]) -> Slopes {
    let t = upper_quantile(THIRDS_ALPHA, (runs.len() - 1) as f64);
    let slopes: Vec<f64> = runs.iter().map(|run| run.combined_slope(factors)).collect();
    let within = mean(runs.iter().map(|run| run.combined_scatter(factors)));
    Slopes::new(&slopes, within, t)
}

/// True if growth slows down as it does while a cache fills: the last third is shown to be slower than the middle third;
/// or all rounds are bent, as those of a small cache are before that shows, and the last third is not shown to have more
/// than half of the slope of the middle third.
fn is_slowing(runs: &[&[f64]]) -> bool {
    let thirds: Vec<LateThirds<'_>> = runs.iter().map(|run| LateThirds::new(run)).collect();
    let change = combined_slopes(&thirds, [-1.0, 1.0]);
    let middle_slope = mean(thirds.iter().map(|run| run.slopes[0]));
    let is_slower = change.upper() < 0.0 && -change.mean >= SLOWER * middle_slope;
    let goes_on = combined_slopes(&thirds, [GOES_ON, -1.0]).upper() < 0.0;
    is_slower || (is_bent(runs) && !goes_on)
}

/// True if the runs bend down together: the quadratic term of a least-squares parabola, by the scatter about it within
/// runs, is below 0, and the last half is flatter than the first third by more than a little.
pub(super) fn is_bent(runs: &[&[f64]]) -> bool {
    let early = mean(runs.iter().map(|run| theil_sen(&run[..run.len() / 3])));
    let late = mean(runs.iter().map(|run| theil_sen(last_half(run))));
    let bends: Vec<Bend> = runs.iter().map(|run| Bend::new(run)).collect();
    let freedom: f64 = bends.iter().map(|bend| bend.freedom).sum();
    if freedom < 1.0 || late > BENT * early {
        return false;
    }
    let scatter = bends.iter().map(|bend| bend.squares).sum::<f64>() / freedom;
    let bend = mean(bends.iter().map(|bend| bend.quadratic));
    let error = mean(bends.iter().map(|bend| scatter / bend.weight)) / runs.len() as f64;
    bend + upper_quantile(BENT_ALPHA, freedom) * error.sqrt() < 0.0
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// The least-squares parabola through the rounds of a run.
struct Bend {
    quadratic: f64,
    /// The sum of squares of the term that it is estimated by.
    weight: f64,
    /// The sum of squares of the values about the parabola.
    squares: f64,
    /// The number of values less the number of terms.
    freedom: f64,
}

/// A value above the mean of its run, with the orthogonal polynomials of equal steps at its round.
struct Point {
    value: f64,
    linear: f64,
    quadratic: f64,
}

impl Bend {
    fn new(values: &[f64]) -> Bend {
        let n = values.len() as f64;
        let level = values.iter().sum::<f64>() / n;
        let width = (n * n - 1.0) / 12.0;
        let mut points: Vec<Point> = Vec::new();
        for (round, value) in values.iter().enumerate() {
            let step = round as f64 - (n - 1.0) / 2.0;
            points.push(Point {
                value: value - level,
                linear: step,
                quadratic: step * step - width,
            });
        }
        let linear_weight: f64 = points.iter().map(|point| point.linear * point.linear).sum();
        let weight: f64 = points.iter().map(|point| point.quadratic * point.quadratic).sum();
        let slope = points.iter().map(|point| point.value * point.linear).sum::<f64>() / linear_weight;
        let quadratic = points.iter().map(|point| point.value * point.quadratic).sum::<f64>() / weight;
        let residuals = points
            .iter()
            .map(|point| point.value - slope * point.linear - quadratic * point.quadratic);
        Bend {
            quadratic,
            weight,
            squares: residuals.map(|residual| residual.powi(2)).sum(),
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
    let level = median_of(flat.clone());
    let squares: f64 = flat.iter().map(|value| (value - level).powi(2)).sum();
    squares / (n - 2.0) / (n * (n * n - 1.0) / 12.0)
}

/// The largest fall below the highest value before it.
pub(super) fn fall(values: &[f64]) -> f64 {
    let mut highest = f64::NEG_INFINITY;
    let mut largest_fall = 0.0_f64;
    for value in values {
        highest = highest.max(*value);
        largest_fall = largest_fall.max(highest - value);
    }
    largest_fall
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
    let as_now = Filled {
        slope: weighed.late.mean,
        rounds: 0.0,
    };
    let filled = if weighed.is_slowing {
        filled_cache(runs, limit).unwrap_or(as_now)
    } else {
        as_now
    };
    let to_fail = filled.slope - limit.slope;
    let to_pass = limit.ruled_out - filled.slope;
    let by_noise = rounds * (errors * weighed.late.cautious / to_fail.max(to_pass)).powf(2.0 / 3.0);
    // A run that rises and falls only counts as growth once it has grown by more than it falls.
    let by_fall = if to_fail > to_pass {
        weighed.fall / (MOST_FALL * filled.slope)
    } else {
        0.0
    };
    let needed = by_noise.max(filled.rounds).max(by_fall) + WARM_UP_CYCLES as f64;
    let more = needed.max(rounds + WARM_UP_CYCLES as f64 + 1.0);
    if more <= MOST_ROUNDS {
        Some((more / 5.0).ceil() as usize * 5)
    } else {
        None
    }
}

/// Growth after a cache has filled.
struct Filled {
    /// The slope that is left.
    slope: f64,
    /// The number of rounds of which half lie behind the filling.
    rounds: f64,
}

/// Extrapolates slowing growth; `None` if the last third is no slower than the middle one.
fn filled_cache(runs: &[Vec<f64>], limit: &LeakLimit) -> Option<Filled> {
    let rounds = runs.iter().map(Vec::len).min()?;
    let third = rounds / 3;
    let [early, central, last] = [3, 2, 1].map(|thirds_from_end| {
        let from_end = thirds_from_end * third;
        mean(runs.iter().map(|run| theil_sen(&run[run.len() - from_end..][..third])))
    });
    let (before, after) = (early - central, central - last);
    if after <= 0.0 {
        return None;
    }
    // If the thirds do not show how fast it slows down, each is assumed to halve the slope.
    let shrinks = (before / after).max(2.0);
    let left = after / (shrinks - 1.0);
    let small = limit.ruled_out / 16.0;
    let more = (left / small).max(1.0).ln() / shrinks.ln() * third as f64;
    Some(Filled {
        slope: last - left,
        rounds: 2.0 * (rounds as f64 - third as f64 / 2.0 + more),
    })
}
