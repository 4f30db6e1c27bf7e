//! From the command line to runs that can begin: reads scenarios, finds servers, and reports every mistake first and
//! at once.

mod value;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::campaign::{self, Jobs};
use crate::cli;
use crate::config::options::{Processors, ScenarioOptions, ServerExtras};
use crate::config::values::{CpuList, Lenses};
use crate::config::{
    self, Catalogue, Fetch, Fetched, IdleMode, Isolation, Loaded, OriginError, Overrides, Pin, Report, Step,
};
use crate::drive::workspace::{self, Workspace};
use crate::resolve::which;
use crate::resolve::{ChoiceError, Common, ServerChoice, ServerSpec, Shim, Store};
use crate::trace::{Tracer, Untraceable};
use base::lens::Lens;
use base::units;
use proctree::host;
use record::HugePages;

use super::{Mistakes, places};
use crate::commands::output;
use crate::resolve::{detector, preload, shim};
use value::value;

pub struct Typed<'c> {
    pub scenarios: &'c [PathBuf],
    /// What of them is set aside.
    pub options: &'c ScenarioOptions,
    pub servers: &'c [String],
    pub extras: &'c ServerExtras,
    /// What memory is looked at through.
    pub lenses: Lenses,
    /// Where records go, when that was said.
    pub out: Option<&'c Path>,
}

impl<'c> Typed<'c> {
    /// For runs whose records go to `out`.
    pub fn of(run: &'c cli::Run, out: Option<&'c Path>) -> Typed<'c> {
        Typed {
            scenarios: &run.scenarios,
            options: &run.scenario,
            servers: &run.servers.servers,
            extras: &run.servers.extra,
            lenses: run.recording.lens,
            out,
        }
    }
}

/// The scenarios and servers, each server once per lens, or every mistake in them. Nothing was started yet.
pub fn understood(typed: &Typed<'_>) -> anyhow::Result<(Vec<Loaded>, Vec<ServerChoice>)> {
    understood_with(typed, Report::default())
}

/// The same, together with mistakes from other options.
pub fn understood_with(typed: &Typed<'_>, mut mistakes: Report) -> anyhow::Result<(Vec<Loaded>, Vec<ServerChoice>)> {
    let scenarios = scenarios(typed, &mut mistakes);
    let first = typed.scenarios.first().map(PathBuf::as_path);
    let catalogue = profiles(typed.extras.file.as_deref(), first, &mut mistakes);
    let mut choices = servers(typed, &catalogue, &mut mistakes);
    crate::resolve::suits(&choices, &scenarios, &mut mistakes);
    shim::ask(typed.extras, &scenarios, &mut choices, &mut mistakes);
    let library = |choice: &ServerChoice| shim::of_lens(choice).ok();
    let mut choices = through(typed.lenses, &library, choices, &mut mistakes);
    if !scenarios.is_empty() && scenarios.iter().all(|loaded| loaded.scenario.collect) {
        collecting(&mut choices);
    }
    for mistake in crate::resolve::mistakes(&choices) {
        mistakes.add_loose(mistake, "");
    }
    for (title, cure) in typed.out.iter().flat_map(|out| output::refused(out, &scenarios)) {
        mistakes.add_loose(title, cure);
    }
    for (title, cure) in scenarios.iter().flat_map(places::missing) {
        mistakes.add_loose(title, cure);
    }
    if !typed.servers.is_empty() {
        scenarios.iter().for_each(|scenario| stand_in(scenario, &mut mistakes));
    }
    told(mistakes).map(|()| (scenarios, choices))
}

/// The same with one mistake more.
pub fn also<T>(understood: anyhow::Result<T>, title: &str, cure: &str) -> anyhow::Result<T> {
    let mut mistakes = Report::default();
    mistakes.add_loose(title.to_owned(), cure);
    let more = Mistakes::of(&mistakes);
    Err(match understood {
        Err(error) => match error.downcast::<Mistakes>() {
            Ok(Mistakes(all)) => Mistakes(format!("{all}\n{more}")).into(),
            Err(error) => error,
        },
        Ok(_) => more.into(),
    })
}

