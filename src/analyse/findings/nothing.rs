//! Steps that were to ask something and asked nothing: a scenario that allows that is not failed by it, but no figure of the
//! phase says anything of them.

use super::super::summary::Summary;
use super::{Finding, Severity, finding};

/// Steps that ask something wherever they find a place for it. Not so diagnostics, which a server may publish unasked.
const ASKING: [&str; 19] = [
    "type-and-complete", "definition", "type-definition", "implementation", "references", "hover", "completion",
    "signature-help", "document-highlight", "document-symbol", "workspace-symbol", "rename", "code-action",
    "formatting", "semantic-tokens", "inlay-hint", "folding-range", "call-hierarchy", "request",
];

/// A sentence for the steps of each phase that asked nothing in any of its rounds.
pub fn asked(summary: &Summary) -> Vec<Finding> {
    // By phase and place in it: its name, and whether it asked anything.
    let mut steps: Vec<((u32, u32), &str, &str, bool)> = Vec::new();
    for phase in &summary.phases {
        for step in &phase.steps {
            // What did not end is told otherwise, and so is what the server does not offer.
            let (Some(requests), false) = (step.requests, step.skipped) else {
                continue;
            };
            if !ASKING.contains(&step.name.as_str()) {
                continue;
            }
            // What was typed and brought nothing to complete did its work.
            let did = requests > 0 || step.notifications != Some(0);
            let place = (phase.phase.phase, step.step);
            match steps.iter_mut().find(|(known, ..)| *known == place) {
                Some((.., asked)) => *asked |= did,
                None => steps.push((place, &phase.phase.name, &step.name, did)),
            }
        }
    }
    let silent = steps.iter().filter(|(.., asked)| !asked);
    let texts = silent.map(|(_, phase, step, _)| {
        format!(
            "`{step}` of {phase} asked nothing, for it found no place in the files that it looked at: give it more or larger \
             files, or leave it out"
        )
    });
    texts.map(|text| finding(Severity::Warning, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::tests::of;
    use crate::record::golden;

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
            let told = asked(&summary).into_iter().map(|finding| finding.text);
            told.collect::<Vec<String>>()
        };
        let told = set([Some(0), Some(0)], false);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("`completion` of ask asked nothing"), "{told:?}");
        assert!(set([Some(0), Some(2)], false).is_empty());
        assert!(set([None, None], false).is_empty());
        assert!(set([Some(0), Some(0)], true).is_empty());
    }
}
