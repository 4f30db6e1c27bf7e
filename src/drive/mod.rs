//! Plays a scenario through a client: what to open, where to ask, what to type, and when the server is at rest.

pub mod language;
pub mod random;
pub mod target;
pub mod workspace;
