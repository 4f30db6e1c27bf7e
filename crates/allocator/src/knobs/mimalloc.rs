//! Options of mimalloc, compared with the list that it prints: it says nothing of a name that it does not know.

use std::collections::BTreeMap;

use super::super::mimalloc::{QUESTION, Said, read};
use super::super::probe;
use super::{Checked, KnobError, Question, near, unseen};
use record::KnobFacts;

/// What begins the variables of all options.
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

/// The variable that says after how long free memory goes back, by the options that there are.
pub fn purge_delay(options: &BTreeMap<String, String>) -> String {
    let names = NAMES[0].iter().find(|name| options.contains_key(**name));
    variable(names.copied().unwrap_or(NAMES[0][0]))
}

fn variable(option: &str) -> String {
    format!("{START}{}", option.to_ascii_uppercase())
}

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    // The probe sets the verbosity, so its list would show that. It changes no memory.
    let mut env = question.env.clone();
    env.remove(QUESTION.0);
    let mut with = vec![QUESTION];
    with.extend(probe::pairs(&env));
    let heard = probe::ask(question.subject, &with, question.stop);
    let statement = heard.ok().and_then(|heard| read(&heard.said.stderr));
    let Some(statement) = statement else {
        return Ok(unseen(&env));
    };
    let uses = question.detection.facts.to_string();
    let (mut knobs, mut errors) = (Vec::new(), Vec::new());
    for (variable, value) in &env {
        match one(variable, value, &statement, &uses) {
            Ok(knob) => knobs.push(knob),
            Err(error) => errors.push(error),
        }
    }
    match errors.is_empty() {
        true => Ok(Checked {
            knobs,
            options: Some(statement.options),
            ..Checked::default()
        }),
        false => Err(errors),
    }
}

fn one(name: &str, value: &str, statement: &Said, uses: &str) -> Result<KnobFacts, KnobError> {
    let option = name.strip_prefix(START).unwrap_or(name).to_ascii_lowercase();
    let refused = |why: String| KnobError::Value {
        written: format!("{name}={value}"),
        why,
        cure: "write a number, or 0 and 1".to_owned(),
    };
    if value.is_empty() {
        return Err(refused(format!("{uses} reads an empty value as 1")));
    }
    let invalid = format!("mimalloc_{option} has an invalid value");
    if statement.warnings.iter().any(|warning| warning.contains(&invalid)) {
        return Err(refused(format!("{uses} rejects this value")));
    }
    let Some((shown, effective)) = found(&option, statement) else {
        return Err(KnobError::Option {
            variable: name.to_owned(),
            cure: missing(&option, statement),
            option,
            uses: uses.to_owned(),
        });
    };
    // It reads 64 characters at most, and of larger numbers the largest that it has.
    if !means(value, &effective) {
        return Err(refused(format!("{uses} uses {effective} instead")));
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

/// The option with its value, also under the older name that mimalloc mentions.
fn found(option: &str, statement: &Said) -> Option<(String, String)> {
    if let Some(value) = statement.options.get(option) {
        return Some((option.to_owned(), value.clone()));
    }
    // `environment option "mimalloc_reset_delay" is deprecated -- use "mimalloc_purge_delay" instead.`
    let old = format!("\"mimalloc_{option}\" is deprecated");
    let warning = statement.warnings.iter().find(|warning| warning.contains(&old))?;
    let (_, new) = warning.split_once("use \"mimalloc_")?;
    let new = new.split('"').next()?;
    Some((new.to_owned(), statement.options.get(new)?.clone()))
}

/// What to write for an option that is not there.
fn missing(option: &str, statement: &Said) -> String {
    if statement.options.contains_key(&format!("deprecated_{option}")) {
        return "it was given up in this version and does nothing; leave it out".to_owned();
    }
    let names = NAMES.iter().find(|names| names.contains(&option));
    let here = names.and_then(|names| names.iter().find(|name| statement.options.contains_key(**name)));
    if let Some(here) = here {
        return format!("in this version it is `{}`", variable(here));
    }
    let all: Vec<String> = statement.options.keys().map(|name| variable(name)).collect();
    near(
        &variable(option),
        all.iter().map(String::as_str),
        "`lsp-soak allocator` lists those that it has",
    )
}

/// Whether a value that was written is the one that is shown: yes and no have several words, sizes a unit.
fn means(written: &str, shown: &str) -> bool {
    let upper = written.to_ascii_uppercase();
    let meant = match upper.as_str() {
        "1" | "TRUE" | "YES" | "ON" => Some(1),
        "0" | "FALSE" | "NO" | "OFF" => Some(0),
        number => number.parse::<i64>().ok(),
    };
    match shown.strip_suffix(" KiB") {
        None => meant.is_some() && shown.parse().ok() == meant,
        Some(kib) => kib.parse().ok() == kibibytes(&upper).or(meant.filter(|one| *one == 0)),
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
        let statement = |shown: &str| Said {
            options: [("purge_delay".to_owned(), shown.to_owned())].into(),
            ..Said::default()
        };
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
            let refused = one("MIMALLOC_PURGE_DELAY", value, &statement(shown), "mimalloc 3.3.2");
            let words = refused.map_err(|error| error.to_string()).unwrap_err();
            assert!(words.contains(why), "{words}");
        }
    }

    #[test]
    fn an_old_name_counts_where_mimalloc_says_so() {
        let statement = Said {
            options: [("purge_delay".to_owned(), "9".to_owned())].into(),
            warnings: vec![
                "environment option \"mimalloc_reset_delay\" is deprecated -- use \"mimalloc_purge_delay\" instead."
                    .to_owned(),
            ],
            ..Said::default()
        };
        let knob = one("MIMALLOC_RESET_DELAY", "9", &statement, "mimalloc 3.3.2").unwrap();
        assert_eq!(
            (knob.taken, knob.seen.as_deref()),
            (Some(true), Some("its list, as `purge_delay`"))
        );
    }
}
