//! A calibration as text: the table of noise, and the smallest growth that later runs can show.

use std::time::Duration;

use crate::document::{Document, NextCommand, Section, Weight};
use analysis::compare::calibration::{Calibrated, LEAST_RUNS, WANTED, recommended_runs, runs_needed_by_all};
use analysis::figures::{Figure, Unit};
use base::band::tolerance;
use base::lens::Lens;
use base::text::table::{Column, Table, TableCell};
use base::text::{Sentence, Tone};
use base::units;
use record::{Calibration, Noise};
use stats::LEAST_TO_DECIDE;
use stats::Schedule;

/// Numbers of runs in the table.
const RUNS: [(usize, &str); 4] = [(3, "3 runs"), (5, "5 runs"), (8, "8 runs"), (12, "12 runs")];

/// The report of a calibration. `combined` is all of this server's calibrations that count, by which gates decide; `next` is the
/// command after it.
pub fn document(
    calibration: &Calibration,
    combined: &Calibration,
    looks: &Schedule,
    next: Option<NextCommand>,
) -> Document {
    let legend = format!(
        "* decides a gate. CV: variation between runs, as a share of the mean. N runs: the smallest growth that a gate with \
         N runs of each server catches in {} of cases, above a tolerance of {}, whichever is more ({} interim analyses).",
        units::percent(WANTED),
        tolerated(calibration.lens),
        looks.runs().len()
    );
    let noise = Section::new("noise", "Noise", Weight::Answer)
        .with_block(table(combined, looks))
        .with_block(Sentence::answer("calibrate.legend", Tone::Quiet, legend));
    Document {
        title: format!(
            "{}: {} against itself, {}, {}{}",
            calibration.scenario,
            calibration.server,
            calibration.lens,
            units::count_of(calibration.runs, "run"),
            earlier(calibration, combined)
        ),
        origin: String::new(),
        headline: None,
        verdict: vec![Sentence::answer(
            "calibrate.runs",
            Tone::Strong,
            recommendation(combined, looks),
        )],
        sections: [noise].into_iter().chain(next.map(|next| next.section())).collect(),
    }
}

/// The runs of earlier calibrations that count too.
fn earlier(calibration: &Calibration, combined: &Calibration) -> String {
    match combined.runs.saturating_sub(calibration.runs) {
        0 => String::new(),
        earlier => format!(" and {} of earlier calibrations", units::count(earlier)),
    }
}

fn table(calibration: &Calibration, looks: &Schedule) -> Vec<Column> {
    let alpha = looks.alpha_each();
    let figures: Vec<Calibrated> = Calibrated::all(calibration, true).collect();
    let mut table = Table::new(&figures)
        .text("", 0, |figure| {
            TableCell::plain(name(figure.noise)).with_tail(if figure.noise.primary { " *" } else { "" })
        })
        .number("mean", 2, |figure| mean(figure.noise))
        .number("CV", 0, |figure| share(figure.noise.variation));
    for (runs, head) in RUNS {
        table = table.number(head, 1, |figure| {
            units::or_unknown(figure.detectable_difference(runs, alpha), |growth| {
                format!("+{}", share(growth))
            })
        });
    }
    table.columns()
}

fn name(noise: &Noise) -> String {
    format!("{} {}", noise.figure, noise.place)
}

fn mean(noise: &Noise) -> String {
    match Figure::from_name(&noise.figure).map(Figure::unit) {
        Some(Unit::Bytes) => units::bytes(noise.mean as u64),
        Some(Unit::CpuNanos) => units::cpu_time(Duration::from_nanos(noise.mean as u64)),
        _ => units::nanoseconds(noise.mean as u64),
    }
}

/// A share with as many digits as its size is worth: `0.10 %`, `5.2 %`, `34 %`.
fn share(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 9.95 => format!("{percent:.0} %"),
        percent if percent >= 0.995 => format!("{percent:.1} %"),
        percent => format!("{percent:.2} %"),
    }
}

