//! Files, each written whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;

/// Writes a file, or leaves what is there as it was, also on a full disk. `cure` says what to do then.
pub fn write(path: &Path, text: &str, cure: &str) -> anyhow::Result<()> {
    replace(path, text).with_context(|| format!("cannot write `{}`, which is left as it was; {cure}", path.display()))
}

/// The text goes to a file beside, which takes the name when all of it is on the disk, and is removed otherwise.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link stays one.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().filter(|directory| *directory != Path::new(""));
    let mut beside = tempfile::Builder::new();
    beside.prefix(".lsp-soak-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Without those that the umask takes away, as of every new file.
        beside.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = beside.tempfile_in(directory.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path).map(drop).map_err(|kept| kept.error)
}

/// `name`, `name-2`, `name-3` and so on without end.
pub fn numbered(name: &str) -> impl Iterator<Item = String> {
    let more = (2_u64..).map(move |number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(more)
}
