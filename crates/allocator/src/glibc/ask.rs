//! Asks the loader of a program for the tunables of its C library.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::elf::{self, Machine};
use super::super::probe::{self, Subject};
use super::malloc::{self, numbers};
use super::{Tunable, tunables};
use base::Cancel;

/// The tunables that the loader lists with these variables set; an old loader lists none.
pub fn listed_tunables(
    subject: &Subject,
    loader: &Path,
    env: &BTreeMap<String, String>,
    cancel: &Cancel,
) -> BTreeMap<String, Tunable> {
    let heard = probe::ask_other(subject, loader, &["--list-tunables"], &probe::pairs(env), cancel);
    heard.map(|heard| tunables(&heard.said.stdout)).unwrap_or_default()
}

/// The options of malloc in the program `file` with these variables set. `listed` is its loader's list under them.
pub fn options(
    subject: &Subject,
    file: &Path,
    listed: &BTreeMap<String, Tunable>,
    env: &BTreeMap<String, String>,
    version: Option<&str>,
) -> BTreeMap<String, String> {
    let is_wide = elf::machine(file).is_some_and(Machine::is_wide);
    malloc::options(
        listed,
        |name| variable(name, env, subject),
        version.and_then(numbers),
        is_wide,
    )
}

/// A variable as the program sees it: `env` goes before the subject's environment.
fn variable(name: &str, env: &BTreeMap<String, String>, subject: &Subject) -> Option<String> {
    if let Some(value) = env.get(name) {
        return Some(value.clone());
    }
    subject.variable(name)?.into_string().ok()
}
