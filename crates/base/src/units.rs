//! Sizes, durations, shares and counts: parsing and formatting.
//!
//! Reports format all numbers here, so units and precision agree.

mod exact;
mod slope;
mod time;

use std::cmp::Ordering;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use exact::exact_bytes;
pub use slope::{slope, slope_range, slope_with_range};
pub use time::{TICK, cpu_time, cpu_time_like, duration, duration_like, is_in_ticks};

/// The median of unsorted values; `between` combines a middle pair. `None` without values.
pub fn median_by<T: Copy>(mut values: Vec<T>, order: fn(&T, &T) -> Ordering, between: fn(T, T) -> T) -> Option<T> {
    values.sort_unstable_by(order);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    if values.len().is_multiple_of(2) {
        Some(between(values[half - 1], upper))
    } else {
        Some(upper)
    }
}

/// The median of at least one value.
pub fn median_of(values: Vec<f64>) -> f64 {
    median_by(values, f64::total_cmp, f64::midpoint).expect("there are values")
}

/// A size in bytes, written `"64 KiB"`, `"200 MiB"`, `"1.5 GiB"` or as a bare number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = r"^\s*[0-9]+(\.[0-9]*)?\s*(B|KiB|K|k|MiB|M|GiB|G|kB|KB|MB|GB)?\s*$", "examples" = ["64 KiB", "200 MiB"])))]
pub struct Size(pub u64);

/// A duration, written `"50ms"`, `"30s"`, `"1.5 min"`, `"8h"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = r"^\s*(0|[0-9]+(\.[0-9]*)?\s*(ns|us|µs|ms|s|sec|m|min|h|d))\s*$", "examples" = ["50ms", "30s", "8h"])))]
pub struct Span(pub Duration);

impl Span {
    pub const fn from_secs(seconds: u64) -> Span {
        Span(Duration::from_secs(seconds))
    }

    pub const fn from_millis(millis: u64) -> Span {
        Span(Duration::from_millis(millis))
    }
}

/// A share, written `"5%"` and stored as `0.05`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = r"^\s*[0-9]+(\.[0-9]*)?\s*%\s*$", "examples" = ["5%", "0.5%"])))]
pub struct Share(pub f64);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    #[error("`{0}` is not a size: write a number and a unit, such as \"64 KiB\", \"200 MiB\" or \"1 GiB\"")]
    Size(String),
    #[error("`{0}` is not a duration: write a number and a unit, such as \"50ms\", \"30s\", \"5min\" or \"8h\"")]
    Span(String),
    #[error("`{0}` is not a share: write a number and a per cent sign, such as \"5%\" or \"0.5%\"")]
    Share(String),
    #[error("`{0}` is too large a size: write less than \"17179869184 GiB\"")]
    Large(String),
    #[error("`{0}` is too long a duration: write at most \"213503d\", which are 584 years")]
    Long(String),
    #[error("`{0}` is negative: a duration is zero or more, such as \"30s\"")]
    Negative(String),
}

impl std::str::FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Size, UnitError> {
        match parse_bytes(text) {
            Ok(bytes) => Ok(Size(bytes)),
            Err(Unreadable::Malformed) => Err(UnitError::Size(text.to_owned())),
            Err(Unreadable::TooLarge) => Err(UnitError::Large(text.to_owned())),
        }
    }
}

/// The reason why a text is no quantity.
enum Unreadable {
    /// It is not a number with a known unit.
    Malformed,
    /// The quantity does not fit into 64 bits.
    TooLarge,
}

fn parse_bytes(text: &str) -> Result<u64, Unreadable> {
    let (number, unit) = split(text)?;
    let factor: u64 = match unit {
        "" | "B" => 1,
        "KiB" | "K" | "k" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(Unreadable::Malformed),
    };
    scaled(number, factor)
}

