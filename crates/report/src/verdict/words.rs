//! Answers, amounts and bounds of a gate as text.

use crate::comparison::{amount, as_set, signed};
use analysis::gate::{Judged, Judgement, Party, Role};
use base::units;
use stats::{Answer, Bound, Evidence};

/// Outcome of a gate that decides nothing.
pub const REFUSED: &str = "REFUSED";

pub fn answer_word(answer: Answer) -> &'static str {
    match answer {
        Answer::Pass => "PASS",
        Answer::Fail => "FAIL",
        Answer::Inconclusive => "INCONCLUSIVE",
    }
}

pub fn outcome(judgement: &Judgement) -> &'static str {
    if judgement.is_refused() {
        REFUSED
    } else {
        answer_word(judgement.answer)
    }
}

/// A ratio as a signed difference: `+2.80 %`.
pub fn change(ratio: f64) -> String {
    if !is_known(ratio) {
        return units::UNKNOWN.to_owned();
    }
    let percent = percent_more(ratio);
    format!("{} %", signed(percent, decimals(percent)))
}

fn is_known(ratio: f64) -> bool {
    ratio.is_finite() && ratio > 0.0
}

fn percent_more(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
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
    let digits = decimals(percent_more(evidence.upper) - percent_more(evidence.lower));
    let [lower, upper] = [evidence.lower, evidence.upper].map(|ratio| {
        if is_known(ratio) {
            signed(percent_more(ratio), digits)
        } else {
            units::UNKNOWN.to_owned()
        }
    });
    format!("{lower} to {upper} %")
}

/// The amount that sets a limit where the share would be less than the noise that is believed of the figure.
pub fn floor(judged: &Judged, bound: Bound) -> Option<String> {
    if !bound.by_floor {
        return None;
    }
    let unit = judged.rule.subject.figure.unit();
    Some(amount(judged.rule.tolerance.floor(), as_set(unit)))
}

/// A limit as a share, which is mostly round.
pub fn share(bound: Bound) -> String {
    let text = change(bound.ratio);
    match text.strip_suffix(".00 %").or_else(|| text.strip_suffix(".0 %")) {
        Some(whole) => format!("{whole} %"),
        None => text,
    }
}

/// A limit as a share, with the amount that sets it.
pub fn limit(judged: &Judged, bound: Bound) -> String {
    match floor(judged, bound) {
        Some(floor) => format!("{} ({floor})", share(bound)),
        None => share(bound),
    }
}

/// A server's label, with its role if another server has the same label.
pub fn name(judgement: &Judgement, role: Role) -> String {
    let mut parties = judgement.parties.iter();
    let Some(party) = parties.clone().find(|party| party.role == role) else {
        return role.name().to_owned();
    };
    if parties.any(|other| other.role != role && other.label == party.label) {
        format!("{} ({})", party.label, role.name())
    } else {
        party.label.clone()
    }
}

/// Label, runs, version and preloaded library of a server. The profile's name stands in for a missing label.
pub fn party_description(party: &Party) -> String {
    let label = match &party.profile {
        Some(profile) if party.label == party.role.name() => profile,
        _ => &party.label,
    };
    let mut text = format!("{label}, {}", units::count_of(party.runs as u64, "run"));
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
