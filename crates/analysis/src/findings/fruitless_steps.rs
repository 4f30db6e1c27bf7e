//! Steps and runs with no requests or almost no results. The scenario may allow that, but the phase's figures mean
//! little.

use base::units;
use record::Ending;

use super::super::summary::{StepSummary, Summary};
use super::{Finding, Severity, finding};

/// Steps that may send no request. A server may publish diagnostics unasked.
const SILENT: [&str; 20] = [
    "start", "open", "close", "save", "edit", "type", "diagnostics", "execute-command", "notification", "touch",
    "disk", "checkout", "shell", "settings", "folders", "idle", "release", "self-report", "pause", "restart",
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
    /// True if the step did its work in any round.
    did: bool,
}

impl Rounds<'_> {
    /// True if the step had almost no results, although most servers know its targets.
    fn has_few_results(&self) -> bool {
        FINDING.contains(&self.step.name.as_str())
            && self.requests >= ENOUGH
            && self.hits.saturating_mul(10) < self.requests
    }

    /// True if the ending of the run already names the step.
    fn is_in_ending(&self, summary: &Summary) -> bool {
        let Some(Ending::Empty { steps }) = &summary.ending else {
            return false;
        };
        steps
            .iter()
            .any(|empty| empty.phase == self.phase && empty.step == self.step.name)
    }
}

/// One sentence per step of a phase that sent no request in any round, or had almost no results.
pub fn fruitless_steps(summary: &Summary) -> Vec<Finding> {
    let fruitless = fruitless_requests(summary);
    let mut list = Vec::new();
    for rounds in steps(summary) {
        let (step, phase) = (&rounds.step.name, rounds.phase);
        if rounds.is_in_ending(summary) {
            continue;
        }
        if !rounds.did {
            let looked_for = rounds.step.looked_for.as_deref();
            let text = format!(
                "`{step}` of {phase} asked nothing: it found no {}; open more or larger files, or remove the step",
                looked_for.unwrap_or("target in the files that it looked at")
            );
            list.push(finding(Severity::Warning, text));
        } else if fruitless.is_none() && rounds.has_few_results() {
            let text = format!(
                "`{step}` of {phase} has results in only {} of {} requests, so its phase measures little: check that \
                 the workspace loads, or open files with more targets",
                units::count(rounds.hits),
                units::count(rounds.requests)
            );
            list.push(finding(Severity::Warning, text));
        }
    }
    if let Some(requests) = fruitless {
        let text = format!(
            "none of the {} requests has a result, so the run does not measure what answers cost: check that the \
             workspace loads, or choose another scenario",
            units::count(requests)
        );
        list.push(finding(Severity::Warning, text));
    }
    list
}

/// The number of requests of a run without any result. The scenario's own requests do not count: they may have none.
fn fruitless_requests(summary: &Summary) -> Option<u64> {
    const OWN: [&str; 2] = ["execute-command", "request"];
    if !matches!(summary.ending, Some(Ending::Completed)) {
        return None;
    }
    let (mut requests, mut hits) = (0_u64, 0_u64);
    for step in summary.phases.iter().flat_map(|phase| &phase.steps) {
        if !OWN.contains(&step.name.as_str()) {
            requests = requests.saturating_add(step.requests.unwrap_or(0));
            hits = hits.saturating_add(step.hits.unwrap_or(0));
        }
    }
    if requests > 0 && hits == 0 {
        Some(requests)
    } else {
        None
    }
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

    fn texts(summary: &Summary) -> Vec<String> {
        fruitless_steps(summary)
            .into_iter()
            .map(|finding| finding.text)
            .collect()
    }

    /// The golden run with another phase of one step, which is played once for each of these.
    fn run_with_steps(phase: &str, steps: &[StepSummary]) -> Summary {
        let mut summary = summarised(&golden::completed());
        let template = summary.phases[0].clone();
        for step in steps {
            let mut round = template.clone();
            (round.phase.phase, round.phase.name) = (90, phase.to_owned());
            round.steps = vec![step.clone()];
            summary.phases.push(round);
        }
        summary
    }

    /// Any step of the golden run, with these counts.
    fn step(name: &str, requests: Option<u64>, hits: u64) -> StepSummary {
        let summary = summarised(&golden::completed());
        let mut steps = summary.phases.into_iter().flat_map(|phase| phase.steps);
        StepSummary {
            name: name.to_owned(),
            requests,
            hits: Some(hits),
            notifications: Some(0),
            skipped: false,
            ..steps.next().unwrap()
        }
    }

    #[test]
    fn a_step_that_asked_nothing_in_any_round_is_told_once() {
        assert!(texts(&summarised(&golden::completed())).is_empty());
        let silent = step("completion", Some(0), 0);
        let reported = texts(&run_with_steps("ask", &[silent.clone(), silent.clone()]));
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert!(
            reported[0].starts_with("`completion` of ask asked nothing"),
            "{reported:?}"
        );
        let unended = step("completion", None, 0);
        let skipped = StepSummary {
            skipped: true,
            ..silent.clone()
        };
        for rounds in [
            [silent, step("completion", Some(2), 0)],
            [unended.clone(), unended],
            [skipped.clone(), skipped],
        ] {
            assert_eq!(texts(&run_with_steps("ask", &rounds)), Vec::<String>::new());
        }
    }

    #[test]
    fn a_run_of_which_no_request_found_anything_is_told_once() {
        let mut summary = summarised(&golden::completed());
        for (name, hits, is_reported) in [
            ("code-action", 0, true),
            ("formatting", 0, true),
            ("diagnostics", 0, true),
            ("hover", 0, true),
            ("code-action", 1, false),
            ("request", 0, false),
        ] {
            for step in summary.phases.iter_mut().flat_map(|phase| &mut phase.steps) {
                (step.name, step.requests, step.hits) = (name.to_owned(), Some(60), Some(hits));
            }
            let reported = texts(&summary);
            assert_eq!(reported.len(), usize::from(is_reported), "{reported:?}");
            assert!(
                reported
                    .iter()
                    .all(|text| text.starts_with("none of the ") && text.contains(" requests has a result")),
                "{reported:?}"
            );
        }
    }

    #[test]
    fn a_step_that_found_next_to_nothing_is_told_unless_it_asked_little() {
        for (name, requests, hits, words) in [
            ("definition", 400, 2, Some("in only 2 of 400 requests")),
            ("completion", 173, 15, Some("in only 15 of 173 requests")),
            ("definition", 400, 61, None),
            ("definition", 8, 0, None),
            // A file without problems has no code actions.
            ("code-action", 400, 2, None),
        ] {
            let step = step(name, Some(requests), hits);
            let reported = texts(&run_with_steps("goto", &[step]));
            assert_eq!(reported.len(), usize::from(words.is_some()), "{reported:?}");
            assert!(
                reported.iter().all(|text| text.contains(words.unwrap_or_default())),
                "{reported:?}"
            );
        }
    }
}
