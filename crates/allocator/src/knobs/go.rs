//! Settings of Go's runtime. It never prints them: their syntax is checked here, limits by Go itself, and the names of
//! `GODEBUG` by whether they are in the program. `GOGC`, and a limit below any heap, are seen in the goals that the collector
//! traces when a program starts; of a limit that is far away, and of `GODEBUG`, nothing is seen.

use std::collections::BTreeMap;

use super::super::{probe, scan};
use super::{Checked, KnobError, Question, unseen};

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let mut errors = Vec::new();
    for (variable, value) in question.env {
        match variable.as_str() {
            "GOGC" => errors.extend(percentage(value)),
            "GOMEMLIMIT" => errors.extend(limit(value)),
            _ => errors.extend(debug(value, question)),
        }
    }
    let verdict = if errors.is_empty() {
        started(question, question.env)
    } else {
        None
    };
    let verdict = verdict.unwrap_or_default();
    errors.extend(refused(question, &verdict));
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut checked = unseen(question.env);
    for knob in &mut checked.knobs {
        knob.seen = Some("its syntax".to_owned());
        let is_seen = match knob.variable.as_str() {
            "GOGC" => is_collecting_by(&knob.requested, &verdict, question),
            "GOMEMLIMIT" => is_limited_by(&knob.requested, &verdict, question),
            _ => false,
        };
        if is_seen {
            knob.effective = Some(knob.requested.clone());
            knob.seen = Some("the collections that it traced when it was started".to_owned());
            knob.taken = Some(true);
        }
    }
    Ok(checked)
}

/// What Go says when the program is started for its version under these settings, with its collector traced.
fn started(question: &Question<'_>, env: &BTreeMap<String, String>) -> Option<String> {
    let mut with = env.clone();
    let debug = with.entry("GODEBUG".to_owned()).or_default();
    let own = std::mem::take(debug);
    *debug = [own.as_str(), "gctrace=1"].join(if own.is_empty() { "" } else { "," });
    let heard = probe::ask(question.subject, &probe::pairs(&with), question.stop).ok()?;
    Some(heard.said.stderr)
}

/// Whether only this percentage explains the collections. A negative answer proves nothing: a large allocation raises
/// a goal, and a program that prints its version may need no collection.
fn is_collecting_by(percentage: &str, verdict: &str, question: &Question<'_>) -> bool {
    // Another program may print the version.
    if question.subject.teller != question.subject.program {
        return false;
    }
    match percentage.parse::<i32>() {
        Ok(percentage) if percentage >= 0 => is_goal_of(percentage.unsigned_abs(), first_goal(verdict)),
        // Switched off: by default there are collections, and now there are none.
        _ => {
            let mut without = question.env.clone();
            without.remove("GOGC");
            let usual = || started(question, &without).and_then(|verdict| first_goal(&verdict));
            first_goal(verdict).is_none() && usual().is_some()
        }
    }
}

/// Whether only this limit explains the collections: it is below any heap, so that the first goal is nothing.
fn is_limited_by(limit: &str, verdict: &str, question: &Question<'_>) -> bool {
    const NOTHING: u64 = 1 << 20;
    let is_tiny = limit.parse::<u64>().is_ok_and(|bytes| bytes < NOTHING);
    let is_own = question.subject.teller == question.subject.program && !question.env.contains_key("GOGC");
    is_tiny && is_own && first_goal(verdict) == Some(0)
}

/// The goal of the first collection, in MiB: of `gc 1 @0.009s …, 3->4->1 MB, 4 MB goal, …` 4.
fn first_goal(verdict: &str) -> Option<u64> {
    let line = verdict.lines().find(|line| line.starts_with("gc 1 @"))?;
    line.split_once(" MB goal")?.0.rsplit(' ').next()?.parse().ok()
}

/// Whether the first goal is that of a percentage and not the usual one: the heap may first grow to 4 MiB, by the percentage
/// over 100.
fn is_goal_of(percentage: u32, goal: Option<u64>) -> bool {
    const USUAL: u64 = 4;
    let expected = USUAL * u64::from(percentage) / 100;
    expected != USUAL && goal == Some(expected)
}

