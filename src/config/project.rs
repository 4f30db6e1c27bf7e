//! The project that a scenario opens: directory, language and files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::files;
use super::glob::{Glob, GlobError, languages, of_language};
use super::origin::{Context, Fetch, Origin, OriginError, origin};
use super::scenario::{Isolation, Workspace};
use super::step::Speed;
use base::text::nearest;
use base::units::Size;
use record::{OriginFacts, regular_file};

/// Command-line values that replace the scenario's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The project to open, relative to the current directory, or a pinned origin.
    pub workspace: Option<PathBuf>,
    /// Command that prepares a pinned workspace.
    pub setup: Option<String>,
    /// Language id of the files to open.
    pub language: Option<String>,
    /// Pattern of the files to open.
    pub files: Option<String>,
    /// Larger files are not opened.
    pub largest_file: Option<Size>,
    /// Protection of the original.
    pub isolation: Option<Isolation>,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// Pace at which recorded sessions are played.
    pub speed: Option<Speed>,
    /// True if idle windows wait until the server's runtime has released memory.
    pub full_decay: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Project {
    pub root: PathBuf,
    /// Where it was fetched from; `None` for a directory of the user.
    pub origin: Option<OriginFacts>,
    pub language: String,
    /// The pattern that selected the files.
    pub pattern: String,
    /// Selected files, relative to the directory, sorted, without too large ones.
    pub files: Vec<PathBuf>,
    /// Directories that are the workspace folders at the start, relative to the directory; none for the directory itself.
    pub folders: Vec<PathBuf>,
    /// Larger files are not opened.
    pub largest_file: Size,
    /// Protection of the original.
    pub isolation: Isolation,
}

/// The reason for having no project to open.
#[derive(Debug)]
pub enum Missing {
    Origin(OriginError),
    Directory(PathBuf),
    Language,
    /// The language is unknown and there is no pattern.
    Pattern(String),
    /// The pattern on the command line is invalid.
    BadPattern(GlobError),
    /// Nothing matches except in excluded directories.
    Files(String, PathBuf, Vec<PathBuf>),
    /// No directory matches the patterns of the workspace folders.
    Folders(String, PathBuf),
    /// This many files match, but all are larger than this size.
    Small(usize, Size),
    /// The directory could not be read.
    Unreadable(PathBuf, io::Error),
}

/// Largest archive whose SHA-256 is computed for a message.
const QUICK_SUM: u64 = 256 << 20;

/// Finds the directory and the files to open; `None` if the workspace is pinned and not fetched yet. Paths are relative to
/// `directory`.
pub fn resolve(
    directory: &Path,
    workspace: &Workspace,
    overrides: &Overrides,
    fetch: &Fetch<'_>,
) -> Result<Option<Project>, Missing> {
    let isolation = overrides.isolation.unwrap_or(workspace.isolation);
    let here = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let absolute = std::path::absolute(here).unwrap_or_else(|_| here.to_owned());
    let context = Context {
        workspace: overrides.workspace.as_deref(),
        setup: overrides.setup.as_deref(),
        isolation,
        directory,
        absolute: &absolute,
        sum: &sum,
    };
    let (root, origin) = match origin(workspace, &context).map_err(Missing::Origin)? {
        Origin::Directory(path) => (path, None),
        Origin::Pinned(pin) => {
            // Nothing is fetched for a project that cannot be opened.
            choice(workspace, overrides)?;
            match fetch(&pin) {
                None => return Ok(None),
                Some(fetched) => {
                    let fetched = fetched.map_err(Missing::Origin)?;
                    (fetched.root, Some(fetched.facts))
                }
            }
        }
    };
    let absolute = root.canonicalize().ok().map(plain_path).filter(|path| path.is_dir());
    let root = absolute.ok_or(Missing::Directory(root))?;
    let (language, pattern) = choice(workspace, overrides)?;
    let matches = files::find(&root, &pattern, &workspace.exclude);
    let mut files = matches.map_err(|error| Missing::Unreadable(root.clone(), error))?.files;
    if files.is_empty() {
        let passed_over = files::passed_over(&root, &pattern, &workspace.exclude);
        return Err(Missing::Files(pattern.as_str().to_owned(), root, passed_over));
    }
    let largest_file = overrides.largest_file.unwrap_or(files::LARGEST);
    let all = files.len();
    let size = |file: &PathBuf| fs::metadata(root.join(file)).map_or(0, |meta| meta.len());
    files.retain(|file| size(file) <= largest_file.0);
    if files.is_empty() {
        return Err(Missing::Small(all, largest_file));
    }
    let folders = folders(&root, &workspace.folders)?;
    Ok(Some(Project {
        root,
        folders,
        origin,
        language,
        pattern: pattern.as_str().to_owned(),
        files,
        largest_file,
        isolation,
    }))
}

