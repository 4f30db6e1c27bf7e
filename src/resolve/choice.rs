//! Which server to drive: `--server '[LABEL:] [K=V …] NAME|PATH'` resolved to a program and its profile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use strum::VariantArray;

use crate::config::{Allocator, Catalogue, Profile, own_home};
use allocator::missing_component;
use base::Cancel;
use base::lens::Lens;
use base::text::nearest;
use record::{AllocatorFacts, AllocatorFamily, CellFacts, PackageFacts, PackagedAllocator, Preload};

use super::Which;
use super::command::CommandPlan;
use super::detector::{self, Examinations};
use super::error::ChoiceError;
use super::spec::{ServerSpec, check_label};

/// One server under one set of settings.
#[derive(Clone, Debug)]
pub struct ServerChoice {
    /// Names its files and rows; unique in a plan.
    pub label: String,
    /// The server as it was typed, without a label.
    pub typed: String,
    /// Name of the profile, when there is one.
    pub profile_name: Option<String>,
    pub profile: Profile,
    pub program: Program,
    /// The package that was installed for it, if it names a version.
    pub package: Option<PackageFacts>,
    pub args: Vec<String>,
    /// Its environment variables: the profile's, then those for all servers, then its own.
    pub env: BTreeMap<String, String>,
    /// The wanted preload: its own, that for all servers, or its profile's.
    pub preload: Preload,
    /// True if the command line names a preload, `system` included.
    pub preload_asked: bool,
    /// The libraries that are preloaded into it, an allocator first; those that were typed in a variable come after.
    pub libraries: Vec<PathBuf>,
    /// The lens, and the settings for it.
    pub lens: Setting,
    /// The detected allocator; `None` before detection, as for a server that is built later.
    pub found: Option<AllocatorFacts>,
    /// What its program was found to be, under these settings and those of its clones.
    pub examinations: Examinations,
    /// Processors that it alone is kept to; none to be kept to.
    pub cpus: Vec<usize>,
    /// Its setting in a sweep; `None` outside of one.
    pub cell: Option<CellFacts>,
    /// The preloaded purge library, if any.
    pub shim: Option<Shim>,
    /// The scripts and streams around a command that is run to its end; `None` for a server.
    pub command: Option<CommandPlan>,
}

impl ServerChoice {
    /// True if both start the same program in the same way.
    pub fn starts_like(&self, other: &ServerChoice) -> bool {
        self.lens == other.lens
            && self.profile_name == other.profile_name
            && self.program == other.program
            && self.args == other.args
            && self.env == other.env
            && self.libraries == other.libraries
    }

    /// The program as its profile starts it: no settings of its own, no preload, no cell.
    pub fn plain(label: &str, profile: Profile, program: Program) -> ServerChoice {
        ServerChoice {
            label: label.to_owned(),
            typed: label.to_owned(),
            profile_name: None,
            args: profile.args.clone(),
            env: profile.env.clone(),
            profile,
            program,
            package: None,
            preload: Preload::System,
            preload_asked: false,
            libraries: Vec::new(),
            lens: Setting::default(),
            found: None,
            examinations: Examinations::default(),
            cpus: Vec::new(),
            cell: None,
            shim: None,
            command: None,
        }
    }
}

/// A server's lens with its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    pub lens: Lens,
    /// The allocator that the settings are for, as the profile names it or as it was found; `None` where nothing is set.
    pub allocator: Option<String>,
    /// The variables that the lens set or added to.
    pub env: BTreeMap<String, String>,
    /// True if the allocator has no purge setting, so that these settings only come near.
    pub approximate: bool,
    /// True if the preloaded library forces a release before each checkpoint.
    pub forced: bool,
    /// The collector of the server's garbage before each checkpoint.
    pub collected_by: Option<Collector>,
    /// True if that reports no live memory, so that private memory counts.
    pub without_live: bool,
}

/// A way to collect garbage, which mostly reports live memory too. Displayed as the call.
#[derive(Clone, Debug, PartialEq, Eq, strum::Display)]
pub enum Collector {
    /// The server's own command.
    #[strum(to_string = "{0}")]
    Command(String),
    /// The script that Node.js loads.
    #[strum(to_string = "gc()")]
    Node,
    /// `jcmd` of a JDK.
    #[strum(to_string = "GC.class_histogram")]
    Java,
}

/// Code that is loaded into a server to release its memory on a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shim {
    /// The preloaded library.
    File(PathBuf),
    /// The library that cargo builds from this manifest.
    Build(PathBuf),
    /// The script that collects the garbage of Node.js.
    Node,
}

