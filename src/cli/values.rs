//! Values that can be typed, and what is wrong with those that cannot.

use std::collections::BTreeSet;
use std::str::FromStr;

use clap::ValueEnum;

use crate::analyse::stats::Looks;
use crate::lens::Lens;
use crate::plan::Partition;
use crate::units::{Size, Span, UnitError};

/// How many runs of each server count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// So many.
    Fixed(u32),
    /// As many as it takes.
    Auto,
}

/// After how many runs it is looked whether everything is decided.
#[derive(Clone, Debug)]
pub struct LookPlan(pub Looks);

/// Numbers of processors, each once, in rising order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

impl FromStr for Runs {
    type Err = String;

    fn from_str(text: &str) -> Result<Runs, String> {
        match text.parse() {
            _ if text == "auto" => Ok(Runs::Auto),
            Ok(runs @ 1..=10_000) => Ok(Runs::Fixed(runs)),
            Ok(_) | Err(_) => Err("write a number of runs from 1 to 10000, or auto".to_owned()),
        }
    }
}

/// Lenses, as they are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Lenses {
    /// The allocator as it is
    #[default]
    AsShipped,
    /// The allocator told to give back at once
    Purged,
    /// Every server under each
    Both,
}

impl Lenses {
    /// Which they are.
    pub fn list(self) -> &'static [Lens] {
        match self {
            Lenses::AsShipped => &[Lens::AsShipped],
            Lenses::Purged => &[Lens::Purged],
            Lenses::Both => &Lens::ALL,
        }
    }
}

/// The chance that a comparison of two equal servers calls them different, over all looks together.
const ALPHA: f64 = 0.05;

/// Numbers of runs, such as `3,5,8,12`.
pub(super) fn looks(text: &str) -> Result<LookPlan, String> {
    let runs: Result<Vec<usize>, _> = text.split(',').map(|runs| runs.trim().parse()).collect();
    let runs = runs.map_err(|_| "write numbers of runs, such as 3,5,8,12")?;
    Looks::new(runs, ALPHA).map(LookPlan).map_err(|error| error.to_string())
}

/// Numbers and ranges of processors, such as `0-3,6`.
pub(super) fn cpus(text: &str) -> Result<CpuList, String> {
    let wrong = || "write numbers and ranges of processors, such as 0-3,6".to_owned();
    let mut list: BTreeSet<usize> = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse().ok().filter(|number: &usize| *number < 65_536);
        let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
        if first > last {
            return Err(wrong());
        }
        list.extend(first..=last);
    }
    Ok(CpuList(list.into_iter().collect()))
}

/// A part of the plan, such as `2/4`.
pub(super) fn partition(text: &str) -> Result<Partition, String> {
    let numbers = text
        .split_once('/')
        .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    let (part, of) = numbers.ok_or("write K/N, such as 2/4")?;
    Partition::new(part, of).map_err(|error| error.to_string())
}

/// A time between samples that the sampler can keep.
pub(super) fn interval(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: UnitError| error.to_string())?;
    match span.0.as_millis() {
        5..=10_000 => Ok(span),
        _ => Err("an interval is 5ms to 10s".to_owned()),
    }
}

/// A size with its unit: a forgotten one would be a limit of some bytes.
pub(super) fn size(text: &str) -> Result<Size, String> {
    if text.parse().is_ok_and(|number: f64| number > 0.0) {
        return Err(format!(
            "a size needs its unit: write `{text} MiB`, or `{text} B` for bytes"
        ));
    }
    text.parse().map_err(|error: UnitError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_numbers_and_ranges() {
        assert_eq!(cpus("2,0-1"), Ok(CpuList(vec![0, 1, 2])));
        for wrong in ["", "a", "3-1", "1,", "-1", "99999999"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_interval_is_between_five_milliseconds_and_ten_seconds() {
        assert!(interval("5ms").is_ok());
        assert!(interval("10s").is_ok());
        assert!(interval("4ms").is_err());
        assert!(interval("11s").is_err());
    }
}
