//! From runs to a verdict: equal work first, then every rule, each with the numbers that decided it.

use crate::compare::calibration::Held;
use crate::compare::{Played, headlines, huge_pages, one_metric, strained};
use crate::figures::rules::{Rule, Rules};
use crate::summary::decay::{self, TooShortFor, WindowKind};
use base::band::MOST_ENDPOINTS;
use record::LensFacts;
use stats::Schedule;
use stats::{Answer, Endpoint, EndpointVerdict, Evidence, Verdict, decide_by_looks, runs_needed};

use super::alone::Alone;
use super::judgement::{Against, Calibrations, Judged, Judgement, Missing, Party, Sides};
use super::leaking::Basis;
use super::machines::Machines;
use super::peaks::peaks;
use super::role::Role;
use super::sides::{First, counting, known, seen, summaries, through, work};
use super::still_growing::{self, StillGrowing};

/// The chance of an answer that a number of runs should have before it is recommended.
const WANTED: f64 = 0.8;

/// Applies every rule at each look that the runs reach, where no side was calibrated.
pub fn judge(sides: &Sides, rules: &Rules, looks: &Schedule) -> Judgement {
    judge_calibrated(sides, rules, looks, &Calibrations::default())
}

/// Applies every rule at each look that the runs reach.
pub fn judge_calibrated(sides: &Sides, rules: &Rules, looks: &Schedule, calibrations: &Calibrations) -> Judgement {
    let mut sides = sides.clone();
    in_order(&mut sides);
    let mixed = one_metric(sides.each_mut().flatten());
    let parties = sides.parties();
    let alone = Alone::of(&sides.candidate, rules, looks, calibrations);
    let against: Vec<Against> = parties
        .iter()
        .filter(|(role, _)| *role != Role::Candidate)
        .map(|(role, runs)| {
            versus(
                (*role, runs),
                &sides.candidate,
                rules,
                looks,
                calibrations,
                &alone.deciding,
            )
        })
        .collect();
    // Where every endpoint advises, budgets and growth decide alone.
    let deciding = against.iter().filter(|against| !against.primaries.is_empty());
    let answers = deciding.map(|against| against.answer);
    Judgement {
        scenario: sides
            .candidate
            .first()
            .or_else(|| sides.runs().next())
            .map_or_else(String::new, |run| run.summary.header.scenario.name.clone()),
        lens: rules.lens,
        broken: sides.broken(),
        headlines: parties
            .iter()
            .flat_map(|(role, runs)| headlines(role.name(), &counting(runs)))
            .collect(),
        peaks: peaks(&parties),
        differences: mixed.into_iter().chain(sides.differences()).collect(),
        strains: strained(
            parties
                .iter()
                .map(|(role, runs)| (format!("the {}", role.name()), counting(runs))),
        ),
        missing: missing(&against, &alone, looks.first()),
        settled: alone.settled && against.iter().all(|against| against.settled),
        answer: Answer::all(answers.chain(alone.answers())),
        parties: parties.iter().map(|(role, runs)| party(*role, runs)).collect(),
        against,
        budgets: alone.budgets,
        leaks: alone.leaks.unwrap_or_default(),
    }
}

/// In the order of the plan, so that it does not matter in which order directories were named: looks are at the first runs.
fn in_order(sides: &mut Sides) {
    for runs in sides.each_mut() {
        runs.sort_by_cached_key(|run| {
            let header = &run.summary.header;
            let (block, number) = (header.plan.block, header.plan.run);
            (block, number, run.machine(), header.started.clone(), run.record.clone())
        });
    }
}

/// The rules that decide and were not judged: they were not looked at yet, or have no usable data.
fn missing(against: &[Against], alone: &Alone, first: usize) -> Vec<Missing> {
    let endpoints = against.iter().flat_map(|against| &against.primaries);
    let endpoints = endpoints
        .filter(|judged| judged.basis.look.is_none() || judged.verdict.evidence.is_err())
        .map(|judged| (judged.rule.subject.to_string(), judged.basis.runs, judged.is_unknown()));
    let alone = alone.missing().map(|(rule, runs)| (rule, runs, false));
    let missing = endpoints.chain(alone).map(|(rule, runs, unknown)| Missing {
        rule,
        runs,
        first,
        unknown,
    });
    let mut missing: Vec<Missing> = missing.collect();
    missing.dedup();
    missing
}

fn party(role: Role, runs: &[Played]) -> Party {
    let server = runs.first().map(|run| &run.summary.header.server);
    let mut lenses: Vec<LensFacts> = Vec::new();
    for run in runs {
        let lens = &run.summary.header.server.lens;
        if lenses.iter().all(|seen| seen.name != lens.name) {
            lenses.push(lens.clone());
        }
    }
    let counted = counting(runs).len();
    Party {
        role,
        label: server.map_or_else(|| role.name().to_owned(), |server| server.label.clone()),
        profile: server.and_then(|server| server.profile.clone()),
        version: server.and_then(|server| server.version.clone()),
        preload: server.and_then(|server| server.preload.clone()),
        runs: counted,
        left: runs.len() - counted,
        too_short_for: too_short_for(runs),
        lenses,
    }
}

/// Of the shortest idle window that ended before the clock of a garbage collector did.
fn too_short_for(runs: &[Played]) -> Option<TooShortFor> {
    let counted = counting(runs).into_iter();
    let idle = counted.flat_map(|run| decay::own(&run.summary.windows));
    let idle = idle.filter(|window| matches!(window.kind, WindowKind::Silent | WindowKind::Simmer));
    let short = idle.filter_map(|window| window.too_short_for.as_ref());
    short.min_by_key(|short| short.took).cloned()
}

