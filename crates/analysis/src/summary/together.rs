//! Aligns lines of several runs: each run's time is mapped onto one common time.

use crate::summary::{PhaseSummary, Summary};
use base::units::middle;
use record::{Nanos, PhaseRef};

use super::curves::Span;
use super::lines::Line;

/// The time of a drawing that several runs share.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// Where phases begin and the last of them and the run end, each as long as it was at the median of all runs; `None`
    /// where runs have different phases or there is one only, and every run is drawn by its own time.
    common: Option<Vec<f64>>,
    pub until: f64,
}

impl Together {
    pub fn of(runs: &[&Summary]) -> Together {
        let bounds: Vec<Vec<f64>> = runs.iter().map(|run| bounds(run)).collect();
        let first = bounds.first().map_or(0, Vec::len);
        let alike = bounds.len() > 1 && bounds.iter().all(|one| one.len() == first);
        let common = alike.then(|| {
            let mut common = vec![0.0];
            for part in 1..first {
                let lengths = bounds.iter().map(|one| one[part] - one[part - 1]);
                common.push(common[part - 1] + middle(lengths.collect()));
            }
            common
        });
        let longest = runs.iter().map(|run| run.duration as f64).fold(1.0, f64::max);
        let until = common.as_ref().and_then(|common| common.last().copied());
        Together {
            until: until.unwrap_or(longest).max(1.0),
            common,
        }
    }

    /// Whether the phases of all runs are aligned.
    pub fn is_aligned(&self) -> bool {
        self.common.is_some()
    }

    /// Where a moment of a run lies.
    pub fn at(&self, run: &Summary, moment: Nanos) -> f64 {
        match &self.common {
            Some(common) => warp(&bounds(run), common, moment as f64),
            None => moment as f64,
        }
    }

    /// A run's line, from a grid of `width`, on this many places of the drawing. Every value falls into exactly one
    /// place, so no peak is lost and none is drawn twice; an empty place has the value of its moment.
    pub fn lay(&self, run: &Summary, line: &Line, width: Nanos, places: usize) -> Line {
        let (own, width) = (bounds(run), width.max(1) as f64);
        let step = self.until / places as f64;
        let common = self.common.as_ref();
        let onto = |moment| common.map_or(moment, |common| warp(&own, common, moment));
        let back = |moment| common.map_or(moment, |common| warp(common, &own, moment));
        let mut laid: Line = vec![None; places];
        for (place, span) in line.iter().enumerate() {
            for (part, value) in span.iter().flat_map(Span::parts) {
                let there = (onto((place as f64 + part) * width) / step) as usize;
                let there = &mut laid[there.min(places - 1)];
                let value = Span::of(value);
                *there = Some(there.map_or(value, |before| before.join(value)));
            }
        }
        for (there, span) in laid.iter_mut().enumerate().filter(|(_, span)| span.is_none()) {
            let place = back((there as f64 + 0.5) * step) / width;
            let known = line.get(place as usize).copied().flatten();
            *span = known.map(|known| Span::of(if place.fract() < 0.5 { known.first } else { known.then }));
        }
        laid
    }
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

/// At each moment the median of the lines, where at least half of them have a value.
pub fn median(lines: &[Line]) -> Line {
    let places = lines.iter().map(Vec::len).max().unwrap_or(0);
    let of = |place: usize| {
        let known: Vec<Span> = lines
            .iter()
            .filter_map(|line| line.get(place).copied().flatten())
            .collect();
        let enough = !known.is_empty() && known.len() * 2 >= lines.len();
        let middle = |part: fn(&Span) -> u64| middle(known.iter().map(|span| part(span) as f64).collect()) as u64;
        enough.then(|| Span {
            first: middle(|span| span.first),
            then: middle(|span| span.then),
        })
    };
    (0..places).map(of).collect()
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
    /// Whether the checkpoint of every run had settled.
    pub settled: bool,
    pub private: Option<u64>,
    pub resident: Option<u64>,
    pub peak: Option<u64>,
}

/// A phase over the runs that have it.
pub fn phase(runs: &[&Summary], of: &PhaseRef) -> Middle {
    let there = runs
        .iter()
        .flat_map(|run| &run.phases)
        .filter(|phase| phase.phase == *of);
    let there: Vec<&PhaseSummary> = there.collect();
    let median = |value: &dyn Fn(&PhaseSummary) -> Option<u64>| {
        let known: Vec<f64> = there
            .iter()
            .filter_map(|phase| value(phase))
            .map(|value| value as f64)
            .collect();
        (!known.is_empty()).then(|| middle(known).round() as u64)
    };
    Middle {
        settled: there
            .iter()
            .filter_map(|phase| phase.checkpoint.as_ref())
            .all(|taken| taken.settled),
        private: median(&|phase| phase.private),
        resident: median(&|phase| phase.checkpoint.as_ref()?.resident),
        peak: median(&|phase| phase.peak.as_ref().map(|peak| peak.lower)),
    }
}

/// A phase, or all rounds of one that follow one another: `hover ×10`.
pub struct Stretch {
    pub name: String,
    pub from: Nanos,
    pub to: Nanos,
}

/// The phases as a chart names them.
pub fn stretches(run: &Summary) -> Vec<Stretch> {
    let chunks = run.phases.chunk_by(|a, b| a.phase.phase == b.phase.phase);
    let stretch = |rounds: &[PhaseSummary]| {
        let (first, last) = (rounds.first()?, rounds.last()?);
        let is_repeated = || {
            run.phases
                .iter()
                .any(|one| one.phase.phase == first.phase.phase && one.phase.cycle > 0)
        };
        let round = match rounds.len() {
            1 if is_repeated() => format!(" #{}", u64::from(first.phase.cycle) + 1),
            1 => String::new(),
            several => format!(" ×{several}"),
        };
        Some(Stretch {
            name: format!("{}{round}", first.phase.name),
            from: first.started,
            to: last.ended,
        })
    };
    chunks.filter_map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use crate::summary::lines;
    use crate::summary::lines::Quantity;
    use record::golden::Session;

    fn run(first: u64, second: u64) -> Summary {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 20, 20);
        session.phase("one");
        session.go(0, 40 + first, first, 100);
        session.settle(true);
        session.phase("two");
        session.go(0, 60 + second, second, 100);
        session.settle(true);
        summarised(&session)
    }

