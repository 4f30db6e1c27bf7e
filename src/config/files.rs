//! Which files of a project a scenario means.

use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::glob::{Glob, SKIPPED};

/// The files under `root` that match, relative to it, sorted. Hidden files and what tools made are left out;
/// symbolic links are not followed, so that nothing outside is touched.
pub fn select(root: &Path, pattern: &Glob, exclude: &[Glob]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .hidden(true)
        .filter_entry(|entry| {
            let made = entry.file_name().to_str().is_some_and(|name| SKIPPED.contains(&name));
            entry.depth() == 0 || !made
        })
        .build();
    for entry in walk {
        let entry = entry.map_err(io::Error::other)?;
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let Ok(path) = entry.path().strip_prefix(root) else {
            continue;
        };
        if is_file && pattern.matches(path) && !exclude.iter().any(|glob| glob.matches(path)) {
            files.push(path.to_path_buf());
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_tools_made_and_what_is_excluded_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "b.py",
            "a/c.py",
            "a/t_test.py",
            "node_modules/x.py",
            ".venv/y.py",
            "__pycache__/z.py",
            "a.txt",
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let files = select(
            root.path(),
            &"**/*.py".parse().unwrap(),
            &["**/*_test.py".parse().unwrap()],
        )
        .unwrap();
        assert_eq!(files, [Path::new("a/c.py"), Path::new("b.py")]);
    }
}
