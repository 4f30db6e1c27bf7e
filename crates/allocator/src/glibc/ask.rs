//! Asks the loader of a program for the tunables of its C library.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::elf::{self, Machine};
use super::super::probe::{self, Subject};
use super::malloc::{self, numbers};
use super::{Tunable, tunables};

/// The tunables that the loader lists with these variables set; none where it is an old one.
pub fn listed(
    subject: &Subject,
    loader: &Path,
    env: &BTreeMap<String, String>,
    stop: &dyn Fn() -> bool,
) -> BTreeMap<String, Tunable> {
    let heard = probe::ask_other(subject, loader, &["--list-tunables"], &probe::pairs(env), stop);
    heard.map(|heard| tunables(&heard.said.stdout)).unwrap_or_default()
}

/// What malloc of a program, `file`, goes by with these variables set, for which its loader has `listed` that.
pub fn options(
    subject: &Subject,
    file: &Path,
    listed: &BTreeMap<String, Tunable>,
    env: &BTreeMap<String, String>,
    version: Option<&str>,
) -> BTreeMap<String, String> {
    let variable = |name: &str| {
        let own = env.get(name).cloned();
        own.or_else(|| subject.variable(name)?.into_string().ok())
    };
    let wide = elf::machine(file).is_some_and(Machine::is_wide);
    malloc::options(listed, &variable, version.and_then(numbers), wide)
}
