//! From the command line to runs that can begin: reads scenarios, finds servers, and reports every mistake first and
//! at once.

mod value;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{ScenarioOptions, ServerExtras};
use crate::config::values::Lenses;
use crate::config::{
    self, Catalogue, Fetch, Fetched, IdleMode, Isolation, Loaded, MistakeReport, OriginError, Overrides, Pin, Step,
};
use crate::drive::repository;
use crate::drive::workspace::{self, Workspace};
use crate::resolve::which;
use crate::resolve::{Common, ServerChoice, ServerSpec, Shim, Store};
use base::Cancel;
use base::lens::Lens;

use super::{Mistakes, missing_places};
use crate::commands::output;
use crate::resolve::{detector, preload, shim};
use value::value;

pub struct TypedCommand<'c> {
    pub scenarios: &'c [PathBuf],
    /// Settings of the command line that replace those of the scenarios.
    pub options: &'c ScenarioOptions,
    pub servers: &'c [String],
    pub extras: &'c ServerExtras,
    /// The lenses through which each server is measured.
    pub lenses: Lenses,
    /// The directory for records, if the user named one that must be new.
    pub out: Option<&'c Path>,
    /// True if nothing is played.
    pub only_checks: bool,
}

/// The scenarios and servers, each server once per lens, or every mistake in them. Nothing was started yet.
pub fn understand(typed: &TypedCommand<'_>) -> anyhow::Result<(Vec<Loaded>, Vec<ServerChoice>)> {
    understand_with(typed, MistakeReport::default())
}

/// Understands scenarios and servers like [`understand`], and reports `mistakes` from other options with theirs.
pub fn understand_with(
    typed: &TypedCommand<'_>,
    mut mistakes: MistakeReport,
) -> anyhow::Result<(Vec<Loaded>, Vec<ServerChoice>)> {
    let scenarios = scenarios(typed, &mut mistakes);
    let first = typed.scenarios.first().map(PathBuf::as_path);
    let catalogue = profiles(typed.extras.file.as_deref(), first, &mut mistakes);
    let mut choices = servers(typed, &catalogue, &mut mistakes);
    crate::resolve::suits(&choices, &scenarios, &mut mistakes);
    shim::ask(
        typed.extras.purge_shim.as_ref(),
        &scenarios,
        &mut choices,
        &mut mistakes,
    );
    let mut choices = choices_through(
        typed.lenses,
        |choice| shim::library_for_lens(choice).ok(),
        choices,
        &mut mistakes,
    );
    if !scenarios.is_empty() && scenarios.iter().all(|loaded| loaded.scenario.collect) {
        collecting(&mut choices);
    }
    for mistake in crate::resolve::mistakes(&choices) {
        mistakes.add_loose(mistake, "");
    }
    if let Some(out) = typed.out {
        for (title, cure) in output::refusals(out, &scenarios) {
            mistakes.add_loose(title, cure);
        }
    }
    for (title, cure) in scenarios.iter().flat_map(missing_places::phases_without_places) {
        mistakes.add_loose(title, cure);
    }
    if !typed.options.allow_shell && !typed.only_checks {
        for (title, cure) in scenarios.iter().flat_map(unpermitted_commands) {
            mistakes.add_loose(title, cure);
        }
    }
    for (title, cure) in scenarios.iter().flat_map(impossible_checkouts) {
        mistakes.add_loose(title, cure);
    }
    for (title, cure) in scenarios.iter().filter_map(missing_root) {
        mistakes.add_loose(title, cure);
    }
    if !typed.servers.is_empty() {
        for scenario in &scenarios {
            try_isolation(scenario, &mut mistakes);
        }
    }
    refuse_mistakes(mistakes)?;
    Ok((scenarios, choices))
}

/// A mistake and its cure for each `checkout` that cannot be played and must be.
pub(super) fn impossible_checkouts(loaded: &Loaded) -> Vec<(String, String)> {
    let mut mistakes = Vec::new();
    let root = &loaded.project.root;
    for phase in &loaded.scenario.phases {
        for step in &phase.steps {
            let Step::Checkout(options) = step else { continue };
            if options.optional {
                continue;
            }
            let place = format!("`checkout` in phase `{}` of `{}`", phase.name, loaded.scenario.name);
            if let Some((why, cure)) = repository::problem(root) {
                mistakes.push((format!("{place}: {why}"), cure));
            } else if !is_earlier_checkout(&options.rev) && !repository::has_commit(root, &options.rev) {
                let title = format!("{place}: `{}` has no commit `{}`", root.display(), options.rev);
                let cure = "name a branch, tag or commit that `git rev-parse` knows there".to_owned();
                mistakes.push((title, cure));
            }
        }
    }
    mistakes.dedup();
    mistakes
}

