//! A gate as a document: the verdict with what decided it, above the comparison of its sides.

use crate::comparison::{self, amount, span};
use crate::document::page::Keys;
use crate::document::{Block, Document, NextCommand, Section, Weight};
use crate::run::lens;
use analysis::compare::{Played, Scenarios, compare_by_target};
use analysis::gate::{Against, Judged, Judgement, Peaks, Range, Role, Sides};
use base::lens::Lens;
use base::text::table::{Column, Table};
use base::text::{Sentence, Tone};
use base::units;
use stats::{Answer, Evidence, Seen};

use super::findings::{About, Finding, findings};
use super::notes::{doubts, missed_groups, not_known, unjudged_rules_notes, unmeasured};
use super::words::{answer_word, bounds, change, floor, name, outcome, party_description, share};

/// Group of the amounts of a rule, which are not the medians of the comparison.
const MEAN: &str = "geomean";

/// The head of the limits, in two lines.
const LIMITS: [&str; 2] = ["fails above /", "passes below"];

/// Further reasons are only counted in the headline.
const MOST_REASONS: usize = 2;

/// The whole document; `next` and `notes` follow the findings.
pub fn document(judgement: &Judgement, sides: &Sides, notes: &[String], next: Option<&NextCommand>) -> Document {
    let runs = relabelled_runs(sides);
    let scenarios = side_by_side(&runs);
    let conclusions = findings(judgement);
    let mut sections: Vec<Section> = next.map(NextCommand::section).into_iter().collect();
    if !judgement.is_refused() {
        for against in &judgement.against {
            sections.extend(rules(against, "rules", Weight::Answer, &against.primaries));
        }
    }
    sections.extend(warnings(judgement, &scenarios, notes));
    sections.push(parties(judgement));
    sections.extend(advice(judgement, &conclusions));
    sections.extend(every_run(judgement));
    let compared_sections = comparison::sections(&scenarios, &runs, Keys::ALIKE, true);
    // The rules are the answer of a gate; the comparison supports them.
    sections.extend(compared_sections.into_iter().map(|section| Section {
        weight: section.weight.max(Weight::Evidence),
        ..section
    }));
    let tone = if judgement.is_refused() {
        Tone::Bad
    } else {
        tone(judgement.answer)
    };
    Document {
        title: title(judgement),
        origin: comparison::origin(&runs),
        headline: Some(Sentence::answer(
            "gate.verdict",
            tone,
            headline(judgement, &conclusions),
        )),
        verdict: verdict(judgement, &conclusions),
        sections,
    }
}

fn title(judgement: &Judgement) -> String {
    let candidate = name(judgement, Role::Candidate);
    let gate = format!("gate {}: {candidate}", judgement.scenario);
    if judgement.is_alone() {
        return gate;
    }
    format!("{gate} against {}", name(judgement, Role::Baseline))
}

/// Notes without which the verdict may be misread.
fn warnings(judgement: &Judgement, scenarios: &Scenarios, notes: &[String]) -> Option<Section> {
    let doubts = doubts(judgement).into_iter().chain(notes.iter().cloned());
    // The comparison's warnings that are not in the verdict.
    let comparisons = scenarios.values().flatten().map(|target| &target.comparison);
    let unusual = comparisons.flat_map(comparison::unusual);
    Section::new("gate-warnings", "Notes", Weight::Answer)
        .with_all(doubts.map(note))
        .with_all(unusual)
        .unless_empty()
}

fn note(text: String) -> Sentence {
    Sentence::answer("gate.note", Tone::Warning, text).marked("note")
}

