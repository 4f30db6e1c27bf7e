//! Directories for a command's own temporary files: claimed by a lock, removed at the end.

use std::path::Path;

use crate::drive::workspace::{WorkspaceError, default_scratch, scratch};

/// A claimed directory. It lies beside the workspaces, so the next run removes it if this one is killed.
#[derive(Debug)]
pub struct Scratch(scratch::Scratch);

impl Scratch {
    /// Claims the first free directory of this kind.
    pub fn claim(kind: &str) -> Result<Scratch, WorkspaceError> {
        let home = scratch::user_directory(&default_scratch())?;
        scratch::Scratch::claim(&home, kind).map(Scratch)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A failed removal only costs disk space; the next run tries again.
        let _ = self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
