//! Fetches the files of each kind of origin.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::{Package, Source, Wanted};
use crate::resolve::client::{self, ClientError, read, run};
use crate::resolve::package::newest;
use proctree::host;

use super::FetchError;
use super::unpack::unpack;

/// The directory of the download, which is removed once it is unpacked.
const DOWNLOAD: &str = "download";

/// The source with its version. A package without one gets the newest, which is said.
pub fn with_version(wanted: &Wanted, say: fn(&str)) -> Result<Source, FetchError> {
    let package = match wanted {
        Wanted::Exact(source) => return Ok(source.clone()),
        Wanted::Newest(package) => package,
    };
    let newest = newest(package).map_err(|why| FetchError::Client {
        origin: wanted.to_string(),
        why,
    })?;
    let source = Source::Package(package.clone(), newest);
    say(&format!("`{wanted}` has no version: using the newest, `{source}`"));
    Ok(source)
}

/// Puts the files of `source` into `files`, which does not exist yet. Works in `directory`.
pub fn fetch(source: &Source, directory: &Path, files: &Path, say: fn(&str)) -> Result<(), FetchError> {
    let failed = |why: ClientError| client_failure(&source.to_string(), why);
    let download = directory.join(DOWNLOAD);
    fs::create_dir(&download).map_err(|why| failed(why.into()))?;
    match source {
        Source::Package(package @ Package::Crate(_), version) => {
            let vendored = vendor(package.name(), version, &download).map_err(failed)?;
            fs::rename(vendored, files).map_err(|why| failed(why.into()))?;
        }
        Source::Package(package, version) => {
            let archive = download_archive(package, version, &download, say).map_err(failed)?;
            unpack(&source.to_string(), &archive, &download, files)?;
        }
        Source::Git { url, rev } => checkout(url, rev, files)?,
        Source::Archive { place, sha256 } => {
            let archive = obtain_archive(place, &download).map_err(failed)?;
            let real = host::file_sha256(&archive).map_err(|why| failed(why.into()))?;
            if real != *sha256 {
                return Err(FetchError::Sum {
                    place: place.clone(),
                    real,
                    expected: sha256.clone(),
                });
            }
            unpack(place, &archive, &download, files)?;
        }
    }
    fs::remove_dir_all(&download).map_err(|why| failed(why.into()))
}

fn client_failure(origin: &str, why: ClientError) -> FetchError {
    FetchError::Client {
        origin: origin.to_owned(),
        why,
    }
}

/// Downloads the archive of a package.
fn download_archive(package: &Package, version: &str, into: &Path, say: fn(&str)) -> Result<PathBuf, ClientError> {
    let (name, destination) = (package.name(), into.display().to_string());
    match package {
        Package::Pypi(_) => {
            let exact = format!("{name}=={version}");
            let pip = |kind: &str| {
                client::pip(&[
                    "download",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--no-input",
                    "--no-deps",
                    "--ignore-requires-python",
                    kind,
                    name,
                    "--dest",
                    &destination,
                    &exact,
                ])
            };
            match pip("--no-binary") {
                Ok(_) => {}
                Err(why) if has_no_sources(&why) => {
                    pip("--only-binary")?;
                    say(&format!(
                        "{exact} has no source distribution: using the files of its wheel"
                    ));
                }
                Err(why) => return Err(why),
            }
        }
        Package::Npm(_) | Package::Crate(_) | Package::Go(_) => {
            let exact = format!("{name}@{version}");
            run(
                &[
                    "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", &destination, &exact,
                ],
                &[],
            )?;
        }
    }
    for entry in fs::read_dir(into)?.flatten() {
        if entry.path().is_file() {
            return Ok(entry.path());
        }
    }
    Err(ClientError::Unread(name.to_owned()))
}

/// True if pip says that there is no source distribution. It says so too of an index that it cannot reach, after retries. Other
/// failures must not choose the files: another machine would have those of the source.
fn has_no_sources(why: &ClientError) -> bool {
    let ClientError::Failed { tail, .. } = why else {
        return false;
    };
    tail.contains("No matching distribution found") && !tail.contains("Retrying")
}

