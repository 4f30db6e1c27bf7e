//! The command after an open verdict, and the note on runs that were added.

use std::path::Path;

use crate::commands::next::{self, TypedServer};
use crate::config::values::Runs;
use crate::resolve::ServerSpec;
use analysis::gate::{Judgement, Sides};
use base::text::quoted;
use report::document::NextCommand;
use report::verdict::{Cure, cure};
use stats::LEAST_TO_DECIDE;
use stats::Schedule;

use super::plan::Begun;

/// The command after a verdict on the runs of a gate, which lie in this directory; `None` where no gate made them.
pub fn after_verdict(judgement: &Judgement, looks: &Schedule, sides: &Sides, out: &Path) -> Option<NextCommand> {
    let begun = Begun::read(out)?;
    let cure = cure(judgement, looks)?;
    let command = match cure {
        Cure::Continue(_) if begun.runs == Runs::Auto => resumed(None, out),
        // A gate of a fixed number makes no more runs by itself.
        Cure::Continue(runs) | Cure::Runs(runs) => resumed(Some(runs), out),
        Cure::Calibrate => calibration(&begun, sides, out)?,
    };
    Some(NextCommand {
        why: cure.sentence(),
        command,
    })
}

/// The command that calibrates the servers of a gate.
fn calibration(begun: &Begun, sides: &Sides, out: &Path) -> Option<String> {
    let runs = [sides.baseline.as_ref(), Some(&sides.candidate), sides.anchor.as_ref()];
    let servers: Vec<TypedServer<'_>> = begun
        .servers
        .iter()
        .zip(runs)
        .filter_map(|(text, runs)| {
            Some(TypedServer {
                text: text.as_deref()?.parse::<ServerSpec>().ok()?.unlabelled(),
                profile: runs?.first()?.summary.header.server.profile.as_deref(),
            })
        })
        .collect();
    let lenses = sides.runs().map(|run| run.summary.header.server.lens.name);
    next::calibration(&servers, lenses, begun.scenario.as_deref()?, out)
}

fn resumed(runs: Option<usize>, out: &Path) -> String {
    let runs = runs.map(|runs| format!(" --runs {runs}")).unwrap_or_default();
    format!("lsp-soak gate --resume {}{runs}", quoted(&out.display().to_string()))
}

/// A note if more runs were asked for than at first, after an analysis that might have decided.
pub fn added_runs(runs: Option<Runs>, out: &Path) -> Option<String> {
    let before = Begun::read(out)?.runs;
    let could_decide = match before {
        Runs::Auto => true,
        Runs::Fixed(runs) => runs as usize >= LEAST_TO_DECIDE,
    };
    if runs == Some(before) || !could_decide {
        return None;
    }
    let text = "runs were added after an analysis that decided nothing: the analyses together decide wrongly in up to 10 % \
                of cases";
    Some(text.to_owned())
}
