//! In what the circumstances of runs differ: machines, systems, scenarios and projects.

use std::collections::BTreeSet;

use crate::record::Header;
use crate::units;

/// A circumstance that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub what: &'static str,
    /// Its values, each once.
    pub values: Vec<String>,
    /// Whether it alone can make memory differ, so that a gate refuses to decide.
    pub decisive: bool,
}

/// The value of a circumstance in one run.
type Fact = fn(&Header) -> String;

/// What is looked at, whether it is decisive, and how it is found.
const FACTS: [(&str, bool, Fact); 14] = [
    ("target", true, |header| header.host.target.clone()),
    ("kernel", true, |header| text(&header.host.kernel)),
    ("distribution", false, |header| text(&header.host.distribution)),
    ("C library", false, |header| text(&header.host.libc)),
    ("processor", true, |header| text(&header.host.cpu)),
    ("processors", true, |header| count(header.host.cpus)),
    ("affinity", true, |header| text(&header.host.affinity)),
    ("memory", false, |header| {
        units::or_unknown(header.host.memory.total, units::bytes)
    }),
    ("huge pages", true, |header| {
        units::or_unknown(header.host.memory.huge_pages(), str::to_owned)
    }),
    ("scenario", true, |header| header.scenario.sha256.clone()),
    ("seed", true, |header| header.scenario.seed.to_string()),
    ("workspace", true, |header| header.workspace.sha256.clone()),
    ("capabilities", true, |header| header.settings.capabilities.clone()),
    ("lsp-soak", false, |header| header.tool.clone()),
];

/// Everything that is not the same in all these runs.
pub fn differences<'h>(headers: impl Iterator<Item = &'h Header> + Clone) -> Vec<Difference> {
    let differing = FACTS.iter().filter_map(|(what, decisive, fact)| {
        let values: BTreeSet<String> = headers.clone().map(fact).collect();
        (values.len() > 1).then(|| Difference {
            what,
            values: values.into_iter().collect(),
            decisive: *decisive,
        })
    });
    differing.collect()
}

fn text(value: &Option<String>) -> String {
    units::or_unknown(value.as_deref(), str::to_owned)
}

fn count(value: Option<u64>) -> String {
    units::or_unknown(value, units::count)
}
