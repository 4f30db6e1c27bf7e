//! Plays a scenario through a client: what to open, where to ask, what to type, and when the server is at rest.

pub mod document;
pub mod language;
pub mod random;
pub mod snippet;
pub mod target;
pub mod uri;
pub mod workspace;
