//! Exports: tables of samples, traces and pictures, each a pure function of records.

pub mod csv;
pub mod svg;
pub mod trace;

#[cfg(test)]
mod tests;
