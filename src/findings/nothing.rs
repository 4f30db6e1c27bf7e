//! Steps and runs that were to ask something and asked nothing, or found next to nothing: a scenario that allows that is
//! not failed by it, but no figure of the phase says much of them.

use crate::record::Ending;
use crate::units;

use super::super::summary::{StepSummary, Summary};
use super::{Finding, Severity, finding};

/// Steps that need not ask anything. Every other asks wherever it finds a place for it. Diagnostics a server may publish
/// unasked.
const SILENT: [&str; 15] = [
    "start", "open", "close", "save", "edit", "type", "diagnostics", "execute-command", "notification", "touch",
    "idle", "release", "self-report", "pause", "restart",
];

/// Steps that ask at places where most servers find something, so that few hits mean that they were not understood.
const FINDING: [&str; 8] = [
    "completion", "definition", "document-highlight", "document-symbol", "hover", "references", "semantic-tokens",
    "signature-help",
];

/// With fewer requests than this, few hits are chance.
const ENOUGH: u64 = 20;

/// A step of a phase, all its rounds together.
struct Rounds<'s> {
    place: (u32, u32),
    phase: &'s str,
    step: &'s StepSummary,
    requests: u64,
    hits: u64,
    /// Whether it did its work in any of them.
    did: bool,
}

/// A sentence for the steps of each phase that asked nothing in any of its rounds, or found next to nothing.
pub fn asked(summary: &Summary) -> Vec<Finding> {
    let is_told = |phase: &str, step: &str| match &summary.ending {
        Some(Ending::Empty { steps }) => steps.iter().any(|empty| empty.phase == phase && empty.step == step),
        _ => false,
    };
    let fruitless = fruitless(summary);
    let steps = steps(summary).into_iter();
    let texts = steps.filter(|rounds| !is_told(rounds.phase, &rounds.step.name)).filter_map(|rounds| {
        let (step, phase) = (&rounds.step.name, rounds.phase);
        let few = fruitless.is_none()
            && FINDING.contains(&step.as_str())
            && rounds.requests >= ENOUGH
            && rounds.hits.saturating_mul(10) < rounds.requests;
        if !rounds.did {
            let looked = rounds.step.looked_for.as_deref();
            let looked = looked.unwrap_or("target in the files that it looked at");
            Some(format!(
                "`{step}` of {phase} asked nothing: it found no {looked}; open more or larger files, or remove the step"
            ))
        } else if few {
            Some(format!(
                "`{step}` of {phase} has results in only {} of {} requests, so its phase measures little: check that \
                 the workspace loads, or open files with more targets",
                units::count(rounds.hits),
                units::count(rounds.requests)
            ))
        } else {
            None
        }
    });
    let all = fruitless.map(|requests| {
        format!(
            "none of the {} requests has a result, so the run does not measure what answers cost: check that the \
             workspace loads, or choose another scenario",
            units::count(requests)
        )
    });
    texts.chain(all).map(|text| finding(Severity::Warning, text)).collect()
}

/// The requests of a run of which none found anything. What a scenario sends by its own words may well have no result.
fn fruitless(summary: &Summary) -> Option<u64> {
    const OWN: [&str; 2] = ["execute-command", "request"];
    if !matches!(summary.ending, Some(Ending::Completed)) {
        return None;
    }
    let steps = summary.phases.iter().flat_map(|phase| &phase.steps);
    let counts = steps.filter(|step| !OWN.contains(&step.name.as_str()));
    let (requests, hits) = counts.fold((0_u64, 0_u64), |(requests, hits), step| {
        let add = |sum: u64, more: Option<u64>| sum.saturating_add(more.unwrap_or(0));
        (add(requests, step.requests), add(hits, step.hits))
    });
    (requests > 0 && hits == 0).then_some(requests)
}

