//! A place for files that a command needs for itself: claimed by a lock, removed at the end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::drive::workspace;

/// How many of one kind may be in use at the same time.
const SLOTS: usize = 16;

/// A claimed place. It lies among those of workspaces, where the next run removes what a killed one left: the lock is
/// held until this is dropped, and the system lets go of it when we are killed.
#[derive(Debug)]
pub struct Scratch {
    dir: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Claims the first free place for files of this kind. Its path is always equally long, because servers store it.
    pub fn claim(kind: &str) -> anyhow::Result<Scratch> {
        let home = workspace::default_scratch().join("lsp-soak");
        let cure = || format!("cannot use `{}`: set TMPDIR to a directory of your own", home.display());
        create_private(&home).with_context(cure)?;
        for slot in 0..SLOTS {
            let dir = home.join(format!("{kind}-{slot:x}"));
            let lock = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(dir.with_extension("lock"))
                .with_context(cure)?;
            if lock.try_lock().is_err() {
                continue;
            }
            let scratch = Scratch { dir, _lock: lock };
            // What a killed run left would make this one warm.
            scratch.clear();
            create_private(&scratch.dir).with_context(cure)?;
            return Ok(scratch);
        }
        bail!(
            "{SLOTS} runs of lsp-soak are using `{}`: wait for one to end, or set TMPDIR",
            home.display()
        )
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// What cannot be removed is in nobody's way but the disk's, and the next run tries again.
    fn clear(&self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.clear();
    }
}

fn create_private(dir: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_places_differ_are_equally_long_and_are_removed() {
        let (one, two) = (Scratch::claim("test"), Scratch::claim("test"));
        let (one, two) = (one.expect("there is a free place"), two.expect("there is another"));
        let (first, second) = (one.path().to_owned(), two.path().to_owned());
        assert_ne!(first, second);
        assert_eq!(first.as_os_str().len(), second.as_os_str().len());
        fs::write(first.join("file"), "text").expect("the place is ours");
        drop((one, two));
        assert!(!first.exists() && !second.exists());
    }
}
