//! Tunables of the GNU C library, checked by the program's own loader: it lists them with the values in force.

use std::collections::BTreeMap;

use super::super::glibc::{LEGACY, Tunable, number, tunables};
use super::super::probe;
use super::{Checked, KnobError, Question, near, unseen};
use crate::record::KnobFacts;

/// The variable that holds tunables.
const TUNABLES: &str = "GLIBC_TUNABLES";

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let (mut asked, mut errors) = (Vec::new(), Vec::new());
    let plain = listed(question, &BTreeMap::new());
    for (variable, value) in question.env {
        for request in requests(variable, value) {
            match request.and_then(|request| valid(request, &plain)) {
                Ok(request) => asked.push(request),
                Err(error) => errors.push(error),
            }
        }
    }
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
