//! The workspace that a server opens: the original, or a writable stand-in that is removed afterwards.

mod copy;
mod kept_copy;
pub mod lock;
mod overlay;
#[cfg(unix)]
mod removal;
pub mod scratch;
mod select;
#[cfg(test)]
mod tests;
pub mod tree;

use base::Cancel;
use std::io;
use std::path::{Path, PathBuf};

pub use copy::files as copy_files;
pub use kept_copy::KeptCopy;
pub use select::{Selection, SourceFile, select};

use crate::config::{Isolation, plain_path};

use kept_copy::{Stamp, stamp_of_copy, stamp_of_original};
use scratch::Scratch;

/// Characters shown of a path in a stand-in: servers nest directories deeply.
const LONGEST: usize = 80;

/// A workspace ready for a server. [`Workspace::close`] or dropping it removes the stand-in.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    source: PathBuf,
    isolation: Isolation,
    scratch: Option<Scratch>,
    /// Of the original before it was copied, and of the copy after.
    stamps: Option<(Stamp, Stamp)>,
}

impl Workspace {
    /// Prepares `source` under `scratch` (see [`default_scratch`]). Copying a large project takes long: `cancel` is
    /// checked before each file.
    ///
    /// The stand-in always has the same path for the same source. If another lsp-soak uses that path, the new one has
    /// the same length. Leftovers of killed runs are removed first.
    pub fn open(
        source: &Path,
        isolation: Isolation,
        scratch: &Path,
        cancel: &Cancel,
    ) -> Result<Workspace, WorkspaceError> {
        let source = canonical(source)?;
        if !source.is_dir() {
            return Err(WorkspaceError::NotADirectory(source));
        }
        if isolation == Isolation::InPlace {
            return Ok(Workspace {
                root: source.clone(),
                source,
                isolation,
                scratch: None,
                stamps: None,
            });
        }
        let scratch = Scratch::claim_for(scratch, &source)?;
        let (root, layers) = (scratch.root(), scratch.overlay());
        // From here on, dropping the workspace removes it after a failure.
        let mut workspace = Workspace {
            root,
            source,
            isolation,
            scratch: Some(scratch),
            stamps: None,
        };
        let is_copy = matches!(isolation, Isolation::Copy | Isolation::Reflink);
        let original = if is_copy {
            stamp_of_original(&workspace.source)
        } else {
            None
        };
        match isolation {
            Isolation::Copy => copy::tree(&workspace.source, &workspace.root, copy::Method::Copy, cancel)?,
            Isolation::Reflink => copy::tree(&workspace.source, &workspace.root, copy::Method::Reflink, cancel)?,
            Isolation::Overlay => overlay::mount(&workspace.source, &layers, &workspace.root)?,
            Isolation::InPlace => {}
        }
        workspace.stamps = original.zip(stamp_of_copy(&workspace.root));
        Ok(workspace)
    }

    /// Copies the git repository, which stand-ins leave out, for scenarios that check out commits.
    pub fn copy_history(&self, cancel: &Cancel) -> Result<(), WorkspaceError> {
        let copy = self.root.join(".git");
        if copy.exists() {
            return Ok(());
        }
        copy::tree(&self.source.join(".git"), &copy, copy::Method::Copy, cancel)
    }

    /// True if this is a copy, and nothing was written in it or in its original since it was made.
    fn is_as_made(&self) -> bool {
        self.stamps.is_some() && self.stamps == stamp_of_original(&self.source).zip(stamp_of_copy(&self.root))
    }

    /// The root for the server: an absolute path without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Leftovers of earlier runs that could not be removed.
    pub fn leftovers(&self) -> &[WorkspaceError] {
        self.scratch.as_ref().map_or(&[], Scratch::leftovers)
    }

    pub fn source(&self) -> &Path {
        &self.source
    }

    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    pub fn close(mut self) -> Result<(), WorkspaceError> {
        self.scratch.take().map_or(Ok(()), |scratch| scratch.clear())
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if let Some(scratch) = self.scratch.take() {
            // Errors cannot be reported here; the next run removes leftovers.
            let _ = scratch.clear();
        }
    }
}

/// True if `file` can share its blocks with a stand-in under `scratch`.
pub fn can_share(file: &Path, scratch: &Path) -> Result<(), WorkspaceError> {
    let place = Scratch::claim(&scratch::user_directory(scratch)?, "share")?;
    let shared = copy::reflink(file, &place.path().join("file"));
    shared.and(place.clear())
}

