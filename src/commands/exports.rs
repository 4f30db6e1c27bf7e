//! Where results go: standard output in the format of `--format`, and the files of `--export-…`.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use tempfile::NamedTempFile;

use crate::campaign::files;
use crate::config::values::Format;

use super::UNPRINTED;

/// A format, and where a result in that format goes.
pub struct Target {
    pub format: Format,
    sink: Sink,
}

enum Sink {
    Stdout,
    /// A pipe or a device.
    Device(PathBuf, File),
    /// A file, and its temporary copy so far.
    File(PathBuf, Option<NamedTempFile>),
}

/// Standard output, then every named file. An unwritable file is refused before any measurement.
pub fn targets<'p>(
    format: Format,
    files: impl IntoIterator<Item = (Format, Option<&'p Path>)>,
) -> anyhow::Result<Vec<Target>> {
    let mut targets = vec![Target {
        format,
        sink: Sink::Stdout,
    }];
    for (format, path) in files {
        if let Some(path) = path {
            targets.push(Target::file(format, path)?);
        }
    }
    Ok(targets)
}

/// Writes a result to each of them.
pub fn print(targets: Vec<Target>, result: impl Fn(Format) -> serde_json::Result<String>) -> anyhow::Result<()> {
    for mut target in targets {
        target.print(&result(target.format)?)?;
        target.finish()?;
    }
    Ok(())
}

impl Target {
    fn file(format: Format, path: &Path) -> anyhow::Result<Target> {
        if path == Path::new("-") {
            let sink = Sink::Stdout;
            return Ok(Target { format, sink });
        }
        // A directory is refused by its system.
        let opened = if path.exists() && !path.is_file() {
            File::options()
                .write(true)
                .open(path)
                .map(|file| Sink::Device(path.to_owned(), file))
        } else {
            files::temporary(path).map(|_| Sink::File(path.to_owned(), None))
        };
        let sink = opened.map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "there is no such directory".to_owned(),
                kind => kind.to_string(),
            };
            anyhow!(
                "cannot export to `{}`: {why}; name a file in a directory that can be written",
                path.display()
            )
        })?;
        Ok(Target { format, sink })
    }

    /// Writes a text: to standard output without the colours that are not wanted there.
    pub fn print(&mut self, text: &str) -> anyhow::Result<()> {
        match self.sink {
            Sink::Stdout => super::print(text),
            _ => self.write_all(text.as_bytes()).with_context(|| self.failure()),
        }
    }

    /// The message when no more can be written.
    pub fn failure(&self) -> String {
        match &self.sink {
            Sink::Stdout => UNPRINTED.to_owned(),
            Sink::Device(path, _) | Sink::File(path, _) => format!(
                "cannot write all of `{}`; make room, and make it again with `lsp-soak report`",
                path.display()
            ),
        }
    }

    /// Puts the file in its place.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let failure = self.failure();
        match &mut self.sink {
            Sink::Stdout | Sink::Device(..) => Ok(()),
            Sink::File(path, file) => {
                let file = file.take().map_or_else(|| files::temporary(path), Ok);
                file.and_then(|file| files::persist(file, path)).context(failure)
            }
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout => super::unless_unread(io::stdout().write(bytes), bytes.len()),
            Sink::Device(_, file) => file.write(bytes),
            Sink::File(_, Some(file)) => file.write(bytes),
            Sink::File(path, file) => file.insert(files::temporary(path)?).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout => super::unless_unread(io::stdout().flush(), ()),
            Sink::Device(_, file) => file.flush(),
            Sink::File(_, file) => file.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}
