//! Truth tests: runs on servers with known memory and known faults.

#[cfg(target_os = "linux")]
mod allocators;
#[cfg(target_os = "linux")]
mod bisect;
#[cfg(target_os = "linux")]
mod calibrate;
#[cfg(target_os = "linux")]
mod campaign;
#[cfg(target_os = "linux")]
mod cold;
#[cfg(target_os = "linux")]
mod collected;
#[cfg(target_os = "linux")]
mod collectors;
#[cfg(target_os = "linux")]
mod counts;
#[cfg(target_os = "linux")]
mod decay;
#[cfg(target_os = "linux")]
mod documents;
#[cfg(target_os = "linux")]
mod editor_steps;
#[cfg(target_os = "linux")]
mod edits;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod fixture;
#[cfg(target_os = "linux")]
mod fixture_faults;
#[cfg(target_os = "linux")]
mod fixture_memory;
#[cfg(target_os = "linux")]
mod floods;
#[cfg(target_os = "linux")]
mod gate;
#[cfg(target_os = "linux")]
mod ground;
#[cfg(target_os = "linux")]
mod header;
#[cfg(target_os = "linux")]
mod huge_pages;
#[cfg(target_os = "linux")]
mod interrupts;
#[cfg(target_os = "linux")]
mod itself;
#[cfg(target_os = "linux")]
mod jobs;
#[cfg(target_os = "linux")]
mod journal;
#[cfg(target_os = "linux")]
mod leaks;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod nothing;
#[cfg(target_os = "linux")]
mod outcome;
#[cfg(target_os = "linux")]
mod passing_on;
#[cfg(target_os = "linux")]
mod peer;
#[cfg(target_os = "linux")]
mod phases;
#[cfg(target_os = "linux")]
mod preloads;
#[cfg(target_os = "linux")]
mod pulls;
#[cfg(target_os = "linux")]
mod purge;
#[cfg(target_os = "linux")]
mod release;
#[cfg(target_os = "linux")]
mod replay;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod shrink;
#[cfg(target_os = "linux")]
mod shutdown;
#[cfg(target_os = "linux")]
mod soak;
#[cfg(target_os = "linux")]
mod starter;
#[cfg(target_os = "linux")]
mod steps;
#[cfg(target_os = "linux")]
mod traced;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod tune;
#[cfg(target_os = "linux")]
mod untrimmed;
#[cfg(target_os = "linux")]
mod verdicts;
#[cfg(target_os = "linux")]
mod wedges;
#[cfg(target_os = "linux")]
mod windows;
#[cfg(target_os = "linux")]
mod world;
