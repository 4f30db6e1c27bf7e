//! Hashes the files of a workspace: equal hashes mean that two runs had the same files.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::config::files::walk_copied;
use base::Cancel;
use record::TreeFacts;
use record::regular_file;

/// Longest file that is read whole, in bytes. Sources are shorter. Longer files are libraries and data, whose ends
/// differ when anything does.
const WHOLE: u64 = 1 << 20;

/// Most bytes read in total: one or two seconds, whatever the size of the project.
const MOST: u64 = 1 << 30;

/// Reads every file under `root` that a copy includes. A symbolic link counts by its target. `None` if anything is
/// unreadable, or if it is cancelled.
pub fn facts(root: &Path, cancel: &Cancel) -> Option<TreeFacts> {
    facts_up_to(root, MOST, cancel)
}

fn facts_up_to(root: &Path, most: u64, cancel: &Cancel) -> Option<TreeFacts> {
    let root = &fs::canonicalize(root).ok()?;
    let mut facts = TreeFacts::default();
    let mut hasher = Sha256::new();
    let (mut left, mut buffer) = (most, Vec::new());
    for (name, path) in entries(root)? {
        if cancel.is_cancelled() {
            return None;
        }
        let meta = fs::symlink_metadata(&path).ok()?;
        // Lengths first, so that different trees never feed the same bytes.
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(&name);
        if meta.is_symlink() {
            let goal = fs::read_link(&path).ok()?;
            let goal = goal.strip_prefix(root).unwrap_or(&goal).as_os_str().as_encoded_bytes();
            hasher.update((goal.len() as u64).to_le_bytes());
            hasher.update(b"link");
            hasher.update(goal);
            continue;
        }
        facts.files += 1;
        facts.bytes += meta.len();
        hasher.update(meta.len().to_le_bytes());
        match left.checked_sub(meta.len().min(WHOLE)) {
            Some(rest) => {
                left = rest;
                contents(&path, meta.len(), &mut buffer).ok()?;
                hasher.update(&buffer);
            }
            None => facts.unread += 1,
        }
    }
    facts.sha256 = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(facts)
}

/// Files and links, sorted, each with a relative path whose bytes are the same on every system.
fn entries(root: &Path) -> Option<Vec<(Vec<u8>, PathBuf)>> {
    let mut paths = Vec::new();
    for entry in walk_copied(root) {
        let entry = entry.ok()?;
        if entry
            .file_type()
            .is_some_and(|kind| kind.is_file() || kind.is_symlink())
        {
            let below = entry.path().strip_prefix(root).ok()?;
            let parts: Vec<&[u8]> = below.iter().map(|part| part.as_encoded_bytes()).collect();
            paths.push((parts.join(&b'/'), entry.into_path()));
        }
    }
    paths.sort_unstable();
    Some(paths)
}

/// Reads a short file whole, and both ends of a long one.
fn contents(path: &Path, length: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    let (mut file, _) = regular_file::open(path)?;
    if length <= WHOLE {
        file.take(WHOLE).read_to_end(buffer)?;
        return Ok(());
    }
    file.by_ref().take(WHOLE / 2).read_to_end(buffer)?;
    file.seek(SeekFrom::Start(length - WHOLE / 2))?;
    file.take(WHOLE / 2).read_to_end(buffer)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(root: &Path) -> String {
        facts(root, &Cancel::default()).unwrap().sha256
    }

    fn project() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("src")).unwrap();
        fs::write(root.path().join("src/a.py"), "a = 1\n").unwrap();
        fs::write(root.path().join("pyproject.toml"), "[project]\n").unwrap();
        root
    }

    #[test]
    fn every_file_that_a_server_sees_counts_and_nothing_else() {
        let (one, other) = (project(), project());
        assert_eq!(hash(one.path()), hash(other.path()), "the place does not count");
        let base = hash(one.path());
        for left_out in [".git/HEAD", ".ruff_cache/x", "src/__pycache__/a.pyc"] {
            let path = other.path().join(left_out);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
            assert_eq!(hash(other.path()), base, "{left_out}");
        }
        let mut seen = vec![base];
        for (name, text) in [
            ("pyproject.toml", "[project] "),
            ("node_modules/x/index.js", ""),
            (".venv/lib/y.py", "y"),
            ("src/b.py", "a = 1\n"),
        ] {
            let path = other.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            seen.push(hash(other.path()));
        }
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    #[test]
    fn of_a_long_file_its_length_and_both_ends_count() {
        let root = project();
        let mut text = vec![b'x'; 3 << 20];
        let mut with = |at: usize, byte: u8| {
            text[at] = byte;
            fs::write(root.path().join("data.bin"), &text).unwrap();
            hash(root.path())
        };
        let base = with(0, b'x');
        assert_eq!(with(3 << 19, b'y'), base, "the middle is not read");
        assert_ne!(with(0, b'y'), base);
        assert_ne!(with((3 << 20) - 1, b'y'), with((3 << 20) - 1, b'x'));
    }

    #[test]
    fn what_is_not_read_any_more_counts_by_its_length() {
        let root = project();
        // `pyproject.toml` comes first and is read; the limit leaves nothing for the other.
        let few = || facts_up_to(root.path(), 10, &Cancel::default()).unwrap();
        let base = few();
        assert_eq!((base.files, base.bytes, base.unread), (2, 16, 1));
        fs::write(root.path().join("src/a.py"), "b = 1\n").unwrap();
        assert_eq!(few(), base);
        fs::write(root.path().join("src/a.py"), "b = 10\n").unwrap();
        assert_ne!(few(), base);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_into_the_tree_counts_by_where_it_leads() {
        let (one, other) = (project(), project());
        for root in [&one, &other] {
            std::os::unix::fs::symlink(root.path().join("src/a.py"), root.path().join("link")).unwrap();
        }
        assert_eq!(hash(one.path()), hash(other.path()));
        fs::remove_file(other.path().join("link")).unwrap();
        std::os::unix::fs::symlink("src", other.path().join("link")).unwrap();
        assert_ne!(hash(one.path()), hash(other.path()));
    }

    #[test]
    fn what_cannot_be_read_has_no_hash() {
        let root = project();
        assert_eq!(facts(&root.path().join("nothing"), &Cancel::default()), None);
        let cancel = Cancel::default();
        cancel.cancel();
        assert_eq!(facts(root.path(), &cancel), None);
        assert!(contents(root.path(), 1, &mut Vec::new()).is_err());
    }
}
