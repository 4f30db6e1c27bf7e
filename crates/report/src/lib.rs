#![doc = include_str!("../README.md")]

pub mod bisect;
pub mod charts;
pub mod comparison;
pub mod document;
pub mod export;
pub mod pictures;
pub mod run;
#[cfg(test)]
mod schemas;
pub mod shrink;
pub mod sweep;
pub mod verdict;
pub mod when;