/// Deciding findings first, then failed advice, and notes on what the gate could not judge.
fn verdict(judgement: &Judgement, conclusions: &[Finding]) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for text in headline_sentences(judgement) {
        sentences.push(Sentence::answer("gate.headline", Tone::Bad, text).marked("important"));
    }
    let (headline_reasons, _) = reasons(judgement, conclusions);
    for finding in conclusions.iter().filter(|finding| finding.decides) {
        sentences.push(deciding_sentence(finding, &headline_reasons));
    }
    sentences.extend(unjudged_rules_notes(judgement).into_iter().map(note));
    for finding in conclusions {
        if !finding.decides && finding.answer == Some(Answer::Fail) {
            sentences.push(note(finding.text.clone()));
        }
    }
    for peaks in judgement.peaks.iter().filter(|peaks| !peaks.is_far_above) {
        sentences.push(Sentence::answer("gate.peak", Tone::Quiet, peak_advice(peaks)));
    }
    sentences.extend(missed_groups(judgement).into_iter().map(note));
    sentences.extend(unmeasured(judgement).map(note));
    sentences.extend(not_known(judgement).map(note));
    sentences
}

fn deciding_sentence(finding: &Finding, headline_reasons: &[String]) -> Sentence {
    let tone = match finding.answer {
        Some(Answer::Pass) => Tone::Plain,
        Some(answer) => tone(answer),
        None => Tone::Bad,
    };
    // The table of rules has passes and failures. The headline has the reasons of the first open rules.
    let is_repeated = match (&finding.about, finding.answer) {
        (About::Endpoint(..), Some(Answer::Pass | Answer::Fail)) => true,
        (About::Endpoint(..), _) => finding.is_short && headline_reasons.contains(&finding.short),
        _ => false,
    };
    Sentence {
        weight: if is_repeated { Weight::Evidence } else { Weight::Answer },
        ..Sentence::answer("gate.finding", tone, finding.text.clone()).marked(finding.word())
    }
}

/// Sentences above all rules: headlines of the sides, and peaks far above the other side's.
pub(super) fn headline_sentences(judgement: &Judgement) -> Vec<String> {
    let mut sentences = judgement.headlines.clone();
    for peaks in judgement.peaks.iter().filter(|peaks| peaks.is_far_above) {
        sentences.push(peak_headline(peaks));
    }
    sentences
}

/// A peak far above the other side's, whichever figure decides.
fn peak_headline(peaks: &Peaks) -> String {
    let (own, other) = (peaks.candidate.least, peaks.other.most);
    format!(
        "peak: the candidate has at least {} resident, {:.1} times the {}'s most ({}); {} runs",
        units::bytes(own),
        own as f64 / other.max(1) as f64,
        peaks.against.name(),
        units::bytes(other),
        peaks.lens
    )
}

/// Peaks that are not far above the other side's. They decide nothing.
fn peak_advice(peaks: &Peaks) -> String {
    format!(
        "peak (advises): the candidate has {} resident, the {} {}; {} runs",
        range_text(peaks.candidate),
        peaks.against.name(),
        range_text(peaks.other),
        peaks.lens
    )
}

/// `160.2–163.0 MiB`.
fn range_text(range: Range) -> String {
    span(&units::bytes(range.least), &units::bytes(range.most))
}

/// The verdict in one sentence: what decided it, with its bounds.
pub fn headline(judgement: &Judgement, conclusions: &[Finding]) -> String {
    let (reasons, more) = reasons(judgement, conclusions);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}: {}{more}", outcome(judgement), reasons.join(", "))
}

/// Short texts of the first findings that explain the outcome, and the number of others.
fn reasons(judgement: &Judgement, conclusions: &[Finding]) -> (Vec<String>, usize) {
    // A refused gate has only the reasons for the refusal, which have no answer.
    let answer = if judgement.is_refused() {
        None
    } else {
        Some(judgement.answer)
    };
    let mut reasons: Vec<String> = Vec::new();
    for finding in conclusions {
        if finding.decides && finding.answer == answer && !reasons.contains(&finding.short) {
            reasons.push(finding.short.clone());
        }
    }
    let more = reasons.len().saturating_sub(MOST_REASONS);
    reasons.truncate(MOST_REASONS);
    (reasons, more)
}

