//! Parsers of option values, with their error messages.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use serde::Serialize;

use super::catalogue::Catalogue;
use base::lens::Lens;
use base::processors;
use base::units::{Size, Span, UnitError};
use stats::Schedule;

/// Number of counted runs per server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// A fixed number.
    Fixed(u32),
    /// As many as needed.
    Auto,
}

/// After how many runs an interim analysis is made.
#[derive(Clone, Debug)]
pub struct LookPlan(pub Schedule);

/// One machine's part of a plan, the k-th of n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    part: u32,
    of: u32,
}

/// A part outside the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no part {part} of {of}: the first part is 1")]
pub struct PartitionError {
    part: u32,
    of: u32,
}

impl Partition {
    pub const WHOLE: Partition = Partition { part: 1, of: 1 };

    /// Part `part` (from 1) of `of`.
    pub fn new(part: u32, of: u32) -> Result<Partition, PartitionError> {
        if part == 0 || part > of {
            return Err(PartitionError { part, of });
        }
        Ok(Partition { part, of })
    }

    /// The measured blocks of this part, of `blocks`: contiguous, and no two parts differ by more than one.
    pub fn blocks(self, blocks: u32) -> std::ops::RangeInclusive<u32> {
        let before = |part: u32| (u64::from(blocks) * u64::from(part) / u64::from(self.of)) as u32;
        before(self.part - 1) + 1..=before(self.part)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

/// Processor numbers, unique and sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

/// Reads a server from any text. Shells complete the names of built-in profiles.
#[derive(Clone, Copy, Debug)]
pub struct ServerText;

impl TypedValueParser for ServerText {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            server_names().iter().map(|name| PossibleValue::new(name.as_str())),
        ))
    }
}

/// The names of built-in profiles, without the fixtures for tests.
pub fn server_names() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let profiles = Catalogue::built_in();
        let names = profiles.names().filter(|name| !name.starts_with("fixture-"));
        names.map(str::to_owned).collect()
    });
    &NAMES
}

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

/// Lenses, as options name them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Lenses {
    /// The allocator unchanged
    #[default]
    AsShipped,
    /// After the allocator released its free memory
    Purged,
    /// Every server under each
    Both,
}

impl Lenses {
    pub fn list(self) -> &'static [Lens] {
        match self {
            Lenses::AsShipped => &[Lens::AsShipped],
            Lenses::Purged => &[Lens::Purged],
            Lenses::Both => &Lens::ALL,
        }
    }
}

/// The formats of a result, of several records side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for a terminal
    #[default]
    Terminal,
    /// Text for a pull request
    Markdown,
    /// A page for a browser, which loads nothing
    Html,
    /// The timeline as a picture
    Svg,
    /// Everything, for programs
    Json,
    /// Test cases for CI, as JUnit XML
    Junit,
    /// Every sample
    Csv,
    /// A trace for Perfetto or Chrome
    Perfetto,
    /// Metrics for Bencher
    Bencher,
    /// Metrics for github-action-benchmark
    GithubActionBenchmark,
}

impl Format {
    pub const OF_RECORDS: [Format; 10] = {
        use Format::{Bencher, Csv, GithubActionBenchmark, Html, Json, Junit, Markdown, Perfetto, Svg, Terminal};
        [
            Terminal, Markdown, Html, Svg, Json, Junit, Csv, Perfetto, Bencher, GithubActionBenchmark,
        ]
    };
    pub const OF_VERDICTS: [Format; 8] = {
        use Format::{Bencher, GithubActionBenchmark, Html, Json, Junit, Markdown, Svg, Terminal};
        [
            Terminal, Markdown, Html, Svg, Json, Junit, Bencher, GithubActionBenchmark,
        ]
    };
    pub const OF_SWEEPS: [Format; 4] = [Format::Terminal, Format::Markdown, Format::Html, Format::Json];
    pub const OF_FACTS: [Format; 2] = [Format::Terminal, Format::Json];

    /// Takes the name of one of these.
    pub fn among(formats: &[Format]) -> impl TypedValueParser<Value = Format> + use<> {
        let names = formats.iter().filter_map(Format::to_possible_value);
        PossibleValuesParser::new(names).try_map(|name| Format::from_str(&name, false))
    }
}

/// The probability that a comparison of two equal servers reports a difference, over all interim analyses together.
const ALPHA: f64 = 0.05;

