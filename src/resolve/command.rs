//! A command that is run to its end instead of a server, and what is done around it.

use serde::Serialize;

use crate::config::values::Ignored;
use proctree::child::Stream;

/// The scripts and streams around a command, under hyperfine's names. `None` is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandPlan {
    /// The command as it was typed.
    pub typed: String,
    /// Shell command before each run; not measured.
    pub prepare: Option<String>,
    /// Shell command after each run; not measured.
    pub conclude: Option<String>,
    /// Exit codes that are no failure, besides 0.
    pub ignored: Option<Ignored>,
    /// True if its output ends with a line of figures.
    pub prints: bool,
    /// True if the page cache is emptied before each run.
    pub drop_caches: bool,
    #[serde(skip)]
    pub input: Stream,
    #[serde(skip)]
    pub output: Stream,
}

impl CommandPlan {
    /// True if a command that ended with this code was successful; after a signal it is 128 more than its number.
    pub fn accepts(&self, code: Option<i32>) -> bool {
        match (&self.ignored, code) {
            (_, Some(0)) | (Some(Ignored::All), _) => true,
            (Some(Ignored::These(codes)), Some(code)) => codes.contains(&code),
            (None | Some(Ignored::These(_)), _) => false,
        }
    }
}
