//! Absolute limits as written: `peak in decay <= 600 MiB`.

use std::ops::Range;
use std::str::FromStr;

use analysis::figures::{Figure, GatedFigure, GatedFigureError, GatedPart, Limit, Unit};
use base::lens::Lens;
use base::text::nearest;
use base::units::{Share, Size, Span};

use super::{GateContext, Wrong, metrics};

impl GateContext {
    /// `METRIC [after PHASE] [of METHOD] <= LIMIT`; a mistake with its place in it.
    pub(super) fn budget(&self, text: &str) -> Result<Limit, (Range<usize>, Wrong)> {
        let cure = "write a metric and its limit, such as \"peak <= 600 MiB\" or \"private after decay <= 300 MiB\"";
        let Some((named, limit)) = text.split_once("<=") else {
            return Err((0..text.len(), (format!("`{text}` is no budget"), cure.to_owned())));
        };
        // Of several equal words the last counts: a metric comes first, a phase after it.
        let at = |word: &str| {
            let start = text.rfind(word).unwrap_or(0);
            start..start + word.len()
        };
        let what: GatedFigure = GatedFigure::from_str(named).map_err(|error| match &error {
            GatedFigureError::Metric(word) => {
                let near = nearest(word, Figure::COMPARED.map(Figure::name));
                let cure = near.map_or_else(
                    || format!("there are {}", metrics()),
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
                (at(named.trim()), (title.to_owned(), cure.to_owned()))
            }
        })?;
        self.figure(what.figure).map_err(|wrong| (at(named.trim()), wrong))?;
        let wanted = match &what.at {
            GatedPart::Phase(name) | GatedPart::Method(name) => name.as_str(),
            GatedPart::Result | GatedPart::Run => named.trim(),
        };
        self.method(&what.at).map_err(|wrong| (at(wanted), wrong))?;
        self.phase(&what.at).map_err(|wrong| (at(wanted), wrong))?;
        let lens = what.lens.map_or("", Lens::name);
        self.lens(what.lens).map_err(|(title, _)| {
            (
                at(lens),
                (title, "ask for it with --lens both, or name no lens".to_owned()),
            )
        })?;
        let written = limit.trim();
        let limit = amount(written, what.figure.unit()).map_err(|wrong| (at(written), wrong))?;
        if limit <= 0.0 {
            let title = "a limit must be above 0".to_owned();
            return Err((at(written), (title, cure.to_owned())));
        }
        Ok(Limit {
            subject: self.as_shipped(what),
            limit,
        })
    }
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
