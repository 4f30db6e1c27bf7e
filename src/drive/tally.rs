//! Counts the requests and results of all steps, and decides whether the run measured anything.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::step::Expect;
use crate::config::{Phase, Step};
use record::{EmptyStep, Ending, StepEnd};

use super::ask::Errors;

/// Counts over all steps of a run with requests.
#[derive(Debug, Default)]
pub struct Tally {
    /// Requests sent, including long polls that stayed open.
    asked: u64,
    /// True if a step gave the server work without a request: typed, edited, saved.
    changed: bool,
    /// Phases with at least one hit.
    found: BTreeSet<u32>,
    /// Steps whose requests returned only errors or nothing.
    empty: Vec<EmptyStep>,
    /// Steps without requests: their phase, and whether requests were required.
    silent: Vec<(u32, bool, EmptyStep)>,
    /// Steps whose requests all stayed open in some round, by their place in the scenario.
    unanswered: BTreeMap<(u32, u32), EmptyStep>,
    /// Places of the steps that got an answer in some round.
    answered: BTreeSet<(u32, u32)>,
    /// Steps that the server does not support.
    skipped: Vec<EmptyStep>,
}

impl Tally {
    /// Counts a step that was played to its end or skipped; `parked` long polls were still open.
    pub fn add(&mut self, step: &Step, end: &StepEnd, parked: u64, errors: Errors) {
        self.changed |= step.changes() && end.notifications > 0;
        let Some(ask) = step.ask() else { return };
        let mut empty = EmptyStep {
            phase: end.phase.name.clone(),
            step: end.name.clone(),
            requests: end.requests,
            errors: errors.count,
            error: errors.commonest(),
            looked_for: end.looked_for.clone(),
            parked: 0,
            lacks: None,
        };
        if end.skipped {
            empty.lacks = step.method().map(str::to_owned);
            return once(&mut self.skipped, empty);
        }
        self.asked += end.requests + parked;
        if end.hits > 0 {
            self.found.insert(end.phase.phase);
        }
        // A cancelled request is answered by being given up.
        let uncancelled = end.requests - end.cancelled;
        let expects = ask.expect == Expect::Something && (uncancelled > 0 || end.requests == 0);
        // An optional step needs no place either.
        let must_ask = expects && !ask.optional;
        let place = (end.phase.phase, end.step);
        if end.requests > 0 {
            self.answered.insert(place);
        }
        if parked > 0 {
            // A step of long polls alone has measured nothing, whatever it expects and whatever else its phase found.
            if end.requests == 0 && !ask.optional {
                self.unanswered.entry(place).or_insert(EmptyStep { parked, ..empty });
            }
            return;
        }
        // Nothing may be the correct answer; an error never is.
        let refused = uncancelled > 0 && empty.errors == uncancelled;
        if end.requests == 0 {
            once(&mut self.silent, (end.phase.phase, must_ask, empty));
        } else if refused || (expects && end.hits == 0) {
            once(&mut self.empty, empty);
        }
    }

    /// The ending that follows from the results; `None` if the run is good. A step without a place fails no phase in
    /// which other steps had hits. A run without requests or changes has measured nothing.
    pub fn verdict(self) -> Option<Ending> {
        let nothing = self.asked == 0 && !self.changed;
        let mut steps = self.empty;
        for (phase, must_ask, step) in self.silent {
            if nothing || (must_ask && !self.found.contains(&phase)) {
                steps.push(step);
            }
        }
        for (place, step) in self.unanswered {
            if !self.answered.contains(&place) {
                steps.push(step);
            }
        }
        if nothing && steps.is_empty() {
            steps = self.skipped;
        }
        empty_ending(steps)
    }

    /// The ending of phases whose requests are all skipped; `None` if there are none.
    pub fn unsupported<'p>(phases: impl Iterator<Item = &'p Phase>) -> Option<Ending> {
        let mut steps = Vec::new();
        for phase in phases {
            for step in phase.steps.iter().filter(|step| step.ask().is_some()) {
                steps.push(EmptyStep {
                    phase: phase.name.clone(),
                    step: step.name().to_owned(),
                    requests: 0,
                    errors: 0,
                    error: None,
                    looked_for: None,
                    parked: 0,
                    lacks: step.method().map(str::to_owned),
                });
            }
        }
        empty_ending(steps)
    }
}

fn empty_ending(steps: Vec<EmptyStep>) -> Option<Ending> {
    if steps.is_empty() {
        return None;
    }
    Some(Ending::Empty { steps })
}

