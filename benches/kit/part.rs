//! Child processes that are this very program in another part; each lives as long as its stdin is open.

use std::env;
use std::io::{self, BufRead, BufReader};
use std::iter;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Goes before the words that say which part to play.
const PART: &str = "--part";

/// The words of the part that this process was started for, if it was.
pub fn played() -> Option<Vec<String>> {
    let mut words = env::args().skip(1);
    if words.next()? == PART {
        Some(words.collect())
    } else {
        None
    }
}

/// The program and the arguments of a part, for those who start processes in a way of their own.
pub fn command(words: &[impl AsRef<str>]) -> io::Result<(PathBuf, Vec<String>)> {
    let words = iter::once(PART)
        .chain(words.iter().map(AsRef::as_ref))
        .map(str::to_owned)
        .collect();
    Ok((env::current_exe()?, words))
}

/// A child process with both pipes. Dropping it closes its stdin and waits for its end.
pub struct Part {
    /// The process.
    pub child: Child,
    /// Its standard input; `None` closes it.
    pub stdin: Option<ChildStdin>,
    /// Its standard output.
    pub stdout: BufReader<ChildStdout>,
}

impl Part {
    /// Starts this program in a part.
    pub fn start(words: &[impl AsRef<str>]) -> io::Result<Part> {
        let (program, words) = command(words)?;
        Part::run(Command::new(program).args(words))
    }

    /// Starts any program that ends with its stdin.
    pub fn run(command: &mut Command) -> io::Result<Part> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stdout = stdout.ok_or_else(|| io::Error::other("a child was started without pipes"))?;
        Ok(Part {
            child,
            stdin,
            stdout: BufReader::with_capacity(1 << 16, stdout),
        })
    }

    /// Waits for a line; the end of its output is an error.
    pub fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.stdin = None;
        // Whatever it was doing: it shall not outlive its bench.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
