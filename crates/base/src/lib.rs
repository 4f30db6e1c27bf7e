#![doc = include_str!("../README.md")]

pub mod band;
mod cancel;
pub mod curve;
pub mod exit;
mod group;
pub mod lens;
pub mod locale;
pub mod processors;
pub mod random;
mod shown;
pub mod text;
pub mod units;

pub use cancel::Cancel;
pub use group::group_values;
pub use shown::shown;
