//! The scenario file: the session, its workspace, and how each phase ends.

use serde::Deserialize;

use base::units::{Share, Span};

use super::glob::Glob;
use super::recorded::Recorded;
use super::step::{Idle, IdleEnd, IdleMode, Start, Step, StopBy};

/// The newest scenario format that this version reads.
pub const FORMAT: u32 = 1;

/// A scenario file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// Version of the format: 1.
    #[serde(default)]
    #[cfg_attr(test, schemars(required))]
    pub format: u32,
    /// Names the output directory and heads the report.
    #[serde(default)]
    pub name: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// Seed of everything that is picked at random; 1 when not given.
    #[serde(default)]
    pub seed: Option<u64>,
    /// The project to open; with `include`, the first included one when not given.
    #[serde(default)]
    pub workspace: Option<Workspace>,
    /// Scenario files whose phases come before those of this one, relative to this file.
    #[serde(default)]
    pub include: Vec<String>,
    /// Repeats everything after the first `start` phase.
    #[serde(default)]
    pub repeat: Option<Repeat>,
    /// The phase whose checkpoint is the result; by default the last one that is not `diagnostic`.
    #[serde(default)]
    pub result: Option<String>,
    /// When the server counts as ready; by default as in its profile.
    #[serde(default)]
    pub readiness: Readiness,
    /// Rule by which a phase settles before its checkpoint, unless the phase says otherwise.
    #[serde(default)]
    pub settle: Settle,
    /// Time limit of a request, unless its step says otherwise; 60 s when not given.
    #[serde(default)]
    pub deadline: Option<Span>,
    /// The way in which the server is stopped after the last phase.
    #[serde(default)]
    pub end: StopBy,
    /// Name of the client capability profile: which editor is imitated; the server profile's when not given.
    #[serde(default)]
    pub capabilities: Option<String>,
    /// Collects the server's garbage before each checkpoint, where its profile has a request for it; for scenarios that look
    /// for leaks.
    #[serde(default)]
    pub collect: bool,
    /// The phases in order.
    #[serde(default, rename = "phase")]
    pub phases: Vec<Phase>,
}

/// The project that the server opens.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workspace {
    /// Directory, relative to the scenario's file, or a pinned origin such as `pypi:prefect==3.9.1`.
    #[serde(default)]
    pub path: String,
    /// Sources of a Python package of one version, `NAME==VERSION`.
    #[serde(default)]
    pub pypi: Option<String>,
    /// Files of an npm package of one version, `NAME@VERSION`.
    #[serde(default)]
    pub npm: Option<String>,
    /// Sources of a crate of one version, `NAME@VERSION`.
    #[serde(default, rename = "crate")]
    pub krate: Option<String>,
    /// URL of a git repository, whose commit `rev` is checked out.
    #[serde(default)]
    pub git: Option<String>,
    /// Hash of the commit of `git`, at least 7 digits.
    #[serde(default)]
    pub rev: Option<String>,
    /// URL or path of a `.tar.gz`, `.tar.xz`, `.tar` or `.zip` file.
    #[serde(default)]
    pub archive: Option<String>,
    /// SHA-256 of the file of `archive`.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Command that prepares a pinned workspace, such as `uv sync`; run once by `sh`.
    #[serde(default)]
    pub setup: Option<String>,
    /// LSP language id of the files to open, such as `python`.
    #[serde(default)]
    pub language: Option<String>,
    /// Pattern of the files to open, relative to the workspace; by language when not given.
    #[serde(default)]
    pub files: Option<Glob>,
    /// Patterns of files to leave alone, besides `.git`, `node_modules`, `target`, `.venv` and `__pycache__`.
    #[serde(default)]
    pub exclude: Vec<Glob>,
    /// Patterns of directories that are the workspace folders at the start; the workspace itself when empty.
    #[serde(default)]
    pub folders: Vec<Glob>,
    /// Protection of the original from edits.
    #[serde(default)]
    pub isolation: Isolation,
}

/// Protection of the workspace from the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, strum::Display, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Isolation {
    /// A copy at one fixed-length path, made anew for each run.
    #[default]
    Copy,
    /// A copy that shares its blocks with the original, on file systems that can.
    Reflink,
    /// An overlay file system over the original.
    Overlay,
    /// The original itself; steps that write files are refused.
    InPlace,
}

