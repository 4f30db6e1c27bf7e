//! Profiles of language servers: how to run them, when they are ready, their requests, and their quirks.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use base::units::Span;
use record::variables::sets_memory;

use super::scenario::Readiness;
use record::Preload;

/// A `servers.toml`, or the built-in profiles.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Servers {
    /// Profiles by name.
    pub server: BTreeMap<String, Profile>,
}

/// A server profile. Every key may be left out; one with the name of a built-in profile starts from that one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Profile {
    /// A command that installs the program, shown if it is missing; by default that of its package.
    pub install: Option<String>,
    /// The package that has the program, so that `NAME@VERSION` installs one version of it.
    pub package: Option<Package>,
    /// Packages that are installed beside it, each with its version.
    pub package_with: Vec<String>,
    /// Name of the profile that this one starts from, a built-in one or another of the same file.
    pub inherits: Option<String>,
    /// Names or paths of the program, the first that is found; the profile's name when empty.
    pub programs: Vec<String>,
    /// Arguments; `${workspace}` and `${cache}` stand for directories of the run.
    pub args: Vec<String>,
    /// Environment variables to set.
    pub env: BTreeMap<String, String>,
    /// Environment variables to remove, besides those that tune allocators and loaders. `X_*` matches every name that
    /// begins so.
    pub scrub: Vec<String>,
    /// Environment variables that name cache directories, each with the name of its directory under a temporary one,
    /// so that runs share no cache. By default `HOME` and the four of XDG, unless the inherited profile has some; `{}`
    /// for none.
    pub cache_env: BTreeMap<String, String>,
    /// A program beside it that prints the version, where it does not print one itself.
    pub version_program: Option<String>,
    /// Arguments that print the version; `--version` when empty.
    pub version_args: Vec<String>,
    /// LSP language ids by file extension, where they are not the scenario's language.
    pub language_ids: BTreeMap<String, String>,
    /// Languages that the server is for.
    pub languages: Vec<String>,
    /// Initialization options.
    pub init_options: Option<Value>,
    /// Settings answered to `workspace/configuration`, by section.
    pub settings: Option<Value>,
    /// False if the settings are not to be pushed with `workspace/didChangeConfiguration` after the handshake, as
    /// editors do.
    pub push_settings: Option<bool>,
    /// Name of the client capability profile.
    pub capabilities: Option<String>,
    /// When it is ready.
    pub ready: Ready,
    /// Signs that it could not load the workspace, so that what follows measures nothing.
    pub failures: Vec<Failure>,
    /// Requests that the server may keep open until something changes.
    pub parks: Vec<String>,
    /// Notifications that say nothing about work, ignored when waiting for quiet.
    pub chatter: Vec<String>,
    /// Titles to choose when the server asks a person.
    pub choose: Vec<String>,
    /// Methods that it does not offer, or offers without use, and why.
    pub unsupported: BTreeMap<String, String>,
    /// A remark for people.
    pub notes: Vec<String>,
    /// Command that builds the program and prints cargo's `--message-format=json`.
    pub build: Vec<String>,
    /// About how long that takes the first time, to be said beforehand.
    pub build_time: Option<Span>,
    /// The allocator, where the profile decides it.
    pub allocator: Option<Allocator>,
    /// The request for a self-report of memory.
    pub self_report: Option<SelfReport>,
}

/// A published package, by its ecosystem.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Package {
    /// A Python package.
    Pypi(String),
    /// A package of npm.
    Npm(String),
    /// A Rust crate with a program.
    Crate(String),
    /// A Go module whose root is the program.
    Go(String),
}

impl Package {
    pub fn ecosystem(&self) -> &'static str {
        self.into()
    }

    pub fn name(&self) -> &str {
        match self {
            Package::Pypi(name) | Package::Npm(name) | Package::Crate(name) | Package::Go(name) => name,
        }
    }
}

/// The request for a self-report of memory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SelfReport {
    /// The message.
    pub ask: Question,
    /// The place of the total in the answer.
    #[serde(default)]
    pub total: Total,
    /// True if it collects its garbage first, so that this is also its forced release.
    #[serde(default)]
    pub releases: bool,
    /// True if it frees the memory that it counts, so that no measurement can follow.
    #[serde(default)]
    pub destructive: bool,
}

