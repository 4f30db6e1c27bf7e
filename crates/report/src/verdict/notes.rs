//! Notes that limit what a verdict means, each as a sentence.

use crate::comparison::{difference, huge_pages, released, strained, unequal};
use analysis::gate::{Basis, Judgement, Role, UnjudgedRule};
use base::exit::Exit;
use base::lens::Lens;
use base::units;
use stats::{Answer, Known, largest_missed_share};

use super::findings::{About, budget_name, growth_name};

/// Circumstances that limit what the verdict means: differences between the sides, sides that share no machine, huge
/// pages, unequal work that is not less, and machines that were busy or short of memory.
pub fn doubts(judgement: &Judgement) -> Vec<String> {
    let mut doubts: Vec<String> = judgement.differences.iter().map(difference).collect();
    for against in &judgement.against {
        let other = against.role.name();
        if against.apart {
            doubts.push(format!(
                "the candidate and the {other} ran on different machines, which may cause the difference"
            ));
        }
        if !judgement.is_refused()
            && let Some(found) = &against.huge_pages
        {
            doubts.push(huge_pages(Role::Candidate.name(), other, found));
        }
        for work in against.work.iter().filter(|work| !work.less) {
            doubts.push(unequal("candidate", other, work));
        }
    }
    if !judgement.is_refused() {
        doubts.extend(unused_runs(judgement));
    }
    doubts.extend(judgement.strains.iter().map(strained));
    doubts
}

/// A note on a gate that passes with purged runs alone, because they do not show memory as shipped.
pub fn unmeasured(judgement: &Judgement) -> Option<String> {
    let passes = judgement.exit() == Exit::Passed && judgement.lens == Lens::Purged;
    let mut lenses = judgement.parties.iter().flat_map(|party| &party.lenses);
    if !passes || lenses.any(|lens| lens.name == Lens::AsShipped) {
        return None;
    }
    Some("as shipped: not measured (`--lens both`)".to_owned())
}

/// A note on idle windows that were too short for a side's garbage collector.
pub fn not_known(judgement: &Judgement) -> Option<String> {
    let mut roles = Vec::new();
    let mut short_windows = Vec::new();
    for party in &judgement.parties {
        if let Some(too_short) = &party.too_short_for {
            roles.push(format!("the {}", party.role.name()));
            short_windows.push(too_short.short());
        }
    }
    let shortest = short_windows.into_iter().min()?;
    Some(format!(
        "what {} may release later is not known: {}",
        released::list(&roles),
        released::needs(&[shortest.took], shortest)
    ))
}

/// A sentence on rules that had too few runs, and one on rules without data.
pub fn unjudged_rules_notes(judgement: &Judgement) -> Vec<String> {
    if judgement.is_refused() {
        return Vec::new();
    }
    let exit = match judgement.exit() {
        Exit::OwnFailure => " (exit code 2, whatever --inconclusive says)",
        _other => "",
    };
    let (too_few, unknown): (Vec<&UnjudgedRule>, Vec<&UnjudgedRule>) =
        judgement.missing.iter().partition(|missing| missing.is_too_few());
    let mut sentences = Vec::new();
    if let Some(first) = too_few.first() {
        let of_each = if judgement.is_alone() { "" } else { " of each" };
        sentences.push(format!(
            "too few runs to judge {}: the first interim analysis needs {}{of_each}; run more, or lower --runs or \
             --looks{exit}",
            rule_names(&too_few),
            units::count_of(first.first as u64, "run")
        ));
    }
    if !unknown.is_empty() {
        sentences.push(format!("no data for {}{exit}", rule_names(&unknown)));
    }
    sentences
}

fn rule_names(missing: &[&UnjudgedRule]) -> String {
    let mut names: Vec<&str> = missing.iter().map(|missing| missing.rule.as_str()).collect();
    names.dedup();
    names.join(", ")
}

/// The share of runs that a second group may have and yet have been missed, for rules without calibrations of both versions.
pub fn missed_groups(judgement: &Judgement) -> Vec<String> {
    if judgement.is_refused() {
        return Vec::new();
    }
    let of_each = if judgement.is_alone() { "" } else { " of each" };
    let answered = answered_rules(judgement);
    let mut sentences = Vec::new();
    for (known, source) in [
        (Known::Seen, "more runs show it, or `lsp-soak calibrate`"),
        (Known::OtherVersion, "the calibrations are of another version"),
    ] {
        let mut names: Vec<&str> = Vec::new();
        let mut fewest: Option<usize> = None;
        for rule in answered.iter().filter(|rule| rule.known == known) {
            fewest = fewest.into_iter().chain(rule.look).min();
            if !names.contains(&rule.name.as_str()) {
                names.push(&rule.name);
            }
        }
        if let Some(runs) = fewest {
            sentences.push(format!(
                "a second group of under {} of the runs is not ruled out for {} ({}{of_each}): {source}",
                units::percent(largest_missed_share(runs)),
                names.join(", "),
                units::count_of(runs as u64, "run")
            ));
        }
    }
    sentences
}

/// A comparison or budget that passed or failed.
struct AnsweredRule {
    name: String,
    known: Known,
    /// Runs of each side at the interim analysis that answered it.
    look: Option<usize>,
}

fn answered_rules(judgement: &Judgement) -> Vec<AnsweredRule> {
    let mut rules = Vec::new();
    for against in &judgement.against {
        for judged in against.primaries.iter().chain(&against.advisory) {
            if judged.verdict.answer != Answer::Inconclusive {
                rules.push(AnsweredRule {
                    name: judged.rule.subject.to_string(),
                    known: judged.endpoint.known,
                    look: judged.basis.look,
                });
            }
        }
    }
    for kept in &judgement.budgets {
        if kept.verdict.answer != Answer::Inconclusive {
            rules.push(AnsweredRule {
                name: kept.limit.subject.to_string(),
                known: kept.known,
                look: kept.basis.look,
            });
        }
    }
    rules
}

/// A note on later runs that deciding rules do not use, because an earlier interim analysis answered them.
fn unused_runs(judgement: &Judgement) -> Option<String> {
    let rules = deciding_rules(judgement);
    let mut parts = Vec::new();
    for (title, basis) in &rules {
        if let Some(look) = basis.look
            && look < basis.runs
        {
            parts.push(format!("{title} uses the first {look} of {} runs", basis.runs));
        }
    }
    if parts.is_empty() {
        return None;
    }
    // What has fewer runs would not be judged by more than it has.
    let all = rules.iter().map(|(_, basis)| basis.runs).min()?;
    Some(format!(
        "{}: interim analyses stop at the first answer; `--runs {all}` judges all {all} at once",
        parts.join(", ")
    ))
}

/// Title and basis of each rule that decides.
fn deciding_rules(judgement: &Judgement) -> Vec<(String, Basis)> {
    let mut rules = Vec::new();
    for against in &judgement.against {
        for judged in &against.primaries {
            let about = About::Endpoint(judged.rule.subject.to_string(), against.role);
            rules.push((about.title(), judged.basis));
        }
    }
    for kept in &judgement.budgets {
        rules.push((budget_name(kept), kept.basis));
    }
    for leak in &judgement.leaks {
        rules.push((growth_name(leak, judgement.lens), leak.basis));
    }
    rules
}
