//! Options of mimalloc, compared with the list that it prints: it says nothing of a name that it does not know.

use std::collections::BTreeMap;

use super::super::mimalloc::{Output, QUESTION, read};
use super::super::probe;
use super::{Checked, KnobError, Question, suggestion, unconfirmed_settings};
use record::KnobFacts;

/// The beginning of the variables of all options.
const START: &str = "MIMALLOC_";

/// Options that had other names in other versions; each line is one option.
const NAMES: [&[&str]; 6] = [
    &["purge_delay", "decommit_delay", "reset_delay"],
    &["purge_decommits", "allow_decommit", "reset_decommits"],
    &["arena_eager_commit", "eager_region_commit"],
    &["allow_large_os_pages", "large_os_pages"],
    &[
        "abandoned_page_purge",
        "abandoned_page_decommit",
        "abandoned_page_reset",
    ],
    &["disallow_os_alloc", "limit_os_alloc"],
];

/// The variable that sets after how long free memory is released, under the name that this version has for it.
pub fn purge_delay(options: &BTreeMap<String, String>) -> String {
    let name = NAMES[0].iter().find(|name| options.contains_key(**name));
    variable(name.unwrap_or(&NAMES[0][0]))
}

fn variable(option: &str) -> String {
    format!("{START}{}", option.to_ascii_uppercase())
}

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    // The probe sets the verbosity, so its list would show that. It changes no memory.
    let mut env = question.env.clone();
    env.remove(QUESTION.0);
    let mut variables = vec![QUESTION];
    variables.extend(probe::pairs(&env));
    let heard = probe::ask(question.subject, &variables, question.cancel);
    let Some(output) = heard.ok().and_then(|heard| read(&heard.said.stderr)) else {
        return Ok(unconfirmed_settings(&env));
    };
    let uses = question.inspected.facts.to_string();
    let (mut knobs, mut errors) = (Vec::new(), Vec::new());
    for (variable, value) in &env {
        match check_option(variable, value, &output, &uses) {
            Ok(knob) => knobs.push(knob),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Checked {
        knobs,
        options: Some(output.options),
        ..Checked::default()
    })
}

/// Checks one variable. `uses` names the allocator in messages.
fn check_option(name: &str, value: &str, output: &Output, uses: &str) -> Result<KnobFacts, KnobError> {
    let option = name.strip_prefix(START).unwrap_or(name).to_ascii_lowercase();
    let invalid = format!("mimalloc_{option} has an invalid value");
    if value.is_empty() {
        return Err(wrong_value(name, value, format!("{uses} reads an empty value as 1")));
    }
    if output.warnings.iter().any(|warning| warning.contains(&invalid)) {
        return Err(wrong_value(name, value, format!("{uses} rejects this value")));
    }
    let Some((shown, effective)) = effective_option(&option, output) else {
        return Err(KnobError::Option {
            variable: name.to_owned(),
            cure: cure_for_missing(&option, output),
            option,
            uses: uses.to_owned(),
        });
    };
    // It reads 64 characters at most, and replaces larger numbers by its largest one.
    if !means(value, &effective) {
        return Err(wrong_value(name, value, format!("{uses} uses {effective} instead")));
    }
    Ok(KnobFacts {
        variable: name.to_owned(),
        option: None,
        requested: value.to_owned(),
        taken: Some(true),
        effective: Some(effective),
        seen: Some(format!("its list, as `{shown}`")),
    })
}

fn wrong_value(name: &str, value: &str, why: String) -> KnobError {
    KnobError::Value {
        written: format!("{name}={value}"),
        why,
        cure: "write a number, or 0 and 1".to_owned(),
    }
}

/// The name and value of an option in the list. A deprecated name that mimalloc still accepts leads to the new one.
fn effective_option(option: &str, output: &Output) -> Option<(String, String)> {
    if let Some(value) = output.options.get(option) {
        return Some((option.to_owned(), value.clone()));
    }
    // `environment option "mimalloc_reset_delay" is deprecated -- use "mimalloc_purge_delay" instead.`
    let old = format!("\"mimalloc_{option}\" is deprecated");
    let warning = output.warnings.iter().find(|warning| warning.contains(&old))?;
    let (_, new) = warning.split_once("use \"mimalloc_")?;
    let new = new.split('"').next()?;
    Some((new.to_owned(), output.options.get(new)?.clone()))
}

