//! Cuts: parts that can be left out of a scenario, stage by stage.

use toml_edit::Value;

use super::draft::{Draft, Path, Segment, below};

/// The order in which a scenario is shrunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Phases,
    Steps,
    /// Different requests of a round: counts, and elements of lists.
    Requests,
    Options,
}

impl Stage {
    pub const ALL: [Stage; 4] = [Stage::Phases, Stage::Steps, Stage::Requests, Stage::Options];

    pub fn name(self) -> &'static str {
        match self {
            Stage::Phases => "phases",
            Stage::Steps => "steps",
            Stage::Requests => "requests",
            Stage::Options => "options",
        }
    }
}

/// One thing that can be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    pub path: Path,
    /// `None`: the value goes. Otherwise it becomes this number.
    pub count: Option<i64>,
}

/// Counts whose defaults are larger than one.
const COUNTS: [&str; 3] = ["files", "per-file", "times"];

/// Keys that say how a scenario is measured and not what is played.
const MEASURING: [&str; 10] = [
    "format", "name", "seed", "workspace", "readiness", "settle", "deadline", "collect", "phase", "result",
];

const PHASE: &str = "phase";
const STEPS: &str = "steps";
const REPEAT: &str = "repeat";

/// The cuts that a stage may try on a draft. Rounds stay if the condition is judged by them.
pub fn cuts(draft: &Draft, stage: Stage, keeps_rounds: bool) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let phases = draft.children(&[key(PHASE)]);
    if stage == Stage::Options {
        for (path, _) in draft.children(&[]) {
            let is_measuring = path.iter().any(|segment| is_among(segment, &MEASURING));
            let is_kept_round = keeps_rounds && is_among(&path[0], &[REPEAT]);
            if !is_measuring && !is_kept_round {
                cuts.push(removed(path));
            }
        }
        for (path, _) in draft.children(&[key("workspace")]) {
            if !is_among(&path[1], &["path", "language", "files"]) {
                cuts.push(removed(path));
            }
        }
    }
    for (phase, _) in phases {
        match stage {
            Stage::Phases => cuts.push(removed(phase)),
            Stage::Steps => cuts.extend(
                draft
                    .children(&below(&phase, key(STEPS)))
                    .into_iter()
                    .map(|(path, _)| removed(path)),
            ),
            Stage::Requests => {
                for options in options_of_steps(draft, &phase) {
                    reduced(draft, &options, &mut cuts);
                    for name in COUNTS {
                        let path = below(&options, key(name));
                        if draft.value(&path).is_none() {
                            cuts.push(Cut { path, count: Some(1) });
                        }
                    }
                }
                if !keeps_rounds {
                    reduced(draft, &below(&phase, key(REPEAT)), &mut cuts);
                }
            }
            Stage::Options => {
                for (path, _) in draft.children(&phase) {
                    let is_kept = path
                        .last()
                        .is_some_and(|last| is_among(last, &["name", STEPS, "settle"]));
                    let is_kept_round = keeps_rounds && path.last().is_some_and(|last| is_among(last, &[REPEAT]));
                    if !is_kept && !is_kept_round {
                        cuts.push(removed(path));
                    }
                }
                for options in options_of_steps(draft, &phase) {
                    for (path, value) in draft.children(&options) {
                        // A count that goes has its larger default again.
                        if value.as_integer().is_none() {
                            cuts.push(removed(path));
                        }
                    }
                }
            }
        }
    }
    cuts
}

/// Every option of every step.
pub fn options(draft: &Draft) -> Vec<Cut> {
    let phases = draft.children(&[key(PHASE)]);
    let tables = phases
        .into_iter()
        .flat_map(|(phase, _)| options_of_steps(draft, &phase));
    let options = tables.flat_map(|table| draft.children(&table));
    options.map(|(path, _)| removed(path)).collect()
}

/// The draft without what the cuts leave out.
pub fn apply(draft: &Draft, cuts: &[Cut]) -> Draft {
    let mut draft = draft.clone();
    let mut sorted: Vec<&Cut> = cuts.iter().collect();
    // The last first, so that the places of the others stay.
    sorted.sort_by(|one, other| other.path.cmp(&one.path));
    for cut in sorted {
        match cut.count {
            None => draft.remove(&cut.path),
            Some(count) => draft.set(&cut.path, Value::from(count)),
        }
    }
    draft.remove_empty_phases();
    draft
}

