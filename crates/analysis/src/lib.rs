#![doc = include_str!("../README.md")]

pub mod bisect;
pub mod compare;
pub mod figures;
pub mod findings;
pub mod gate;
#[cfg(any(test, feature = "golden"))]
pub mod golden;
pub mod growth;
pub mod summary;
pub mod tune;

pub mod when;
