#![doc = include_str!("../README.md")]

mod answers;
pub mod capabilities;
mod client;
mod diagnostics;
mod frame;
mod message;
mod messages;
mod methods;
pub mod position;
mod progress;
mod provider;
mod pulls;
mod results;
mod retry;
mod scan;
mod support;

pub use answers::{Answers, RecordedAnswer, UNKNOWN_METHOD, WATCHERS, Watcher};
pub use client::{
    Client, CloseReason, Gauge, Incoming, Limits, OTHER_METHODS, OpenRequest, Reply, RequestOptions, Totals, Traffic,
    Violation,
};
pub use message::{Id, UnreadReason, modest};
pub use messages::{LooksFor, Messages, PassedMessage};
pub use methods::specified;
pub use progress::{EndedWork, Progress, Work};
pub use provider::Provider;
pub use pulls::NextPull;
pub use results::Parts;
pub use retry::{CONTENT_MODIFIED, REQUEST_CANCELLED, RETRIED, SERVER_CANCELLED};
pub use scan::{Begun, Facts, Fault, FoundInstead, NotJson, Reports, Scanner, Shape};
pub use support::{Save, ServerCapabilities, Sync, may_register, offers};
