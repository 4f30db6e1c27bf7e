//! What a command used that was run to its end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::Nanos;

/// A command's usage, by the kernel's own totals: of its process and all children that it waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandEnd {
    /// Exit code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// Signal, if one ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Time from before its start to its end.
    pub wall: Nanos,
    /// Processor time in user mode. The sum with `system` is exact, the split goes by ticks.
    pub user: Nanos,
    /// Processor time in the kernel.
    pub system: Nanos,
    /// Peak of resident memory in bytes, of the largest of its processes (`ru_maxrss`).
    pub peak: u64,
    /// The least that `peak` can be, in bytes: what a process of its parent begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<u64>,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// Context switches by which it waited.
    pub voluntary_switches: u64,
    /// Context switches that took a processor from it.
    pub involuntary_switches: u64,
    /// Bytes read from disks; `None` where the system does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// Bytes written to disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
    /// Figures that the command printed, by name; `None` if nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<BTreeMap<String, Number>>,
}
