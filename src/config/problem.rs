//! A report of all mistakes in user input, each with its place and a cure.

use base::units;
use std::error::Error;
use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Most mistakes reported per file; each costs a scan of the file.
pub(super) const MOST: usize = 100;

pub(super) const MEND: &str = "correct those above first";

/// A summary of further mistakes, of which only the count is reported; the first is at `span`.
pub(super) fn more(span: Range<usize>, count: usize) -> Mistake {
    let mistakes = units::count_of(count as u64, "more mistake");
    Mistake::new(span, format!("{mistakes} from here on"), MEND)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// In bytes.
    pub span: Range<usize>,
    pub title: String,
    /// Text at the caret; may be empty.
    pub label: String,
    pub cure: String,
}

impl Mistake {
    pub fn new(span: Range<usize>, title: impl Into<String>, cure: impl Into<String>) -> Mistake {
        Mistake {
            span,
            title: title.into(),
            label: String::new(),
            cure: cure.into(),
        }
    }

    /// Sets the text at the caret.
    pub fn label(mut self, label: impl Into<String>) -> Mistake {
        self.label = label.into();
        self
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Source {
    path: String,
    text: String,
    faults: Vec<Mistake>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MistakeReport {
    sources: Vec<Source>,
    /// Mistakes outside texts: description and cure.
    loose: Vec<(String, String)>,
}

impl MistakeReport {
    /// Adds the mistakes of one text, sorted by place; above the limit, only the count.
    pub fn add(&mut self, path: &str, text: &str, mut faults: Vec<Mistake>) {
        faults.sort_by_key(|fault| (fault.span.start, fault.span.end));
        // The parser's list ends in a summary of its own, which is one more than MOST.
        if let Some(next) = faults.get(MOST + 1) {
            let rest = more(next.span.clone(), faults.len() - MOST - 1);
            faults.truncate(MOST + 1);
            faults.push(rest);
        }
        if !faults.is_empty() {
            self.sources.push(Source {
                path: path.to_owned(),
                text: text.to_owned(),
                faults,
            });
        }
    }

    /// Adds a mistake outside texts, without duplicates. The cure is empty if the title contains it.
    pub fn add_loose(&mut self, title: impl Into<String>, cure: impl Into<String>) {
        let mistake = (title.into(), cure.into());
        if !self.loose.contains(&mistake) {
            self.loose.push(mistake);
        }
    }

    /// Adds the mistakes of another report.
    pub fn merge(&mut self, other: MistakeReport) {
        self.sources.extend(other.sources);
        for (title, cure) in other.loose {
            self.add_loose(title, cure);
        }
    }

    pub fn len(&self) -> usize {
        self.loose.len() + self.sources.iter().map(|source| source.faults.len()).sum::<usize>()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `value` if there are no mistakes.
    pub fn unless_empty<T>(self, value: Option<T>) -> Result<T, MistakeReport> {
        match value {
            Some(value) if self.is_empty() => Ok(value),
            Some(_) | None => Err(self),
        }
    }

    /// The report for a colour terminal; lines are cut around their mistake if `columns` requires it.
    pub fn styled(&self, columns: Option<usize>) -> String {
        let renderer = Renderer::styled();
        self.render(&columns.map_or(renderer.clone(), |columns| renderer.term_width(columns)))
    }

    fn render(&self, renderer: &Renderer) -> String {
        let loose = self.loose.iter().map(|(title, cure)| {
            let title = Level::ERROR.primary_title(title);
            match cure.as_str() {
                "" => renderer.render(&[Group::with_title(title)]),
                cure => renderer.render(&[title.element(Level::HELP.message(cure))]),
            }
        });
        let placed = self.sources.iter().flat_map(|source| {
            source.faults.iter().map(|fault| {
                let (lines, first) = lines_around(&source.text, &fault.span);
                let span = fault.span.start - lines.start..fault.span.end - lines.start;
                let mark = AnnotationKind::Primary.span(span);
                let mark = match fault.label.as_str() {
                    "" => mark,
                    label => mark.label(label),
                };
                let place = Snippet::source(&source.text[lines]).line_start(first);
                let place = place.path(&source.path).annotation(mark);
                let group = Level::ERROR.primary_title(&fault.title).element(place);
                renderer.render(&[group.element(Level::HELP.message(&fault.cure))])
            })
        });
        loose.chain(placed).collect::<Vec<_>>().join("\n\n")
    }
}

/// The whole lines around a place, and the number of the first: a snippet would include all of its text.
fn lines_around(text: &str, span: &Range<usize>) -> (Range<usize>, usize) {
    let start = text[..span.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[span.end..]
        .find('\n')
        .map_or(text.len(), |length| span.end + length + 1);
    (start..end, 1 + text[..start].matches('\n').count())
}

impl fmt::Display for MistakeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&Renderer::plain()))
    }
}

impl Error for MistakeReport {}
