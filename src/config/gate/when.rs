//! Conditions and limits as written: `growth in edit > 64KiB per request`, `peak in decay <= 600 MiB`, `crash`.

use std::ops::Range;
use std::str::FromStr;

use analysis::figures::{Figure, GatedFigure, GatedFigureError, GatedPart, Leak, Limit, Unit};
use analysis::growth::Per;
use analysis::when::{Comparison, Level, Rising, When};
use base::band::LeakLimit;
use base::lens::Lens;
use base::text::nearest;
use base::units::{Share, Size, Span};

use super::{GateContext, Wrong, metrics};
use crate::config::problem::{Mistake, MistakeReport};

/// A mistake with its place in the text.
type WrongAt = (Range<usize>, Wrong);

const CURE: &str = "write a figure and its limit, such as \"peak > 2 GiB\", \"private after decay <= 300 MiB\" or \
                    \"growth in edit > 64 KiB per request\"; or \"crash\"";

const BUDGET_CURE: &str =
    "write a metric and its limit, such as \"peak <= 600 MiB\" or \"private after decay <= 300 MiB\"";

const CRASH: &str = "crash";
const GROWTH: &str = "growth";

/// A limit that a gate holds a candidate to.
pub(super) enum BudgetRule {
    Limit(Limit),
    Growth(Leak),
}

impl GateContext {
    /// The condition of an option, or its mistake with a caret.
    pub fn when(&self, option: &str, text: &str) -> Result<When, MistakeReport> {
        self.condition(text, CURE).map_err(|wrong| mistake(option, text, wrong))
    }

    /// The figure of an option, or its mistake with a caret.
    pub fn named_figure(&self, option: &str, text: &str) -> Result<GatedFigure, MistakeReport> {
        let cure = "write a figure, such as \"peak\" or \"private after decay\"";
        self.subject(text, text, cure)
            .map_err(|wrong| mistake(option, text, wrong))
    }

    /// A condition that must hold: `FIGURE [after PHASE] [of METHOD] <= LIMIT`.
    pub(super) fn budget(&self, text: &str) -> Result<BudgetRule, WrongAt> {
        match self.condition(text, BUDGET_CURE)? {
            When::Crash => {
                let title = "a gate fails on every crash by itself".to_owned();
                Err((0..text.len(), (title, "leave this budget out".to_owned())))
            }
            When::Level(level) => {
                require_limit(text, level.comparison)?;
                Ok(BudgetRule::Limit(Limit {
                    subject: self.as_shipped(level.subject),
                    limit: level.bound,
                }))
            }
            When::Rising(rising) => {
                require_limit(text, rising.comparison)?;
                if let Some(lens) = rising.lens {
                    let title = "a budget of growth is judged through the lens that decides".to_owned();
                    let cure = format!("leave `{lens}` out, and choose with --lens");
                    return Err((word_at(text, lens.name()), (title, cure)));
                }
                Ok(BudgetRule::Growth(Leak {
                    phase: rising.phase,
                    limit: LeakLimit::from_slope(rising.bound),
                    per: rising.per,
                }))
            }
        }
    }

    fn condition(&self, text: &str, cure: &str) -> Result<When, WrongAt> {
        if text.trim() == CRASH {
            return Ok(When::Crash);
        }
        let Some(sign) = sign(text) else {
            let kind = if cure == BUDGET_CURE { "budget" } else { "condition" };
            return Err((0..text.len(), (format!("`{text}` is no {kind}"), cure.to_owned())));
        };
        let written = &text[sign.clone()];
        let comparison = Comparison::ALL.into_iter().find(|known| known.sign() == written);
        let Some(comparison) = comparison else {
            let title = format!("`{written}` is no comparison");
            return Err((sign, (title, "write `>`, `>=`, `<` or `<=`".to_owned())));
        };
        let (named, bound) = (&text[..sign.start], &text[sign.end..]);
        let words: Vec<&str> = named.split_whitespace().collect();
        match words.as_slice() {
            [] => Err((
                0..text.len(),
                ("a condition without a figure".to_owned(), cure.to_owned()),
            )),
            [GROWTH, ..] => self.rising(text, named, bound, comparison, None),
            [first, GROWTH, ..] => match Lens::ALL.into_iter().find(|lens| lens.name() == *first) {
                Some(lens) => self.rising(text, named, bound, comparison, Some(lens)),
                None => self.level(text, named, bound, comparison, cure),
            },
            _ => self.level(text, named, bound, comparison, cure),
        }
    }

