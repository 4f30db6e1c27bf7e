//! A place for files that a command needs for itself: claimed by a lock, removed at the end.

use std::path::Path;

use crate::drive::workspace::{WorkspaceError, default_scratch, scratch};

/// A claimed place. It lies among those of workspaces, where the next run removes what a killed one left.
#[derive(Debug)]
pub struct Scratch(scratch::Scratch);

impl Scratch {
    /// Claims the first free place for files of this kind.
    pub fn claim(kind: &str) -> Result<Scratch, WorkspaceError> {
        let home = scratch::home(&default_scratch())?;
        scratch::Scratch::claim(&home, kind).map(Scratch)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in nobody's way but the disk's, and the next run tries again.
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
