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
use super::store::{FillError, Key, Store};

/// Two dots between the first and the last version of a range.
const RANGE: &str = "..";

/// The reason why a version of a server cannot be installed.
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
    #[error(
        "`{0}` is no range of versions: write `NAME@FIRST..LAST`, such as `ty@0.0.100..0.0.105`, or name commits with --git"
    )]
    NoRange(String),
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
    if target.contains(['/', '\\']) || catalogue.get(target).is_some() {
        return None;
    }
    target.split_once('@').filter(|(name, _)| !name.is_empty())
}

/// The servers with every `NAME@VERSION` installed, one for each version of a range, and the mistakes in the others. `say` is
/// called before each installation.
pub fn install(
    specs: Vec<ServerSpec>,
    catalogue: &Catalogue,
    store: &Store,
    say: fn(&str),
) -> (Vec<ServerSpec>, Vec<PackageError>) {
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for spec in specs {
        match parts(&spec.target, catalogue) {
            None => all.push(spec),
            Some((name, versions)) => match install_versions(&spec, (name, versions), catalogue, store, say) {
                Ok(installed) => all.extend(installed),
                Err(error) => errors.push(error),
            },
        }
    }
    (all, errors)
}

/// The server in each of its versions, installed.
fn install_versions(
    spec: &ServerSpec,
    (name, versions): (&str, &str),
    catalogue: &Catalogue,
    store: &Store,
    say: fn(&str),
) -> Result<Vec<ServerSpec>, PackageError> {
    let (profile, package) = package_of(spec, (name, versions), catalogue)?;
    let chosen = match versions.split_once(RANGE) {
        None => vec![checked_version(spec, name, versions)?],
        Some(ends) => published_between(spec, name, package, ends)?,
    };
    let is_range = chosen.len() > 1;
    let mut servers = Vec::new();
    for version in chosen {
        let label = match &spec.label {
            Some(label) if is_range => Some(format!("{label}-{version}")),
            label => label.clone(),
        };
        let target = format!("{name}@{version}");
        let installed = install_version(&target, (name, &version), profile, package, store, say)?;
        servers.push(ServerSpec {
            label,
            target,
            installed: Some(installed),
            ..spec.clone()
        });
    }
    Ok(servers)
}

/// The server in each published version of its range `NAME@FIRST..LAST`, from old to new. Prereleases are left out, unless an
/// end is one.
pub fn published(spec: &ServerSpec, catalogue: &Catalogue) -> Result<Vec<(String, ServerSpec)>, PackageError> {
    let no_range = || PackageError::NoRange(spec.target.clone());
    let (name, versions) = parts(&spec.target, catalogue).ok_or_else(no_range)?;
    let ends = versions.split_once(RANGE).ok_or_else(no_range)?;
    let (_, package) = package_of(spec, (name, versions), catalogue)?;
    let mut published = published_between(spec, name, package, ends)?;
    if !is_prerelease(package, ends.0) && !is_prerelease(package, ends.1) {
        published.retain(|version| !is_prerelease(package, version));
    }
    let mut servers = Vec::new();
    for version in published {
        let label = spec.label.as_ref().map(|label| format!("{label}-{version}"));
        let target = format!("{name}@{version}");
        servers.push((
            version,
            ServerSpec {
                label,
                target,
                ..spec.clone()
            },
        ));
    }
    Ok(servers)
}

/// True for `1.2.0-beta.1` and, of PyPI, `1.2.0b1` and `1.2.0.dev3`.
fn is_prerelease(package: &Package, version: &str) -> bool {
    let public = version.split('+').next().unwrap_or(version);
    match package {
        Package::Pypi(_) => public.replace("post", "").contains(|c: char| c.is_ascii_alphabetic()),
        Package::Npm(_) | Package::Crate(_) | Package::Go(_) => public.contains('-'),
    }
}

fn package_of<'c>(
    spec: &ServerSpec,
    (name, versions): (&str, &str),
    catalogue: &'c Catalogue,
) -> Result<(&'c Profile, &'c Package), PackageError> {
    let Some(profile) = catalogue.get(name) else {
        let cure = match nearest(name, catalogue.names()) {
            Some(near) => format!("did you mean `{near}@{versions}`?"),
            None => "a version needs a profile with a `package`; name a program by its path".to_owned(),
        };
        let spec = spec.target.clone();
        return Err(PackageError::Unknown { spec, cure });
    };
    let package = profile.package.as_ref();
    Ok((
        profile,
        package.ok_or_else(|| PackageError::NoPackage(name.to_owned()))?,
    ))
}

