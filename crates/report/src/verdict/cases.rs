//! A gate as a list of cases, for test reports and annotations.

use crate::comparison::{Case, Outcome, Suite, difference, headlines_case, unequal};
use analysis::gate::{Against, Judgement, Party, Role};
use base::units;
use stats::Answer;

use super::document::headline_sentences;
use super::findings::{About, Finding, findings};
use super::words::name;

/// Cases: the runs of each server, the work, every rule, and circumstances that differ.
///
/// An inconclusive rule is skipped, or failed if `strict`, as the exit code. Advice fails nothing.
pub fn suites(judgement: &Judgement, strict: bool) -> Vec<Suite> {
    let mut cases: Vec<Case> = judgement.parties.iter().map(|party| runs(judgement, party)).collect();
    cases.extend(headlines_case(String::new(), &headline_sentences(judgement)));
    cases.extend(judgement.against.iter().map(|against| work(judgement, against)));
    if judgement.is_refused() {
        cases.extend(unjudged_rules(judgement));
    } else {
        cases.extend(
            findings(judgement)
                .iter()
                .map(|finding| rule(judgement, finding, strict)),
        );
    }
    for differing in judgement.differences.iter().filter(|other| other.is_decisive()) {
        cases.push(Case {
            server: String::new(),
            name: format!("same {}", differing.what),
            outcome: Outcome::Warned,
            text: difference(differing),
        });
    }
    vec![Suite {
        name: format!("gate {}", judgement.scenario),
        cases,
    }]
}

fn runs(judgement: &Judgement, party: &Party) -> Case {
    let broken: Vec<&str> = judgement
        .broken
        .iter()
        .filter(|broken| broken.role == party.role)
        .map(|broken| broken.record.as_str())
        .collect();
    let (outcome, text) = match (broken.as_slice(), party.runs) {
        ([], 0) => (Outcome::Skipped, "no run counts".to_owned()),
        ([], runs) => (Outcome::Passed, units::count_of(runs as u64, "run")),
        (broken, _) => {
            let runs = units::count_of(broken.len() as u64, "run");
            let text = format!(
                "the {} failed the scenario in {runs}: {}",
                party.role.name(),
                broken.join(", ")
            );
            (Outcome::Errored, text)
        }
    };
    Case {
        server: name(judgement, party.role),
        name: "runs".to_owned(),
        outcome,
        text,
    }
}

fn work(judgement: &Judgement, against: &Against) -> Case {
    let other = against.role.name();
    let lines: Vec<String> = against
        .work
        .iter()
        .map(|work| unequal(Role::Candidate.name(), other, work))
        .collect();
    let lacks_runs = judgement
        .parties
        .iter()
        .any(|party| party.runs == 0 && (party.role == against.role || party.role == Role::Candidate));
    let (outcome, text) = match lines.as_slice() {
        [] if lacks_runs => (Outcome::Skipped, "there are no runs to compare".to_owned()),
        [] => (Outcome::Passed, format!("the same work as the {other}")),
        lines if against.work.iter().any(|work| work.less) => (Outcome::Failed, lines.join("\n")),
        lines => (Outcome::Warned, lines.join("\n")),
    };
    Case {
        server: name(judgement, Role::Candidate),
        name: format!("work against the {other}"),
        outcome,
        text,
    }
}

fn rule(judgement: &Judgement, finding: &Finding, strict: bool) -> Case {
    let outcome = match (finding.decides, finding.answer) {
        (_, None) => Outcome::Errored,
        (_, Some(Answer::Pass)) => Outcome::Passed,
        (true, Some(Answer::Fail)) => Outcome::Failed,
        (false, Some(Answer::Fail)) => Outcome::Warned,
        (true, Some(Answer::Inconclusive)) if strict => Outcome::Failed,
        (true, Some(Answer::Inconclusive)) => Outcome::Undecided,
        (false, Some(Answer::Inconclusive)) => Outcome::Skipped,
    };
    Case {
        server: name(judgement, Role::Candidate),
        name: finding.about.title(),
        outcome,
        text: finding.text.clone(),
    }
}

/// Skipped cases for the rules of a refused gate, so that a report has the same cases whatever happened.
fn unjudged_rules(judgement: &Judgement) -> Vec<Case> {
    let mut cases = Vec::new();
    for against in &judgement.against {
        for judged in against.primaries.iter().chain(&against.advisory) {
            let about = About::Endpoint(judged.rule.subject.to_string(), against.role);
            cases.push(Case {
                server: name(judgement, Role::Candidate),
                name: about.title(),
                outcome: Outcome::Skipped,
                text: "not judged: a server failed or did less work".to_owned(),
            });
        }
    }
    cases
}
