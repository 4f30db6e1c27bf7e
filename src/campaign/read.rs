//! Reads records from files or stdin.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, anyhow};

use analysis::compare::Played;
use analysis::summary;
use record::Reader;

/// The path that means stdin.
pub const STDIN: &str = "-";

/// Reads a record for a comparison, under its file name.
pub fn read_played(path: &Path) -> anyhow::Result<Played> {
    let record = path.display().to_string();
    let summary = summary::read(open(path)?).with_context(|| format!("cannot read the record `{record}`"))?;
    Ok(Played::new(record, summary))
}

/// Opens a record. A pipe can be read only once.
pub fn open(path: &Path) -> anyhow::Result<Reader<Box<dyn BufRead>>> {
    let source: Box<dyn BufRead> = if path == Path::new(STDIN) {
        Box::new(BufReader::new(io::stdin()))
    } else {
        let file = opened(path).map_err(|error| {
            let reason = base::text::reason(&error);
            anyhow!(
                "cannot read the record `{}`: {reason}; name a record, or a directory that `lsp-soak run` wrote",
                path.display()
            )
        })?;
        Box::new(BufReader::with_capacity(1 << 16, file))
    };
    let about = || format!("cannot read the record `{}`", path.display());
    Reader::new(record::decompressed(source).with_context(about)?).with_context(about)
}

/// Opens a file, or a pipe that somebody writes to. A device such as `/dev/zero` has no end.
#[cfg(unix)]
fn opened(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

    use rustix::fs::{OFlags, fcntl_setfl};

    // To open a pipe without a writer would block.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() {
        wait_for_writer(&file)?;
    } else if kind.is_char_device() || kind.is_block_device() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a device"));
    }
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

#[cfg(not(unix))]
fn opened(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Waits until a pipe has bytes or its writer has ended, for at most ten seconds.
#[cfg(unix)]
fn wait_for_writer(pipe: &File) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&limit))?;
    if ready == 0 {
        return Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "no program writes to this pipe",
        ));
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_no_record_and_a_pipe_is_read_to_its_end() {
        let error = opened(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it is a device");
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        let written = pipe.clone();
        let writer = std::thread::spawn(move || std::fs::write(written, "text"));
        let text = io::read_to_string(opened(&pipe).unwrap()).unwrap();
        assert_eq!(text, "text");
        writer.join().unwrap().unwrap();
    }
}