impl Isolation {
    /// As written in scenarios and records.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A named part of the session that ends in a checkpoint.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Phase {
    /// Names the row of the report; unique in the scenario.
    #[serde(default)]
    pub name: String,
    /// The steps, in order.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Plays the steps more than once; each round ends in a checkpoint of its own.
    #[serde(default)]
    pub repeat: Option<Repeat>,
    /// The rule by which the phase settles; by default as in the scenario.
    #[serde(default)]
    pub settle: Settle,
    /// Only looks at the server, so its checkpoint is not the result of the scenario.
    #[serde(default)]
    pub diagnostic: bool,
}

/// The number of times that something is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Repeat {
    /// This many times.
    Times(u64),
    /// Until this much time has passed; the round that is under way is finished.
    For(Span),
}

/// Shortest period over which rest is judged: over less, one tick of Linux's clock, 10 ms, looks like a busy server.
const SHORTEST_QUIET: Span = Span::from_millis(150);

/// Rest of the memory before a checkpoint of a server whose allocator releases at once.
const PURGED_QUIET: Span = Span::from_millis(500);

/// Limits of the wait for readiness, as far as they are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Readiness {
    /// Wait for a first sign of start-up work, after which it is taken that there is none; when not given, four times the
    /// longest rest that was seen between two bursts of work, at most 3 s.
    pub start_grace: Option<Span>,
    /// Time without any movement after which the server counts as ready; at least 150 ms.
    pub quiet: Option<Span>,
    /// Longest wait in all.
    pub timeout: Option<Span>,
    /// Processor use of the tree, as a share of one processor, that still counts as quiet.
    pub cpu: Option<Share>,
}

/// Limits of the wait for readiness, complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadinessLimits {
    /// `None`: by what is seen of the server's work.
    pub start_grace: Option<Span>,
    pub quiet: Span,
    pub timeout: Span,
    pub cpu: Share,
}

impl Phase {
    /// True if one of its steps starts the server.
    pub fn starts_server(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Start(_)))
    }
}

impl Readiness {
    /// Completes the options from `under`, then from the defaults.
    pub fn completed_from(self, under: Readiness) -> ReadinessLimits {
        ReadinessLimits {
            start_grace: self.start_grace.or(under.start_grace),
            quiet: self
                .quiet
                .or(under.quiet)
                .unwrap_or(Span::from_secs(1))
                .max(SHORTEST_QUIET),
            timeout: self.timeout.or(under.timeout).unwrap_or(Span::from_secs(300)),
            cpu: self.cpu.or(under.cpu).unwrap_or(Share(0.10)),
        }
    }
}

/// The rule by which a phase settles before its checkpoint; unset options are completed elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Settle {
    /// Time with nothing in flight and idle processors; at least 150 ms.
    pub quiet: Option<Span>,
    /// The longest wait; then the checkpoint is taken anyway, and marked.
    pub at_most: Option<Span>,
    /// Processor use of the tree, as a share of one processor, that still counts as idle.
    pub cpu: Option<Share>,
}

/// The complete rule by which a phase comes to rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettleLimits {
    pub quiet: Span,
    /// See [`Settle::at_most`].
    pub at_most: Span,
    pub cpu: Share,
}

impl Settle {
    /// Completes the options from `under`, then from the defaults.
    pub fn completed_from(self, under: Settle) -> SettleLimits {
        SettleLimits {
            quiet: self
                .quiet
                .or(under.quiet)
                .unwrap_or(Span::from_secs(1))
                .max(SHORTEST_QUIET),
            at_most: self.at_most.or(under.at_most).unwrap_or(Span::from_secs(10)),
            cpu: self.cpu.or(under.cpu).unwrap_or(Share(0.05)),
        }
    }
}

impl Scenario {
    /// A command's run: one phase without steps.
    pub fn of_command(name: &str, phase: &str, seed: u64) -> Scenario {
        Scenario {
            format: 1,
            name: name.to_owned(),
            description: String::new(),
            seed: Some(seed),
            workspace: None,
            include: Vec::new(),
            repeat: None,
            result: None,
            readiness: Readiness::default(),
            settle: Settle::default(),
            deadline: None,
            end: StopBy::Shutdown,
            capabilities: None,
            collect: false,
            phases: vec![Phase {
                name: phase.to_owned(),
                steps: Vec::new(),
                repeat: None,
                settle: Settle::default(),
                diagnostic: false,
            }],
        }
    }

    /// The seed of everything that is picked at random.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Time limit of a request whose step does not say.
    pub fn deadline(&self) -> Span {
        self.deadline.unwrap_or(Span::from_secs(60))
    }

    /// The options with which the server is started.
    pub fn start(&self) -> Start {
        let mut steps = self.phases.iter().flat_map(|phase| &phase.steps);
        let start = steps.find_map(|step| match step {
            Step::Start(start) => Some(start.clone()),
            _ => None,
        });
        start.unwrap_or_default()
    }

