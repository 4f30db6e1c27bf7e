//! The figure that a rule names: metric, part of the run, and lens.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::figures::{Figure, Measure, MeasuredPart, Unit};
use crate::summary::Summary;
use base::lens::Lens;

/// A figure named before there is a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "Named")]
#[cfg_attr(feature = "schema", schemars(!into, with = "Named"))]
pub struct GatedFigure {
    pub figure: Figure,
    /// Part of the run.
    pub at: GatedPart,
    /// `None` for the lens that decides.
    pub lens: Option<Lens>,
}

/// A figure in JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Named {
    /// The figure in words.
    name: String,
    /// Kind of figure.
    figure: Figure,
    /// Unit of the figure.
    unit: Unit,
    /// Lens of the figure; `null` for the lens that decides.
    lens: Option<Lens>,
}

impl From<GatedFigure> for Named {
    fn from(subject: GatedFigure) -> Named {
        Named {
            name: subject.to_string(),
            figure: subject.figure,
            unit: subject.figure.unit(),
            lens: subject.lens,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatedPart {
    /// The phase whose checkpoint is the scenario's result.
    Result,
    /// The last round of this phase.
    Phase(String),
    Run,
    Method(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GatedFigureError {
    #[error("unknown metric `{0}`: there are {all}", all = names())]
    Metric(String),
    /// The text after the metric is neither a phase nor a method.
    #[error("`{0}` says nothing here: write the metric alone, or `{1} after PHASE`, or `{1} of METHOD`")]
    Rest(String, &'static str),
    #[error("`{0}` is of a method: write `{0} of METHOD`, such as `{0} of textDocument/completion`")]
    NoMethod(&'static str),
    #[error("`{0}` is of all requests of a method, in whichever phase: leave the phase out")]
    Both(&'static str),
    #[error("`{0}` is not counted by method: only p50 and p95 are")]
    Method(&'static str),
}

/// True if a figure whose phase is not named is that of the whole run, as a figure of commands is unless phases have it.
fn is_of_runs(figure: Figure) -> bool {
    Figure::OF_RUNS.contains(&figure) || figure.is_of_commands() && !Figure::OF_PHASES.contains(&figure)
}

fn names() -> String {
    Figure::COMPARED.map(Figure::name).join(", ")
}

impl GatedFigure {
    /// A figure in the named part of a run, or in its default part. Latencies have no default.
    pub fn new(figure: Figure, phase: Option<String>, method: Option<String>) -> Result<GatedFigure, GatedFigureError> {
        let latency = Figure::OF_METHODS.contains(&figure);
        let at = match (method, phase) {
            (Some(_), _) if !latency => return Err(GatedFigureError::Method(figure.name())),
            (Some(_), Some(_)) => return Err(GatedFigureError::Both(figure.name())),
            (Some(method), None) => GatedPart::Method(method),
            (None, _) if latency => return Err(GatedFigureError::NoMethod(figure.name())),
            (None, Some(phase)) => GatedPart::Phase(phase),
            (None, None) if is_of_runs(figure) => GatedPart::Run,
            (None, None) => GatedPart::Result,
        };
        Ok(GatedFigure { figure, at, lens: None })
    }

    pub fn with_lens(self, lens: Option<Lens>) -> GatedFigure {
        GatedFigure { lens, ..self }
    }

    /// The figure's value; `None` where the run does not have it.
    pub fn value(&self, run: &Summary) -> Option<f64> {
        self.measure(run)?.value(run)
    }

    /// The figure in its part of this run; `None` if the run has no such part.
    pub fn measure(&self, run: &Summary) -> Option<Measure> {
        let place = match &self.at {
            GatedPart::Result | GatedPart::Phase(_) if run.lifecycle.command.is_some() => MeasuredPart::Run,
            GatedPart::Result => MeasuredPart::result(run)?,
            GatedPart::Phase(name) => {
                let phases = &run.header.scenario.phases;
                let number = phases.iter().position(|phase| phase == name)?;
                MeasuredPart::Phase {
                    number: u32::try_from(number).ok()?,
                    name: name.clone(),
                }
            }
            GatedPart::Run => MeasuredPart::Run,
            GatedPart::Method(method) => MeasuredPart::Method(method.clone()),
        };
        Some(Measure {
            place,
            figure: self.figure,
        })
    }
}

impl FromStr for GatedFigure {
    type Err = GatedFigureError;

    fn from_str(text: &str) -> Result<GatedFigure, GatedFigureError> {
        let (first, rest) = word(text);
        let lens = Lens::ALL.into_iter().find(|lens| lens.name() == first);
        let (metric, rest) = if lens.is_some() { word(rest) } else { (first, rest) };
        let figure = Figure::from_name(metric);
        let figure = figure.ok_or_else(|| GatedFigureError::Metric(metric.to_owned()))?;
        let (phase, method) = match word(rest) {
            ("", _) => (None, None),
            ("after" | "in", phase) if !phase.is_empty() => (Some(phase.to_owned()), None),
            ("of", method) if !method.is_empty() => (None, Some(method.to_owned())),
            (_, _) => return Err(GatedFigureError::Rest(rest.to_owned(), figure.name())),
        };
        GatedFigure::new(figure, phase, method).map(|subject| subject.with_lens(lens))
    }
}

fn word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim_start())
}

impl fmt::Display for GatedFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(lens) = self.lens {
            write!(f, "{lens} ")?;
        }
        write!(f, "{}", self.figure.name())?;
        match (&self.at, self.figure) {
            (GatedPart::Phase(phase), figure) if figure.is_of_checkpoints() => write!(f, " after {phase}"),
            (GatedPart::Phase(phase), _) => write!(f, " in {phase}"),
            (GatedPart::Result | GatedPart::Run, _) => Ok(()),
            (GatedPart::Method(method), _) => write!(f, " of {method}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::golden::Session;

    #[test]
    fn the_result_is_the_phase_that_the_scenario_names_and_of_old_records_the_last_that_does_more_than_look() {
        let mut session = Session::new("server");
        let phases = [
            ("work", "hover"),
            ("idle", "idle"),
            ("forced", "release"),
            ("account", "self-report"),
        ];
        session.header.scenario.phases = phases.map(|(name, _)| name.to_owned()).to_vec();
        assert_eq!(result(&session), "account", "nothing was played");
        for (phase, step) in phases {
            session.phase(phase);
            session.step(step);
        }
        assert_eq!(result(&session), "idle");
        session.header.scenario.result = Some("work".to_owned());
        assert_eq!(result(&session), "work");
    }

    /// The phase of private memory where a rule names no phase.
    fn result(session: &Session) -> String {
        let subject = GatedFigure::new(Figure::Private, None, None).unwrap();
        subject.measure(&summarised(session)).unwrap().place.name().to_owned()
    }
}
