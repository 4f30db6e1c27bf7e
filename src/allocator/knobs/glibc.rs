//! Tunables of the GNU C library, checked by the program's own loader: it lists them with the values in force.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use super::super::glibc::{LEGACY, Tunable, number, tunables};
use super::super::preload;
use super::super::probe::{self, Subject};
use super::{Checked, KnobError, Question, near, unseen};
use crate::record::{AllocatorFamily, KnobFacts};

/// The variable that holds tunables.
const TUNABLES: &str = "GLIBC_TUNABLES";

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let (mut asked, mut errors) = (Vec::new(), Vec::new());
    let plain = listed(question, &BTreeMap::new());
    for (variable, value) in question.env {
        for request in requests(variable, value) {
            let request = request.and_then(|request| valid(request, &plain));
            match request.and_then(|request| in_force(request, question)) {
                Ok(request) => asked.push(request),
                Err(error) => errors.push(error),
            }
        }
    }
    errors.extend(asked.iter().filter_map(|request| overruled(request, &asked)));
    if !errors.is_empty() {
        return Err(errors);
    }
    if plain.is_empty() {
        return Ok(unseen(question.env));
    }
    let now = listed(question, question.env);
    let knob = |request: Request| {
        let effective = now.get(&request.tunable).map(|tunable| tunable.value.clone());
        KnobFacts {
            taken: effective.as_ref().map(|value| number(value) == number(&request.value)),
            option: (request.variable == TUNABLES).then_some(request.tunable),
            variable: request.variable,
            requested: request.value,
            effective,
            seen: Some("its loader's list".to_owned()),
        }
    };
    Ok(Checked {
        knobs: asked.into_iter().map(knob).collect(),
        options: None,
    })
}

/// What is asked of one tunable.
struct Request {
    variable: String,
    tunable: String,
    value: String,
}

/// That a variable of old says otherwise than `GLIBC_TUNABLES`, which glibc follows wherever the two stand.
fn overruled(request: &Request, asked: &[Request]) -> Option<KnobError> {
    let rules = |other: &&Request| other.variable == TUNABLES && other.tunable == request.tunable;
    let differs = |other: &Request| number(&other.value) != number(&request.value);
    let is_old = request.variable != TUNABLES;
    let ruling = asked.iter().rfind(rules).filter(|other| is_old && differs(other))?;
    Some(KnobError::NotRead {
        variable: request.variable.clone(),
        uses: format!(
            "`{TUNABLES}` sets `{}` to {} and goes before it",
            request.tunable, ruling.value
        ),
        cure: "leave one of the two out".to_owned(),
    })
}

/// The tunables that the loader lists under these settings; none where there is no loader, or an old one.
fn listed(question: &Question<'_>, env: &BTreeMap<String, String>) -> BTreeMap<String, Tunable> {
    let Some(loader) = &question.detection.loader else {
        return BTreeMap::new();
    };
    let with: Vec<(&str, &str)> = env
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let heard = probe::ask_other(question.subject, loader, &["--list-tunables"], &with, question.stop);
    heard.map(|heard| tunables(&heard.said.stdout)).unwrap_or_default()
}

fn requests(variable: &str, value: &str) -> Vec<Result<Request, KnobError>> {
    let request = |tunable: &str, value: &str| Request {
        variable: variable.to_owned(),
        tunable: tunable.to_owned(),
        value: value.to_owned(),
    };
    if variable != TUNABLES {
        let legacy = LEGACY.iter().find(|(name, _)| *name == variable);
        return vec![match legacy {
            Some((_, tunable)) => Ok(request(tunable, value)),
            None => Err(KnobError::NotRead {
                variable: variable.to_owned(),
                uses: "glibc has no such variable".to_owned(),
                cure: near(variable, LEGACY.iter().map(|(name, _)| *name), "use `GLIBC_TUNABLES`"),
            }),
        }];
    }
    let pairs = value.split(':').map(|pair| match pair.split_once('=') {
        Some((tunable, value)) => Ok(request(tunable, value)),
        None => Err(KnobError::Value {
            written: format!("{variable}={value}"),
            why: format!("`{pair}` sets no tunable"),
            cure: "write NAME=VALUE:NAME=VALUE".to_owned(),
        }),
    });
    pairs.collect()
}

