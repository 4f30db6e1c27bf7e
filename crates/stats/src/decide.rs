//! The rule: three answers, per endpoint and overall, by interval and not by point estimate.

use crate::schedule::Schedule;
use base::band::MOST_ENDPOINTS;

use super::endpoint::{Answer, Endpoint, EndpointVerdict, Evidence};
use super::holm::holm;
use super::known::Known;

/// The question: its endpoints and interim analyses.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// FAIL if any endpoint fails, PASS if all pass, otherwise INCONCLUSIVE.
    pub answer: Answer,
    /// Each endpoint, in the order given.
    pub endpoints: Vec<EndpointVerdict>,
    /// The level of this look, shared by its endpoints.
    pub alpha: f64,
    /// Runs per side at the last look that was needed, counted as [`Endpoint::deciding_runs`]; `None` before the first look.
    pub look: Option<usize>,
}

impl Verdict {
    /// True if more runs would change nothing: every endpoint has its answer, or data that no more runs can mend.
    pub fn is_settled(&self) -> bool {
        self.look.is_some() && self.endpoints.iter().all(EndpointVerdict::is_settled)
    }
}

/// More primary endpoints than are tested together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} primary endpoints: name at most {MOST_ENDPOINTS}, the others are advisory")]
pub struct TooManyEndpoints {
    pub count: usize,
}

/// Applies the rule once, to all the data, at level `alpha`.
///
/// With L and U the one-sided bounds of the ratio candidate / baseline, Welch's with room for two groups of runs:
///
/// 1. FAIL if `L > 1 + max(tol, floor/base)`, at α shared over the endpoints by Holm: a regression is shown.
/// 2. otherwise PASS if `U < 1 + max(fail, floor/base)`, at α: one that matters is ruled out.
/// 3. otherwise INCONCLUSIVE, as before five runs of each side where no [calibration](super::Known) tells of groups.
///
/// Overall FAIL if any fails, PASS only if all pass. PASS needs no correction because *every* endpoint must pass
/// (an intersection–union test: Berger, *Multiparameter Hypothesis Testing and Acceptance Sampling*, Technometrics
/// 24, 1982). As a test of equivalence (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987) it
/// starts from "there is a regression": unusable or missing data leave that standing and can never pass.
pub fn decide(endpoints: &[Endpoint], alpha: f64) -> Result<Verdict, TooManyEndpoints> {
    let count = endpoints.len();
    if count > MOST_ENDPOINTS {
        return Err(TooManyEndpoints { count });
    }
    Ok(judge(endpoints, alpha))
}

/// Applies the rule at each look that the data reach, to the runs up to it, until every endpoint has its answer.
///
/// The first answer of an endpoint is final. Looks go on while another is open: after one FAIL, the other endpoints are
/// still to be answered. At each look the rule errs in α of the look at most, so that over all looks
/// any endpoint fails falsely with α at most, and a regressed one passes with α at most, whichever of them stopped
/// earlier. The same records give the same verdict as the session that made them: runs beyond the last look that was
/// needed do not change it.
pub fn decide_by_looks(endpoints: &[Endpoint], looks: &Schedule) -> Result<Verdict, TooManyEndpoints> {
    let alpha = looks.alpha_each();
    let have = deciding(endpoints);
    // Before the first look there is something to print, but nothing to decide.
    let mut verdict = decide(endpoints, alpha)?;
    for endpoint in &mut verdict.endpoints {
        endpoint.answer = Answer::Inconclusive;
    }
    for runs in looks.runs().iter().copied().take_while(|runs| *runs <= have) {
        let at_look: Vec<Endpoint> = endpoints.iter().map(|endpoint| endpoint.first_deciding(runs)).collect();
        let verdicts = judge(&at_look, alpha).endpoints;
        verdict.look = Some(deciding(&at_look));
        for ((so_far, now), endpoint) in verdict.endpoints.iter_mut().zip(verdicts).zip(&at_look) {
            if so_far.answer == Answer::Inconclusive {
                let look = Some(endpoint.deciding_runs());
                *so_far = EndpointVerdict { look, ..now };
            }
        }
        if verdict.is_settled() {
            break;
        }
    }
    verdict.answer = Answer::all(verdict.endpoints.iter().map(|endpoint| endpoint.answer));
    Ok(verdict)
}

/// Runs of each side that all endpoints have to decide by.
fn deciding(endpoints: &[Endpoint]) -> usize {
    endpoints.iter().map(Endpoint::deciding_runs).min().unwrap_or(0)
}

fn judge(endpoints: &[Endpoint], alpha: f64) -> Verdict {
    let weighed: Vec<_> = endpoints.iter().map(|endpoint| endpoint.weigh(alpha)).collect();
    // An endpoint without usable data takes its part of α too.
    let p: Vec<f64> = weighed
        .iter()
        .map(|weighed| weighed.as_ref().map_or(1.0, |(evidence, _)| evidence.p_fail))
        .collect();
    let mut verdicts: Vec<EndpointVerdict> = Vec::new();
    for ((endpoint, weighed), held) in endpoints.iter().zip(weighed).zip(holm(&p, alpha)) {
        let evidence = weighed.map(|(evidence, bounds)| Evidence {
            fail_level: held.level,
            lower: bounds.lower(held.level),
            ..evidence
        });
        verdicts.push(EndpointVerdict {
            name: endpoint.name.clone(),
            answer: evidence.map_or(Answer::Inconclusive, |evidence| answer(endpoint.known, &evidence)),
            evidence,
            look: None,
        });
    }
    Verdict {
        answer: Answer::all(verdicts.iter().map(|endpoint| endpoint.answer)),
        endpoints: verdicts,
        alpha,
        look: None,
    }
}

fn answer(known: Known, evidence: &Evidence) -> Answer {
    let is_enough = evidence.runs.least() >= known.least_to_decide();
    if is_enough && evidence.lower > evidence.fail_above.ratio {
        Answer::Fail
    } else if is_enough && evidence.upper < evidence.pass_below.ratio {
        Answer::Pass
    } else {
        Answer::Inconclusive
    }
}
