//! The machine, the program and the project, by which two records can be matched.

use base::units;
use record::{
    AddressSpaceRule, Header, Host, OriginFacts, PackageFacts, ScenarioFacts, ServerFacts, Settings, WorkspaceFacts,
};

use super::allocator;

type Fact = (&'static str, String);

/// The fingerprint's facts; unknown ones are left out.
pub(crate) fn facts(header: &Header) -> Vec<Fact> {
    let mut facts = server_facts(&header.server);
    facts.extend(work_facts(&header.scenario, &header.workspace));
    facts.extend(host_facts(&header.host));
    facts.extend(settings_facts(&header.settings));
    facts.push(("began", header.started.clone()));
    facts.push(("lsp-soak", header.tool.clone()));
    facts.retain(|(_, text)| !text.is_empty());
    facts
}

fn text(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(|| units::UNKNOWN.to_owned())
}

fn server_facts(server: &ServerFacts) -> Vec<Fact> {
    let env = server.env.iter().map(|(name, value)| format!("{name}={value}"));
    let inherited = server.inherited.iter().map(|(name, value)| format!("{name}={value}"));
    vec![
        ("server", server.program.clone()),
        ("version", text(&server.version)),
        (
            "installed from",
            server.package.as_ref().map_or_else(String::new, package),
        ),
        ("SHA-256", text(&server.sha256)),
        ("file size", server.file_size.map_or_else(String::new, units::bytes)),
        ("arguments", server.args.join(" ")),
        ("environment", env.collect::<Vec<String>>().join(" ")),
        ("inherited", inherited.collect::<Vec<String>>().join(" ")),
        ("taken away", server.scrubbed.join(" ")),
        (
            "allocator",
            units::or_unknown(server.allocator.as_ref(), allocator::headline),
        ),
        ("preloaded", allocator::preloaded(server)),
    ]
}

fn package(package: &PackageFacts) -> String {
    let PackageFacts {
        ecosystem,
        name,
        version,
        sha256,
    } = package;
    format!("{ecosystem} {name} {version}, SHA-256 {}", text(sha256))
}

fn work_facts(scenario: &ScenarioFacts, workspace: &WorkspaceFacts) -> Vec<Fact> {
    // A command has no scenario file and selects no files.
    let seed = format!("seed {}", scenario.seed);
    let scenario_and_seed = if scenario.path.is_empty() {
        seed
    } else {
        format!("{}, {seed}", scenario.path)
    };
    let files = if workspace.files == 0 {
        String::new()
    } else {
        let (count, size) = (units::count(workspace.files), units::bytes(workspace.bytes));
        format!("{count} {}, {size}", workspace.language)
    };
    let hash = workspace.tree.as_ref().map_or(&workspace.sha256, |tree| &tree.sha256);
    vec![
        ("scenario", scenario_and_seed),
        ("scenario SHA-256", scenario.sha256.clone()),
        ("workspace", workspace.path.clone()),
        (
            "fetched from",
            workspace.origin.as_ref().map_or_else(String::new, origin),
        ),
        ("workspace files", files),
        ("workspace SHA-256", hash.clone()),
    ]
}

fn origin(facts: &OriginFacts) -> String {
    let OriginFacts { origin, setup, sha256 } = facts;
    let setup = setup
        .as_ref()
        .map_or_else(String::new, |setup| format!("prepared by `{setup}`, "));
    format!("{origin}, {setup}SHA-256 {sha256}")
}

fn host_facts(host: &Host) -> Vec<Fact> {
    let system = [&host.distribution, &host.kernel, &host.libc].map(text).join(", ");
    let cpus = units::or_unknown(host.cpus, units::count);
    vec![
        ("system", system),
        ("target", host.target.clone()),
        (
            "processors",
            format!("{cpus} × {}, used {}", text(&host.cpu), text(&host.affinity)),
        ),
        (
            "memory",
            format!(
                "{}, swap {}",
                units::or_unknown(host.memory.total, units::bytes),
                units::or_unknown(host.memory.swap, units::bytes)
            ),
        ),
        ("huge pages", units::or_unknown(host.memory.huge_pages(), str::to_owned)),
        ("container", text(&host.container)),
        ("virtual machine", text(&host.virtual_machine)),
    ]
}

fn settings_facts(settings: &Settings) -> Vec<Fact> {
    let rule = match settings.address_spaces {
        Some(AddressSpaceRule::Kernel) => "told apart by the kernel",
        Some(AddressSpaceRule::EqualCounters) => "told apart by their counters, because the kernel may not be asked",
        None => "",
    };
    vec![
        (
            "memory limit",
            settings.memory_limit.map_or_else(String::new, units::bytes),
        ),
        ("address spaces", rule.to_owned()),
    ]
}