/// The library that does what `MALLOC_CHECK_` asks for, and from which version on (NEWS of glibc 2.34) nothing else does.
const DEBUG: &str = "libc_malloc_debug";
const SPLIT: (u32, u32) = (2, 34);

/// Refuses what the loader lists and the C library does not do by itself any more.
fn in_force(request: Request, question: &Question<'_>) -> Result<Request, KnobError> {
    let Subject { preloaded, env, .. } = question.subject;
    let is_debug = |text: &OsStr| text.to_string_lossy().contains(DEBUG);
    let mut values = env
        .iter()
        .filter(|(name, _)| name == preload::VARIABLE)
        .filter_map(|(_, value)| value.as_ref());
    let debugs = preloaded.iter().any(|path| is_debug(path.as_os_str())) || values.any(|value| is_debug(value));
    let off = number(&request.value) == Some(0);
    if request.tunable != "glibc.malloc.check" || off || debugs || version(question).is_none_or(|now| now < SPLIT) {
        return Ok(request);
    }
    Err(KnobError::NotRead {
        variable: request.variable,
        uses: "since glibc 2.34 only libc_malloc_debug.so checks".to_owned(),
        cure: "preload it too, preload=/…/libc_malloc_debug.so.0, or leave the variable out".to_owned(),
    })
}

/// The version of the C library that serves the program, or what its allocator does not.
fn version(question: &Question<'_>) -> Option<(u32, u32)> {
    let facts = &question.detection.facts;
    let beside = || facts.beside.as_deref()?.strip_prefix("glibc ");
    let text = match facts.family {
        AllocatorFamily::Glibc => facts.version.as_deref()?,
        _ => beside()?,
    };
    let (major, minor) = text.split_once('.')?;
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn valid(request: Request, known: &BTreeMap<String, Tunable>) -> Result<Request, KnobError> {
    let Request {
        variable,
        tunable,
        value,
    } = &request;
    let wrong = |why: String, cure: String| {
        let written = match variable == TUNABLES {
            true => format!("{variable}={tunable}={value}"),
            false => format!("{variable}={value}"),
        };
        KnobError::Value { written, why, cure }
    };
    if !known.is_empty() && !known.contains_key(tunable) {
        return Err(KnobError::Option {
            variable: variable.clone(),
            option: tunable.clone(),
            uses: "this glibc".to_owned(),
            cure: near(
                tunable,
                known.keys().map(String::as_str),
                "its loader lists those that it has with --list-tunables",
            ),
        });
    }
    let Some(asked) = number(value) else {
        return Err(wrong(
            format!("`{value}` is not a number, and glibc reads no units"),
            "write plain bytes or a count".to_owned(),
        ));
    };
    match known.get(tunable).and_then(|tunable| tunable.bounds) {
        Some((least, most)) if asked < least || asked > most => Err(wrong(
            format!("`{tunable}` is {least} to {most}"),
            "write a value in that range".to_owned(),
        )),
        Some(_) | None => Ok(request),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_glibc_tunables_overrules_is_an_error() {
        let errors = |old: &str, tunables: &str| {
            let all = [("MALLOC_ARENA_MAX", old), (TUNABLES, tunables)];
            let asked = all.iter().flat_map(|(variable, value)| requests(variable, value));
            let asked: Vec<Request> = asked.flatten().collect();
            let errors = asked.iter().filter_map(|request| overruled(request, &asked));
            errors.map(|error| error.to_string()).collect::<Vec<String>>()
        };
        let one = "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";
        let told = "`MALLOC_ARENA_MAX` does nothing: `GLIBC_TUNABLES` sets `glibc.malloc.arena_max` to 1 and goes before it; \
                    leave one of the two out";
        assert_eq!(errors("2", one), [told]);
        assert_eq!(errors("0x1", one), Vec::<String>::new());
        assert_eq!(errors("2", "glibc.malloc.tcache_count=0"), Vec::<String>::new());
        assert_eq!(
            errors("3", "glibc.malloc.arena_max=3:glibc.malloc.arena_max=2").len(),
            1
        );
    }
}
