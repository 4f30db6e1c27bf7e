//! Checks that the allocator reads the server's settings and accepts them.
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

use base::Cancel;
use base::text::nearest;
use record::{AllocatorFacts, AllocatorFamily, Confidence, KnobFacts};

use super::detect::Inspected;
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
    inspected: &'q Inspected,
    cancel: &'q Cancel,
}

/// The variable that Deno passes on to its V8; it ignores `NODE_OPTIONS`.
const DENO: &str = "DENO_V8_FLAGS";

/// The variable that names CPython's allocator of objects.
const PYTHON: &str = "PYTHONMALLOC";

/// The findings in a program under its variables: CPython can be set to take its objects from another allocator.
pub fn facts_under_variables(env: &BTreeMap<String, String>, mut facts: AllocatorFacts) -> AllocatorFacts {
    if facts.family != AllocatorFamily::Pymalloc {
        return facts;
    }
    let Some(value) = env.get(PYTHON) else {
        return facts;
    };
    let allocator = match value.strip_suffix("_debug").unwrap_or(value) {
        "malloc" => facts.beside.take().unwrap_or_default(),
        "mimalloc" => "mimalloc".to_owned(),
        _ => return facts,
    };
    let (family, version) = match allocator.split_once(' ') {
        Some((family, version)) if !version.is_empty() => (family, Some(version.to_owned())),
        Some((family, _)) => (family, None),
        None => (allocator.as_str(), None),
    };
    facts.family = AllocatorFamily::from_word(family);
    facts.version = version;
    let saw = format!("{PYTHON}={value} replaces CPython's own allocator");
    facts.evidence.push(super::evidence("environment", saw));
    facts
}

/// The reader of a variable; `None` if it is no allocator setting.
pub fn reader(variable: &str) -> Option<AllocatorFamily> {
    const PREFIXES: [(&str, AllocatorFamily); 6] = [
        ("MALLOC_", AllocatorFamily::Glibc),
        ("MIMALLOC_", AllocatorFamily::Mimalloc),
        ("TCMALLOC_", AllocatorFamily::Tcmalloc),
        ("TBB_MALLOC_", AllocatorFamily::Tbbmalloc),
        ("SNMALLOC_", AllocatorFamily::Snmalloc),
        ("SCUDO_", AllocatorFamily::Scudo),
    ];
    match variable {
        "_RJEM_MALLOC_CONF" | "MALLOC_CONF" | "JE_MALLOC_CONF" => Some(AllocatorFamily::Jemalloc),
        "GOGC" | "GOMEMLIMIT" | "GODEBUG" => Some(AllocatorFamily::Go),
        "NODE_OPTIONS" | DENO => Some(AllocatorFamily::V8),
        PYTHON => Some(AllocatorFamily::Pymalloc),
        "JAVA_TOOL_OPTIONS" | "JDK_JAVA_OPTIONS" | "_JAVA_OPTIONS" => Some(AllocatorFamily::Jvm),
        "GLIBC_TUNABLES" => Some(AllocatorFamily::Glibc),
        // It names a file for mtrace(3), and sets nothing of memory.
        "MALLOC_TRACE" => None,
        _ => {
            let prefix = PREFIXES.into_iter().find(|(prefix, _)| variable.starts_with(prefix));
            prefix.map(|(_, family)| family)
        }
    }
}

/// False if a program is known not to read an allocator setting. Other variables are not judged.
pub fn is_read(variable: &str, inspected: &Inspected) -> bool {
    let Some(family) = reader(variable) else { return true };
    let is_unknown = inspected.facts.family == AllocatorFamily::Unknown;
    is_unknown || check_reader(variable, family, inspected, None).is_ok()
}

/// True if a variable is to be checked: it is a setting of an allocator, or was meant to be one.
pub fn concerns(variable: &str) -> bool {
    reader(variable).is_some() || spelling::intended_variable(variable).is_some()
}

