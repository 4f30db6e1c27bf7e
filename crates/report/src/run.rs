//! The report of one run.

pub mod allocator;
mod command;
pub(crate) mod fingerprint;
pub(crate) mod head;
pub mod json;
pub(crate) mod lens;
pub mod list;
pub(crate) mod phases;
mod reproduce;
pub(crate) mod tables;

use crate::comparison::document::{calls_section, distributions, forced_releases_section, idle_windows_section};
use crate::comparison::{growth, idle_windows, released};
use crate::document::page::Keys;
use crate::document::{Block, Document, Section, Weight};
use analysis::compare::{Comparison, Grown, Played, one_run};
use analysis::findings::{self, Severity};
use analysis::growth::repeated_parts;
use analysis::summary::calls::Traced;
use analysis::summary::{MethodSummary, Summary, exit_of_run};
use base::exit::Exit;
use base::lens::Lens;
use base::text::table::Table;
use base::text::{Sentence, Tone};
use base::units;
use record::{AllocatorFacts, Header, ServerFacts};
use stats::{LEAST_CYCLES, LEAST_RUNS};

use crate::pictures::{Named, timeline};

/// The whole report.
pub fn document(played: &Played) -> Document {
    let Played { record, summary } = played;
    let header = &summary.header;
    let comparison = one_run(played);
    let servers = [(header.server.label.as_str(), vec![(record.as_str(), &**summary)])];
    let mut sections: Vec<Option<Section>> = Vec::new();
    // A tracer slows a run, so its memory and latency are left out.
    let is_traced = Traced::from_summary(summary).is_some();
    if is_traced {
        sections.push(calls_section("", &comparison, Weight::Answer));
    } else {
        sections.push(command::figures_section(summary).or_else(|| phases(summary)));
        sections.push(growth::section("", &growth_lines(summary), &servers, Keys::ALIKE));
    }
    sections.push(warnings(summary));
    if !is_traced {
        sections.extend([
            timeline(summary, record),
            windows(&comparison, &servers, summary),
            forced_releases_section("", &comparison),
            every_round(summary),
            requests(&comparison, &servers, summary),
            steps(summary),
            processes(summary),
        ]);
    }
    sections.extend([
        self::allocators("", &[&header.server]),
        Some(facts(summary)),
        Some(how_to_reproduce(&[header])),
    ]);
    Document {
        title: format!("{} on {}", header.scenario.name, header.server.label),
        origin: format!("{record}, {}.", header.started),
        headline: None,
        verdict: verdict(summary, &comparison),
        sections: sections.into_iter().flatten().collect(),
    }
}

fn verdict(summary: &Summary, comparison: &Comparison) -> Vec<Sentence> {
    let (tone, ending) = head::ending(summary);
    let mut verdict = vec![Sentence::answer("run.ending", tone, ending)];
    verdict.extend(findings::headlines(summary).into_iter().map(|headline| {
        let tone = match headline.severity {
            Severity::Failure => Tone::Bad,
            Severity::Note | Severity::Warning => Tone::Warning,
        };
        Sentence {
            details: headline.details,
            ..Sentence::answer("run.headline", tone, headline.text)
        }
    }));
    if summary.header.plan.traced.is_some() {
        return verdict;
    }
    verdict.extend(growth_sentences(summary));
    if let Some(kept) = head::conclusion(summary) {
        // Of what repeats often, growth is the answer.
        verdict.push(if repeats_often(summary) {
            Sentence::evidence("run.kept", kept)
        } else {
            Sentence::answer("run.kept", Tone::Plain, kept)
        });
    }
    for (id, text) in [
        ("run.processes", head::processes(summary)),
        ("run.came-back", released::of_run(summary)),
        ("run.slowest", tables::slowest(summary)),
    ] {
        verdict.extend(text.map(|text| Sentence::answer(id, Tone::Plain, text)));
    }
    let costs = comparison.sides.iter().filter_map(released::traffic_cost);
    verdict.extend(costs.map(|text| Sentence::evidence("run.traffic", text)));
    verdict
}

fn phases(summary: &Summary) -> Option<Section> {
    // A session of an editor is one phase without a checkpoint.
    if summary.phases.is_empty() || summary.header.wrapped.is_some() {
        return None;
    }
    let legend = phases::legend(summary).into_iter();
    let section = Section::new("phases", "Phases", Weight::Answer)
        .noted("sizes in MiB")
        .with_block(phases::table(summary, &phases::joined_rounds(summary)))
        .with_all(legend.map(|text| Sentence::definition("phases.legend", text)));
    Some(section)
}

/// The table of single rounds, if any phase is repeated.
fn every_round(summary: &Summary) -> Option<Section> {
    let all = phases::every_round(summary);
    if phases::joined_rounds(summary).len() == all.len() {
        return None;
    }
    let section = Section::new("rounds", "Every round", Weight::Definition)
        .noted("sizes in MiB")
        .with_block(phases::table(summary, &all));
    Some(section)
}

