//! Self-reports that free the memory they count: nothing may be measured afterwards.

use super::check::Check;
use super::scenario::{Repeat, Scenario};
use super::step::Step;

/// Requests known to do this.
const REQUESTS: [&str; 1] = ["rust-analyzer/memoryUsage"];

const CURE: &str = "make it the last step of the last phase, and let that phase come once";

impl Check<'_, '_> {
    /// Finds such self-reports before the end. Phases of this file come after those that it includes.
    pub(super) fn destructive(&mut self, scenario: &Scenario) {
        let once = |repeat: Option<Repeat>| matches!(repeat, None | Some(Repeat::Times(0 | 1)));
        let phases = scenario.phases.len();
        for (phase_index, phase) in scenario.phases.iter().enumerate() {
            for (step_index, step) in phase.steps.iter().enumerate() {
                let Some(name) = destructive(step) else { continue };
                let last = phase_index + 1 == phases && step_index + 1 == phase.steps.len();
                // The first phase is not repeated with the scenario.
                let rounds = once(phase.repeat) && (once(scenario.repeat) || phases == 1);
                if last && rounds {
                    continue;
                }
                let path = ["phase".into(), phase_index.into(), "steps".into(), step_index.into()];
                let when = if last {
                    "is played more than once"
                } else {
                    "is not the last step"
                };
                let title = format!("`{name}` frees what it counts, and {when}");
                self.add(&path, title, CURE);
            }
        }
    }
}

/// The method of a step that frees the memory it counts.
fn destructive(step: &Step) -> Option<&str> {
    match step {
        Step::SelfReport(options) if options.destructive => Some("self-report"),
        step => step.raw().filter(|method| REQUESTS.contains(method)),
    }
}
