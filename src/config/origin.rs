//! Where a workspace comes from: a directory, or a pinned origin that has the same files on every machine.

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use super::scenario::{Isolation, Workspace};
use super::server::Package;
use record::OriginFacts;

/// Before the SHA-256 in the text of an archive.
const SUM: &str = "sha256=";

/// Digits of a SHA-256.
const SUM_DIGITS: usize = 64;

/// Fewest and most digits of a commit's hash.
const COMMIT_DIGITS: std::ops::RangeInclusive<usize> = 7..=64;

/// Where a workspace comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Directory(PathBuf),
    Pinned(Pin),
}

/// A workspace that is fetched once and set up once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    pub source: Wanted,
    /// The command that prepares the fetched files.
    pub setup: Option<String>,
}

/// A thing to fetch, with its version or without. Only what is typed may leave that open: a file is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Exact(Source),
    /// The newest version of a package that its client would install.
    Newest(Package),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The sources of a published version.
    Package(Package, String),
    Git {
        url: String,
        /// Hash of a commit, or the beginning of one.
        rev: String,
    },
    Archive {
        /// URL or path.
        place: String,
        sha256: String,
    },
}

/// A fetched workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub root: PathBuf,
    pub facts: OriginFacts,
}

/// Gets a pinned workspace, or says why not; `None` leaves it for later.
pub type Fetch<'f> = dyn Fn(&Pin) -> Option<Result<Fetched, OriginError>> + 'f;

/// The reason that an origin cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginError {
    /// The key of `[workspace]` with the mistake.
    pub key: &'static str,
    pub title: String,
    pub cure: String,
}

/// Options beside the scenario's `[workspace]`.
#[derive(Clone, Copy)]
pub struct Context<'c> {
    /// `--workspace`.
    pub workspace: Option<&'c Path>,
    /// `--setup`.
    pub setup: Option<&'c str>,
    pub isolation: Isolation,
    /// The directory that paths are relative to.
    pub directory: &'c Path,
    /// The absolute path.
    pub absolute: &'c Path,
    /// The SHA-256 of a file, where that is quick.
    pub sum: &'c dyn Fn(&Path) -> Option<String>,
}

/// An origin as written, before it is checked.
enum Written<'t> {
    Package(Package),
    Git(&'t str, Option<&'t str>),
    Archive(&'t str, Option<&'t str>),
}

impl Wanted {
    /// The key of `[workspace]` that says it.
    pub fn key(&self) -> &'static str {
        match self {
            Wanted::Exact(Source::Package(package, _)) | Wanted::Newest(package) => package.ecosystem(),
            Wanted::Exact(Source::Git { .. }) => "git",
            Wanted::Exact(Source::Archive { .. }) => "archive",
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Exact(source) => source.fmt(f),
            Wanted::Newest(package) => write!(f, "{}:{}", package.ecosystem(), package.name()),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Package(package, version) => {
                let (ecosystem, name) = (package.ecosystem(), package.name());
                write!(f, "{ecosystem}:{name}{}{version}", separator(package))
            }
            Source::Git { url, rev } => write!(f, "git:{url}#{rev}"),
            Source::Archive { place, sha256 } => write!(f, "archive:{place}#{SUM}{sha256}"),
        }
    }
}

