//! Writes the header of a record before the server starts.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::time::Duration;

use crate::config::{Loaded, Scenario};
use crate::drive::Job;
use crate::drive::workspace::KeptCopy;
use crate::progress::Progress;
use crate::resolve::{self, ServerChoice, package_sha256};
use crate::trace::Tracer;
use allocator::knobs::Checked;
use base::Cancel;
use base::lens::Lens;
use base::processors;
use proctree::host;
use proctree::process::Launch;
use record::{Header, HugePages, ScenarioFacts, ServerFacts, Settings, TreeFacts, WorkspaceFacts};
use record::{PackageFacts, PlanFacts};

use crate::resolve::detector::Examined;
use crate::resolve::{detector, shim};

/// How a run is measured.
#[derive(Clone, Copy)]
pub struct Measuring {
    /// Time between two samples.
    pub interval: Duration,
    /// The mode of transparent huge pages, if it is not the system's.
    pub huge_pages: Option<HugePages>,
    /// True if the kernel's peaks are reset at each checkpoint.
    pub resets_peaks: bool,
    /// Bytes of private memory above which a run is ended; `None` for what the machine has left.
    pub memory_limit: Option<u64>,
    /// True if steps that the server does not offer are skipped.
    pub allows_unsupported: bool,
}

#[derive(Clone)]
pub struct RunSetup {
    /// The call that began the campaign; `None` if this process is it.
    pub called: Option<Vec<OsString>>,
    pub loaded: Loaded,
    pub choice: ServerChoice,
    pub plan: PlanFacts,
    /// Header of the server's first run in a resumed campaign.
    pub before: Option<Header>,
    pub measuring: Measuring,
    /// Tracer of a run that counts system calls.
    pub tracer: Option<Tracer>,
    /// Whether the run only starts the server, to see its capabilities.
    pub probe: bool,
    /// The copy of the project from one run to the next.
    pub copy: KeptCopy,
    pub progress: Progress,
}

/// Variables that decide which programs, libraries and settings a server finds.
const DECIDING: [&str; 19] = [
    "CARGO_HOME", "CONDA_PREFIX", "GOFLAGS", "GOPATH", "GOROOT", "HOME", "JAVA_HOME", "LANG", "LC_ALL",
    "LD_LIBRARY_PATH", "NODE_PATH", "PATH", "PYTHONHOME", "PYTHONPATH", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN",
    "VIRTUAL_ENV", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
];

/// Builds the header. What is cancelled is left out.
pub fn header(
    run: &RunSetup,
    job: &Job,
    tree: Option<TreeFacts>,
    scrubbed: Vec<String>,
    examined: &Examined,
    checked: Checked,
    cancel: &Cancel,
) -> Header {
    let RunSetup { loaded, choice, .. } = run;
    let project = &loaded.project;
    Header {
        format: record::FORMAT,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        // Set at the first spawn.
        started: String::new(),
        wrapped: None,
        plan: run.plan.clone(),
        host: restricted(host::fingerprint(), &choice.cpus),
        server: ServerFacts {
            scrubbed,
            lens: detector::lens(&run.choice, &checked),
            allocator: Some(detector::facts(&run.choice, &examined.inspected, &checked)),
            preload: examined.preload.clone(),
            knobs: checked.knobs,
            shim: job.library.as_ref().and_then(shim::facts),
            ..server(run, &job.launch, examined, cancel)
        },
        scenario: scenario(loaded, job.seed),
        workspace: WorkspaceFacts {
            path: project.root.display().to_string(),
            origin: project.origin.clone(),
            isolation: project.isolation.name().to_owned(),
            language: project.language.clone(),
            files: job.selection.files.len() as u64,
            bytes: job.selection.bytes,
            // Nothing is selected for a command, which may read every file.
            sha256: match (&choice.command, &tree) {
                (Some(_), Some(tree)) => tree.sha256.clone(),
                _ => job.selection.sha256.clone(),
            },
            tree,
            revision: host::revision(&project.root, cancel),
        },
        settings: Settings {
            full_decay: job.scenario.waits_for_full_decay(),
            ..begun(run, settings(&run.measuring, choice, job.capabilities.clone()))
        },
    }
}

/// The machine, with the server's processors if they are restricted.
pub fn restricted(mut host: record::Host, cpus: &[usize]) -> record::Host {
    if !cpus.is_empty() {
        host.affinity = Some(processors::ranges(cpus));
    }
    host
}

/// What a run of this server plays of a scenario.
pub fn scenario_as_played(scenario: &Scenario, choice: &ServerChoice) -> Scenario {
    match choice.lens.lens {
        Lens::AsShipped => scenario.clone(),
        Lens::Purged => scenario.for_purged_run(resolve::needs_traffic(choice)),
    }
}

