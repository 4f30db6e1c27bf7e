//! Exports: tables of samples, traces and pictures, each a pure function of records.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod csv;
pub mod svg;
pub mod trace;

#[cfg(test)]
mod tests;
