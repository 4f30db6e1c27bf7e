//! Calibrations on disk: kept in `calibrations/` beside `reports/`, and found again where nothing that matters differs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::config::ServerChoice;
use crate::record::{CALIBRATION_FORMAT, Calibration, Header};
use crate::units;

/// Where they are, from the directory in which lsp-soak is called.
const DIRECTORY: &str = "calibrations";

/// What there is for a server.
pub enum Found {
    /// One that holds here.
    Fits(PathBuf, Calibration),
    /// Only one of the same scenario and server, made when these circumstances were others.
    Differs(PathBuf, Vec<String>),
    /// None.
    Nothing,
}

/// Writes one; nothing is ever overwritten.
pub fn store(calibration: &Calibration) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(DIRECTORY).with_context(|| format!("cannot create `{DIRECTORY}`, call lsp-soak elsewhere"))?;
    let stamp: String = calibration.made.chars().filter(char::is_ascii_alphanumeric).collect();
    let Calibration {
        scenario, server, lens, ..
    } = calibration;
    let name = format!("{stamp}-{scenario}-{server}-{lens}.json");
    let path = Path::new(DIRECTORY).join(name);
    let text = format!("{}\n", serde_json::to_string_pretty(calibration)?);
    fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(path)
}

/// The newest that holds for what this header says, whatever the server was called when it was made; otherwise the newest
/// of the same scenario and of a server of the same name or program.
pub fn find(header: &Header, choice: &ServerChoice) -> Found {
    let now = circumstances(header, choice);
    let mut stored: Vec<(PathBuf, Calibration)> = stored()
        .filter(|(_, one)| one.scenario == header.scenario.name && one.lens == header.server.lens.name)
        .collect();
    stored.sort_by(|(_, a), (_, b)| b.made.cmp(&a.made));
    let fits = stored.iter().position(|(_, one)| one.differences(&now).is_empty());
    let same =
        |one: &Calibration| one.server == header.server.label || one.circumstances.get("server") == now.get("server");
    match (fits, stored.iter().find(|(_, one)| same(one))) {
        (Some(place), _) => {
            let (path, calibration) = stored.swap_remove(place);
            Found::Fits(path, calibration)
        }
        (None, Some((path, one))) => Found::Differs(path.clone(), one.differences(&now)),
        (None, None) => Found::Nothing,
    }
}

/// Those that can be read by this lsp-soak.
fn stored() -> impl Iterator<Item = (PathBuf, Calibration)> {
    let entries = fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let path = entry.path();
        let calibration: Calibration = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
        (calibration.format.major == CALIBRATION_FORMAT.major).then_some((path, calibration))
    })
}

/// Everything that must be the same for a calibration to hold. Places of caches are new in every run.
pub fn circumstances(header: &Header, choice: &ServerChoice) -> BTreeMap<String, String> {
    let (host, server, settings) = (&header.host, &header.server, &header.settings);
    let text = |value: &Option<String>| units::or_unknown(value.as_deref(), str::to_owned);
    let env = server
        .env
        .iter()
        .filter(|(name, _)| !choice.profile.cache_env.contains_key(*name))
        .map(|(name, value)| format!("{name}={value}"));
    let facts = [
        ("scenario", header.scenario.sha256.clone()),
        ("seed", header.scenario.seed.to_string()),
        ("workspace", header.workspace.sha256.clone()),
        ("server", text(&server.sha256)),
        ("version", text(&server.version)),
        ("arguments", server.args.join(" ")),
        ("environment", env.collect::<Vec<String>>().join(" ")),
        ("capabilities", settings.capabilities.clone()),
        ("initialization options", text(&settings.init_options)),
        ("settings", text(&settings.settings)),
        ("target", host.target.clone()),
        ("kernel", text(&host.kernel)),
        ("processor", text(&host.cpu)),
        ("processors", units::or_unknown(host.cpus, units::count)),
        ("affinity", text(&host.affinity)),
        ("memory", units::or_unknown(host.memory.total, units::bytes)),
        ("huge pages", text(&host.memory.huge_pages().map(str::to_owned))),
    ];
    facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
