//! Axes: positions of values, and round tick values.

use super::tenth;

/// Maps values to positions in a drawing.
pub struct Axis {
    pub low: f64,
    pub high: f64,
    pub is_log: bool,
    pub ticks: Vec<(f64, String)>,
    pub grid: Grid,
    pub name: &'static str,
}

/// How ticks are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// Two texts at the ends of the axis.
    Ends,
    /// A line through the plot for each tick.
    Lines,
    /// A short line below the axis for each tick.
    Notches,
}

impl Axis {
    pub fn new(low: f64, high: f64) -> Axis {
        Axis {
            low,
            high,
            is_log: false,
            ticks: Vec::new(),
            grid: Grid::Ends,
            name: "",
        }
    }

    /// An axis around the values, at least `least` wide, so that noise does not look like a difference.
    pub fn around(values: impl Iterator<Item = f64> + Clone, least: impl Fn(f64) -> f64) -> Axis {
        let Some((low, high)) = ends(values) else {
            return Axis::new(0.0, 1.0);
        };
        let more = ((high - low) * 0.07).max((least(high) - (high - low)) / 2.0);
        Axis::new((low - more).max(0.0), high + more.max(f64::MIN_POSITIVE))
    }

    /// The axis with a text at each end and no grid.
    pub fn with_ends(self, text: impl Fn(f64) -> String) -> Axis {
        let ticks = [self.low, self.high].map(|end| (end, text(end))).to_vec();
        Axis { ticks, ..self }
    }

    pub fn with_grid(self, ticks: impl IntoIterator<Item = (f64, String)>) -> Axis {
        Axis {
            ticks: ticks.into_iter().collect(),
            grid: Grid::Lines,
            ..self
        }
    }

    /// The position of a value between `low` and `high`; values outside the axis are clamped.
    pub fn between(&self, value: f64, low: f64, high: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = if self.is_log {
            (value / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        tenth(low + share * (high - low))
    }
}

/// Lowest and highest value; `None` without values.
pub fn ends(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let low = values.clone().reduce(f64::min)?;
    Some((low, values.reduce(f64::max)?))
}

/// A round step from 0 and the number of steps, at most 5. Steps are 1, 2 or 5 times a power of ten MiB, or an eighth
/// to a half of a MiB.
pub fn sizes(most: u64) -> (u64, u64) {
    let fractions = [1 << 17, 1 << 18, 1 << 19];
    let mebibytes = (0..12).flat_map(|power| [1, 2, 5].map(|digit| (digit * 10u64.pow(power)) << 20));
    let step = fractions
        .into_iter()
        .chain(mebibytes)
        .find(|step| step * 5 >= most)
        .unwrap_or(most.div_ceil(5));
    (step, most.div_ceil(step).max(1))
}

pub fn mebibytes(value: u64) -> String {
    let mib = value as f64 / f64::from(1 << 20);
    if value.is_multiple_of(1 << 20) {
        format!("{mib:.0}")
    } else {
        format!("{mib}")
    }
}

/// Multiples of 1, 2 or 5 times a power of ten units between two values, at most six.
pub fn round(low: f64, high: f64, unit: f64) -> Vec<f64> {
    const MOST: f64 = 5.0;
    let powers = (-3..15).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power) * unit));
    let Some(step) = powers.into_iter().find(|step| (high - low) / step <= MOST) else {
        return Vec::new();
    };
    let (first, last) = ((low / step).ceil() as u64, (high / step).floor() as u64);
    (first..=last).map(|tick| tick as f64 * step).collect()
}

/// Powers of ten between two values, at most five; with fewer than two, also 2 and 5 times a power of ten.
pub fn powers(low: f64, high: f64) -> Vec<f64> {
    let mut ticks = multiples_of_powers(&[1.0], low, high);
    if ticks.len() < 2 {
        ticks = multiples_of_powers(&[1.0, 2.0, 5.0], low, high);
    }
    let every = ticks.len().div_ceil(5).max(1);
    ticks.into_iter().step_by(every).collect()
}

