//! In what the circumstances of runs differ: machines, systems, scenarios and projects.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::lens::Lens;
use crate::record::Header;
use crate::units;

/// A circumstance that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub what: Cow<'static, str>,
    /// Its values, each once.
    pub values: Vec<String>,
    /// Whether it alone can make memory differ, so that a gate refuses to decide.
    pub decisive: bool,
}

/// The value of a circumstance in one run.
type Fact = fn(&Header) -> String;

/// What is looked at, whether it is decisive, and how it is found.
const FACTS: [(&str, bool, Fact); 18] = [
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
    ("memory limit", true, |header| {
        units::or_unknown(header.host.memory.cgroup_limit, units::bytes)
    }),
    ("huge pages", true, |header| {
        units::or_unknown(header.host.memory.huge_pages(), str::to_owned)
    }),
    ("scenario", true, |header| header.scenario.sha256.clone()),
    ("seed", true, |header| header.scenario.seed.to_string()),
    ("workspace", true, |header| header.workspace.sha256.clone()),
    ("capabilities", true, |header| header.settings.capabilities.clone()),
    ("initialization options", false, |header| {
        text(&header.settings.init_options)
    }),
    ("settings", false, |header| text(&header.settings.settings)),
    ("resetting of peaks", true, |header| {
        let reset = if header.settings.peak_reset { "yes" } else { "no" };
        reset.to_owned()
    }),
    ("lsp-soak", false, |header| header.tool.clone()),
];

/// Everything that is not the same in all these runs.
pub fn differences<'h>(headers: impl Iterator<Item = &'h Header> + Clone) -> Vec<Difference> {
    let differing = FACTS.iter();
    differing
        .filter_map(|(what, decisive, fact)| differing_in((*what).into(), *decisive, headers.clone().map(fact)))
        .collect()
}

/// What is looked at of a server. Where it differs, runs of one label are runs of two servers.
const OF_SERVER: [(&str, Fact); 6] = [
    ("program", |header| text(&header.server.sha256)),
    ("interpreter", |header| {
        let interpreter = header.server.interpreter.as_ref();
        text(&interpreter.and_then(|interpreter| interpreter.sha256.clone()))
    }),
    ("version", |header| text(&header.server.version)),
    ("arguments", |header| header.server.args.join(" ")),
    ("initialization options", |header| text(&header.settings.init_options)),
    ("settings", |header| text(&header.settings.settings)),
];

/// Everything of a server that is not the same in all its runs; `name` says whose runs they are.
pub fn differences_of<'h>(name: &str, headers: impl Iterator<Item = &'h Header> + Clone) -> Vec<Difference> {
    let differing = OF_SERVER.iter();
    let mut found: Vec<Difference> = differing
        .filter_map(|(what, fact)| differing_in(format!("{what} of {name}").into(), true, headers.clone().map(fact)))
        .collect();
    // A lens sets variables, and adds to those that the user sets; runs of two lenses are never compared.
    for lens in Lens::ALL {
        let own = headers.clone().filter(|header| header.server.lens.name == lens);
        found.extend(differing_in(
            format!("environment of {name}").into(),
            true,
            own.map(environment),
        ));
    }
    found.dedup();
    found
}

fn differing_in(what: Cow<'static, str>, decisive: bool, values: impl Iterator<Item = String>) -> Option<Difference> {
    let values: BTreeSet<String> = values.collect();
    (values.len() > 1).then(|| Difference {
        what,
        values: values.into_iter().collect(),
        decisive,
    })
}

/// What was set for the server, but for what keeps its caches apart.
fn environment(header: &Header) -> String {
    let own = header.server.env.iter().filter(|(_, value)| !is_cache(value));
    let own: Vec<String> = own.map(|(name, value)| format!("{name}={value}")).collect();
    match own.is_empty() {
        true => "none".to_owned(),
        false => own.join(" "),
    }
}

/// Whether a value is a directory of ours for caches, `…/lsp-soak-1000/0123abcd-0/cache/…`: places differ from run to run.
fn is_cache(value: &str) -> bool {
    let parts: Vec<&str> = value.split(['/', '\\']).collect();
    let ours = parts.iter().position(|part| {
        part.strip_prefix("lsp-soak")
            .is_some_and(|rest| rest.chars().all(|c| c == '-' || c.is_ascii_digit()))
    });
    ours.is_some_and(|place| parts[place + 1..].iter().take(2).any(|part| part.starts_with("cache")))
}

fn text(value: &Option<String>) -> String {
    units::or_unknown(value.as_deref(), str::to_owned)
}

fn count(value: Option<u64>) -> String {
    units::or_unknown(value, units::count)
}
