//! Aligns lines of several runs: each run's time is mapped onto one common time.

use crate::summary::{CheckpointSummary, PhaseSummary, Summary};
use base::curve::{Columns, Curve, Span};
use base::units::median_of;
use record::{Nanos, PhaseRef};

/// The time of a drawing that several runs share.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonTime {
    /// Where phases begin and the last of them and the run end, each as long as it was at the median of all runs; `None`
    /// where runs have different phases or there is one only, and every run is drawn by its own time.
    common: Option<Vec<f64>>,
    pub until: f64,
}

impl CommonTime {
    pub fn new(runs: &[&Summary]) -> CommonTime {
        let common = common_bounds(runs);
        let longest = runs.iter().map(|run| run.duration as f64).fold(1.0, f64::max);
        let until = common.as_ref().and_then(|common| common.last().copied());
        CommonTime {
            until: until.unwrap_or(longest).max(1.0),
            common,
        }
    }

    /// True if the phases of all runs are aligned.
    pub fn is_aligned(&self) -> bool {
        self.common.is_some()
    }

    /// Maps a moment of one run to the common time.
    pub fn common_time(&self, run: &Summary, moment: Nanos) -> f64 {
        self.to_common(&bounds(run), moment as f64)
    }

    fn to_common(&self, own: &[f64], moment: f64) -> f64 {
        match &self.common {
            Some(common) => warp(own, common, moment),
            None => moment,
        }
    }

    fn to_own(&self, own: &[f64], moment: f64) -> f64 {
        match &self.common {
            Some(common) => warp(common, own, moment),
            None => moment,
        }
    }

    /// A curve of a run in this many columns of the drawing; nothing is known after the run's end.
    pub fn lay(&self, run: &Summary, curve: &Curve, columns: usize) -> Columns {
        let own = bounds(run);
        let step = self.until / columns as f64;
        let mut bounds: Vec<Nanos> = (0..columns)
            .map(|column| self.to_own(&own, column as f64 * step) as Nanos)
            .take_while(|from| *from <= run.duration)
            .collect();
        bounds.push(Nanos::MAX);
        let mut laid = curve.reduce(&bounds);
        laid.resize(columns, None);
        laid
    }
}

/// The bounds of all runs in common time: each part is as long as it was at the median of the runs. `None` for a single run,
/// and for runs with different numbers of phases.
fn common_bounds(runs: &[&Summary]) -> Option<Vec<f64>> {
    let all_bounds: Vec<Vec<f64>> = runs.iter().map(|run| bounds(run)).collect();
    let count = all_bounds.first()?.len();
    if all_bounds.len() < 2 || all_bounds.iter().any(|bounds| bounds.len() != count) {
        return None;
    }
    let mut common = vec![0.0];
    for part in 1..count {
        let lengths = all_bounds.iter().map(|bounds| bounds[part] - bounds[part - 1]);
        common.push(common[part - 1] + median_of(lengths.collect()));
    }
    Some(common)
}

/// The bounds of a run: its beginning, where its phases began, where the last of them ended, and its end.
pub fn bounds(run: &Summary) -> Vec<f64> {
    let began = run.phases.iter().map(|phase| phase.started);
    let ended = run.phases.last().map(|phase| phase.ended);
    let all = std::iter::once(0).chain(began).chain(ended).chain([run.duration]);
    all.map(|moment| moment as f64).collect()
}

/// From one sequence of bounds to another of the same length, straight between them.
fn warp(from: &[f64], to: &[f64], moment: f64) -> f64 {
    let last = from.len().saturating_sub(2);
    let part = (0..last).take_while(|part| moment >= from[part + 1]).count();
    let length = from[part + 1] - from[part];
    let share = if length > 0.0 {
        ((moment - from[part]) / length).min(1.0)
    } else {
        1.0
    };
    to[part] + share * (to[part + 1] - to[part])
}