/// Numbers of runs, for example `3,5,8,12`.
pub fn looks(text: &str) -> Result<LookPlan, String> {
    let runs: Result<Vec<usize>, _> = text.split(',').map(|runs| runs.trim().parse()).collect();
    let runs = runs.map_err(|_| "write numbers of runs, such as 3,5,8,12")?;
    Schedule::new(runs, ALPHA)
        .map(LookPlan)
        .map_err(|error| error.to_string())
}

/// After how many runs of each cell the sweep eliminates cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RungPlan(pub Vec<u32>);

/// Increasing numbers of runs, for example `1,3,5,8`.
pub fn rungs(text: &str) -> Result<RungPlan, String> {
    let runs: Result<Vec<u32>, _> = text.split(',').map(|runs| runs.trim().parse()).collect();
    let rises = |runs: &Vec<u32>| runs.first() > Some(&0) && runs.is_sorted_by(|one, next| one < next);
    let runs = runs.ok().filter(rises).filter(|runs| runs.last() <= Some(&1_000));
    runs.map(RungPlan)
        .ok_or_else(|| "write rising numbers of runs, such as 1,3,5,8".to_owned())
}

/// Exit codes of a command that are no failure, besides 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ignored {
    All,
    These(BTreeSet<i32>),
}

/// The word for all of them.
const ALL_CODES: &str = "all-non-zero";

impl FromStr for Ignored {
    type Err = String;

    fn from_str(text: &str) -> Result<Ignored, String> {
        if text == ALL_CODES {
            return Ok(Ignored::All);
        }
        let codes: Result<BTreeSet<i32>, _> = text.split(',').map(|code| code.trim().parse()).collect();
        codes
            .map(Ignored::These)
            .map_err(|_| format!("write exit codes such as 1,2, or {ALL_CODES}"))
    }
}

/// Processor numbers and ranges, for example `0-3,6`.
pub fn cpus(text: &str) -> Result<CpuList, String> {
    processors::list(text)
        .map(CpuList)
        .ok_or_else(|| processors::CURE.to_owned())
}

/// A run of a plan, and the processors for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// From 1.
    pub run: u32,
    pub cpus: CpuList,
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.run, processors::ranges(&self.cpus.0))
    }
}

/// A job, for example `3@0-1`.
pub fn job(text: &str) -> Result<Job, String> {
    let parts = text.split_once('@');
    let parts = parts.and_then(|(run, list)| Some((run.parse().ok()?, processors::list(list)?)));
    let (run, list) = parts.ok_or("write RUN@LIST, such as 3@0-1")?;
    Ok(Job {
        run,
        cpus: CpuList(list),
    })
}

/// A part of the plan, for example `2/4`.
pub fn partition(text: &str) -> Result<Partition, String> {
    let numbers = text
        .split_once('/')
        .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    let (part, of) = numbers.ok_or("write K/N, such as 2/4")?;
    Partition::new(part, of).map_err(|error| error.to_string())
}

/// A sampling interval within the sampler's limits.
pub fn interval(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: UnitError| error.to_string())?;
    match span.0.as_millis() {
        5..=10_000 => Ok(span),
        _ => Err("an interval is 5ms to 10s".to_owned()),
    }
}

/// A size with its unit: without one it would be in bytes.
pub fn size(text: &str) -> Result<Size, String> {
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
    fn a_job_is_a_run_and_its_processors() {
        let written = job("12@0-1,4").unwrap();
        assert_eq!((written.run, written.to_string().as_str()), (12, "12@0-1,4"));
        for wrong in ["", "3", "@1", "a@1", "3@"] {
            assert!(job(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ignored_codes_are_all_or_these() {
        let ignored = |text: &str| text.parse::<Ignored>();
        assert_eq!(ignored("all-non-zero"), Ok(Ignored::All));
        assert_eq!(ignored("2, 1"), Ok(Ignored::These([1, 2].into())));
        assert!(ignored("all").is_err() && ignored("").is_err());
    }

    #[test]
    fn rungs_rise() {
        assert_eq!(rungs("1, 3,8"), Ok(RungPlan(vec![1, 3, 8])));
        for wrong in ["", "0,1", "3,3", "5,3", "a", "1,2000"] {
            assert!(rungs(wrong).is_err(), "{wrong}");
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
