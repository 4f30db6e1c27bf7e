//! Which languages a project is written in, by its files.

use std::fmt;
use std::path::Path;

use anyhow::Context;

use crate::config::files;
use crate::config::glob::of_language;
use crate::units;

/// Files that say what a project is.
const MARKS: [(&str, &[&str]); 9] = [
    (
        "python",
        &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"],
    ),
    ("rust", &["Cargo.toml"]),
    ("go", &["go.mod", "go.work"]),
    ("typescript", &["tsconfig.json"]),
    ("javascript", &["package.json", "jsconfig.json"]),
    (
        "c",
        &["compile_commands.json", "CMakeLists.txt", "meson.build", "Makefile"],
    ),
    (
        "cpp",
        &["compile_commands.json", "CMakeLists.txt", "meson.build", "Makefile"],
    ),
    ("zig", &["build.zig"]),
    ("lua", &[".luarc.json"]),
];

/// A language that some files are in.
pub struct Language {
    pub id: String,
    files: u64,
    mark: Option<&'static str>,
}

/// The languages of a project out of those that are `known`: one that a file names goes before others, then the one
/// with the most files.
pub fn languages(project: &Path, known: &[&str]) -> anyhow::Result<Vec<Language>> {
    let all = "**/*".parse().context("the pattern is a constant and well formed")?;
    let listing = files::find(project, &all, &[]).with_context(|| {
        format!(
            "cannot read `{}`, make it readable or name another directory",
            project.display()
        )
    })?;
    let mut languages: Vec<Language> = known
        .iter()
        .filter_map(|id| {
            let pattern = of_language(id)?;
            let files = listing.files.iter().filter(|path| pattern.matches(path)).count() as u64;
            let marks = MARKS.iter().find(|(language, _)| language == id);
            let mut marks = marks.into_iter().flat_map(|(_, marks)| marks.iter().copied());
            Some(Language {
                id: (*id).to_owned(),
                files,
                mark: marks.find(|mark| project.join(mark).is_file()),
            })
        })
        .filter(|language| language.files > 0)
        .collect();
    languages.sort_by_key(|language| std::cmp::Reverse((language.mark.is_some(), language.files)));
    Ok(languages)
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.id, units::counted(self.files, "file"))?;
        self.mark.map_or(Ok(()), |mark| write!(f, ", {mark}"))
    }
}
