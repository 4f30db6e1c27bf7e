//! Checks before any start whether a scenario finds places to ask at in the project's files.

use std::fs;

use crate::config::step::Expect;
use crate::config::{Loaded, Phase, Step};
use crate::drive::language;
use crate::drive::steps::place;
use crate::drive::target::{TargetKind, anywhere};
use crate::drive::workspace::SourceFile;
use base::units;

/// A mistake and its cure for each phase in which every step asks at places that no file has. What asks of whole
/// documents or of the workspace may find something, and so may what the project is too large to be searched for.
pub fn phases_without_places(loaded: &Loaded) -> Vec<(String, String)> {
    let mut search = Search {
        files: None,
        known: Vec::new(),
    };
    let phases = loaded.scenario.phases.iter();
    phases.filter_map(|phase| mistake(loaded, phase, &mut search)).collect()
}

fn mistake(loaded: &Loaded, phase: &Phase, search: &mut Search) -> Option<(String, String)> {
    let asking: Vec<(&Step, TargetKind)> = phase
        .steps
        .iter()
        .filter(|step| step.ask().is_some())
        .map(|step| Some((step, place(step)?)))
        .collect::<Option<_>>()?;
    let (step, place) = asking.iter().find(|(step, _)| requires_answer(step))?;
    if !asking.iter().all(|(_, place)| search.has_none(loaded, *place)) {
        return None;
    }
    let (language, count) = (&loaded.project.language, loaded.project.files.len());
    let title = format!(
        "`{}` in phase `{}` of `{}` has no target: no {} in {}",
        step.name(),
        phase.name,
        loaded.scenario.name,
        place.words(language),
        units::count_of(count as u64, &format!("{language} file")),
    );
    let cure = "open other files with --workspace, --language or --files, or remove the step";
    Some((title, cure.to_owned()))
}

fn requires_answer(step: &Step) -> bool {
    step.ask()
        .is_some_and(|ask| ask.expect == Expect::Something && !ask.optional)
}

/// The files of a project, and the places that were looked for in them.
struct Search {
    files: Option<Vec<SourceFile>>,
    known: Vec<(TargetKind, bool)>,
}

impl Search {
    /// True if no file has this kind of place, as far as can be known.
    fn has_none(&mut self, loaded: &Loaded, place: TargetKind) -> bool {
        if let Some((_, none)) = self.known.iter().find(|(known, _)| *known == place) {
            return *none;
        }
        let files = self.files.get_or_insert_with(|| files(loaded));
        let none = anywhere(files, place) == Some(false);
        self.known.push((place, none));
        none
    }
}

fn files(loaded: &Loaded) -> Vec<SourceFile> {
    let project = &loaded.project;
    let mut files = Vec::new();
    for relative in &project.files {
        let path = project.root.join(relative);
        files.push(SourceFile {
            size: fs::metadata(&path).map_or(0, |facts| facts.len()),
            language: language::id_of(&path, &project.language),
            relative: relative.to_string_lossy().into_owned(),
            path,
        });
    }
    files
}
