//! From runs to a verdict: equal work first, then every rule, each with the numbers that decided it.

use crate::compare::calibration::ApplicableCalibration;
use crate::compare::summaries;
use crate::compare::{Played, headlines, huge_pages, strained_runs, unify_metrics};
use crate::figures::rules::{Rule, Rules};
use crate::summary::decay::{self, TooShortFor, WindowKind};
use base::band::MOST_ENDPOINTS;
use record::LensFacts;
use stats::Schedule;
use stats::{Answer, Endpoint, EndpointVerdict, Evidence, Verdict, decide_by_looks, runs_needed};

use super::absolute_rules::AbsoluteRules;
use super::judgement::{Against, Calibrations, Judged, Judgement, Party, Sides, UnjudgedRule};
use super::leaking::Basis;
use super::machines::Machines;
use super::peaks::peaks;
use super::role::Role;
use super::sides::{DecidingRuns, counted_runs, known_noise, runs_through, seen_values, unequal_work};
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
    sort_by_plan(&mut sides);
    let mut differences = unify_metrics(sides.each_mut().flatten());
    differences.extend(sides.differences());
    let parties = sides.parties();
    let alone = AbsoluteRules::judge(&sides.candidate, rules, looks, calibrations);
    let mut against = Vec::new();
    let mut strained_sides = Vec::new();
    let mut all_headlines = Vec::new();
    for (role, runs) in &parties {
        let counted = counted_runs(runs);
        all_headlines.extend(headlines(role.name(), &counted));
        strained_sides.push((format!("the {}", role.name()), counted));
        if *role != Role::Candidate {
            let other = (*role, runs.as_slice());
            against.push(judge_against(
                other, &sides.candidate, rules, looks, calibrations, &alone.deciding,
            ));
        }
    }
    let mut answers = alone.answers();
    // Where every endpoint advises, budgets and growth decide alone.
    for against in against.iter().filter(|against| !against.primaries.is_empty()) {
        answers.push(against.answer);
    }
    Judgement {
        scenario: sides
            .candidate
            .first()
            .or_else(|| sides.runs().next())
            .map_or_else(String::new, |run| run.summary.header.scenario.name.clone()),
        lens: rules.lens,
        broken: sides.broken(),
        headlines: all_headlines,
        peaks: peaks(&parties),
        differences,
        strains: strained_runs(strained_sides.into_iter()),
        missing: missing(&against, &alone, looks.first()),
        settled: alone.settled && against.iter().all(|against| against.settled),
        answer: Answer::all(answers),
        parties: parties.iter().map(|(role, runs)| party(*role, runs)).collect(),
        against,
        budgets: alone.budgets,
        leaks: alone.leaks.unwrap_or_default(),
    }
}

/// Sorts the runs of each side by the plan: looks are at the first runs, which must not depend on the order in which
/// directories were named.
fn sort_by_plan(sides: &mut Sides) {
    for runs in sides.each_mut() {
        runs.sort_by_cached_key(|run| {
            let header = &run.summary.header;
            let (block, number) = (header.plan.block, header.plan.run);
            (block, number, run.machine(), header.started.clone(), run.record.clone())
        });
    }
}

