//! Everything that a gate found, in sentences with their numbers.

use serde::Serialize;

use crate::comparison::growth::{reason, reservations, shape_name, unasked_steps};
use crate::comparison::{amount, as_set, unequal};
use analysis::compare::Inequality;
use analysis::compare::calibration::LEAST_RUNS;
use analysis::gate::{Basis, Broken, Judged, Judgement, Kept, Leaking, Role, StillGrowing};
use base::lens::Lens;
use base::units;
use stats::{Answer, Bounded, Evidence, Known, LEAST_TO_DECIDE, Open, Side};

use super::cure::runs_for_budget;
use super::words::{REFUSED, answer_word, bounds, change, limit};

/// One thing that a gate found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    #[serde(skip)]
    pub about: About,
    /// Whether it decides.
    pub decides: bool,
    /// `null` if it is why nothing is decided.
    pub answer: Option<Answer>,
    /// It in a few words, for a heading.
    #[serde(skip)]
    pub short: String,
    /// True if `short` says all of the sentence but the limits, which the table of rules has.
    #[serde(skip)]
    pub is_short: bool,
    /// The sentence.
    pub text: String,
}

impl Finding {
    /// The answer in capitals.
    pub fn word(&self) -> &'static str {
        self.answer.map_or(REFUSED, answer_word)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A run that the server of this part failed.
    Run(Role),
    /// Work that the candidate did less of than this one.
    Work(Role),
    Endpoint(String, Role),
    /// A figure that has an absolute limit.
    Budget(String),
    /// Growth with something that is repeated.
    Growth(String),
}

impl About {
    /// The name in lists.
    pub fn title(&self) -> String {
        match self {
            About::Endpoint(what, role) => format!("{what} against the {}", role.name()),
            About::Budget(what) | About::Growth(what) => what.clone(),
            About::Run(role) => format!("runs of the {}", role.name()),
            About::Work(role) => format!("work against the {}", role.name()),
        }
    }
}

/// Lists the findings that decide, then those that advise. A refused gate has only the reasons for that.
pub fn findings(judgement: &Judgement) -> Vec<Finding> {
    let mut findings: Vec<Finding> = refusals(judgement);
    if judgement.is_refused() {
        return findings;
    }
    // Whoever asks for leaks repeats one activity at a time, and the rest only follows from their growth.
    findings.extend(judgement.leaks.iter().map(|leak| growth(leak, judgement.lens)));
    for against in &judgement.against {
        let primaries = against.primaries.iter();
        findings.extend(primaries.map(|judged| endpoint(against.role, judged, true)));
    }
    findings.extend(judgement.budgets.iter().map(budget));
    for against in &judgement.against {
        let advisory = against.advisory.iter();
        findings.extend(advisory.map(|judged| endpoint(against.role, judged, false)));
    }
    findings
}

fn refusals(judgement: &Judgement) -> Vec<Finding> {
    let broken = judgement.broken.iter().map(broken_run);
    let less_work = judgement.less_work().map(|(role, work)| less_work(role, work));
    broken.chain(less_work).collect()
}

fn broken_run(broken: &Broken) -> Finding {
    let event = if broken.incomplete {
        "lost the process with most of its memory"
    } else {
        "failed the scenario"
    };
    let short = format!("the {} {event}: {}", broken.role.name(), broken.how);
    let text = format!("{short} (`{}`)", broken.record);
    refusal(About::Run(broken.role), short, text)
}

fn less_work(role: Role, work: &Inequality) -> Finding {
    let short = format!("the candidate does less work than the {}", role.name());
    let text = format!(
        "{}; memory is only compared for equal work",
        unequal("candidate", role.name(), work)
    );
    refusal(About::Work(role), short, text)
}

fn refusal(about: About, short: String, text: String) -> Finding {
    Finding {
        about,
        decides: true,
        answer: None,
        short,
        is_short: false,
        text,
    }
}

fn endpoint(role: Role, judged: &Judged, decides: bool) -> Finding {
    let subject = &judged.rule.subject;
    let advises = if decides { "" } else { " (advises)" };
    Finding {
        about: About::Endpoint(subject.to_string(), role),
        decides,
        answer: Some(judged.verdict.answer),
        short: short_text(role, judged),
        is_short: judged.verdict.evidence.is_ok(),
        text: format!("{subject}{advises}: {}", evidence(role, judged)),
    }
}

/// The bounds that would decide an open rule.
fn deciding_bounds(fail: &str, pass: &str) -> String {
    format!("fails if all above {fail}, passes if all below {pass}")
}

fn short_text(role: Role, judged: &Judged) -> String {
    let growing = open_by_growth(judged.verdict.answer, judged.still_growing.as_ref());
    let bounds = match (&judged.verdict.evidence, judged.verdict.answer) {
        (Err(_), _) => "without usable data".to_owned(),
        (Ok(evidence), _) if let Some(growing) = growing => format!("{} ({})", bounds(evidence), growing.reason()),
        (Ok(evidence), answer) => {
            let why = match answer {
                Answer::Fail => format!("limit {}", limit(judged, evidence.fail_above)),
                Answer::Pass => format!("passes below {}", limit(judged, evidence.pass_below)),
                Answer::Inconclusive => format!("{}; {}", why_open(judged, evidence), runs_to_decide(judged.needed)),
            };
            format!("{} ({why})", bounds(evidence))
        }
    };
    let other = match role {
        Role::Anchor => " against the anchor",
        Role::Baseline | Role::Candidate => "",
    };
    format!("{} {bounds}{other}", judged.rule.subject)
}

