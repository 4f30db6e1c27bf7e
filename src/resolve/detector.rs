//! Examines servers, each program once, and says what that means for a run.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use super::tools::tools;
use super::{Env, preload};
use crate::config::Allocator;
use crate::resolve::{Program, ServerChoice, is_lens_option};
use allocator::knobs::{self, Checked, KnobError};
use allocator::preload::VARIABLE;
use allocator::preload::{PreloadError, Unlistable, compose};
use allocator::{Inspected, RUNTIME_VARIABLES, RuntimeSettings, Subject};
use base::Cancel;
use base::lens::Lens;
use proctree::host::{self, Toolchain};
use record::AllocatorDecay;
use record::jemalloc::CONFIRM;
use record::{
    AllocatorFacts, AllocatorFamily, Confidence, Evidence, Interpreter, KnobFacts, LensFacts, Preload, PreloadFacts,
    ServerFacts,
};

/// The start of jemalloc's option by which it confirms its settings, or does not.
const CONFIRMS: &str = "confirm_conf:";

/// A program as it lies on disk. A campaign starts it hundreds of times; to hash it each time takes longer than to ask
/// the system whether it was written to since.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
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

/// What was found of a server's program under each of its settings. Clones of a server share it: the runs of a campaign
/// start the same few programs, and one that is to be built is known only in its first run.
#[derive(Clone, Debug, Default)]
pub struct Examinations(Arc<Mutex<HashMap<Question, Arc<Examined>>>>);

impl Examinations {
    /// The earlier answer to a question, else that of `find`. The answer of a cancelled `find` is not used again.
    fn find_once(&self, question: &Question, cancel: &Cancel, find: impl FnOnce() -> Examined) -> Arc<Examined> {
        if let Some(earlier) = self.answers().get(question) {
            return Arc::clone(earlier);
        }
        let found = Arc::new(find());
        if !cancel.is_cancelled() {
            self.answers().insert(question.clone(), Arc::clone(&found));
        }
        found
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<Question, Arc<Examined>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All that an answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    key: Key,
    settings: Vec<(String, String)>,
    /// The allocator that the server's profile or its preload names.
    declared: Option<AllocatorFamily>,
    preload: Preload,
    library: Option<File>,
}

/// Everything that is known of a server before it runs. Its program was looked at once, and its settings were tried.
#[derive(Clone, Debug)]
pub struct Examined {
    pub inspected: Arc<Inspected>,
    subject: Subject,
    /// The interpreter of a script. To hash it takes a while, and only records of runs have it.
    interpreter: Arc<OnceLock<Option<Interpreter>>>,
    /// The facts of the preload.
    pub preload: Option<PreloadFacts>,
    /// The preload as a setting, if it can work.
    preloaded: Result<Option<KnobFacts>, PreloadError>,
    /// The settings as they were seen, or everything that is wrong with them.
    checked: Result<Checked, Vec<KnobError>>,
}

impl Examined {
    /// The settings and the preload, each with the value in force; or the reasons why it would not run as
    /// it is meant to, a sentence each.
    pub fn settings(&self) -> Result<Checked, Vec<String>> {
        if let Some(missing) = &self.inspected.missing {
            return Err(vec![missing.clone()]);
        }
        // Settings are not checked where their allocator would not be used.
        let preload = self.preloaded.clone().map_err(|error| vec![error.to_string()])?;
        match self.checked.clone() {
            Ok(mut checked) => {
                checked.knobs.extend(preload);
                Ok(checked)
            }
            Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
        }
    }

    /// The interpreter of a script, which is looked at once.
    pub fn interpreter(&self, cancel: &Cancel) -> Option<Interpreter> {
        let interpreter = self.interpreter.get_or_init(|| {
            let file = host::interpreter_file(&self.subject.program, &self.subject.which())?;
            Some(host::interpreter(&file, &self.subject.toolchain, cancel))
        });
        interpreter.clone()
    }

    /// The rule by which the server's allocator releases memory, under the settings that it is given.
    pub fn decay(&self, choice: &ServerChoice) -> Option<KnownDecay> {
        decay(choice, &self.inspected.facts, self.checked.as_ref().ok()?)
    }
}

/// The way in which a server's allocator releases memory, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownDecay {
    pub family: AllocatorFamily,
    pub decay: AllocatorDecay,
    /// True when the started program itself has the allocator; its children may have others.
    pub in_program: bool,
}

