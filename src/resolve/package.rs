//! Servers of a published version, `NAME@VERSION`: installed once into a cache by their ecosystem's own client.

mod client;
mod environment;

pub use client::sha256_now;

pub(super) use client::newest;

use std::path::Path;

use crate::config::{Catalogue, Package, Profile};
use base::text::nearest;
use record::PackageFacts;

use super::client::ClientError;
use super::spec::{Installed, ServerSpec};
use super::store::{Key, Store};

/// Two dots between the first and the last version of a range.
const RANGE: &str = "..";

/// Why a server of a version cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error("`{spec}` names no known server: {cure}")]
    Unknown { spec: String, cure: String },
    #[error("the profile `{0}` has no `package`: write `package = {{ pypi = \"…\" }}` (or npm, crate, go) into it")]
    NoPackage(String),
    #[error(
        "`{version}` in `{spec}` is no version: write one such as `{name}@1.2.3`, or a range `{name}@1.2.3..1.3.0`"
    )]
    Version {
        spec: String,
        name: String,
        version: String,
    },
    #[error("`{name}` has no published version `{version}`: {cure}")]
    Unpublished {
        name: String,
        version: String,
        cure: String,
    },
    #[error("`{0}` runs backwards: name the older version first")]
    Backwards(String),
    #[error("`{spec}`: {why}")]
    Client { spec: String, why: ClientError },
    #[error("`{spec}`: the package has no program {programs}: name it in `programs` of the profile")]
    NoProgram { spec: String, programs: String },
    #[error("`{spec}`: the cache `{directory}` cannot be used: {why}; make it writable, or set LSP_SOAK_CACHE_DIR")]
    Store {
        spec: String,
        directory: String,
        why: std::io::Error,
    },
}

/// The name and the version, or versions, of a target. Paths and names of profiles are none.
fn parts<'t>(target: &'t str, catalogue: &Catalogue) -> Option<(&'t str, &'t str)> {
    let is_name = !target.contains(['/', '\\']) && catalogue.get(target).is_none();
    target.split_once('@').filter(|(name, _)| is_name && !name.is_empty())
}

/// The servers with every `NAME@VERSION` installed, one for each version of a range, and the mistakes in the others. `say` is
/// called before each installation.
pub fn install(
    specs: Vec<ServerSpec>,
    catalogue: &Catalogue,
    store: &Store,
    say: &dyn Fn(&str),
) -> (Vec<ServerSpec>, Vec<PackageError>) {
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for spec in specs {
        match parts(&spec.target, catalogue) {
            None => all.push(spec),
            Some((name, versions)) => match each(&spec, (name, versions), catalogue, store, say) {
                Ok(more) => all.extend(more),
                Err(error) => errors.push(error),
            },
        }
    }
    (all, errors)
}

fn each(
    spec: &ServerSpec,
    (name, versions): (&str, &str),
    catalogue: &Catalogue,
    store: &Store,
    say: &dyn Fn(&str),
) -> Result<Vec<ServerSpec>, PackageError> {
    let Some(profile) = catalogue.get(name) else {
        let cure = match nearest(name, catalogue.names()) {
            Some(near) => format!("did you mean `{near}@{versions}`?"),
            None => "a version needs a profile with a `package`; name a program by its path".to_owned(),
        };
        let spec = spec.target.clone();
        return Err(PackageError::Unknown { spec, cure });
    };
    let package = profile.package.as_ref();
    let package = package.ok_or_else(|| PackageError::NoPackage(name.to_owned()))?;
    let failed = |why| PackageError::Client {
        spec: spec.target.clone(),
        why,
    };
    let chosen: Vec<String> = match versions.split_once(RANGE) {
        None => vec![checked(spec, name, versions)?],
        Some((first, last)) => {
            let ends = [checked(spec, name, first)?, checked(spec, name, last)?];
            between(spec, name, &client::versions(package).map_err(failed)?, &ends)?
        }
    };
    let many = chosen.len() > 1;
    let one = |version: String| {
        let label = spec.label.as_ref().map(|label| match many {
            true => format!("{label}-{version}"),
            false => label.clone(),
        });
        let mut own = ServerSpec {
            label,
            target: format!("{name}@{version}"),
            ..spec.clone()
        };
        own.installed = Some(installed(&own.target, (name, &version), profile, package, store, say)?);
        Ok(own)
    };
    chosen.into_iter().map(one).collect()
}

/// A version that can name a directory, and nothing else.
fn checked(spec: &ServerSpec, name: &str, version: &str) -> Result<String, PackageError> {
    let known = |c: char| c.is_ascii_alphanumeric() || "._+-!".contains(c);
    let begins = version.starts_with(|c: char| c.is_ascii_alphanumeric());
    match begins && version.chars().all(known) && !version.contains(RANGE) {
        true => Ok(version.to_owned()),
        false => Err(PackageError::Version {
            spec: spec.target.clone(),
            name: name.to_owned(),
            version: version.to_owned(),
        }),
    }
}

