//! Counts of what the tree holds beside memory, read once at a checkpoint.

use serde::{Deserialize, Serialize};

/// Counts over the whole tree. Its processes and threads are in the rounds of the checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resources {
    /// Processes that ended and whose parent in the tree has not reaped them; `None` where the system cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zombies: Option<u64>,
    /// Descriptors that the processes have open, each process counted by itself; `None` where one cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<u64>,
}
