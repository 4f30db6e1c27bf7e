//! Detects the allocators of servers, each program once, and checks their settings.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use super::Env;
use super::tools::tools;
use crate::config::Allocator;
use crate::resolve::{Program, ServerChoice, asks_for};
use allocator::knobs::{self, Checked, KnobError};
use allocator::preload::VARIABLE;
use allocator::preload::{Unlistable, compose};
use allocator::{Detection, RUNTIME_VARIABLES, Subject, Told};
use base::Cancel;
use base::lens::Lens;
use proctree::host::{self, Toolchain};
use record::AllocatorDecay;
use record::jemalloc::CONFIRM;
use record::{AllocatorFacts, AllocatorFamily, Confidence, Evidence, Interpreter, LensFacts, ServerFacts};

/// The start of jemalloc's option by which it confirms its settings, or does not.
const CONFIRMS: &str = "confirm_conf:";

/// A program as it lies on disk. A campaign starts it hundreds of times; to hash it each time takes longer than to ask
/// the system whether it was written to since.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    subject: Subject,
    file: File,
}

/// The length in bytes and the time of a file, which change when it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct File {
    length: u64,
    written: Option<SystemTime>,
}

impl File {
    fn read(path: &Path) -> File {
        let data = fs::metadata(path).ok();
        File {
            length: data.as_ref().map_or(0, fs::Metadata::len),
            written: data.and_then(|data| data.modified().ok()),
        }
    }
}

impl Key {
    fn in_project(mut self, project: Option<&Path>) -> Key {
        self.subject.toolchain = project.map(Toolchain::read).unwrap_or_default();
        self
    }
}

/// Findings by program, for the lifetime of lsp-soak.
static FOUND: LazyLock<Mutex<HashMap<Key, Arc<Detection>>>> = LazyLock::new(Mutex::default);

/// Versions, for the lifetime of lsp-soak: a program may take long to print its version.
static VERSIONS: LazyLock<Mutex<HashMap<Key, Option<String>>>> = LazyLock::new(Mutex::default);

/// Interpreters by their file, and by what chooses a toolchain where they are asked.
type Interpreters = HashMap<(File, PathBuf, Toolchain), Option<Interpreter>>;

/// Interpreters of scripts, for the lifetime of lsp-soak.
static INTERPRETERS: LazyLock<Mutex<Interpreters>> = LazyLock::new(Mutex::default);

/// Results of checked settings, by program and settings.
static CHECKED: LazyLock<Mutex<HashMap<Asked, Answer>>> = LazyLock::new(Mutex::default);

/// The way in which a server's allocator releases memory, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownDecay {
    pub family: AllocatorFamily,
    pub decay: AllocatorDecay,
    /// True when the started program itself has the allocator; its children may have others.
    pub in_program: bool,
}

/// The settings as they were seen, or everything that is wrong with them.
type Answer = Result<Checked, Vec<KnobError>>;

/// A program, the variables that it is given, and the allocator that its profile names.
type Asked = (Key, Vec<(String, String)>, Option<AllocatorFamily>);

/// The allocator facts of a server that is `program`.
pub fn detection(choice: &ServerChoice, program: &Path, cancel: &Cancel) -> Arc<Detection> {
    detected(&key(choice, program), cancel)
}

/// The allocator facts of a server that is started in `project`, whose files may choose its toolchain.
pub fn detection_in(project: &Path, choice: &ServerChoice, program: &Path, cancel: &Cancel) -> Arc<Detection> {
    detected(&key(choice, program).in_project(Some(project)), cancel)
}

/// A reason why the program of a server runs nothing, found without starting it.
pub fn missing(choice: &ServerChoice, program: &Path, cancel: &Cancel) -> Option<String> {
    let subject = subject(choice, program);
    allocator::missing(&subject, cancel)
}