/// The kinds of message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// A request of its own, by its method.
    Request(String),
    /// A command of `workspace/executeCommand`.
    Command(String),
}

impl Question {
    pub fn name(&self) -> &str {
        match self {
            Question::Request(name) | Question::Command(name) => name,
        }
    }
}

/// The place of the total in what a server says of its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Total {
    /// It has none.
    #[default]
    None,
    /// A JSON number of bytes.
    Number,
    /// A tree of JSON objects with a `_total` in bytes in each: clangd.
    Tree,
    /// A JSON object with `HeapAlloc` in bytes: Go's statistics.
    HeapAlloc,
    /// Text with lines `TOTAL MEMORY USAGE: 28.05MB` of a million bytes each, one for each database: Salsa's report.
    Salsa,
    /// Text with a size and a name in each line: rust-analyzer's queries.
    Queries,
}

/// When a server is ready, beyond what holds for all.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Ready {
    /// Its own signal; none for most.
    pub signal: Option<Signal>,
    /// Limits of the wait that suit it.
    pub limits: Readiness,
    /// True if it loads the project only when a first document is open, so that the first `open` is followed by another
    /// wait.
    pub after_open: bool,
}

/// A server's own word that it is ready.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// A notification whose parameters match.
    Notification(NotificationSignal),
    /// A `$/progress` that ends.
    Progress(ProgressSignal),
}

/// A notification that means something.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NotificationSignal {
    /// Its method.
    pub method: String,
    /// Values that members of its parameters must have.
    #[serde(default)]
    pub when: BTreeMap<String, Value>,
    /// Texts that members of its parameters must contain.
    #[serde(default)]
    pub contains: BTreeMap<String, String>,
}

/// A progress to match. Unset keys match all.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ProgressSignal {
    /// Its title.
    pub title: Option<String>,
    /// Its token.
    pub token: Option<String>,
    /// A text that the message of its end contains.
    pub end: Option<String>,
}

/// A sign that the server could not load the workspace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// A notification whose parameters match.
    Notification(NotificationSignal),
    /// A `$/progress` that begins, or with `end` ends, like this.
    Progress(ProgressSignal),
    /// A `window/logMessage` or `window/showMessage` that contains this text.
    Message(String),
}

/// The allocator of a server, where its profile decides it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Allocator {
    /// Linked with this one.
    Linked(String),
    /// This is preloaded.
    Preload(Preload),
}

impl NotificationSignal {
    /// True if a notification with these parameters is the one meant.
    pub fn matches(&self, method: &str, params: Option<&Value>) -> bool {
        let member = |name: &str| params.and_then(|params| params.get(name));
        method == self.method
            && self.when.iter().all(|(name, value)| member(name) == Some(value))
            && self.contains.iter().all(|(name, part)| {
                member(name)
                    .and_then(Value::as_str)
                    .is_some_and(|text| text.contains(part))
            })
    }
}

impl ProgressSignal {
    /// True if the end of a progress with this title and token is the one meant.
    pub fn matches(&self, title: Option<&str>, token: &str, message: Option<&str>) -> bool {
        let same = |wanted: &Option<String>, found: Option<&str>| wanted.as_deref().is_none_or(|w| found == Some(w));
        same(&self.title, title)
            && same(&self.token, Some(token))
            && self
                .end
                .as_deref()
                .is_none_or(|end| message.is_some_and(|message| message.contains(end)))
    }
}

/// Home and cache variables of a server without a profile: directories of the run. So every run has equal costs, and
/// the user's own directories stay unchanged.
const OWN_HOME: [(&str, &str); 5] = [
    ("HOME", "home"),
    ("XDG_CACHE_HOME", "home/.cache"),
    ("XDG_CONFIG_HOME", "home/.config"),
    ("XDG_DATA_HOME", "home/.local/share"),
    ("XDG_STATE_HOME", "home/.local/state"),
];

