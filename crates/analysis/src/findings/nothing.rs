//! Steps and runs with no requests or almost no results. The scenario may allow that, but the phase's figures mean
//! little.

use base::units;
use record::Ending;

use super::super::summary::{StepSummary, Summary};
use super::{Finding, Severity, finding};

/// Steps that may send no request. A server may publish diagnostics unasked.
const SILENT: [&str; 15] = [
    "start", "open", "close", "save", "edit", "type", "diagnostics", "execute-command", "notification", "touch",
    "idle", "release", "self-report", "pause", "restart",
];

/// Steps whose targets most servers know: few results mean that the server did not understand the files.
const FINDING: [&str; 8] = [
    "completion", "definition", "document-highlight", "document-symbol", "hover", "references", "semantic-tokens",
    "signature-help",
];

/// Fewer requests than this may have few results by chance.
const ENOUGH: u64 = 20;

/// A step of a phase, summed over all rounds.
struct Rounds<'s> {
    place: (u32, u32),
    phase: &'s str,
    step: &'s StepSummary,
    requests: u64,
    hits: u64,
    /// Whether the step did its work in any round.
    did: bool,
}

/// One sentence per step of a phase that sent no request in any round, or had almost no results.
pub fn fruitless_steps(summary: &Summary) -> Vec<Finding> {
    let is_reported = |phase: &str, step: &str| match &summary.ending {
        Some(Ending::Empty { steps }) => steps.iter().any(|empty| empty.phase == phase && empty.step == step),
        _ => false,
    };
    let fruitless = fruitless(summary);
    let steps = steps(summary).into_iter();
    let texts = steps.filter(|rounds| !is_reported(rounds.phase, &rounds.step.name)).filter_map(|rounds| {
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

/// The number of requests of a run without any result. The scenario's own requests do not count: they may have none.
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

/// The steps with requests, each once. Excludes steps that did not end or that the server does not offer; other
/// findings report those.
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
            // Typing is work even without a completion.
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
    use crate::golden::summarised;
    use record::golden;

    #[test]
    fn a_step_that_asked_nothing_in_any_round_is_told_once() {
        let mut summary = summarised(&golden::completed());
        assert!(fruitless_steps(&summary).is_empty());
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
            let is_reported = fruitless_steps(&summary).into_iter().map(|finding| finding.text);
            is_reported.collect::<Vec<String>>()
        };
        let is_reported = set([Some(0), Some(0)], false);
        assert_eq!(is_reported.len(), 1, "{is_reported:?}");
        assert!(
            is_reported[0].starts_with("`completion` of ask asked nothing"),
            "{is_reported:?}"
        );
        assert!(set([Some(0), Some(2)], false).is_empty());
        assert!(set([None, None], false).is_empty());
        assert!(set([Some(0), Some(0)], true).is_empty());
    }

    #[test]
    fn a_run_of_which_no_request_found_anything_is_told_once() {
        let mut summary = summarised(&golden::completed());
        let mut is_reported = |name: &str, hits: u64| {
            for step in summary.phases.iter_mut().flat_map(|phase| &mut phase.steps) {
                (step.name, step.requests, step.hits) = (name.to_owned(), Some(60), Some(hits));
            }
            let is_reported = fruitless_steps(&summary).into_iter().map(|finding| finding.text);
            is_reported.collect::<Vec<String>>()
        };
        for name in ["code-action", "formatting", "diagnostics", "hover"] {
            let is_reported = is_reported(name, 0);
            assert_eq!(is_reported.len(), 1, "{is_reported:?}");
            assert!(
                is_reported[0].starts_with("none of the ") && is_reported[0].contains(" requests has a result"),
                "{is_reported:?}"
            );
        }
        assert!(is_reported("code-action", 1).is_empty());
        assert!(is_reported("request", 0).is_empty());
    }

    #[test]
    fn a_step_that_found_next_to_nothing_is_told_unless_it_asked_little() {
        let mut summary = summarised(&golden::completed());
        let mut phase = summary
            .phases
            .iter()
            .find(|phase| !phase.steps.is_empty())
            .cloned()
            .unwrap();
        (phase.phase.phase, phase.phase.name) = (90, "goto".to_owned());
        phase.steps.truncate(1);
        summary.phases.push(phase);
        let mut is_reported = |name: &str, requests: u64, hits: u64| {
            let step = &mut summary.phases.last_mut().unwrap().steps[0];
            (step.name, step.requests, step.hits) = (name.to_owned(), Some(requests), Some(hits));
            fruitless_steps(&summary).pop().map(|finding| finding.text)
        };
        let few = is_reported("definition", 400, 2).unwrap();
        assert!(few.contains("in only 2 of 400 requests"), "{few}");
        assert!(is_reported("completion", 173, 15).is_some());
        assert_eq!(is_reported("definition", 400, 61), None);
        assert_eq!(is_reported("definition", 8, 0), None);
        // A file without problems has no code actions.
        assert_eq!(is_reported("code-action", 400, 2), None);
    }
}