/// The directory of a crate. cargo unpacks a crate only for a package that depends on it.
fn vendor(name: &str, version: &str, into: &Path) -> Result<PathBuf, ClientError> {
    let (manifest, vendored) = (into.join("Cargo.toml"), into.join("vendor"));
    fs::create_dir(into.join("src"))?;
    fs::write(into.join("src").join("lib.rs"), "")?;
    fs::write(
        &manifest,
        format!(
            "[package]\nname = \"scratch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[dependencies]\nfetched = {{ package = \
             \"{name}\", version = \"={version}\" }}\n\n[workspace]\n"
        ),
    )?;
    let (from, to) = (manifest.display().to_string(), vendored.display().to_string());
    run(
        &[
            "cargo",
            "vendor",
            "--quiet",
            "--versioned-dirs",
            "--respect-source-config",
            "--manifest-path",
            &from,
            &to,
        ],
        &[],
    )?;
    let own = vendored.join(format!("{name}-{version}"));
    // cargo wrote it; it is no file of the crate.
    fs::remove_file(own.join(".cargo-checksum.json"))?;
    Ok(own)
}

/// Checks out the commit with this hash, whole or shortened. `.git` stays, for a setup that asks for the version; servers get a
/// copy without it.
fn checkout(url: &str, hash: &str, files: &Path) -> Result<(), FetchError> {
    let failed = |why: ClientError| client_failure(url, why);
    fs::create_dir(files).map_err(|why| failed(why.into()))?;
    let at = files.display().to_string();
    let (git_dir, index) = (format!("{at}/.git"), format!("{at}/.git/index"));
    // A git hook that runs lsp-soak sets these variables to its own repository.
    let env = [
        ("GIT_DIR", git_dir.as_str()),
        ("GIT_WORK_TREE", &at),
        ("GIT_INDEX_FILE", &index),
        ("GIT_TERMINAL_PROMPT", "0"),
    ];
    let git = |words: &[&str]| {
        read(
            &[&["git", "-C", &at, "-c", "core.autocrlf=false"], words].concat(),
            &env,
        )
    };
    git(&["init", "--quiet"]).map_err(failed)?;
    // Servers that offer single commits do so by their whole hash only.
    let commit = format!("{hash}^{{commit}}");
    let shallow = hash.len() >= 40 && git(&["fetch", "--quiet", "--depth", "1", url, hash]).is_ok();
    if !shallow {
        git(&["fetch", "--quiet", "--tags", url, "+refs/heads/*:refs/remotes/origin/*"]).map_err(failed)?;
    }
    let found = git(&["rev-parse", "--verify", "--quiet", &commit]);
    match found {
        // A tag whose name looks like a hash is found too.
        Ok(found) if found.trim().starts_with(hash) => {
            git(&["checkout", "--quiet", "--detach", found.trim()]).map_err(failed)?;
            Ok(())
        }
        Ok(_) | Err(_) => Err(FetchError::NoCommit {
            url: url.to_owned(),
            rev: hash.to_owned(),
        }),
    }
}

/// The file of an archive: the one at a path of this machine, or downloaded into `into`.
fn obtain_archive(place: &str, into: &Path) -> Result<PathBuf, ClientError> {
    if !place.contains("://") {
        return Ok(PathBuf::from(place));
    }
    let Ok(url) = lsp_types::Url::parse(place) else {
        return Err(ClientError::Unread(place.to_owned()));
    };
    if url.scheme() == "file" {
        return url.to_file_path().map_err(|()| ClientError::Unread(place.to_owned()));
    }
    let name = url.path_segments().and_then(Iterator::last).unwrap_or_default();
    let file = into.join(format!("archive-{name}"));
    let to = file.display().to_string();
    run(
        &[
            "curl", "--fail", "--location", "--silent", "--show-error", "--output", &to, "--", place,
        ],
        &[],
    )?;
    Ok(file)
}
