//! A measure as JSON names it.

use serde::Serialize;

use super::{Figure, Measure, MeasuredPart, Unit};

/// A measure in JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Named {
    /// Part of the run.
    place: Part,
    /// The phase or the method; `null` for the whole run.
    name: Option<String>,
    /// Kind of figure.
    figure: Figure,
    /// Unit of the figure.
    unit: Unit,
}

/// A part of a run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Part {
    /// A phase; of a repeated phase the last round.
    Phase,
    /// The run as a whole.
    Run,
    /// All requests of a method.
    Method,
    /// The last idle window of a kind.
    Window,
    /// What a command printed.
    Printed,
}

impl From<&Measure> for Named {
    fn from(measure: &Measure) -> Named {
        let (place, name) = match &measure.place {
            MeasuredPart::Phase { name, .. } => (Part::Phase, Some(name.clone())),
            MeasuredPart::Run => (Part::Run, None),
            MeasuredPart::Method(method) => (Part::Method, Some(method.clone())),
            MeasuredPart::Printed(name) => (Part::Printed, Some(name.clone())),
            MeasuredPart::Window(kind) => (Part::Window, Some(kind.name().to_owned())),
        };
        let (figure, unit) = (measure.figure, measure.figure.unit());
        Named {
            place,
            name,
            figure,
            unit,
        }
    }
}
