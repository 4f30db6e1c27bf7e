//! Phases that are played more than once.

use super::*;

/// True for each format that has the note on repeated phases.
fn notes_in_formats(runs: &[Played]) -> [bool; 2] {
    let texts = [drawn(runs.to_vec(), 160), pasted(runs.to_vec())];
    texts.map(|text| text.contains("repeated phases: the last round"))
}

#[test]
fn that_a_repeated_phase_stands_for_its_last_round_is_told_where_there_is_one() {
    let mut runs = two();
    assert_eq!(notes_in_formats(&runs), [false, false]);
    for run in &mut runs {
        let mut round = run.summary.phases[1].clone();
        round.phase.cycle = 1;
        run.summary_mut().phases.insert(2, round);
    }
    assert_eq!(notes_in_formats(&runs), [true, true]);
}