/// The origin of a workspace. `--workspace` replaces what the scenario says, its `setup` too.
pub fn origin(workspace: &Workspace, context: &Context<'_>) -> Result<Origin, OriginError> {
    let own = context.workspace.is_none();
    let path = context.workspace.unwrap_or(Path::new(&workspace.path));
    let written = if own { table(workspace)? } else { None };
    let written = match written {
        Some(written) => Some(written),
        None => path.to_str().and_then(text).map(|written| ("path", written)),
    };
    let own_setup = if own { workspace.setup.as_deref() } else { None };
    let setup = context.setup.or(own_setup);
    let Some((key, written)) = written else {
        return match setup {
            Some(_) => Err(error(
                "setup",
                "`setup` needs a pinned workspace, because it writes into the directory",
                "prepare the directory yourself, or pin the workspace, such as `pypi:prefect==3.9.1`",
            )),
            None if own && path.as_os_str().is_empty() => Err(error(
                "path",
                "the workspace has no path",
                "write `path = \"…\"`, relative to this file, or pypi, npm, crate, git or archive",
            )),
            None => Ok(Origin::Directory(context.directory.join(path))),
        };
    };
    let source = source(key, written, context)?;
    match context.isolation {
        Isolation::InPlace => Err(error(
            "isolation",
            format!("`{source}` is pinned, and `in-place` would change its files"),
            "use copy, reflink or overlay",
        )),
        Isolation::Copy | Isolation::Reflink | Isolation::Overlay => Ok(Origin::Pinned(Pin {
            source,
            setup: setup.map(str::to_owned),
        })),
    }
}

/// The origin in the keys of `[workspace]`, with its key; `None` if only `path` says it.
fn table(workspace: &Workspace) -> Result<Option<(&'static str, Written<'_>)>, OriginError> {
    let package = |name: &Option<String>, of: fn(String) -> Package| name.clone().map(of).map(Written::Package);
    let rev = workspace.rev.as_deref();
    let sum = workspace.sha256.as_deref();
    let mut written: Vec<(&'static str, Written<'_>)> = [
        ("pypi", package(&workspace.pypi, Package::Pypi)),
        ("npm", package(&workspace.npm, Package::Npm)),
        ("crate", package(&workspace.krate, Package::Crate)),
        ("git", workspace.git.as_deref().map(|url| Written::Git(url, rev))),
        (
            "archive",
            workspace.archive.as_deref().map(|place| Written::Archive(place, sum)),
        ),
    ]
    .into_iter()
    .filter_map(|(key, written)| written.map(|written| (key, written)))
    .collect();
    let mut keys: Vec<&'static str> = written.iter().map(|(key, _)| *key).collect();
    if !workspace.path.is_empty() {
        keys.insert(0, "path");
    }
    if let [first, second, ..] = keys[..] {
        return Err(error(
            second,
            format!("the workspace has two origins, `{first}` and `{second}`"),
            "keep one of them",
        ));
    }
    for (key, is_set, owner) in [("rev", rev.is_some(), "git"), ("sha256", sum.is_some(), "archive")] {
        if is_set && keys != [owner] {
            let title = format!("`{key}` belongs to `{owner}`, which the workspace does not have");
            return Err(error(
                key,
                title,
                format!("write `{owner} = \"…\"` beside it, or leave it out"),
            ));
        }
    }
    Ok(written.pop())
}

/// The origin in a short text such as `pypi:prefect==3.9.1`; `None` for a path.
fn text(text: &str) -> Option<Written<'_>> {
    let (kind, rest) = text.split_once(':')?;
    match kind {
        "pypi" => Some(Written::Package(Package::Pypi(rest.to_owned()))),
        "npm" => Some(Written::Package(Package::Npm(rest.to_owned()))),
        "crate" => Some(Written::Package(Package::Crate(rest.to_owned()))),
        "git" => {
            // `git://…` is itself a URL.
            let whole = if rest.starts_with("//") { text } else { rest };
            let (url, rev) = fragment(whole);
            Some(Written::Git(url, rev))
        }
        "archive" => {
            let (place, sum) = fragment(rest);
            Some(Written::Archive(
                place,
                sum.map(|sum| sum.strip_prefix(SUM).unwrap_or(sum)),
            ))
        }
        _ => None,
    }
}