/// Default `cache-env` of a profile.
pub fn own_home() -> BTreeMap<String, String> {
    OWN_HOME
        .map(|(name, directory)| (name.to_owned(), directory.to_owned()))
        .into()
}

impl Profile {
    /// True if the variable is removed from the server's environment, unless set for this run.
    pub fn scrubs(&self, variable: &str) -> bool {
        let mut own = self.scrub.iter().map(String::as_str);
        let is_own = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => variable.starts_with(start),
            None => variable == pattern,
        };
        sets_memory(variable) || own.any(is_own)
    }

    /// Sent as `initializationOptions`; some servers refuse `null`.
    pub fn initialization_options(&self) -> Option<&Value> {
        self.init_options.as_ref().filter(|options| !options.is_null())
    }

    pub fn version_args(&self) -> Vec<&str> {
        match self.version_args.as_slice() {
            [] => vec!["--version"],
            args => args.iter().map(String::as_str).collect(),
        }
    }

    /// Names to look for the program under.
    pub fn programs<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let own = if self.programs.is_empty() { Some(name) } else { None };
        self.programs.iter().map(String::as_str).chain(own)
    }

    /// A command that installs the program.
    pub fn installed_with(&self) -> Option<String> {
        let of_package = || {
            let package = self.package.as_ref()?;
            let command = match package {
                Package::Pypi(_) => "pip install",
                Package::Npm(_) => "npm install -g",
                Package::Crate(_) => "cargo install",
                Package::Go(name) => return Some(format!("go install {name}@latest")),
            };
            let beside = self.package_with.iter().map(|more| format!(" {more}"));
            Some(format!("{command} {}{}", package.name(), beside.collect::<String>()))
        };
        self.install.clone().or_else(of_package)
    }

    /// The LSP language id of a file of the scenario's `language`.
    pub fn language_id<'a>(&'a self, extension: &str, language: &'a str) -> &'a str {
        self.language_ids.get(extension).map_or(language, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_is_no_initialization_options() {
        let with = |init_options| Profile {
            init_options,
            ..Profile::default()
        };
        for none in [None, Some(Value::Null)] {
            assert_eq!(with(none).initialization_options(), None);
        }
        assert_eq!(with(Some(json!({}))).initialization_options(), Some(&json!({})));
    }

    #[test]
    fn a_notification_matches_when_all_its_members_do() {
        let signal = NotificationSignal {
            method: "experimental/serverStatus".to_owned(),
            when: [("quiescent".to_owned(), json!(true))].into(),
            contains: BTreeMap::new(),
        };
        let says = |method, params| signal.matches(method, Some(&params));
        assert!(says(
            "experimental/serverStatus",
            json!({ "quiescent": true, "health": "ok" })
        ));
        assert!(!says("experimental/serverStatus", json!({ "quiescent": false })));
        assert!(!says("other", json!({ "quiescent": true })));
        assert!(!signal.matches("experimental/serverStatus", None));
    }

    #[test]
    fn a_progress_matches_by_what_is_given() {
        let signal = ProgressSignal {
            title: Some("Setting up workspace".to_owned()),
            token: None,
            end: Some("Error".to_owned()),
        };
        assert!(signal.matches(Some("Setting up workspace"), "1", Some("Error loading packages")));
        assert!(!signal.matches(Some("Setting up workspace"), "1", Some("Finished")));
        assert!(!signal.matches(None, "1", Some("Error")));
        assert!(ProgressSignal::default().matches(None, "1", None));
    }

    #[test]
    fn allocator_settings_of_the_surroundings_are_taken_away() {
        let profile = Profile {
            scrub: vec!["CARGO_PKG_*".to_owned(), "CARGO".to_owned()],
            ..Profile::default()
        };
        for variable in [
            "MALLOC_ARENA_MAX", "MALLOC_CONF", "LD_PRELOAD", "CARGO_PKG_NAME", "CARGO",
        ] {
            assert!(profile.scrubs(variable), "{variable}");
        }
        for variable in ["PATH", "CARGO_HOME", "HOME"] {
            assert!(!profile.scrubs(variable), "{variable}");
        }
    }
}
