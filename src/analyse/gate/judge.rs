//! From runs to a verdict: equal work first, then every rule, each with the numbers that decided it.

use crate::analyse::compare::{
    Difference, Played, counts, differences, differences_of, huge_pages, inequalities, one_metric, strained,
};
use crate::analyse::stats::{
    Answer, Budget, Endpoint, EndpointVerdict, Evidence, Looks, MOST_ENDPOINTS, Seen, Verdict, decide_by_looks,
    judge_budget_by_looks, runs_needed,
};
use crate::analyse::{Exit, Summary, exit};
use crate::lens::Lens;
use crate::record::{Header, LensFacts};

use super::exact::exact;
use super::judgement::{Against, Broken, Judged, Judgement, Kept, Party, Role, Sides};
use super::leaking::leaks;
use super::machines::Machines;
use super::rules::{Limit, Rule, Rules};
use super::what::What;

/// The chance of an answer that a number of runs should have before it is recommended.
const WANTED: f64 = 0.8;

/// Applies every rule at each look that the runs reach.
pub fn judge(sides: &Sides, rules: &Rules, looks: &Looks) -> Judgement {
    let mut sides = sides.clone();
    let mixed = {
        let compared = sides.baseline.iter_mut().chain(&mut sides.candidate);
        one_metric(compared.chain(sides.anchor.iter_mut().flatten()))
    };
    let mut parties = vec![(Role::Baseline, &sides.baseline), (Role::Candidate, &sides.candidate)];
    parties.extend(sides.anchor.as_ref().map(|anchor| (Role::Anchor, anchor)));
    let all = parties.iter().flat_map(|(_, runs)| counting(runs));
    let all: Vec<&Header> = all.map(|run| &run.summary.header).collect();
    let against: Vec<Against> = parties
        .iter()
        .filter(|(role, _)| *role != Role::Candidate)
        .map(|(role, runs)| versus(*role, runs, &sides.candidate, rules, looks))
        .collect();
    let budgets: Vec<Kept> = rules
        .budgets
        .iter()
        .map(|limit| keep(limit, &sides.candidate, rules, looks))
        .collect();
    let leaks = rules
        .leak
        .as_ref()
        .map(|rule| leaks(rule, &through(&sides.candidate, Some(rules.lens))));
    let answers = against.iter().map(|against| against.answer);
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
        broken: parties.iter().flat_map(|(role, runs)| broken(*role, runs)).collect(),
        differences: mixed
            .into_iter()
            .chain(differences(all.into_iter()))
            .chain(parties.iter().flat_map(|(role, runs)| of_side(*role, runs)))
            .collect(),
        strains: strained(
            parties
                .iter()
                .map(|(role, runs)| (format!("the {}", role.name()), counting(runs))),
        ),
        answer: Answer::all(answers.chain(grown)),
        parties: parties.iter().map(|(role, runs)| party(*role, runs)).collect(),
        against,
        budgets,
        leaks: leaks.unwrap_or_default(),
    }
}

/// What is not the same in all runs of a side, which are of one server then no more.
fn of_side(role: Role, runs: &[Played]) -> Vec<Difference> {
    let runs = counting(runs);
    differences_of(
        &format!("the {}", role.name()),
        runs.iter().map(|run| &run.summary.header),
    )
}

/// The runs that count.
fn counting(runs: &[Played]) -> Vec<&Played> {
    runs.iter().filter(|run| counts(&run.summary)).collect()
}

/// The runs that count and were looked at through this lens, or through any.
fn through(runs: &[Played], lens: Option<Lens>) -> Vec<&Played> {
    let mut runs = counting(runs);
    runs.retain(|run| lens.is_none_or(|lens| run.summary.header.server.lens.name == lens));
    runs
}

fn summaries<'r>(runs: &[&'r Played]) -> Vec<&'r Summary> {
    runs.iter().map(|run| &run.summary).collect()
}

