//! Properties of the drawn lines of any samples: no line shows a turn that its samples do not have.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::summary::common_time::{CommonTime, median};
use crate::summary::{Quantity, Summary, columns, grid};
use base::curve::{Columns, Curve, Span};
use record::Event;
use record::golden::Session;

use crate::golden::summarised;

/// A run of these samples, each with the milliseconds since the previous one, whose second phase begins after this
/// share of its time.
fn run(samples: &[(u64, u64)], share: f64) -> Summary {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 20, 20);
    session.phase("one");
    session.phase("two");
    let mut summary = summarised(&session);
    let (mut curve, mut at) = (Curve::default(), 0);
    for (gap, value) in samples {
        at += gap * 1_000_000;
        curve.add(at, Some(*value));
    }
    summary.memory.curves.private = curve;
    summary.duration = at;
    summary.phases[0].started = 0;
    summary.phases[1].started = (at as f64 * share) as u64;
    summary.phases[1].ended = at;
    summary
}

/// Counts the changes from rising to falling values and back.
fn turns(values: impl IntoIterator<Item = u64>) -> usize {
    let values: Vec<u64> = values.into_iter().collect();
    let rises: Vec<bool> = values
        .windows(2)
        .filter(|pair| pair[0] != pair[1])
        .map(|pair| pair[0] < pair[1])
        .collect();
    rises.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

fn drawn(line: &Columns) -> impl Iterator<Item = u64> {
    line.iter().flatten().flat_map(|span| [span.first, span.then])
}

fn samples() -> impl Strategy<Value = Vec<(u64, u64)>> {
    vec((1..400u64, 0..1_000u64), 2..90)
}

/// Samples that only rise, or only fall.
fn one_way() -> impl Strategy<Value = Vec<(u64, u64)>> {
    (samples(), any::<bool>()).prop_map(|(mut samples, falls)| {
        let mut values: Vec<u64> = samples.iter().map(|(_, value)| *value).collect();
        values.sort_unstable();
        if falls {
            values.reverse();
        }
        for (sample, value) in samples.iter_mut().zip(values) {
            sample.1 = value;
        }
        samples
    })
}

/// The lines of these runs in a chart with this many places.
fn laid(runs: &[Summary], places: usize) -> Vec<Columns> {
    let together = CommonTime::new(&runs.iter().collect::<Vec<&Summary>>());
    runs.iter()
        .map(|run| together.lay(run, &run.memory.curves.private, places))
        .collect()
}

proptest! {
    #[test]
    fn a_line_turns_no_more_often_than_its_samples_and_keeps_their_highest(
        all in vec((samples(), 0.05..0.95_f64), 1..4), places in 1..400usize,
    ) {
        let runs: Vec<Summary> = all.iter().map(|(samples, share)| run(samples, *share)).collect();
        for ((samples, _), line) in all.iter().zip(laid(&runs, places)) {
            let values = samples.iter().map(|(_, value)| *value);
            prop_assert!(turns(drawn(&line)) <= turns(values.clone()), "{samples:?} {line:?}");
            prop_assert_eq!(drawn(&line).max(), values.max());
        }
    }

    #[test]
    fn samples_that_only_rise_or_only_fall_are_a_line_that_does_the_same(
        all in vec((one_way(), 0.05..0.95_f64), 2..4), places in 1..400usize,
    ) {
        let runs: Vec<Summary> = all.iter().map(|(samples, share)| run(samples, *share)).collect();
        for line in laid(&runs, places) {
            prop_assert_eq!(turns(drawn(&line)), 0);
        }
    }

    #[test]
    fn a_median_is_never_outside_of_the_runs_at_its_moment(
        all in vec((samples(), 0.05..0.95_f64), 1..6), places in 1..400usize,
    ) {
        let runs: Vec<Summary> = all.iter().map(|(samples, share)| run(samples, *share)).collect();
        let lines = laid(&runs, places);
        for (place, span) in median(&lines).iter().enumerate() {
            let Some(span) = span else { continue };
            for part in [|span: &Span| span.first, |span: &Span| span.then] {
                let of_runs = lines.iter().filter_map(|line| line[place].as_ref()).map(part);
                let (least, most) = (of_runs.clone().min().unwrap(), of_runs.max().unwrap());
                prop_assert!((least..=most).contains(&part(span)), "{place}");
            }
        }
    }
}

#[test]
fn rounds_of_a_checkpoint_are_not_drawn_after_samples_that_came_later() {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 100, 20);
    session.phase("work");
    session.move_memory(0, 50, 2, 0);
    session.settle(true);
    for entry in &mut session.entries {
        if let Event::Checkpoint(taken) = &mut entry.event
            && let Some(round) = taken.rounds.first_mut()
        {
            // While memory fell, as the samples have it.
            round[0].counters.private = Some(70 << 20);
        }
    }
    let summary = summarised(&session);
    let width = grid(std::iter::once(&summary)).unwrap();
    let line = columns(&summary, Quantity::Private, width);
    assert_eq!(turns(drawn(&line)), 0, "{line:?}");
}
