//! Unpacks archives whose entries all stay below one directory.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use crate::resolve::client::{ClientError, program, run};

use super::FetchError;

/// Entries of an archive that are looked at: more would fill the memory.
const MOST: usize = 10_000_000;

/// Bytes of the longest name.
const LONGEST: u64 = 1 << 16;

#[derive(Clone, Copy)]
enum Kind {
    Tar,
    Zip,
}

/// Unpacks `archive` to `files`. A directory around everything, as in most archives of sources, is left out.
pub fn unpack(shown: &str, archive: &Path, scratch: &Path, files: &Path) -> Result<(), FetchError> {
    let failed = |why: ClientError| FetchError::Client {
        origin: shown.to_owned(),
        why,
    };
    let name = archive.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    const TAR: [&str; 6] = [".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tar"];
    let kind = if TAR.iter().any(|ending| name.ends_with(ending)) {
        Kind::Tar
    } else if name.ends_with(".zip") || name.ends_with(".whl") {
        Kind::Zip
    } else {
        return Err(FetchError::Kind(shown.to_owned()));
    };
    let (from, into) = (archive.display().to_string(), scratch.join("unpacked"));
    let to = into.display().to_string();
    let listing: &[&str] = match kind {
        Kind::Tar => &["tar", "-tf", &from],
        Kind::Zip => &["unzip", "-Z1", &from],
    };
    if let Some(name) = outside(listing).map_err(failed)? {
        return Err(FetchError::Escape {
            archive: shown.to_owned(),
            name,
        });
    }
    fs::create_dir(&into).map_err(|why| failed(why.into()))?;
    let unpacking: &[&str] = match kind {
        Kind::Tar => &["tar", "-xf", &from, "-C", &to, "--no-same-owner"],
        Kind::Zip => &["unzip", "-qq", "-o", &from, "-d", &to],
    };
    run(unpacking, &[]).map_err(failed)?;
    let root = root(&into).map_err(|why| failed(why.into()))?;
    if let Some((link, target)) = outside_link(&root).map_err(|why| failed(why.into()))? {
        return Err(FetchError::EscapingLink {
            archive: shown.to_owned(),
            link: link.strip_prefix(&root).unwrap_or(&link).display().to_string(),
            target: target.display().to_string(),
        });
    }
    fs::rename(root, files).map_err(|why| failed(why.into()))
}

/// The first entry whose path leads out of the archive.
fn outside(listing: &[&str]) -> Result<Option<String>, ClientError> {
    let mut child = Command::new(program(listing[0])?)
        .args(&listing[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut outside = None;
    if let Some(names) = child.stdout.take() {
        let mut names = BufReader::new(names);
        for _ in 0..MOST {
            let mut line = Vec::new();
            if names.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let name = String::from_utf8_lossy(&line);
            let name = name.trim_end_matches('\n');
            if leads_out(name) {
                outside = Some(name.to_owned());
                break;
            }
        }
    }
    // A broken archive is reported when it is unpacked.
    child.wait()?;
    Ok(outside)
}

fn leads_out(name: &str) -> bool {
    name.starts_with('\\')
        || name.split('\\').any(|part| part == "..")
        || Path::new(name)
            .components()
            .any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The directory of the files: the only one, or everything.
fn root(unpacked: &Path) -> io::Result<PathBuf> {
    let mut entries = fs::read_dir(unpacked)?;
    let (first, second) = (entries.next().transpose()?, entries.next());
    match (first, second) {
        (Some(only), None) if only.file_type().is_ok_and(|kind| kind.is_dir()) => Ok(only.path()),
        _ => Ok(unpacked.to_owned()),
    }
}

/// The first link that leads out of `root`, and its target. tar and unzip make such links last, so that nothing is written
/// through them.
fn outside_link(root: &Path) -> io::Result<Option<(PathBuf, PathBuf)>> {
    let whole = root.canonicalize()?;
    let mut directories = vec![(root.to_owned(), 0)];
    while let Some((directory, depth)) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                directories.push((path, depth + 1));
            } else if kind.is_symlink() {
                let target = fs::read_link(&path)?;
                // Through other links it may lead elsewhere than its text.
                let elsewhere = path.canonicalize().is_ok_and(|real| !real.starts_with(&whole));
                if elsewhere || climbs_out(&target, depth) {
                    return Ok(Some((path, target)));
                }
            }
        }
    }
    Ok(None)
}

/// True if a target leads above the root, read from a directory that is `depth` directories below it.
fn climbs_out(target: &Path, depth: usize) -> bool {
    let mut depth = Some(depth);
    for part in target.components() {
        depth = depth.and_then(|depth| match part {
            Component::Normal(_) => Some(depth + 1),
            Component::CurDir => Some(depth),
            Component::ParentDir => depth.checked_sub(1),
            Component::RootDir | Component::Prefix(_) => None,
        });
    }
    depth.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_stays_below_its_archive() {
        for (name, out) in [
            ("shop/a.py", false),
            ("./shop/", false),
            ("shop/..a.py", false),
            ("../a.py", true),
            ("shop/../../a.py", true),
            ("/etc/passwd", true),
            ("shop\\..\\..\\a.py", true),
        ] {
            assert_eq!(leads_out(name), out, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_below_its_archive() {
        for (target, out) in [
            ("a.py", false),
            ("../a.py", false),
            ("../deep/missing.py", false),
            ("../../a.py", true),
            ("../deep/../../a.py", true),
            ("/etc", true),
            ("/no/such/file", true),
            ("here/here/../../..", true),
        ] {
            let root = tempfile::tempdir().unwrap();
            let deep = root.path().join("shop").join("deep");
            fs::create_dir_all(&deep).unwrap();
            std::os::unix::fs::symlink(".", deep.join("here")).unwrap();
            std::os::unix::fs::symlink(target, deep.join("link")).unwrap();
            let found = outside_link(&root.path().join("shop")).unwrap();
            assert_eq!(found.is_some(), out, "{target}");
        }
    }
}
