//! A server against itself through the purged lens, in many sessions drawn from recorded runs.

use analysis::compare::{Played, is_counted};
use analysis::figures::Rules;
use analysis::gate::{Sides, judge};
use analysis::summary;
use base::lens::Lens;
use lsp_soak::config::GateContext;
use stats::Answer;
use stats::Schedule;

use crate::ground::{LINKED_SYSTEM, PreparedWorkspace};

const SESSIONS: u64 = 20;

/// Twelve runs of one server.
fn pool() -> Vec<Played> {
    let ground = PreparedWorkspace::pair()
        .ending_idle()
        .with_server("base", &["--ballast", "200MiB"], LINKED_SYSTEM);
    ground.stdout(&[
        "run", "scenario.toml", "--server", "base", "--lens", "purged", "--runs", "12", "--out", "pool", "-q",
    ]);
    let records = ground.records("pool");
    let played = records.iter().map(|path| {
        Played::new(
            path.display().to_string(),
            summary::read(record::open(path).expect("it is a record")).expect("it can be read"),
        )
    });
    played.filter(|run| is_counted(&run.summary)).collect()
}

/// The default rules.
fn usual(pool: &[Played]) -> Rules {
    let context = GateContext {
        phases: pool[0].summary.header.scenario.phases.clone(),
        lenses: vec![Lens::Purged],
        ..GateContext::default()
    };
    context.rules(None).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// A session of the pool against itself: each side draws runs with replacement, up to the last interim analysis. The
/// candidate's memory is scaled to `percent`.
fn session(pool: &[Played], looks: &Schedule, seed: u64, percent: u64) -> Sides {
    let mut random = fastrand::Rng::with_seed(seed);
    let runs = looks.runs().last().copied().expect("there is a look");
    let baseline = draw(pool, runs, &mut random);
    let mut candidate = draw(pool, runs, &mut random);
    for phase in candidate.iter_mut().flat_map(|run| &mut run.summary_mut().phases) {
        phase.private = phase.private.map(|private| private * percent / 100);
    }
    Sides {
        baseline: Some(baseline),
        candidate,
        anchor: None,
    }
}

fn draw(pool: &[Played], runs: usize, random: &mut fastrand::Rng) -> Vec<Played> {
    (0..runs).map(|_| pool[random.usize(..pool.len())].clone()).collect()
}

#[test]
fn of_twenty_sessions_of_a_server_against_itself_nineteen_pass_and_none_fails_and_with_three_per_cent_more_all_fail() {
    let (pool, looks) = (pool(), Schedule::default());
    assert_eq!(pool.len(), 12);
    let rules = usual(&pool);
    let [same, more] = [100, 103].map(|percent| -> Vec<Answer> {
        let sessions = (0..SESSIONS).map(|seed| session(&pool, &looks, seed, percent));
        sessions.map(|sides| judge(&sides, &rules, &looks).answer).collect()
    });
    assert!(count(&same, Answer::Pass) >= 19, "{same:?}");
    assert_eq!(count(&same, Answer::Fail), 0, "{same:?}");
    assert_eq!(count(&more, Answer::Fail), 20, "{more:?}");
}

fn count(answers: &[Answer], answer: Answer) -> usize {
    answers.iter().filter(|one| **one == answer).count()
}