/// True for `@{-1}` and the like, which is known only in the run.
fn is_earlier_checkout(rev: &str) -> bool {
    let number = rev.strip_prefix("@{-").and_then(|rest| rest.strip_suffix('}'));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The mistake of a `start` whose `root` is no directory of the workspace, and its cure.
fn missing_root(loaded: &Loaded) -> Option<(String, String)> {
    let root = loaded.scenario.start().root?;
    let directory = root.resolve(&loaded.project.root, 1);
    if fs::symlink_metadata(&directory).is_ok_and(|meta| meta.is_dir()) {
        return None;
    }
    let title = format!(
        "`start` of `{}`: `{}` is no directory",
        loaded.scenario.name,
        directory.display()
    );
    Some((
        title,
        "name a directory below the workspace as `root`, or leave it out".to_owned(),
    ))
}

/// A mistake and its cure for each `shell` step, which a scenario cannot permit itself.
fn unpermitted_commands(loaded: &Loaded) -> Vec<(String, String)> {
    let mut mistakes = Vec::new();
    for (phase, command) in loaded.scenario.shell_commands() {
        mistakes.push((
            format!(
                "`shell` in phase `{phase}` of `{}` would run `{command}`",
                loaded.scenario.name
            ),
            "permit it with --allow-shell, or remove the step".to_owned(),
        ));
    }
    mistakes
}

/// Fails with one mistake more, listed after those of [`understand`].
pub fn with_mistake<T>(understood: anyhow::Result<T>, title: &str, cure: &str) -> anyhow::Result<T> {
    let mut mistakes = MistakeReport::default();
    mistakes.add_loose(title.to_owned(), cure);
    let more = Mistakes::from_report(&mistakes);
    Err(match understood {
        Err(error) => match error.downcast::<Mistakes>() {
            Ok(Mistakes(all)) => Mistakes(format!("{all}\n{more}")).into(),
            Err(error) => error,
        },
        Ok(_) => more.into(),
    })
}

/// Ends with the mistakes, if there are any.
pub fn refuse_mistakes(mistakes: MistakeReport) -> anyhow::Result<()> {
    if mistakes.is_empty() {
        return Ok(());
    }
    Err(Mistakes::from_report(&mistakes).into())
}

fn scenarios(typed: &TypedCommand<'_>, mistakes: &mut MistakeReport) -> Vec<Loaded> {
    let options = typed.options;
    let overrides = Overrides {
        workspace: options.workspace.clone(),
        setup: options.setup.clone(),
        language: options.language.clone(),
        files: options.files.clone(),
        largest_file: Some(options.largest_file),
        isolation: options.isolation.as_deref().and_then(|text| isolation(text, mistakes)),
        seed: options.seed,
        speed: options.speed,
        full_decay: options.full_decay,
    };
    let mut loaded = load_scenarios(typed.scenarios, &overrides, &|_| None, mistakes);
    // Pinned workspaces are fetched when nothing is wrong.
    if mistakes.is_empty() && loaded.contains(&None) {
        let projects = Projects::default();
        loaded = load_scenarios(
            typed.scenarios,
            &overrides,
            &|pin| Some(projects.fetched(pin)),
            mistakes,
        );
    }
    loaded.into_iter().flatten().collect()
}

/// Reads each scenario; `None` in place of one that has mistakes or whose workspace was not fetched.
fn load_scenarios(
    paths: &[PathBuf],
    overrides: &Overrides,
    fetch: &Fetch<'_>,
    mistakes: &mut MistakeReport,
) -> Vec<Option<Loaded>> {
    let mut loaded = Vec::new();
    for path in paths {
        match config::load_scenario(path, overrides, fetch) {
            Ok(scenario) => loaded.push(scenario),
            Err(report) => {
                mistakes.merge(report);
                loaded.push(None);
            }
        }
    }
    loaded
}

/// Fetches each pinned project once, so that all scenarios have the same version of one that leaves it open.
#[derive(Default)]
pub struct Projects(RefCell<Vec<(Pin, Result<Fetched, OriginError>)>>);

impl Projects {
    pub fn fetched(&self, pin: &Pin) -> Result<Fetched, OriginError> {
        let mut known = self.0.borrow_mut();
        if let Some((_, fetched)) = known.iter().find(|(other, _)| other == pin) {
            return fetched.clone();
        }
        let fetched = fetched(pin);
        known.push((pin.clone(), fetched.clone()));
        fetched
    }
}

fn fetched(pin: &Pin) -> Result<Fetched, OriginError> {
    let store = Store::usual().ok_or_else(|| OriginError {
        key: pin.source.key(),
        title: "there is no home directory for the cache".to_owned(),
        cure: "set LSP_SOAK_CACHE_DIR".to_owned(),
    })?;
    crate::resolve::fetch(pin, &store, tree_hash, super::say)
}

fn tree_hash(root: &Path) -> Option<String> {
    workspace::tree::facts(root, &Cancel::default()).map(|facts| facts.sha256)
}

fn isolation(text: &str, mistakes: &mut MistakeReport) -> Option<Isolation> {
    let all = [
        Isolation::Copy,
        Isolation::Reflink,
        Isolation::Overlay,
        Isolation::InPlace,
    ];
    let matching = all.into_iter().find(|isolation| isolation.name() == text);
    if matching.is_none() {
        let title = format!("`--isolation {text}` is unknown");
        mistakes.add_loose(title, "write copy, reflink, overlay or in-place");
    }
    matching
}

/// Tries overlays and reflinks, which not every system supports. A failure of a plain copy is found only by copying.
fn try_isolation(scenario: &Loaded, mistakes: &mut MistakeReport) {
    let project = &scenario.project;
    let scratch = workspace::default_scratch();
    let tried = match project.isolation {
        Isolation::Overlay => {
            Workspace::open(&project.root, Isolation::Overlay, &scratch, &Cancel::default()).and_then(Workspace::close)
        }
        Isolation::Reflink => match project.files.first() {
            Some(file) => workspace::can_share(&project.root.join(file), &scratch),
            None => Ok(()),
        },
        Isolation::Copy | Isolation::InPlace => Ok(()),
    };
    if let Err(error) = tried {
        mistakes.add_loose(error.to_string(), "");
    }
}

/// The profiles: built in, and over them the first of the given file, the one beside the scenario, the one here.
pub fn catalogue(file: Option<&Path>, scenario: Option<&Path>) -> anyhow::Result<Catalogue> {
    let mut mistakes = MistakeReport::default();
    let catalogue = profiles(file, scenario, &mut mistakes);
    refuse_mistakes(mistakes)?;
    Ok(catalogue)
}

/// The profiles that could be read.
fn profiles(file: Option<&Path>, scenario: Option<&Path>, mistakes: &mut MistakeReport) -> Catalogue {
    let beside = scenario
        .and_then(Path::parent)
        .map(|parent| parent.join("servers.toml"));
    let candidates = [beside, Some(PathBuf::from("servers.toml"))];
    let matching = match file {
        Some(file) => Some(file.to_owned()),
        None => candidates.into_iter().flatten().find(|path| path.is_file()),
    };
    let built_in = Catalogue::built_in();
    let Some(path) = matching else {
        return built_in;
    };
    let text = match config::read_text(&path, "name a TOML file of `[server.NAME]` tables with --servers") {
        Ok(text) => text,
        Err((why, cure)) => {
            mistakes.add_loose(format!("cannot read the profiles `{}`: {why}", path.display()), cure);
            return built_in.unsure();
        }
    };
    let (catalogue, report) = built_in.with_file(&path.display().to_string(), &text);
    mistakes.merge(report);
    catalogue
}

/// Finds every server. Settings and options of the command line replace the profile's.
fn servers(typed: &TypedCommand<'_>, catalogue: &Catalogue, mistakes: &mut MistakeReport) -> Vec<ServerChoice> {
    let extras = typed.extras;
    let common = Common {
        args: extras.server_args.clone(),
        env: extras.env.iter().filter_map(|text| variable(text, mistakes)).collect(),
    };
    let (preloads, twice) = crate::resolve::distinct(&extras.preload);
    for wrong in twice {
        mistakes.add_loose(wrong.to_string(), "");
    }
    let mut specs: Vec<ServerSpec> = Vec::new();
    for text in typed.servers {
        match text.parse::<ServerSpec>() {
            Ok(spec) => specs.push(spec),
            Err(error) => mistakes.add_loose(error.to_string(), ""),
        }
    }
    let specs = crate::resolve::spread(&install_versions(specs, catalogue, mistakes), &preloads);
    let mut chosen = match crate::resolve::choose(&specs, &common, catalogue, &which(None)) {
        Ok(chosen) => chosen,
        Err(errors) => {
            for error in errors {
                mistakes.add_loose(error.to_string(), "");
            }
            Vec::new()
        }
    };
    let init_options = extras.init_options.as_deref().and_then(|path| value(path, mistakes));
    let settings = extras.settings.as_deref().and_then(|path| value(path, mistakes));
    chosen.retain_mut(|choice| match preload::find(choice) {
        Ok(()) => true,
        Err(mistake) => {
            mistakes.add_loose(mistake, "");
            false
        }
    });
    for choice in &mut chosen {
        choice.profile.init_options = init_options.clone().or(choice.profile.init_options.take());
        choice.profile.settings = settings.clone().or(choice.profile.settings.take());
    }
    chosen
}

/// Installs every server that names a version. Where there are mistakes already, nothing is installed.
pub fn install_versions(
    specs: Vec<ServerSpec>,
    catalogue: &Catalogue,
    mistakes: &mut MistakeReport,
) -> Vec<ServerSpec> {
    let Some(store) = Store::usual() else {
        return specs;
    };
    if !mistakes.is_empty() {
        return specs.into_iter().filter(|spec| !spec.target.contains('@')).collect();
    }
    let (specs, wrong) = crate::resolve::install(specs, catalogue, &store, super::say);
    for error in wrong {
        mistakes.add_loose(error.to_string(), "");
    }
    specs
}

/// The servers through each lens; `library` gives the one that makes a server release, where its allocator has no setting.
pub fn choices_through(
    lenses: Lenses,
    library: impl Fn(&ServerChoice) -> Option<Shim>,
    mut choices: Vec<ServerChoice>,
    mistakes: &mut MistakeReport,
) -> Vec<ServerChoice> {
    // Otherwise a server is looked at when its run is prepared, which can be called off.
    if lenses.list().contains(&Lens::Purged) {
        detector::look(&mut choices);
    }
    let mut all = Vec::new();
    for lens in lenses.list() {
        match lens {
            Lens::AsShipped => all.extend_from_slice(&choices),
            Lens::Purged => match crate::resolve::purged(&choices, &library) {
                Ok(purged) => {
                    for why in shim::approximate(&purged) {
                        super::say(&why);
                    }
                    all.extend(purged);
                }
                Err(errors) => {
                    for error in errors {
                        mistakes.add_loose(error.to_string(), "");
                    }
                }
            },
        }
    }
    all
}

/// Prepares the servers that are to collect garbage before each checkpoint.
fn collecting(choices: &mut [ServerChoice]) {
    if choices
        .iter()
        .any(|choice| choice.profile.self_report.as_ref().is_some_and(|own| own.releases))
    {
        detector::look(choices);
    }
    for choice in choices {
        if let Some(collecting) = crate::resolve::collecting(choice) {
            *choice = collecting;
        }
    }
}

/// Warns that an allocator purges only on activity, if the scenario has no light traffic.
pub fn quiet_purge(choices: &[ServerChoice], scenario: &Loaded) -> Option<String> {
    let choice = choices.iter().find(|choice| crate::resolve::needs_traffic(choice))?;
    let mut steps = scenario.scenario.phases.iter().flat_map(|phase| &phase.steps);
    if steps.any(|step| matches!(step, Step::Idle(idle) if idle.mode == IdleMode::Simmer)) {
        return None;
    }
    Some(format!(
        "the allocator of `{}` purges only on activity, and `{}` has no window with light traffic: add `{{ idle = {{ \
         mode = \"simmer\", every = \"250ms\" }} }}`",
        choice.label, scenario.scenario.name
    ))
}

/// `NAME=VALUE` of `--env`.
pub fn variable(text: &str, mistakes: &mut MistakeReport) -> Option<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains('\0') => Some((name.to_owned(), value.to_owned())),
        _ => {
            mistakes.add_loose(format!("`--env {text}` sets no variable"), "write --env NAME=VALUE");
            None
        }
    }
}
