//! Tunables of the GNU C library, checked by the program's own loader: it lists them with the values in force.

use std::collections::BTreeMap;

use record::variables::{LEGACY, number};
use record::{AllocatorFamily, KnobFacts};

use super::super::detect::Inspected;
use super::super::glibc::malloc::{TUNABLES, may_be_ignored, numbers, size};
use super::super::glibc::{Tunable, ask};
use super::super::preload;
use super::super::probe::Subject;
use super::{Checked, KnobError, Question, suggestion, unconfirmed_settings};

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let (mut requests, mut errors) = (Vec::new(), Vec::new());
    let default_tunables = listed_tunables(question, &BTreeMap::new());
    for (variable, value) in question.env {
        for request in parse_requests(variable, value) {
            let request = request.and_then(|request| check_value(request, &default_tunables));
            match request.and_then(|request| check_implemented(request, question)) {
                Ok(request) => requests.push(request),
                Err(error) => errors.push(error),
            }
        }
    }
    errors.extend(requests.iter().filter_map(|request| overruled(request, &requests)));
    if !errors.is_empty() {
        return Err(errors);
    }
    if default_tunables.is_empty() {
        return Ok(unconfirmed_settings(question.env));
    }
    let tunables = listed_tunables(question, question.env);
    let Inspected { facts, file, .. } = question.inspected;
    let options = if facts.family == AllocatorFamily::Glibc {
        let version = facts.version.as_deref();
        Some(ask::options(question.subject, file, &tunables, question.env, version))
    } else {
        None
    };
    Ok(Checked {
        knobs: requests
            .into_iter()
            .map(|request| request.into_knob(&tunables))
            .collect(),
        options,
        ..Checked::default()
    })
}

/// The tunables that the program's loader lists with these variables set; none without a loader.
fn listed_tunables(question: &Question<'_>, env: &BTreeMap<String, String>) -> BTreeMap<String, Tunable> {
    match &question.inspected.loader {
        Some(loader) => ask::listed_tunables(question.subject, loader, env, question.cancel),
        None => BTreeMap::new(),
    }
}

/// A value that a variable requests for one tunable.
struct Request {
    variable: String,
    tunable: String,
    value: String,
    /// True if malloc may ignore the value, though the loader accepts it.
    may_be_ignored: bool,
}

impl Request {
    fn new(variable: &str, tunable: &str, value: &str) -> Request {
        Request {
            variable: variable.to_owned(),
            tunable: tunable.to_owned(),
            value: value.to_owned(),
            may_be_ignored: false,
        }
    }

    /// Compares the request with the tunables in force. Of a value that malloc may ignore, the loader's list is no proof.
    fn into_knob(self, tunables: &BTreeMap<String, Tunable>) -> KnobFacts {
        let option = if self.variable == TUNABLES {
            Some(self.tunable.clone())
        } else {
            None
        };
        let mut knob = KnobFacts {
            option,
            variable: self.variable,
            requested: self.value,
            ..KnobFacts::default()
        };
        if !self.may_be_ignored
            && let Some(tunable) = tunables.get(&self.tunable)
        {
            knob.taken = Some(number(&tunable.value) == size(&knob.requested, tunable.bounds));
            knob.effective = Some(tunable.value.clone());
            knob.seen = Some("its loader's list".to_owned());
        }
        knob
    }
}

/// The mistake in a legacy variable that differs from `GLIBC_TUNABLES`, which always wins.
fn overruled(request: &Request, requests: &[Request]) -> Option<KnobError> {
    if request.variable == TUNABLES {
        return None;
    }
    let winner = requests
        .iter()
        .rfind(|other| other.variable == TUNABLES && other.tunable == request.tunable)?;
    if number(&winner.value) == number(&request.value) {
        return None;
    }
    Some(KnobError::NotRead {
        variable: request.variable.clone(),
        uses: format!("`{TUNABLES}` sets `{}` to {} and wins", request.tunable, winner.value),
        cure: "omit one of the two".to_owned(),
    })
}

