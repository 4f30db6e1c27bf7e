//! From runs to a verdict: equal work first, then every rule, each with the numbers that decided it.

use crate::analyse::calibration::believed;
use crate::analyse::compare::{Played, huge_pages, one_metric, strained};
use crate::analyse::stats::{
    Answer, Budget, Endpoint, EndpointVerdict, Evidence, Known, Looks, MOST_ENDPOINTS, NoiseFloor, Seen, Verdict,
    decide_by_looks, judge_budget_by_looks, runs_needed,
};
use crate::lens::Lens;
use crate::record::{Calibration, LensFacts};

use super::exact::exact;
use super::judgement::{Against, Calibrations, Judged, Judgement, Kept, Party, Role, Sides};
use super::leaking::{Leaking, leaks};
use super::machines::Machines;
use super::rules::{Limit, Rule, Rules};
use super::sides::{counting, summaries, through, work};
use super::what::What;

/// The chance of an answer that a number of runs should have before it is recommended.
const WANTED: f64 = 0.8;

/// Applies every rule at each look that the runs reach, where no side was calibrated.
pub fn judge(sides: &Sides, rules: &Rules, looks: &Looks) -> Judgement {
    judge_calibrated(sides, rules, looks, &Calibrations::default())
}

/// Applies every rule at each look that the runs reach.
pub fn judge_calibrated(sides: &Sides, rules: &Rules, looks: &Looks, calibrations: &Calibrations) -> Judgement {
    let mut sides = sides.clone();
    in_order(&mut sides);
    let mixed = {
        let compared = sides.baseline.iter_mut().chain(&mut sides.candidate);
        one_metric(compared.chain(sides.anchor.iter_mut().flatten()))
    };
    let parties = sides.parties();
    let against: Vec<Against> = parties
        .iter()
        .filter(|(role, _)| *role != Role::Candidate)
        .map(|(role, runs)| versus((*role, runs), &sides.candidate, rules, looks, calibrations))
        .collect();
    let budgets: Vec<Kept> = rules
        .budgets
        .iter()
        .map(|limit| keep(limit, &sides.candidate, rules, looks, calibrations))
        .collect();
    let leaks = rules
        .leak
        .as_ref()
        .map(|rule| leaks(rule, &through(&sides.candidate, Some(rules.lens)), looks));
    // Where every endpoint advises, budgets and growth decide alone.
    let deciding = against.iter().filter(|against| !against.primaries.is_empty());
    let answers = deciding.map(|against| against.answer);
    let answers = answers.chain(budgets.iter().map(|kept| kept.verdict.answer));
    let grown = leaks
        .iter()
        .map(|leaks| Answer::all(leaks.iter().map(|leak| leak.verdict.answer)));
    Judgement {
        scenario: [&sides.candidate, &sides.baseline]
            .into_iter()
            .find_map(|runs| runs.first())
            .map_or_else(String::new, |run| run.summary.header.scenario.name.clone()),
        lens: rules.lens,
        broken: sides.broken(),
        differences: mixed.into_iter().chain(sides.differences()).collect(),
        strains: strained(
            parties
                .iter()
                .map(|(role, runs)| (format!("the {}", role.name()), counting(runs))),
        ),
        missing: missing(&against, &budgets, leaks.as_deref()),
        answer: Answer::all(answers.chain(grown)),
        parties: parties.iter().map(|(role, runs)| party(*role, runs)).collect(),
        against,
        budgets,
        leaks: leaks.unwrap_or_default(),
    }
}

/// In the order of the plan, so that it does not matter in which order directories were named: looks are at the first runs.
fn in_order(sides: &mut Sides) {
    let all = [&mut sides.baseline, &mut sides.candidate].into_iter();
    for runs in all.chain(&mut sides.anchor) {
        runs.sort_by_cached_key(|run| {
            let header = &run.summary.header;
            let (block, number) = (header.plan.block, header.plan.run);
            (block, number, run.machine(), header.started.clone(), run.record.clone())
        });
    }
}

/// The rules that decide and have nothing to be judged by.
fn missing(against: &[Against], budgets: &[Kept], leaks: Option<&[Leaking]>) -> Vec<String> {
    let endpoints = against.iter().flat_map(|against| &against.primaries);
    let endpoints = endpoints.filter(|judged| judged.verdict.evidence.is_err());
    let budgets = budgets.iter().filter(|kept| kept.verdict.interval.is_err());
    let growth = leaks.filter(|leaks| leaks.iter().any(|leak| leak.verdict.late.is_none()) || leaks.is_empty());
    let mut names: Vec<String> = endpoints
        .map(|judged| judged.rule.what.to_string())
        .chain(budgets.map(|kept| kept.limit.what.to_string()))
        .chain(growth.map(|_| "growth".to_owned()))
        .collect();
    names.dedup();
    names
}

/// A figure in these runs.
fn seen(what: &What, runs: &[&Played], machines: &Machines) -> Vec<Seen> {
    let seen = |run: &&Played| Seen {
        machine: machines.place(run),
        value: what.value(&run.summary),
    };
    runs.iter().map(seen).collect()
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
        lenses,
    }
}