/// Checks every allocator setting among a server's variables. `declared` is the allocator of its profile, which is
/// trusted. A setting that only a guess contradicts is neither refused nor confirmed.
pub fn check(
    env: &BTreeMap<String, String>,
    subject: &Subject,
    inspected: &Inspected,
    declared: Option<AllocatorFamily>,
    cancel: &Cancel,
) -> Result<Checked, Vec<KnobError>> {
    let mut errors = Vec::new();
    let mut by_family: BTreeMap<AllocatorFamily, BTreeMap<String, String>> = BTreeMap::new();
    // Settings of other allocators than the guessed one.
    let mut doubtful = BTreeMap::new();
    for (variable, value) in env {
        let Some(family) = reader(variable) else {
            errors.extend(misspelt(variable, inspected));
            continue;
        };
        if let Some(error) = runtime::unknown_allocator(variable, value) {
            errors.push(error);
            continue;
        }
        match check_reader(variable, family, inspected, declared) {
            Ok(()) => {
                let env = by_family.entry(family).or_default();
                env.insert(variable.clone(), value.clone());
            }
            Err(KnobError::NotRead { .. }) if inspected.facts.confidence == Some(Confidence::Guess) => {
                doubtful.insert(variable.clone(), value.clone());
            }
            Err(error) => errors.push(error),
        }
    }
    let mut checked = unconfirmed_settings(&doubtful);
    for (family, env) in &by_family {
        let question = Question {
            env,
            subject,
            inspected,
            cancel,
        };
        match check_settings(&question, *family) {
            Ok(of_family) => {
                checked.knobs.extend(of_family.knobs);
                checked.options = checked.options.or(of_family.options);
                checked.confirmed.extend(of_family.confirmed);
            }
            Err(of_family) => errors.extend(of_family),
        }
    }
    if errors.is_empty() { Ok(checked) } else { Err(errors) }
}

/// Checks settings that this allocator or runtime reads.
fn check_settings(question: &Question<'_>, family: AllocatorFamily) -> Result<Checked, Vec<KnobError>> {
    match family {
        AllocatorFamily::Jemalloc => jemalloc::check(question),
        AllocatorFamily::Mimalloc => mimalloc::check(question),
        AllocatorFamily::Glibc => glibc::check(question),
        AllocatorFamily::Go => go::check(question),
        AllocatorFamily::V8 | AllocatorFamily::Pymalloc | AllocatorFamily::Jvm => runtime::check(question, family),
        AllocatorFamily::Tcmalloc => plain::check(question, "TCMALLOC_"),
        AllocatorFamily::Tbbmalloc => plain::check(question, "TBB_MALLOC_"),
        AllocatorFamily::Snmalloc
        | AllocatorFamily::Rpmalloc
        | AllocatorFamily::Scudo
        | AllocatorFamily::Musl
        | AllocatorFamily::Unknown => Ok(unconfirmed_settings(question.env)),
    }
}

/// The mistake in a name that is close to an allocator's variable. Of jemalloc's variables the one that this server
/// reads is suggested.
fn misspelt(variable: &str, inspected: &Inspected) -> Option<KnobError> {
    let mut meant = spelling::intended_variable(variable)?;
    let facts = &inspected.facts;
    if reader(&meant) == Some(AllocatorFamily::Jemalloc)
        && facts.family == AllocatorFamily::Jemalloc
        && let Some(own) = &facts.variable
    {
        meant.clone_from(own);
    }
    Some(KnobError::Misspelt {
        variable: variable.to_owned(),
        meant,
    })
}

