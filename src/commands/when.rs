//! The condition of `--when`: what it may name in a scenario, and the sentence that explains it.

use crate::config::{GateContext, Loaded, MistakeReport};
use crate::resolve::ServerChoice;
use analysis::when::When;
use base::lens::Lens;

use super::gate;

/// The condition, whose names exist in the scenario; or its mistake with a caret.
pub fn understand(text: &str, scenario: &Loaded, choices: &[ServerChoice]) -> Result<When, MistakeReport> {
    let mut context = gate::planned(GateContext::default(), scenario, choices, true);
    if choices.is_empty() {
        context.lenses = Lens::ALL.to_vec();
    }
    context.when("--when", text)
}