pub const LIBRARY: &str = "libpurge_shim.so";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    File(PathBuf),
    Build(Vec<String>),
}

/// Options for all servers of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Common {
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// Resolves every server of a command line, or reports the mistakes in each.
pub fn choose(
    specs: &[ServerSpec],
    common: &Common,
    catalogue: &Catalogue,
    which: &Which,
) -> Result<Vec<ServerChoice>, Vec<ChoiceError>> {
    let mut choices = Vec::new();
    let mut errors = Vec::new();
    let mut labels = BTreeSet::new();
    // Several servers may be one program.
    let examinations = Examinations::default();
    for spec in specs {
        let choice = resolve(spec, common, catalogue, which).map(|choice| ServerChoice {
            examinations: examinations.clone(),
            ..choice
        });
        match choice {
            Ok(choice) if !labels.insert(choice.label.to_ascii_lowercase()) => {
                errors.push(ChoiceError::Duplicate(choice.label));
            }
            Ok(choice) => choices.push(choice),
            // It may be in an unreadable file, which was reported already.
            Err(ChoiceError::Unknown { .. }) if catalogue.is_unsure() => {}
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(choices) } else { Err(errors) }
}

fn resolve(
    spec: &ServerSpec,
    common: &Common,
    catalogue: &Catalogue,
    which: &Which,
) -> Result<ServerChoice, ChoiceError> {
    let (profile_name, program) = match &spec.installed {
        Some(own) => (Some(own.profile.as_str()), Program::File(own.program.clone())),
        None => find(&spec.target, catalogue, which)?,
    };
    if let Program::File(file) = &program
        && let Some(cure) = missing_component(file)
    {
        return Err(ChoiceError::Component {
            name: spec.target.clone(),
            cure,
        });
    }
    let profile = profile_name
        .and_then(|name| catalogue.get(name))
        .cloned()
        .unwrap_or_else(|| Profile {
            cache_env: own_home(),
            ..Profile::default()
        });
    let own = spec.preload.as_ref();
    let label = match &spec.label {
        Some(label) => label.clone(),
        None => plain_label(&spec.target) + &own.map(Preload::suffix).unwrap_or_default(),
    };
    check_label(&label)?;
    let preload = own.cloned().unwrap_or_else(|| match &profile.allocator {
        Some(Allocator::Preload(preload)) => preload.clone(),
        Some(Allocator::Linked(_)) | None => Preload::System,
    });
    let mut choice = ServerChoice {
        typed: spec.unlabelled(),
        profile_name: profile_name.map(str::to_owned),
        preload,
        preload_asked: own.is_some(),
        package: spec.installed.as_ref().map(|own| own.facts.clone()),
        ..ServerChoice::plain(&label, profile, program)
    };
    choice.args.extend(common.args.iter().cloned());
    choice.env.extend(common.env.iter().chain(&spec.env).cloned());
    Ok(choice)
}

/// Finds what runs and which profile it has, in the order that the command line promises.
fn find<'c>(target: &str, catalogue: &'c Catalogue, which: &Which) -> Result<(Option<&'c str>, Program), ChoiceError> {
    let mut missing = None;
    if let Some((name, profile)) = catalogue.entry(target) {
        if let Some(program) = installed(name, profile, which) {
            return Ok((Some(name), program));
        }
        missing = Some(ChoiceError::NotInstalled {
            name: name.to_owned(),
            programs: profile
                .programs(name)
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(" or "),
            with: installer_clause(profile),
            here: installed_clause(catalogue, which),
        });
    }
    let found = if target.contains(['/', '\\']) {
        Some(program_at(target, which)?)
    } else {
        which.program(target)
    };
    match (found, missing) {
        (Some(program), _) => Ok((catalogue.by_program(&stem(target)), Program::File(program))),
        (None, Some(missing)) => Err(missing),
        (None, None) => {
            Err(missing_variant(target, catalogue, which).unwrap_or_else(|| unknown_server(target, catalogue, which)))
        }
    }
}

/// The program at a path, or the mistake in the path.
fn program_at(target: &str, which: &Which) -> Result<PathBuf, ChoiceError> {
    let path = Path::new(target);
    if let Some(program) = which.path(path) {
        return Ok(program);
    }
    Err(match which.kind(path) {
        Some(kind) if kind.is_dir() => ChoiceError::Directory(target.to_owned()),
        Some(_) => ChoiceError::NotRunnable(target.to_owned()),
        None => ChoiceError::Missing(target.to_owned()),
    })
}

/// The command that installs the program of a profile, as the end of a clause; empty where that differs from system to system.
fn installer_clause(profile: &Profile) -> String {
    let command = profile.installed_with();
    command.map_or_else(String::new, |command| format!(" with `{command}`"))
}