/// Every published version between two, both included.
fn published_between(
    spec: &ServerSpec,
    name: &str,
    package: &Package,
    (first, last): (&str, &str),
) -> Result<Vec<String>, PackageError> {
    let ends = [checked_version(spec, name, first)?, checked_version(spec, name, last)?];
    let published = client::versions(package).map_err(|why| PackageError::Client {
        spec: spec.target.clone(),
        why,
    })?;
    versions_between(spec, name, &published, &ends)
}

/// A version that can name a directory, and nothing else.
fn checked_version(spec: &ServerSpec, name: &str, version: &str) -> Result<String, PackageError> {
    let begins_safely = version.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_safe = version
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "._+-!".contains(c));
    if begins_safely && is_safe && !version.contains(RANGE) {
        return Ok(version.to_owned());
    }
    Err(PackageError::Version {
        spec: spec.target.clone(),
        name: name.to_owned(),
        version: version.to_owned(),
    })
}

/// The published versions from the first to the last, both included; `published` is from old to new.
fn versions_between(
    spec: &ServerSpec,
    name: &str,
    published: &[String],
    ends: &[String; 2],
) -> Result<Vec<String>, PackageError> {
    let first = published_place(name, published, &ends[0])?;
    let last = published_place(name, published, &ends[1])?;
    if first > last {
        return Err(PackageError::Backwards(spec.target.clone()));
    }
    Ok(published[first..=last].to_vec())
}

fn published_place(name: &str, published: &[String], version: &str) -> Result<usize, PackageError> {
    if let Some(place) = published.iter().position(|other| other == version) {
        return Ok(place);
    }
    Err(PackageError::Unpublished {
        name: name.to_owned(),
        version: version.to_owned(),
        cure: match nearest(version, published.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the newest is `{}`", published.last().map_or("none", String::as_str)),
        },
    })
}

/// Installs one version, unless the cache has it. `spec` names the server in errors.
fn install_version(
    spec: &str,
    (name, version): (&str, &str),
    profile: &Profile,
    package: &Package,
    store: &Store,
    say: fn(&str),
) -> Result<Installed, PackageError> {
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
    let filled = store.fill(&key, say, |directory| {
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
    });
    let entry = filled.map_err(|error| match error {
        FillError::Make(error) => error,
        FillError::Store(why) => PackageError::Store {
            spec: spec.to_owned(),
            directory: store.root().display().to_string(),
            why,
        },
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
        let range = |first: &str, last: &str| {
            versions_between(&spec("ty@a..b"), "ty", &published, &[first.to_owned(), last.to_owned()])
        };
        assert_eq!(range("0.0.10", "0.1.0").expect("both are there"), published[1..]);
        assert_eq!(range("0.0.9", "0.0.9").expect("it is there"), published[..1]);
        assert_eq!(
            range("0.0.9", "0.2").expect_err("it is refused").to_string(),
            "`ty` has no published version `0.2`: the newest is `0.1.0`"
        );
        let error = range("0.1.0", "0.0.9").expect_err("it is refused").to_string();
        assert!(error.ends_with("name the older version first"));
    }

    #[test]
    fn versions_before_a_release_are_told_from_releases() {
        let (pypi, npm) = (Package::Pypi(String::new()), Package::Npm(String::new()));
        for (package, version, expected) in [
            (&pypi, "0.0.10", false),
            (&pypi, "1.0.post2", false),
            (&pypi, "1.0+local.a", false),
            (&pypi, "1.0b1", true),
            (&pypi, "1.0.dev3", true),
            (&pypi, "1.0rc1.post2", true),
            (&npm, "1.0.0", false),
            (&npm, "1.0.0+build-1", false),
            (&npm, "1.0.0-nightly.20260101", true),
        ] {
            assert_eq!(is_prerelease(package, version), expected, "{version}");
        }
    }

    #[test]
    fn what_cannot_be_installed_is_refused_with_a_cure() {
        let root = tempfile::tempdir().expect("there is a place for temporary files");
        let store = Store::new(root.path().to_owned());
        let wrong = |text: &str| {
            let (_, errors) = install(vec![spec(text)], &Catalogue::built_in(), &store, |_| {});
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