/// Ends with the mistakes, if there are any.
pub fn told(mistakes: Report) -> anyhow::Result<()> {
    match mistakes.is_empty() {
        true => Ok(()),
        false => Err(Mistakes::of(&mistakes).into()),
    }
}

fn scenarios(typed: &Typed<'_>, mistakes: &mut Report) -> Vec<Loaded> {
    let options = typed.options;
    let overrides = Overrides {
        workspace: options.workspace.clone(),
        setup: options.setup.clone(),
        language: options.language.clone(),
        files: options.files.clone(),
        largest_file: Some(options.largest_file),
        isolation: options.isolation.as_deref().and_then(|text| isolation(text, mistakes)),
        seed: options.seed,
        full_decay: options.full_decay,
    };
    let mut load = |fetch: &Fetch<'_>| {
        let loaded = typed.scenarios.iter().map(|path| {
            let loaded = config::load_scenario(path, &overrides, fetch);
            loaded.unwrap_or_else(|report| {
                mistakes.merge(report);
                None
            })
        });
        let loaded: Vec<Option<Loaded>> = loaded.collect();
        (loaded, mistakes.is_empty())
    };
    // Pinned workspaces are fetched when nothing is wrong.
    let projects = Projects::default();
    let loaded = match load(&|_| None) {
        (loaded, true) if loaded.contains(&None) => load(&|pin| Some(projects.fetched(pin))).0,
        (loaded, _) => loaded,
    };
    loaded.into_iter().flatten().collect()
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
    let hash = |root: &Path| workspace::tree::facts(root, &|| false).map(|facts| facts.sha256);
    crate::resolve::fetch(pin, &store, &hash, &super::say)
}

