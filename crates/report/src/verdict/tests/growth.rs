//! Memory that grows, per round and until the end.

use crate::comparison::junit;
use analysis::figures::Limit;
use analysis::golden::gate::judge;
use analysis::golden::let_grow;
use stats::Schedule;

use super::{growing, rules, sides};
use crate::verdict::findings::{About, findings};
use crate::verdict::{headline, suites};

#[test]
fn growth_is_told_per_round_and_per_request_with_its_shape() {
    let judgement = growing(3);
    let found = findings(&judgement);
    let growth = found
        .iter()
        .find(|found| matches!(found.about, About::Growth(_)))
        .unwrap();
    assert_eq!(
        growth.text,
        "growth over goto after 3 runs: +640.0 KiB per round (+640.0 to +640.0); +64.0 KiB per request (+64.0 to +64.0); linear; in \
         the last half +640.0 to +640.0 KiB per round (fails if all above 0.0 KiB, passes if all below +64.0 KiB)"
    );
}

#[test]
fn memory_that_still_grows_is_the_reason_of_an_open_verdict() {
    let mut rules = rules();
    rules.budgets = vec![Limit {
        subject: "private".parse().unwrap(),
        limit: 1e12,
    }];
    let mut sides = sides(&[1_000; 3], &[600; 3]);
    let_grow(&mut sides.candidate[1]);
    let judgement = judge(&sides, &rules, &Schedule::default());
    let text = headline(&judgement, &findings(&judgement));
    let reason = "the candidate's memory still grew by 20.0 MiB/s at the end of";
    assert!(text.contains(reason), "{text}");
    let junit = junit(&suites(&judgement, false));
    assert!(junit.contains("its memory still grew by 20.0 MiB/s"), "{junit}");
}
