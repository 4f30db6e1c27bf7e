//! Options of jemalloc, checked by jemalloc: it names what it does not understand, and prints the values in force.
//!
//! It is not set to abort, which would leave a core file and report one mistake only.

use super::super::probe;
use super::{Checked, KnobError, Question, suggestion, unconfirmed_settings};
use record::KnobFacts;
use record::jemalloc::{Output, pairs, read};
use record::variables::are_equal_values;

/// Options that make it confirm all others. The user's options follow, so that theirs win.
const CONFIRM: &str = "confirm_conf:true,stats_print:true";

/// Options of verbosity, which the probe itself uses. They change no memory.
const TALK: [&str; 3] = ["confirm_conf", "stats_print", "stats_print_opts"];

/// Options whose numbers it rejects if they are out of range. It silently replaces those of all other options.
const WHOLE: [&str; 4] = ["dirty_decay_ms", "muzzy_decay_ms", "narenas", "oversize_threshold"];

/// The value that leaves the number of arenas to jemalloc.
const DEFAULT: &str = "default";

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let mut checked = Checked::default();
    let mut errors = Vec::new();
    for (variable, value) in question.env {
        // jemalloc ignores an empty variable.
        if value.is_empty() {
            continue;
        }
        let value = without_verbosity(value);
        let Some(output) = confirmation(variable, &value, question) else {
            checked.knobs.extend(unconfirmed_settings(question.env).knobs);
            continue;
        };
        let knobs = knobs(variable, &value, &output);
        let mut mistakes: Vec<KnobError> = output
            .complaints
            .iter()
            .filter(|complaint| !is_about_confirming(complaint, &value))
            .filter_map(|complaint| mistake(complaint, variable, &value, &output, question))
            .collect();
        // A rejected option is not in force either.
        if mistakes.is_empty() {
            mistakes.extend(knobs.iter().filter_map(|knob| replaced_number(knob, question)));
        }
        if mistakes.is_empty() {
            checked.knobs.extend(knobs);
            if !output.set.is_empty() {
                checked.confirmed.insert(variable.clone());
            }
            checked.options = Some(output.options).filter(|options| !options.is_empty());
        }
        errors.extend(mistakes);
    }
    if errors.is_empty() { Ok(checked) } else { Err(errors) }
}

/// The output of the jemalloc that reads `variable` and confirms its value; `None` if there is none.
fn confirmation(variable: &str, value: &str, question: &Question<'_>) -> Option<Output> {
    let mut conf = CONFIRM.to_owned();
    if !value.is_empty() {
        conf = format!("{conf},{value}");
    }
    let heard = probe::ask(question.subject, &[(variable, &conf)], question.cancel).ok()?;
    let mut outputs = read(&heard.said.stderr).into_iter();
    outputs.find(|output| !output.set.is_empty() || !output.complaints.is_empty())
}

/// True for the complaint of a version before 5.3 about our own request to confirm.
fn is_about_confirming(complaint: &str, value: &str) -> bool {
    complaint.ends_with("confirm_conf:true") && !value.contains("confirm_conf")
}

/// The result for each requested option; of several requests for one option, for the last.
fn knobs(variable: &str, value: &str, output: &Output) -> Vec<KnobFacts> {
    let pairs = pairs(value);
    let mut knobs = Vec::new();
    for (index, (option, requested)) in pairs.iter().enumerate() {
        let is_repeated = pairs[index + 1..].iter().any(|(later, _)| later == option);
        if !is_repeated {
            knobs.push(knob(variable, option, requested, output));
        }
    }
    knobs
}

fn knob(variable: &str, option: &str, requested: &str, output: &Output) -> KnobFacts {
    let set = output.set.iter().rfind(|(name, _)| name == option);
    let (effective, seen) = match (value_in_statistics(option, output), set) {
        // The statistics show the number that jemalloc chose, not the setting.
        (Some(_), Some((_, value))) if requested == DEFAULT => (Some(value.clone()), Some("its confirmation")),
        (Some(value), _) => (Some(value), Some("its statistics")),
        (None, Some((_, value))) if is_used_as_written(option, value) => {
            (Some(value.clone()), Some("its confirmation"))
        }
        // It repeats the text, not the parsed value.
        (None, Some(_)) => (None, Some("its name")),
        (None, None) => (None, None),
    };
    KnobFacts {
        variable: variable.to_owned(),
        option: Some(option.to_owned()),
        requested: requested.to_owned(),
        taken: effective.as_ref().map(|value| are_equal_values(value, requested)),
        effective,
        seen: seen.map(str::to_owned),
    }
}

