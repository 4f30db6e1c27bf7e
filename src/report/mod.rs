//! From numbers to text: each format is a function of records and nothing else.
//!
//! Nothing here opens files, asks the time or prints; `clippy.toml` says why and enforces it.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod ascii;
pub mod chart;
pub mod csv;
pub mod json;
mod table;
pub mod terminal;
mod text;

#[cfg(test)]
mod tests;
