//! The versions of a server: published ones of a range, or commits that are built.

use std::path::Path;

use anyhow::{Context, anyhow};

use crate::cli::Bisect;
use crate::commands::say;
use crate::config::Catalogue;
use crate::resolve::{Commits, ServerSpec, Store, install, label_of, published};
use analysis::bisect::Version;

pub struct Versions {
    source: Source,
    catalogue: Catalogue,
    store: Store,
}

enum Source {
    /// Each version with its server, from old to new.
    Published(Vec<(String, ServerSpec)>),
    Commits(Box<Commits>),
}

impl Versions {
    /// The versions that the command line names. Their list is asked from the registry or the repository.
    pub fn from_typed(options: &Bisect, catalogue: Catalogue) -> anyhow::Result<Versions> {
        let text = options.server.as_deref().context("a bisection needs --server")?;
        let mut spec: ServerSpec = text.parse()?;
        // In the text of the server it is no part of a label.
        spec.preload = spec.preload.or_else(|| options.extra.preload.first().cloned());
        let source = match (options.git.as_slice(), &options.build) {
            ([directory, range], Some(build)) => {
                let commits = Commits::between(Path::new(directory), range, build, spec)?;
                Source::Commits(Box::new(commits))
            }
            _ => Source::Published(published(&spec, &catalogue)?),
        };
        let store = Store::usual().context("there is no home directory: set LSP_SOAK_CACHE_DIR")?;
        let versions = Versions {
            source,
            catalogue,
            store,
        };
        if versions.len() < 2 {
            return Err(anyhow!("`{text}` names one version: name an older and a newer one"));
        }
        Ok(versions)
    }

    pub fn len(&self) -> usize {
        match &self.source {
            Source::Published(versions) => versions.len(),
            Source::Commits(commits) => commits.commits.len(),
        }
    }

    pub fn version(&self, index: usize) -> Version {
        match &self.source {
            Source::Published(versions) => Version {
                name: versions[index].0.clone(),
                title: None,
            },
            Source::Commits(commits) => Version {
                name: commits.commits[index].short().to_owned(),
                title: Some(commits.commits[index].subject.clone()),
            },
        }
    }

    /// Names its records and their directory.
    pub fn label(&self, index: usize) -> String {
        match &self.source {
            Source::Published(versions) => {
                let spec = &versions[index].1;
                spec.label.clone().unwrap_or_else(|| label_of(&spec.target))
            }
            Source::Commits(commits) => commits.label(&commits.commits[index]),
        }
    }

    /// The version as it is typed for `--server`, installed or built; or why that fails, in a line.
    pub fn server(&self, index: usize) -> Result<String, String> {
        let spec = match &self.source {
            Source::Published(versions) => {
                let (_, wrong) = install(vec![versions[index].1.clone()], &self.catalogue, &self.store, say);
                match wrong.first() {
                    None => versions[index].1.clone(),
                    Some(why) => return Err(one_line(&why.to_string())),
                }
            }
            Source::Commits(commits) => {
                let built = commits.build(&commits.commits[index], &self.store, say);
                built.map_err(|why| one_line(&why.to_string()))?
            }
        };
        Ok(format!("{}: {}", self.label(index), spec.unlabelled()))
    }
}

/// A message with the last line of the output that it quotes.
pub fn one_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default().trim_start_matches("error: ");
    match lines.next_back() {
        Some(last) => format!("{first}: {last}"),
        None => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_its_first_line_and_the_last_that_it_quotes() {
        assert_eq!(one_line("`make` failed\n  one\n\n  two\n"), "`make` failed: two");
        assert_eq!(one_line("error: no such file\n"), "no such file");
        assert_eq!(one_line(""), "");
    }
}
