//! Durations as text, alone or in the unit of another duration.

use std::time::Duration;

/// Coarsest unit of processor time: Linux has `USER_HZ` = 100 in `/proc/PID/stat`.
pub const TICK: Duration = Duration::from_millis(10);

/// `1234567` ns → `1.23 ms`; three significant digits up to minutes, then `2 min 05 s`, `8 h 03 min`.
pub fn duration(value: Duration) -> String {
    duration_like(value, value)
}

/// A duration in the unit of `like`: 830 ms beside `1.20 s` are `0.83 s`.
pub fn duration_like(value: Duration, like: Duration) -> String {
    let nanos = value.as_nanos() as f64;
    let seconds = value.as_secs();
    match Step::for_value(like) {
        // Zero has no unit of its own.
        Step::Nothing if value != like => duration(value),
        Step::Nothing => "0 s".to_owned(),
        Step::Parts(unit, size) => format!("{} {unit}", significant(nanos / size)),
        Step::Minutes if seconds < 3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        Step::Minutes | Step::Hours => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Divides ticks of 10 ms (Linux) and 15.625 ms (Windows), and the midpoint of two figures in them.
const IN_TICKS: u128 = 312_500;

/// True if processor time was counted in ticks, by its digits. A count in nanoseconds looks like this once in 300,000
/// times.
pub fn is_in_ticks(value: Duration) -> bool {
    value.as_nanos().is_multiple_of(IN_TICKS)
}

/// Processor time, exact to a [`TICK`] if it was counted in ticks: `< 10 ms`, `220 ms`, `1.39 s`.
pub fn cpu_time(value: Duration) -> String {
    cpu_time_like(value, value)
}

/// Processor time in the unit of `like`: less than a tick beside `1.20 s` is `< 0.010 s`.
pub fn cpu_time_like(value: Duration, like: Duration) -> String {
    if !is_in_ticks(value) {
        return duration_like(value, like);
    }
    // Less than a tick has the format of a tick.
    let like = like.max(TICK);
    let believed = value.max(TICK);
    let text = match Step::for_value(like) {
        Step::Parts("ms", size) => format!("{:.0} ms", believed.as_nanos() as f64 / size),
        Step::Nothing | Step::Parts(..) => duration_like(believed, like),
        // Beside minutes a tick is negligible.
        Step::Minutes | Step::Hours => return duration_like(value, like),
    };
    if value < TICK { format!("< {text}") } else { text }
}

/// The unit of a formatted duration.
enum Step {
    Nothing,
    /// A unit with decimals, and its nanoseconds.
    Parts(&'static str, f64),
    /// Minutes and seconds.
    Minutes,
    Hours,
}

impl Step {
    /// The unit for a value. Each unit ends where three digits would round up to its next power.
    fn for_value(value: Duration) -> Step {
        match value.as_nanos() as f64 {
            n if n < 1.0 => Step::Nothing,
            n if n < 999.5 => Step::Parts("ns", 1.0),
            n if n < 999.5e3 => Step::Parts("µs", 1e3),
            n if n < 999.5e6 => Step::Parts("ms", 1e6),
            n if n < 60e9 => Step::Parts("s", 1e9),
            n if n < 3600e9 => Step::Minutes,
            _ => Step::Hours,
        }
    }
}

/// Three significant digits, at most three decimals; `0` for zero.
fn significant(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        n if n >= 99.95 => format!("{n:.0}"),
        n if n >= 9.995 => format!("{n:.1}"),
        n if n >= 0.0995 => format!("{n:.2}"),
        n => format!("{n:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(value: f64) -> Duration {
        Duration::from_secs_f64(value / 1e3)
    }

    #[test]
    fn a_length_has_three_digits_and_never_more_of_a_unit_than_the_next_begins_with() {
        for (value, text) in [
            (0.000_25, "250 ns"),
            (0.9999, "1.00 ms"),
            (9.996, "10.0 ms"),
            (99.96, "100 ms"),
            (999.6, "1.00 s"),
            (59_960.0, "60.0 s"),
            (60_000.0, "1 min 00 s"),
        ] {
            assert_eq!(duration(ms(value)), text, "{value}");
        }
    }

    #[test]
    fn a_length_beside_another_has_its_unit() {
        for (value, like, text) in [
            (830.0, 1_200.0, "0.83 s"),
            (1.38, 0.853, "1380 µs"),
            (0.018, 1.38, "0.018 ms"),
            (0.0, 1.38, "0 ms"),
            (1.38, 0.0, "1.38 ms"),
            (30_000.0, 125_000.0, "0 min 30 s"),
            (125_000.0, 30_000.0, "125 s"),
            (125_000.0, 7_200_000.0, "0 h 02 min"),
        ] {
            assert_eq!(duration_like(ms(value), ms(like)), text, "{value} like {like}");
        }
    }

    #[test]
    fn processor_time_below_a_tick_is_not_nothing() {
        for (value, text) in [
            (0.0, "< 10 ms"),
            (5.0, "< 10 ms"),
            (10.0, "10 ms"),
            (325.0, "325 ms"),
            (1_390.0, "1.39 s"),
        ] {
            assert_eq!(cpu_time(ms(value)), text, "{value}");
        }
        assert_eq!(cpu_time_like(ms(0.0), ms(1_200.0)), "< 0.010 s");
        assert_eq!(cpu_time(ms(3.210_001)), "3.21 ms", "counted in nanoseconds");
        assert_eq!(cpu_time(ms(41.230_001)), "41.2 ms");
        assert_eq!(cpu_time_like(ms(1_200.0), ms(0.0)), "1200 ms");
        assert_eq!(cpu_time_like(ms(0.0), ms(90_000.0)), "0 min 00 s");
    }
}