/// The directories that are the workspace folders at the start.
fn folders(root: &Path, patterns: &[Glob]) -> Result<Vec<PathBuf>, Missing> {
    let folders = files::directories(root, patterns);
    let folders = folders.map_err(|error| Missing::Unreadable(root.to_owned(), error))?;
    match patterns.first() {
        Some(pattern) if folders.is_empty() => Err(Missing::Folders(pattern.as_str().to_owned(), root.to_owned())),
        _ => Ok(folders),
    }
}

/// The directory that a command runs in: a copy of a workspace, or the current directory in place.
pub fn of_command(workspace: Option<&Path>, setup: Option<&str>, fetch: &Fetch<'_>) -> Result<Project, Missing> {
    let isolation = workspace.map_or(Isolation::InPlace, |_| Isolation::Copy);
    let context = Context {
        workspace,
        setup,
        isolation,
        directory: Path::new(""),
        absolute: &std::path::absolute(".").unwrap_or_default(),
        sum: &sum,
    };
    let here = Workspace {
        path: ".".to_owned(),
        ..Workspace::default()
    };
    let (root, origin) = match origin(&here, &context).map_err(Missing::Origin)? {
        Origin::Directory(path) => (path, None),
        Origin::Pinned(pin) => match fetch(&pin) {
            None => (PathBuf::new(), None),
            Some(fetched) => fetched
                .map(|fetched| (fetched.root, Some(fetched.facts)))
                .map_err(Missing::Origin)?,
        },
    };
    let absolute = root.canonicalize().ok().map(plain_path).filter(|path| path.is_dir());
    Ok(Project {
        root: absolute.ok_or(Missing::Directory(root))?,
        origin,
        isolation,
        ..Project::default()
    })
}

/// The SHA-256 of a file that is not too large.
fn sum(path: &Path) -> Option<String> {
    let bytes = regular_file::read(&path.canonicalize().ok()?, QUICK_SUM).ok()?;
    let digest = Sha256::digest(&bytes);
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The language, and the pattern of its files.
fn choice(workspace: &Workspace, overrides: &Overrides) -> Result<(String, Glob), Missing> {
    let language = overrides
        .language
        .clone()
        .or_else(|| workspace.language.clone())
        .ok_or(Missing::Language)?;
    let pattern = pattern(&language, workspace, overrides)?;
    Ok((language, pattern))
}

/// The pattern, in order of priority: the command line's; that of the command line's language; the scenario's; that of
/// the scenario's language.
fn pattern(language: &str, workspace: &Workspace, overrides: &Overrides) -> Result<Glob, Missing> {
    if let Some(text) = &overrides.files {
        return text.parse().map_err(Missing::BadPattern);
    }
    if overrides.language.is_none()
        && let Some(files) = &workspace.files
    {
        return Ok(files.clone());
    }
    of_language(language).ok_or_else(|| Missing::Pattern(language.to_owned()))
}

/// Removes the `\\?\` prefix that Windows adds to canonical paths: servers do not equate it with the `C:\…` of a URI.
/// Network shares keep it, because they would be invalid without it.
pub fn plain_path(path: PathBuf) -> PathBuf {
    match path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) {
        Some(rest) if !rest.starts_with("UNC") => PathBuf::from(rest),
        Some(_) | None => path,
    }
}