/// Bounds and limits of these rules; `None` without rules.
fn rules(against: &Against, anchor: &str, weight: Weight, judged: &[Judged]) -> Option<Section> {
    if judged.is_empty() {
        return None;
    }
    let role = against.role.name();
    let lens = common_lens(judged);
    let of_lens = lens.map_or_else(String::new, |lens| format!(", {lens}"));
    let legend = "geometric means, and one-sided bounds of their ratio (α = 0.05 over all interim analyses): a rule \
                  fails if the lower bound is above the tolerance, and passes if the upper bound is below the limit to \
                  rule out";
    let section = Section::new(
        format!("{anchor}-{role}"),
        format!("Rules against the {role}{of_lens}"),
        weight,
    )
    .with_block(rule_table(against.role, judged, lens))
    .with_block(Sentence::definition("gate.legend", legend));
    Some(section)
}

/// The lens that all of these rules name.
fn common_lens(judged: &[Judged]) -> Option<Lens> {
    let lens = judged.first()?.rule.subject.lens;
    if judged.iter().all(|judged| judged.rule.subject.lens == lens) {
        lens
    } else {
        None
    }
}

/// A row per rule. `common_lens` is in the section's title, and so not in the name of each rule.
fn rule_table(role: Role, judged: &[Judged], common_lens: Option<Lens>) -> Vec<Column> {
    Table::new(judged)
        .text("rule", 0, |judged| match common_lens {
            Some(_) => judged.rule.subject.clone().with_lens(None).to_string(),
            None => judged.rule.subject.to_string(),
        })
        // Both means stay in a narrow terminal, where the sentences above have answers and limits.
        .text("", 2, |judged| {
            (tone(judged.verdict.answer), answer_word(judged.verdict.answer))
        })
        .number(role.name(), 1, |judged| {
            evidence_cell(judged, |evidence| figure_amount(judged, evidence.means.baseline))
        })
        .with_group_head(MEAN)
        .number("candidate", 1, |judged| {
            evidence_cell(judged, |evidence| figure_amount(judged, evidence.means.candidate))
        })
        .with_group_head(MEAN)
        .number("difference", 4, |judged| {
            evidence_cell(judged, |evidence| change(evidence.contrast.ratio()))
        })
        .number("bounds", 0, |judged| evidence_cell(judged, bounds))
        .number(LIMITS[1], 2, |judged| {
            evidence_cell(judged, |evidence| {
                format!("{} / {}", share(evidence.fail_above), share(evidence.pass_below))
            })
        })
        .with_group_head(LIMITS[0])
        .number("set by", 4, |judged| {
            evidence_cell(judged, |evidence| {
                floor(judged, evidence.fail_above).unwrap_or_default()
            })
        })
        .with_group_head("limit")
        .number("runs", 5, |judged| {
            units::or_unknown(judged.basis.look, |look| look.to_string())
        })
        .non_blank_columns("")
}

fn evidence_cell(judged: &Judged, text: impl Fn(&Evidence) -> String) -> String {
    match &judged.verdict.evidence {
        Ok(evidence) => text(evidence),
        Err(_) => units::UNKNOWN.to_owned(),
    }
}

/// An amount in the unit of the rule's figure.
fn figure_amount(judged: &Judged, value: f64) -> String {
    amount(value, judged.rule.subject.figure.unit())
}

/// The rules that advise, and decide nothing.
fn advice(judgement: &Judgement, conclusions: &[Finding]) -> Option<Section> {
    let mut section = Section::new("advice", "Advisory rules", Weight::Evidence);
    if !judgement.is_refused() {
        for against in &judgement.against {
            section = section.with_all(rules(against, "advice", Weight::Evidence, &against.advisory));
        }
    }
    for finding in conclusions.iter().filter(|finding| !finding.decides) {
        section = section.with_block(Sentence::evidence("gate.advice", finding.text.clone()).marked(finding.word()));
    }
    section.unless_empty()
}