impl std::str::FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Span, UnitError> {
        if text.trim_start().starts_with('-') {
            return Err(UnitError::Negative(text.to_owned()));
        }
        match parse_nanos(text) {
            Ok(nanos) => Ok(Span(Duration::from_nanos(nanos))),
            Err(Unreadable::Malformed) => Err(UnitError::Span(text.to_owned())),
            Err(Unreadable::TooLarge) => Err(UnitError::Long(text.to_owned())),
        }
    }
}

fn parse_nanos(text: &str) -> Result<u64, Unreadable> {
    let (number, unit) = split(text)?;
    let factor: u64 = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        "" if number == "0" => 1,
        _ => return Err(Unreadable::Malformed),
    };
    scaled(number, factor)
}

impl std::str::FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Share, UnitError> {
        if let Ok((number, "%")) = split(text)
            && let Ok(percent) = number.parse::<f64>()
        {
            return Ok(Share(percent / 100.0));
        }
        Err(UnitError::Share(text.to_owned()))
    }
}

/// `"1.5 GiB"` → (`"1.5"`, `"GiB"`).
fn split(text: &str) -> Result<(&str, &str), Unreadable> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(Unreadable::Malformed);
    }
    Ok((number, unit.trim_start()))
}

/// The product, rounded if the number is a fraction.
fn scaled(number: &str, factor: u64) -> Result<u64, Unreadable> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or(Unreadable::TooLarge);
    }
    let Ok(fraction) = number.parse::<f64>() else {
        return Err(Unreadable::Malformed);
    };
    let product = fraction * factor as f64;
    if product >= u64::MAX as f64 {
        return Err(Unreadable::TooLarge);
    }
    Ok(product.round() as u64)
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&bytes(self.0))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&duration(self.0))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} %", self.0 * 100.0))
    }
}

/// The conversions for serde's `try_from` and `into`, through `FromStr` and `Display`.
macro_rules! string_form {
    ($($unit:ty),*) => {$(
        impl TryFrom<String> for $unit {
            type Error = UnitError;

            fn try_from(text: String) -> Result<Self, UnitError> {
                text.parse()
            }
        }

        impl From<$unit> for String {
            fn from(value: $unit) -> String {
                value.to_string()
            }
        }
    )*};
}
string_form!(Size, Span, Share);

/// Stands for an unknown number.
pub const UNKNOWN: &str = "n/a";

/// A time in nanoseconds, as [`duration`] prints it.
pub fn nanoseconds(value: u64) -> String {
    duration(Duration::from_nanos(value))
}

/// `1536` → `1.5 KiB`; one decimal from KiB up.
pub fn bytes(value: u64) -> String {
    let value = value as f64;
    for (unit, factor) in [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if value >= factor as f64 {
            return format!("{:.1} {unit}", value / factor as f64);
        }
    }
    format!("{value} B")
}

/// A size in MiB with one decimal and without unit, for columns with the unit in their head.
pub fn mib(value: u64) -> String {
    format!("{:.1}", value as f64 / (1u64 << 20) as f64)
}

/// A difference in MiB with its sign: `+12.3`, `−4.0`, `0.0`.
pub fn signed_mib(value: i64) -> String {
    let text = mib(value.unsigned_abs());
    match value {
        _ if text == "0.0" => text,
        1.. => format!("+{text}"),
        _ => format!("−{text}"),
    }
}

/// A share as a percentage: `0.123` → `12 %`, `-0.03` → `−3 %`.
pub fn percent(share: f64) -> String {
    let text = format!("{:.0}", share.abs() * 100.0);
    let sign = if share < 0.0 && text != "0" { "−" } else { "" };
    format!("{sign}{text} %")
}

/// `1234567` → `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of unknown meaning: whole from 1,000 on, else three significant digits: `15,630,026`, `51.2`, `0.00123`.
pub fn number(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    let value = value.abs();
    if value.fract() == 0.0 || value >= 999.5 {
        return format!("{sign}{}", count(value.round() as u64));
    }
    let places = usize::try_from(2 - value.log10().floor() as i32).unwrap_or(0);
    format!("{sign}{value:.places$}")
}