/// In each column the median of the curves, where at least half of them have a value.
pub fn median(lines: &[Columns]) -> Columns {
    let places = lines.iter().map(Vec::len).max().unwrap_or(0);
    (0..places).map(|place| median_at(lines, place)).collect()
}

fn median_at(lines: &[Columns], place: usize) -> Option<Span> {
    let known: Vec<Span> = lines
        .iter()
        .filter_map(|line| line.get(place).copied().flatten())
        .collect();
    if known.is_empty() || known.len() * 2 < lines.len() {
        return None;
    }
    Some(Span {
        first: median_of(known.iter().map(|span| span.first as f64).collect()) as u64,
        then: median_of(known.iter().map(|span| span.then as f64).collect()) as u64,
    })
}

/// The run of median length, which represents its server.
pub fn typical<T>(runs: &[T], summary: impl Fn(&T) -> &Summary) -> Option<&T> {
    let mut by_length: Vec<&T> = runs.iter().collect();
    by_length.sort_by_key(|run| summary(run).duration);
    by_length.get(by_length.len().checked_sub(1)? / 2).copied()
}

/// The figures of one phase of a server, each the median of the runs that know it, as tables have them. In bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Middle {
    /// True if the checkpoint of every run had settled.
    pub settled: bool,
    pub private: Option<u64>,
    pub resident: Option<u64>,
    pub peak: Option<u64>,
}

/// The figures of one phase, from the runs that have it.
pub fn phase(runs: &[&Summary], wanted: &PhaseRef) -> Middle {
    let phases: Vec<&PhaseSummary> = runs
        .iter()
        .flat_map(|run| &run.phases)
        .filter(|phase| phase.phase == *wanted)
        .collect();
    let checkpoints: Vec<&CheckpointSummary> = phases.iter().filter_map(|phase| phase.checkpoint.as_ref()).collect();
    Middle {
        settled: checkpoints.iter().all(|checkpoint| checkpoint.settled),
        private: median_of_known(phases.iter().map(|phase| phase.private)),
        resident: median_of_known(checkpoints.iter().map(|checkpoint| checkpoint.resident)),
        peak: median_of_known(phases.iter().map(|phase| Some(phase.peak?.lower))),
    }
}

fn median_of_known(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let known: Vec<f64> = values.flatten().map(|value| value as f64).collect();
    if known.is_empty() {
        return None;
    }
    Some(median_of(known).round() as u64)
}

/// A phase, or all rounds of one that follow one another: `hover ×10`.
pub struct Stretch {
    pub name: String,
    pub from: Nanos,
    pub to: Nanos,
}

/// The phases as a chart names them.
pub fn stretches(run: &Summary) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    for rounds in run.phases.chunk_by(|a, b| a.phase.phase == b.phase.phase) {
        let [first, ..] = rounds else { continue };
        let round = match rounds.len() {
            1 if is_repeated(run, first.phase.phase) => format!(" #{}", u64::from(first.phase.cycle) + 1),
            1 => String::new(),
            several => format!(" ×{several}"),
        };
        stretches.push(Stretch {
            name: format!("{}{round}", first.phase.name),
            from: first.started,
            to: rounds.last().unwrap_or(first).ended,
        });
    }
    stretches
}