/// Numbers between one and the present one that are tried where one is too few, the least first.
pub fn larger_counts(draft: &Draft, cut: &Cut) -> Vec<i64> {
    let present = draft.value(&cut.path).and_then(Value::as_integer);
    let mut counts = vec![3, 9];
    counts.extend(present.map(|present| present / 2));
    counts.retain(|count| *count > 1 && present.is_none_or(|present| *count < present));
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Every number above one becomes one, and every element of a list goes.
fn reduced(draft: &Draft, path: &[Segment], cuts: &mut Vec<Cut>) {
    for (child, value) in draft.children(path) {
        if matches!(child.last(), Some(Segment::Index(_))) {
            cuts.push(removed(child.clone()));
        }
        match value.as_integer() {
            Some(number) if number > 1 => cuts.push(Cut {
                path: child,
                count: Some(1),
            }),
            Some(_) => {}
            None => reduced(draft, &child, cuts),
        }
    }
}

/// The table of options of each step of a phase.
fn options_of_steps(draft: &Draft, phase: &[Segment]) -> Vec<Path> {
    let steps = draft.children(&below(phase, key(STEPS)));
    let options = steps.into_iter().flat_map(|(step, _)| draft.children(&step));
    options.map(|(path, _)| path).collect()
}

fn removed(path: Path) -> Cut {
    Cut { path, count: None }
}

fn key(name: &str) -> Segment {
    Segment::Key(name.to_owned())
}

fn is_among(segment: &Segment, names: &[&str]) -> bool {
    matches!(segment, Segment::Key(key) if names.contains(&key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Scenario;

    const SCENARIO: &str = r#"
# A comment that is true of the whole scenario only.
format = 1
name = "session"
description = "everything"
capabilities = "vscode"

[workspace]
path = "shop"   # here
language = "python"
exclude = ["a"]

[[phase]]
name = "start"
steps = [{ start = {} }, { open = { files = 10, pick = "next" } }]

[[phase]]
name = "edit"
repeat = { times = 22 }
steps = [
    { edit = { files = 5, per-file = 10 } },   # work
    { workspace-symbol = { queries = ["a", "e"] } },
]
"#;

    fn draft() -> Draft {
        let scenario: Scenario = crate::config::place::read(SCENARIO).unwrap();
        Draft::from_texts(SCENARIO, &scenario).unwrap()
    }

    fn after(stage: Stage, keeps_rounds: bool) -> String {
        let draft = draft();
        apply(&draft, &cuts(&draft, stage, keeps_rounds)).text()
    }

    #[test]
    fn a_draft_is_the_scenario_without_its_comments() {
        let text = draft().text();
        let again: Scenario = crate::config::place::read(&text).unwrap();
        let mut scenario: Scenario = crate::config::place::read(SCENARIO).unwrap();
        scenario.description.clear();
        assert_eq!(again, scenario, "{text}");
        assert!(!text.contains('#'), "{text}");
        assert!(
            text.contains("\nworkspace = { path = \"shop\", language = \"python\", exclude = [\"a\"] }\n"),
            "{text}"
        );
    }

    #[test]
    fn each_stage_leaves_out_its_own() {
        assert!(!after(Stage::Phases, true).contains("[[phase]]"));
        assert!(
            !after(Stage::Steps, true).contains("[[phase]]"),
            "a phase without steps goes"
        );
        let requests = after(Stage::Requests, true);
        for text in [
            "edit = { files = 1, per-file = 1, times = 1 }",
            "queries = []",
            "times = 22",
        ] {
            assert!(requests.contains(text), "{text} in {requests}");
        }
        assert!(after(Stage::Requests, false).contains("repeat = { times = 1 }"));
        let options = after(Stage::Options, true);
        for text in ["capabilities", "exclude", "pick", "queries"] {
            assert!(!options.contains(text), "{text} in {options}");
        }
        assert!(
            options.contains("files = 10") && options.contains("times = 22"),
            "{options}"
        );
        assert!(!after(Stage::Options, false).contains("repeat"));
    }

    #[test]
    fn what_an_included_file_plays_is_part_of_the_draft() {
        let own = "format = 1\nname = \"both\"\ninclude = [\"a.toml\"]\n[[phase]]\nname = \"end\"\nsteps = [{ pause = {} }]\n";
        let part = "format = 1\nname = \"a\"\n[settle]\nquiet = \"2s\"\n[workspace]\npath = \"x\"\n\
                    [[phase]]\nname = \"start\"\nsteps = [{ start = {} }]\nsettle = { at-most = \"9s\" }\n";
        let merged: Scenario = crate::config::place::read(
            "format = 1\nname = \"both\"\n[[phase]]\nname = \"start\"\nsteps = [{ start = {} }]\n\
             settle = { quiet = \"2s\", at-most = \"9s\" }\n[[phase]]\nname = \"end\"\nsteps = [{ pause = {} }]\n\
             [workspace]\npath = \"x\"\n",
        )
        .unwrap();
        let texts = format!("# file: both.toml\n{own}\n# file: a.toml\n{part}\n");
        let text = Draft::from_texts(&texts, &merged).unwrap().text();
        let again: Scenario = crate::config::place::read(&text).unwrap();
        assert_eq!(again, merged, "{text}");
    }

    #[test]
    fn counts_between_are_tried_in_order() {
        let draft = draft();
        let all = cuts(&draft, Stage::Requests, true);
        let counts: Vec<Vec<i64>> = all.iter().map(|cut| larger_counts(&draft, cut)).collect();
        assert!(counts.contains(&vec![3, 5, 9]), "of ten: {counts:?}");
        assert!(counts.contains(&vec![2, 3]), "of five: {counts:?}");
    }
}
