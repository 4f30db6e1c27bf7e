#![doc = include_str!("../README.md")]

pub mod band;
pub mod curve;
pub mod exit;
pub mod lens;
pub mod locale;
pub mod processors;
pub mod random;
mod shown;
pub mod text;
pub mod units;

pub use shown::shown;