fn versus(
    (role, baseline): (Role, &[Played]),
    candidate: &[Played],
    rules: &Rules,
    looks: &Looks,
    calibrations: &Calibrations,
) -> Against {
    let machines = Machines::of(&counting(baseline), &counting(candidate));
    let known = [calibrations.of(role), calibrations.of(Role::Candidate)];
    let endpoint = |rule: &Rule| endpoint(rule, [baseline, candidate], rules, &machines, known);
    let primaries: Vec<Endpoint> = rules.primaries.iter().take(MOST_ENDPOINTS).map(endpoint).collect();
    let verdict = by_looks(&primaries, looks);
    // Runs that decide nothing, being alone on their machine, may lie between those that do.
    let reached = verdict
        .look
        .and_then(|look| primaries.iter().map(|one| one.after(look).most()).max());
    let settled = primaries.is_empty() || verdict.is_settled();
    let advised = |rule: &Rule| {
        let alone = [endpoint(rule)];
        judged(rule, &alone[0], by_looks(&alone, looks).endpoints.remove(0), looks)
    };
    Against {
        role,
        answer: verdict.answer,
        look: verdict.look,
        settled,
        runs: primaries.iter().map(Endpoint::deciding).min().unwrap_or(0),
        primaries: rules
            .primaries
            .iter()
            .zip(&primaries)
            .zip(verdict.endpoints)
            .map(|((rule, endpoint), of)| judged(rule, endpoint, of, looks))
            .collect(),
        advisory: rules.advisory.iter().map(advised).collect(),
        work: work(baseline, candidate, rules, reached),
        huge_pages: huge_pages(
            &summaries(&through(baseline, Some(rules.lens))),
            &summaries(&through(candidate, Some(rules.lens))),
        ),
        apart: machines.are_apart(),
    }
}

fn by_looks(endpoints: &[Endpoint], looks: &Looks) -> Verdict {
    decide_by_looks(endpoints, looks).expect("no more endpoints were taken than can be tested together")
}

fn endpoint(
    rule: &Rule,
    [baseline, candidate]: [&[Played]; 2],
    rules: &Rules,
    machines: &Machines,
    calibrations: [&[Calibration]; 2],
) -> Endpoint {
    let lens = rule.what.lens.unwrap_or(rules.lens);
    let values = |runs| seen(&rule.what, &through(runs, Some(lens)), machines);
    let (noise, known) = known(&rule.what, candidate, lens, calibrations);
    Endpoint {
        name: rule.what.to_string(),
        tolerance: rule.tolerance,
        noise,
        known,
        baseline: values(baseline),
        candidate: values(candidate),
    }
}

/// What is known of the noise of a figure; what no run has is not known.
fn known(what: &What, runs: &[Played], lens: Lens, calibrations: [&[Calibration]; 2]) -> (NoiseFloor, Known) {
    let measure = runs.iter().find_map(|run| what.measure(&run.summary));
    measure.map_or((what.figure.noise(), Known::Seen), |measure| {
        believed(&measure, lens, calibrations)
    })
}

/// What the runs until the look that the verdict is of say to a rule.
fn judged(rule: &Rule, endpoint: &Endpoint, verdict: EndpointVerdict, looks: &Looks) -> Judged {
    let undecided = verdict.answer == Answer::Inconclusive;
    let evidence = verdict.evidence.as_ref().ok().filter(|_| undecided);
    Judged {
        rule: rule.clone(),
        endpoint: endpoint.clone(),
        needed: evidence.and_then(|evidence| needed(endpoint, evidence, looks)),
        p: exact(
            &verdict
                .look
                .map_or_else(|| endpoint.clone(), |runs| endpoint.after(runs)),
        ),
        verdict,
    }
}

/// How many runs would decide, if the spread and the ratio stay as they are: for whichever answer is nearer, at a look.
fn needed(endpoint: &Endpoint, evidence: &Evidence, looks: &Looks) -> Option<usize> {
    let spread = endpoint.strata().ok()?.variation();
    let ratio = evidence.contrast.ratio();
    let pass = runs_needed(
        spread,
        evidence.pass_below.ratio / ratio - 1.0,
        evidence.pass_level,
        WANTED,
        endpoint.noise.relative,
    )
    .map(|runs| runs.max(endpoint.known.least_to_pass()));
    let fail = runs_needed(
        spread,
        ratio / evidence.fail_above.ratio - 1.0,
        evidence.fail_level,
        WANTED,
        endpoint.noise.relative,
    );
    let most = pass.into_iter().chain(fail).min()?;
    let least = most.max(evidence.runs.0.min(evidence.runs.1) + 1);
    Some(looks.after(least - 1).unwrap_or(least))
}

fn keep(limit: &Limit, candidate: &[Played], rules: &Rules, looks: &Looks, calibrations: &Calibrations) -> Kept {
    let lens = limit.what.lens.unwrap_or(rules.lens);
    let runs = through(candidate, Some(lens));
    let own = calibrations.of(Role::Candidate);
    let (noise, known) = known(&limit.what, candidate, lens, [own, own]);
    let values = seen(&limit.what, &runs, &Machines::of(&runs, &runs));
    let budget = Budget {
        name: limit.what.to_string(),
        limit: limit.limit,
        noise,
        known,
        values,
    };
    Kept {
        limit: limit.clone(),
        known,
        verdict: judge_budget_by_looks(&budget, looks),
    }
}
