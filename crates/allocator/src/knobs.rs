//! Whether the allocator reads the server's settings and accepts them.
//!
//! Each is checked before any run: by the allocator's own output if it has one, by its rules otherwise.

mod glibc;
mod go;
mod jemalloc;
mod mimalloc;
mod plain;
mod runtime;
mod spelling;

pub use self::mimalloc::purge_delay;

use std::collections::{BTreeMap, BTreeSet};

use base::text::nearest;
use record::{AllocatorFacts, AllocatorFamily, Confidence, KnobFacts};

use super::detect::Detection;
use super::probe::Subject;

/// A setting without effect, or with another effect than intended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnobError {
    #[error("`{variable}` does nothing: {uses}; {cure}")]
    NotRead {
        variable: String,
        /// The value that is used instead, as a sentence.
        uses: String,
        cure: String,
    },
    #[error("`{variable}` is read by no allocator: did you mean `{meant}`?")]
    Misspelt { variable: String, meant: String },
    #[error(
        "`{0}` cannot be verified because the allocator is not known: name it in a profile, `allocator = {{ linked = \
         \"jemalloc\" }}`, or remove the variable"
    )]
    Unknown(String),
    /// The allocator has no option of this name.
    #[error("{uses} has no option `{option}`, set in `{variable}`: {cure}")]
    Option {
        variable: String,
        option: String,
        uses: String,
        cure: String,
    },
    /// The option does not take the value.
    #[error("`{written}` has no effect: {why}; {cure}")]
    Value { written: String, why: String, cure: String },
}

/// The result for valid settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Each setting, as it was asked for and as it was seen.
    pub knobs: Vec<KnobFacts>,
    /// Every option of the allocator under these settings, where it prints them.
    pub options: Option<BTreeMap<String, String>>,
    /// Variables whose settings jemalloc confirms on request, since 5.3.
    pub confirmed: BTreeSet<String>,
}

/// Settings, and the program to check them on.
struct Question<'q> {
    env: &'q BTreeMap<String, String>,
    subject: &'q Subject,
    detection: &'q Detection,
    stop: &'q dyn Fn() -> bool,
}

/// What Deno passes on to its V8; it gives `NODE_OPTIONS` no heed.
const DENO: &str = "DENO_V8_FLAGS";

/// Where CPython takes its objects from.
const PYTHON: &str = "PYTHONMALLOC";

/// The findings in a program under its variables: CPython can be set to take its objects from another allocator.
pub fn under(env: &BTreeMap<String, String>, mut facts: AllocatorFacts) -> AllocatorFacts {
    let Some(value) = env.get(PYTHON).filter(|_| facts.family == AllocatorFamily::Pymalloc) else {
        return facts;
    };
    let own = value.strip_suffix("_debug").unwrap_or(value);
    let other = match own {
        "malloc" => facts.beside.take(),
        "mimalloc" => Some(own.to_owned()),
        _ => return facts,
    };
    let other = other.unwrap_or_default();
    let (family, version) = other.split_once(' ').unwrap_or((&other, ""));
    facts.family = AllocatorFamily::named(family);
    facts.version = Some(version.to_owned()).filter(|version| !version.is_empty());
    let saw = format!("{PYTHON}={value} replaces CPython's own allocator");
    facts.evidence.push(super::seen("environment", saw));
    facts
}

/// The reader of a variable; `None` if it is no allocator setting.
pub fn reader(variable: &str) -> Option<AllocatorFamily> {
    let starts = |start: &str| variable.starts_with(start);
    match variable {
        "_RJEM_MALLOC_CONF" | "MALLOC_CONF" | "JE_MALLOC_CONF" => Some(AllocatorFamily::Jemalloc),
        "GOGC" | "GOMEMLIMIT" | "GODEBUG" => Some(AllocatorFamily::Go),
        "NODE_OPTIONS" | DENO => Some(AllocatorFamily::V8),
        PYTHON => Some(AllocatorFamily::Pymalloc),
        "JAVA_TOOL_OPTIONS" | "JDK_JAVA_OPTIONS" | "_JAVA_OPTIONS" => Some(AllocatorFamily::Jvm),
        "GLIBC_TUNABLES" => Some(AllocatorFamily::Glibc),
        // It names a file for mtrace(3), and sets nothing of memory.
        "MALLOC_TRACE" => None,
        _ if starts("MALLOC_") => Some(AllocatorFamily::Glibc),
        _ if starts("MIMALLOC_") => Some(AllocatorFamily::Mimalloc),
        _ if starts("TCMALLOC_") => Some(AllocatorFamily::Tcmalloc),
        _ if starts("TBB_MALLOC_") => Some(AllocatorFamily::Tbbmalloc),
        _ if starts("SNMALLOC_") => Some(AllocatorFamily::Snmalloc),
        _ if starts("SCUDO_") => Some(AllocatorFamily::Scudo),
        _ => None,
    }
}

/// Whether a program reads a variable, as far as known; other variables than allocator settings are not judged.
pub fn is_read(variable: &str, detection: &Detection) -> bool {
    let is_known = detection.facts.family != AllocatorFamily::Unknown;
    reader(variable).is_none_or(|family| !is_known || fits(variable, family, detection, None).is_ok())
}

