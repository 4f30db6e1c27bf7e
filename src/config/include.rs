//! Merges included scenarios into one list of phases with one start and unique names.

use std::collections::BTreeMap;

use super::scenario::{Phase, Scenario, Settle};
use super::step::Step;

/// Puts the phases of `included` before those of `own`. Keeps only the first start. A duplicate phase name gets its
/// scenario's name as a prefix.
pub fn flatten(mut own: Scenario, included: Vec<Scenario>) -> Scenario {
    if included.is_empty() {
        return own;
    }
    let leads = own.phases.first().is_some_and(Phase::starts_server);
    let head: Vec<Phase> = own.phases.drain(..usize::from(leads)).collect();
    let tail = std::mem::take(&mut own.phases);
    let workspace = included.iter().find_map(|scenario| scenario.workspace.clone());
    own.workspace = own.workspace.or(workspace);
    let mut phases: Vec<(String, Phase)> = Vec::new();
    phases.extend(head.into_iter().map(|phase| (own.name.clone(), phase)));
    for scenario in included {
        let settle = scenario.settle;
        phases.extend(scenario.phases.into_iter().map(|mut phase| {
            phase.settle = filled(phase.settle, settle);
            (scenario.name.clone(), phase)
        }));
    }
    phases.extend(tail.into_iter().map(|phase| (own.name.clone(), phase)));
    own.phases = renamed(one_start(phases));
    own.include.clear();
    own
}

fn filled(settle: Settle, under: Settle) -> Settle {
    Settle {
        quiet: settle.quiet.or(under.quiet),
        at_most: settle.at_most.or(under.at_most),
        cpu: settle.cpu.or(under.cpu),
    }
}

fn one_start(phases: Vec<(String, Phase)>) -> Vec<(String, Phase)> {
    let mut started = false;
    phases
        .into_iter()
        .filter_map(|(scenario, mut phase)| {
            if started {
                let before = phase.steps.len();
                phase.steps.retain(|step| !matches!(step, Step::Start(_)));
                if phase.steps.is_empty() && before > 0 {
                    return None;
                }
            }
            started |= phase.starts_server();
            Some((scenario, phase))
        })
        .collect()
}

fn renamed(phases: Vec<(String, Phase)>) -> Vec<Phase> {
    let mut uses: BTreeMap<String, u32> = BTreeMap::new();
    for (_, phase) in &phases {
        *uses.entry(phase.name.clone()).or_default() += 1;
    }
    let mut given: BTreeMap<String, u32> = BTreeMap::new();
    phases
        .into_iter()
        .map(|(scenario, mut phase)| {
            if uses.get(&phase.name).is_some_and(|uses| *uses > 1) {
                phase.name = format!("{scenario}/{}", phase.name);
            }
            let times = given.entry(phase.name.clone()).or_default();
            *times += 1;
            // The same file is included twice.
            if *times > 1 {
                phase.name = format!("{} {times}", phase.name);
            }
            phase
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(text: &str) -> Scenario {
        crate::config::place::read(&format!("format = 1\n{text}")).unwrap()
    }

    fn names(scenario: &Scenario) -> Vec<&str> {
        scenario.phases.iter().map(|phase| phase.name.as_str()).collect()
    }

    #[test]
    fn one_start_is_kept_and_equal_names_are_told_apart() {
        let goto = scenario(
            r#"
            name = "goto"
            [workspace]
            path = "shop"
            [settle]
            quiet = "3s"
            [[phase]]
            name = "start"
            steps = [{ start = {} }]
            [[phase]]
            name = "definitions"
            steps = [{ open = {} }]
            [[phase]]
            name = "decay"
            steps = [{ idle = {} }]
            "#,
        );
        let typing = scenario(
            r#"
            name = "typing"
            [[phase]]
            name = "begin"
            steps = [{ start = {} }, { open = {} }]
            [[phase]]
            name = "decay"
            steps = [{ idle = {} }]
            "#,
        );
        let day = scenario(
            r#"
            name = "day"
            include = ["goto.toml", "typing.toml"]
            [[phase]]
            name = "end"
            steps = [{ close = {} }]
            "#,
        );
        let day = flatten(day, vec![goto.clone(), typing, goto]);
        assert_eq!(
            names(&day),
            [
                "start", "goto/definitions", "goto/decay", "begin", "typing/decay", "goto/definitions 2",
                "goto/decay 2", "end",
            ]
        );
        assert_eq!(day.phases[3].steps.len(), 1);
        assert_eq!(day.phases[1].settle.quiet, Some(base::units::Span::from_secs(3)));
        assert_eq!(day.workspace.map(|workspace| workspace.path), Some("shop".to_owned()));
    }

    #[test]
    fn a_start_of_its_own_comes_before_what_is_included() {
        let part = scenario("name = \"part\"\n[[phase]]\nname = \"a\"\nsteps = [{ start = {} }, { open = {} }]");
        let whole = scenario("name = \"whole\"\n[[phase]]\nname = \"mine\"\nsteps = [{ start = {} }]");
        assert_eq!(names(&flatten(whole, vec![part])), ["mine", "a"]);
    }
}
