//! A gate as JSON, for programs: versioned, with a schema in `docs/schemas/gate-report.json`.
//!
//! Sizes are bytes and times nanoseconds, ratios are of geometric means, 1.1 being ten per cent more. What is not known is
//! `null`, never 0. Most of it is the verdict itself; here is what is put beside.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;

use crate::gate;
use crate::gate::{Judged, Judgement, Party};
use crate::record::Version;
use crate::report::comparison::json::Work;
use crate::report::json;
use crate::stats::Answer;

use super::findings::{doubts, findings};

/// The version of this format. The minor one rises when something is added, the major one when a reader would misread.
pub const FORMAT: Version = Version { major: 2, minor: 0 };

/// A gate's verdict and all that it rests on. Sizes are bytes, times nanoseconds. What is not known is `null`.
#[derive(Serialize, JsonSchema)]
struct Report<'j> {
    /// Version of this format.
    format: Version,
    /// What it comes to.
    outcome: Outcome,
    /// The exit code: 0 passed, 1 failed, 3 inconclusive, 4 refused; what is inconclusive may have been asked to be 0 or 1.
    exit_code: u8,
    /// The verdict in sentences with their numbers, what decides first.
    findings: Vec<Finding>,
    /// What must be known to read the verdict right.
    notes: Vec<String>,
    /// The servers: the baseline, the candidate, and the anchor if there is one.
    servers: Vec<Server<'j>>,
    /// The candidate against the baseline, and against the anchor if there is one.
    against: Vec<Against<'j>>,
    #[serde(flatten)]
    judgement: &'j Judgement,
}

/// What a gate comes to.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    /// Every rule holds.
    Pass,
    /// More than is tolerated is shown.
    Fail,
    /// Neither is shown.
    Inconclusive,
    /// Nothing is decided: a server failed the scenario, or the candidate did less work.
    Refused,
}

/// Something that was found, in a sentence.
#[derive(Serialize, JsonSchema)]
struct Finding {
    /// What it comes to.
    answer: Answer,
    /// Whether it decides.
    decides: bool,
    /// The sentence.
    text: String,
}

/// A server that takes part.
#[derive(Serialize, JsonSchema)]
struct Server<'j> {
    #[serde(flatten)]
    party: &'j Party,
    /// Records of runs that it failed.
    failed: Vec<&'j str>,
}

/// The candidate against another server.
#[derive(Serialize, JsonSchema)]
struct Against<'j> {
    #[serde(flatten)]
    against: &'j gate::Against,
    /// Every rule, those that decide first.
    rules: Vec<Rule<'j>>,
    /// Work that the candidate did not do as the other.
    work: Vec<Work<'j>>,
}

/// What a rule says.
#[derive(Serialize, JsonSchema)]
struct Rule<'j> {
    /// Whether it decides, or advises.
    decides: bool,
    #[serde(flatten)]
    judged: &'j Judged,
}

/// The verdict as indented JSON with a line end; `exit_code` is what the command ends with.
pub fn render(judgement: &Judgement, notes: &[String], exit_code: u8) -> Result<String, serde_json::Error> {
    let sentences = findings(judgement).into_iter().map(|one| Finding {
        answer: one.answer,
        decides: one.decides,
        text: one.text,
    });
    json::lines(&Report {
        format: FORMAT,
        outcome: match judgement.answer {
            _ if judgement.is_refused() => Outcome::Refused,
            Answer::Pass => Outcome::Pass,
            Answer::Fail => Outcome::Fail,
            Answer::Inconclusive => Outcome::Inconclusive,
        },
        exit_code,
        findings: sentences.collect(),
        notes: [doubts(judgement), notes.to_vec()].concat(),
        servers: judgement.parties.iter().map(|party| server(judgement, party)).collect(),
        against: judgement.against.iter().map(against).collect(),
        judgement,
    })
}

fn server<'j>(judgement: &'j Judgement, party: &'j Party) -> Server<'j> {
    let failed = judgement.broken.iter().filter(|broken| broken.role == party.role);
    Server {
        party,
        failed: failed.map(|broken| broken.record.as_str()).collect(),
    }
}

fn against(against: &gate::Against) -> Against<'_> {
    let rule = |decides| move |judged| Rule { decides, judged };
    let primaries = against.primaries.iter().map(rule(true));
    Against {
        against,
        rules: primaries.chain(against.advisory.iter().map(rule(false))).collect(),
        work: against.work.iter().map(Work::from).collect(),
    }
}

pub fn schema() -> serde_json::Value {
    json::schema_of::<Report>()
}
