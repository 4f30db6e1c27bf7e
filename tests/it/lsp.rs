//! The client against a scripted peer in memory, and against small real processes.

mod answered;
mod faults;
mod limits;
pub mod peer;
mod requests;

#[cfg(target_os = "linux")]
mod lifetime;
#[cfg(unix)]
pub mod process;
#[cfg(unix)]
mod shutdown;
