//! A language-server memory soak tester: drives a language server through a scripted session while it
//! samples the memory of the server's whole process tree, and reports what each step cost.
//!
//! The modules are the stages of one pipeline: [`config`] → [`resolve`] → [`plan`] → [`drive`] ∥
//! [`sample`] → [`record`] → [`summary`] → [`compare`], [`gate`], [`tune`] → [`document`]. Only [`soak`] knows both LSP and memory, and only
//! [`commands`] opens what the user named and prints.

#![deny(clippy::disallowed_macros)]

pub mod allocator;
pub mod band;
pub mod campaign;
pub mod charts;
pub mod cli;
pub mod commands;
pub mod compare;
pub mod config;
pub mod document;
pub mod drive;
pub mod exit;
pub mod export;
pub mod figures;
pub mod findings;
pub mod gate;
pub mod growth;
pub mod host;
pub mod lens;
pub mod locale;
pub mod lsp;
pub mod plan;
pub mod processors;
pub mod progress;
pub mod random;
pub mod record;
pub mod resolve;
pub mod sample;
pub mod soak;
pub mod stats;
pub mod summary;
pub mod text;
pub mod trace;
pub mod tune;
pub mod units;
