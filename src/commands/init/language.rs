//! Which languages a project is written in, by its files.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ignore::{DirEntry, WalkBuilder};

use crate::config::files;
use crate::config::glob::of_language;
use base::units;

const TYPESCRIPT: &str = "tsconfig.json";

/// Files that say what a project is.
const MARKS: [(&str, &[&str]); 9] = [
    (
        "python",
        &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"],
    ),
    ("rust", &["Cargo.toml"]),
    ("go", &["go.mod", "go.work"]),
    ("typescript", &[TYPESCRIPT]),
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
    let own = own_files(project, listing.files);
    let is_typescript = project.join(TYPESCRIPT).is_file();
    let mut languages: Vec<Language> = known
        .iter()
        .filter_map(|id| {
            let pattern = of_language(id)?;
            let is_built_language = is_typescript && *id == "javascript";
            let files = own
                .iter()
                .filter(|path| pattern.matches(path) && !(is_built_language && is_built(project, path)));
            let marks = MARKS.iter().find(|(language, _)| language == id);
            let mut marks = marks.into_iter().flat_map(|(_, marks)| marks.iter().copied());
            Some(Language {
                id: (*id).to_owned(),
                files: files.count() as u64,
                // A TypeScript project has these files too.
                mark: if is_built_language {
                    None
                } else {
                    marks.find(|mark| project.join(mark).is_file())
                },
            })
        })
        .filter(|language| language.files > 0)
        .collect();
    languages.sort_by_key(|language| std::cmp::Reverse((language.mark.is_some(), language.files)));
    Ok(languages)
}

/// The files that git would keep: what is ignored was built, or is somebody else's.
fn own_files(project: &Path, files: Vec<PathBuf>) -> Vec<PathBuf> {
    let walk = WalkBuilder::new(project).hidden(false).require_git(false).build();
    let kept: HashSet<PathBuf> = walk.flatten().map(DirEntry::into_path).collect();
    files
        .into_iter()
        .filter(|path| kept.contains(&project.join(path)))
        .collect()
}

/// True for JavaScript that the TypeScript compiler or a bundler wrote.
fn is_built(project: &Path, path: &Path) -> bool {
    const BUILT: [&str; 4] = ["build", "dist", "lib", "out"];
    let folders = path.parent().into_iter().flat_map(Path::components);
    let is_in_output = folders
        .into_iter()
        .any(|folder| BUILT.iter().any(|built| folder.as_os_str() == *built));
    let has_source = ["ts", "tsx", "mts", "cts"]
        .iter()
        .any(|extension| project.join(path.with_extension(extension)).is_file());
    is_in_output || has_source
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.id, units::count_of(self.files, "file"))?;
        self.mark.map_or(Ok(()), |mark| write!(f, ", {mark}"))
    }
}
