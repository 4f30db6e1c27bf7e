//! Ways to break the protocol that can be lived with, as sentences for people.

use crate::lsp::message::Id;

/// What a server did that it should not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A body is something else than a JSON object.
    #[error("a message is not a JSON object: `{0}`")]
    NoObject(String),
    /// A message says neither what it asks nor what it answers.
    #[error("a message has neither a method nor an id")]
    Nameless,
    /// The server complained of a message of ours without saying which.
    #[error("the server could not read a message: {0}")]
    Complaint(String),
    /// An id that no answer can repeat.
    #[error("{message} has an id that {what}, so that it {end}", message = carrier(method), end = if method.is_empty() { "answers no request" } else { "cannot be answered" })]
    UnfitId {
        what: &'static str,
        /// Method of the request; empty for an answer.
        method: String,
    },
    /// A request for more than is kept or sent.
    #[error("a request of the server was refused: {0}")]
    Excess(String),
    #[error("the answer to a request has neither a result nor an error")]
    Hollow,
    #[error("a request was answered twice")]
    Twice,
    /// An answer to a request that there never was.
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
