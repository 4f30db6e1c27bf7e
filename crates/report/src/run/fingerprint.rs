//! The machine, the program and the project, by which two records can be matched.

use base::units;
use record::{
    AddressSpaceRule, Header, Host, OriginFacts, PackageFacts, ScenarioFacts, ServerFacts, Settings, WorkspaceFacts,
};

use super::allocator;

type Fact = (&'static str, String);

/// The fingerprint's facts; unknown ones are left out.
pub(crate) fn facts(header: &Header) -> Vec<Fact> {
    let facts = of_server(&header.server)
        .into_iter()
        .chain(of_work(&header.scenario, &header.workspace))
        .chain(of_host(&header.host))
        .chain(of_settings(&header.settings))
        .chain([("began", header.started.clone()), ("lsp-soak", header.tool.clone())]);
    facts.filter(|(_, text)| !text.is_empty()).collect()
}

fn text(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(|| units::UNKNOWN.to_owned())
}

fn of_server(server: &ServerFacts) -> Vec<Fact> {
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

fn of_work(scenario: &ScenarioFacts, workspace: &WorkspaceFacts) -> Vec<Fact> {
    let files = format!(
        "{} {}, {}",
        units::count(workspace.files),
        workspace.language,
        units::bytes(workspace.bytes)
    );
    let hash = workspace.tree.as_ref().map_or(&workspace.sha256, |tree| &tree.sha256);
    // Of a command there is neither a file nor a selection.
    let seed = format!("seed {}", scenario.seed);
    let path = Some(scenario.path.as_str()).filter(|path| !path.is_empty());
    let files = if workspace.files == 0 { String::new() } else { files };
    vec![
        (
            "scenario",
            path.into_iter()
                .chain([seed.as_str()])
                .collect::<Vec<&str>>()
                .join(", "),
        ),
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

fn of_host(host: &Host) -> Vec<Fact> {
    let size = |value: Option<u64>| units::or_unknown(value, units::bytes);
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
            format!("{}, swap {}", size(host.memory.total), size(host.memory.swap)),
        ),
        ("huge pages", units::or_unknown(host.memory.huge_pages(), str::to_owned)),
        ("container", text(&host.container)),
        ("virtual machine", text(&host.virtual_machine)),
    ]
}

fn of_settings(settings: &Settings) -> Vec<Fact> {
    let rule = settings.address_spaces.map_or("", |rule| match rule {
        AddressSpaceRule::Kernel => "told apart by the kernel",
        AddressSpaceRule::EqualCounters => "told apart by their counters, because the kernel may not be asked",
    });
    vec![
        (
            "memory limit",
            settings.memory_limit.map_or_else(String::new, units::bytes),
        ),
        ("address spaces", rule.to_owned()),
    ]
}
