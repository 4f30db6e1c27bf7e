//! Tunables of the GNU C library, checked by the program's own loader: it lists them with the values in force.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use record::variables::{LEGACY, number};
use record::{AllocatorFamily, KnobFacts};

use super::super::glibc::malloc::{TUNABLES, is_unsure, numbers, size};
use super::super::glibc::{Tunable, ask};
use super::super::preload;
use super::super::probe::Subject;
use super::{Checked, KnobError, Question, near, unseen};

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let (mut asked, mut errors) = (Vec::new(), Vec::new());
    let Question {
        subject,
        detection,
        stop,
        ..
    } = question;
    let listed = |env: &BTreeMap<String, String>| match &detection.loader {
        Some(loader) => ask::listed(subject, loader, env, stop),
        None => BTreeMap::new(),
    };
    let plain = listed(&BTreeMap::new());
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
    let now = listed(question.env);
    let facts = &detection.facts;
    let is_malloc = facts.family == AllocatorFamily::Glibc;
    let options =
        is_malloc.then(|| ask::options(subject, &detection.file, &now, question.env, facts.version.as_deref()));
    let knob = |request: Request| {
        let option = (request.variable == TUNABLES).then(|| request.tunable.clone());
        // What malloc makes of it is not known, and the loader's list says nothing of that.
        let listed = now.get(&request.tunable).filter(|_| !request.unsure);
        KnobFacts {
            taken: listed.map(|tunable| number(&tunable.value) == size(&request.value, tunable.bounds)),
            option,
            variable: request.variable,
            requested: request.value,
            effective: listed.map(|tunable| tunable.value.clone()),
            seen: listed.map(|_| "its loader's list".to_owned()),
        }
    };
    Ok(Checked {
        knobs: asked.into_iter().map(knob).collect(),
        options,
        ..Checked::default()
    })
}

/// The result for one tunable.
struct Request {
    variable: String,
    tunable: String,
    value: String,
    /// Whether malloc may leave it be.
    unsure: bool,
}

/// That a variable of old says otherwise than `GLIBC_TUNABLES`, which glibc follows wherever the two stand.
fn overruled(request: &Request, asked: &[Request]) -> Option<KnobError> {
    let rules = |other: &&Request| other.variable == TUNABLES && other.tunable == request.tunable;
    let differs = |other: &Request| number(&other.value) != number(&request.value);
    let is_old = request.variable != TUNABLES;
    let ruling = asked.iter().rfind(rules).filter(|other| is_old && differs(other))?;
    Some(KnobError::NotRead {
        variable: request.variable.clone(),
        uses: format!("`{TUNABLES}` sets `{}` to {} and wins", request.tunable, ruling.value),
        cure: "omit one of the two".to_owned(),
    })
}

fn requests(variable: &str, value: &str) -> Vec<Result<Request, KnobError>> {
    let request = |tunable: &str, value: &str| Request {
        variable: variable.to_owned(),
        tunable: tunable.to_owned(),
        value: value.to_owned(),
        unsure: false,
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
    // The loader skips an empty pair, such as after the last `:`.
    let empty = |pair: &&str| pair.is_empty() && !value.trim_matches(':').is_empty();
    let pairs = value
        .split(':')
        .filter(|pair| !empty(pair))
        .map(|pair| match pair.split_once('=') {
            Some((tunable, value)) => Ok(request(tunable, value)),
            None => Err(KnobError::Value {
                written: format!("{variable}={value}"),
                why: format!("`{pair}` sets no tunable"),
                cure: "write NAME=VALUE:NAME=VALUE".to_owned(),
            }),
        });
    pairs.collect()
}

/// The library for `MALLOC_CHECK_`, and the version since which only this library reads it (NEWS of glibc 2.34).
const DEBUG: &str = "libc_malloc_debug";
const SPLIT: (u32, u32) = (2, 34);

/// Refuses tunables that the loader lists but the C library alone no longer implements.
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
    numbers(text)
}

fn valid(request: Request, known: &BTreeMap<String, Tunable>) -> Result<Request, KnobError> {
    let Request {
        variable,
        tunable,
        value,
        ..
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
                "the loader lists its tunables with --list-tunables",
            ),
        });
    }
    let bounds = known.get(tunable).and_then(|tunable| tunable.bounds);
    let Some(asked) = size(value, bounds) else {
        return Err(wrong(
            format!("`{value}` is not a number, and glibc reads no units"),
            "write plain bytes or a count".to_owned(),
        ));
    };
    if let Some((least, most)) = bounds.filter(|(least, most)| asked < *least || asked > *most) {
        return Err(wrong(
            format!("`{tunable}` is {least} to {most}"),
            "write a value in that range".to_owned(),
        ));
    }
    Ok(Request {
        unsure: is_unsure(tunable, asked),
        ..request
    })
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
        let told = "`MALLOC_ARENA_MAX` does nothing: `GLIBC_TUNABLES` sets `glibc.malloc.arena_max` to 1 and wins; \
                    omit one of the two";
        assert_eq!(errors("2", one), [told]);
        assert_eq!(errors("0x1", one), Vec::<String>::new());
        assert_eq!(errors("2", "glibc.malloc.tcache_count=0"), Vec::<String>::new());
        assert_eq!(
            errors("3", "glibc.malloc.arena_max=3:glibc.malloc.arena_max=2").len(),
            1
        );
    }

    /// A loader's line for one tunable, bounded as glibc does.
    fn judged(tunable: &str, value: &str) -> Result<bool, String> {
        let listed = Tunable {
            value: "0x0".to_owned(),
            bounds: Some((0, i128::from(u64::MAX))),
        };
        let tunable = format!("glibc.malloc.{tunable}");
        let known = [(tunable.clone(), listed)].into();
        let asked = requests(TUNABLES, &format!("{tunable}={value}")).pop();
        let judged = valid(asked.expect("one pair").map_err(|error| error.to_string())?, &known);
        judged.map(|request| request.unsure).map_err(|error| error.to_string())
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
            assert_eq!(judged(tunable, &most.to_string()), Ok(false));
            assert_eq!(judged(tunable, &(most + 1).to_string()), Ok(true));
            assert_eq!(judged(tunable, "-1"), Ok(true));
        }
    }

    #[test]
    fn what_the_loader_takes_is_no_error() {
        assert_eq!(judged("trim_threshold", "-1"), Ok(false));
        let bounds = Some((0, i128::from(u64::MAX)));
        assert_eq!(size("-1", bounds), number("0xffffffffffffffff"));
        assert_eq!(size("-1", Some((0, 255))), Some(-1));
        for value in [
            "glibc.malloc.mxfast=16:",
            ":glibc.malloc.mxfast=16",
            "glibc.malloc.mxfast=16::",
        ] {
            let asked = requests(TUNABLES, value);
            assert!(asked.len() == 1 && asked.iter().all(Result::is_ok), "{value}");
        }
        assert!(requests(TUNABLES, ":").iter().all(Result::is_err));
    }
}
