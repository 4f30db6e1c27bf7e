//! Phases that are played more than once.

use super::*;

#[test]
fn that_a_repeated_phase_stands_for_its_last_round_is_told_where_there_is_one() {
    let told = |runs: &[Played]| {
        let texts = [drawn(runs.to_vec(), 160), pasted(runs.to_vec())];
        texts.map(|text| text.contains("repeated phases: the last round"))
    };
    let mut runs = two();
    assert_eq!(told(&runs), [false, false]);
    for run in &mut runs {
        let mut round = run.summary.phases[1].clone();
        round.phase.cycle = 1;
        run.summary.phases.insert(2, round);
    }
    assert_eq!(told(&runs), [true, true]);
}