/// The steps that ask something, each once. Not those that did not end or that the server does not offer, which are told
/// otherwise.
fn steps(summary: &Summary) -> Vec<Rounds<'_>> {
    let mut all: Vec<Rounds<'_>> = Vec::new();
    for phase in &summary.phases {
        for step in &phase.steps {
            let (Some(requests), false) = (step.requests, step.skipped) else {
                continue;
            };
            if SILENT.contains(&step.name.as_str()) {
                continue;
            }
            // What was typed and brought nothing to complete did its work.
            let did = requests > 0 || step.notifications != Some(0);
            let (place, hits) = ((phase.phase.phase, step.step), step.hits.unwrap_or(0));
            match all.iter_mut().find(|known| known.place == place) {
                Some(known) => {
                    known.requests = known.requests.saturating_add(requests);
                    known.hits = known.hits.saturating_add(hits);
                    known.did |= did;
                }
                None => all.push(Rounds {
                    place,
                    phase: &phase.phase.name,
                    step,
                    requests,
                    hits,
                    did,
                }),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::golden;
    use crate::summary::tests::of;

    #[test]
    fn a_step_that_asked_nothing_in_any_round_is_told_once() {
        let mut summary = of(&golden::completed());
        assert!(asked(&summary).is_empty());
        let again = summary.phases.len();
        let phase = summary
            .phases
            .iter()
            .find(|phase| !phase.steps.is_empty())
            .cloned()
            .unwrap();
        let mut set = |requests: [Option<u64>; 2], skipped: bool| {
            summary.phases.truncate(again);
            for requests in requests {
                let mut round = phase.clone();
                (round.phase.phase, round.phase.name) = (90, "ask".to_owned());
                round.steps.truncate(1);
                let step = &mut round.steps[0];
                (step.name, step.requests, step.skipped) = ("completion".to_owned(), requests, skipped);
                step.notifications = Some(0);
                summary.phases.push(round);
            }
            let is_told = asked(&summary).into_iter().map(|finding| finding.text);
            is_told.collect::<Vec<String>>()
        };
        let is_told = set([Some(0), Some(0)], false);
        assert_eq!(is_told.len(), 1, "{is_told:?}");
        assert!(
            is_told[0].starts_with("`completion` of ask asked nothing"),
            "{is_told:?}"
        );
        assert!(set([Some(0), Some(2)], false).is_empty());
        assert!(set([None, None], false).is_empty());
        assert!(set([Some(0), Some(0)], true).is_empty());
    }

    #[test]
    fn a_run_of_which_no_request_found_anything_is_told_once() {
        let mut summary = of(&golden::completed());
        let mut is_told = |name: &str, hits: u64| {
            for step in summary.phases.iter_mut().flat_map(|phase| &mut phase.steps) {
                (step.name, step.requests, step.hits) = (name.to_owned(), Some(60), Some(hits));
            }
            let is_told = asked(&summary).into_iter().map(|finding| finding.text);
            is_told.collect::<Vec<String>>()
        };
        for name in ["code-action", "formatting", "diagnostics", "hover"] {
            let is_told = is_told(name, 0);
            assert_eq!(is_told.len(), 1, "{is_told:?}");
            assert!(
                is_told[0].starts_with("none of the ") && is_told[0].contains(" requests has a result"),
                "{is_told:?}"
            );
        }
        assert!(is_told("code-action", 1).is_empty());
        assert!(is_told("request", 0).is_empty());
    }

    #[test]
    fn a_step_that_found_next_to_nothing_is_told_unless_it_asked_little() {
        let mut summary = of(&golden::completed());
        let mut phase = summary
            .phases
            .iter()
            .find(|phase| !phase.steps.is_empty())
            .cloned()
            .unwrap();
        (phase.phase.phase, phase.phase.name) = (90, "goto".to_owned());
        phase.steps.truncate(1);
        summary.phases.push(phase);
        let mut is_told = |name: &str, requests: u64, hits: u64| {
            let step = &mut summary.phases.last_mut().unwrap().steps[0];
            (step.name, step.requests, step.hits) = (name.to_owned(), Some(requests), Some(hits));
            asked(&summary).pop().map(|finding| finding.text)
        };
        let few = is_told("definition", 400, 2).unwrap();
        assert!(few.contains("in only 2 of 400 requests"), "{few}");
        assert!(is_told("completion", 173, 15).is_some());
        assert_eq!(is_told("definition", 400, 61), None);
        assert_eq!(is_told("definition", 8, 0), None);
        // A clean file has nothing to act on.
        assert_eq!(is_told("code-action", 400, 2), None);
    }
}