/// Whether a variable is to be checked: it is a setting of an allocator, or was meant to be one.
pub fn concerns(variable: &str) -> bool {
    reader(variable).is_some() || spelling::meant(variable).is_some()
}

/// Checks every allocator setting among a server's variables. `declared` is the allocator of its profile, which is
/// trusted. A setting that only a guess contradicts is neither refused nor confirmed.
pub fn check(
    env: &BTreeMap<String, String>,
    subject: &Subject,
    detection: &Detection,
    declared: Option<AllocatorFamily>,
    stop: &dyn Fn() -> bool,
) -> Result<Checked, Vec<KnobError>> {
    let mut errors = Vec::new();
    let mut of: BTreeMap<AllocatorFamily, BTreeMap<String, String>> = BTreeMap::new();
    let mut guessed = BTreeMap::new();
    for (variable, value) in env {
        let Some(family) = reader(variable) else {
            errors.extend(misspelt(variable, detection));
            continue;
        };
        if let Some(error) = runtime::unknown_allocator(variable, value) {
            errors.push(error);
            continue;
        }
        match fits(variable, family, detection, declared) {
            Ok(()) => {
                of.entry(family).or_default().insert(variable.clone(), value.clone());
            }
            Err(KnobError::NotRead { .. }) if detection.facts.confidence == Some(Confidence::Guess) => {
                guessed.insert(variable.clone(), value.clone());
            }
            Err(error) => errors.push(error),
        }
    }
    let mut checked = unseen(&guessed);
    for (family, env) in &of {
        let question = Question {
            env,
            subject,
            detection,
            stop,
        };
        let answer = match family {
            AllocatorFamily::Jemalloc => jemalloc::check(&question),
            AllocatorFamily::Mimalloc => mimalloc::check(&question),
            AllocatorFamily::Glibc => glibc::check(&question),
            AllocatorFamily::Go => go::check(&question),
            AllocatorFamily::V8 | AllocatorFamily::Pymalloc | AllocatorFamily::Jvm => {
                runtime::check(&question, *family)
            }
            AllocatorFamily::Tcmalloc => plain::check(&question, "TCMALLOC_"),
            AllocatorFamily::Tbbmalloc => plain::check(&question, "TBB_MALLOC_"),
            AllocatorFamily::Snmalloc
            | AllocatorFamily::Rpmalloc
            | AllocatorFamily::Scudo
            | AllocatorFamily::Musl
            | AllocatorFamily::Unknown => Ok(unseen(env)),
        };
        match answer {
            Ok(one) => {
                checked.knobs.extend(one.knobs);
                checked.options = checked.options.or(one.options);
                checked.confirmed.extend(one.confirmed);
            }
            Err(more) => errors.extend(more),
        }
    }
    match errors.is_empty() {
        true => Ok(checked),
        false => Err(errors),
    }
}

/// That a variable comes so near to one of an allocator that it was meant; of jemalloc's the one that this server reads.
fn misspelt(variable: &str, detection: &Detection) -> Option<KnobError> {
    let meant = spelling::meant(variable)?;
    let family = reader(&meant);
    let own = detection.facts.variable.clone();
    let own = own.filter(|_| family == Some(AllocatorFamily::Jemalloc) && family == Some(detection.facts.family));
    Some(KnobError::Misspelt {
        variable: variable.to_owned(),
        meant: own.unwrap_or(meant),
    })
}

fn unseen(env: &BTreeMap<String, String>) -> Checked {
    let knobs = env.iter().map(|(variable, value)| KnobFacts {
        variable: variable.clone(),
        requested: value.clone(),
        ..KnobFacts::default()
    });
    Checked {
        knobs: knobs.collect(),
        ..Checked::default()
    }
}

/// Whether what the server has reads the variable.
fn fits(
    variable: &str,
    family: AllocatorFamily,
    detection: &Detection,
    declared: Option<AllocatorFamily>,
) -> Result<(), KnobError> {
    let facts = &detection.facts;
    let beside = facts.beside.as_deref().unwrap_or_default();
    if family == AllocatorFamily::Snmalloc {
        return Err(KnobError::NotRead {
            variable: variable.to_owned(),
            uses: "snmalloc is set when it is built".to_owned(),
            cure: "it reads no variables; remove it".to_owned(),
        });
    }
    if family == AllocatorFamily::Jemalloc && facts.family == AllocatorFamily::Jemalloc {
        return match facts.variable.as_deref() {
            Some(own) if own != variable => Err(KnobError::NotRead {
                variable: variable.to_owned(),
                uses: match &facts.prefix {
                    Some(prefix) => format!("its {facts} was built with the prefix `{prefix}`"),
                    None => format!("its {facts} was built without a prefix"),
                },
                cure: format!("set `{own}`"),
            }),
            Some(_) | None => Ok(()),
        };
    }
    if family == AllocatorFamily::V8 && facts.family == AllocatorFamily::V8 && declared != Some(family) {
        return of_v8(variable, detection);
    }
    // Many programs start Java or load it.
    let may_start = family == AllocatorFamily::Jvm && !is_other_runtime(facts.family);
    let known = may_start
        || facts.family == family
        || declared == Some(family)
        || beside.starts_with(family.name())
        || (family == AllocatorFamily::V8 && detection.node);
    if known {
        return Ok(());
    }
    if facts.family == AllocatorFamily::Unknown {
        return Err(KnobError::Unknown(variable.to_owned()));
    }
    Err(KnobError::NotRead {
        variable: variable.to_owned(),
        uses: format!(
            "it belongs to {}, and this server uses {facts}{}",
            words(family),
            unless(facts, family)
        ),
        cure: cure(detection),
    })
}