/// The requests in the value of a variable.
fn parse_requests(variable: &str, value: &str) -> Vec<Result<Request, KnobError>> {
    if variable != TUNABLES {
        return vec![parse_legacy(variable, value)];
    }
    // The loader skips an empty pair, such as after the last `:`.
    let is_all_empty = value.trim_matches(':').is_empty();
    let pairs = value.split(':').filter(|pair| is_all_empty || !pair.is_empty());
    pairs.map(|pair| parse_pair(pair, value)).collect()
}

fn parse_legacy(variable: &str, value: &str) -> Result<Request, KnobError> {
    if let Some((_, tunable)) = LEGACY.iter().find(|(name, _)| *name == variable) {
        return Ok(Request::new(variable, tunable, value));
    }
    Err(KnobError::NotRead {
        variable: variable.to_owned(),
        uses: "glibc has no such variable".to_owned(),
        cure: suggestion(variable, LEGACY.iter().map(|(name, _)| *name), "use `GLIBC_TUNABLES`"),
    })
}

/// Parses `NAME=VALUE`, one part of `all`, the value of `GLIBC_TUNABLES`.
fn parse_pair(pair: &str, all: &str) -> Result<Request, KnobError> {
    match pair.split_once('=') {
        Some((tunable, value)) => Ok(Request::new(TUNABLES, tunable, value)),
        None => Err(KnobError::Value {
            written: format!("{TUNABLES}={all}"),
            why: format!("`{pair}` sets no tunable"),
            cure: "write NAME=VALUE:NAME=VALUE".to_owned(),
        }),
    }
}

/// The library for `MALLOC_CHECK_`, and the version since which only this library reads it (NEWS of glibc 2.34).
const DEBUG: &str = "libc_malloc_debug";
const SPLIT: (u32, u32) = (2, 34);

/// Refuses tunables that the loader lists but the C library alone no longer implements.
fn check_implemented(request: Request, question: &Question<'_>) -> Result<Request, KnobError> {
    let is_off = number(&request.value) == Some(0);
    let is_split = version(question).is_some_and(|version| version >= SPLIT);
    if request.tunable != "glibc.malloc.check" || is_off || !is_split || preloads_debug_library(question.subject) {
        return Ok(request);
    }
    Err(KnobError::NotRead {
        variable: request.variable,
        uses: "since glibc 2.34 only libc_malloc_debug.so checks".to_owned(),
        cure: "preload it too, preload=/…/libc_malloc_debug.so.0, or leave the variable out".to_owned(),
    })
}

fn preloads_debug_library(subject: &Subject) -> bool {
    let mut variables = subject.env.iter();
    subject
        .preloaded
        .iter()
        .any(|path| path.to_string_lossy().contains(DEBUG))
        || variables.any(|(name, value)| {
            let value = value.as_deref().unwrap_or_default();
            name == preload::VARIABLE && value.to_string_lossy().contains(DEBUG)
        })
}

/// The version of the C library that serves the program, or that serves the rest of a runtime's process.
fn version(question: &Question<'_>) -> Option<(u32, u32)> {
    let facts = &question.inspected.facts;
    let text = match facts.family {
        AllocatorFamily::Glibc => facts.version.as_deref()?,
        _ => facts.beside.as_deref()?.strip_prefix("glibc ")?,
    };
    numbers(text)
}

