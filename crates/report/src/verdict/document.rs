//! What a gate says: the verdict with what decided it, above the comparison of its sides.

use crate::comparison::{self, amount, span};
use crate::document::page::Keys;
use crate::document::{Block, Document, NextCommand, Section, Weight};
use crate::run::lens;
use analysis::compare::{Played, Scenarios, by_target};
use analysis::gate::{Against, Judged, Judgement, Peaks, Range, Role, Sides};
use base::lens::Lens;
use base::text::table::{Column, Table};
use base::text::{Sentence, Tone};
use base::units;
use stats::{Answer, Evidence, Seen};

use super::findings::{About, Finding, doubts, findings, missed_groups, missing, not_known, unmeasured};
use super::words::{bounds, change, floor, name, outcome, share, who, word};

/// What the amounts of a rule are: not the medians of the comparison.
const MEAN: &str = "geomean";

/// The head of the limits, in two lines.
const LIMITS: [&str; 2] = ["fails above /", "passes below"];

/// More rules than this are only counted in the headline.
const MOST_SAID: usize = 2;

/// The whole document; `next` and `notes` follow the findings.
pub fn document(judgement: &Judgement, sides: &Sides, notes: &[String], next: Option<&NextCommand>) -> Document {
    let runs = told_apart(sides);
    let scenarios = side_by_side(&runs);
    let conclusions = findings(judgement);
    let mut sections: Vec<Section> = next.map(NextCommand::section).into_iter().collect();
    for against in judgement.against.iter().filter(|_| !judgement.is_refused()) {
        sections.extend(rules(against, "rules", Weight::Answer, &against.primaries));
    }
    sections.extend(warnings(judgement, &scenarios, notes));
    sections.push(parties(judgement));
    sections.extend(advice(judgement, &conclusions));
    sections.extend(every_run(judgement));
    let compared_sections = comparison::sections(&scenarios, &runs, Keys::ALIKE, true);
    // What a gate answers is its rules; everything else of the comparison supports them.
    sections.extend(compared_sections.into_iter().map(|section| Section {
        weight: section.weight.max(Weight::Evidence),
        ..section
    }));
    let tone = match judgement.is_refused() {
        true => Tone::Bad,
        false => tone(judgement.answer),
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

/// What must be known to read the verdict right.
fn warnings(judgement: &Judgement, scenarios: &Scenarios, notes: &[String]) -> Option<Section> {
    let doubts = doubts(judgement).into_iter().chain(notes.iter().cloned());
    let doubts = doubts.map(|text| Sentence::answer("gate.note", Tone::Warning, text).marked("note"));
    // The comparison's warnings that are not in the verdict.
    let comparisons = scenarios.values().flatten().map(|target| &target.comparison);
    let unusual = comparisons.flat_map(comparison::unusual);
    Section::new("gate-warnings", "Notes", Weight::Answer)
        .with_all(doubts)
        .with_all(unusual)
        .filled()
}

/// What decides, then what advises against it, and what was not measured.
fn verdict(judgement: &Judgement, conclusions: &[Finding]) -> Vec<Sentence> {
    let note = |text: String| Sentence::answer("gate.note", Tone::Warning, text).marked("note");
    let against = conclusions
        .iter()
        .filter(|one| !one.decides && one.answer == Some(Answer::Fail));
    let against = against.map(|one| note(one.text.clone()));
    let deciding = conclusions.iter().filter(|one| one.decides);
    let peaks = judgement.peaks.iter().filter(|peaks| !peaks.is_far_above);
    let peaks = peaks.map(peak_advice);
    let (said, _) = reasons(judgement, conclusions);
    important(judgement)
        .into_iter()
        .map(|text| Sentence::answer("gate.headline", Tone::Bad, text).marked("important"))
        .chain(deciding.map(|one| {
            let tone = match one.answer {
                Some(Answer::Pass) => Tone::Plain,
                Some(answer) => self::tone(answer),
                None => Tone::Bad,
            };
            let sentence = Sentence::answer("gate.finding", tone, one.text.clone()).marked(one.word());
            // The table of rules says the same, except why a rule is open, which the headline says of the first ones.
            let weight = match (&one.about, one.answer) {
                (About::Endpoint(..), Some(Answer::Pass | Answer::Fail)) => Weight::Evidence,
                (About::Endpoint(..), _) if one.is_short && said.contains(&one.short) => Weight::Evidence,
                _ => Weight::Answer,
            };
            Sentence { weight, ..sentence }
        }))
        .chain(missing(judgement).into_iter().map(note))
        .chain(against)
        .chain(peaks.map(|text| Sentence::answer("gate.peak", Tone::Quiet, text)))
        .chain(missed_groups(judgement).into_iter().map(note))
        .chain(unmeasured(judgement).map(note))
        .chain(not_known(judgement).map(note))
        .collect()
}

/// What stands above every rule: headlines of the sides, and peaks far above the other side's.
pub(super) fn important(judgement: &Judgement) -> Vec<String> {
    let far = judgement.peaks.iter().filter(|peaks| peaks.is_far_above);
    judgement
        .headlines
        .iter()
        .cloned()
        .chain(far.map(peak_headline))
        .collect()
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
        spread(peaks.candidate),
        peaks.against.name(),
        spread(peaks.other),
        peaks.lens
    )
}

/// `160.2–163.0 MiB`.
fn spread(range: Range) -> String {
    span(&units::bytes(range.least), &units::bytes(range.most))
}

/// The verdict in one sentence: what decided it, with its bounds.
pub fn headline(judgement: &Judgement, conclusions: &[Finding]) -> String {
    let (said, more) = reasons(judgement, conclusions);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}: {}{more}", outcome(judgement), said.join(", "))
}

