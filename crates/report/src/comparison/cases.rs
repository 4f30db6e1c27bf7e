//! A comparison as a list of cases with outcomes, the source of test reports and annotations.

use analysis::compare::{Cell, Row, Scenarios, Side, Target, Why};
use analysis::figures::Figure;

use super::{figures, notes, words};

/// Cases that belong together: one scenario on one target, or one gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    pub name: String,
    pub cases: Vec<Case>,
}

/// One thing that can be well or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The server that it is about.
    pub server: String,
    pub name: String,
    pub outcome: Outcome,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// A warning that fails nothing.
    Warned,
    /// There is no data.
    Skipped,
    /// There are data, and they do not decide.
    Undecided,
    /// A regression, or work that was not done.
    Failed,
    Errored,
}

/// The cases of a comparison. A comparison has no limits, so a case fails only if it makes the comparison worthless: a
/// server failed, or did less work.
pub fn suites(scenarios: &Scenarios) -> Vec<Suite> {
    let mut suites = Vec::new();
    for target in scenarios.values().flatten() {
        suites.push(Suite {
            name: format!("{} on {}", target.comparison.scenario, target.name()),
            cases: cases(target),
        });
    }
    suites
}

fn cases(target: &Target) -> Vec<Case> {
    let comparison = &target.comparison;
    let mut cases = Vec::new();
    for (place, side) in comparison.sides.iter().enumerate() {
        cases.push(runs(side));
        cases.extend(headlines_case(side.label.clone(), &side.headlines));
        if place > 0 {
            cases.push(work(side, &comparison.sides[0]));
        }
        cases.extend(settings(side));
        let checkpoints = comparison
            .rows
            .iter()
            .filter(|row| row.measure.figure == Figure::Private);
        cases.extend(checkpoints.map(|row| figure(side, row, &row.cells[place], &comparison.sides[0].label)));
    }
    for difference in comparison
        .differences
        .iter()
        .filter(|difference| difference.is_decisive())
    {
        cases.push(Case {
            server: String::new(),
            name: format!("same {}", difference.what),
            outcome: Outcome::Warned,
            text: notes::difference(difference),
        });
    }
    cases
}

fn runs(side: &Side) -> Case {
    let failed: Vec<&str> = side
        .left
        .iter()
        .filter(|left| left.why == Why::Failed)
        .map(|left| left.record.as_str())
        .collect();
    let outcome = match (failed.as_slice(), side.runs.len()) {
        ([_, ..], _) => Outcome::Errored,
        ([], 0) => Outcome::Skipped,
        ([], _) => Outcome::Passed,
    };
    let text = match failed.as_slice() {
        [] => words::runs(side),
        failed => format!("{}: {}", words::failures(side), failed.join(", ")),
    };
    Case {
        server: side.label.clone(),
        name: "runs".to_owned(),
        outcome,
        text,
    }
}

/// A case that fails nothing, for headlines that give the figures another meaning than they seem to have; `None` without
/// headlines.
pub(crate) fn headlines_case(server: String, headlines: &[String]) -> Option<Case> {
    if headlines.is_empty() {
        return None;
    }
    Some(Case {
        server,
        name: "headlines".to_owned(),
        outcome: Outcome::Warned,
        text: headlines.join("\n"),
    })
}

fn work(side: &Side, baseline: &Side) -> Case {
    let unknown = notes::unknown_work(side, baseline);
    let outcome = match side.work.as_slice() {
        [] if unknown.is_some() => Outcome::Skipped,
        [] => Outcome::Passed,
        work if work.iter().any(|work| work.less) => Outcome::Failed,
        _ => Outcome::Warned,
    };
    let mut lines: Vec<String> = notes::work(side, &baseline.label)
        .into_iter()
        .map(|sentence| sentence.text)
        .collect();
    if lines.is_empty() {
        lines.push(unknown.unwrap_or_else(|| format!("the same work as {}", baseline.label)));
    }
    Case {
        server: side.label.clone(),
        name: "work".to_owned(),
        outcome,
        text: lines.join("\n"),
    }
}

/// A case for settings and libraries that were asked for and not seen in force; `None` without any.
fn settings(side: &Side) -> Option<Case> {
    let unseen = side.unseen.iter().map(|knob| notes::unseen(&side.label, knob));
    let doubts = side.doubts.iter().map(|text| notes::doubt(&side.label, text));
    let lines: Vec<String> = unseen.chain(doubts).collect();
    if lines.is_empty() {
        return None;
    }
    Some(Case {
        server: side.label.clone(),
        name: "settings".to_owned(),
        outcome: Outcome::Warned,
        text: lines.join("\n"),
    })
}

fn figure(side: &Side, row: &Row, cell: &Cell, baseline: &str) -> Case {
    let unit = row.measure.figure.unit();
    let text = match cell.median {
        None => "no run has this figure".to_owned(),
        Some(median) => {
            let mut text = format!("median {}", figures::value_with_unit(median.median, unit));
            let interval = figures::interval(cell, unit);
            if !interval.is_empty() {
                text.push_str(&format!(" ({interval})"));
            }
            if let Some(difference) = cell.ratio.as_ref().and_then(figures::difference) {
                text.push_str(&format!(", {difference} against {baseline}"));
            }
            text
        }
    };
    Case {
        server: side.label.clone(),
        name: figures::place(row),
        outcome: cell.median.map_or(Outcome::Skipped, |_| Outcome::Passed),
        text,
    }
}