/// Findings that are not in the verdict, the weightiest first.
fn warnings(summary: &Summary) -> Option<Section> {
    let others = findings::findings(summary).into_iter().rev();
    let sentences = others.filter(|finding| !finding.is_headline).map(|finding| {
        let (id, tone, mark) = match finding.severity {
            Severity::Note => ("run.note", Tone::Quiet, "note"),
            Severity::Warning => ("run.warning", Tone::Warning, "warning"),
            Severity::Failure => ("run.failure", Tone::Bad, "failure"),
        };
        Sentence {
            details: finding.details,
            ..Sentence::answer(id, tone, finding.text).marked(mark)
        }
    });
    Section::new("warnings", "Warnings", Weight::Answer)
        .with_all(sentences)
        .unless_empty()
}

fn timeline<'s>(summary: &'s Summary, record: &'s str) -> Option<Section> {
    let lines = timeline::from_run(summary, record)?;
    let section = Section::new("timeline", "Timeline", Weight::Evidence);
    let note = format!("MiB over {}", units::nanoseconds(summary.duration));
    Some(section.noted(note).with_block(Block::Timeline(lines)))
}

/// Idle windows, with remarks on single ones.
fn windows(comparison: &Comparison, servers: &[(&str, Vec<Named>)], summary: &Summary) -> Option<Section> {
    let remarks = idle_windows::remarks(summary).into_iter();
    let section = idle_windows_section("", comparison, servers, Keys::ALIKE)?;
    Some(section.with_all(remarks.map(|text| Sentence::evidence("windows.remark", text))))
}

/// The repeated parts of a run.
fn growth_lines(summary: &Summary) -> Vec<growth::GrowthLine> {
    let lens = summary.header.server.lens.name;
    let mut lines = Vec::new();
    for repeated in repeated_parts(summary) {
        lines.push(growth::GrowthLine::new("", &Grown::in_one_run(&repeated, lens)));
    }
    lines
}

/// Growth from round to round, as far as one run shows it.
pub(crate) fn growth_sentences(summary: &Summary) -> Vec<Sentence> {
    let lines = growth_lines(summary);
    if lines.is_empty() {
        return Vec::new();
    }
    let few = format!("one run is no verdict: a verdict takes {LEAST_RUNS}, use `--runs {LEAST_RUNS}`");
    let mut sentences: Vec<Sentence> = growth::growth_sentences(&lines, summary.header.server.lens.name, 1)
        .into_iter()
        .map(|text| Sentence::answer("growth.attribution", Tone::Plain, text))
        .collect();
    if repeats_often(summary) {
        sentences.push(Sentence::answer("growth.one-run", Tone::Quiet, few));
    }
    sentences
}

/// True if a part has the rounds that a slope takes.
fn repeats_often(summary: &Summary) -> bool {
    repeated_parts(summary)
        .iter()
        .any(|part| part.values.len() >= LEAST_CYCLES)
}

fn requests(comparison: &Comparison, servers: &[(&str, Vec<Named>)], summary: &Summary) -> Option<Section> {
    let methods = tables::most_sent(summary);
    let by_editor: Vec<&MethodSummary> = summary.traffic.editor.iter().collect();
    if methods.is_empty() && by_editor.is_empty() {
        return None;
    }
    let mut section = Section::new("latency", "Requests", Weight::Evidence)
        .noted("from request to last byte, retries included")
        .with_block(distributions(comparison, servers, Keys::ALIKE));
    if !methods.is_empty() {
        section = section.with_block(tables::methods(&methods));
    }
    if !by_editor.is_empty() {
        let caption = "Sent by the editor, beside the steps";
        section = section.with_block((caption, tables::methods(&by_editor)));
    }
    if methods
        .iter()
        .chain(&by_editor)
        .any(|method| method.answered > 0 && method.p95.is_none())
    {
        let note = "p95 n/a: fewer than 20 answers";
        section = section.with_block(Sentence::definition("requests.note", note));
    }
    let left_out = summary.traffic.methods.len() - methods.len();
    if left_out > 0 {
        let note = format!("{left_out} more with fewer requests: `--format json`");
        section = section.with_block(Sentence::definition("requests.note", note));
    }
    Some(section)
}

fn steps(summary: &Summary) -> Option<Section> {
    let table = tables::steps(summary)?;
    let section = Section::new("work", "Steps", Weight::Evidence);
    Some(section.noted("non-empty results of all requests").with_block(table))
}

fn processes(summary: &Summary) -> Option<Section> {
    if !tables::has_processes(summary) {
        return None;
    }
    let most = units::count(summary.processes.most_at_once);
    let section = Section::new("processes", "Processes", Weight::Evidence)
        .noted(format!("sizes in MiB · at most {most} at once"))
        .with_block(tables::programs(summary));
    Some(section)
}

fn facts(summary: &Summary) -> Section {
    Section::new("facts", "Server and machine", Weight::Evidence)
        .with_block(Block::facts("The run", head::facts(summary)))
        .with_block(fingerprint(&summary.header.server.label, &summary.header))
}

