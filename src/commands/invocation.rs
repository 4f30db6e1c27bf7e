//! What was asked for, kept beside the records, so that a campaign that was cut off can go on.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::campaign::files;
use crate::cli;

/// The file that holds it.
pub(super) const FILE: &str = "invocation.json";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invocation {
    format: u32,
    /// The directory in which it was called.
    pub(super) directory: PathBuf,
    /// The command line, the program first.
    pub(super) command_line: Vec<OsString>,
    /// Which of its scenarios these are the records of, from 0.
    pub(super) scenario: usize,
}

impl Invocation {
    /// This process as it was called, for the records of one of its scenarios.
    pub(super) fn current(scenario: usize) -> anyhow::Result<Invocation> {
        Ok(Invocation {
            format: 1,
            directory: std::env::current_dir().context("cannot tell the current directory")?,
            command_line: std::env::args_os().collect(),
            scenario,
        })
    }

    pub(super) fn save(&self, out: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        let path = out.join(FILE);
        files::write(&path, &text, "make room, or name another directory with --out")
    }
}

/// The subcommand that began the campaign of a directory; `None` where there is none that can be resumed.
pub fn begun(out: &Path) -> Option<String> {
    let text = fs::read_to_string(out.join(FILE)).ok()?;
    let invocation: Invocation = serde_json::from_str(&text).ok()?;
    cli::subcommand(&invocation.command_line)
}
