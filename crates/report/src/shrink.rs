//! The result of a search for the least that still shows something: sizes before and after, the number, the scenario.

use serde::Serialize;

use crate::document::{Block, Document, NextCommand, Section, Weight};
use crate::when;
use analysis::when::{Evaluation, Measured, When};
use base::text::{Sentence, Tone};
use base::units;
use record::Version;

/// The version of the JSON format.
const FORMAT: Version = Version { major: 1, minor: 0 };

/// How much a scenario does on how many files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Extent {
    pub phases: u64,
    pub steps: u64,
    /// Requests of one round of the phase that sends most.
    pub requests: u64,
    /// Files of the workspace that a server sees.
    pub files: u64,
}

/// What the runs that confirm the result say.
#[derive(Clone, Debug, PartialEq)]
pub enum Confirmation {
    /// The search ended before them.
    None,
    Confirmed(Evaluation),
    /// They do not show it, and there was no time to go on.
    Refused(Evaluation),
}

pub struct Shrunk {
    pub scenario: String,
    pub server: String,
    pub when: When,
    pub confirmation: Confirmation,
    /// True if nothing more can be left out; false if the search was stopped.
    pub is_complete: bool,
    pub before: Extent,
    pub after: Extent,
    pub candidates: u64,
    pub runs: u64,
    /// The scenario that is left.
    pub text: String,
    pub next: NextCommand,
}

pub fn document(shrunk: &Shrunk) -> Document {
    let (tone, answer) = match &shrunk.confirmation {
        Confirmation::Confirmed(evaluation) => (
            Tone::Good,
            format!("`{}` {}", shrunk.when, when::answer(&shrunk.when, evaluation)),
        ),
        Confirmation::Refused(evaluation) => (
            Tone::Warning,
            format!(
                "not confirmed: in fresh runs `{}` {}",
                shrunk.when,
                when::answer(&shrunk.when, evaluation)
            ),
        ),
        Confirmation::None => (
            Tone::Warning,
            format!("`{}` is not confirmed yet by fresh runs", shrunk.when),
        ),
    };
    let mut verdict = vec![Sentence::answer("shrink.effort", Tone::Plain, effort(shrunk))];
    if !shrunk.is_complete {
        let text = "the search was stopped, and more may be left out: go on with `--resume`";
        verdict.push(Sentence::answer("shrink.stopped", Tone::Warning, text));
    }
    let (before, after) = (shrunk.before, shrunk.after);
    let sizes = [
        ("phases", before.phases, after.phases),
        ("steps", before.steps, after.steps),
        ("requests in a round", before.requests, after.requests),
        ("files", before.files, after.files),
    ];
    let facts = sizes.map(|(name, before, after)| (name, format!("{} → {}", units::count(before), units::count(after))));
    let scenario = Section::new("scenario", "Scenario", Weight::Answer)
        .with_block(Block::facts("", facts))
        .with_block(Block::Code {
            language: "toml",
            title: None,
            text: shrunk.text.clone(),
        });
    Document {
        title: format!("{}: the least that shows it on {}", shrunk.scenario, shrunk.server),
        origin: String::new(),
        headline: Some(Sentence::answer("shrink.answer", tone, answer)),
        verdict,
        sections: vec![scenario, shrunk.next.section()],
    }
}

fn effort(shrunk: &Shrunk) -> String {
    format!(
        "{} of {}",
        units::count_of(shrunk.runs, "run"),
        units::count_of(shrunk.candidates, "candidate")
    )
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ShrinkReport<'s> {
    /// Version of this format.
    format: Version,
    /// Name of the scenario.
    scenario: &'s str,
    /// Label of the server.
    server: &'s str,
    /// The condition, as `--when` takes it.
    when: String,
    /// Whether five fresh runs show it.
    confirmed: bool,
    /// Runs that crashed, where the condition is `crash`.
    crashes: Option<u64>,
    /// The mean of the figure or the median of the slopes in these runs, in bytes, nanoseconds or a number; `null` before
    /// them.
    value: Option<f64>,
    /// Lower end of its interval.
    low: Option<f64>,
    /// Upper end of its interval.
    high: Option<f64>,
    /// Whether nothing more can be left out; `false` if the search was stopped.
    complete: bool,
    /// The whole scenario.
    before: Extent,
    /// What is left.
    after: Extent,
    /// Candidates that were played.
    candidates: u64,
    /// Runs of all candidates.
    runs: u64,
    /// The scenario that is left, as TOML.
    text: &'s str,
}

pub fn json(shrunk: &Shrunk) -> serde_json::Result<String> {
    let evaluation = match &shrunk.confirmation {
        Confirmation::None => None,
        Confirmation::Confirmed(evaluation) | Confirmation::Refused(evaluation) => Some(evaluation),
    };
    let measured = evaluation.map_or(Measured::Unknown, |evaluation| evaluation.measured);
    let (crashes, value) = match measured {
        Measured::Unknown => (None, None),
        Measured::Crashes(crashed) => (Some(crashed as u64), None),
        Measured::Value(value) => (None, Some(value)),
    };
    let report = ShrinkReport {
        format: FORMAT,
        scenario: &shrunk.scenario,
        server: &shrunk.server,
        when: shrunk.when.to_string(),
        confirmed: matches!(shrunk.confirmation, Confirmation::Confirmed(_)),
        crashes,
        value: value.map(|value| value.value),
        low: value.map(|value| value.low),
        high: value.map(|value| value.high),
        complete: shrunk.is_complete,
        before: shrunk.before,
        after: shrunk.after,
        candidates: shrunk.candidates,
        runs: shrunk.runs,
        text: &shrunk.text,
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

#[cfg(test)]
pub fn schema() -> serde_json::Value {
    crate::schemas::schema_of::<ShrinkReport<'_>>()
}