/// The fingerprint of a run.
pub(crate) fn fingerprint(title: &str, header: &Header) -> Section {
    let facts = fingerprint::facts(header);
    Section::new("", format!("Fingerprint of {title}"), Weight::Definition)
        .with_block(Block::facts("Fingerprint", facts))
}

/// The fingerprint of another run, without the facts that equal the first run's.
pub(crate) fn fingerprint_beside(title: &str, header: &Header, first: (&str, &Header)) -> Section {
    let known = fingerprint::facts(first.1);
    let facts = fingerprint::facts(header)
        .into_iter()
        .filter(|fact| !known.contains(fact));
    let title = format!("Fingerprint of {title}, where it differs from {}", first.0);
    Section::new("", title, Weight::Definition).with_block(Block::facts("Fingerprint", facts))
}

/// The commands that reproduce the report.
pub(crate) fn how_to_reproduce(headers: &[&Header]) -> Section {
    let mut section = Section::new("reproduce", "How to reproduce", Weight::Definition);
    let commands = reproduce::commands(headers);
    if commands.is_empty() {
        let unknown = "the records do not say which command made them";
        section = section.with_block(Sentence::definition("reproduce.unknown", unknown));
    }
    for command in commands {
        section = section.with_block(Block::Code {
            language: "sh",
            title: None,
            text: command + "\n",
        });
    }
    let notes = reproduce::notes(headers).into_iter();
    section.with_all(notes.map(|text| Sentence::definition("reproduce.processors", text)))
}

/// The allocator of each server, and the evidence for it; `None` if none is known.
pub(crate) fn allocators(id: &str, servers: &[&ServerFacts]) -> Option<Section> {
    let known: Vec<(&ServerFacts, &AllocatorFacts)> = servers
        .iter()
        .filter_map(|server| Some((*server, server.allocator.as_ref()?)))
        .collect();
    if known.is_empty() {
        return None;
    }
    let table = Table::new(&known)
        .text("server", 0, |(server, _)| &server.label)
        .text("allocator", 0, |(_, facts)| allocator::headline(facts))
        .text("version", 1, |(server, facts)| {
            or_unknown(allocator::version(server, facts))
        })
        .text("reads", 2, |(_, facts)| or_unknown(facts.variable.clone()))
        .text("built with", 3, |(_, facts)| or_unknown(facts.baked.clone()))
        .text("beside it", 4, |(_, facts)| or_unknown(facts.beside.clone()))
        .non_blank_columns(units::UNKNOWN);
    let evidence = known
        .iter()
        .filter_map(|(server, facts)| evidence_for_allocator(server, facts));
    let section = Section::new(format!("{id}allocators"), "Allocators", Weight::Definition)
        .with_block(table)
        .with_all(evidence);
    Some(section)
}

fn or_unknown(text: Option<String>) -> String {
    text.unwrap_or_else(|| units::UNKNOWN.to_owned())
}

fn evidence_for_allocator(server: &ServerFacts, facts: &AllocatorFacts) -> Option<Section> {
    let mut section = Section::new("", format!("Evidence for {}", server.label), Weight::Definition);
    let evidence = allocator::evidence(server, facts);
    if !evidence.is_empty() {
        section = section.with_block(Block::facts("Settings and evidence", evidence));
    }
    let options = allocator::options(facts);
    if !options.is_empty() {
        section = section.with_block(Block::facts("Options in force", options));
    }
    section.unless_empty()
}

/// One run in one line, while others follow.
pub fn one_line(summary: &Summary) -> String {
    if let Some(traced) = Traced::from_summary(summary) {
        return format!(
            "{} (traced): {}, {}",
            name(summary),
            units::count_of(traced.advice(), "madvise call"),
            units::nanoseconds(summary.duration),
        );
    }
    let warm_up = if summary.header.plan.warm_up {
        " (warming up)"
    } else {
        ""
    };
    if exit_of_run(summary) == Exit::ServerFailed {
        return format!(
            "✗ {}{warm_up}: {}, after {}",
            name(summary),
            findings::brief(summary),
            units::nanoseconds(summary.duration),
        );
    }
    if let Some(command) = &summary.lifecycle.command {
        return format!(
            "{}: {}, peak {}",
            name(summary),
            units::nanoseconds(command.wall),
            units::or_unknown(summary.memory.peak, |peak| units::bytes(peak.lower)),
        );
    }
    let end = head::result(summary).map(|(private, _)| private);
    format!(
        "{}{warm_up}: private {}, peak {}, {}",
        name(summary),
        units::or_unknown(end, units::bytes),
        units::or_unknown(summary.memory.peak, |peak| units::bytes(peak.lower)),
        units::nanoseconds(summary.duration),
    )
}

/// A run's name, as in its record's file; the usual lens is left out.
fn name(summary: &Summary) -> String {
    let server = &summary.header.server;
    match server.lens.name {
        Lens::AsShipped => server.label.clone(),
        Lens::Purged => format!("{}-purged", server.label),
    }
}

#[cfg(test)]
mod tests;