/// What the headline says of the first findings that decide, and how many others there are.
fn reasons(judgement: &Judgement, conclusions: &[Finding]) -> (Vec<String>, usize) {
    // Where nothing is decided, there are only the reasons for that.
    let answer = if judgement.is_refused() {
        None
    } else {
        Some(judgement.answer)
    };
    let mut reasons: Vec<String> = Vec::new();
    for one in conclusions.iter().filter(|one| one.decides && one.answer == answer) {
        if !reasons.contains(&one.short) {
            reasons.push(one.short.clone());
        }
    }
    let more = reasons.len().saturating_sub(MOST_SAID);
    reasons.truncate(MOST_SAID);
    (reasons, more)
}

/// Bounds and limits of these rules.
fn rules(against: &Against, anchor: &str, weight: Weight, judged: &[Judged]) -> Option<Section> {
    let role = against.role.name();
    let what = "geometric means, and one-sided bounds of their ratio (α = 0.05 over all interim analyses): a rule \
                fails if the lower bound is above the tolerance, and passes if the upper bound is below the limit to \
                rule out";
    (!judged.is_empty()).then(|| {
        let lens = common_lens(judged);
        let through = lens.map_or_else(String::new, |lens| format!(", {lens}"));
        Section::new(
            format!("{anchor}-{role}"),
            format!("Rules against the {role}{through}"),
            weight,
        )
        .with(table_of(against.role, judged, lens))
        .with(Sentence::definition("gate.legend", what))
    })
}

/// The lens that all of these rules name.
fn common_lens(judged: &[Judged]) -> Option<Lens> {
    let lens = judged.first()?.rule.subject.lens?;
    judged
        .iter()
        .all(|one| one.rule.subject.lens == Some(lens))
        .then_some(lens)
}

/// `lens` is in the title, and so not in the name of each rule.
fn table_of(role: Role, judged: &[Judged], lens: Option<Lens>) -> Vec<Column> {
    let rule = |judged: &Judged| match lens {
        Some(_) => judged.rule.subject.clone().through(None).to_string(),
        None => judged.rule.subject.to_string(),
    };
    type Shown = fn(&Judged, &Evidence) -> String;
    let shown = |text: Shown| {
        move |judged: &Judged| {
            let evidence = judged.verdict.evidence.as_ref();
            evidence.map_or_else(|_| units::UNKNOWN.to_owned(), |evidence| text(judged, evidence))
        }
    };
    fn amounts(judged: &Judged, value: f64) -> String {
        amount(value, judged.rule.subject.figure.unit())
    }
    Table::new(judged)
        .text("rule", 0, rule)
        // Both means stay in a narrow terminal, where the sentences above have answers and limits.
        .text("", 2, |judged| {
            (tone(judged.verdict.answer), word(judged.verdict.answer))
        })
        .number(
            role.name(),
            1,
            shown(|judged, evidence| amounts(judged, evidence.means.0)),
        )
        .grouped(MEAN)
        .number(
            "candidate",
            1,
            shown(|judged, evidence| amounts(judged, evidence.means.1)),
        )
        .grouped(MEAN)
        .number("difference", 4, shown(|_, evidence| change(evidence.contrast.ratio())))
        .number("bounds", 0, shown(|_, evidence| bounds(evidence)))
        .number(
            LIMITS[1],
            2,
            shown(|_, evidence| format!("{} / {}", share(evidence.fail_above), share(evidence.pass_below))),
        )
        .grouped(LIMITS[0])
        .number(
            "set by",
            4,
            shown(|judged, evidence| floor(judged, evidence.fail_above).unwrap_or_default()),
        )
        .grouped("limit")
        .number("runs", 5, |judged| {
            units::or_unknown(judged.basis.look, |look| look.to_string())
        })
        .filled("")
}