/// The rules that decide and were not judged: they were not looked at yet, or have no usable data.
fn missing(against: &[Against], alone: &AbsoluteRules, first: usize) -> Vec<UnjudgedRule> {
    let mut missing = Vec::new();
    for judged in against.iter().flat_map(|against| &against.primaries) {
        if judged.basis.look.is_none() || judged.verdict.evidence.is_err() {
            missing.push(UnjudgedRule {
                rule: judged.rule.subject.to_string(),
                runs: judged.basis.runs,
                first,
                unknown: judged.is_unknown(),
            });
        }
    }
    for (rule, runs) in alone.unjudged_rules() {
        missing.push(UnjudgedRule {
            rule,
            runs,
            first,
            unknown: false,
        });
    }
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
    let counted = counted_runs(runs).len();
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

/// The reason of the shortest idle window that ended before the clock of a garbage collector did.
fn too_short_for(runs: &[Played]) -> Option<TooShortFor> {
    let windows = counted_runs(runs)
        .into_iter()
        .flat_map(|run| decay::reported(&run.summary.windows));
    windows
        .filter(|window| matches!(window.kind, WindowKind::Silent | WindowKind::Simmer))
        .filter_map(|window| window.too_short_for.as_ref())
        .min_by_key(|short| short.took)
        .cloned()
}

/// Judges the candidate against another side. `others` are the runs that decide rules of the candidate alone.
fn judge_against(
    (role, baseline): (Role, &[Played]),
    candidate: &[Played],
    rules: &Rules,
    looks: &Schedule,
    calibrations: &Calibrations,
    others: &[DecidingRuns],
) -> Against {
    let contest = Contest {
        baseline,
        candidate,
        rules,
        machines: Machines::new(&counted_runs(baseline), &counted_runs(candidate)),
        calibrations: [calibrations.of_role(role), calibrations.of_role(Role::Candidate)],
    };
    let tested = rules.primaries.iter().take(MOST_ENDPOINTS);
    let primaries: Vec<Endpoint> = tested.map(|rule| contest.endpoint(rule)).collect();
    let verdict = decide(&primaries, looks);
    let settled = primaries.is_empty() || verdict.is_settled();
    let mut decided = Vec::new();
    for ((rule, endpoint), verdict) in rules.primaries.iter().zip(&primaries).zip(verdict.endpoints) {
        let mut judged = judged(rule, endpoint, verdict, looks);
        hold_lower_bound(&mut judged, candidate, rules);
        decided.push(judged);
    }
    let mut answers = vec![verdict.answer];
    answers.extend(decided.iter().map(|judged| judged.verdict.answer));
    // They are looked at together, so that the one with the fewest runs holds all of them up.
    let fewest = decided.iter().map(|judged| judged.basis.runs).min();
    for judged in &mut decided {
        judged.basis.runs = fewest.unwrap_or(judged.basis.runs);
    }
    let mut deciding: Vec<DecidingRuns> = decided.iter().map(|judged| deciding_runs(judged, rules)).collect();
    deciding.extend(others);
    Against {
        role,
        answer: Answer::all(answers),
        look: verdict.look,
        settled,
        work: unequal_work(baseline, candidate, rules.work, deciding),
        primaries: decided,
        advisory: rules
            .advisory
            .iter()
            .map(|rule| contest.judge_alone(rule, looks))
            .collect(),
        huge_pages: huge_pages(
            &summaries(&runs_through(baseline, rules.lens)),
            &summaries(&runs_through(candidate, rules.lens)),
        ),
        apart: contest.machines.are_apart(),
    }
}

/// The candidate and the side that it is compared with.
struct Contest<'r> {
    baseline: &'r [Played],
    candidate: &'r [Played],
    rules: &'r Rules,
    machines: Machines,
    /// Of the baseline and of the candidate.
    calibrations: [&'r [ApplicableCalibration]; 2],
}

impl Contest<'_> {
    fn endpoint(&self, rule: &Rule) -> Endpoint {
        let lens = rule.subject.lens.unwrap_or(self.rules.lens);
        let baseline = runs_through(self.baseline, lens);
        let candidate = runs_through(self.candidate, lens);
        let both = [baseline.as_slice(), &candidate].concat();
        let (noise, known) = known_noise(&rule.subject, &both, lens, self.calibrations);
        Endpoint {
            name: rule.subject.to_string(),
            tolerance: rule.tolerance,
            noise,
            known,
            baseline: seen_values(&rule.subject, &baseline, &self.machines),
            candidate: seen_values(&rule.subject, &candidate, &self.machines),
        }
    }

    /// Judges a rule with all of α, as advice.
    fn judge_alone(&self, rule: &Rule, looks: &Schedule) -> Judged {
        let endpoint = self.endpoint(rule);
        let verdict = decide(std::slice::from_ref(&endpoint), looks).endpoints.remove(0);
        let mut judged = judged(rule, &endpoint, verdict, looks);
        hold_lower_bound(&mut judged, self.candidate, self.rules);
        judged
    }
}

/// The runs up to the look that a rule was answered at. Some that decide nothing, being alone on their machine, may lie
/// between those that do.
fn deciding_runs(judged: &Judged, rules: &Rules) -> DecidingRuns {
    DecidingRuns {
        lens: judged.rule.subject.lens.unwrap_or(rules.lens),
        count: judged
            .basis
            .look
            .map_or(usize::MAX, |look| judged.endpoint.first_deciding(look).most_runs()),
        in_pairs: true,
    }
}

fn decide(endpoints: &[Endpoint], looks: &Schedule) -> Verdict {
    decide_by_looks(endpoints, looks).expect("no more endpoints were taken than can be tested together")
}

/// A rule with its verdict, and with the number of runs that would decide it where that is open.
fn judged(rule: &Rule, endpoint: &Endpoint, verdict: EndpointVerdict, looks: &Schedule) -> Judged {
    let needed = match (&verdict.evidence, verdict.answer) {
        (Ok(evidence), Answer::Inconclusive) => needed(endpoint, evidence, looks),
        _ => None,
    };
    Judged {
        rule: rule.clone(),
        endpoint: endpoint.clone(),
        basis: Basis {
            look: verdict.look,
            runs: endpoint.deciding_runs(),
        },
        needed,
        verdict,
        still_growing: None,
    }
}

/// A figure of memory that still grew in a run of the candidate is a lower bound, and does not pass.
fn hold_lower_bound(judged: &mut Judged, candidate: &[Played], rules: &Rules) {
    let subject = &judged.rule.subject;
    let runs = runs_through(candidate, subject.lens.unwrap_or(rules.lens));
    judged.still_growing = still_growing::below_figure(subject, &runs);
    StillGrowing::deny_pass(judged.still_growing.as_ref(), &mut judged.verdict.answer);
}

/// The number of runs, at a look, that would decide if the spread and the ratio stay as they are: for whichever answer is
/// nearer.
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
    let least = most.max(evidence.runs.least() + 1);
    Some(looks.next_after(least - 1).unwrap_or(least))
}
