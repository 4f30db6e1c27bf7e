//! The title of a comparison: scenarios, servers and versions.

use analysis::compare::Scenarios;

use super::cold;

pub fn title(scenarios: &Scenarios) -> String {
    let names: Vec<&str> = scenarios.keys().map(String::as_str).collect();
    let sides = scenarios.values().flatten().flat_map(|target| &target.comparison.sides);
    let mut servers: Vec<(&str, Option<&str>)> = Vec::new();
    for side in sides {
        if !servers.iter().any(|(label, _)| *label == side.label) {
            servers.push((&side.label, side.version.as_deref()));
        }
    }
    let common_version = common_version(&servers);
    let mut labels: Vec<String> = Vec::new();
    for (label, version) in &servers {
        labels.push(if common_version.is_some() {
            (*label).to_owned()
        } else {
            with_version(label, *version)
        });
    }
    let is_a_list = scenarios
        .values()
        .flatten()
        .all(|target| target.comparison.sides.len() < 2);
    let labels = match labels.as_slice() {
        [] => "nothing".to_owned(),
        all if is_a_list => all.join(", "),
        [only] => only.clone(),
        [baseline, other] => format!("{other} against {baseline}"),
        // Each has a sentence of its own.
        [baseline, others @ ..] => {
            let targets = scenarios.values().flatten();
            let are_commands = targets.map(|target| &target.comparison).any(cold::are_commands);
            let kind = if are_commands { "commands" } else { "servers" };
            format!("{} {kind} against {baseline}", others.len())
        }
    };
    let version = match common_version {
        Some(version) if servers.len() > 1 => format!(" (all {version})"),
        Some(version) if version.starts_with(&labels) => version.strip_prefix(&labels).unwrap_or_default().to_owned(),
        Some(version) => format!(" ({version})"),
        None => String::new(),
    };
    format!("{}: {labels}{version}", names.join(", "))
}

/// The version of all servers; `None` if they differ or one is unknown.
fn common_version<'s>(servers: &[(&str, Option<&'s str>)]) -> Option<&'s str> {
    let (_, first) = servers.first()?;
    if servers.iter().all(|(_, version)| version == first) {
        *first
    } else {
        None
    }
}

/// `ty (0.0.1)`. Some versions begin with the name already.
fn with_version(label: &str, version: Option<&str>) -> String {
    match version {
        Some(version) if version.starts_with(label) => version.to_owned(),
        Some(version) => format!("{label} ({version})"),
        None => label.to_owned(),
    }
}