/// These digits times powers of ten, from 10³ to 10¹³, as far as they are between the two values.
fn multiples_of_powers(digits: &[f64], low: f64, high: f64) -> Vec<f64> {
    let mut ticks = Vec::new();
    for power in 3..14 {
        for digit in digits {
            let tick = digit * 10_f64.powi(power);
            if (low..=high).contains(&tick) {
                ticks.push(tick);
            }
        }
    }
    ticks
}

/// Steps of a time axis, in seconds.
const STEPS: [f64; 20] = [
    0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0,
    10_800.0, 21_600.0, 43_200.0,
];

/// Most ticks besides 0.
const TICKS: f64 = 9.0;

/// Ticks from 0 to `until` seconds, each with its text.
pub fn times(until: f64) -> Vec<(f64, String)> {
    let step = STEPS.into_iter().find(|step| until / step <= TICKS);
    let step = step.unwrap_or_else(|| (until / TICKS / 86_400.0).ceil() * 86_400.0);
    let ticks = (0..=TICKS as u64).map(|tick| tick as f64 * step);
    ticks
        .take_while(|at| *at <= until)
        .map(|at| (at, if until < 60.0 { short(at, step) } else { clock(at) }))
        .collect()
}

fn short(seconds: f64, step: f64) -> String {
    let digits = usize::from(step < 1.0);
    format!("{seconds:.digits$} s")
}

fn clock(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3_600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn sizes_are_round_and_at_most_five() {
        for (most, step, steps) in [
            (207, 50, 5),
            (35, 10, 4),
            (3_000, 1_000, 3),
            (9, 2, 5),
            (80_000, 20_000, 4),
        ] {
            assert_eq!(sizes(most * MIB), (step * MIB, steps), "{most}");
        }
        assert_eq!(sizes(MIB), (MIB / 4, 4));
    }

    #[test]
    fn axes_have_round_values_and_few() {
        assert_eq!(round(0.0, 12.9, 1.0), [0.0, 5.0, 10.0]);
        assert_eq!(round(379.1, 412.5, 1.0), [380.0, 390.0, 400.0, 410.0]);
        for high in [0.01, 1.0, 59.0, 4_000.0, 1e9] {
            assert!((2..=6).contains(&round(0.0, high, 1.0).len()), "{high}");
        }
        assert_eq!(powers(1.5e6, 8e6), [2e6, 5e6]);
        assert_eq!(powers(1e3, 1e12).len(), 5);
    }

    #[test]
    fn noise_does_not_fill_an_axis() {
        let axis = axis_of(&[100.0, 100.1]);
        let distance = axis.between(100.1, 0.0, 100.0) - axis.between(100.0, 0.0, 100.0);
        assert!(distance < 10.0, "{distance}");
        let axis = axis_of(&[100.0, 200.0]);
        assert!(axis.between(200.0, 0.0, 100.0) < 100.0 && axis.between(100.0, 0.0, 100.0) > 0.0);
        assert!(axis.between(200.0, 0.0, 100.0) - axis.between(100.0, 0.0, 100.0) > 80.0);
        assert_eq!(axis_of(&[]).between(0.0, 12.0, 100.0), 12.0);
        assert!(axis_of(&[0.0]).between(0.0, 0.0, 1.0).is_finite());
    }

    fn axis_of(values: &[f64]) -> Axis {
        Axis::around(values.iter().copied(), |high| high * 0.02)
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(texts(2.3), ["0.0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]);
        assert_eq!(texts(34.0), ["0 s", "5 s", "10 s", "15 s", "20 s", "25 s", "30 s"]);
        assert_eq!(texts(130.0)[1], "0:15");
        assert_eq!(texts(86_400.0)[1], "3:00:00");
        for until in [0.01, 1.0, 59.0, 61.0, 4_000.0, 1e6, 1e9] {
            assert!(times(until).len() <= 10, "{until}");
        }
    }

    fn texts(until: f64) -> Vec<String> {
        times(until).into_iter().map(|(_, text)| text).collect()
    }
}
