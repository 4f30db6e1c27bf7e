//! One run to be pasted into a pull request: the table of phases first, what to know, everything else folded.

use crate::analyse::calls::Traced;
use crate::analyse::growth::repeated;
use crate::analyse::stats::LEAST_CYCLES;
use crate::analyse::{self, Finding, Severity, Summary};
use crate::record::ServerFacts;
use crate::report::allocator;
use crate::report::calls;
use crate::report::decay as windows;
use crate::report::fingerprint;
use crate::report::given;
use crate::report::growth;
use crate::report::reproduce;
use crate::report::terminal::{blocks, decay, head, phases};
use crate::text::table::{Cell, Column};
use crate::text::{clean, clean_lines, cut, line_of};

use super::{columns_of, escape, facts_of, fenced, folded, prose, small};

/// Columns of a line of somebody else's text.
const WIDEST: usize = 400;

/// The run. `record` is the name of its record.
pub fn run(summary: &Summary, record: &str) -> String {
    let header = &summary.header;
    let mut out = String::new();
    let (_, ending) = head::ending(summary);
    let mut title = format!("{} on {}", header.scenario.name, header.server.label);
    let traced = Traced::of(summary);
    if traced.is_none() {
        title = format!("{title}: {ending}");
    }
    line_of(&mut out, format!("### {}", escape(&clean(&title))));
    out.push('\n');
    match &traced {
        Some(traced) => calls_table(&mut out, summary, traced),
        None => phases_table(&mut out, summary),
    }
    remarks(&mut out, summary);
    // What a tracer holds up has no memory and no latency worth a look.
    if traced.is_none() {
        measured(&mut out, summary);
    }
    allocators(&mut out, &header.server);
    folded(&mut out, "Server and machine", |out| {
        facts_of(out, head::facts(summary).into_iter());
        out.push_str("\nFingerprint:\n\n");
        facts_of(out, fingerprint::facts(header).into_iter());
    });
    folded(&mut out, "How to reproduce", |out| {
        match reproduce::commands(&[header]).as_slice() {
            [] => line_of(out, "The record does not say by which command it was made."),
            commands => fenced(out, "sh", commands),
        }
        for note in reproduce::notes(&[header]) {
            line_of(out, format!("\n{}", escape(&note)));
        }
    });
    let footnote = format!("{record}, {}. Made by lsp-soak.", header.started);
    small(&mut out, &[footnote]);
    clean_lines(&out)
}

/// What each phase cost, with what the words of the table mean.
fn phases_table(out: &mut String, summary: &Summary) {
    if summary.phases.is_empty() {
        return;
    }
    let (shown, left_out) = phases::shown(&summary.phases);
    let mut table = phases::table(summary, &shown);
    if left_out > 0 {
        table = table.into_iter().map(|column| column.gap(phases::KEPT)).collect();
    }
    columns_of(out, &table);
    let mut legend = vec!["sizes in MiB".to_owned()];
    legend.extend(phases::left_out(left_out));
    legend.extend(phases::legend(summary));
    small(out, &legend);
}

/// Its memory calls, if it was traced.
fn calls_table(out: &mut String, summary: &Summary, traced: &Traced) {
    let servers = [(summary.header.server.label.as_str(), traced)];
    columns_of(out, &calls::columns(&servers));
    small(out, &[calls::note(&servers)]);
}

/// What the run came to, and everything to know, the weightiest first.
fn remarks(out: &mut String, summary: &Summary) {
    out.push('\n');
    if summary.header.plan.traced.is_none() {
        let said = head::conclusion(summary).into_iter().chain(decay::sentences(summary));
        for text in said {
            line_of(out, format!("- {}", prose(&clean(&text))));
        }
    }
    let mut findings = analyse::findings(summary);
    findings.reverse();
    for (place, finding) in findings.iter().enumerate() {
        line_of(out, format!("- {}", told(finding)));
        if !finding.details.is_empty() {
            let lines: Vec<String> = finding.details.iter().map(|line| cut(&clean(line), WIDEST)).collect();
            out.push('\n');
            fenced(out, "text", &lines);
            if place + 1 < findings.len() {
                out.push('\n');
            }
        }
    }
}

fn told(finding: &Finding) -> String {
    let text = prose(&clean(&finding.text));
    match finding.severity {
        Severity::Failure => format!("**failure: {text}**"),
        Severity::Warning => format!("warning: {text}"),
        Severity::Note => format!("note: {text}"),
    }
}

/// What only a run shows that nobody held up.
fn measured(out: &mut String, summary: &Summary) {
    if let Some(table) = decay::columns_of_windows(summary) {
        folded(out, &format!("What came back, {}", decay::SUBJECT), |out| {
            columns_of(out, &table);
            let told = decay::told(&summary.windows);
            let remarks = told.into_iter().filter_map(windows::remark);
            small(
                out,
                &std::iter::once(windows::legend(&table))
                    .chain(remarks)
                    .collect::<Vec<String>>(),
            );
        });
    }
    for (title, table) in [
        (given::RELEASES, given::releases(summary)),
        (given::REPORTS, given::reports(summary)),
    ] {
        if let Some(table) = table {
            folded(out, title, |out| columns_of(out, &table));
        }
    }
    grown(out, summary);
    let methods = blocks::most_sent(summary);
    if !methods.is_empty() {
        folded(out, "Requests, latency until the last byte, retries included", |out| {
            columns_of(out, &blocks::columns_of_methods(&methods));
        });
    }
    if let Some(table) = blocks::columns_of_steps(summary) {
        folded(out, "Steps, results with something in them of all requested", |out| {
            columns_of(out, &table);
        });
    }
    if summary.most_processes > 1 || summary.programs.len() > 1 {
        folded(out, "Processes, sizes in MiB", |out| {
            columns_of(out, &blocks::columns_of_programs(summary));
        });
    }
}

