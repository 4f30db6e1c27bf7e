use super::Tone;

/// The importance of a part of a report. A short report shows answers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Answer,
    /// Supports the answer.
    Evidence,
    /// Explains words and signs.
    Definition,
}

/// A sentence without its full stop, with names in backticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Identifies the sentence whatever its numbers: `run.ending`.
    pub id: &'static str,
    pub weight: Weight,
    pub tone: Tone,
    /// Word before the sentence, so that colour is not the only sign: `warning`.
    pub mark: &'static str,
    pub text: String,
    /// Additional lines, such as the end of stderr.
    pub details: Vec<String>,
}

impl Sentence {
    pub fn answer(id: &'static str, tone: Tone, text: impl Into<String>) -> Sentence {
        Sentence {
            id,
            weight: Weight::Answer,
            tone,
            mark: "",
            text: text.into(),
            details: Vec::new(),
        }
    }

    pub fn evidence(id: &'static str, text: impl Into<String>) -> Sentence {
        Sentence {
            weight: Weight::Evidence,
            ..Sentence::answer(id, Tone::Plain, text)
        }
    }

    pub fn definition(id: &'static str, text: impl Into<String>) -> Sentence {
        Sentence {
            weight: Weight::Definition,
            ..Sentence::answer(id, Tone::Quiet, text)
        }
    }

    pub fn warning(id: &'static str, text: impl Into<String>) -> Sentence {
        Sentence::answer(id, Tone::Warning, text).marked("warning")
    }

    pub fn marked(self, mark: &'static str) -> Sentence {
        Sentence { mark, ..self }
    }
}