/// Advice for an option that the list does not have.
fn cure_for_missing(option: &str, output: &Output) -> String {
    if output.options.contains_key(&format!("deprecated_{option}")) {
        return "it was given up in this version and does nothing; leave it out".to_owned();
    }
    if let Some(names) = NAMES.iter().find(|names| names.contains(&option))
        && let Some(name) = names.iter().find(|name| output.options.contains_key(**name))
    {
        return format!("in this version it is `{}`", variable(name));
    }
    let all: Vec<String> = output.options.keys().map(|name| variable(name)).collect();
    suggestion(
        &variable(option),
        all.iter().map(String::as_str),
        "`lsp-soak allocator` lists those that it has",
    )
}

/// True if the written value is the shown one: yes and no have several words, sizes a unit.
fn means(written: &str, shown: &str) -> bool {
    let upper = written.to_ascii_uppercase();
    let number = match upper.as_str() {
        "1" | "TRUE" | "YES" | "ON" => Some(1),
        "0" | "FALSE" | "NO" | "OFF" => Some(0),
        number => number.parse::<i64>().ok(),
    };
    match shown.strip_suffix(" KiB") {
        Some(kib) if number == Some(0) => kib.parse() == Ok(0),
        Some(kib) => kib.parse().ok() == kibibytes(&upper),
        None => number.is_some() && shown.parse().ok() == number,
    }
}

/// A size in KiB: a bare number is bytes, rounded up.
fn kibibytes(text: &str) -> Option<i64> {
    let text = text.trim_end_matches("IB").trim_end_matches('B');
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let number: i64 = number.parse().ok()?;
    match unit {
        "" => Some((number + 1023) / 1024),
        "K" => Some(number),
        "M" => number.checked_mul(1 << 10),
        "G" => number.checked_mul(1 << 20),
        "T" => number.checked_mul(1 << 30),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_mean_what_they_are_shown_as() {
        for (written, shown) in [
            ("0", "0"),
            ("no", "0"),
            ("YES", "1"),
            ("-1", "-1"),
            ("77", "77"),
            ("1GiB", "1048576 KiB"),
            ("64K", "64 KiB"),
            ("1025", "2 KiB"),
            ("0", "0 KiB"),
        ] {
            assert!(means(written, shown), "{written} {shown}");
        }
        for (written, shown) in [("5", "25"), ("often", "1"), ("1M", "1 KiB")] {
            assert!(!means(written, shown), "{written} {shown}");
        }
    }

    #[test]
    fn a_value_that_becomes_another_one_is_refused() {
        let long = format!("{}5", "0".repeat(70));
        for (value, shown, why) in [
            ("", "1", "mimalloc 3.3.2 reads an empty value as 1"),
            (&long, "0", "mimalloc 3.3.2 uses 0 instead"),
            (
                "99999999999999999999",
                "9223372036854775807",
                "uses 9223372036854775807 instead",
            ),
        ] {
            let output = Output {
                options: [("purge_delay".to_owned(), shown.to_owned())].into(),
                ..Output::default()
            };
            let error = check_option("MIMALLOC_PURGE_DELAY", value, &output, "mimalloc 3.3.2").unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn an_old_name_counts_where_mimalloc_says_so() {
        let output = Output {
            options: [("purge_delay".to_owned(), "9".to_owned())].into(),
            warnings: vec![
                "environment option \"mimalloc_reset_delay\" is deprecated -- use \"mimalloc_purge_delay\" instead."
                    .to_owned(),
            ],
            ..Output::default()
        };
        let knob = check_option("MIMALLOC_RESET_DELAY", "9", &output, "mimalloc 3.3.2").unwrap();
        assert_eq!(
            (knob.taken, knob.seen.as_deref()),
            (Some(true), Some("its list, as `purge_delay`"))
        );
    }
}
