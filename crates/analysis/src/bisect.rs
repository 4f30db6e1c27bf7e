//! The version that brought a change: which one is judged next, what its runs say, and what the last pair amounts to.

mod question;
mod search;
#[cfg(test)]
mod tests;

use crate::compare::Inequality;
use crate::when::Measured;
use stats::Bounded;

pub use question::{Ends, NoAnswer, Question, unequal_work};
pub use search::{End, Next, Place, next};

/// A bisection and what it comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisection {
    pub scenario: String,
    pub question: Question,
    /// Versions from the first end to the last, both included.
    pub versions: usize,
    /// The versions that were tried, from old to new.
    pub tried: Vec<Tried>,
    /// The end at which the condition holds; `None` where the question is no condition, or the ends do not differ.
    pub holds_at: Option<End>,
    /// Ratio of the last end's figure to the first one's, where the question is about a figure.
    pub difference: Option<Bounded>,
    pub outcome: Outcome,
}

/// A version by its number or the hash of its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub name: String,
    /// The subject of its commit.
    pub title: Option<String>,
}

/// A version and the figures of its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionRuns {
    pub version: Version,
    /// Runs that count.
    pub runs: usize,
    pub measured: Measured,
}

/// A version that was judged or skipped.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub of: VersionRuns,
    pub result: TriedResult,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TriedResult {
    Like(End),
    /// It was skipped, for this reason.
    Skipped(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The ends do not differ.
    Alike,
    /// It is not known if the ends differ, for this reason.
    Unknown(String),
    /// The last pair, which was played once more side by side.
    Pair(Box<Pair>),
}

/// The last version that is like the first end, and the next one that is like the last end.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub before: VersionRuns,
    pub after: VersionRuns,
    /// Skipped versions between the two: any of them may have brought the change.
    pub between: Vec<Version>,
    /// Ratio of the figure after to the one before, where the question is about a figure.
    pub step: Option<Bounded>,
    /// Share of the difference of the ends that the step is; `None` where no amount is known.
    pub share: Option<f64>,
    /// Work that the two did not do alike: less or more memory may be its price.
    pub work: Vec<Inequality>,
    pub verdict: PairVerdict,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PairVerdict {
    /// The step is half of the difference of the ends or more.
    Step,
    /// No step is half of the difference of the ends.
    Gradual,
    /// The fresh runs do not show what the search found, for this reason.
    Unconfirmed(String),
}

impl Bisection {
    /// True if the version was found, or is known not to exist.
    pub fn is_answered(&self) -> bool {
        match &self.outcome {
            Outcome::Alike | Outcome::Unknown(_) => false,
            Outcome::Pair(pair) => !matches!(pair.verdict, PairVerdict::Unconfirmed(_)),
        }
    }
}
