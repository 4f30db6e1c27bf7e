//! Files, each written whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

/// Writes a file, or leaves what is there as it was, also on a full disk. `cure` says what to do then.
pub fn write(path: &Path, text: &str, cure: &str) -> anyhow::Result<()> {
    replace(path, text).with_context(|| format!("cannot write `{}`, which is left as it was; {cure}", path.display()))
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut file = beside(path)?;
    file.write_all(text.as_bytes())?;
    keep(file, path)
}

/// A link stays one.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A file in the directory of `path`, which is removed unless it is kept.
pub fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let path = real(path);
    let directory = path.parent().filter(|directory| *directory != Path::new(""));
    let mut beside = tempfile::Builder::new();
    beside.prefix(".lsp-soak-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Without those that the umask takes away, as of every new file.
        beside.permissions(fs::Permissions::from_mode(0o666));
    }
    beside.tempfile_in(directory.unwrap_or(Path::new(".")))
}

/// Gives a file its name, now that all of it is on the disk.
pub fn keep(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(real(path)).map(drop).map_err(|kept| kept.error)
}

/// `name`, `name-2`, `name-3` and so on without end.
pub fn numbered(name: &str) -> impl Iterator<Item = String> {
    let more = (2_u64..).map(move |number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(more)
}
