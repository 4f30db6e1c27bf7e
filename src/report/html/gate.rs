//! A gate: the verdict with what decided it, above the comparison of its sides.

use maud::{Markup, html};

use crate::analyse::compare::{Played, by_target};
use crate::analyse::gate::{Judgement, Role, Sides};
use crate::analyse::stats::Answer;
use crate::report::gate::{findings, headline};
use crate::text::clean;

use super::parts::{self, Keys};
use super::several::{Above, page, title};

/// The whole page of a verdict. `notes` are told after what was found.
pub fn render(judgement: &Judgement, sides: &Sides, notes: &[String]) -> String {
    let runs = told_apart(sides);
    let baseline = runs.first().map(|run| run.summary.header.server.label.clone());
    let scenarios = by_target(runs.clone(), baseline.as_deref());
    let above = Above {
        title: title(&scenarios),
        first: verdict(judgement, notes),
        is_compared: true,
        keys: Keys::ALIKE,
    };
    page(&scenarios, &runs, &above)
}

fn verdict(judgement: &Judgement, notes: &[String]) -> Markup {
    let found = findings(judgement);
    let tone = match judgement.answer {
        Answer::Pass if !judgement.is_refused() => "good",
        Answer::Pass | Answer::Fail => "bad",
        Answer::Inconclusive => "warning",
    };
    let said = found.iter().map(|one| {
        let tone = match (one.decides, one.answer) {
            (true, Answer::Fail) => "bad",
            (true, Answer::Inconclusive) => "warning",
            (true, Answer::Pass) | (false, _) => "plain",
        };
        (tone, one.text.clone())
    });
    let noted = notes.iter().map(|note| ("quiet", note.clone()));
    html! {
        div.verdict {
            p class={ "ending " (tone) } { (clean(&headline(judgement, &found))) }
            (parts::sentences(said.chain(noted)))
        }
    }
}

/// The runs of all sides, each under a label of its own: a server may be judged against itself.
pub fn told_apart(sides: &Sides) -> Vec<Played> {
    let label = |runs: &[Played]| runs.first().map(|run| run.summary.header.server.label.clone());
    let anchor = sides.anchor.as_deref().unwrap_or_default();
    let all = [
        (Role::Baseline, sides.baseline.as_slice()),
        (Role::Candidate, sides.candidate.as_slice()),
        (Role::Anchor, anchor),
    ];
    let alike = |runs: &[Played]| all.iter().filter(|(_, other)| label(other) == label(runs)).count() > 1;
    let named = all.iter().flat_map(|(role, runs)| {
        let alike = alike(runs);
        runs.iter().map(move |run| {
            let mut run = run.clone();
            // Records of two directories may have one name.
            run.record = format!("{}: {}", role.name(), run.record);
            if alike {
                run.summary.header.server.label = format!("{} ({})", run.summary.header.server.label, role.name());
            }
            run
        })
    });
    named.collect()
}