/// A number of things: `counted(1, "file")` → `1 file`, `counted(1200, "file")` → `1,200 files`.
pub fn count_of(value: u64, thing: &str) -> String {
    let plural = match (value, thing) {
        (1, _) => "",
        (_, thing) if thing.ends_with("ss") => "es",
        _ => "s",
    };
    format!("{} {thing}{plural}", count(value))
}

/// The text of a value that may be unknown.
pub fn or_unknown<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_unknown_meaning_has_three_digits_or_all_before_the_point() {
        let texts = [0.0, 7.0, 63.98, 0.001234, 999.7, 15_630_026.4, -2.5, -1_234.5].map(number);
        assert_eq!(
            texts,
            ["0", "7", "64.0", "0.00123", "1,000", "15,630,026", "−2.50", "−1,235"]
        );
    }

    #[test]
    fn sizes_are_read_in_binary_and_decimal_units() {
        for (text, value) in [
            ("0", 0),
            ("64 KiB", 65_536),
            ("1.5GiB", 1_610_612_736),
            ("3MB", 3_000_000),
            ("12 B", 12),
            ("9007199254740993", 9_007_199_254_740_993),
        ] {
            assert_eq!(text.parse(), Ok(Size(value)), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_says_what_would_be_one() {
        for text in ["", "MiB", "1 mb", "-1 MiB", "1e3 KiB", "1.2.3 MiB"] {
            assert_eq!(text.parse::<Size>(), Err(UnitError::Size(text.to_owned())));
        }
        for text in ["", "30", "fast", "1 week"] {
            assert_eq!(text.parse::<Span>(), Err(UnitError::Span(text.to_owned())));
        }
        assert_eq!("-3s".parse::<Span>(), Err(UnitError::Negative("-3s".to_owned())));
    }

    #[test]
    fn what_is_more_than_can_be_counted_is_no_slip_of_the_pen() {
        for text in ["99999999999 GiB", "99999999999999999999"] {
            assert_eq!(text.parse::<Size>(), Err(UnitError::Large(text.to_owned())));
        }
        for text in ["213504d", "99999999999999h", "99999999999999999999.5s"] {
            assert_eq!(text.parse::<Span>(), Err(UnitError::Long(text.to_owned())));
        }
        assert!("213503d".parse::<Span>().is_ok());
    }

    #[test]
    fn shares_are_per_cent() {
        assert_eq!("5%".parse(), Ok(Share(0.05)));
        assert_eq!("12.5 %".parse(), Ok(Share(0.125)));
        for text in ["", "5", "-5%", "%", "5 percent"] {
            assert_eq!(text.parse::<Share>(), Err(UnitError::Share(text.to_owned())));
        }
        assert_eq!(Share(0.125).to_string(), "12.5 %");
    }

    #[test]
    fn a_printed_duration_is_short_and_reads_back_when_it_is_one_number() {
        for (text, printed) in [
            ("0", "0 s"),
            ("250ns", "250 ns"),
            ("1500us", "1.50 ms"),
            ("50 ms", "50.0 ms"),
            ("30s", "30.0 s"),
            ("2.5min", "2 min 30 s"),
            ("8h", "8 h 00 min"),
        ] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), printed);
        }
        assert_eq!("1.50 ms".parse::<Span>(), "1500us".parse::<Span>());
    }

    #[test]
    fn differences_carry_their_sign_and_nothing_is_nothing() {
        assert_eq!(signed_mib(3 << 20), "+3.0");
        assert_eq!(signed_mib(-(3 << 20)), "−3.0");
        assert_eq!(signed_mib(-1), "0.0");
    }

    #[test]
    fn shares_have_a_sign_only_below_nothing() {
        assert_eq!(
            [0.123, -0.031, -0.001, 0.0].map(percent),
            ["12 %", "−3 %", "0 %", "0 %"]
        );
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn one_thing_is_singular() {
        assert_eq!(count_of(1, "file"), "1 file");
        assert_eq!(count_of(0, "process"), "0 processes");
        assert_eq!(count_of(1_200, "file"), "1,200 files");
    }
}
