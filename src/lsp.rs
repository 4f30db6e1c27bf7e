//! Speaks the Language Server Protocol to one server over its pipes; knows nothing of memory.

mod answers;
pub mod capabilities;
mod client;
mod diagnostics;
mod frame;
mod message;
pub mod position;
pub mod process;
mod progress;
mod retry;
mod scan;
mod shutdown;
mod support;

pub use answers::{Answers, Watcher};
pub use client::{
    Ask, Client, CloseReason, Incoming, Limits, OTHER_METHODS, OpenRequest, Reply, Totals, Traffic, Violation,
};
pub use message::{Id, Unread, modest};
pub use progress::{Ended, PARTIAL_RESULTS, Progress, Work};
pub use retry::{CONTENT_MODIFIED, REQUEST_CANCELLED, RETRIED, SERVER_CANCELLED};
pub use scan::{Begun, Facts, Fault, Found, NotJson, Scanner, Shape};
pub use shutdown::{Deadlines, Stopped, kill_now, shut_down};
pub use support::{Save, ServerCapabilities, Sync, may_register, offers};
