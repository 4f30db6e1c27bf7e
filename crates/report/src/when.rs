//! Sentences on a condition: how it is judged, and how runs answer it.

use analysis::figures::{Figure, GatedPart};
use analysis::when::{Evaluation, Holds, Level, Measured, Rising, When};
use base::lens::Lens;
use base::units;

use crate::comparison::figures::{amount, as_set};

/// The way in which the condition is judged.
pub fn explanation(when: &When) -> String {
    let holds = match when {
        When::Crash => "the server, or a process that it started, crashes in most runs".to_owned(),
        When::Level(level) => level_words(level),
        When::Rising(rising) => rising_words(rising),
    };
    format!(
        "`{when}` holds if {holds}. It is undecided where runs are too few or too far apart, and it is not denied of what \
         the server was not asked or did not answer."
    )
}

fn level_words(level: &Level) -> String {
    let figure = level.subject.figure;
    let place = match &level.subject.at {
        GatedPart::Result => " at the checkpoint that is the scenario's result".to_owned(),
        GatedPart::Run => " of the whole run".to_owned(),
        GatedPart::Phase(phase) if figure.is_of_checkpoints() => format!(" after `{phase}`"),
        GatedPart::Phase(phase) => format!(" in `{phase}`"),
        GatedPart::Method(method) => format!(" of `{method}`"),
    };
    format!(
        "the {}{place}{} is {} {}, with its whole 95 % interval",
        figure.words(),
        through(level.subject.lens),
        level.comparison.words(),
        amount(level.bound, as_set(figure.unit()))
    )
}

fn rising_words(rising: &Rising) -> String {
    let place = match &rising.phase {
        Some(phase) => format!("in `{phase}`"),
        None => "in any repeated part".to_owned(),
    };
    format!(
        "{} {place}{} grows from round to round by {} {} per {}, over all rounds and over their last half",
        Figure::Private.words(),
        through(rising.lens),
        rising.comparison.words(),
        units::bytes(rising.bound as u64),
        rising.per.name()
    )
}

fn through(lens: Option<Lens>) -> String {
    lens.map_or_else(String::new, |lens| format!(" through the {lens} lens"))
}

/// The answer with its number: `holds: +64.0 KiB per request (+63.0 to +65.0), 5 runs`.
pub fn answer(when: &When, evaluation: &Evaluation) -> String {
    let verdict = match &evaluation.holds {
        Holds::Yes => "holds".to_owned(),
        Holds::No => "does not hold".to_owned(),
        Holds::Undecided(why) => format!("undecided: {why}"),
    };
    let runs = units::count_of(evaluation.runs as u64, "run");
    match measured(when, evaluation) {
        Some(number) => format!("{verdict}: {number}, {runs}"),
        None => format!("{verdict}, {runs}"),
    }
}

/// The number that the condition is about, with its interval; `None` where it is not known.
pub fn measured(when: &When, evaluation: &Evaluation) -> Option<String> {
    match (evaluation.measured, when) {
        (Measured::Unknown, _) => None,
        (Measured::Crashes(crashed), _) => Some(format!("{crashed} of {} crashed", evaluation.runs)),
        (Measured::Value(value), When::Level(level)) => {
            let unit = level.subject.figure.unit();
            Some(format!(
                "{} ({} to {})",
                amount(value.value, unit),
                amount(value.low, unit),
                amount(value.high, unit)
            ))
        }
        (Measured::Value(slope), When::Rising(rising)) => Some(units::slope_with_range(
            slope.value,
            slope.low,
            slope.high,
            rising.per.name(),
        )),
        (Measured::Value(_), When::Crash) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::growth::Per;
    use analysis::when::Comparison;

    fn level(subject: &str) -> When {
        When::Level(Level {
            subject: subject.parse().unwrap(),
            comparison: Comparison::Above,
            bound: 2_147_483_648.0,
        })
    }

    #[test]
    fn a_condition_is_explained_in_a_sentence() {
        let rising = When::Rising(Rising {
            phase: Some("edit".to_owned()),
            lens: None,
            comparison: Comparison::Above,
            bound: 65_536.0,
            per: Per::Request,
        });
        for (when, text) in [
            (
                level("peak"),
                "`peak > 2 GiB` holds if the resident peak of the whole run is more than 2.0 GiB, with its whole 95 % \
                 interval.",
            ),
            (
                level("purged private after decay"),
                "holds if the private memory after `decay` through the purged lens is more than 2.0 GiB",
            ),
            (
                rising,
                "`growth in edit > 64 KiB per request` holds if private memory in `edit` grows from round to round by \
                 more than 64.0 KiB per request,",
            ),
            (
                When::Crash,
                "`crash` holds if the server, or a process that it started, crashes in most runs.",
            ),
        ] {
            let explained = explanation(&when);
            assert!(explained.contains(text), "{explained}");
        }
    }
}