impl Missing {
    /// The key of `[workspace]` with the mistake.
    pub fn key(&self) -> &'static str {
        match self {
            Missing::Origin(error) => error.key,
            Missing::Directory(_) | Missing::Unreadable(..) => "path",
            Missing::Language | Missing::Pattern(_) => "language",
            Missing::BadPattern(_) | Missing::Files(..) | Missing::Small(..) => "files",
            Missing::Folders(..) => "folders",
        }
    }

    /// True if the mistake is on the command line.
    pub fn overridden(&self, overrides: &Overrides) -> bool {
        match self {
            Missing::Origin(error) if error.key == "setup" => {
                overrides.workspace.is_some() || overrides.setup.is_some()
            }
            Missing::Origin(error) if error.key == "isolation" => {
                overrides.workspace.is_some() || overrides.isolation.is_some()
            }
            Missing::Origin(_) | Missing::Directory(_) | Missing::Unreadable(..) => overrides.workspace.is_some(),
            Missing::Language | Missing::Pattern(_) => overrides.language.is_some(),
            Missing::Folders(..) => overrides.workspace.is_some(),
            Missing::BadPattern(_) | Missing::Small(..) => true,
            Missing::Files(..) => overrides.files.is_some() || overrides.language.is_some(),
        }
    }

    /// The description and the cure.
    pub fn words(&self) -> (String, String) {
        match self {
            Missing::Origin(error) => (error.title.clone(), error.cure.clone()),
            Missing::Directory(path) => (
                format!("there is no directory `{}`", path.display()),
                "a workspace's `path` is relative to the scenario's file, --workspace to the current directory"
                    .to_owned(),
            ),
            Missing::Language => (
                "the workspace has no language".to_owned(),
                "write `language = \"python\"`, or use --language".to_owned(),
            ),
            Missing::Pattern(language) => (
                format!("the files of the language `{language}` are not known"),
                match nearest(language, languages()) {
                    Some(near) => {
                        format!("did you mean `{near}`? Otherwise write `files = \"**/*.…\"`, or use --files")
                    }
                    None => "write `files = \"**/*.…\"`, or use --files".to_owned(),
                },
            ),
            Missing::BadPattern(error) => (error.to_string(), "quote it as --files '**/*.py'".to_owned()),
            Missing::Files(pattern, root, passed_over) => (
                format!("no file in `{}` matches `{pattern}`", root.display()),
                unlooked(pattern, passed_over).unwrap_or_else(|| {
                    "`**` crosses directories, `*` does not; --language and --files say what to open instead".to_owned()
                }),
            ),
            Missing::Folders(pattern, root) => (
                format!("no directory in `{}` matches `{pattern}`", root.display()),
                "name directories of the workspace in `folders`, such as [\"packages/*\"], or leave it out".to_owned(),
            ),
            Missing::Small(count, largest) => (
                format!("every file that matches is over {largest}, {count} in all"),
                "open larger files with --largest-file".to_owned(),
            ),
            Missing::Unreadable(path, error) => (
                format!("cannot read the directory `{}`: {error}", path.display()),
                "make it readable, or choose another one".to_owned(),
            ),
        }
    }
}

/// The cure if all matching files are in excluded directories.
fn unlooked(pattern: &str, passed_over: &[PathBuf]) -> Option<String> {
    let first = passed_over.first()?.display();
    let more = match passed_over.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let naming = if pattern.starts_with("**/") {
        format!("--files '{first}/{pattern}'")
    } else {
        "--files".to_owned()
    };
    Some(format!(
        "not searched because it is third-party code, a cache or hidden: `{first}`{more}; make it the workspace, or \
         name it with {naming}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_drive_loses_what_windows_puts_before_it() {
        for (whole, plain) in [
            (r"\\?\C:\shop", r"C:\shop"),
            (r"\\?\UNC\box\shop", r"\\?\UNC\box\shop"),
            ("/home/shop", "/home/shop"),
        ] {
            assert_eq!(plain_path(whole.into()), Path::new(plain));
        }
    }
}
