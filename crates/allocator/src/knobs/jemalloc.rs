//! Options of jemalloc, checked by jemalloc: it names what it does not understand, and prints the values in force.
//!
//! It is not set to abort, which would leave a core file and report one mistake only.

use super::super::probe;
use super::{Checked, KnobError, Question, near, unseen};
use record::KnobFacts;
use record::jemalloc::{Output, pairs, read};
use record::variables::same;

/// What the options of the user are put after, so that theirs win.
const CONFIRM: &str = "confirm_conf:true,stats_print:true";

/// Options of verbosity, which the probe itself uses. They change no memory.
const TALK: [&str; 3] = ["confirm_conf", "stats_print", "stats_print_opts"];

/// Numbers of which it complains where they are out of range; it makes another number of all others, without a word.
const WHOLE: [&str; 4] = ["dirty_decay_ms", "muzzy_decay_ms", "narenas", "oversize_threshold"];

/// What leaves the number of arenas to jemalloc.
const DEFAULT: &str = "default";

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let mut checked = Checked::default();
    let mut errors = Vec::new();
    for (variable, value) in question.env {
        // Set to nothing is as good as not set.
        if value.is_empty() {
            continue;
        }
        let value = &silent(value);
        let asked = [CONFIRM, value].join(if value.is_empty() { "" } else { "," });
        let heard = probe::ask(question.subject, &[(variable, &asked)], question.stop);
        let statements = heard.map(|heard| read(&heard.said.stderr)).unwrap_or_default();
        let Some(statements) = statements
            .into_iter()
            .find(|statements| !statements.set.is_empty() || !statements.complaints.is_empty())
        else {
            checked.knobs.extend(unseen(question.env).knobs);
            continue;
        };
        let knobs = knobs(variable, value, &statements);
        // One before 5.3 does not know that it is to confirm, which is our wish.
        let is_ours = |complaint: &str| complaint.ends_with("confirm_conf:true") && !value.contains("confirm_conf");
        let complaints = statements.complaints.iter().filter(|complaint| !is_ours(complaint));
        let mut wrong: Vec<KnobError> = complaints
            .filter_map(|complaint| error(complaint, variable, value, &statements, question))
            .collect();
        // A rejected option is not in force either.
        if wrong.is_empty() {
            wrong.extend(knobs.iter().filter_map(|knob| clamped(knob, question)));
        }
        if wrong.is_empty() {
            checked.knobs.extend(knobs);
            if !statements.set.is_empty() {
                checked.confirmed.insert(variable.clone());
            }
            checked.options = Some(statements.options).filter(|options| !options.is_empty());
        }
        errors.extend(wrong);
    }
    match errors.is_empty() {
        true => Ok(checked),
        false => Err(errors),
    }
}

/// Each option that was asked for, of several for one the last.
fn knobs(variable: &str, value: &str, statements: &Output) -> Vec<KnobFacts> {
    let pairs = pairs(value);
    let last = |at: usize| !pairs[at + 1..].iter().any(|(option, _)| *option == pairs[at].0);
    let kept = pairs.iter().enumerate().filter(|(at, _)| last(*at));
    kept.map(|(_, (option, requested))| {
        let set = statements
            .set
            .iter()
            .rev()
            .find(|(one, _)| one == option)
            .map(|(_, value)| value);
        let (effective, seen) = match (shown(option, statements), set) {
            // The statistics have its own choice, not a setting.
            (Some(_), Some(value)) if requested == DEFAULT => (Some(value.clone()), Some("its confirmation")),
            (Some(value), _) => (Some(value), Some("its statistics")),
            (None, Some(value)) if is_kept(option, value) => (Some(value.clone()), Some("its confirmation")),
            // It repeats the text, not the parsed value.
            (None, Some(_)) => (None, Some("its name")),
            (None, None) => (None, None),
        };
        KnobFacts {
            variable: variable.to_owned(),
            option: Some(option.clone()),
            requested: requested.clone(),
            taken: effective.as_ref().map(|value| same(value, requested)),
            effective,
            seen: seen.map(str::to_owned),
        }
    })
    .collect()
}