/// Refuses a name that the loader does not list, and a value that it rejects.
fn check_value(request: Request, known: &BTreeMap<String, Tunable>) -> Result<Request, KnobError> {
    let Request {
        variable,
        tunable,
        value,
        ..
    } = &request;
    let written = if variable == TUNABLES {
        format!("{variable}={tunable}={value}")
    } else {
        format!("{variable}={value}")
    };
    if !known.is_empty() && !known.contains_key(tunable) {
        return Err(KnobError::Option {
            variable: variable.clone(),
            option: tunable.clone(),
            uses: "this glibc".to_owned(),
            cure: suggestion(
                tunable,
                known.keys().map(String::as_str),
                "the loader lists its tunables with --list-tunables",
            ),
        });
    }
    let bounds = known.get(tunable).and_then(|tunable| tunable.bounds);
    let Some(size) = size(value, bounds) else {
        return Err(KnobError::Value {
            written,
            why: format!("`{value}` is not a number, and glibc reads no units"),
            cure: "write plain bytes or a count".to_owned(),
        });
    };
    if let Some((least, most)) = bounds
        && !(least..=most).contains(&size)
    {
        return Err(KnobError::Value {
            written,
            why: format!("`{tunable}` is {least} to {most}"),
            cure: "write a value in that range".to_owned(),
        });
    }
    Ok(Request {
        may_be_ignored: may_be_ignored(tunable, size),
        ..request
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_glibc_tunables_overrules_is_an_error() {
        let tunables = "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";
        let error = "`MALLOC_ARENA_MAX` does nothing: `GLIBC_TUNABLES` sets `glibc.malloc.arena_max` to 1 and wins; \
                     omit one of the two";
        assert_eq!(overruled_arena_max("2", tunables), [error]);
        let twice = "glibc.malloc.arena_max=3:glibc.malloc.arena_max=2";
        assert_eq!(overruled_arena_max("3", twice).len(), 1);
        for (legacy, tunables) in [("0x1", tunables), ("2", "glibc.malloc.tcache_count=0")] {
            assert_eq!(overruled_arena_max(legacy, tunables), Vec::<String>::new());
        }
    }

    /// The mistakes in a value of `MALLOC_ARENA_MAX` beside a value of `GLIBC_TUNABLES`.
    fn overruled_arena_max(legacy: &str, tunables: &str) -> Vec<String> {
        let requests: Vec<Request> = parse_requests("MALLOC_ARENA_MAX", legacy)
            .into_iter()
            .chain(parse_requests(TUNABLES, tunables))
            .flatten()
            .collect();
        let errors = requests.iter().filter_map(|request| overruled(request, &requests));
        errors.map(|error| error.to_string()).collect()
    }

    /// Checks a value with the bounds of glibc. Returns if malloc may ignore it, or the mistake.
    fn check_tunable(tunable: &str, value: &str) -> Result<bool, String> {
        let listed = Tunable {
            value: "0x0".to_owned(),
            bounds: Some((0, i128::from(u64::MAX))),
        };
        let tunable = format!("glibc.malloc.{tunable}");
        let known = [(tunable.clone(), listed)].into();
        let request = Request::new(TUNABLES, &tunable, value);
        let checked = check_value(request, &known).map_err(|error| error.to_string())?;
        Ok(checked.may_be_ignored)
    }

    #[test]
    fn what_malloc_may_leave_be_although_the_loader_takes_it_is_not_seen() {
        let limits = [
            ("tcache_count", 127),
            ("tcache_max", 1032),
            ("mxfast", 160),
            ("mmap_threshold", 32 << 20),
        ];
        for (tunable, most) in limits {
            assert_eq!(check_tunable(tunable, &most.to_string()), Ok(false));
            assert_eq!(check_tunable(tunable, &(most + 1).to_string()), Ok(true));
            assert_eq!(check_tunable(tunable, "-1"), Ok(true));
        }
    }

    #[test]
    fn what_the_loader_takes_is_no_error() {
        assert_eq!(check_tunable("trim_threshold", "-1"), Ok(false));
        let bounds = Some((0, i128::from(u64::MAX)));
        assert_eq!(size("-1", bounds), number("0xffffffffffffffff"));
        assert_eq!(size("-1", Some((0, 255))), Some(-1));
        for value in [
            "glibc.malloc.mxfast=16:",
            ":glibc.malloc.mxfast=16",
            "glibc.malloc.mxfast=16::",
        ] {
            let requests = parse_requests(TUNABLES, value);
            assert!(requests.len() == 1 && requests.iter().all(Result::is_ok), "{value}");
        }
        assert!(parse_requests(TUNABLES, ":").iter().all(Result::is_err));
    }
}
