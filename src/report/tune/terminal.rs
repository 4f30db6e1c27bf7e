//! A sweep as a person reads it in a terminal: the table, what to ship, and the lines to paste.

use crate::analyse::tune::{Choice, Keep, Sweep};
use crate::report::terminal::Look;
use crate::text::table;
use crate::text::{Paint, Tone, line_of, paragraph};
use crate::units;

use super::columns::{columns, order};
use super::ship;
use super::why::why_not;
use super::words::{chosen, headline, legend, sentences, stop};

/// The sweep; `notes` are said before what was found.
pub fn render(sweep: &Sweep, notes: &[String], look: Look) -> String {
    let wide = look.columns.clamp(40, table::WIDEST);
    let paint = Paint(look.color);
    let mut out = String::new();
    line_of(&mut out, paint.paint(Tone::Strong, &title(sweep)));
    out.push('\n');
    table::draw(&mut out, paint, columns(sweep), wide, "tune.md");
    out.push('\n');
    paragraph(&mut out, paint, Tone::Quiet, "  ", &legend(sweep), wide);
    stopped(&mut out, sweep, paint, wide);
    not_chosen(&mut out, sweep, paint, wide);
    for note in notes {
        paragraph(&mut out, paint, Tone::Warning, "  note  ", note, wide);
    }
    out.push('\n');
    paragraph(&mut out, paint, tone(sweep), "", &headline(sweep), wide);
    for sentence in sentences(sweep) {
        paragraph(&mut out, paint, sentence.tone, "  ", &sentence.text, wide);
    }
    shipped(&mut out, sweep, paint);
    look.finish(&out)
}

pub(super) fn title(sweep: &Sweep) -> String {
    let server = &sweep.server;
    let mut title = format!("tune {} on {}", server.name, sweep.scenario);
    if let Some(version) = &server.version {
        title.push_str(&format!(", {version}"));
    }
    if let Some(allocator) = &server.allocator {
        title.push_str(&format!(", {allocator}"));
    }
    title.push_str(&format!(", {}", units::counted(sweep.cells.len() as u64, "setting")));
    title
}

fn stopped(out: &mut String, sweep: &Sweep, paint: Paint, wide: usize) {
    for cell in &sweep.cells {
        if let Some(stopped) = &cell.stopped {
            let text = format!("{} {}", cell.label, stop(stopped));
            paragraph(out, paint, Tone::Quiet, "  stopped  ", &text, wide);
        }
    }
}

/// Every other that was run to the end.
fn not_chosen(out: &mut String, sweep: &Sweep, paint: Paint, wide: usize) {
    for cell in order(sweep).into_iter().map(|place| &sweep.cells[place]) {
        if let Some(why) = why_not(sweep, cell).filter(|_| cell.stopped.is_none()) {
            let text = format!("{}: {why}", cell.label);
            paragraph(out, paint, Tone::Quiet, "  not chosen  ", &text, wide);
        }
    }
}

fn tone(sweep: &Sweep) -> Tone {
    match sweep.choice {
        Choice::Ship(_) => Tone::Good,
        Choice::Default(Keep::TooFew) => Tone::Warning,
        Choice::Default(_) => Tone::Strong,
        Choice::None(_) | Choice::Unknown => Tone::Bad,
    }
}

/// What to paste, without anything before it that would have to be taken away.
fn shipped(out: &mut String, sweep: &Sweep, paint: Paint) {
    let Some(cell) = chosen(sweep) else { return };
    for form in ship::usual(&sweep.server, &cell.sets) {
        if let Ok(text) = ship::text(form, &sweep.server, &cell.sets) {
            let title = format!("{} (--print {})", form.title(), form.name());
            line_of(out, format!("\n{}\n", paint.paint(Tone::Quiet, &title)));
            out.push_str(&text);
        }
    }
}