fn evidence(role: Role, judged: &Judged) -> String {
    let other = role.name();
    let evidence = match &judged.verdict.evidence {
        Ok(evidence) => evidence,
        Err((side, why)) => {
            let side = match side {
                Side::Baseline => other,
                Side::Candidate => Role::Candidate.name(),
            };
            return format!("no usable data of the {side}: {why}");
        }
    };
    let (lower, upper) = (change(evidence.lower), change(evidence.upper));
    let (fail, pass) = (limit(judged, evidence.fail_above), limit(judged, evidence.pass_below));
    let machines = match evidence.machines {
        0 | 1 => String::new(),
        several => format!(
            " on {several} machines (by machine {} to {})",
            change(evidence.spread.0),
            change(evidence.spread.1)
        ),
    };
    let against = format!("against the {other} {}{machines}", after_runs(judged.basis, " of each"));
    if let Some(growing) = open_by_growth(judged.verdict.answer, judged.still_growing.as_ref()) {
        return format!("between {lower} and {upper} {against}; {}", growing.reason());
    }
    match judged.verdict.answer {
        Answer::Fail => format!("at least {lower} {against} (limit {fail})"),
        Answer::Pass => format!("at most {upper} {against} (passes below {pass})"),
        Answer::Inconclusive => format!(
            "between {lower} and {upper} {against} ({}); {}; {}",
            deciding_bounds(&fail, &pass),
            why_open(judged, evidence),
            runs_to_decide(judged.needed)
        ),
    }
}

/// The growth that keeps a rule open: no number of runs would let it pass.
fn open_by_growth(answer: Answer, growing: Option<&StillGrowing>) -> Option<&StillGrowing> {
    if answer == Answer::Inconclusive { growing } else { None }
}

/// The reason that a rule is open.
fn why_open(judged: &Judged, evidence: &Evidence) -> String {
    let known = judged.endpoint.known;
    if let Some(early) = too_early(known, judged.basis, " of each") {
        return early;
    }
    if let Some(ratio) = evidence.groups {
        return format!("the runs may form groups {:.1} % apart", (ratio - 1.0) * 100.0);
    }
    let seen = judged.endpoint.strata().map_or(0.0, |strata| strata.variation());
    let assumed = judged.endpoint.noise.relative;
    match known {
        Known::Calibrated | Known::OtherVersion if assumed > seen => {
            format!(
                "calibrations show a spread of {}, the runs {}",
                spread(assumed),
                spread(seen)
            )
        }
        Known::Seen | Known::Calibrated | Known::OtherVersion => format!("the runs vary by {}", spread(seen)),
    }
}

/// The reason that a rule is open where there are too few runs to decide without calibrations. `of_each` is empty if only
/// the candidate has runs.
fn too_early(known: Known, basis: Basis, of_each: &str) -> Option<String> {
    if basis.look.unwrap_or(basis.runs) >= known.least_to_decide() {
        return None;
    }
    let of_both = if of_each.is_empty() { "" } else { " of both" };
    Some(format!(
        "nothing is decided before {LEAST_TO_DECIDE} runs{of_each}, or {LEAST_RUNS} calibration runs{of_both}"
    ))
}