fn wrong(variable: &str, value: &str, why: &str, cure: &str) -> Option<KnobError> {
    Some(KnobError::Value {
        written: format!("{variable}={value}"),
        why: why.to_owned(),
        cure: cure.to_owned(),
    })
}

fn percentage(value: &str) -> Option<KnobError> {
    if value == "off" || value.parse::<i32>().is_ok() {
        return None;
    }
    wrong(
        "GOGC",
        value,
        "Go would use 100 instead",
        "write a percentage without a sign, or off",
    )
}

fn limit(value: &str) -> Option<KnobError> {
    let number = ["KiB", "MiB", "GiB", "TiB", "B"]
        .iter()
        .find_map(|unit| value.strip_suffix(unit))
        .unwrap_or(value);
    if value == "off" || (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit())) {
        return None;
    }
    wrong(
        "GOMEMLIMIT",
        value,
        "it is not a size",
        "write bytes or such as 512MiB, or off",
    )
}

/// Settings of the runtime in `GODEBUG` (runtime/runtime1.go of Go 1.26): the program holds them without marks between
/// them, so that a part of one would be found in it too.
const RUNTIME: [&str; 31] = [
    "adaptivestackstart",
    "asyncpreemptoff",
    "asynctimerchan",
    "cgocheck",
    "checkfinalizers",
    "clobberfree",
    "dataindependenttiming",
    "decoratemappings",
    "disablethp",
    "dontfreezetheworld",
    "efence",
    "gccheckmark",
    "gcpacertrace",
    "gcshrinkstackoff",
    "gcstoptheworld",
    "gctrace",
    "harddecommit",
    "inittrace",
    "invalidptr",
    "madvdontneed",
    "panicnil",
    "profstackdepth",
    "sbrk",
    "scavtrace",
    "scheddetail",
    "schedtrace",
    "traceadvanceperiod",
    "traceallocfree",
    "tracebackancestors",
    "tracecheckstackownership",
    "tracefpunwindoff",
];

/// The setting that is meant by a part of its name, or by one slip of the pen in it; others have names of their own.
fn meant(name: &str) -> Option<&'static str> {
    if RUNTIME.contains(&name) {
        return None;
    }
    let near = |known: &&&str| known.contains(name) || strsim::damerau_levenshtein(name, known) == 1;
    RUNTIME.iter().find(near).copied()
}

fn debug(value: &str, question: &Question<'_>) -> Vec<KnobError> {
    let pairs = value.split(',').filter(|pair| !pair.is_empty());
    let check = |pair: &str| {
        let Some((name, setting)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return wrong(
                "GODEBUG",
                value,
                &format!("`{pair}` sets nothing"),
                "write NAME=VALUE,NAME=VALUE",
            );
        };
        let nothing = |cure: String| {
            Some(KnobError::Option {
                variable: "GODEBUG".to_owned(),
                option: name.to_owned(),
                uses: question.detection.facts.to_string(),
                cure,
            })
        };
        let otherwise = "see GODEBUG in the documentation of Go's `runtime`";
        if let Some(meant) = meant(name) {
            return nothing(format!("did you mean `{meant}`?"));
        }
        // What the runtime cannot read as a number it passes over.
        if RUNTIME.contains(&name) && setting.parse::<i32>().is_err() {
            return wrong(
                "GODEBUG",
                value,
                &format!("`{setting}` of `{name}` is no whole number"),
                "write such as 0 or 1",
            );
        }
        match scan::contains(&question.detection.file, name) {
            Ok(false) => nothing(otherwise.to_owned()),
            // What cannot be read cannot be looked into.
            Ok(true) | Err(_) => None,
        }
    };
    pairs.filter_map(check).collect()
}

