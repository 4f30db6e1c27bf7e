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

/// The size of a scenario and of its workspace.
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

/// The answer of the runs that confirm the result.
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
    let facts =
        sizes.map(|(name, before, after)| (name, format!("{} → {}", units::count(before), units::count(after))));
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
    /// True if five fresh runs show it.
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
    /// True if nothing more can be left out; `false` if the search was stopped.
    complete: bool,
    /// The whole scenario.
    before: Extent,
    /// The size of the result.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::terminal;
    use crate::document::tests::{is_whole, look};
    use analysis::when::{Holds, Undecided};
    use stats::Bounded;

    fn shrunk(confirmation: Confirmation) -> Shrunk {
        Shrunk {
            scenario: "session".to_owned(),
            server: "leaky".to_owned(),
            when: When::Crash,
            is_complete: false,
            before: Extent {
                phases: 4,
                steps: 11,
                requests: 1_200,
                files: 102,
            },
            after: Extent {
                phases: 2,
                steps: 2,
                requests: 1,
                files: 1,
            },
            candidates: 22,
            runs: 27,
            text: "format = 1\n".to_owned(),
            next: NextCommand {
                why: "play it".to_owned(),
                command: "lsp-soak run shrunk.toml --server leaky".to_owned(),
            },
            confirmation,
        }
    }

    fn evaluation(holds: Holds, measured: Measured) -> Evaluation {
        Evaluation {
            holds,
            measured,
            runs: 5,
        }
    }

    #[test]
    fn a_result_says_whether_fresh_runs_show_it() {
        let crashes = evaluation(Holds::Yes, Measured::Crashes(5));
        let denied = evaluation(Holds::Undecided(Undecided::SomeCrash), Measured::Crashes(1));
        for (confirmation, answer) in [
            (
                Confirmation::Confirmed(crashes),
                "`crash` holds: 5 of 5 crashed, 5 runs",
            ),
            (
                Confirmation::Refused(denied),
                "not confirmed: in fresh runs `crash` undecided: some runs crash, and not most: 1 of 5 crashed, 5 runs",
            ),
            (Confirmation::None, "`crash` is not confirmed yet by fresh runs"),
        ] {
            let document = document(&shrunk(confirmation));
            is_whole(&document);
            let text = terminal::render(&document, look(100));
            for part in [
                answer,
                "27 runs of 22 candidates",
                "1,200 → 1",
                "format = 1",
                "--resume",
            ] {
                assert!(text.replace("\n  ", " ").contains(part), "{part} in {text}");
            }
        }
    }

    #[test]
    fn numbers_that_are_not_known_are_null_in_json() {
        let value = Bounded {
            value: 2.0,
            low: 1.0,
            high: 3.0,
        };
        for (confirmation, low) in [
            (Confirmation::None, serde_json::Value::Null),
            (
                Confirmation::Confirmed(evaluation(Holds::Yes, Measured::Value(value))),
                1.0.into(),
            ),
        ] {
            let json: serde_json::Value = serde_json::from_str(&json(&shrunk(confirmation)).unwrap()).unwrap();
            assert_eq!((&json["low"], &json["crashes"]), (&low, &serde_json::Value::Null));
        }
    }
}