/// The default tolerance: `5 % or 2.0 MiB`.
fn tolerated(lens: Lens) -> String {
    let usual = tolerance(lens);
    format!(
        "{} or {}",
        units::percent(usual.tol()),
        units::bytes(usual.floor() as u64)
    )
}

fn passes() -> String {
    format!(
        "an unchanged server then passes in {} of cases, and most others are inconclusive",
        units::percent(WANTED)
    )
}

/// The number of runs that a gate needs. Where both servers have calibrations of enough runs, their known noise lets it decide
/// earlier.
fn recommendation(combined: &Calibration, looks: &Schedule) -> String {
    let lens = combined.lens;
    let uncalibrated_runs = recommended_runs(Calibrated::all(combined, false), looks);
    let Some(runs) = recommended_runs(Calibrated::all(combined, true), looks) else {
        return many_runs(combined, looks);
    };
    let runs_text = units::count_of(runs as u64, "run");
    if combined.runs < LEAST_RUNS || uncalibrated_runs == Some(runs) {
        return format!("a gate needs {runs_text} of each server, {lens}: {}", passes());
    }
    if let Some(profile) = &combined.profile {
        return format!(
            "a gate between versions of `{profile}` needs {runs_text} of each, {lens}: {}",
            passes()
        );
    }
    let uncalibrated = match uncalibrated_runs {
        Some(runs) => format!("{runs} with another server that has no such calibration"),
        None => "`--runs auto` makes too few with another server that has no such calibration".to_owned(),
    };
    format!(
        "a gate of two calibrated servers needs {runs_text} of each, {lens} ({uncalibrated}): {}",
        passes()
    )
}

/// The recommendation if `--runs auto` makes too few runs.
fn many_runs(combined: &Calibration, looks: &Schedule) -> String {
    let lens = combined.lens;
    match runs_needed_by_all(Calibrated::all(combined, true), looks.alpha()) {
        Some(runs) => format!(
            "use --runs {runs}, {lens}: with this noise `--runs auto` makes too few runs for an unchanged server to pass{}",
            match lens {
                Lens::AsShipped => "; or use --lens purged, which has less noise",
                Lens::Purged => "",
            }
        ),
        None if Calibrated::all(combined, true).any(|figure| figure.noise.primary) => {
            format!(
                "no recommendation, {lens}: with this noise no reasonable number of runs lets an unchanged server pass"
            )
        }
        None => "no recommendation: no figure that decides was measured in every run".to_owned(),
    }
}

