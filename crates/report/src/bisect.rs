//! A bisection as a document and as JSON: the version that was found, and every version that was tried.

mod json;
#[cfg(test)]
mod tests;

use analysis::bisect::{
    Bisection, End, Outcome, Pair, PairVerdict, Question, Tried, TriedResult, Version, VersionRuns,
};
use analysis::figures::{GatedFigure, Unit};
use analysis::when::{Measured, When};
use base::text::table::Table;
use base::text::{Sentence, Tone};
use base::units::{self, UNKNOWN};
use stats::Bounded;

use crate::comparison::{amount, notes, span};
use crate::document::{Document, Section, Weight};
use crate::verdict::change;

pub use json::render as json;
#[cfg(test)]
pub(crate) use json::schema;

/// The whole document.
pub fn document(bisection: &Bisection) -> Document {
    let mut verdict = Vec::new();
    for text in evidence(bisection) {
        verdict.push(Sentence::answer("bisect.pair", Tone::Plain, text));
    }
    if let Outcome::Pair(pair) = &bisection.outcome {
        verdict.extend(notes::work_of(
            &pair.after.version.name,
            &pair.work,
            &pair.before.version.name,
        ));
    }
    Document {
        title: format!("bisect {}: {}", bisection.scenario, question(&bisection.question)),
        origin: String::new(),
        headline: Some(Sentence::answer("bisect.result", tone(bisection), headline(bisection))),
        verdict,
        sections: vec![versions(bisection)],
    }
}

/// The line about a version that was judged, while the search goes on.
pub fn judged(question: &Question, tried: &Tried) -> String {
    let version = named(&tried.of.version);
    match &tried.result {
        TriedResult::Skipped(why) => format!("{version} is skipped: {why}"),
        TriedResult::Like(end) => format!("{version} is {}: {}", like(*end), measured(question, &tried.of)),
    }
}

fn like(end: End) -> &'static str {
    match end {
        End::First => "like the first",
        End::Last => "like the last",
    }
}

fn tone(bisection: &Bisection) -> Tone {
    match &bisection.outcome {
        Outcome::Alike => Tone::Strong,
        Outcome::Unknown(_) => Tone::Bad,
        Outcome::Pair(pair) => match pair.verdict {
            PairVerdict::Step => Tone::Good,
            PairVerdict::Gradual => Tone::Strong,
            PairVerdict::Unconfirmed(_) => Tone::Bad,
        },
    }
}

fn question(question: &Question) -> String {
    match question {
        Question::By { subject, share } => format!("{subject} by {}", units::percent(*share)),
        Question::When(when) => format!("`{when}`"),
    }
}

/// The hash of a commit with its subject.
fn named(version: &Version) -> String {
    match &version.title {
        Some(title) => format!("{} ({title})", version.name),
        None => version.name.clone(),
    }
}

/// The answer in one sentence.
fn headline(bisection: &Bisection) -> String {
    match &bisection.outcome {
        Outcome::Alike => match &bisection.question {
            Question::By { subject, share } => format!(
                "the ends do not differ by {}: {subject} {}",
                units::percent(*share),
                ratio(bisection.difference)
            ),
            Question::When(when) => format!("the ends do not differ: at both `{when}` has the same answer"),
        },
        Outcome::Unknown(why) => format!("it is not known if the ends differ: {why}"),
        Outcome::Pair(pair) => pair_headline(bisection, pair),
    }
}

fn pair_headline(bisection: &Bisection, pair: &Pair) -> String {
    let step = match bisection.question.subject() {
        Some(subject) => format!(": {subject} {} over {}", ratio(pair.step), pair.before.version.name),
        None => String::new(),
    };
    match &pair.verdict {
        PairVerdict::Step => {
            let brought = brought(bisection);
            match pair.between.as_slice() {
                [] => format!("{} {brought}{step}", named(&pair.after.version)),
                between => {
                    let mut names: Vec<&str> = between.iter().map(|version| version.name.as_str()).collect();
                    names.push(&pair.after.version.name);
                    format!(
                        "one of {} {brought}{step}; the others cannot be tried",
                        names.join(", ")
                    )
                }
            }
        }
        PairVerdict::Gradual => format!(
            "gradual: no step is half of the difference of the ends; {} has {}{step}",
            pair.after.version.name,
            units::or_unknown(pair.share, |share| format!("{} of it", units::percent(share)))
        ),
        PairVerdict::Unconfirmed(why) => format!(
            "nothing was found: the search ended at {} and {}, and {why}",
            pair.before.version.name, pair.after.version.name
        ),
    }
}