    fn level(&self, text: &str, named: &str, bound: &str, comparison: Comparison, cure: &str) -> Result<When, WrongAt> {
        let subject = self.subject(text, named, cure)?;
        let written = bound.trim();
        let place = word_at(text, written);
        let bound = amount(written, subject.figure.unit()).map_err(|wrong| (place.clone(), wrong))?;
        if bound <= 0.0 {
            return Err((place, ("a limit must be above 0".to_owned(), cure.to_owned())));
        }
        Ok(When::Level(Level {
            subject,
            comparison,
            bound,
        }))
    }

    /// A figure whose names exist.
    fn subject(&self, text: &str, named: &str, cure: &str) -> Result<GatedFigure, WrongAt> {
        let subject = parsed_subject(text, named, cure)?;
        self.figure(subject.figure)
            .map_err(|wrong| (word_at(text, named.trim()), wrong))?;
        let wanted = match &subject.at {
            GatedPart::Phase(name) | GatedPart::Method(name) => name.as_str(),
            GatedPart::Result | GatedPart::Run => named.trim(),
        };
        self.method(&subject.at)
            .map_err(|wrong| (word_at(text, wanted), wrong))?;
        self.phase(&subject.at)
            .map_err(|wrong| (word_at(text, wanted), wrong))?;
        self.named_lens(text, subject.lens)?;
        Ok(subject)
    }

    /// `[LENS] growth [in PHASE]`, and `SIZE [per round|request|notification]`.
    fn rising(
        &self,
        text: &str,
        named: &str,
        bound: &str,
        comparison: Comparison,
        lens: Option<Lens>,
    ) -> Result<When, WrongAt> {
        let (_, place) = named.split_once(GROWTH).unwrap_or((named, ""));
        let phase = match place.trim().split_once(char::is_whitespace) {
            None if place.trim().is_empty() => None,
            Some(("in" | "after", phase)) => Some(phase.trim().to_owned()),
            None | Some(_) => {
                let title = format!("`{}` says nothing here", place.trim());
                let cure = "write `growth` alone, or `growth in PHASE`".to_owned();
                return Err((word_at(text, place.trim()), (title, cure)));
            }
        };
        self.named_lens(text, lens)?;
        self.repeated_phase(phase.as_deref(), "leave the growth out")
            .map_err(|wrong| (word_at(text, phase.as_deref().unwrap_or(GROWTH)), wrong))?;
        let (size, per) = match bound.split_once(" per ") {
            Some((size, unit)) => (size.trim(), per(text, unit.trim())?),
            None => (bound.trim(), Per::Round),
        };
        let bound = amount(size, Unit::Bytes).map_err(|wrong| (word_at(text, size), wrong))?;
        Ok(When::Rising(Rising {
            phase,
            lens,
            comparison,
            bound,
            per,
        }))
    }

    fn named_lens(&self, text: &str, lens: Option<Lens>) -> Result<(), WrongAt> {
        self.lens(lens).map_err(|(title, _)| {
            let cure = "ask for it with --lens, or name no lens".to_owned();
            (word_at(text, lens.map_or("", Lens::name)), (title, cure))
        })
    }
}

/// A mistake in the value of an option.
fn mistake(option: &str, text: &str, (span, (title, cure)): WrongAt) -> MistakeReport {
    let mut report = MistakeReport::default();
    report.add(option, text, vec![Mistake::new(span, title, cure)]);
    report
}