/// What Go itself refuses when it starts.
fn refused(question: &Question<'_>, verdict: &str) -> Option<KnobError> {
    let line = verdict.lines().find(|line| line.contains("malformed GO"))?;
    let (variable, value) = question.env.iter().find(|(name, _)| line.contains(name.as_str()))?;
    wrong(
        variable,
        value,
        &format!("Go says `{line}`"),
        "write a value that it takes",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_setting_is_none() {
        for (name, known) in [
            ("gctrac", Some("gctrace")),
            ("trace", Some("gcpacertrace")),
            ("madvdontned", Some("madvdontneed")),
            ("gctrace", None),
            ("madvdontneed", None),
            ("http2client", None),
            ("netdns", None),
            ("tracebacklabels", None),
        ] {
            assert_eq!(meant(name), known, "{name}");
        }
    }

    #[test]
    fn what_the_runtime_cannot_read_as_a_number_is_refused() {
        let (env, subject, detection) = Default::default();
        let question = Question {
            env: &env,
            subject: &subject,
            detection: &detection,
            stop: &|| false,
        };
        for value in ["gctrace=1", "gctrace=-1,madvdontneed=0"] {
            assert_eq!(debug(value, &question), [], "{value}");
        }
        for value in ["gctrace=yes", "madvdontneed=1,gctrace=", "gctrace=99999999999"] {
            assert_eq!(debug(value, &question).len(), 1, "{value}");
        }
    }

    #[test]
    fn go_takes_percentages_and_sizes() {
        for value in ["100", "off", "-1", "50"] {
            assert_eq!(percentage(value), None, "{value}");
        }
        for value in ["", "100%", "on", "1.5"] {
            assert!(percentage(value).is_some(), "{value}");
        }
        for value in ["off", "1048576", "512MiB", "2GiB", "7B"] {
            assert_eq!(limit(value), None, "{value}");
        }
        for value in ["", "512MB", "MiB", "-1", "1.5GiB", "512 MiB"] {
            assert!(limit(value).is_some(), "{value}");
        }
    }

    #[test]
    fn a_limit_is_seen_only_where_it_alone_is_below_any_heap() {
        let traced = |goal: u64| format!("gc 1 @0.000s 15%: 0->0->0 MB, {goal} MB goal, 2 P\n");
        for (limit, percentage, goal, seen) in [
            ("1", None, 0, true),
            ("1", None, 4, false),
            ("1GiB", None, 0, false),
            ("2097152", None, 0, false),
            ("1", Some("5"), 0, false),
        ] {
            let env = percentage.map(|percentage: &str| ("GOGC".to_owned(), percentage.to_owned()));
            let env = env.into_iter().collect();
            let (subject, detection) = Default::default();
            let question = Question {
                env: &env,
                subject: &subject,
                detection: &detection,
                stop: &|| false,
            };
            assert_eq!(is_limited_by(limit, &traced(goal), &question), seen, "{limit} {goal}");
        }
    }

    #[test]
    fn a_percentage_is_seen_in_the_first_goal_of_the_collector() {
        let goals = |goal: u64| {
            format!(
                "gopls\ngc 1 @0.001s 9%: 0.36+2.2+0.007 ms clock, 1.4+0/1.5/0.38 ms cpu, 1->2->1 MB, {goal} MB goal, 0 MB \
                 stacks, 0 MB globals, 4 P\ngc 2 @0.007s 26%: 2->2->1 MB, 9 MB goal\n"
            )
        };
        for (percentage, goal, seen) in [
            (50, 2, true),
            (25, 1, true),
            (200, 8, true),
            (1, 0, true),
            (50, 4, false),
        ] {
            assert_eq!(
                is_goal_of(percentage, first_goal(&goals(goal))),
                seen,
                "{percentage} {goal}"
            );
        }
        assert!(!is_goal_of(100, first_goal(&goals(4))), "so it is anyway");
        assert!(
            !is_goal_of(200, first_goal(&goals(102))),
            "something large was taken at once"
        );
        assert_eq!(first_goal("go version go1.26\n"), None);
    }
}