/// Checks if the server takes the settings that it is given; every mistake in them is an error.
pub fn knobs(choice: &ServerChoice, program: &Path, cancel: &Cancel) -> Answer {
    let settings: Vec<(String, String)> = choice
        .env
        .iter()
        .filter(|(name, _)| knobs::concerns(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if settings.is_empty() {
        return Ok(Checked::default());
    }
    let declared = declared(choice);
    let asked = (key(choice, program), settings, declared);
    find_once(&CHECKED, &asked, cancel, || {
        let detection = detected(&asked.0, cancel);
        let env = asked.1.iter().cloned().collect();
        knobs::check(&env, &asked.0.subject, &detection, declared, cancel)
    })
}

/// The earlier result for `key`, else that of `find`. The result of an interrupted `find` is not reused.
fn find_once<K: Clone + Eq + Hash, V: Clone>(
    results: &Mutex<HashMap<K, V>>,
    key: &K,
    cancel: &Cancel,
    find: impl FnOnce() -> V,
) -> V {
    let earlier = results.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
    if let Some(earlier) = earlier {
        return earlier;
    }
    let result = find();
    if !cancel.is_cancelled() {
        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
        results.insert(key.clone(), result.clone());
    }
    result
}

/// Stores the findings with each server whose program exists.
pub fn look(choices: &mut [ServerChoice]) {
    for choice in choices {
        if let Program::File(program) = &choice.program {
            choice.found = Some(detection(choice, program, &Cancel::default()).facts.clone());
        }
    }
}

/// The allocator facts for the record: detected, or else from the profile, with the options in force.
pub fn facts(choice: &ServerChoice, detection: &Detection, checked: &Checked) -> AllocatorFacts {
    let mut facts = knobs::under(&choice.env, detection.facts.clone());
    if let Some(options) = &checked.options {
        facts.options.clone_from(options);
    }
    let served = checked
        .knobs
        .iter()
        .any(|knob| knob.variable == VARIABLE && knob.taken == Some(true));
    if served {
        preloaded(choice, &mut facts);
        return facts;
    }
    let preload_is_unseen = choice.preload.family().is_some();
    if preload_is_unseen && facts.family != AllocatorFamily::Unknown {
        return facts;
    }
    believed(declared(choice), facts)
}

/// The detected facts, or the profile's: a profile knows what a launcher starts. An allocator that answered the probe
/// outranks the profile.
pub fn believed(declared: Option<AllocatorFamily>, mut facts: AllocatorFacts) -> AllocatorFacts {
    let family = match declared {
        Some(family) if family != AllocatorFamily::Unknown && family != facts.family => family,
        _ => return facts,
    };
    let guess = match facts.confidence {
        Some(confidence) => format!("{facts} was found ({})", confidence.name()),
        None => "nothing else was found".to_owned(),
    };
    let answered = facts.family.is_replacement() && facts.confidence == Some(Confidence::Certain);
    let mut evidence = std::mem::take(&mut facts.evidence);
    evidence.push(Evidence {
        source: "profile".to_owned(),
        saw: if answered {
            format!("its profile says {family}, but {facts} reported itself")
        } else {
            format!("its profile says {family}; {guess}")
        },
    });
    if !answered {
        facts = AllocatorFacts {
            family,
            confidence: Some(match facts.family {
                AllocatorFamily::Unknown => Confidence::Guess,
                _ => Confidence::Likely,
            }),
            beside: facts.beside,
            ..AllocatorFacts::default()
        };
    }
    AllocatorFacts { evidence, ..facts }
}

/// The allocator of a server whose loader bound `malloc` to the preload. A virtual machine keeps its own.
fn preloaded(choice: &ServerChoice, facts: &mut AllocatorFacts) {
    let shown = choice.libraries.first().map(|path| path.display().to_string());
    facts.evidence.push(Evidence {
        source: "preload".to_owned(),
        saw: format!("its `malloc` is that of `{}`", shown.unwrap_or_default()),
    });
    let family = choice.preload.family().unwrap_or_default();
    let serves_instead = match facts.family {
        AllocatorFamily::V8 | AllocatorFamily::Jvm | AllocatorFamily::Pymalloc => return,
        own if family == own => false,
        // An unknown library; it is not the C library's.
        AllocatorFamily::Glibc | AllocatorFamily::Musl => true,
        _ => family != AllocatorFamily::Unknown,
    };
    if serves_instead {
        (facts.family, facts.version) = (family, None);
        facts.options.clear();
    }
    facts.confidence = match facts.family {
        AllocatorFamily::Unknown => None,
        _ => Some(Confidence::Certain),
    };
}

/// When the server's allocator gives memory back, under the settings that it is given. A guess says nothing of that: a
/// window would not be waited for, and its allocator be blamed.
pub fn decay(choice: &ServerChoice, facts: &AllocatorFacts, checked: &Checked) -> Option<KnownDecay> {
    let facts = knobs::under(&choice.env, facts.clone());
    let declared = declared(choice);
    let family = match declared {
        Some(family) => family,
        None if facts.confidence > Some(Confidence::Guess) => facts.family,
        None => return None,
    };
    let told = Told {
        env: &runtime_settings(choice),
        words: &choice.args,
    };
    let decay = allocator::decay(family, checked.options.as_ref().unwrap_or(&facts.options), told)?;
    Some(KnownDecay {
        family,
        decay,
        in_program: declared.is_none(),
    })
}

/// The variables by which a runtime decides when it returns memory, as the server has them.
pub fn runtime_settings(choice: &ServerChoice) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for name in RUNTIME_VARIABLES {
        let value = match choice.env.get(name) {
            Some(own) => Some(own.clone()),
            None if choice.profile.scrubs(name) => None,
            None => env::var(name).ok(),
        };
        if let Some(value) = value {
            settings.insert(name.to_owned(), value);
        }
    }
    settings
}

/// The allocator that is preloaded, or that the profile names.
pub fn declared(choice: &ServerChoice) -> Option<AllocatorFamily> {
    let linked = match &choice.profile.allocator {
        Some(Allocator::Linked(name)) => Some(AllocatorFamily::named(name)),
        Some(Allocator::Preload(_)) | None => None,
    };
    choice.preload.family().or(linked)
}

/// Identifies a server and everything that is preloaded into it, as long as its program is not written to.
pub fn key(choice: &ServerChoice, program: &Path) -> Key {
    Key {
        subject: subject(choice, program),
        file: File::read(program),
    }
}

/// Makes jemalloc confirm in the run itself, on stderr, the settings that it confirmed when it was checked.
pub fn confirm(env: &mut Env, checked: &Checked) {
    for (name, value) in env {
        let was_confirmed = name.to_str().is_some_and(|name| checked.confirmed.contains(name));
        let Some(list) = value else { continue };
        // The user's own option is kept.
        let has_option = list.to_str().is_some_and(|list| list.contains(CONFIRMS));
        if !was_confirmed || has_option {
            continue;
        }
        let mut confirming = OsString::from(CONFIRM);
        // jemalloc complains of a list that ends with a comma.
        if !list.is_empty() {
            confirming.push(",");
            confirming.push(&list);
        }
        *list = confirming;
    }
}

/// The allocator settings that a server starts with, each in the system's form; a preload is seen in the mappings. Of two
/// equal names the last counts.
pub fn given(env: &Env, server: &ServerFacts) -> Vec<(String, String)> {
    let mut settings = BTreeMap::new();
    for (name, value) in env {
        let (Some(name), Some(value)) = (name.to_str(), value.as_ref().and_then(|value| value.to_str())) else {
            continue;
        };
        let is_knob = server.knobs.iter().any(|knob| knob.variable == name);
        if name != VARIABLE && (is_knob || server.lens.env.contains_key(name)) {
            settings.insert(name.to_owned(), value.to_owned());
        }
    }
    settings.into_iter().collect()
}

/// The lens of a run, and whether the server was seen to look through it.
pub fn lens(choice: &ServerChoice, checked: &Checked) -> LensFacts {
    let lens = &choice.lens;
    let own: Vec<Option<bool>> = checked
        .knobs
        .iter()
        .filter(|knob| lens.env.contains_key(&knob.variable) && asks_for(knob))
        .map(|knob| knob.taken)
        .collect();
    LensFacts {
        name: lens.lens,
        allocator: lens.allocator.clone(),
        env: lens.env.clone(),
        approximate: lens.approximate,
        forced: lens.forced,
        collected_by: lens.collected_by.as_ref().map(ToString::to_string),
        without_live: lens.without_live,
        without_windows: lens.lens == Lens::Purged,
        verified: match own.as_slice() {
            [] => None,
            own if own.contains(&Some(false)) => Some(false),
            own if own.contains(&None) => None,
            _ => Some(true),
        },
    }
}

fn detected(key: &Key, cancel: &Cancel) -> Arc<Detection> {
    find_once(&FOUND, key, cancel, || {
        Arc::new(allocator::detect(&key.subject, cancel))
    })
}

/// The server as it would be started, without the settings of its allocator.
pub fn subject(choice: &ServerChoice, program: &Path) -> Subject {
    let profile = &choice.profile;
    let inherited = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut changes: Vec<(OsString, Option<OsString>)> = inherited
        .filter(|name| profile.scrubs(name))
        .map(|name| (name.into(), None))
        .collect();
    changes.sort();
    if profile.cache_env.contains_key("HOME") {
        changes.extend(tools());
    }
    for (name, value) in &choice.env {
        if knobs::reader(name).is_none() {
            changes.push((name.into(), Some(value.into())));
        }
    }
    // An unusable path was reported at detection.
    if let Ok(Some(listed)) = listed(choice) {
        changes.push((VARIABLE.into(), Some(listed)));
    }
    let typed = choice.env.get(VARIABLE).map(String::as_str).unwrap_or_default();
    let typed = typed.split([':', ' ']).filter(|path| path.starts_with('/'));
    let preloaded = choice.libraries.iter().cloned().chain(typed.map(PathBuf::from));
    Subject {
        program: program.to_owned(),
        teller: match &profile.version_program {
            Some(name) => program.with_file_name(name),
            None => program.to_owned(),
        },
        version_args: profile.version_args().into_iter().map(str::to_owned).collect(),
        path: match choice.env.get("PATH") {
            Some(path) => path.into(),
            None => env::var_os("PATH").unwrap_or_default(),
        },
        preloaded: preloaded.collect(),
        env: changes,
        caches: profile.cache_env.clone(),
        toolchain: Toolchain::default(),
    }
}

/// The preload variable for a server's loader; `None` without a preload of ours.
pub fn listed(choice: &ServerChoice) -> Result<Option<OsString>, Unlistable> {
    if choice.libraries.is_empty() {
        return Ok(None);
    }
    let typed = choice.env.get(VARIABLE).map(OsStr::new);
    compose(&choice.libraries, typed)
}

/// The version that a server prints: mostly it did so when it was asked for its allocator, and is not started again.
pub fn version(choice: &ServerChoice, program: &Path, project: Option<&Path>, cancel: &Cancel) -> Option<String> {
    let key = key(choice, program).in_project(project);
    if let Some(version) = &detected(&key, cancel).version {
        return Some(version.clone());
    }
    find_once(&VERSIONS, &key, cancel, || allocator::version(&key.subject, cancel))
}

/// The interpreter of a server that is a script. Each is asked once.
pub fn interpreter(
    choice: &ServerChoice,
    program: &Path,
    project: Option<&Path>,
    cancel: &Cancel,
) -> Option<Interpreter> {
    let path = host::interpreter_file(program, &subject(choice, program).which())?;
    let toolchain = project.map(Toolchain::read).unwrap_or_default();
    let key = (File::read(&path), path, toolchain);
    find_once(&INTERPRETERS, &key, cancel, || {
        Some(host::interpreter(&key.1, &key.2, cancel))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::KnobFacts;

    fn detected_facts(family: AllocatorFamily, confidence: Option<Confidence>) -> AllocatorFacts {
        AllocatorFacts {
            family,
            version: Some("1.2".to_owned()),
            confidence,
            ..AllocatorFacts::default()
        }
    }

    #[test]
    fn a_profile_is_believed_of_a_launcher_and_not_against_an_allocator_that_answered() {
        let (go, likely) = (Some(AllocatorFamily::Go), Some(Confidence::Likely));
        let launcher = believed(go, detected_facts(AllocatorFamily::V8, Some(Confidence::Certain)));
        assert_eq!(
            (launcher.family, launcher.version, launcher.confidence),
            (AllocatorFamily::Go, None, likely)
        );
        assert_eq!(
            launcher.evidence[0].saw,
            "its profile says go; v8 in node 1.2 was found (certain)"
        );
        let spoke = detected_facts(AllocatorFamily::Jemalloc, Some(Confidence::Certain));
        let kept = believed(go, spoke.clone());
        assert_eq!((kept.family, kept.confidence), (spoke.family, spoke.confidence));
        assert_eq!(
            kept.evidence[0].saw,
            "its profile says go, but jemalloc 1.2 reported itself"
        );
        assert_eq!(believed(Some(spoke.family), spoke.clone()), spoke);
        let unknown = believed(go, detected_facts(AllocatorFamily::Unknown, None));
        assert_eq!(
            (unknown.family, unknown.confidence),
            (AllocatorFamily::Go, Some(Confidence::Guess))
        );
    }

    #[test]
    fn of_a_variable_that_is_set_twice_the_last_value_is_looked_for() {
        let env: Env = ["--own", "--own --require \"x\""]
            .map(|value| ("NODE_OPTIONS".into(), Some(value.into())))
            .into();
        let knob = KnobFacts {
            variable: "NODE_OPTIONS".to_owned(),
            ..KnobFacts::default()
        };
        let server = ServerFacts {
            knobs: vec![knob],
            ..ServerFacts::default()
        };
        let last = "--own --require \"x\"".to_owned();
        assert_eq!(given(&env, &server), [("NODE_OPTIONS".to_owned(), last)]);
    }
}
