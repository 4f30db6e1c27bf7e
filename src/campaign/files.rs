//! Writes files atomically.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

/// The file that keeps a directory of ours out of the user's repository, as cargo keeps its `target`.
pub const IGNORED: &str = ".gitignore";
/// Its content.
pub const IGNORES_ALL: &str = "*\n";

/// Writes a file, or leaves it unchanged on any error. `cure` is the advice in the error.
pub fn write(path: &Path, text: &str, cure: &str) -> anyhow::Result<()> {
    replace(path, text).with_context(|| format!("cannot write `{}`, which is left as it was; {cure}", path.display()))
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut file = temporary(path)?;
    file.write_all(text.as_bytes())?;
    persist(file, path)
}

/// Follows a link, so that writing keeps it.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A temporary file in the directory of `path`, removed unless [`persist`] renames it.
pub fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let path = real(path);
    let directory = path.parent().filter(|directory| *directory != Path::new(""));
    let mut temporary = tempfile::Builder::new();
    temporary.prefix(".lsp-soak-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask applies, as to every new file.
        temporary.permissions(fs::Permissions::from_mode(0o666));
    }
    temporary.tempfile_in(directory.unwrap_or(Path::new(".")))
}

/// Syncs a temporary file and renames it to `path`.
pub fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(real(path)).map(drop).map_err(|kept| kept.error)
}

/// `name`, `name-2`, `name-3` and so on.
pub fn numbered(name: &str) -> impl Iterator<Item = String> {
    let more = (2_u64..).map(move |number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(more)
}
