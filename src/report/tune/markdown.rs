//! A sweep to be pasted into a pull request: the answer, the lines to ship, the table, everything else folded.

use std::fmt::Write;

use crate::analyse::tune::{Sweep, Swept};
use crate::record::CellFacts;
use crate::report::markdown::{escape, fence, folded, heads_of, line};
use crate::text::{clean_lines, line_of, quoted};

use super::columns::columns;
use super::ship;
use super::terminal::title;
use super::why::why_not;
use super::words::{chosen, headline, legend, sentences};

/// The sweep; `notes` are told with what was found.
pub fn render(sweep: &Sweep, notes: &[String]) -> String {
    let mut out = String::new();
    line_of(&mut out, format!("### {}\n", escape(&headline(sweep))));
    line_of(&mut out, format!("{}\n", escape(&title(sweep))));
    table(&mut out, sweep);
    out.push('\n');
    let said = sentences(sweep).into_iter().map(|sentence| sentence.text);
    for text in said.chain(notes.iter().cloned()) {
        line_of(&mut out, format!("- {}", escape(&text)));
    }
    if let Some(cell) = chosen(sweep) {
        shipped(&mut out, sweep, cell);
    }
    folded(&mut out, "What each setting is", |out| what_is_set(out, sweep));
    if sweep.cells.iter().any(|cell| cell.why_not.is_some()) {
        folded(&mut out, "Why the others are not recommended", |out| why(out, sweep));
    }
    line_of(
        &mut out,
        format!("\n<sub>{}. Made by lsp-soak.</sub>", escape(&legend(sweep))),
    );
    clean_lines(&out)
}

fn table(out: &mut String, sweep: &Sweep) {
    let columns = columns(sweep);
    let Some((first, others)) = columns.split_first() else {
        return;
    };
    heads_of(
        out,
        first.head().1,
        others.iter().map(|column| column.head().1.to_owned()),
    );
    for (row, name) in first.cells().iter().enumerate() {
        let cells = others.iter().map(|column| match column.cells()[row].text.as_str() {
            text if column.head().1.is_empty() && !text.is_empty() => format!("**{text}**"),
            text => escape(text),
        });
        line(out, &escape(&name.text), cells);
    }
}

/// Everything that the chosen setting can be written as.
fn shipped(out: &mut String, sweep: &Sweep, cell: &Swept) {
    let usual = ship::usual(&sweep.server, &cell.sets);
    let block = |out: &mut String, form: ship::Form| {
        if let Ok(text) = ship::text(form, &sweep.server, &cell.sets) {
            let fence = fence(&text);
            let _ = write!(
                out,
                "\n{}:\n\n{fence}{}\n{text}{fence}\n",
                form.title(),
                form.language()
            );
        }
    };
    for form in &usual {
        block(out, *form);
    }
    let others = ship::ALL.into_iter().filter(|form| !usual.contains(form));
    let _ = write!(out, "\n<details><summary>For editors and services</summary>\n");
    for form in others {
        block(out, form);
    }
    out.push_str("\n</details>\n");
}

/// What a cell sets, in a line.
pub fn set(sets: &CellFacts) -> String {
    let mut words: Vec<String> = sets
        .env
        .iter()
        .map(|(name, value)| format!("{name}={}", quoted(value)))
        .collect();
    words.extend(sets.args.iter().map(|arg| quoted(arg)));
    words.extend(sets.settings.as_ref().map(|text| format!("settings {text}")));
    words.extend(
        sets.init_options
            .as_ref()
            .map(|text| format!("initialization options {text}")),
    );
    words.extend(sets.cpus.as_ref().map(|cpus| format!("processors {cpus}")));
    match words.is_empty() {
        true => "nothing: the server as it is".to_owned(),
        false => words.join(" "),
    }
}

fn why(out: &mut String, sweep: &Sweep) {
    for cell in &sweep.cells {
        if let Some(why) = why_not(sweep, cell) {
            line_of(out, format!("- {}: {}", escape(&cell.label), escape(&why)));
        }
    }
}

fn what_is_set(out: &mut String, sweep: &Sweep) {
    for cell in &sweep.cells {
        line_of(out, format!("- {}: {}", escape(&cell.label), escape(&set(&cell.sets))));
    }
}
