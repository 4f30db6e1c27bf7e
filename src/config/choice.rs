//! Which server to drive: `--server '[LABEL:] [K=V …] NAME|PATH'` resolved to a program and its profile.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::server::Profile;

/// One server under one set of settings.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerChoice {
    /// Names its files and rows; unique in a plan.
    pub label: String,
    /// Name of the profile, when there is one.
    pub profile_name: Option<String>,
    /// What is known of it.
    pub profile: Profile,
    /// What runs.
    pub program: Program,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables set for it: the profile's, then its own.
    pub env: BTreeMap<String, String>,
}

/// What runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// This file.
    File(PathBuf),
    /// What this command builds.
    Build(Vec<String>),
}
