//! Servers that are built from commits of a git repository. Nothing is written into the repository or its checkout.

use std::path::{Component, Path};

use super::client::{self, ClientError};
use super::spec::ServerSpec;
use super::store::{FillError, Key, Store};

/// The kind of entries that have builds of commits.
const KIND: &str = "git";

/// The working tree of a build, in its entry.
const TREE: &str = "tree";

/// The output of the build command, beside the tree.
const LOG: &str = "build.log";

/// Digits of a short hash.
const SHORT: usize = 12;

/// The commits between two, from old to new, and how each becomes a server.
#[derive(Debug)]
pub struct Commits {
    repository: String,
    build: String,
    spec: ServerSpec,
    pub commits: Vec<Commit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub hash: String,
    pub subject: String,
}

/// The reason why commits cannot become servers.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error("`--git` names the commits `{0}`: write GOOD..BAD, the older commit first")]
    NoRange(String),
    #[error("`{0}` is not in a git repository: name the directory of a checkout")]
    NoRepository(String),
    #[error("`{repository}` has no commit `{rev}`: name a branch, tag or commit that `git rev-parse` knows there")]
    NoCommit { repository: String, rev: String },
    #[error("`{good}` is no ancestor of `{bad}`: name the older commit first, of one branch")]
    NoAncestor { good: String, bad: String },
    #[error("with --git `{0}` must be a path inside of the checkout: write one such as `./target/release/my-server`")]
    Outside(String),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the cache `{directory}` cannot be used: {why}; make it writable, or set LSP_SOAK_CACHE_DIR")]
    Store { directory: String, why: std::io::Error },
}

impl Commit {
    pub fn short(&self) -> &str {
        &self.hash[..SHORT.min(self.hash.len())]
    }
}

impl Commits {
    /// The commits of `range` that are first parents, so that they lie in one line. The program of `spec` is a path in the tree.
    pub fn between(directory: &Path, range: &str, build: &str, spec: ServerSpec) -> Result<Commits, CheckoutError> {
        let target = Path::new(&spec.target);
        let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !target.components().all(is_inside) {
            return Err(CheckoutError::Outside(spec.target));
        }
        let repository = directory.display().to_string();
        let root = git(
            &repository,
            &["rev-parse", "--path-format=absolute", "--git-common-dir"],
        );
        let root = root.map_err(|why| match why {
            ClientError::Failed { .. } => CheckoutError::NoRepository(repository.clone()),
            why => why.into(),
        })?;
        let (good, bad) = range.split_once("..").unwrap_or_default();
        if good.is_empty() || bad.is_empty() || bad.starts_with('.') {
            return Err(CheckoutError::NoRange(range.to_owned()));
        }
        let (first, last) = (hash(&repository, good)?, hash(&repository, bad)?);
        if git(&repository, &["merge-base", "--is-ancestor", &first, &last]).is_err() {
            let (good, bad) = (good.to_owned(), bad.to_owned());
            return Err(CheckoutError::NoAncestor { good, bad });
        }
        let log = |words: &[&str]| {
            git(
                &repository,
                &[&["log", "--first-parent", "--format=%H %s"], words].concat(),
            )
        };
        let mut commits = listed(&log(&["--max-count=1", &first])?);
        commits.extend(listed(&log(&["--reverse", &format!("{first}..{last}")])?));
        Ok(Commits {
            repository: root.trim().to_owned(),
            build: build.to_owned(),
            spec,
            commits,
        })
    }

    /// The label of the server of a commit.
    pub fn label(&self, commit: &Commit) -> String {
        match &self.spec.label {
            Some(label) => format!("{label}-{}", commit.short()),
            None => commit.short().to_owned(),
        }
    }

    /// The server of a commit, built in a working tree of its own in the cache.
    pub fn build(&self, commit: &Commit, store: &Store, say: fn(&str)) -> Result<ServerSpec, CheckoutError> {
        let key = Key {
            kind: KIND,
            name: &self.repository,
            version: &commit.hash,
            with: std::slice::from_ref(&self.build),
            setup: None,
        };
        let filled = store.fill(&key, say, |directory| {
            say(&format!("building {}: {}", commit.short(), self.build));
            let tree = directory.join(TREE);
            let into = tree.display().to_string();
            // Shares the objects, and leaves no trace in the repository.
            client::run(
                &[
                    "git", "clone", "--quiet", "--shared", "--no-checkout", &self.repository, &into,
                ],
                &[],
            )?;
            git(&into, &["checkout", "--quiet", "--detach", &commit.hash])?;
            // Otherwise every commit would be built into one directory.
            let script = format!("unset CARGO_TARGET_DIR\n{}", self.build);
            client::run_script(&script, &tree, &directory.join(LOG)).map_err(|why| match why {
                ClientError::Failed { tail, .. } => ClientError::Failed {
                    command: self.build.clone(),
                    tail,
                },
                why => why,
            })?;
            Ok(None)
        });
        let entry = filled.map_err(|error| match error {
            FillError::Make(why) => CheckoutError::Client(why),
            FillError::Store(why) => CheckoutError::Store {
                directory: store.root().display().to_string(),
                why,
            },
        })?;
        Ok(ServerSpec {
            label: Some(self.label(commit)),
            target: entry.directory.join(TREE).join(&self.spec.target).display().to_string(),
            ..self.spec.clone()
        })
    }
}

fn git(directory: &str, words: &[&str]) -> Result<String, ClientError> {
    client::read(&[&["git", "-C", directory], words].concat(), &[])
}

fn hash(repository: &str, rev: &str) -> Result<String, CheckoutError> {
    let commit = format!("{rev}^{{commit}}");
    match git(
        repository,
        &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit],
    ) {
        Ok(hash) => Ok(hash.trim().to_owned()),
        Err(_) => Err(CheckoutError::NoCommit {
            repository: repository.to_owned(),
            rev: rev.to_owned(),
        }),
    }
}

/// The lines `HASH SUBJECT` of a log.
fn listed(log: &str) -> Vec<Commit> {
    let mut commits = Vec::new();
    for line in log.lines() {
        let (hash, subject) = line.split_once(' ').unwrap_or((line, ""));
        commits.push(Commit {
            hash: hash.to_owned(),
            subject: subject.to_owned(),
        });
    }
    commits
}