fn versus(
    (role, baseline): (Role, &[Played]),
    candidate: &[Played],
    rules: &Rules,
    looks: &Schedule,
    calibrations: &Calibrations,
    others: &[First],
) -> Against {
    let machines = Machines::of(&counting(baseline), &counting(candidate));
    let known = [calibrations.of(role), calibrations.of(Role::Candidate)];
    let endpoint = |rule: &Rule| endpoint(rule, [baseline, candidate], rules, &machines, known);
    let primaries: Vec<Endpoint> = rules.primaries.iter().take(MOST_ENDPOINTS).map(endpoint).collect();
    let verdict = by_looks(&primaries, looks);
    let settled = primaries.is_empty() || verdict.is_settled();
    let advised = |rule: &Rule| {
        let alone = [endpoint(rule)];
        let mut advised = judged(rule, &alone[0], by_looks(&alone, looks).endpoints.remove(0), looks);
        hold_lower_bound(&mut advised, candidate, rules);
        advised
    };
    let mut decided: Vec<Judged> = rules
        .primaries
        .iter()
        .zip(&primaries)
        .zip(verdict.endpoints)
        .map(|((rule, endpoint), of)| judged(rule, endpoint, of, looks))
        .collect();
    for judged in &mut decided {
        hold_lower_bound(judged, candidate, rules);
    }
    let answer = Answer::all(
        [verdict.answer]
            .into_iter()
            .chain(decided.iter().map(|judged| judged.verdict.answer)),
    );
    // They are looked at together, so that the one with the fewest runs holds all of them up.
    let fewest = decided.iter().map(|judged| judged.basis.runs).min();
    for judged in &mut decided {
        judged.basis.runs = fewest.unwrap_or(judged.basis.runs);
    }
    let deciding = decided.iter().map(|judged| first_of(judged, rules));
    Against {
        role,
        answer,
        look: verdict.look,
        settled,
        work: work(baseline, candidate, rules.work, deciding.chain(others.iter().copied())),
        primaries: decided,
        advisory: rules.advisory.iter().map(advised).collect(),
        huge_pages: huge_pages(
            &summaries(&through(baseline, Some(rules.lens))),
            &summaries(&through(candidate, Some(rules.lens))),
        ),
        apart: machines.are_apart(),
    }
}

/// The runs up to the look that a rule was answered at. Some that decide nothing, being alone on their machine, may lie
/// between those that do.
fn first_of(judged: &Judged, rules: &Rules) -> First {
    First {
        lens: judged.rule.subject.lens.unwrap_or(rules.lens),
        runs: judged
            .basis
            .look
            .map_or(usize::MAX, |look| judged.endpoint.after(look).most()),
        in_pairs: true,
    }
}

fn by_looks(endpoints: &[Endpoint], looks: &Schedule) -> Verdict {
    decide_by_looks(endpoints, looks).expect("no more endpoints were taken than can be tested together")
}

fn endpoint(
    rule: &Rule,
    [baseline, candidate]: [&[Played]; 2],
    rules: &Rules,
    machines: &Machines,
    calibrations: [&[Held]; 2],
) -> Endpoint {
    let lens = rule.subject.lens.unwrap_or(rules.lens);
    let [baseline, candidate] = [baseline, candidate].map(|runs| through(runs, Some(lens)));
    let values = |runs: &[&Played]| seen(&rule.subject, runs, machines);
    let (noise, known) = known(
        &rule.subject,
        &[baseline.as_slice(), &candidate].concat(),
        lens,
        calibrations,
    );
    Endpoint {
        name: rule.subject.to_string(),
        tolerance: rule.tolerance,
        noise,
        known,
        baseline: values(&baseline),
        candidate: values(&candidate),
    }
}

/// What the runs until the look that the verdict is of say to a rule.
fn judged(rule: &Rule, endpoint: &Endpoint, verdict: EndpointVerdict, looks: &Schedule) -> Judged {
    let undecided = verdict.answer == Answer::Inconclusive;
    let evidence = verdict.evidence.as_ref().ok().filter(|_| undecided);
    Judged {
        rule: rule.clone(),
        endpoint: endpoint.clone(),
        basis: Basis {
            look: verdict.look,
            runs: endpoint.deciding(),
        },
        needed: evidence.and_then(|evidence| needed(endpoint, evidence, looks)),
        verdict,
        still_growing: None,
    }
}

/// A figure of memory that still grew in a run of the candidate is a lower bound, and does not pass.
fn hold_lower_bound(judged: &mut Judged, candidate: &[Played], rules: &Rules) {
    let subject = &judged.rule.subject;
    let runs = through(candidate, Some(subject.lens.unwrap_or(rules.lens)));
    judged.still_growing = still_growing::below_figure(subject, &runs);
    StillGrowing::deny_pass(judged.still_growing.as_ref(), &mut judged.verdict.answer);
}

/// How many runs would decide, if the spread and the ratio stay as they are: for whichever answer is nearer, at a look.
fn needed(endpoint: &Endpoint, evidence: &Evidence, looks: &Schedule) -> Option<usize> {
    let spread = endpoint.strata().ok()?.variation();
    let ratio = evidence.contrast.ratio();
    let pass = runs_needed(
        spread,
        evidence.pass_below.ratio / ratio - 1.0,
        evidence.pass_level,
        WANTED,
        endpoint.noise.relative,
    );
    let fail = runs_needed(
        spread,
        ratio / evidence.fail_above.ratio - 1.0,
        evidence.fail_level,
        WANTED,
        endpoint.noise.relative,
    );
    let most = pass
        .into_iter()
        .chain(fail)
        .min()?
        .max(endpoint.known.least_to_decide());
    let least = most.max(evidence.runs.0.min(evidence.runs.1) + 1);
    Some(looks.after(least - 1).unwrap_or(least))
}