/// A figure in these runs.
fn seen(what: &What, runs: &[&Played], machines: &Machines) -> Vec<Seen> {
    let seen = |run: &&Played| Seen {
        machine: machines.place(run),
        value: what.value(&run.summary),
    };
    runs.iter().map(seen).collect()
}

fn broken(role: Role, runs: &[Played]) -> impl Iterator<Item = Broken> + '_ {
    let failed = runs.iter().filter(|run| exit(&run.summary) == Exit::ServerFailed);
    failed.map(move |run| Broken {
        role,
        record: run.record.clone(),
    })
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

fn versus(role: Role, baseline: &[Played], candidate: &[Played], rules: &Rules, looks: &Looks) -> Against {
    let machines = Machines::of(&counting(baseline), &counting(candidate));
    let endpoint = |rule: &Rule| endpoint(rule, baseline, candidate, rules, &machines);
    let primaries: Vec<Endpoint> = rules.primaries.iter().take(MOST_ENDPOINTS).map(endpoint).collect();
    let verdict = by_looks(&primaries, looks);
    let advised = |rule: &Rule| {
        let alone = [endpoint(rule)];
        let mut verdict = by_looks(&alone, looks);
        judged(rule, &alone[0], (verdict.look, verdict.endpoints.remove(0)), looks)
    };
    Against {
        role,
        answer: verdict.answer,
        look: verdict.look,
        primaries: rules
            .primaries
            .iter()
            .zip(&primaries)
            .zip(verdict.endpoints)
            .map(|((rule, endpoint), of)| judged(rule, endpoint, (verdict.look, of), looks))
            .collect(),
        advisory: rules.advisory.iter().map(advised).collect(),
        work: inequalities(
            &summaries(&counting(baseline)),
            &summaries(&counting(candidate)),
            rules.work,
        ),
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

fn endpoint(rule: &Rule, baseline: &[Played], candidate: &[Played], rules: &Rules, machines: &Machines) -> Endpoint {
    let lens = Some(rule.what.lens.unwrap_or(rules.lens));
    let values = |runs| seen(&rule.what, &through(runs, lens), machines);
    Endpoint {
        name: rule.what.to_string(),
        tolerance: rule.tolerance,
        noise: rule.what.figure.noise(),
        baseline: values(baseline),
        candidate: values(candidate),
    }
}

/// What the runs until the look that the verdict is of say to a rule.
fn judged(
    rule: &Rule,
    endpoint: &Endpoint,
    (look, verdict): (Option<usize>, EndpointVerdict),
    looks: &Looks,
) -> Judged {
    let undecided = verdict.answer == Answer::Inconclusive;
    let evidence = verdict.evidence.as_ref().ok().filter(|_| undecided);
    Judged {
        rule: rule.clone(),
        endpoint: endpoint.clone(),
        needed: evidence.and_then(|evidence| needed(endpoint, evidence, looks)),
        p: exact(&look.map_or_else(|| endpoint.clone(), |runs| endpoint.after(runs))),
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
    );
    let fail = runs_needed(
        spread,
        ratio / evidence.fail_above.ratio - 1.0,
        evidence.fail_level,
        WANTED,
    );
    let most = pass.into_iter().chain(fail).min()?;
    let least = most.max(evidence.runs.0.min(evidence.runs.1) + 1);
    Some(looks.after(least - 1).unwrap_or(least))
}

fn keep(limit: &Limit, candidate: &[Played], rules: &Rules, looks: &Looks) -> Kept {
    let runs = through(candidate, Some(limit.what.lens.unwrap_or(rules.lens)));
    let values = seen(&limit.what, &runs, &Machines::of(&runs, &runs));
    let budget = Budget {
        name: limit.what.to_string(),
        limit: limit.limit,
        noise: limit.what.figure.noise(),
        values,
    };
    Kept {
        limit: limit.clone(),
        verdict: judge_budget_by_looks(&budget, looks),
    }
}