/// Examines a server that is `program`. `project` is the directory that it is started in, whose files may choose its
/// toolchain. Each program is looked at once, unless it was written to since.
pub fn examine(choice: &ServerChoice, program: &Path, project: Option<&Path>, cancel: &Cancel) -> Arc<Examined> {
    let key = key(choice, program, project);
    let plain = examine_program(choice, &key, cancel);
    if plain.inspected.missing.is_some() {
        return plain;
    }
    let mut question = Question {
        key,
        settings: Vec::new(),
        declared: None,
        preload: choice.preload.clone(),
        library: preload::library(choice).map(|library| File::read(library)),
    };
    // Whatever its settings, a preload is verified once.
    let preloaded = if question.library.is_none() {
        plain
    } else {
        choice.examinations.find_once(&question, cancel, || Examined {
            preload: preload::facts(choice, &plain.inspected, cancel),
            preloaded: preload::verify(choice, program, project, &plain.inspected, cancel),
            ..Examined::clone(&plain)
        })
    };
    question.settings = settings(choice);
    question.declared = declared(choice);
    if question.settings.is_empty() || preloaded.preloaded.is_err() {
        return preloaded;
    }
    choice.examinations.find_once(&question, cancel, || {
        let (env, subject) = (question.settings.iter().cloned().collect(), &question.key.subject);
        Examined {
            checked: knobs::check(&env, subject, &preloaded.inspected, question.declared, cancel),
            ..Examined::clone(&preloaded)
        }
    })
}

/// The allocator settings that a server is given.
fn settings(choice: &ServerChoice) -> Vec<(String, String)> {
    let settings = choice.env.iter().filter(|(name, _)| knobs::concerns(name));
    settings.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The mistakes in an installed server, a sentence each. Without settings and a preload to check it is not started: it is
/// examined when its run is prepared, which can be called off.
pub fn mistakes(choice: &ServerChoice, program: &Path) -> Vec<String> {
    let cancel = Cancel::default();
    if settings(choice).is_empty() && preload::library(choice).is_none() {
        return allocator::reason_not_to_run(&subject(choice, program), &cancel)
            .into_iter()
            .collect();
    }
    let examined = examine(choice, program, None, &cancel);
    examined.settings().err().unwrap_or_default()
}

/// The program of a server, without its settings.
pub fn inspect(choice: &ServerChoice, program: &Path, project: Option<&Path>, cancel: &Cancel) -> Arc<Inspected> {
    let examined = examine_program(choice, &key(choice, program, project), cancel);
    Arc::clone(&examined.inspected)
}

fn examine_program(choice: &ServerChoice, key: &Key, cancel: &Cancel) -> Arc<Examined> {
    let question = Question {
        key: key.clone(),
        settings: Vec::new(),
        declared: None,
        preload: Preload::System,
        library: None,
    };
    choice.examinations.find_once(&question, cancel, || Examined {
        inspected: Arc::new(allocator::inspect(&key.subject, cancel)),
        subject: key.subject.clone(),
        interpreter: Arc::default(),
        preload: None,
        preloaded: Ok(None),
        checked: Ok(Checked::default()),
    })
}

/// Stores the findings with each server whose program exists.
pub fn look(choices: &mut [ServerChoice]) {
    for choice in choices {
        if let Program::File(program) = &choice.program {
            choice.found = Some(inspect(choice, program, None, &Cancel::default()).facts.clone());
        }
    }
}

/// The allocator facts for the record: detected, or else from the profile, with the options in force.
pub fn facts(choice: &ServerChoice, detection: &Inspected, checked: &Checked) -> AllocatorFacts {
    let mut facts = knobs::facts_under_variables(&choice.env, detection.facts.clone());
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

/// The allocator of a server that a preload serves. A virtual machine keeps its own.
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
fn decay(choice: &ServerChoice, facts: &AllocatorFacts, checked: &Checked) -> Option<KnownDecay> {
    let facts = knobs::facts_under_variables(&choice.env, facts.clone());
    let declared = declared(choice);
    let family = match declared {
        Some(family) => family,
        None if facts.confidence > Some(Confidence::Guess) => facts.family,
        None => return None,
    };
    let told = RuntimeSettings {
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
        Some(Allocator::Linked(name)) => Some(AllocatorFamily::from_word(name)),
        Some(Allocator::Preload(_)) | None => None,
    };
    choice.preload.family().or(linked)
}

/// Identifies a server and everything that is preloaded into it, as long as its program is not written to.
fn key(choice: &ServerChoice, program: &Path, project: Option<&Path>) -> Key {
    let mut subject = subject(choice, program);
    subject.toolchain = project.map(Toolchain::read).unwrap_or_default();
    Key {
        file: File::read(program),
        subject,
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
pub fn settings_at_start(env: &Env, server: &ServerFacts) -> Vec<(String, String)> {
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
        .filter(|knob| lens.env.contains_key(&knob.variable) && is_lens_option(knob))
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(settings_at_start(&env, &server), [("NODE_OPTIONS".to_owned(), last)]);
    }
}