fn isolation(text: &str, mistakes: &mut Report) -> Option<Isolation> {
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

/// Tries what not every system can do. A copy that fails would fail for reasons that only a copy finds.
fn stand_in(scenario: &Loaded, mistakes: &mut Report) {
    let project = &scenario.project;
    let scratch = workspace::default_scratch();
    let tried = match project.isolation {
        Isolation::Overlay => {
            Workspace::open(&project.root, Isolation::Overlay, &scratch, &|| false).and_then(Workspace::close)
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
    let mut mistakes = Report::default();
    let catalogue = profiles(file, scenario, &mut mistakes);
    told(mistakes).map(|()| catalogue)
}

/// What could be read of the profiles.
fn profiles(file: Option<&Path>, scenario: Option<&Path>, mistakes: &mut Report) -> Catalogue {
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
    let (catalogue, report) = built_in.over(&path.display().to_string(), &text);
    mistakes.merge(report);
    catalogue
}

/// Finds every server. Settings and options of the command line replace the profile's.
fn servers(typed: &Typed<'_>, catalogue: &Catalogue, mistakes: &mut Report) -> Vec<ServerChoice> {
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
    let specs = crate::resolve::spread(&pinned(specs, catalogue, mistakes), &preloads);
    let wrong = |error: ChoiceError| mistakes.add_loose(error.to_string(), "");
    let mut chosen = match crate::resolve::choose(&specs, &common, catalogue, &which(None)) {
        Ok(chosen) => chosen,
        Err(errors) => {
            errors.into_iter().for_each(wrong);
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
pub fn pinned(specs: Vec<ServerSpec>, catalogue: &Catalogue, mistakes: &mut Report) -> Vec<ServerSpec> {
    let Some(store) = Store::usual() else {
        return specs;
    };
    if !mistakes.is_empty() {
        return specs.into_iter().filter(|spec| !spec.target.contains('@')).collect();
    }
    let (specs, wrong) = crate::resolve::install(specs, catalogue, &store, &super::say);
    for error in wrong {
        mistakes.add_loose(error.to_string(), "");
    }
    specs
}

/// Keeps everything from here on to some processors, and to some huge pages. Before any thread is started that works, for only
/// later ones follow.
pub fn confine(cpus: Option<&CpuList>, huge_pages: Option<HugePages>) -> anyhow::Result<()> {
    if let Some(CpuList(cpus)) = cpus {
        host::keep_to(cpus).context("cannot keep to the processors of `--cpus`, name others or leave it out")?;
    }
    if let Some(mode) = huge_pages {
        host::limit_huge_pages(mode).with_context(|| format!("cannot do `--thp {}`, leave it out", mode.name()))?;
    }
    Ok(())
}

/// The same, and how the runs of `command` share these processors.
pub fn share(processors: &Processors, huge_pages: Option<HugePages>, command: &'static str) -> anyhow::Result<Jobs> {
    if let Some(job) = &processors.job {
        confine(Some(&job.cpus), huge_pages)?;
        return Ok(Jobs::Of {
            run: job.run,
            jobs: processors.jobs,
        });
    }
    confine(processors.cpus.as_ref(), huge_pages)?;
    if processors.jobs == 1 {
        return Ok(Jobs::Alone);
    }
    let cpus = host::cpus_by_core().context("cannot play runs at once, leave `--jobs` out")?;
    let jobs = processors.jobs as usize;
    if cpus.len() < jobs {
        let is = if cpus.len() == 1 { "is" } else { "are" };
        let most = units::counted(cpus.len() as u64, "processor");
        bail!(
            "`--jobs {jobs}` needs a processor for each, and there {is} {most}: use --jobs {}",
            cpus.len()
        );
    }
    Ok(Jobs::Beside {
        command,
        shares: cpus
            .chunks_exact(cpus.len() / jobs)
            .take(jobs)
            .map(<[usize]>::to_vec)
            .collect(),
    })
}

/// The servers through each lens; `library` gives the one that makes a server release, where its allocator has no setting.
pub fn through(
    lenses: Lenses,
    library: &dyn Fn(&ServerChoice) -> Option<Shim>,
    mut choices: Vec<ServerChoice>,
    mistakes: &mut Report,
) -> Vec<ServerChoice> {
    // Otherwise a server is looked at when its run is prepared, which can be called off.
    if lenses.list().contains(&Lens::Purged) {
        detector::look(&mut choices);
    }
    let mut all = Vec::new();
    for lens in lenses.list() {
        match lens {
            Lens::AsShipped => all.extend_from_slice(&choices),
            Lens::Purged => match crate::resolve::purged(&choices, library) {
                Ok(purged) => {
                    shim::approximate(&purged).iter().for_each(|why| super::say(why));
                    all.extend(purged);
                }
                Err(errors) => errors
                    .iter()
                    .for_each(|error| mistakes.add_loose(error.to_string(), "")),
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
    let label = &choices
        .iter()
        .find(|choice| crate::resolve::needs_traffic(choice))?
        .label;
    let steps = scenario.scenario.phases.iter().flat_map(|phase| &phase.steps);
    let simmers = |step: &Step| matches!(step, Step::Idle(idle) if idle.mode == IdleMode::Simmer);
    (!steps.into_iter().any(simmers)).then(|| {
        format!(
            "the allocator of `{label}` purges only on activity, and `{}` has no window with light traffic: add `{{ \
             idle = {{ mode = \"simmer\", every = \"250ms\" }} }}`",
            scenario.scenario.name
        )
    })
}

/// `NAME=VALUE` of `--env`.
pub fn variable(text: &str, mistakes: &mut Report) -> Option<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains('\0') => Some((name.to_owned(), value.to_owned())),
        _ => {
            mistakes.add_loose(format!("`--env {text}` sets no variable"), "write --env NAME=VALUE");
            None
        }
    }
}

/// What counts memory calls, if that is wanted. A process that plays a run for another traces nothing.
pub fn tracer(is_wanted: bool, processors: &Processors) -> Option<anyhow::Result<Result<Tracer, Untraceable>>> {
    (is_wanted && processors.job.is_none()).then(campaign::tracer)
}

/// The result with the tracer, if one is wanted; a tracer that cannot trace is one more mistake.
pub fn able<T>(
    tracer: Option<anyhow::Result<Result<Tracer, Untraceable>>>,
    understood: anyhow::Result<T>,
) -> anyhow::Result<(Option<Tracer>, T)> {
    match tracer.transpose()? {
        Some(Err(error)) => also(understood, &error.to_string(), error.cure()).map(|understood| (None, understood)),
        Some(Ok(tracer)) => understood.map(|understood| (Some(tracer), understood)),
        None => understood.map(|understood| (None, understood)),
    }
}
