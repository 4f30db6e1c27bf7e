//! The workspace that a server is given: the original, or a stand-in that may be written to and is gone afterwards.

mod copy;
pub mod lock;
mod overlay;
pub mod scratch;
mod select;
#[cfg(test)]
mod tests;
pub mod tree;

use std::io;
use std::path::{Path, PathBuf};

pub use select::{Selection, SourceFile, select};

use crate::config::{Isolation, plain_path};

use scratch::Scratch;

/// A workspace ready to be served; what was made for it is removed by [`Workspace::close`] or when it is dropped.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    source: PathBuf,
    isolation: Isolation,
    scratch: Option<Scratch>,
}

impl Workspace {
    /// Prepares `source` under `scratch` (see [`default_scratch`]). Copying takes as long as the project is large, so it is
    /// asked before each file whether to `stop`.
    ///
    /// The stand-in always has the same path for the same source, unless another lsp-soak is using it at this moment:
    /// then one of the same length. What earlier runs left behind because they were killed is removed first.
    pub fn open(
        source: &Path,
        isolation: Isolation,
        scratch: &Path,
        stop: &dyn Fn() -> bool,
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
            });
        }
        let scratch = Scratch::of(scratch, &source)?;
        let (root, layers) = (scratch.root(), scratch.overlay());
        // From here on a failure removes what was made, because the workspace is dropped.
        let workspace = Workspace {
            root,
            source,
            isolation,
            scratch: Some(scratch),
        };
        match isolation {
            Isolation::Copy => copy::tree(&workspace.source, &workspace.root, copy::Method::Copy, stop)?,
            Isolation::Reflink => copy::tree(&workspace.source, &workspace.root, copy::Method::Reflink, stop)?,
            Isolation::Overlay => overlay::mount(&workspace.source, &layers, &workspace.root)?,
            Isolation::InPlace => {}
        }
        Ok(workspace)
    }

    /// Where the server finds it: an absolute path without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
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
            // Nobody is left to tell; the next run cleans up what could not be removed.
            let _ = scratch.clear();
        }
    }
}

/// Whether the blocks of `file` can be shared with a stand-in under `scratch`.
pub fn can_share(file: &Path, scratch: &Path) -> Result<(), WorkspaceError> {
    let place = Scratch::claim(&scratch::home(scratch)?, "share")?;
    let shared = copy::reflink(file, &place.path().join("file"));
    shared.and(place.clear())
}

/// Where stand-ins live unless the user says otherwise: the system's directory for temporary files.
pub fn default_scratch() -> PathBuf {
    std::env::temp_dir()
}

/// Why a workspace could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// There is nothing at the path.
    #[error("workspace `{}` does not exist: check `path` in the scenario, or name another with --workspace", .0.display())]
    Missing(PathBuf),
    #[error("workspace `{}` is not a directory: name the directory that holds the project", .0.display())]
    NotADirectory(PathBuf),
    #[error("cannot {what} `{}`: {error}; {cure}", path.display())]
    Io {
        /// What was tried: `read`, `create`, `copy` …
        what: &'static str,
        path: PathBuf,
        #[source]
        error: io::Error,
        cure: &'static str,
    },
    /// It was to stop. What had been made is removed.
    #[error("the workspace was not completely copied or read")]
    Stopped,
    /// The scratch directory lies in the workspace, so that a copy would contain itself.
    #[error("the scratch directory `{}` lies inside the workspace `{}`: set TMPDIR to a directory outside of it", scratch.display(), workspace.display())]
    Nested { scratch: PathBuf, workspace: PathBuf },
    /// Where stand-ins go is a link, a file, or somebody else's.
    #[error("`{}` is not a directory of this user: remove it, or set TMPDIR to a directory of your own", .0.display())]
    NotOurs(PathBuf),
    /// Every place for a stand-in of this workspace is in use.
    #[error("{0} runs of lsp-soak use all scratch directories under `{dir}`: wait until one ends, or set TMPDIR", dir = .1.display())]
    Busy(usize, PathBuf),
    /// Blocks cannot be shared.
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
    /// A refusal by the system, with a cure that fits its kind.
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

fn canonical(path: &Path) -> Result<PathBuf, WorkspaceError> {
    let canonical = path.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => WorkspaceError::Missing(path.to_owned()),
        _ => WorkspaceError::io("read", path, error),
    })?;
    Ok(plain_path(canonical))
}
