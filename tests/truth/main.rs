//! Truth tests: known memory and known faults, measured.

#[cfg(target_os = "linux")]
mod fixture_faults;
#[cfg(target_os = "linux")]
mod fixture_memory;
#[cfg(target_os = "linux")]
mod peer;