/// Refuses a comparison that a gate cannot keep.
fn require_limit(text: &str, comparison: Comparison) -> Result<(), WrongAt> {
    if comparison == Comparison::AtMost {
        return Ok(());
    }
    let title = format!("a budget is a limit to keep, and `{}` is none", comparison.sign());
    let cure = format!(
        "write `{}`",
        text.replacen(comparison.sign(), Comparison::AtMost.sign(), 1)
    );
    Err((word_at(text, comparison.sign()), (title, cure)))
}

/// The first comparison, or what looks like one.
fn sign(text: &str) -> Option<Range<usize>> {
    const SIGNS: [char; 3] = ['<', '>', '='];
    let start = text.find(SIGNS)?;
    let rest = &text[start..];
    let length = rest.find(|character| !SIGNS.contains(&character)).unwrap_or(rest.len());
    Some(start..start + length)
}

/// The place of a word. Of several equal words the last counts: a metric comes first, a phase after it.
fn word_at(text: &str, word: &str) -> Range<usize> {
    let start = text.rfind(word).unwrap_or(0);
    start..start + word.len()
}

fn parsed_subject(text: &str, named: &str, cure: &str) -> Result<GatedFigure, WrongAt> {
    GatedFigure::from_str(named).map_err(|error| match &error {
        GatedFigureError::Metric(word) => {
            let known = Figure::COMPARED.map(Figure::name).into_iter().chain([GROWTH]);
            let cure = nearest(word, known).map_or_else(
                || format!("there are {}, {GROWTH}", metrics()),
                |near| format!("did you mean `{near}`?"),
            );
            let start = text.find(word.as_str()).unwrap_or(0);
            (start..start + word.len(), (format!("unknown metric `{word}`"), cure))
        }
        GatedFigureError::Rest(..)
        | GatedFigureError::NoMethod(_)
        | GatedFigureError::Method(_)
        | GatedFigureError::Both(_) => {
            let words = error.to_string();
            let (title, cure) = words.split_once(": ").unwrap_or((&words, cure));
            (word_at(text, named.trim()), (title.to_owned(), cure.to_owned()))
        }
    })
}

fn per(text: &str, unit: &str) -> Result<Per, WrongAt> {
    let known = Per::ALL.into_iter().find(|per| per.name() == unit);
    known.ok_or_else(|| {
        let title = format!("growth is not counted per `{unit}`");
        let cure = "write `per round`, `per request` or `per notification`".to_owned();
        (word_at(text, unit), (title, cure))
    })
}

/// A quantity in the unit of a metric.
pub(super) fn amount(text: &str, unit: Unit) -> Result<f64, Wrong> {
    let words = |error: String| {
        let (title, cure) = error.split_once(": ").unwrap_or((&error, ""));
        (title.to_owned(), cure.to_owned())
    };
    match unit {
        // Without a unit, the limit would be in bytes.
        Unit::Bytes if text.parse().is_ok_and(|number: f64| number > 0.0) => Err((
            format!("`{text}` is a size without a unit"),
            format!("write `{text} MiB`, or `{text} B` for bytes"),
        )),
        Unit::Bytes => Size::from_str(text)
            .map(|size| size.0 as f64)
            .map_err(|error| words(error.to_string())),
        Unit::Nanos | Unit::CpuNanos => Span::from_str(text)
            .map(|span| span.0.as_nanos() as f64)
            .map_err(|error| words(error.to_string())),
        Unit::Share => Share::from_str(text)
            .map(|share| share.0)
            .map_err(|error| words(error.to_string())),
        Unit::Count | Unit::Number => text.trim().parse::<u64>().map(|count| count as f64).map_err(|_| {
            (
                format!("`{text}` is not a whole number"),
                "write one, such as 20000".to_owned(),
            )
        }),
    }
}

/// A place within a string of a document if the string has no escapes; otherwise the whole string.
pub(super) fn inside(string: Range<usize>, text: &str, within: Range<usize>) -> Range<usize> {
    // It has quotes around it, and no escapes.
    if string.len() == text.len() + 2 {
        string.start + 1 + within.start..string.start + 1 + within.end
    } else {
        string
    }
}