    #[test]
    fn phases_lie_under_each_other_and_no_peak_is_lost() {
        let runs = [run(3, 20), run(9, 4), run(5, 11)];
        let all: Vec<&Summary> = runs.iter().collect();
        let together = Together::of(&all);
        assert!(together.is_aligned());
        let width = lines::grid(all.iter().copied()).unwrap();
        let second = |run: &Summary| together.at(run, run.phases[1].started);
        for run in &runs {
            assert!((second(run) - second(&runs[0])).abs() < 1.0);
            let line = lines::line(run, Quantity::Private, width);
            let highest = |line: &Line| line.iter().flatten().map(|span| span.high()).max();
            for places in [1, 7, 64, 5_000] {
                let laid = together.lay(run, &line, width, places);
                assert_eq!(laid.len(), places);
                assert_eq!(highest(&laid), highest(&line), "{places}");
            }
        }
    }

    #[test]
    fn a_phase_has_the_middle_of_its_checkpoints_and_is_settled_where_all_are() {
        let mut runs = [run(3, 20), run(9, 4), run(5, 11)];
        for (run, mib) in runs.iter_mut().zip([365, 400, 388]) {
            run.phases[1].private = Some(mib << 20);
        }
        let second_phase = |runs: &[Summary]| phase(&runs.iter().collect::<Vec<&Summary>>(), &runs[0].phases[1].phase);
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
        let together = Together::of(&runs.iter().collect::<Vec<&Summary>>());
        assert!(!together.is_aligned());
        assert_eq!(together.at(&runs[0], 7), 7.0);
        assert_eq!(together.until, runs[0].duration as f64);
        assert!(Together::of(&[]).until > 0.0);
    }

    #[test]
    fn rounds_that_follow_one_another_have_one_name() {
        let named = |rounds: &[(u32, u32)]| {
            let mut run = run(1, 1);
            let one = run.phases[0].clone();
            let phases = rounds.iter().map(|(phase, cycle)| {
                let mut round = one.clone();
                (round.phase.phase, round.phase.cycle) = (*phase, *cycle);
                round.phase.name = ["start", "hover"][*phase as usize].to_owned();
                round
            });
            run.phases = phases.collect();
            let names = stretches(&run).into_iter().map(|stretch| stretch.name);
            names.collect::<Vec<String>>()
        };
        assert_eq!(named(&[(0, 0), (1, 0), (1, 1), (1, 2)]), ["start", "hover ×3"]);
        let names = ["start #1", "hover #1", "start #2", "hover #2"];
        assert_eq!(named(&[(0, 0), (1, 0), (0, 1), (1, 1)]), names);
    }

    #[test]
    fn a_median_is_of_what_at_least_half_of_the_lines_know() {
        let line = |values: [Option<u64>; 3]| -> Line { values.iter().map(|one| one.map(Span::of)).collect() };
        let lines = [
            line([Some(1), Some(5), None]),
            line([Some(3), None, None]),
            line([Some(9), Some(7), Some(4)]),
        ];
        assert_eq!(median(&lines), line([Some(3), Some(6), None]));
        assert!(median(&[]).is_empty());
    }
}
