//! Tolerable protocol violations, as sentences.

use crate::message::Id;
use crate::scan::NotJson;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A body that is not a JSON object.
    #[error("a message is not a JSON object: {0}")]
    NotJson(NotJson),
    /// A message with neither a method nor an id.
    #[error("a message has neither a method nor an id")]
    Nameless,
    /// An error from the server that names no request.
    #[error("the server could not read a message: {0}")]
    Complaint(String),
    /// An id that no answer can repeat.
    #[error("{message} has an id that {what}, so that it {end}", message = carrier(method), end = if method.is_empty() { "answers no request" } else { "cannot be answered" })]
    UnfitId {
        what: &'static str,
        /// Method of the request; empty for an answer.
        method: String,
    },
    /// A request that exceeds a limit.
    #[error("a request of the server was refused: {0}")]
    Excess(String),
    #[error("the answer to a request has neither a result nor an error")]
    Hollow,
    #[error("a request was answered twice")]
    Twice,
    /// An answer to an unknown request.
    #[error("an answer came to request `{0}`, which was never sent")]
    Unasked(Id),
    /// An answer whose id is that of a request, but as a string.
    #[error(
        "an answer has its id as a string (`\"{0}\"`) where the request had a number: the request stays open, in an \
         editor too"
    )]
    IdAsText(String),
}

fn carrier(method: &str) -> String {
    match method {
        "" => "an answer".to_owned(),
        method => format!("a request of the server, `{method}`,"),
    }
}