    /// True if the imitated editor dies, at the end or before a restart.
    pub fn lets_editor_die(&self) -> bool {
        let mut steps = self.phases.iter().flat_map(|phase| &phase.steps);
        self.end == StopBy::EditorDies
            || steps.any(|step| matches!(step, Step::Restart(restart) if restart.by == StopBy::EditorDies))
    }

    /// The phase whose checkpoint is the result for headlines, gates and sweeps.
    pub fn result(&self) -> Option<&Phase> {
        match &self.result {
            Some(name) => self.phases.iter().find(|phase| phase.name == *name),
            None => self.phases.iter().rfind(|phase| !phase.diagnostic),
        }
    }

    /// The scenario for a run whose allocator releases at once: without the windows that wait for releases, and with shorter
    /// rests before checkpoints. Windows with light traffic stay where the allocator releases only when it is called.
    pub fn for_purged_run(&self, needs_traffic: bool) -> Scenario {
        let waits = |step: &Step| match step {
            Step::Idle(idle) if idle.control => false,
            Step::Idle(idle) => {
                let settles = matches!(idle.end(), IdleEnd::Settled { .. });
                settles && !(needs_traffic && idle.mode == IdleMode::Simmer)
            }
            _ => false,
        };
        let mut scenario = self.clone();
        for phase in &mut scenario.phases {
            phase.settle.quiet = Some(self.settle(phase).quiet.min(PURGED_QUIET));
            phase.steps.retain(|step| !waits(step));
        }
        scenario
    }

    /// Has every idle window that waits for memory to settle wait for the server's runtime, too.
    pub fn wait_for_full_decay(&mut self) {
        for step in self.phases.iter_mut().flat_map(|phase| &mut phase.steps) {
            if let Step::Idle(idle) = step {
                idle.full_decay = true;
            }
        }
    }

    /// True if an idle window waits for the server's runtime.
    pub fn waits_for_full_decay(&self) -> bool {
        self.idle_windows().any(|idle| idle.full_decay)
    }

    /// True if it needs the history of its workspace.
    pub fn checks_out_commits(&self) -> bool {
        let mut steps = self.phases.iter().flat_map(|phase| &phase.steps);
        steps.any(|step| matches!(step, Step::Checkout(_)))
    }

    /// The first session that it plays: its `initialize` starts the server.
    pub fn recorded(&self) -> Option<&Recorded> {
        let mut steps = self.phases.iter().flat_map(|phase| &phase.steps);
        steps.find_map(|step| match step {
            Step::Session(session) => Some(session.recorded.as_ref()),
            _ => None,
        })
    }

    /// The commands of its `shell` steps, each with its phase.
    pub fn shell_commands(&self) -> Vec<(&str, &str)> {
        let mut commands = Vec::new();
        for phase in &self.phases {
            for step in &phase.steps {
                if let Step::Shell(options) = step {
                    commands.push((phase.name.as_str(), options.command.as_str()));
                }
            }
        }
        commands
    }

    pub fn idle_windows(&self) -> impl Iterator<Item = &Idle> {
        let steps = self.phases.iter().flat_map(|phase| &phase.steps);
        steps.filter_map(|step| match step {
            Step::Idle(idle) => Some(idle),
            _ => None,
        })
    }

    pub fn settle(&self, phase: &Phase) -> SettleLimits {
        phase.settle.completed_from(Settle {
            quiet: self.settle.quiet,
            at_most: self.settle.at_most,
            cpu: self.settle.cpu,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purged_run_waits_for_no_release_and_keeps_what_is_more_than_a_wait() {
        let scenario: Scenario = crate::config::place::read(
            "phase = [{ name = \"decay\", steps = [\
             { idle = {} }, { idle = { mode = \"simmer\" } }, { idle = { for = \"30s\" } }, { idle = { control = true } }, \
             { close = {} }] }, { name = \"end\", steps = [{ idle = {} }] }]",
        )
        .expect("it is valid");
        let left = |needs_traffic| {
            let phases = scenario.for_purged_run(needs_traffic).phases;
            phases.iter().map(|phase| phase.steps.len()).collect::<Vec<usize>>()
        };
        assert_eq!((left(false), left(true)), (vec![3, 0], vec![4, 0]));
        let rest = |scenario: &Scenario| scenario.settle(&scenario.phases[1]).quiet;
        assert_eq!(
            (rest(&scenario), rest(&scenario.for_purged_run(false))),
            (Span::from_secs(1), Span::from_millis(500))
        );
    }
}