/// The figure of each rule in each run.
fn every_run(judgement: &Judgement) -> Option<Section> {
    if judgement.is_refused() {
        return None;
    }
    let mut rows: Vec<(Role, &Judged)> = Vec::new();
    for against in &judgement.against {
        for judged in against.primaries.iter().chain(&against.advisory) {
            rows.push((against.role, judged));
        }
    }
    let table = Table::new(&rows)
        .text("rule", 0, |(_, judged)| judged.rule.subject.to_string())
        .text("against", 2, |(role, _)| role.name())
        .text("its runs", 1, |(_, judged)| {
            values_by_machine(judged, &judged.endpoint.baseline)
        })
        .text("the candidate's", 1, |(_, judged)| {
            values_by_machine(judged, &judged.endpoint.candidate)
        });
    let section = Section::new("gate-runs", "Every run, by rule", Weight::Evidence);
    table.non_empty().map(|table| section.with_block(table))
}

/// Values separated by commas, machines by semicolons.
fn values_by_machine(judged: &Judged, runs: &[Seen]) -> String {
    let mut machines = Vec::new();
    for runs in runs.chunk_by(|a, b| a.machine == b.machine) {
        let values: Vec<String> = runs
            .iter()
            .map(|run| units::or_unknown(run.value, |value| figure_amount(judged, value)))
            .collect();
        machines.push(values.join(", "));
    }
    machines.join("; ")
}

/// The runs of each side, and the deciding lens.
fn parties(judgement: &Judgement) -> Section {
    let mut facts: Vec<(String, String)> = judgement
        .parties
        .iter()
        .map(|party| (party.role.name().to_owned(), party_description(party)))
        .collect();
    let candidate = judgement.parties.iter().find(|party| party.role == Role::Candidate);
    let lenses = candidate.into_iter().flat_map(|party| &party.lenses);
    facts.extend(lenses.filter_map(lens::words).map(|words| ("lens".to_owned(), words)));
    let decides = match judgement.lens {
        _ if judgement.is_alone() => "budgets and growth alone, because no baseline was named",
        Lens::Purged => "the purged lens; as-shipped figures are advisory unless a rule says otherwise",
        Lens::AsShipped => "the as-shipped lens (no purged runs)",
    };
    facts.push(("decides".to_owned(), decides.to_owned()));
    Section::new("parties", "What was run", Weight::Evidence).with_block(Block::facts("What was run", facts))
}

fn tone(answer: Answer) -> Tone {
    match answer {
        Answer::Pass => Tone::Good,
        Answer::Fail => Tone::Bad,
        Answer::Inconclusive => Tone::Warning,
    }
}

/// The candidate beside the baseline, and the anchor.
pub fn side_by_side(runs: &[Played]) -> Scenarios {
    let baseline = runs.first().map(|run| run.summary.header.server.label.clone());
    compare_by_target(runs.to_vec(), baseline.as_deref())
}

/// The runs of all sides, each side with a label of its own: a server may be judged against itself.
pub fn relabelled_runs(sides: &Sides) -> Vec<Played> {
    let parties = sides.parties();
    let mut relabelled = Vec::new();
    for (role, runs) in &parties {
        let sides_with_label = parties.iter().filter(|(_, other)| label(other) == label(runs)).count();
        for run in runs.iter() {
            let mut run = run.clone();
            // Records of two directories may have one name.
            run.record = format!("{}: {}", role.name(), run.record);
            if sides_with_label > 1 {
                run.summary_mut().header.server.label =
                    format!("{} ({})", run.summary.header.server.label, role.name());
            }
            relabelled.push(run);
        }
    }
    relabelled
}

/// The label that all runs of a side share; `None` without runs.
fn label(runs: &[Played]) -> Option<&str> {
    runs.first().map(|run| run.summary.header.server.label.as_str())
}
