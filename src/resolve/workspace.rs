//! Pinned workspaces: fetched once into the cache by their ecosystem's own client, and set up once.

mod sources;
mod unpack;

use std::io;
use std::path::Path;

use crate::config::{Fetched, OriginError, Pin};
use record::OriginFacts;

use super::client::{self, ClientError};
use super::store::{FillError, Key, Store, WORKSPACE};

/// The directory of the files in an entry.
const FILES: &str = "files";

/// The output of the setup, beside the files.
const LOG: &str = "setup.log";

/// The reason why a workspace cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("cannot fetch `{origin}`: {why}")]
    Client { origin: String, why: ClientError },
    #[error("the setup `{setup}` of `{origin}` failed{tail}")]
    Setup {
        origin: String,
        setup: String,
        tail: String,
    },
    #[error("`{url}` has no commit `{rev}`")]
    NoCommit { url: String, rev: String },
    #[error("`{place}` has the SHA-256 `{real}`, not `{expected}`")]
    Sum {
        place: String,
        real: String,
        expected: String,
    },
    #[error("`{archive}` has the entry `{name}`, which leads out of the archive")]
    Escape { archive: String, name: String },
    #[error("`{archive}` has the link `{link}` to `{target}`, which leads out of the archive")]
    EscapingLink {
        archive: String,
        link: String,
        target: String,
    },
    #[error("`{0}` is no archive that can be unpacked")]
    Kind(String),
    #[error("cannot read the fetched files of `{0}`")]
    Unread(String),
    #[error("the cache `{directory}` cannot be used: {why}")]
    Store { directory: String, why: io::Error },
}

impl FetchError {
    fn cure(&self) -> &'static str {
        match self {
            FetchError::Client {
                why: ClientError::Missing(..),
                ..
            } => "try again once it is installed",
            FetchError::Client { .. } => "correct the origin, or try again when its source can be reached",
            FetchError::Setup { .. } => {
                "correct `setup`: it runs in the fetched directory, and nothing is kept of one that fails"
            }
            FetchError::NoCommit { .. } => "name a commit that a branch or a tag contains",
            FetchError::Sum { .. } => "name the SHA-256 of the file that you mean, or another file",
            FetchError::Escape { .. } | FetchError::EscapingLink { .. } => {
                "use an archive whose entries and links stay below one directory"
            }
            FetchError::Kind(_) => "use .tar.gz, .tgz, .tar.xz, .tar or .zip",
            FetchError::Unread(_) => "use an origin whose files this user can read",
            FetchError::Store { .. } => "make it writable, or set LSP_SOAK_CACHE_DIR",
        }
    }

    /// The key of `[workspace]` that decides it.
    fn key(&self, pin: &Pin) -> &'static str {
        match self {
            FetchError::Setup { .. } => "setup",
            FetchError::NoCommit { .. } => "rev",
            FetchError::Sum { .. } => "sha256",
            FetchError::Client { .. }
            | FetchError::Escape { .. }
            | FetchError::EscapingLink { .. }
            | FetchError::Kind(_)
            | FetchError::Unread(_)
            | FetchError::Store { .. } => pin.source.key(),
        }
    }
}

/// The files of a pinned workspace. `hash` is that of a directory; `say` is called before anything is fetched or set up.
pub fn fetch(
    pin: &Pin,
    store: &Store,
    hash: fn(&Path) -> Option<String>,
    say: fn(&str),
) -> Result<Fetched, OriginError> {
    fetch_into_cache(pin, store, hash, say).map_err(|error| OriginError {
        key: error.key(pin),
        title: error.to_string(),
        cure: error.cure().to_owned(),
    })
}

fn fetch_into_cache(
    pin: &Pin,
    store: &Store,
    hash: fn(&Path) -> Option<String>,
    say: fn(&str),
) -> Result<Fetched, FetchError> {
    let exact = sources::with_version(&pin.source, say)?;
    let source = exact.to_string();
    let key = Key {
        kind: WORKSPACE,
        name: &source,
        version: "",
        with: &[],
        setup: pin.setup.as_deref(),
    };
    let filled = store.fill(&key, say, |directory| {
        say(&format!("fetching {source} into `{}`", directory.display()));
        let files = directory.join(FILES);
        sources::fetch(&exact, directory, &files, say)?;
        let sha256 = hash(&files).ok_or_else(|| FetchError::Unread(source.clone()))?;
        if let Some(setup) = &pin.setup {
            say(&format!("setting up {source}: {setup}"));
            prepare(setup, &source, &files)?;
        }
        Ok(Some(sha256))
    });
    let entry = filled.map_err(|error| match error {
        FillError::Make(error) => error,
        FillError::Store(why) => FetchError::Store {
            directory: store.root().display().to_string(),
            why,
        },
    })?;
    Ok(Fetched {
        root: entry.directory.join(FILES),
        facts: OriginFacts {
            sha256: entry.sha256.ok_or_else(|| FetchError::Unread(source.clone()))?,
            origin: source,
            setup: pin.setup.clone(),
        },
    })
}

/// Runs the setup. Its output goes to a file, of which an error shows the end.
fn prepare(setup: &str, source: &str, files: &Path) -> Result<(), FetchError> {
    match client::run_script(setup, files, &files.with_file_name(LOG)) {
        Ok(()) => Ok(()),
        Err(ClientError::Failed { tail, .. }) => Err(FetchError::Setup {
            origin: source.to_owned(),
            setup: setup.to_owned(),
            tail,
        }),
        Err(why) => Err(FetchError::Client {
            origin: source.to_owned(),
            why,
        }),
    }
}