/// Default place of stand-ins: the system's directory for temporary files.
pub fn default_scratch() -> PathBuf {
    std::env::temp_dir()
}

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The path does not exist.
    #[error("workspace `{}` does not exist: check `path` in the scenario, or name another with --workspace", .0.display())]
    Missing(PathBuf),
    #[error("workspace `{}` is not a directory: name the directory that holds the project", .0.display())]
    NotADirectory(PathBuf),
    #[error("cannot {what} `{}`: {error}; {cure}", path.display())]
    Io {
        /// The failed action: `read`, `create`, `copy` …
        what: &'static str,
        path: PathBuf,
        #[source]
        error: io::Error,
        cure: &'static str,
    },
    /// The user interrupted. The stand-in is removed.
    #[error("the workspace was not completely copied or read")]
    Stopped,
    /// The scratch directory lies in the workspace: a copy would contain itself.
    #[error("the scratch directory `{}` lies inside the workspace `{}`: set TMPDIR to a directory outside of it", scratch.display(), workspace.display())]
    Nested { scratch: PathBuf, workspace: PathBuf },
    /// The place for stand-ins is a link, a file, or owned by another user.
    #[error("`{}` is not a directory of this user: remove it, or set TMPDIR to a directory of your own", .0.display())]
    NotOurs(PathBuf),
    /// Every place for a stand-in of this workspace is in use.
    #[error("{0} runs of lsp-soak use all scratch directories under `{dir}`: wait until one ends, or set TMPDIR", dir = .1.display())]
    Busy(usize, PathBuf),
    /// A directory of an earlier run cannot be removed.
    #[error("cannot remove `{}`: `{}` stays ({reason}); {cure}", place.display(), shown(path, place))]
    Stays {
        place: PathBuf,
        /// The first obstacle in it.
        path: PathBuf,
        reason: String,
        cure: &'static str,
    },
    /// The file system cannot share blocks.
    #[error("cannot share the blocks of `{}` with the scratch directory: {reason}; use `isolation = \"copy\"` or `--isolation copy`", path.display())]
    Reflink { path: PathBuf, reason: String },
    #[error("cannot mount an overlay over `{}`: {reason}; use `isolation = \"copy\"` or `--isolation copy`", path.display())]
    Overlay { path: PathBuf, reason: String },
    #[error("no file of `{}` matches `{pattern}` ({seen}): set `files` to a pattern such as \"**/*.py\"", path.display())]
    NoMatch {
        path: PathBuf,
        pattern: String,
        seen: String,
    },
}

impl WorkspaceError {
    /// An error of the system, with advice for its kind.
    fn io(what: &'static str, path: &Path, error: io::Error) -> WorkspaceError {
        let cure = match error.kind() {
            io::ErrorKind::PermissionDenied if what == "copy" || what == "read" => {
                "make it readable for this user, or name another workspace with --workspace"
            }
            io::ErrorKind::PermissionDenied => "give this user write access, or set TMPDIR to a directory that it owns",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "make room, set TMPDIR to a larger file system, or use `--isolation reflink` or `--isolation in-place`"
            }
            io::ErrorKind::NotFound if what == "create" => "set TMPDIR to a directory that can be written to",
            io::ErrorKind::NotFound => "something is changing the directory: leave it alone while lsp-soak runs",
            _ => "check the disk and the path, or set TMPDIR to another file system",
        };
        WorkspaceError::Io {
            what,
            path: path.to_owned(),
            error,
            cure,
        }
    }
}

/// A path below `place` as text, cut to a length that a terminal shows.
fn shown(path: &Path, place: &Path) -> String {
    let below = path.strip_prefix(place).ok().filter(|below| *below != Path::new(""));
    let below = below.unwrap_or(path).display().to_string();
    let short: String = below.chars().take(LONGEST).collect();
    if short.len() < below.len() {
        short + "…"
    } else {
        short
    }
}

fn canonical(path: &Path) -> Result<PathBuf, WorkspaceError> {
    let canonical = path.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => WorkspaceError::Missing(path.to_owned()),
        _ => WorkspaceError::io("read", path, error),
    })?;
    Ok(plain_path(canonical))
}
