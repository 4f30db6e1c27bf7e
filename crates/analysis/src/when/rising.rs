//! Growth from round to round on one side of a bound.

use crate::gate::at_end_of;
use crate::growth::{Asked, Repeated, asked_in_all, deny_only_asked, repeated_parts};
use crate::summary::Summary;
use base::band::LeakLimit;
use stats::{Answer, Bounded, Growth, LEAK_ALPHA, LEAST_RUNS, LeakVerdict, Open, judge_leak};

use super::{Measured, Rigour, Rising, Side, SideShown, Undecided, failure};

impl Rising {
    /// There is more if any repeated part grows by more, and less if none does.
    pub(super) fn answer(&self, runs: &[&Summary], rigour: Rigour) -> SideShown {
        let all: Vec<Vec<Repeated>> = runs.iter().map(|run| repeated_parts(run)).collect();
        let mut names: Vec<&str> = Vec::new();
        for part in all.iter().flatten() {
            let is_meant = self.phase.as_deref().is_none_or(|phase| phase == part.name);
            if is_meant && !names.contains(&part.name.as_str()) {
                names.push(&part.name);
            }
        }
        let mut result = SideShown {
            side: Side::Open(failure(runs).map_or(Undecided::NotMeasured, Undecided::Failed)),
            measured: Measured::Unknown,
        };
        for (number, name) in names.into_iter().enumerate() {
            let parts: Vec<&Repeated> = all
                .iter()
                .filter_map(|run| run.iter().find(|part| part.name == name))
                .collect();
            let next = self.part(&parts, runs, rigour);
            let is_decisive = match (&result.side, &next.side) {
                _ if number == 0 => true,
                (Side::More, _) => false,
                (_, Side::More) | (Side::Less, _) => true,
                (Side::Open(_), _) => false,
            };
            if is_decisive {
                result = next;
            }
        }
        result
    }

    /// One repeated part, in all runs that have it.
    fn part(&self, parts: &[&Repeated], runs: &[&Summary], rigour: Rigour) -> SideShown {
        let Some(divisor) = self.per.count_per_round(parts) else {
            let (asked, unasked) = asked_in_all(parts.iter().copied());
            let why = if asked == Asked::Yes {
                Undecided::NotCounted(self.per)
            } else {
                Undecided::Unasked(unasked)
            };
            return SideShown {
                side: Side::Open(why),
                measured: Measured::Unknown,
            };
        };
        let limit = LeakLimit::from_slope(self.bound * divisor);
        let series: Vec<Vec<Option<f64>>> = parts.iter().map(|part| part.series()).collect();
        let (asked, unasked) = asked_in_all(parts.iter().copied());
        let verdict = deny_only_asked(judge_leak(&series, &limit, LEAK_ALPHA), asked);
        let measured = verdict.slope.map_or(Measured::Unknown, |slope| {
            Measured::Value(Bounded {
                value: slope.value / divisor,
                low: slope.low / divisor,
                high: slope.high / divisor,
            })
        });
        let side = match answer(&verdict, asked, rigour) {
            Answer::Fail => Side::More,
            Answer::Pass => doubt_of_less(parts, runs).map_or(Side::Less, Side::Open),
            Answer::Inconclusive => Side::Open(match verdict.open {
                Some(Open::Unasked) => Undecided::Unasked(unasked),
                Some(Open::Runs) if rigour == Rigour::Search && has_all_rounds(&verdict) => Undecided::Close,
                Some(Open::Runs) => Undecided::TooFewRuns {
                    have: runs.len(),
                    need: LEAST_RUNS,
                },
                Some(open) => failure(runs).map_or(Undecided::Growth(open), Undecided::Failed),
                None => Undecided::Close,
            }),
        };
        SideShown { side, measured }
    }
}

/// The verdict; of fewer runs than one takes, what each of them says by itself if they agree.
fn answer(verdict: &LeakVerdict, asked: Asked, rigour: Rigour) -> Answer {
    if rigour == Rigour::Verdict || verdict.runs.len() >= LEAST_RUNS {
        return verdict.answer;
    }
    if all_are(verdict, Growth::Above) {
        Answer::Fail
    } else if all_are(verdict, Growth::Below) && asked == Asked::Yes {
        Answer::Pass
    } else {
        Answer::Inconclusive
    }
}

fn all_are(verdict: &LeakVerdict, growth: Growth) -> bool {
    verdict
        .runs
        .iter()
        .all(|run| run.is_some_and(|run| run.growth == growth))
}

fn has_all_rounds(verdict: &LeakVerdict) -> bool {
    verdict.runs.iter().all(Option::is_some)
}

/// The reason that growth below the bound proves nothing; `None` if it is proof.
fn doubt_of_less(parts: &[&Repeated], runs: &[&Summary]) -> Option<Undecided> {
    if let Some(how) = failure(runs) {
        return Some(Undecided::Failed(how));
    }
    if parts.len() < runs.len() {
        return Some(Undecided::NotMeasured);
    }
    runs.iter().find_map(|run| at_end_of(run)).map(Undecided::StillGrowing)
}