/// A short name for a workspace that is pinned on the command line: its package with the version, or the last part of where
/// it lies. `None` for a path.
pub fn short_name(written: &str) -> Option<String> {
    Some(match text(written)? {
        Written::Package(package) => {
            let parts = package.name().rsplit_once(separator(&package));
            parts.map_or_else(
                || package.name().to_owned(),
                |(name, version)| format!("{name}-{version}"),
            )
        }
        Written::Git(place, _) | Written::Archive(place, _) => {
            let last = place.trim_end_matches('/').rsplit('/').next();
            last.unwrap_or(place).trim_end_matches(".git").to_owned()
        }
    })
}

/// True if an origin is a version of what was typed without one.
pub fn is_version_of(origin: &str, typed: &str) -> bool {
    matches!(text(typed), Some(Written::Package(package)) if {
        let rest = origin.strip_prefix(typed);
        rest.is_some_and(|rest| rest.starts_with(separator(&package)))
    })
}

/// The parts before and after the last `#`.
fn fragment(text: &str) -> (&str, Option<&str>) {
    text.rsplit_once('#')
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

fn source(key: &'static str, written: Written<'_>, context: &Context<'_>) -> Result<Wanted, OriginError> {
    match written {
        Written::Package(package) => published(key, package, context),
        Written::Git(url, rev) => commit(key, url, rev, context.absolute).map(Wanted::Exact),
        Written::Archive(place, sum) => archive(key, place, sum, context).map(Wanted::Exact),
    }
}

/// A package whose name still has the version behind it.
fn published(key: &'static str, package: Package, context: &Context<'_>) -> Result<Wanted, OriginError> {
    let text = package.name().to_owned();
    let (ecosystem, separator) = (package.ecosystem(), separator(&package));
    // The `@` of a scope is the first character.
    let parts = text
        .split_once("==")
        .or_else(|| text.rsplit_once('@').filter(|(name, _)| !name.is_empty()));
    let name = parts.map_or(text.as_str(), |(name, _)| name);
    if !is_name(name) {
        let title = format!("`{name}` is no name of a package");
        return Err(error(key, title, format!("write `{ecosystem}:NAME{separator}VERSION`")));
    }
    let Some((_, version)) = parts else {
        return match context.workspace {
            Some(_) => Ok(Wanted::Newest(package)),
            None => Err(error(
                key,
                format!("`{ecosystem}:{text}` has no version, so its files change from time to time"),
                format!("pin it: `{ecosystem}:{text}{separator}VERSION`"),
            )),
        };
    };
    let is_pypi = matches!(package, Package::Pypi(_));
    if !is_version(version, is_pypi) {
        let example = if is_pypi { "3.9.1" } else { "14.1.0" };
        return Err(error(
            key,
            format!("`{version}` in `{ecosystem}:{text}` is no exact version"),
            format!("write one version in full, such as `{ecosystem}:{name}{separator}{example}`"),
        ));
    }
    let named = match package {
        Package::Pypi(_) => Package::Pypi(name.to_owned()),
        Package::Npm(_) => Package::Npm(name.to_owned()),
        Package::Crate(_) => Package::Crate(name.to_owned()),
        Package::Go(_) => Package::Go(name.to_owned()),
    };
    Ok(Wanted::Exact(Source::Package(named, version.to_owned())))
}

/// The sign that an ecosystem writes between a name and a version.
fn separator(package: &Package) -> &'static str {
    match package {
        Package::Pypi(_) => "==",
        Package::Npm(_) | Package::Crate(_) | Package::Go(_) => "@",
    }
}

/// A name that no client takes for an option or a path.
fn is_name(name: &str) -> bool {
    let bare = name.strip_prefix('@').unwrap_or(name);
    let parts: Vec<&str> = bare.split('/').collect();
    let is_part = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    parts.len() == 1 + usize::from(bare.len() < name.len()) && parts.iter().all(is_part)
}

/// True if it names one version: of `1.2` and `1.2.x` npm and cargo take the newest.
fn is_version(version: &str, is_pypi: bool) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || "._+-!".contains(c);
    let release = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<&str> = release.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_full = is_pypi || numbers.len() == 3 && numbers.iter().all(is_number);
    version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(known) && is_full
}