/// The program of a profile: the one that its command builds, so that it is never stale, or the first one that is installed.
pub fn installed(name: &str, profile: &Profile, which: &Which) -> Option<Program> {
    if !profile.build.is_empty() {
        return Some(Program::Build(profile.build.clone()));
    }
    let exact = profile.programs(name).find_map(|program| which.command(program));
    exact
        .or_else(|| profile.programs(name).find_map(|program| which.versioned(program)))
        .map(Program::File)
}

/// The servers that are installed, as the end of a message.
fn installed_clause(catalogue: &Catalogue, which: &Which) -> String {
    let mut names = Vec::new();
    for (name, profile) in catalogue.iter() {
        if let Some(Program::File(program)) = installed(name, profile, which)
            && missing_component(&program).is_none()
        {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => "; no known server is installed here".to_owned(),
        names => format!("; installed here: {}", names.join(", ")),
    }
}

/// The mistake for a name such as `ty-jemalloc`, with the cure; `None` if it is not a known server and an allocator.
fn missing_variant(target: &str, catalogue: &Catalogue, which: &Which) -> Option<ChoiceError> {
    let stem = stem(target);
    let profile = catalogue.by_program(&stem)?;
    let (_, allocator) = stem.rsplit_once('-')?;
    let words = if allocator == Preload::System.to_string() {
        "the system's allocator"
    } else {
        let mut families = AllocatorFamily::VARIANTS.iter().map(|family| family.name());
        families.find(|name| *name == allocator)?
    };
    let known = catalogue.get(profile)?;
    let program = match installed(profile, known, which) {
        Some(Program::File(program)) => Some(program),
        Some(Program::Build(_)) | None => None,
    };
    if let Some(program) = &program
        && has_allocator(profile, known, program, allocator)
    {
        return Some(ChoiceError::Itself {
            target: target.to_owned(),
            profile: profile.to_owned(),
            allocator: words.to_owned(),
        });
    }
    let can_preload = cfg!(unix)
        && PackagedAllocator::ALL
            .into_iter()
            .any(|known| known.family().name() == allocator);
    let preload = if can_preload {
        let first = if program.is_some() { "" } else { " install it and" };
        format!(", or{first} use `--server {profile} --preload {allocator}` if its build uses the system's allocator")
    } else {
        String::new()
    };
    Some(ChoiceError::Variant {
        target: target.to_owned(),
        profile: profile.to_owned(),
        allocator: words.to_owned(),
        preload,
        here: installed_clause(catalogue, which),
    })
}

/// True if the installed program of a profile has this allocator by itself.
fn has_allocator(name: &str, profile: &Profile, program: &Path, allocator: &str) -> bool {
    let choice = ServerChoice::plain(name, profile.clone(), Program::File(program.to_owned()));
    let found = detector::inspect(&choice, program, None, &Cancel::default());
    found.facts.family.name() == allocator
}

fn unknown_server(target: &str, catalogue: &Catalogue, which: &Which) -> ChoiceError {
    let cure = match nearest(target, catalogue.names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if target.contains(' ') => {
            "arguments go into --server-arg, and a label is one word before a colon".to_owned()
        }
        None => format!("there are {}", catalogue.names().collect::<Vec<_>>().join(", ")),
    };
    ChoiceError::Unknown {
        name: target.to_owned(),
        looked: catalogue.origins().join(", "),
        cure,
        here: installed_clause(catalogue, which),
    }
}

/// The file name of a program without what its system appends.
fn stem(target: &str) -> String {
    let name = target.rsplit(['/', '\\']).next().unwrap_or(target);
    let lower = name.to_ascii_lowercase();
    let appended = [".exe", ".cmd", ".bat"].into_iter().find(|end| lower.ends_with(end));
    name[..name.len() - appended.map_or(0, str::len)].to_owned()
}

/// A label for a server that was given none: the name of its program, made safe.
pub fn plain_label(target: &str) -> String {
    let mut label = String::new();
    for c in stem(target).chars().take(64) {
        let is_safe = c.is_ascii_alphanumeric() || "-_.".contains(c);
        label.push(if is_safe { c } else { '-' });
    }
    label.trim_matches(['.', '-', '_']).to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn spec(text: &str) -> ServerSpec {
        text.parse().unwrap()
    }

    fn programs(root: &Path, names: &[&str]) {
        for name in names {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
    }

    fn choose_from(root: &Path, texts: &[&str]) -> Result<Vec<ServerChoice>, Vec<ChoiceError>> {
        let specs: Vec<ServerSpec> = texts.iter().map(|text| spec(text)).collect();
        let which = Which::new(root.as_os_str(), None);
        let common = Common {
            args: vec!["--more".to_owned()],
            env: vec![("A".to_owned(), "common".to_owned())],
        };
        choose(&specs, &common, &Catalogue::built_in(), &which)
    }

    #[test]
    fn names_programs_and_paths_are_found_with_their_profiles() {
        let root = tempfile::tempdir().unwrap();
        programs(root.path(), &["ty", "ty-jemalloc", "clangd-16", "cat", "away/pyrefly"]);
        let away = root.path().join("away/pyrefly");
        let target = format!("B=1 {}", away.display());
        let texts = [
            "ty", "A=own ty-jemalloc", "clangd", "cat", &target, "fixture-system", "again: ty",
        ];
        let choices = choose_from(root.path(), &texts).unwrap();
        let seen: Vec<(&str, Option<&str>)> = choices
            .iter()
            .map(|choice| (choice.label.as_str(), choice.profile_name.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [
                ("ty", Some("ty")),
                ("ty-jemalloc", Some("ty")),
                ("clangd", Some("clangd")),
                ("cat", None),
                ("pyrefly", Some("pyrefly")),
                ("fixture-system", Some("fixture-system")),
                ("again", Some("ty")),
            ]
        );
        assert_eq!(choices[2].program, Program::File(root.path().join("clangd-16")));
        assert_eq!(choices[4].program, Program::File(away));
        assert!(matches!(&choices[5].program, Program::Build(command) if command[0] == "cargo"));
        assert_eq!(choices[0].args, ["server", "--more"]);
        assert_eq!(
            (&choices[0].env["A"], &choices[1].env["A"]),
            (&"common".to_owned(), &"own".to_owned())
        );
    }

    #[test]
    fn a_server_that_no_profile_knows_has_a_home_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        programs(root.path(), &["cat", "ty"]);
        let choices = choose_from(root.path(), &["cat", "ty"]).unwrap();
        let names: Vec<&str> = choices[0].profile.cache_env.keys().map(String::as_str).collect();
        let all = [
            "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
        ];
        assert_eq!(names, all);
        assert!(choices[1].profile.cache_env.is_empty());
    }

    #[test]
    fn what_a_server_says_of_its_preload_goes_before_its_profile() {
        let root = tempfile::tempdir().unwrap();
        programs(root.path(), &["mine"]);
        let profile = "[server.mine]\nallocator = { preload = \"mimalloc\" }\n";
        let (catalogue, report) = Catalogue::built_in().with_file("servers.toml", profile);
        assert!(report.is_empty());
        let specs = ["mine", "preload=jemalloc mine", "plain: preload=system mine"].map(spec);
        let which = Which::new(root.path().as_os_str(), None);
        let choices = choose(&specs, &Common::default(), &catalogue, &which).unwrap();
        let seen: Vec<(&str, String)> = choices
            .iter()
            .map(|choice| (choice.label.as_str(), choice.preload.to_string()))
            .collect();
        let expected = [("mine", "mimalloc"), ("mine-jemalloc", "jemalloc"), ("plain", "system")];
        assert_eq!(seen, expected.map(|(label, preload)| (label, preload.to_owned())));
        let wrong = "[server.mine]\nallocator = { preload = \"jemaloc\" }\n";
        let (_, report) = Catalogue::built_in().with_file("servers.toml", wrong);
        assert!(report.to_string().contains("did you mean `jemalloc`?"));
    }

    #[test]
    fn every_server_that_cannot_be_found_says_why() {
        let root = tempfile::tempdir().unwrap();
        programs(root.path(), &["ty", "ruff"]);
        let errors = choose_from(
            root.path(),
            &[
                "gopls", "rust-analyser", "./nothing", "nonsense", "ty server", "ty-jemalloc", "ty-system",
                "zls-mimalloc",
            ],
        )
        .unwrap_err();
        let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(text) });
    }

    #[test]
    fn a_directory_is_called_one() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().to_str().unwrap();
        let errors = choose_from(root.path(), &[target]).unwrap_err();
        assert_eq!(errors, [ChoiceError::Directory(target.to_owned())]);
        let said = errors[0].to_string();
        assert!(said.starts_with(&format!("`{target}` is a directory: ")), "{said}");
    }

    #[test]
    fn labels_are_unique_whatever_their_case() {
        let root = tempfile::tempdir().unwrap();
        programs(root.path(), &["ty", "ruff"]);
        let errors = choose_from(root.path(), &["ty", "TY: ruff"]).unwrap_err();
        assert_eq!(errors, [ChoiceError::Duplicate("TY".to_owned())]);
    }
}