/// A list without what sets how much jemalloc says.
fn silent(value: &str) -> String {
    let talks = |pair: &&str| pair.split_once(':').is_some_and(|(option, _)| TALK.contains(&option));
    let pairs: Vec<&str> = value.split(',').filter(|pair| !talks(pair)).collect();
    pairs.join(",")
}

/// The value of an option in jemalloc's statistics, which have an option with two names under one.
fn shown(option: &str, statements: &Output) -> Option<String> {
    if option != "lg_tcache_max" {
        return statements.options.get(option).cloned();
    }
    let most: u64 = statements.options.get("tcache_max")?.parse().ok()?;
    most.is_power_of_two().then(|| most.ilog2().to_string())
}

/// Whether jemalloc accepts a value or complains.
fn is_kept(option: &str, value: &str) -> bool {
    WHOLE.contains(&option) || value.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

/// That jemalloc takes another number in place of one that is too large or too small, without a word.
fn clamped(knob: &KnobFacts, question: &Question<'_>) -> Option<KnobError> {
    let (option, effective) = (knob.option.as_ref()?, knob.effective.as_ref()?);
    let number = |text: &str| text.parse::<i128>().ok();
    let (asked, made) = (number(&knob.requested)?, number(effective)?);
    let is_default = question.detection.facts.options.get(option) == Some(effective);
    let (why, cure) = match is_default {
        true => ("keeps its own", "a value that its manual allows".to_owned()),
        false => ("makes it", format!("{option}:{made}")),
    };
    (asked != made).then(|| KnobError::Value {
        written: knob.written(),
        why: format!("jemalloc {why} {made}"),
        cure: format!("write {cure}"),
    })
}

fn error(
    complaint: &str,
    variable: &str,
    value: &str,
    statements: &Output,
    question: &Question<'_>,
) -> Option<KnobError> {
    let pair = |start: &str| complaint.strip_prefix(start)?.split_once(':');
    if let Some((option, _)) = pair("Invalid conf pair: ") {
        let names = question.detection.facts.options.keys().chain(statements.options.keys());
        return Some(KnobError::Option {
            variable: variable.to_owned(),
            option: option.to_owned(),
            uses: question.detection.facts.to_string(),
            cure: near(option, names.map(String::as_str), "see `opt.*` in jemalloc's manual"),
        });
    }
    let wrong = |written: String, why: &str, cure: &str| KnobError::Value {
        written,
        why: why.to_owned(),
        cure: cure.to_owned(),
    };
    if let Some((option, value)) = pair("Invalid conf value: ") {
        let why = format!("jemalloc does not take `{value}` for `{option}`");
        return Some(wrong(
            format!("{variable}={option}:{value}"),
            &why,
            "write a value that its manual names",
        ));
    }
    if let Some((option, value)) = pair("Out-of-range conf value: ") {
        let why = format!("`{value}` is out of the range of `{option}`");
        return Some(wrong(
            format!("{variable}={option}:{value}"),
            &why,
            "write a value that its manual allows",
        ));
    }
    // The statistics still have the number that was asked for.
    if let Some(most) = complaint.strip_prefix("Reducing narenas to limit (") {
        let asked = statements.set.iter().rfind(|(option, _)| option == "narenas")?;
        let most = most.trim_end_matches(')');
        return Some(wrong(
            format!("{variable}=narenas:{}", asked.1),
            &format!("jemalloc makes at most {most} arenas"),
            &format!("write narenas:{most} or less"),
        ));
    }
    if complaint.starts_with("Malformed conf string") || complaint.starts_with("Conf string ends") {
        let why = "jemalloc stops at the first entry that is not a pair";
        let cure = format!("write {variable}=OPTION:VALUE,OPTION:VALUE without spaces");
        return Some(wrong(format!("{variable}={value}"), why, &cure));
    }
    // For example a build without background threads. Plain information does not matter.
    complaint.starts_with("Error").then(|| {
        wrong(
            format!("{variable}={value}"),
            &format!("jemalloc says `{complaint}`"),
            "leave that option out",
        )
    })
}
