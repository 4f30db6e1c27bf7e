//! From the verdict to the types of the format.

use crate::analyse::gate;
use crate::analyse::stats::{self, Seen};
use crate::report::comparison::json::from;

use super::super::findings::{doubts, findings};
use super::{Against, Budget, Evidence, FORMAT, Finding, Growth, Known, Outcome, Report, Role, Rule, Server, Value};

pub(super) fn report(judgement: &gate::Judgement, notes: &[String], exit_code: u8) -> Report {
    let found = findings(judgement).into_iter().map(|one| Finding {
        answer: from::answer(one.answer),
        decides: one.decides,
        text: one.text,
    });
    Report {
        format: FORMAT,
        scenario: judgement.scenario.clone(),
        outcome: outcome(judgement),
        exit_code,
        findings: found.collect(),
        notes: [doubts(judgement), notes.to_vec()].concat(),
        lens: judgement.lens,
        servers: judgement.parties.iter().map(|party| server(judgement, party)).collect(),
        differences: judgement.differences.iter().map(from::difference).collect(),
        against: judgement.against.iter().map(against).collect(),
        budgets: judgement.budgets.iter().map(budget).collect(),
        growth: judgement.leaks.iter().map(growth).collect(),
    }
}

fn outcome(judgement: &gate::Judgement) -> Outcome {
    match judgement.answer {
        _ if judgement.is_refused() => Outcome::Refused,
        stats::Answer::Pass => Outcome::Pass,
        stats::Answer::Fail => Outcome::Fail,
        stats::Answer::Inconclusive => Outcome::Inconclusive,
    }
}

fn role(role: gate::Role) -> Role {
    match role {
        gate::Role::Baseline => Role::Baseline,
        gate::Role::Candidate => Role::Candidate,
        gate::Role::Anchor => Role::Anchor,
    }
}

fn server(judgement: &gate::Judgement, party: &gate::Party) -> Server {
    let failed = judgement.broken.iter().filter(|broken| broken.role == party.role);
    Server {
        role: role(party.role),
        label: party.label.clone(),
        profile: party.profile.clone(),
        version: party.version.clone(),
        preload: party.preload.clone(),
        runs: party.runs as u64,
        not_counted: party.left as u64,
        failed: failed.map(|broken| broken.record.clone()).collect(),
    }
}

fn against(against: &gate::Against) -> Against {
    let primaries = against.primaries.iter().map(|judged| rule(judged, true));
    let advisory = against.advisory.iter().map(|judged| rule(judged, false));
    Against {
        server: role(against.role),
        answer: from::answer(against.answer),
        look: against.look.map(|runs| runs as u64),
        apart: against.apart,
        rules: primaries.chain(advisory).collect(),
        work: against.work.iter().map(from::inequality).collect(),
    }
}

fn rule(judged: &gate::Judged, decides: bool) -> Rule {
    let gate::Rule { what, tolerance } = &judged.rule;
    let values = |runs: &[Seen]| -> Vec<Value> {
        let value = |seen: &Seen| Value {
            machine: seen.machine as u64,
            value: seen.value.and_then(finite),
        };
        runs.iter().map(value).collect()
    };
    let evidence = judged.verdict.evidence.as_ref();
    Rule {
        name: what.to_string(),
        figure: from::figure(what.figure),
        unit: from::unit(what.figure.unit()),
        lens: what.lens,
        decides,
        tolerated: tolerance.tol(),
        ruled_out: tolerance.fail(),
        floor: tolerance.floor(),
        answer: from::answer(judged.verdict.answer),
        look: judged.verdict.look.map(|runs| runs as u64),
        known: known(judged.endpoint.known),
        least_spread: judged.endpoint.noise.relative,
        evidence: evidence.ok().map(weighed),
        unusable: evidence.err().map(|(side, why)| match side {
            stats::Side::Baseline => format!("baseline: {why}"),
            stats::Side::Candidate => format!("candidate: {why}"),
        }),
        runs_needed: judged.needed.map(|runs| runs as u64),
        baseline: values(&judged.endpoint.baseline),
        candidate: values(&judged.endpoint.candidate),
    }
}

fn known(known: stats::Known) -> Known {
    match known {
        stats::Known::Seen => Known::Seen,
        stats::Known::Calibrated => Known::Calibrated,
        stats::Known::Assumed => Known::Assumed,
    }
}

fn weighed(evidence: &stats::Evidence) -> Evidence {
    Evidence {
        baseline_runs: evidence.runs.0 as u64,
        candidate_runs: evidence.runs.1 as u64,
        machines: evidence.machines as u64,
        baseline: evidence.means.0,
        candidate: evidence.means.1,
        ratio: evidence.contrast.ratio(),
        low: evidence.lower,
        low_level: evidence.fail_level,
        fails_above: evidence.fail_above.ratio,
        p: evidence.p_fail,
        high: finite(evidence.upper),
        high_level: evidence.pass_level,
        passes_below: evidence.pass_below.ratio,
    }
}

fn budget(kept: &gate::Kept) -> Budget {
    let gate::Limit { what, limit } = &kept.limit;
    let interval = kept.verdict.interval;
    let of = |part: fn((f64, f64, f64)) -> f64| interval.ok().and_then(|interval| finite(part(interval)));
    Budget {
        name: what.to_string(),
        figure: from::figure(what.figure),
        unit: from::unit(what.figure.unit()),
        limit: *limit,
        known: known(kept.known),
        answer: from::answer(kept.verdict.answer),
        value: of(|(middle, ..)| middle),
        low: of(|(_, low, _)| low),
        high: of(|(.., high)| high),
        machines: kept.verdict.machines as u64,
        look: kept.basis.look.map(|runs| runs as u64),
        unusable: interval.err().map(|why| why.to_string()),
    }
}

fn growth(leak: &gate::Leaking) -> Growth {
    let (slope, late) = (leak.verdict.slope, leak.verdict.late);
    Growth {
        name: leak.name.clone(),
        answer: from::answer(leak.verdict.answer),
        slope: slope.and_then(|(slope, ..)| finite(slope)),
        low: slope.and_then(|(_, low, _)| finite(low)),
        high: slope.and_then(|(.., high)| finite(high)),
        late: late.and_then(|(late, ..)| finite(late)),
        late_lower: late.and_then(|(_, lower, _)| finite(lower)),
        late_upper: late.and_then(|(.., upper)| finite(upper)),
        look: leak.basis.look.map(|runs| runs as u64),
        needed_rounds: leak.verdict.needed.map(|rounds| rounds as u64),
    }
}

fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