/// What grows from round to round, if anything was repeated often enough.
fn grown(out: &mut String, summary: &Summary) {
    let repeated = repeated(summary);
    if repeated.iter().all(|one| one.values.len() < LEAST_CYCLES) {
        return;
    }
    let lines: Vec<growth::Line> = repeated.iter().map(growth::Line::of_run).collect();
    let names = lines.iter().map(|line| Cell::plain(&line.name)).collect();
    let mut table = vec![Column::text("phase", 0, names)];
    table.extend(growth::columns(&lines));
    folded(out, &format!("Growth per round, {}", growth::note()), |out| {
        columns_of(out, &table);
        let mut said = growth::attribution(&lines, summary.header.server.lens.name, 1);
        said.push("one run is no verdict: compare 3 runs or more, with --runs 3".to_owned());
        small(out, &said);
    });
}

/// Which allocator the server has, and how that is known.
fn allocators(out: &mut String, server: &ServerFacts) {
    let Some(facts) = &server.allocator else { return };
    folded(out, "Allocator, and how that is known", |out| {
        let some = |name, value: &Option<String>| Some((name, value.clone()?));
        let known = [
            Some(("allocator", allocator::headline(facts))),
            some("version", &facts.version),
            some("reads", &facts.variable),
            some("built with", &facts.baked),
            some("beside it", &facts.beside),
        ];
        let evidence = allocator::evidence(server, facts);
        facts_of(out, known.into_iter().flatten().chain(evidence));
        let options = allocator::options(facts);
        if !options.is_empty() {
            out.push_str("\nOptions in force:\n\n");
            facts_of(out, options.into_iter());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::calls::tests::traced;
    use crate::analyse::compare::release::tests::with;
    use crate::record::{PreloadFacts, golden};
    use crate::report::allocator::tests::found;
    use crate::report::html;

    fn of(name: &str) -> Summary {
        analyse::read(golden::open(name)).unwrap()
    }

    #[test]
    fn a_run_begins_with_its_phases_and_ends_with_how_it_is_made_again() {
        for name in ["completed", "crashed", "tree", "interrupted", "truncated"] {
            insta::assert_snapshot!(name, run(&of(name), &format!("{name}.jsonl")));
        }
    }

    #[test]
    fn a_traced_run_has_its_calls_and_no_memory() {
        let text = run(&traced(of("completed"), 1_234), "traced.jsonl");
        assert!(!text.contains("private") && !text.contains("resident"), "{text}");
        insta::assert_snapshot!("traced", text);
    }

    #[test]
    fn it_says_how_the_allocator_is_known_and_by_which_command_it_was_made() {
        let mut summary = of("completed");
        let (facts, knobs) = found();
        (summary.header.server.allocator, summary.header.server.knobs) = (Some(facts), knobs);
        summary.header.server.preload = Some(PreloadFacts {
            name: "jemalloc".to_owned(),
            path: "/usr/lib/libjemalloc.so.2".to_owned(),
            package: Some("libjemalloc2 5.3.0-1".to_owned()),
            ..PreloadFacts::default()
        });
        let words = ["/usr/bin/lsp-soak", "run", "a b.toml", "--server", "ty"];
        summary.header.settings.command_line = words.map(str::to_owned).to_vec();
        let text = run(&summary, "run-001-ty.jsonl");
        let at = text.find("<details><summary>Allocator").expect("it is there");
        insta::assert_snapshot!("allocator", &text[at..]);
    }

    #[test]
    fn what_came_by_force_and_what_the_server_accounts_for_have_a_table_each() {
        let summary = with(with(of("completed"), 50, Some(100)), 0, None);
        let text = run(&summary, "run-001-ty.jsonl");
        let from = text.find("<details><summary>Forced").expect("it is there");
        let to = text.find("<details><summary>Requests").expect("it is there");
        insta::assert_snapshot!("given", &text[from..to]);
        let page = html::run(&summary, "run-001-ty.jsonl");
        assert!(page.contains("<h2 id=\"given-title\">Forced release and self-report</h2>"));
        assert!(!html::run(&of("completed"), "a").contains("given-title"));
    }

    #[test]
    fn what_a_server_says_is_no_markup_of_ours() {
        let mut summary = of("crashed");
        summary.header.server.label = "</details> | <img src=x> `*_[a](b)".to_owned();
        summary.header.settings.command_line = vec!["lsp-soak".to_owned(), "```\n# heading".to_owned()];
        let text = run(&summary, "a|b.jsonl");
        assert!(
            !text.contains("<img") && text.contains("&lt;/details&gt; \\| &lt;img"),
            "{text}"
        );
        assert!(text.contains("````sh\nlsp-soak '```"), "{text}");
        let opened = text.matches("<details>").count();
        assert_eq!(text.matches("</details>").count(), opened);
    }
}
