//! What follows a verdict: the command that decides an open one, and what runs that were added mean.

use std::path::{Path, PathBuf};

use crate::campaign::Campaign;
use crate::campaign::invocation::Invocation;
use crate::cli::{self, Command};
use crate::commands::next;
use crate::config::values::Runs;
use crate::document::NextCommand;
use crate::gate::Judgement;
use crate::gate::report::{Cure, cure};
use crate::record::Schedule;
use crate::stats::LEAST_TO_DECIDE;
use crate::text::quoted;

/// The command after a verdict on the runs of this campaign.
pub fn after_runs(judgement: &Judgement, looks: &Schedule, campaign: &Campaign<'_>) -> Option<NextCommand> {
    let cure = cure(judgement, looks)?;
    let command = match cure {
        Cure::Continue | Cure::Runs(_) => resumed(cure, campaign.out),
        Cure::Calibrate => next::calibration_of(campaign.choices, &campaign.scenario.path, campaign.out)?,
    };
    Some(NextCommand {
        why: cure.sentence(),
        command,
    })
}

/// The command after a verdict on records: a gate made those of one directory, and goes on there.
pub fn after_records(judgement: &Judgement, looks: &Schedule, from: &[PathBuf]) -> Option<NextCommand> {
    let [out] = from else {
        return None;
    };
    begun_as(out)?;
    match cure(judgement, looks)? {
        Cure::Calibrate => None,
        cure => Some(NextCommand {
            why: cure.sentence(),
            command: resumed(cure, out),
        }),
    }
}

fn resumed(cure: Cure, out: &Path) -> String {
    let runs = match cure {
        Cure::Runs(runs) => format!(" --runs {runs}"),
        Cure::Continue | Cure::Calibrate => String::new(),
    };
    format!("lsp-soak gate --resume {}{runs}", quoted(&out.display().to_string()))
}

/// The options of the gate that began in this directory.
fn begun_as(out: &Path) -> Option<cli::Gate> {
    let called = Invocation::read(out).ok()?;
    match cli::parse_extended(called.command_line).ok()?.command {
        Command::Gate(options) => Some(options),
        _ => None,
    }
}

/// That more runs were asked for than at first, after an analysis that might have decided.
pub fn added_runs(options: &cli::Gate, out: &Path) -> Option<String> {
    let before = begun_as(out)?.runs;
    let could_decide = match before {
        Runs::Auto => true,
        Runs::Fixed(runs) => runs as usize >= LEAST_TO_DECIDE,
    };
    (before != options.runs && could_decide).then(|| {
        "runs were added after an analysis that decided nothing: the analyses together decide wrongly in up to 10 % of cases"
            .to_owned()
    })
}