/// The result for settings that nothing refused or confirmed.
fn unconfirmed_settings(env: &BTreeMap<String, String>) -> Checked {
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

/// Refuses a variable of `family` that the server's allocator or runtime does not read.
fn check_reader(
    variable: &str,
    family: AllocatorFamily,
    inspected: &Inspected,
    declared: Option<AllocatorFamily>,
) -> Result<(), KnobError> {
    let facts = &inspected.facts;
    if family == AllocatorFamily::Snmalloc {
        return Err(KnobError::NotRead {
            variable: variable.to_owned(),
            uses: "snmalloc is set when it is built".to_owned(),
            cure: "it reads no variables; remove it".to_owned(),
        });
    }
    if family == AllocatorFamily::Jemalloc && facts.family == AllocatorFamily::Jemalloc {
        return check_reader_jemalloc(variable, facts);
    }
    let is_declared = declared == Some(family);
    if family == AllocatorFamily::V8 && facts.family == AllocatorFamily::V8 && (!is_declared || inspected.node) {
        return check_reader_v8(variable, inspected);
    }
    // Many programs start Java or load it.
    let may_start_java = family == AllocatorFamily::Jvm && !is_other_runtime(facts.family);
    let is_beside = facts
        .beside
        .as_ref()
        .is_some_and(|beside| beside.starts_with(family.name()));
    let has_node = family == AllocatorFamily::V8 && inspected.node;
    if facts.family == family || is_declared || is_beside || has_node || may_start_java {
        return Ok(());
    }
    if facts.family == AllocatorFamily::Unknown {
        return Err(KnobError::Unknown(variable.to_owned()));
    }
    Err(KnobError::NotRead {
        variable: variable.to_owned(),
        uses: format!(
            "it belongs to {}, and this server uses {facts}{}",
            reader_name(family),
            unless_declared(facts, family)
        ),
        cure: cure(inspected),
    })
}

/// Refuses a variable of another build of jemalloc, which has another prefix.
fn check_reader_jemalloc(variable: &str, facts: &AllocatorFacts) -> Result<(), KnobError> {
    let Some(own) = facts.variable.as_deref() else {
        return Ok(());
    };
    if own == variable {
        return Ok(());
    }
    Err(KnobError::NotRead {
        variable: variable.to_owned(),
        uses: match &facts.prefix {
            Some(prefix) => format!("its {facts} was built with the prefix `{prefix}`"),
            None => format!("its {facts} was built without a prefix"),
        },
        cure: format!("set `{own}`"),
    })
}

/// The cure for a user who knows that the server starts another program; empty if an allocator itself answered.
fn unless_declared(facts: &AllocatorFacts, family: AllocatorFamily) -> String {
    if facts.family.is_replacement() && facts.confidence == Some(Confidence::Certain) {
        return String::new();
    }
    format!(
        ", unless its profile says `allocator = {{ linked = \"{}\" }}`",
        family.name()
    )
}

fn is_other_runtime(family: AllocatorFamily) -> bool {
    matches!(
        family,
        AllocatorFamily::Go | AllocatorFamily::V8 | AllocatorFamily::Pymalloc
    )
}

/// Refuses a variable that the program with V8 does not read: Node.js and Deno have each their own.
fn check_reader_v8(variable: &str, inspected: &Inspected) -> Result<(), KnobError> {
    let own = inspected.facts.variable.as_deref();
    let has_reader = variable == DENO || inspected.node;
    if has_reader && own.unwrap_or("NODE_OPTIONS") == variable {
        return Ok(());
    }
    let file = inspected.file.display();
    Err(KnobError::NotRead {
        variable: variable.to_owned(),
        uses: match own {
            Some(own) => format!("the program with V8 is `{file}`, which reads `{own}`"),
            None => format!("the program with V8 is `{file}`, which does not read it"),
        },
        cure: cure(inspected),
    })
}

/// A reader's name in a sentence.
fn reader_name(family: AllocatorFamily) -> &'static str {
    match family {
        AllocatorFamily::Pymalloc => "CPython",
        AllocatorFamily::V8 => "Node.js",
        AllocatorFamily::Jvm => "Java",
        AllocatorFamily::Go => "Go",
        other => other.name(),
    }
}

/// Advice to set a variable that the server's allocator reads.
fn cure(inspected: &Inspected) -> String {
    let facts = &inspected.facts;
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
        AllocatorFamily::V8 => match (&facts.variable, inspected.node) {
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

/// `did you mean …?`, or else `otherwise`.
fn suggestion<'n>(name: &str, names: impl Iterator<Item = &'n str>, otherwise: &str) -> String {
    match nearest(name, names) {
        // The common beginning of all names makes none of them any nearer.
        Some(near) if nearest(own_part(name), [own_part(near)]).is_some() => format!("did you mean `{near}`?"),
        _ => otherwise.to_owned(),
    }
}

/// The part of a setting's name after the common beginning: `check` of `glibc.malloc.check`, `VERBOSE` of
/// `MIMALLOC_VERBOSE`.
fn own_part(name: &str) -> &str {
    let name = name.rsplit('.').next().unwrap_or(name);
    match name.split_once("MALLOC_") {
        Some((start, own)) if start.chars().all(|c| c.is_ascii_uppercase() || c == '_') => own,
        _ => name,
    }
}

#[cfg(test)]
pub(super) mod tests;