/// The verb for the version after the step.
fn brought(bisection: &Bisection) -> String {
    match (&bisection.question, bisection.holds_at) {
        (Question::When(when), Some(End::Last)) => format!("is the first version at which `{when}` holds"),
        (Question::When(when), _) => format!("is the first version at which `{when}` no longer holds"),
        (Question::By { .. }, _) => "brought the change".to_owned(),
    }
}

/// The numbers of the last pair and of the ends.
fn evidence(bisection: &Bisection) -> Vec<String> {
    let Outcome::Pair(pair) = &bisection.outcome else {
        return Vec::new();
    };
    let sides = [&pair.before, &pair.after]
        .map(|side| format!("{} has {}", side.version.name, measured(&bisection.question, side)));
    let mut texts = vec![format!(
        "{}; {} of each, side by side and after the search",
        sides.join(", "),
        units::count_of(pair.before.runs.min(pair.after.runs) as u64, "run")
    )];
    if let Some(share) = pair.share
        && pair.verdict == PairVerdict::Step
    {
        let difference = match bisection.difference {
            Some(difference) => format!(", {}", ratio(Some(difference))),
            None => String::new(),
        };
        texts.push(format!(
            "that is {} of the difference of the ends{difference}",
            units::percent(share)
        ));
    }
    texts
}

/// Every version that was tried, and why others were skipped.
fn versions(bisection: &Bisection) -> Section {
    let table = Table::new(&bisection.tried)
        .text("version", 0, |tried| named(&tried.of.version))
        .number(figure_name(&bisection.question), 0, |tried| {
            measured(&bisection.question, &tried.of)
        })
        .number("runs", 1, |tried| tried.of.runs.to_string())
        .text("", 0, |tried| match tried.result {
            TriedResult::Like(end) => like(end),
            TriedResult::Skipped(_) => "skipped",
        });
    let mut section = Section::new("versions", "Versions", Weight::Answer)
        .noted(format!("{} of {} tried", bisection.tried.len(), bisection.versions))
        .with_block(table.columns());
    for tried in &bisection.tried {
        if let TriedResult::Skipped(why) = &tried.result {
            let text = format!("{}: {why}", tried.of.version.name);
            section = section.with_block(Sentence::answer("bisect.skipped", Tone::Warning, text).marked("skipped"));
        }
    }
    section
}

fn figure_name(question: &Question) -> String {
    match (question.subject(), question) {
        (Some(subject), _) => subject.to_string(),
        (None, Question::When(When::Rising(_))) => "growth".to_owned(),
        (None, _) => "crashes".to_owned(),
    }
}

/// The amount that the question is about, with its interval.
fn measured(question: &Question, of: &VersionRuns) -> String {
    match (of.measured, question) {
        (Measured::Unknown, _) => UNKNOWN.to_owned(),
        (Measured::Crashes(crashed), _) => format!("{crashed} of {} crashed", of.runs),
        (Measured::Value(slope), Question::When(When::Rising(rising))) => {
            units::slope_with_range(slope.value, slope.low, slope.high, rising.per.name())
        }
        (Measured::Value(value), _) => with_range(value, unit(question.subject())),
    }
}

fn unit(subject: Option<&GatedFigure>) -> Unit {
    subject.map_or(Unit::Number, |subject| subject.figure.unit())
}

/// `212.3 MiB (210.1–213.5 MiB)`; of one run only the value.
fn with_range(value: Bounded, unit: Unit) -> String {
    let middle = amount(value.value, unit);
    if !value.high.is_finite() {
        return middle;
    }
    format!(
        "{middle} ({})",
        span(&amount(value.low, unit), &amount(value.high, unit))
    )
}

/// `+25.1 % (+24.3 to +25.9 %)`.
fn ratio(ratio: Option<Bounded>) -> String {
    units::or_unknown(ratio, |ratio| {
        let (low, high) = (change(ratio.low), change(ratio.high));
        let low = low.strip_suffix(" %").unwrap_or(&low);
        format!("{} ({low} to {high})", change(ratio.value))
    })
}