pub fn scenario(loaded: &Loaded, seed: u64) -> ScenarioFacts {
    ScenarioFacts {
        name: loaded.scenario.name.clone(),
        path: loaded.path.display().to_string(),
        sha256: loaded.sha256.clone(),
        text: loaded.text.clone(),
        seed,
        phases: loaded.scenario.phases.iter().map(|phase| phase.name.clone()).collect(),
        result: loaded.scenario.result().map(|phase| phase.name.clone()),
    }
}

/// With the command line that began the campaign.
fn begun(run: &RunSetup, mut settings: Settings) -> Settings {
    if let Some(called) = &run.called {
        settings.command_line = called.iter().cloned().map(lossy).collect();
    }
    settings
}

pub fn settings(measuring: &Measuring, choice: &ServerChoice, capabilities: String) -> Settings {
    let text = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
    Settings {
        interval: record::nanos(measuring.interval),
        peak_reset: measuring.resets_peaks,
        memory_limit: None,
        full_decay: false,
        address_spaces: proctree::address_spaces(),
        huge_pages: measuring.huge_pages,
        page_cache_dropped: choice.command.as_ref().map(|command| command.drop_caches),
        pulls_diagnostics: choice.command.is_none() && lsp::capabilities::pulls_diagnostics(&capabilities),
        capabilities,
        init_options: text(&choice.profile.init_options),
        settings: text(&choice.profile.settings),
        command_line: env::args_os().map(lossy).collect(),
        directory: env::current_dir()
            .ok()
            .map(|directory| lossy(directory.into_os_string())),
    }
}

fn server(run: &RunSetup, launch: &Launch, examined: &Examined, cancel: &Cancel) -> ServerFacts {
    let choice = &run.choice;
    ServerFacts {
        label: choice.label.clone(),
        profile: choice.profile_name.clone(),
        program: launch.program.display().to_string(),
        sha256: host::file_sha256(&launch.program).ok(),
        file_size: std::fs::metadata(&launch.program).ok().map(|file| file.len()),
        interpreter: examined.interpreter(cancel),
        version: examined.inspected.version.clone(),
        package: choice.package.as_ref().map(|package| PackageFacts {
            sha256: package_sha256(&package.ecosystem, &launch.program),
            ..package.clone()
        }),
        args: choice.args.clone(),
        env: set(launch),
        inherited: inherited(launch),
        ..ServerFacts::default()
    }
}

/// The variables set for the server. Of two equal names the last counts.
fn set(launch: &Launch) -> BTreeMap<String, String> {
    let set = launch.env.iter();
    let set = set.filter_map(|(name, value)| Some((lossy(name.clone()), lossy(value.clone()?))));
    set.collect()
}

/// The inherited variables that decide what the server finds.
fn inherited(launch: &Launch) -> BTreeMap<String, String> {
    let ours = DECIDING.into_iter().filter(|name| change(launch, name).is_none());
    ours.filter_map(|name| Some((name.to_owned(), lossy(env::var_os(name)?))))
        .collect()
}

/// The launch's change of a variable; `None` if it keeps the inherited value.
fn change<'l>(launch: &'l Launch, name: &str) -> Option<&'l Option<OsString>> {
    let changes = launch.env.iter().rev();
    changes.into_iter().find(|(one, _)| one == name).map(|(_, value)| value)
}

fn lossy(text: OsString) -> String {
    text.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(env: &[(&str, Option<&str>)]) -> Launch {
        let env = env.iter().map(|(name, value)| (name.into(), value.map(Into::into)));
        Launch {
            env: env.collect(),
            ..Launch::default()
        }
    }

    #[test]
    fn what_is_set_is_recorded_with_the_value_that_holds_and_what_is_taken_away_is_not() {
        let launch = launch(&[
            ("A", None),
            ("CACHE", Some("/one")),
            ("B", Some("2")),
            ("CACHE", Some("/two")),
        ]);
        let set = set(&launch);
        let set: Vec<(&str, &str)> = set
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(set, [("B", "2"), ("CACHE", "/two")]);
    }

    #[test]
    fn what_is_inherited_is_what_the_server_sees() {
        let path = env::var_os("PATH").expect("cargo runs tests with a PATH");
        assert_eq!(inherited(&launch(&[])).get("PATH"), Some(&lossy(path)));
        assert_eq!(inherited(&launch(&[("PATH", None)])).get("PATH"), None);
        assert_eq!(inherited(&launch(&[("PATH", Some("/x"))])).get("PATH"), None);
    }
}