/// Adds a value unless it is present: the rounds of a phase repeat.
fn once<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::PhaseRef;

    fn step(text: &str) -> Step {
        #[derive(serde::Deserialize)]
        struct One {
            step: Step,
        }
        crate::config::place::read::<One>(&format!("step = {text}"))
            .unwrap()
            .step
    }

    /// A step that was played to its end.
    fn played(phase: u32, step: &Step, requests: u64, hits: u64, skipped: bool) -> StepEnd {
        StepEnd {
            phase: PhaseRef {
                phase,
                cycle: 0,
                name: format!("p{phase}"),
            },
            step: 0,
            name: step.name().to_owned(),
            requests,
            hits,
            notifications: u64::from(step.changes() && !skipped),
            cancelled: 0,
            parked: 0,
            files_written: 0,
            files_watched: None,
            pulls_open: 0,
            skipped,
            looked_for: None,
            idle: None,
            left_open: None,
            release: None,
            self_report: None,
        }
    }

    /// Plays steps of the given phases, each with its requests and hits.
    fn verdict(steps: &[(u32, &str, u64, u64, bool)]) -> Option<Vec<String>> {
        let mut tally = Tally::default();
        for (phase, text, requests, hits, skipped) in steps {
            let step = step(text);
            let end = played(*phase, &step, *requests, *hits, *skipped);
            tally.add(&step, &end, 0, Errors::default());
        }
        names(tally)
    }

    fn names(tally: Tally) -> Option<Vec<String>> {
        match tally.verdict()? {
            Ending::Empty { steps } => Some(steps.into_iter().map(|step| step.step).collect()),
            ending => panic!("{ending:?}"),
        }
    }

    const HOVER: &str = "{ hover = {} }";
    const GOTO: &str = "{ definition = {} }";
    const ANY: &str = "{ hover = { expect = \"anything\" } }";

    #[test]
    fn a_step_without_a_place_fails_only_a_phase_in_which_nothing_was_found() {
        assert_eq!(verdict(&[(1, HOVER, 0, 0, false), (1, GOTO, 9, 3, false)]), None);
        let alone = verdict(&[(1, HOVER, 0, 0, false), (2, GOTO, 9, 3, false)]);
        assert_eq!(alone, Some(vec!["hover".to_owned()]));
        assert_eq!(verdict(&[(1, ANY, 0, 0, false), (2, GOTO, 9, 3, false)]), None);
        let optional = "{ definition = { optional = true } }";
        assert_eq!(verdict(&[(1, optional, 0, 0, false), (1, ANY, 2, 0, false)]), None);
        // In another round of the phase.
        assert_eq!(verdict(&[(1, HOVER, 0, 0, false), (1, HOVER, 5, 5, false)]), None);
    }

    /// The empty steps of rounds, each a step with its requests and its parked requests.
    fn empty_after_rounds(rounds: &[(&str, u64, u64)]) -> Option<Vec<String>> {
        let mut tally = Tally::default();
        for (number, (text, requests, parked)) in rounds.iter().enumerate() {
            let step = step(text);
            let mut end = played(1, &step, *requests, *requests, false);
            end.step = u32::from(*text == HOVER);
            end.phase.cycle = number as u32;
            tally.add(&step, &end, *parked, Errors::default());
        }
        names(tally)
    }

    #[test]
    fn a_step_whose_requests_all_stay_open_has_measured_nothing_beside_hits_of_its_phase() {
        let poll = "{ diagnostics = { workspace = true, expect = \"anything\" } }";
        assert_eq!(
            empty_after_rounds(&[(HOVER, 3, 0), (poll, 0, 1), (poll, 0, 1)]),
            Some(vec!["diagnostics".to_owned()])
        );
        assert_eq!(
            empty_after_rounds(&[(poll, 0, 1), (poll, 1, 0)]),
            None,
            "another round was answered"
        );
        let optional = "{ diagnostics = { workspace = true, optional = true } }";
        assert_eq!(empty_after_rounds(&[(HOVER, 3, 0), (optional, 0, 1)]), None);
    }

    #[test]
    fn a_run_without_one_request_has_measured_nothing() {
        assert_eq!(verdict(&[(1, ANY, 0, 0, false)]), Some(vec!["hover".to_owned()]));
        let skipped = [(1, HOVER, 0, 0, true), (2, GOTO, 0, 0, true), (2, GOTO, 0, 0, true)];
        assert_eq!(
            verdict(&skipped),
            Some(vec!["hover".to_owned(), "definition".to_owned()])
        );
        assert_eq!(verdict(&[(1, HOVER, 0, 0, true), (2, ANY, 5, 0, false)]), None);
        assert_eq!(verdict(&[(1, "{ open = {} }", 0, 0, false)]), None);
    }

    #[test]
    fn what_was_typed_or_edited_was_measured_without_one_request() {
        let skipped = (1, HOVER, 0, 0, true);
        let open = (1, "{ open = {} }", 0, 0, false);
        for work in ["{ edit = {} }", "{ type = {} }", "{ save = {} }"] {
            assert_eq!(verdict(&[open, (1, work, 0, 0, false), skipped]), None, "{work}");
        }
        assert_eq!(verdict(&[open, skipped]), Some(vec!["hover".to_owned()]));
    }
}