/// The rules that advise, and decide nothing.
fn advice(judgement: &Judgement, conclusions: &[Finding]) -> Option<Section> {
    let tables = judgement.against.iter().filter(|_| !judgement.is_refused());
    let tables = tables.filter_map(|against| rules(against, "advice", Weight::Evidence, &against.advisory));
    let advising = conclusions.iter().filter(|one| !one.decides);
    let sentences = advising.map(|one| Sentence::evidence("gate.advice", one.text.clone()).marked(one.word()));
    Section::new("advice", "Advisory rules", Weight::Evidence)
        .with_all(tables)
        .with_all(sentences)
        .filled()
}

/// The figure in each run, machines apart.
fn every_run(judgement: &Judgement) -> Option<Section> {
    let against = judgement.against.iter().filter(|_| !judgement.is_refused());
    let rows: Vec<(&Against, &Judged)> = against
        .flat_map(|against| {
            let judged = against.primaries.iter().chain(&against.advisory);
            judged.map(move |judged| (against, judged))
        })
        .collect();
    let values = |judged: &Judged, seen: &[Seen]| -> String {
        let unit = judged.rule.subject.figure.unit();
        let machines = seen.chunk_by(|a, b| a.machine == b.machine);
        let of_machine = |runs: &[Seen]| -> String {
            let values = runs
                .iter()
                .map(|run| units::or_unknown(run.value, |value| amount(value, unit)));
            values.collect::<Vec<String>>().join(", ")
        };
        machines.map(of_machine).collect::<Vec<String>>().join("; ")
    };
    let table = Table::new(&rows)
        .text("rule", 0, |(_, judged)| judged.rule.subject.to_string())
        .text("against", 2, |(against, _)| against.role.name())
        .text("its runs", 1, |(_, judged)| values(judged, &judged.endpoint.baseline))
        .text("the candidate's", 1, |(_, judged)| {
            values(judged, &judged.endpoint.candidate)
        });
    let section = Section::new("gate-runs", "Every run, by rule", Weight::Evidence);
    table.non_empty().map(|table| section.with(table))
}

/// The runs of each side, and the deciding lens.
fn parties(judgement: &Judgement) -> Section {
    let mut facts: Vec<(String, String)> = judgement
        .parties
        .iter()
        .map(|party| (party.role.name().to_owned(), who(party)))
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
    Section::new("parties", "What was run", Weight::Evidence).with(Block::facts("What was run", facts))
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
    by_target(runs.to_vec(), baseline.as_deref())
}

/// The runs of all sides, each under a label of its own: a server may be judged against itself.
pub fn told_apart(sides: &Sides) -> Vec<Played> {
    let label = |runs: &[Played]| runs.first().map(|run| run.summary.header.server.label.clone());
    let all = sides.parties();
    let alike = |runs: &[Played]| all.iter().filter(|(_, other)| label(other) == label(runs)).count() > 1;
    let named = all.iter().flat_map(|(role, runs)| {
        let alike = alike(runs);
        runs.iter().map(move |run| {
            let mut run = run.clone();
            // Records of two directories may have one name.
            run.record = format!("{}: {}", role.name(), run.record);
            if alike {
                run.summary.header.server.label = format!("{} ({})", run.summary.header.server.label, role.name());
            }
            run
        })
    });
    named.collect()
}
