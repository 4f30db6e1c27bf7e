//! One run.

use maud::{Markup, html};

use crate::analyse::calls::Traced;
use crate::analyse::{self, Severity, Summary};
use crate::report::terminal::{blocks, decay, head, phases};
use crate::report::{calls, given, release};
use crate::text::clean;

use super::parts::Keys;
use super::spread::{self, Latencies};
use super::{allocators, data, decays, page, parts, tables};

/// The whole page of one run. `record` is the name of its record.
pub fn render(summary: &Summary, record: &str) -> String {
    let header = &summary.header;
    let title = format!("{} on {}", header.scenario.name, header.server.label);
    let chart = data::timeline(&[(&header.server.label, vec![(record, summary)])], Keys::ALIKE);
    let traced = summary.header.plan.traced.is_some();
    // What a tracer holds up has no memory and no latency worth a look.
    let measured = if traced {
        Vec::new()
    } else {
        measured(summary, chart.as_ref())
    };
    let sections = [
        called(summary),
        allocators::draw("", &[&header.server]),
        warnings(summary),
        facts(summary),
        parts::section("reproduce", "How to reproduce", &parts::reproduce(&[header])),
    ];
    let sections = measured.into_iter().chain(sections);
    let body = html! {
        (parts::top(&title, &format!("{record}, {}", header.started)))
        main {
            @if !traced { (verdict(summary)) }
            @for section in sections { (section) }
        }
    };
    page::document(&title, &body)
}

/// What only a run shows that nobody held up.
fn measured(summary: &Summary, chart: Option<&data::Timeline>) -> Vec<Markup> {
    vec![
        phases_table(summary),
        parts::timeline("", chart),
        decays::of_run(summary),
        given_back(summary),
        latency(summary),
        work(summary),
        processes(summary),
    ]
}

/// Its memory calls, if it was traced.
fn called(summary: &Summary) -> Markup {
    let Some(traced) = Traced::of(summary) else {
        return html! {};
    };
    let servers = [(summary.header.server.label.as_str(), &traced)];
    let body = html! {
        (tables::of_columns("Memory calls and their bytes", &calls::columns(&servers)))
        p.quiet { (clean(&calls::note(&servers))) }
    };
    parts::section("calls", "System calls", &body)
}

fn verdict(summary: &Summary) -> Markup {
    let (tone, ending) = head::ending(summary);
    html! {
        div.verdict {
            p class={ "ending " (tables::tone(tone)) } { (clean(&ending)) }
            @if let Some(said) = head::conclusion(summary) { p.say { (clean(&said)) "." } }
            (parts::sentences(decay::sentences(summary).into_iter().map(|text| ("plain", text))))
        }
    }
}

/// What came back by force, and what the server accounts for.
fn given_back(summary: &Summary) -> Markup {
    let tables = [
        (given::RELEASES, given::releases(summary)),
        (given::REPORTS, given::reports(summary)),
    ];
    let tables: Vec<_> = tables
        .into_iter()
        .filter_map(|(caption, table)| Some((caption, table?)))
        .collect();
    if tables.is_empty() {
        return html! {};
    }
    let said = release::sentences(summary).into_iter().map(|text| ("plain", text));
    let body = html! {
        (parts::sentences(said))
        @for (caption, table) in &tables { (tables::of_columns(caption, table)) }
    };
    parts::section("given", "Forced release and self-report", &body)
}

fn phases_table(summary: &Summary) -> Markup {
    if summary.phases.is_empty() {
        return html! {};
    }
    let all: Vec<_> = summary.phases.iter().collect();
    let body = html! {
        (tables::of_columns("Phases, sizes in MiB", &phases::table(summary, &all)))
        @for text in phases::legend(summary) { p.quiet { (clean(&text)) } }
    };
    parts::section("phases", "Phases", &body)
}

fn latency(summary: &Summary) -> Markup {
    let methods = blocks::most_sent(summary);
    if methods.is_empty() {
        return html! {};
    }
    let plots = methods.iter().map(|method| {
        let latencies = Latencies {
            label: &summary.header.server.label,
            class: parts::class(0),
            histogram: method.distribution.clone(),
            p50: method.p50.map(|time| time as f64),
            p95: method.p95.map(|time| time as f64),
        };
        spread::plot(&method.method, &[latencies])
    });
    let body = html! {
        p.quiet { "From sending until the last byte, retries included, over powers of ten. The solid mark is the median, the dashed one the 95th percentile." }
        div.plots { @for plot in plots { (plot) } }
        (tables::of_columns("Requests by method", &blocks::columns_of_methods(&methods)))
    };
    parts::section("latency", "Latency", &body)
}

fn work(summary: &Summary) -> Markup {
    let Some(columns) = blocks::columns_of_steps(summary) else {
        return html! {};
    };
    let table = tables::of_columns("Results with something in them, of all requested", &columns);
    parts::section("work", "Work", &table)
}

fn processes(summary: &Summary) -> Markup {
    if summary.most_processes <= 1 && summary.programs.len() <= 1 {
        return html! {};
    }
    let caption = format!(
        "Programs, sizes in MiB; at most {} processes at once",
        summary.most_processes
    );
    let table = tables::of_columns(&caption, &blocks::columns_of_programs(summary));
    parts::section("processes", "Processes", &table)
}

fn warnings(summary: &Summary) -> Markup {
    let mut findings = analyse::findings(summary);
    if findings.is_empty() {
        return html! {};
    }
    // A page is read from its top.
    findings.reverse();
    let tone = |severity| match severity {
        Severity::Note => "quiet",
        Severity::Warning => "warning",
        Severity::Failure => "bad",
    };
    let body = html! {
        ul.sentences {
            @for finding in &findings {
                li class=(tone(finding.severity)) {
                    @match finding.severity {
                        Severity::Note => "Note: ",
                        Severity::Warning => "Warning: ",
                        Severity::Failure => "Failure: ",
                    }
                    (parts::prose(&finding.text))
                    @if !finding.details.is_empty() {
                        pre tabindex="0" { @for line in &finding.details { (clean(line)) "\n" } }
                    }
                }
            }
        }
    };
    parts::section("warnings", "Warnings", &body)
}

fn facts(summary: &Summary) -> Markup {
    let body = html! {
        (tables::of_facts("The run", head::facts(summary).into_iter()))
        (parts::folded("Fingerprint", &tables::fingerprint(&summary.header)))
    };
    parts::section("facts", "Server and machine", &body)
}
