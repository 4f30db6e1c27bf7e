//! The command line of a benchmark program: `--quick`, names of sections, or the part of a child process to play.

use std::env;

/// The command line, read.
pub struct Args {
    /// Fewer rounds, to see that everything works.
    pub quick: bool,
    sections: Vec<String>,
}

impl Args {
    /// Reads the command line. Cargo's own `--bench` says nothing.
    pub fn read() -> Args {
        let words: Vec<String> = env::args().skip(1).collect();
        Args {
            quick: words.iter().any(|word| word == "--quick"),
            sections: words.into_iter().filter(|word| !word.starts_with('-')).collect(),
        }
    }

    /// True if a section is to be run: all are unless some are named.
    pub fn wants(&self, section: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|name| name == section)
    }

    /// `full`, or `quick` if less will do.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}