/// The cure for a user who knows that the server starts another program; empty if an allocator itself answered.
fn unless(facts: &AllocatorFacts, family: AllocatorFamily) -> String {
    let answered = facts.family.is_replacement() && facts.confidence == Some(Confidence::Certain);
    match answered {
        true => String::new(),
        false => format!(
            ", unless its profile says `allocator = {{ linked = \"{}\" }}`",
            family.name()
        ),
    }
}

fn is_other_runtime(family: AllocatorFamily) -> bool {
    matches!(
        family,
        AllocatorFamily::Go | AllocatorFamily::V8 | AllocatorFamily::Pymalloc
    )
}

/// Whether the program that holds V8 reads the variable: Node.js and Deno have each their own.
fn of_v8(variable: &str, detection: &Detection) -> Result<(), KnobError> {
    let own = detection.facts.variable.as_deref();
    match own.unwrap_or("NODE_OPTIONS") {
        own if own == variable && (variable == DENO || detection.node) => Ok(()),
        _ => Err(KnobError::NotRead {
            variable: variable.to_owned(),
            uses: match own {
                Some(own) => format!(
                    "the program with V8 is `{}`, which reads `{own}`",
                    detection.file.display()
                ),
                None => format!(
                    "the program with V8 is `{}`, which does not read it",
                    detection.file.display()
                ),
            },
            cure: cure(detection),
        }),
    }
}

/// A reader's name in a sentence.
fn words(family: AllocatorFamily) -> &'static str {
    match family {
        AllocatorFamily::Pymalloc => "CPython",
        AllocatorFamily::V8 => "Node.js",
        AllocatorFamily::Jvm => "Java",
        AllocatorFamily::Go => "Go",
        other => other.name(),
    }
}

/// The variables that a server's allocator reads.
fn cure(detection: &Detection) -> String {
    let facts = &detection.facts;
    match facts.family {
        AllocatorFamily::Jemalloc => {
            let variable = facts.variable.as_deref().unwrap_or("_RJEM_MALLOC_CONF");
            format!("set `{variable}`, such as {variable}=dirty_decay_ms:1000")
        }
        AllocatorFamily::Mimalloc => format!(
            "set one of its own, such as `{}`",
            mimalloc::purge_delay(&facts.options)
        ),
        AllocatorFamily::Glibc => "set `GLIBC_TUNABLES`, or such as `MALLOC_ARENA_MAX`".to_owned(),
        AllocatorFamily::Go => "set `GOGC`, `GOMEMLIMIT` or `GODEBUG`".to_owned(),
        AllocatorFamily::V8 => match (&facts.variable, detection.node) {
            (Some(variable), _) => format!("set `{variable}`"),
            (None, true) => "set `NODE_OPTIONS`".to_owned(),
            (None, false) => "leave it out".to_owned(),
        },
        AllocatorFamily::Pymalloc => {
            "set `PYTHONMALLOC`, or of what the C library serves such as `MALLOC_ARENA_MAX`".to_owned()
        }
        AllocatorFamily::Jvm => "set `JAVA_TOOL_OPTIONS`".to_owned(),
        AllocatorFamily::Tcmalloc => "set one of its own, `TCMALLOC_…`".to_owned(),
        AllocatorFamily::Scudo => "set `SCUDO_OPTIONS`".to_owned(),
        AllocatorFamily::Tbbmalloc
        | AllocatorFamily::Snmalloc
        | AllocatorFamily::Rpmalloc
        | AllocatorFamily::Musl
        | AllocatorFamily::Unknown => "it reads no variables; remove it".to_owned(),
    }
}

/// `did you mean …?`, or else what there is.
fn near<'n>(name: &str, names: impl Iterator<Item = &'n str> + Clone, otherwise: &str) -> String {
    // What all names begin with makes none of them any nearer.
    let near = nearest(name, names).filter(|near| nearest(tail(name), [tail(near)]).is_some());
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise.to_owned(),
    }
}

/// What of a setting's name is its own: `check` of `glibc.malloc.check`, `VERBOSE` of `MIMALLOC_VERBOSE`.
fn tail(name: &str) -> &str {
    let name = name.rsplit('.').next().unwrap_or(name);
    match name.split_once("MALLOC_") {
        Some((start, own)) if start.chars().all(|c| c.is_ascii_uppercase() || c == '_') => own,
        _ => name,
    }
}

#[cfg(test)]
pub(super) mod tests;
