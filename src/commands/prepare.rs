//! From what was typed to runs that can begin: scenarios read, servers found and built, every mistake told first.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::cli::{ScenarioOptions, ServerExtras};
use crate::config::{self, Catalogue, Common, Isolation, Loaded, Overrides, Report, ServerChoice, ServerSpec, Which};
use crate::lsp::process::Launch;

use super::Mistakes;

/// Reads every scenario, or tells every mistake in all of them.
pub fn scenarios(paths: &[PathBuf], options: &ScenarioOptions) -> anyhow::Result<Vec<Loaded>> {
    let overrides = Overrides {
        workspace: options.workspace.clone(),
        language: options.language.clone(),
        files: options.files.clone(),
        isolation: options.isolation.as_deref().map(isolation).transpose()?,
        seed: options.seed,
    };
    let mut mistakes = Report::default();
    let mut loaded = Vec::new();
    for path in paths {
        match config::load_scenario(path, &overrides) {
            Ok(scenario) => loaded.push(scenario),
            Err(report) => mistakes.merge(report),
        }
    }
    match mistakes.is_empty() {
        true => Ok(loaded),
        false => Err(Mistakes(mistakes.styled()).into()),
    }
}

fn isolation(text: &str) -> anyhow::Result<Isolation> {
    let all = [
        Isolation::Copy,
        Isolation::Reflink,
        Isolation::Overlay,
        Isolation::InPlace,
    ];
    match all.into_iter().find(|isolation| isolation.name() == text) {
        Some(isolation) => Ok(isolation),
        None => bail!("`--isolation {text}` is unknown: write copy, reflink, overlay or in-place"),
    }
}

/// The profiles: built in, and over them the first of the given file, the one beside the scenario, the one here.
pub fn catalogue(file: Option<&Path>, scenario: Option<&Path>) -> anyhow::Result<Catalogue> {
    let beside = scenario
        .and_then(Path::parent)
        .map(|parent| parent.join("servers.toml"));
    let candidates = [beside, Some(PathBuf::from("servers.toml"))];
    let found = match file {
        Some(file) => Some(file.to_owned()),
        None => candidates.into_iter().flatten().find(|path| path.is_file()),
    };
    let Some(path) = found else {
        return Ok(Catalogue::built_in());
    };
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read the profiles `{}`", path.display()))?;
    let catalogue = Catalogue::built_in().over(&path.display().to_string(), &text);
    catalogue.map_err(|report| Mistakes(report.styled()).into())
}

/// Finds every server, or tells all that cannot be found. Settings and options of the command line replace the profile's.
pub fn servers(texts: &[String], extras: &ServerExtras, catalogue: &Catalogue) -> anyhow::Result<Vec<ServerChoice>> {
    let common = Common {
        args: extras.server_args.clone(),
        env: extras.env.clone(),
    };
    let specs: Result<Vec<ServerSpec>, _> = texts.iter().map(|text| text.parse()).collect();
    let chosen = config::choose(&specs?, &common, catalogue, &which(None)).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(|error| format!("error: {error}")).collect();
        Mistakes(lines.join("\n"))
    });
    let mut chosen = chosen?;
    for choice in &mut chosen {
        if let Some(path) = &extras.init_options {
            choice.profile.init_options = Some(value(path)?);
        }
        if let Some(path) = &extras.settings {
            choice.profile.settings = Some(value(path)?);
        }
    }
    Ok(chosen)
}

/// Where programs are: on the search path that a server was given, or on ours.
pub fn which(path: Option<OsString>) -> Which {
    let path = path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    // Linux under Windows passes PATHEXT on, and means nothing by it.
    let endings = std::env::var_os("PATHEXT").filter(|_| cfg!(windows));
    Which::new(path, endings)
}

/// Reads a JSON file, or a TOML one by its name.
fn value(path: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let value = if is_toml {
        toml::from_str(&text).map_err(anyhow::Error::from)
    } else {
        serde_json::from_str(&text).map_err(anyhow::Error::from)
    };
    value.with_context(|| format!("`{}` is not {}", path.display(), if is_toml { "TOML" } else { "JSON" }))
}

/// How `program` is started in `root`, and which variables of our surroundings it does not get to see.
pub fn launch(
    choice: &ServerChoice,
    program: PathBuf,
    root: &Path,
    caches: &Path,
) -> anyhow::Result<(Launch, Vec<String>)> {
    let mut env: Vec<(OsString, Option<OsString>)> = Vec::new();
    let inherited = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let scrubbed: Vec<String> = inherited.filter(|name| choice.profile.scrubs(name)).collect();
    env.extend(scrubbed.iter().map(|name| (name.into(), None)));
    for (name, directory) in &choice.profile.cache_env {
        let path = caches.join(directory);
        fs::create_dir_all(&path).with_context(|| format!("cannot create the cache `{}`", path.display()))?;
        env.push((name.into(), Some(path.into())));
    }
    env.extend(choice.env.iter().map(|(name, value)| (name.into(), Some(value.into()))));
    let args = choice.args.iter().map(OsString::from).collect();
    Ok((
        Launch {
            program,
            args,
            env,
            cwd: root.to_owned(),
        },
        scrubbed,
    ))
}
