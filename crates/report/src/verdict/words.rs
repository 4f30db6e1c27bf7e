//! Answers, amounts and bounds of a gate as text.

use crate::comparison::{amount, as_set, signed};
use analysis::gate::{Judged, Judgement, Party, Role};
use base::units;
use stats::{Answer, Bound, Evidence};

/// The word of a gate that decides nothing.
pub const REFUSED: &str = "REFUSED";

pub fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Pass => "PASS",
        Answer::Fail => "FAIL",
        Answer::Inconclusive => "INCONCLUSIVE",
    }
}

/// PASS, FAIL or INCONCLUSIVE, and none of these where nothing is decided.
pub fn outcome(judgement: &Judgement) -> &'static str {
    match judgement.is_refused() {
        true => REFUSED,
        false => word(judgement.answer),
    }
}

/// A ratio as a signed difference: `+2.80 %`.
pub fn change(ratio: f64) -> String {
    match ratio {
        ratio if !ratio.is_finite() || ratio <= 0.0 => units::UNKNOWN.to_owned(),
        ratio => {
            let percent = (ratio - 1.0) * 100.0;
            format!("{} %", signed(percent, decimals(percent)))
        }
    }
}

/// Two decimals near the usual limits of about 1 %, fewer for larger values.
fn decimals(percent: f64) -> usize {
    match percent.abs() {
        percent if percent < 10.0 => 2,
        percent if percent < 100.0 => 1,
        _ => 0,
    }
}

/// Both bounds of a change: `+2.71 to +3.29 %`.
pub fn bounds(evidence: &Evidence) -> String {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let digits = decimals(percent(evidence.upper) - percent(evidence.lower));
    let end = |ratio: f64| match ratio.is_finite() && ratio > 0.0 {
        true => signed(percent(ratio), digits),
        false => units::UNKNOWN.to_owned(),
    };
    format!("{} to {} %", end(evidence.lower), end(evidence.upper))
}

/// The amount that sets a limit where the share would be less than the noise that is believed of the figure.
pub fn floor(judged: &Judged, bound: Bound) -> Option<String> {
    let (rule, unit) = (&judged.rule, judged.rule.subject.figure.unit());
    bound.by_floor.then(|| amount(rule.tolerance.floor(), as_set(unit)))
}

/// A limit as a share, which is mostly round.
pub fn share(bound: Bound) -> String {
    let text = change(bound.ratio);
    text.strip_suffix(".00 %")
        .or_else(|| text.strip_suffix(".0 %"))
        .map_or(text.clone(), |round| format!("{round} %"))
}

/// The same with the amount that sets it.
pub fn limit(judged: &Judged, bound: Bound) -> String {
    match floor(judged, bound) {
        Some(floor) => format!("{} ({floor})", share(bound)),
        None => share(bound),
    }
}

/// What a server is called in a sentence: its label, with its part where the label does not tell it from the others.
pub fn name(judgement: &Judgement, role: Role) -> String {
    let mut parties = judgement.parties.iter();
    let Some(party) = parties.clone().find(|party| party.role == role) else {
        return role.name().to_owned();
    };
    match parties.any(|other| other.role != role && other.label == party.label) {
        true => format!("{} ({})", party.label, role.name()),
        false => party.label.clone(),
    }
}

/// Label, runs, version and preloaded library of a server. The profile's name stands in for a missing label.
pub fn who(party: &Party) -> String {
    let profile = party.profile.as_ref().filter(|_| party.label == party.role.name());
    let runs = units::counted(party.runs as u64, "run");
    let mut text = format!("{}, {runs}", profile.unwrap_or(&party.label));
    if party.left > 0 {
        text.push_str(&format!(" + {} not counted", units::count(party.left as u64)));
    }
    if let Some(version) = &party.version {
        text.push_str(&format!(", {version}"));
    }
    if let Some(preload) = &party.preload {
        text.push_str(&format!(", {}", preload.words()));
    }
    text
}
