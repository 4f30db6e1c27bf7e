//! One sentence of a report.

use super::Tone;

/// How near to the answer something is. A short report stops at answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Answer,
    /// What the answer rests on.
    Evidence,
    /// What words and signs mean.
    Definition,
}

/// A sentence, without its full stop. Backticks set names apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Which sentence it is, whatever its numbers: `run.ending`.
    pub id: &'static str,
    pub weight: Weight,
    pub tone: Tone,
    /// What stands before it, so that it is not told by colour alone: `warning`.
    pub mark: &'static str,
    pub text: String,
    /// Lines that belong to it, such as the end of stderr.
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

    /// What supports the answer.
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