fn commit(key: &'static str, url: &str, rev: Option<&str>, directory: &Path) -> Result<Source, OriginError> {
    let at = if key == "git" { "rev" } else { key };
    if url.is_empty() || url.starts_with('-') {
        return Err(error(
            key,
            "git has no URL",
            "write `git = \"URL\"` and `rev = \"COMMIT\"`",
        ));
    }
    if has_password(url) {
        return Err(error(
            key,
            "the URL of the git repository has a password, which would be in every record",
            "leave it out: git asks its credential helper",
        ));
    }
    let Some(rev) = rev.filter(|rev| !rev.is_empty()) else {
        return Err(error(
            key,
            format!("`{url}` has no revision, so its files change from time to time"),
            format!("add the hash of a commit, as `rev` or `git:{url}#COMMIT`: `git ls-remote {url}` lists some"),
        ));
    };
    if !COMMIT_DIGITS.contains(&rev.len()) || !is_hex(rev) {
        return Err(error(
            at,
            format!("`{rev}` is no hash of a commit, and a branch or a tag can move"),
            format!("write its hash, at least 7 digits: `git ls-remote {url} {rev}` prints it"),
        ));
    }
    // `host:path` is the short form of ssh.
    let is_path = !url.contains("://") && url.find(':').is_none_or(|colon| url[..colon].contains('/'));
    Ok(Source::Git {
        url: if is_path {
            directory.join(url).to_string_lossy().into_owned()
        } else {
            url.to_owned()
        },
        rev: rev.to_ascii_lowercase(),
    })
}

fn archive(key: &'static str, place: &str, sum: Option<&str>, context: &Context<'_>) -> Result<Source, OriginError> {
    let at = if key == "archive" && sum.is_some() {
        "sha256"
    } else {
        key
    };
    let is_url = place.contains("://");
    if place.is_empty() || place.starts_with('-') || is_url && !is_scheme(place) {
        let title = format!("`{place}` is no archive");
        return Err(error(
            key,
            title,
            "write a path or a URL that begins with file, http or https",
        ));
    }
    if has_password(place) {
        return Err(error(
            key,
            "the URL of the archive has a password, which would be in every record",
            "download it, and name the file",
        ));
    }
    let path = context.absolute.join(place);
    if sum.is_some_and(|sum| sum.len() == SUM_DIGITS && is_hex(sum)) {
        return Ok(Source::Archive {
            place: if is_url {
                place.to_owned()
            } else {
                path.to_string_lossy().into_owned()
            },
            sha256: sum.unwrap_or_default().to_ascii_lowercase(),
        });
    }
    let local = match place.strip_prefix("file://") {
        Some(path) => Some(PathBuf::from(path)),
        None if is_url => None,
        None => Some(path),
    };
    let cure = match local.as_deref().and_then(context.sum) {
        Some(real) => format!("the file has `{SUM}{real}`"),
        None if is_url => format!("`curl -L {place} | sha256sum` prints it"),
        None => format!("`sha256sum {place}` prints it"),
    };
    Err(match sum {
        None => error(
            at,
            format!("the archive `{place}` has no SHA-256, so its files may change"),
            cure,
        ),
        Some(sum) => error(
            at,
            format!("`{sum}` is no SHA-256, which has {SUM_DIGITS} digits"),
            cure,
        ),
    })
}

fn is_scheme(url: &str) -> bool {
    ["file://", "http://", "https://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// True if the URL has `user:password@` before its host, or over HTTP a user, which is a token.
fn has_password(url: &str) -> bool {
    let authority = url
        .split_once("://")
        .map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    let user = authority.and_then(|authority| authority.rsplit_once('@'));
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    user.is_some_and(|(user, _)| is_http || user.contains(':'))
}

fn error(key: &'static str, title: impl Into<String>, cure: impl Into<String>) -> OriginError {
    OriginError {
        key,
        title: title.into(),
        cure: cure.into(),
    }
}