/// The smallest growth that these numbers of runs show at the one-sided level `alpha`, for figures that decide; `both_calibrated`
/// is whether the other sides are calibrated too.
pub fn smallest_growths(calibration: &Calibration, runs: &[usize], alpha: f64, both_calibrated: bool) -> String {
    let mut figures: Vec<String> = Vec::new();
    for figure in Calibrated::all(calibration, both_calibrated).filter(|figure| figure.noise.primary) {
        let mut growths: Vec<String> = Vec::new();
        for runs in runs {
            let growth = match figure.detectable_difference(*runs, alpha) {
                Some(growth) => format!("+{}", share(growth)),
                None => "nothing".to_owned(),
            };
            growths.push(format!("{growth} with {}", units::count_of(*runs as u64, "run")));
        }
        figures.push(format!(
            "{} (CV {}) from {}",
            name(figure.noise),
            share(figure.noise.variation),
            growths.join(", ")
        ));
    }
    if figures.is_empty() {
        return "no figure that decides was calibrated".to_owned();
    }
    let early = if both_calibrated && calibration.runs >= LEAST_RUNS {
        String::new()
    } else {
        format!(
            "; nothing is decided before {LEAST_TO_DECIDE} runs, because not every server has calibrations of {LEAST_RUNS} runs"
        )
    };
    format!("smallest growth that shows: {}{early}", figures.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::is_whole;
    use crate::document::{Look, terminal};
    use record::CALIBRATION_FORMAT;

    fn noise(place: &str, figure: &str, primary: bool, mean: f64, variation: f64) -> Noise {
        Noise {
            place: place.to_owned(),
            figure: figure.to_owned(),
            primary,
            mean,
            variation,
            believed: variation.max(0.001),
        }
    }

    fn calibration() -> Calibration {
        let mib = 1_048_576.0;
        Calibration {
            format: CALIBRATION_FORMAT,
            tool: "0.1.0".to_owned(),
            made: "2026-11-21T12:00:00Z".to_owned(),
            scenario: "completions".to_owned(),
            server: "ty".to_owned(),
            profile: None,
            lens: Lens::AsShipped,
            circumstances: std::collections::BTreeMap::new(),
            runs: 12,
            started: Vec::new(),
            noise: vec![
                noise("start", "private", false, 20.3 * mib, 0.0017),
                noise("decay", "private", true, 206.1 * mib, 0.052),
                noise("whole run", "peak", true, 223.7 * mib, 0.03),
                noise("whole run", "cpu", false, 4.2e9, 0.004),
                noise("textDocument/hover", "p50", false, 1.1e6, 0.12),
            ],
            recommended_runs: Some(8),
        }
    }

    #[test]
    fn memory_is_told_in_bytes_whatever_its_figure() {
        for figure in Figure::COMPARED
            .into_iter()
            .filter(|figure| figure.unit() == Unit::Bytes)
        {
            let mut calibration = calibration();
            calibration.noise.truncate(1);
            calibration.noise[0].figure = figure.name().to_owned();
            assert_eq!(mean(&calibration.noise[0]), "20.3 MiB", "{figure:?}");
        }
    }

    #[test]
    fn a_calibration_says_how_much_varies_and_what_is_seen() {
        let document = document(&calibration(), &calibration(), &Schedule::default(), None);
        let look = Look {
            columns: 100,
            color: false,
            ascii: false,
            details: true,
        };
        insta::assert_snapshot!("calibration", terminal::render(&document, look));
        is_whole(&document);
    }

    /// A calibration of so many runs with little noise.
    fn quiet(runs: u64, profile: Option<&str>) -> Calibration {
        let mut calibration = calibration();
        for noise in &mut calibration.noise {
            noise.believed = 0.002;
        }
        Calibration {
            runs,
            profile: profile.map(str::to_owned),
            ..calibration
        }
    }

    /// A calibration in which little noise is left in the only figure that decides.
    fn quiet_private() -> Calibration {
        let mut calibration = calibration();
        calibration.noise.truncate(2);
        calibration.noise[1].variation = 0.002;
        calibration.noise[1].believed = 0.002;
        calibration
    }

    #[test]
    fn the_recommendation_is_of_all_calibrations_and_of_what_a_gate_needs() {
        let few = recommendation(&quiet(6, Some("ty")), &Schedule::default());
        assert!(
            few.starts_with("a gate needs 5 runs of each server, as-shipped: "),
            "{few}"
        );
        let versions = recommendation(&quiet(12, Some("ty")), &Schedule::default());
        let wanted = "a gate between versions of `ty` needs 3 runs of each, as-shipped: ";
        assert!(versions.starts_with(wanted), "{versions}");
        let unknown = recommendation(&quiet(12, None), &Schedule::default());
        let wanted = "a gate of two calibrated servers needs 3 runs of each, as-shipped (5 with another server that has \
                      no such calibration): ";
        assert!(unknown.starts_with(wanted), "{unknown}");
        let document = document(&quiet(6, None), &quiet(12, None), &Schedule::default(), None);
        assert!(
            document.title.ends_with("6 runs and 6 of earlier calibrations"),
            "{}",
            document.title
        );
    }

    #[test]
    fn what_so_many_runs_see_is_one_sentence() {
        insta::assert_snapshot!(smallest_growths(&calibration(), &[3, 12], 0.0125, true));
        assert!(smallest_growths(&calibration(), &[1], 0.05, true).contains("nothing with 1 run"));
        let all_calibrated = smallest_growths(&quiet_private(), &[5], 0.0125, true);
        let some_calibrated = smallest_growths(&quiet_private(), &[5], 0.0125, false);
        assert!(all_calibrated.contains("+5.") && !all_calibrated.contains("nothing is decided"));
        assert!(some_calibrated.contains("nothing is decided before 5 runs"));
    }
}