/// True if the scenario plays this phase more than once.
fn is_repeated(run: &Summary, phase: u32) -> bool {
    run.phases
        .iter()
        .any(|other| other.phase.phase == phase && other.phase.cycle > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::golden::Session;

    fn run(first: u64, second: u64) -> Summary {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 20, 20);
        session.phase("one");
        session.move_memory(0, 40 + first, first, 100);
        session.settle(true);
        session.phase("two");
        session.move_memory(0, 60 + second, second, 100);
        session.settle(true);
        summarised(&session)
    }

    #[test]
    fn phases_lie_under_each_other_and_no_peak_is_lost() {
        let runs = [run(3, 20), run(9, 4), run(5, 11)];
        let all: Vec<&Summary> = runs.iter().collect();
        let together = CommonTime::new(&all);
        assert!(together.is_aligned());
        let second_in_first_run = together.common_time(&runs[0], runs[0].phases[1].started);
        for run in &runs {
            let second = together.common_time(run, run.phases[1].started);
            assert!((second - second_in_first_run).abs() < 1.0);
            for places in [1, 7, 64, 5_000] {
                let laid = together.lay(run, &run.memory.curves.private, places);
                assert_eq!(laid.len(), places);
                assert_eq!(highest(&laid), run.memory.curves.private.highest(), "{places}");
            }
        }
    }

    fn highest(line: &Columns) -> Option<u64> {
        line.iter().flatten().map(|span| span.high()).max()
    }

    fn second_phase(runs: &[Summary]) -> Middle {
        phase(&runs.iter().collect::<Vec<&Summary>>(), &runs[0].phases[1].phase)
    }

    #[test]
    fn a_phase_has_the_middle_of_its_checkpoints_and_is_settled_where_all_are() {
        let mut runs = [run(3, 20), run(9, 4), run(5, 11)];
        for (run, mib) in runs.iter_mut().zip([365, 400, 388]) {
            run.phases[1].private = Some(mib << 20);
        }
        assert_eq!(
            (second_phase(&runs).private, second_phase(&runs).settled),
            (Some(388 << 20), true)
        );
        assert_eq!(second_phase(&runs[..2]).private, Some((365 + 400) << 19));
        if let Some(taken) = &mut runs[2].phases[1].checkpoint {
            taken.settled = false;
        }
        runs[1].phases[1].private = None;
        assert_eq!(
            (second_phase(&runs).private, second_phase(&runs).settled),
            (Some((365 + 388) << 19), false)
        );
    }

    #[test]
    fn runs_of_different_phases_keep_their_own_time() {
        let mut other = Session::new("server");
        other.phase("one");
        other.at += 5_000_000_000;
        let runs = [run(3, 4), summarised(&other)];
        let together = CommonTime::new(&runs.iter().collect::<Vec<&Summary>>());
        assert!(!together.is_aligned());
        assert_eq!(together.common_time(&runs[0], 7), 7.0);
        assert_eq!(together.until, runs[0].duration as f64);
        assert!(CommonTime::new(&[]).until > 0.0);
    }

    /// The names of the stretches of a run that played these phases, each with its round from 0.
    fn stretch_names(rounds: &[(u32, u32)]) -> Vec<String> {
        let mut run = run(1, 1);
        let template = run.phases[0].clone();
        run.phases.clear();
        for (phase, cycle) in rounds {
            let mut round = template.clone();
            (round.phase.phase, round.phase.cycle) = (*phase, *cycle);
            round.phase.name = ["start", "hover"][*phase as usize].to_owned();
            run.phases.push(round);
        }
        stretches(&run).into_iter().map(|stretch| stretch.name).collect()
    }

    #[test]
    fn rounds_that_follow_one_another_have_one_name() {
        assert_eq!(stretch_names(&[(0, 0), (1, 0), (1, 1), (1, 2)]), ["start", "hover ×3"]);
        let names = ["start #1", "hover #1", "start #2", "hover #2"];
        assert_eq!(stretch_names(&[(0, 0), (1, 0), (0, 1), (1, 1)]), names);
    }

    fn line(values: [Option<u64>; 3]) -> Columns {
        values.iter().map(|value| value.map(Span::constant)).collect()
    }

    #[test]
    fn a_median_is_of_what_at_least_half_of_the_lines_know() {
        let lines = [
            line([Some(1), Some(5), None]),
            line([Some(3), None, None]),
            line([Some(9), Some(7), Some(4)]),
        ];
        assert_eq!(median(&lines), line([Some(3), Some(6), None]));
        assert!(median(&[]).is_empty());
    }
}