/// A list of options without those of verbosity.
fn without_verbosity(value: &str) -> String {
    let pairs: Vec<&str> = value.split(',').filter(|pair| !sets_verbosity(pair)).collect();
    pairs.join(",")
}

fn sets_verbosity(pair: &str) -> bool {
    pair.split_once(':').is_some_and(|(option, _)| TALK.contains(&option))
}

/// The value of an option in jemalloc's statistics, which show `lg_tcache_max` only as `tcache_max`.
fn value_in_statistics(option: &str, output: &Output) -> Option<String> {
    if option != "lg_tcache_max" {
        return output.options.get(option).cloned();
    }
    let most: u64 = output.options.get("tcache_max")?.parse().ok()?;
    if most.is_power_of_two() {
        Some(most.ilog2().to_string())
    } else {
        None
    }
}

/// True if jemalloc either uses a value as it is written or complains about it.
fn is_used_as_written(option: &str, value: &str) -> bool {
    WHOLE.contains(&option) || value.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

/// The mistake in a number that is too large or too small: jemalloc silently replaces it.
fn replaced_number(knob: &KnobFacts, question: &Question<'_>) -> Option<KnobError> {
    let (option, effective) = (knob.option.as_ref()?, knob.effective.as_ref()?);
    let requested: i128 = knob.requested.parse().ok()?;
    let used: i128 = effective.parse().ok()?;
    if requested == used {
        return None;
    }
    let is_default = question.inspected.facts.options.get(option) == Some(effective);
    let (why, cure) = if is_default {
        ("keeps its own", "a value that its manual allows".to_owned())
    } else {
        ("makes it", format!("{option}:{used}"))
    };
    Some(KnobError::Value {
        written: knob.assignment(),
        why: format!("jemalloc {why} {used}"),
        cure: format!("write {cure}"),
    })
}

/// The mistake that a complaint of jemalloc is about; `None` for plain information.
fn mistake(
    complaint: &str,
    variable: &str,
    value: &str,
    output: &Output,
    question: &Question<'_>,
) -> Option<KnobError> {
    if let Some((option, _)) = pair_after("Invalid conf pair: ", complaint) {
        let names = question.inspected.facts.options.keys().chain(output.options.keys());
        return Some(KnobError::Option {
            variable: variable.to_owned(),
            option: option.to_owned(),
            uses: question.inspected.facts.to_string(),
            cure: suggestion(option, names.map(String::as_str), "see `opt.*` in jemalloc's manual"),
        });
    }
    let (written, why, cure) = if let Some((option, value)) = pair_after("Invalid conf value: ", complaint) {
        (
            format!("{variable}={option}:{value}"),
            format!("jemalloc does not take `{value}` for `{option}`"),
            "write a value that its manual names".to_owned(),
        )
    } else if let Some((option, value)) = pair_after("Out-of-range conf value: ", complaint) {
        (
            format!("{variable}={option}:{value}"),
            format!("`{value}` is out of the range of `{option}`"),
            "write a value that its manual allows".to_owned(),
        )
    } else if let Some(most) = complaint.strip_prefix("Reducing narenas to limit (") {
        // The statistics still have the requested number.
        let (_, requested) = output.set.iter().rfind(|(option, _)| option == "narenas")?;
        let most = most.trim_end_matches(')');
        (
            format!("{variable}=narenas:{requested}"),
            format!("jemalloc makes at most {most} arenas"),
            format!("write narenas:{most} or less"),
        )
    } else if complaint.starts_with("Malformed conf string") || complaint.starts_with("Conf string ends") {
        (
            format!("{variable}={value}"),
            "jemalloc stops at the first entry that is not a pair".to_owned(),
            format!("write {variable}=OPTION:VALUE,OPTION:VALUE without spaces"),
        )
    } else if complaint.starts_with("Error") {
        // For example a build without background threads.
        (
            format!("{variable}={value}"),
            format!("jemalloc says `{complaint}`"),
            "leave that option out".to_owned(),
        )
    } else {
        return None;
    };
    Some(KnobError::Value { written, why, cure })
}

/// The option and its value after the beginning of a complaint.
fn pair_after<'c>(start: &str, complaint: &'c str) -> Option<(&'c str, &'c str)> {
    complaint.strip_prefix(start)?.split_once(':')
}
