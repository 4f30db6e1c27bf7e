//! A bisection as JSON, for programs: versioned, with a schema in `docs/schemas/bisect-report.json`.
//!
//! Sizes are bytes, times nanoseconds, ratios are of geometric means. Unknown values are `null`.

use serde::Serialize;

use crate::run::json;
use analysis::bisect::{Bisection, End, Outcome, PairVerdict, Question, TriedResult, VersionRuns};
use analysis::compare::Inequality;
use analysis::figures::GatedFigure;
use analysis::when::Measured;
use record::Version;
use stats::Bounded;

use super::{evidence, headline};

/// The version of this format. The minor one rises when something is added, the major one when a reader would misread.
pub const FORMAT: Version = Version { major: 1, minor: 0 };

/// A bisection and what it comes to. Sizes are bytes, times nanoseconds. Unknown values are `null`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Report<'b> {
    /// Version of this format.
    format: Version,
    /// The scenario's name.
    scenario: &'b str,
    /// The condition of `--when`; `null` with `--by`.
    when: Option<String>,
    /// The share of `--by`; `null` with `--when`.
    by: Option<f64>,
    /// The figure that the question is about; `null` for growth and crashes.
    figure: Option<&'b GatedFigure>,
    /// The result.
    outcome: Result,
    /// The reason that nothing is known, or that the last pair is not confirmed.
    reason: Option<&'b str>,
    /// Exit code: 0 with a step or a gradual change, else 2.
    exit_code: u8,
    /// The answer in sentences.
    findings: Vec<String>,
    /// The last version before the change, in the runs of the last pair.
    before: Option<Side<'b>>,
    /// The first version after it.
    after: Option<Side<'b>>,
    /// Skipped versions between the two.
    between: Vec<&'b str>,
    /// Ratio of the figure after to the one before.
    step: Option<Ratio>,
    /// The step as a share of the difference of the ends.
    share: Option<f64>,
    /// Work that the two did not do alike.
    work: &'b [Inequality],
    /// Ratio of the last end's figure to the first one's.
    difference: Option<Ratio>,
    /// Number of versions from end to end.
    versions: usize,
    /// The versions that were tried, from old to new.
    tried: Vec<Tried<'b>>,
}

/// The result of a bisection.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Result {
    /// `after` brought the change, or a skipped version between.
    Step,
    /// No step is half of the difference of the ends.
    Gradual,
    /// Fresh runs of the last pair do not show what the search found.
    Unconfirmed,
    /// The ends do not differ.
    Alike,
    /// It is not known if the ends differ.
    Unknown,
}

/// A version and its runs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Side<'b> {
    /// Number of the version, or hash of the commit.
    version: &'b str,
    /// Subject of the commit.
    title: Option<&'b str>,
    /// Runs that count.
    runs: usize,
    /// Geometric mean of the figure, or median slope per round or message.
    value: Option<f64>,
    /// Lower bound of it.
    low: Option<f64>,
    /// Upper bound of it.
    high: Option<f64>,
    /// Runs that crashed, where that is the question.
    crashes: Option<usize>,
}

/// A version that was tried.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Tried<'b> {
    #[serde(flatten)]
    side: Side<'b>,
    /// The end that it is like; `null` if it was skipped.
    like: Option<End>,
    /// The reason that it was skipped.
    skipped: Option<&'b str>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Ratio {
    /// The ratio: 1.1 is ten per cent more.
    ratio: f64,
    /// Lower bound.
    low: f64,
    /// Upper bound.
    high: f64,
}

/// The bisection as indented JSON with a line end; `exit_code` is what the command ends with.
pub fn render(bisection: &Bisection, exit_code: u8) -> std::result::Result<String, serde_json::Error> {
    let (when, by) = match &bisection.question {
        Question::When(when) => (Some(when.to_string()), None),
        Question::By { share, .. } => (None, Some(*share)),
    };
    let (outcome, reason, pair) = match &bisection.outcome {
        Outcome::Alike => (Result::Alike, None, None),
        Outcome::Unknown(why) => (Result::Unknown, Some(why.as_str()), None),
        Outcome::Pair(pair) => match &pair.verdict {
            PairVerdict::Step => (Result::Step, None, Some(pair)),
            PairVerdict::Gradual => (Result::Gradual, None, Some(pair)),
            PairVerdict::Unconfirmed(why) => (Result::Unconfirmed, Some(why.as_str()), Some(pair)),
        },
    };
    let mut findings = vec![headline(bisection)];
    findings.extend(evidence(bisection));
    let between = pair.map_or(&[][..], |pair| &pair.between);
    json::lines(&Report {
        format: FORMAT,
        scenario: &bisection.scenario,
        when,
        by,
        figure: bisection.question.subject(),
        outcome,
        reason,
        exit_code,
        findings,
        before: pair.map(|pair| side(&pair.before)),
        after: pair.map(|pair| side(&pair.after)),
        between: between.iter().map(|version| version.name.as_str()).collect(),
        step: pair.and_then(|pair| pair.step).map(ratio),
        share: pair.and_then(|pair| pair.share),
        work: pair.map_or(&[][..], |pair| &pair.work),
        difference: bisection.difference.map(ratio),
        versions: bisection.versions,
        tried: bisection.tried.iter().map(tried).collect(),
    })
}

fn side(of: &VersionRuns) -> Side<'_> {
    let value = match of.measured {
        Measured::Value(value) => Some(value),
        Measured::Unknown | Measured::Crashes(_) => None,
    };
    Side {
        version: &of.version.name,
        title: of.version.title.as_deref(),
        runs: of.runs,
        value: value.map(|value| value.value),
        low: value.map(|value| value.low),
        high: value.map(|value| value.high),
        crashes: match of.measured {
            Measured::Crashes(crashes) => Some(crashes),
            Measured::Unknown | Measured::Value(_) => None,
        },
    }
}

fn tried(tried: &analysis::bisect::Tried) -> Tried<'_> {
    let (like, skipped) = match &tried.result {
        TriedResult::Like(end) => (Some(*end), None),
        TriedResult::Skipped(why) => (None, Some(why.as_str())),
    };
    Tried {
        side: side(&tried.of),
        like,
        skipped,
    }
}

fn ratio(ratio: Bounded) -> Ratio {
    Ratio {
        ratio: ratio.value,
        low: ratio.low,
        high: ratio.high,
    }
}

#[cfg(test)]
pub(crate) fn schema() -> serde_json::Value {
    crate::schemas::schema_of::<Report>()
}
