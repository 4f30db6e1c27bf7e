//! The outcome of a run: exit code, messages, and the record.

use std::fs;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use analysis::summary::{self, Summary};
use record::Entry;
use tempfile::TempDir;

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;

pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// Highest private memory of lsp-soak itself.
    pub own_peak: u64,
    pub record: PathBuf,
    pub took: Duration,
    /// Keeps the record on disk.
    pub directory: Arc<TempDir>,
}

impl Outcome {
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Temporary directories of lsp-soak that still exist.
    pub fn scratch(&self) -> Vec<PathBuf> {
        let user = rustix::process::geteuid().as_raw();
        let home = self.directory.path().join(format!("lsp-soak-{user}"));
        let entries = fs::read_dir(home).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    }

    /// The record's summary; the record must be readable.
    #[track_caller]
    pub fn summary(&self) -> Summary {
        let reader = record::open(&self.record).unwrap_or_else(|error| panic!("{error}\n{}", self.output()));
        summary::read(reader).unwrap_or_else(|error| panic!("{error}\n{}", self.output()))
    }

    #[track_caller]
    pub fn entries(&self) -> Vec<Entry> {
        let reader = record::open(&self.record).unwrap_or_else(|error| panic!("{error}\n{}", self.output()));
        reader.map(|entry| entry.expect("a whole line is an entry")).collect()
    }

    pub fn output(&self) -> String {
        format!("exit {:?}\n{}\n{}", self.status, self.stdout, self.stderr)
    }

    #[track_caller]
    pub fn exits_with(&self, code: i32) {
        assert_eq!(self.code(), Some(code), "{}", self.output());
    }

    /// Fails unless the output contains every part, whatever the line breaks.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) {
        let output = self.output();
        let words = output.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts {
            assert!(words.contains(part), "`{part}` is not said:\n{output}");
        }
    }

    #[track_caller]
    pub fn passed(&self) -> Summary {
        self.exits_with(0);
        self.summary()
    }
}

/// The phase of this name; the last round if repeated.
#[track_caller]
pub fn phase<'s>(summary: &'s Summary, name: &str) -> &'s summary::PhaseSummary {
    let mut phases = summary.phases.iter().rev();
    phases
        .find(|phase| phase.phase.name == name)
        .unwrap_or_else(|| panic!("no phase `{name}`"))
}

#[track_caller]
pub fn increment(summary: &Summary, name: &str) -> i64 {
    phase(summary, name)
        .increment
        .unwrap_or_else(|| panic!("`{name}` has no increment"))
}

#[track_caller]
pub fn private(summary: &Summary, name: &str) -> u64 {
    phase(summary, name)
        .private
        .unwrap_or_else(|| panic!("`{name}` has no checkpoint"))
}

/// Fails unless two differences agree within 2 % or 256 KiB.
#[track_caller]
pub fn changed(measured: i64, truth: i64) {
    let allowed = (truth.unsigned_abs() / 50).max(256 * KIB);
    assert!(
        measured.abs_diff(truth) <= allowed,
        "measured {measured}, truth {truth}, allowed ±{allowed}"
    );
}