/// A coefficient of variation.
fn spread(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// `after 3 runs of each`.
fn after_runs(basis: Basis, of_each: &str) -> String {
    match basis.look {
        Some(runs) => format!("after {}{of_each}", units::count_of(runs as u64, "run")),
        None => "before the first interim analysis".to_owned(),
    }
}

fn runs_to_decide(needed: Option<usize>) -> String {
    match needed {
        Some(runs) => format!("{} of each will probably decide", units::count_of(runs as u64, "run")),
        None => "no reasonable number of runs decides".to_owned(),
    }
}

/// `peak <= 600 MiB`.
pub(super) fn budget_name(kept: &Kept) -> String {
    let unit = kept.limit.subject.figure.unit();
    format!("{} <= {}", kept.limit.subject, amount(kept.limit.limit, as_set(unit)))
}

fn budget(kept: &Kept) -> Finding {
    let unit = kept.limit.subject.figure.unit();
    let name = budget_name(kept);
    let growing = open_by_growth(kept.verdict.answer, kept.still_growing.as_ref());
    let machines = match kept.verdict.machines {
        0 | 1 => String::new(),
        several => format!(" on the highest of {several} machines"),
    };
    let text = match &kept.verdict.interval {
        Err(why) => format!("no usable data of the candidate: {why}"),
        Ok(mean) => format!(
            "{}, between {} and {} {}{machines}{}",
            amount(mean.value, unit),
            amount(mean.low, unit),
            amount(mean.high, unit),
            after_runs(kept.basis, ""),
            match (growing, kept.verdict.answer) {
                (Some(growing), _) => format!("; {}", growing.reason()),
                (None, Answer::Inconclusive) => format!("; {}", budget_reason(kept)),
                (None, Answer::Pass | Answer::Fail) => String::new(),
            }
        ),
    };
    let outcome = match (growing, kept.verdict.answer) {
        (_, Answer::Pass) => "is kept".to_owned(),
        (_, Answer::Fail) => "is exceeded".to_owned(),
        (Some(growing), Answer::Inconclusive) => format!("is not decided: {}", growing.reason()),
        (None, Answer::Inconclusive) if kept.verdict.interval.is_ok() => {
            format!("is not decided ({})", budget_reason(kept))
        }
        (None, Answer::Inconclusive) => "is not decided".to_owned(),
    };
    Finding {
        short: format!("{name} {outcome}"),
        is_short: false,
        text: format!("{name}: {text}"),
        about: About::Budget(name),
        decides: true,
        answer: Some(kept.verdict.answer),
    }
}

/// The reason that a budget is open, and how many runs would decide it.
fn budget_reason(kept: &Kept) -> String {
    let reason =
        too_early(kept.known, kept.basis, "").unwrap_or_else(|| "the bounds are on both sides of the limit".to_owned());
    let cure = match runs_for_budget(kept) {
        Some(runs) => format!("{} will probably decide", units::count_of(runs as u64, "run")),
        None => "no reasonable number of runs decides".to_owned(),
    };
    format!("{reason}; {cure}")
}

/// The bounds of the last half of the rounds, which decide, and the reason if they do not.
fn late_bounds(leak: &Leaking) -> String {
    let bounds = leak.verdict.late.map_or_else(String::new, |late| {
        let (fail, pass) = (units::slope(leak.limit.slope), units::slope(leak.limit.ruled_out));
        format!(
            "; in the last half {} per round ({})",
            units::slope_range(late.low, late.high),
            deciding_bounds(&fail, &pass)
        )
    });
    let open = match leak.verdict.open {
        None => String::new(),
        Some(Open::Unasked) => format!("; {}", unasked_steps(&leak.unasked)),
        Some(open) => format!("; {}", reason(open, leak.verdict.needed)),
    };
    let growing = open_by_growth(leak.verdict.answer, leak.still_growing.as_ref());
    let growing = growing.map_or_else(String::new, |growing| format!("; {}", growing.reason()));
    bounds + &open + &growing
}

/// As shipped, growth is what the allocator keeps, and no leak.
pub(super) fn growth_name(leak: &Leaking, lens: Lens) -> String {
    let kind = match lens {
        Lens::Purged => "growth",
        Lens::AsShipped => "retention growth",
    };
    format!("{kind} over {}", leak.name)
}

fn growth(leak: &Leaking, lens: Lens) -> Finding {
    let late = late_bounds(leak);
    let slope = match leak.verdict.slope {
        None => format!("no slope is known{late}"),
        Some(slope) => {
            let per_round = units::slope_with_range(slope.value, slope.low, slope.high, "round");
            let per_message = match slope_per_message(leak, slope) {
                Some(slope) => format!("; {slope}"),
                None => String::new(),
            };
            format!("{per_round}{per_message}; {}{late}", shape_name(leak.verdict.shape))
        }
    };
    let name = growth_name(leak, lens);
    let outcome = match leak.verdict.answer {
        Answer::Pass => format!("is ruled out{}", reservations(&leak.reserved)),
        Answer::Fail => format!("{} is shown", short_slope(leak)).trim_start().to_owned(),
        Answer::Inconclusive if leak.verdict.open == Some(Open::Unasked) => {
            format!("is not decided, {}", unasked_steps(&leak.unasked))
        }
        Answer::Inconclusive => match &leak.still_growing {
            Some(growing) => format!("is not decided: {}", growing.reason()),
            None => "is not decided".to_owned(),
        },
    };
    Finding {
        short: format!("{name} {outcome}"),
        is_short: false,
        text: format!(
            "{name}{} {}: {slope}",
            reservations(&leak.reserved),
            after_runs(leak.basis, "")
        ),
        about: About::Growth(name),
        decides: true,
        answer: Some(leak.verdict.answer),
    }
}

/// The slope by request or notification; `None` if a round does not send a known number of them.
fn slope_per_message(leak: &Leaking, slope: Bounded) -> Option<String> {
    let sent = leak.sent?;
    Some(units::slope_with_range(
        sent.per_message(slope.value)?,
        sent.per_message(slope.low)?,
        sent.per_message(slope.high)?,
        sent.name(),
    ))
}

/// ` of +64.0 KiB per request`, or by round if messages are not known. Empty without a slope.
fn short_slope(leak: &Leaking) -> String {
    let Some(Bounded { value: middle, .. }) = leak.verdict.slope else {
        return String::new();
    };
    if let Some(sent) = leak.sent
        && let Some(value) = sent.per_message(middle)
    {
        return format!(" of {} per {}", units::slope(value), sent.name());
    }
    format!(" of {} per round", units::slope(middle))
}
