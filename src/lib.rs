//! A language-server memory soak tester: drives a language server through a scripted session while it
//! samples the memory of the server's whole process tree, and reports what each step cost.
//!
//! The modules are the stages of one pipeline: [`config`] → [`resolve`] → [`plan`] → [`campaign`] → [`drive`] ∥ [`proctree`] →
//! [`record`] → [`analysis`] → [`report`]. Only [`soak`] knows both LSP and memory, and only [`commands`] opens what the user
//! named and prints.

#![deny(clippy::disallowed_macros)]

pub mod campaign;
pub mod cli;
pub mod commands;
pub mod config;
pub mod drive;
pub mod plan;
pub mod progress;
pub mod resolve;
pub mod soak;
pub mod starter;
pub mod trace;
pub mod wrap;