/// The published versions from the first to the last, both included; `published` is from old to new.
fn between(
    spec: &ServerSpec,
    name: &str,
    published: &[String],
    ends: &[String; 2],
) -> Result<Vec<String>, PackageError> {
    let place = |version: &String| {
        let place = published.iter().position(|one| one == version);
        place.ok_or_else(|| PackageError::Unpublished {
            name: name.to_owned(),
            version: version.clone(),
            cure: match nearest(version, published.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the newest is `{}`", published.last().map_or("none", String::as_str)),
            },
        })
    };
    let (first, last) = (place(&ends[0])?, place(&ends[1])?);
    match first <= last {
        true => Ok(published[first..=last].to_vec()),
        false => Err(PackageError::Backwards(spec.target.clone())),
    }
}

fn installed(
    spec: &str,
    (name, version): (&str, &str),
    profile: &Profile,
    package: &Package,
    store: &Store,
    say: &dyn Fn(&str),
) -> Result<Installed, PackageError> {
    let unusable = |why| PackageError::Store {
        spec: spec.to_owned(),
        directory: store.root().display().to_string(),
        why,
    };
    let key = Key {
        kind: package.ecosystem(),
        name: package.name(),
        version,
        with: &profile.package_with,
        setup: None,
    };
    let failed = |why| PackageError::Client {
        spec: spec.to_owned(),
        why,
    };
    let program = |directory: &Path| {
        let program = client::program(package, profile, name, directory);
        program.ok_or_else(|| PackageError::NoProgram {
            spec: spec.to_owned(),
            programs: profile
                .programs(name)
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(" or "),
        })
    };
    let entry = store.fill(&key, say, &unusable, |directory| {
        say(&format!(
            "installing {} {version} from {} into `{}`",
            package.name(),
            package.ecosystem(),
            directory.display()
        ));
        client::install(package, &profile.package_with, version, directory).map_err(failed)?;
        // Nothing is kept of a package without its program: with a corrected profile it is installed, and hashed, again.
        let program = program(directory)?;
        client::sha256(package, &program, directory).map(Some).map_err(failed)
    })?;
    Ok(Installed {
        profile: name.to_owned(),
        program: program(&entry.directory)?,
        facts: PackageFacts {
            ecosystem: entry.kind,
            name: entry.name,
            version: entry.version,
            sha256: entry.sha256,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> ServerSpec {
        text.parse().expect("it is a server")
    }

    #[test]
    fn a_version_comes_after_a_name_and_a_path_has_none() {
        let catalogue = Catalogue::built_in();
        for (target, seen) in [
            ("ty@0.0.104", Some(("ty", "0.0.104"))),
            ("ty@0.0.1..0.0.3", Some(("ty", "0.0.1..0.0.3"))),
            ("ty", None),
            ("./ty@0.0.104", None),
            ("@scope", None),
        ] {
            assert_eq!(parts(target, &catalogue), seen, "{target}");
        }
    }

    #[test]
    fn a_range_is_every_published_version_between_its_ends() {
        let published = ["0.0.9", "0.0.10", "0.1.0b1", "0.1.0"].map(str::to_owned);
        let range =
            |first: &str, last: &str| between(&spec("ty@a..b"), "ty", &published, &[first.to_owned(), last.to_owned()]);
        assert_eq!(range("0.0.10", "0.1.0").expect("both are there"), published[1..]);
        assert_eq!(range("0.0.9", "0.0.9").expect("it is there"), published[..1]);
        let wrong = |first, last| range(first, last).expect_err("it is refused").to_string();
        assert_eq!(
            wrong("0.0.9", "0.2"),
            "`ty` has no published version `0.2`: the newest is `0.1.0`"
        );
        assert!(wrong("0.1.0", "0.0.9").ends_with("name the older version first"));
    }

    #[test]
    fn what_cannot_be_installed_is_refused_with_a_cure() {
        let root = tempfile::tempdir().expect("there is a place for temporary files");
        let store = Store::at(root.path().to_owned());
        let wrong = |text: &str| {
            let (_, errors) = install(vec![spec(text)], &Catalogue::built_in(), &store, &|_| {});
            errors[0].to_string()
        };
        assert!(wrong("tyy@1.0").contains("did you mean `ty@1.0`?"));
        assert!(wrong("clangd@16").contains("the profile `clangd` has no `package`"));
        for text in ["ty@", "ty@..", "ty@1.0 --index", "ty@1...2", "ty@-1"] {
            assert!(wrong(text).contains("is no version"), "{text}: {}", wrong(text));
        }
        assert_eq!(std::fs::read_dir(root.path()).expect("it is there").count(), 0);
    }
}
