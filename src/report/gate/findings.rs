//! Everything that a gate found, in sentences with their numbers.

use crate::analyse::compare::Inequality;
use crate::analyse::gate::{Against, Exact, Judged, Judgement, Kept, Leaking, Role};
use crate::analyse::stats::{ASSUMED_VARIATION, Answer, Known, LEAST_TO_PASS, Side, unseen};
use crate::lens::Lens;
use crate::report::comparison::{amount, as_set, difference, huge_pages, signed, strained, unequal};
use crate::report::growth::{named, reason};
use crate::units;

use super::words::{change, limit};

/// One thing that a gate found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is about.
    pub about: About,
    /// Whether it decides.
    pub decides: bool,
    /// What it comes to.
    pub answer: Answer,
    /// It in a few words, for a heading.
    pub short: String,
    /// It in a sentence.
    pub text: String,
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A run that the server of this part failed.
    Run(Role),
    /// Work that the candidate did less of than this one.
    Work(Role),
    /// A figure, against this one.
    Endpoint(String, Role),
    /// A figure that has an absolute limit.
    Budget(String),
    /// Growth with something that is repeated.
    Growth(String),
}

/// What decides first, then what advises. Where a server failed or did less, that alone.
pub fn findings(judgement: &Judgement) -> Vec<Finding> {
    let mut found: Vec<Finding> = refusals(judgement);
    if judgement.is_refused() {
        return found;
    }
    for against in &judgement.against {
        let primaries = against.primaries.iter();
        found.extend(primaries.map(|judged| endpoint(against.role, judged, true)));
    }
    found.extend(judgement.budgets.iter().map(budget));
    found.extend(judgement.leaks.iter().map(|leak| growth(leak, judgement.lens)));
    for against in &judgement.against {
        let advice = against.advisory.iter();
        found.extend(advice.map(|judged| endpoint(against.role, judged, false)));
    }
    found
}

fn refusals(judgement: &Judgement) -> Vec<Finding> {
    let refusal = |about: About, short: String, text: String| Finding {
        about,
        decides: true,
        answer: Answer::Fail,
        short,
        text,
    };
    let broken = judgement.broken.iter().map(|broken| {
        let text = format!(
            "the {} failed the scenario: see `{}`",
            broken.role.name(),
            broken.record
        );
        let short = format!("the {} failed the scenario", broken.role.name());
        refusal(About::Run(broken.role), short, text)
    });
    let less = judgement.less_work().map(|(role, work)| {
        let text = format!(
            "{}; memory is only compared for equal work",
            unequal("candidate", role.name(), work)
        );
        let short = format!("the candidate does less work than the {}", role.name());
        refusal(About::Work(role), short, text)
    });
    broken.chain(less).collect()
}

/// What must be known to read the verdict right: circumstances that differ, sides that share no machine, huge pages,
/// work that was done otherwise, but not less, and machines that were busy or short of memory.
pub fn doubts(judgement: &Judgement) -> Vec<String> {
    let mut doubts: Vec<String> = judgement.differences.iter().map(difference).collect();
    for against in &judgement.against {
        if against.apart {
            doubts.push(format!(
                "the candidate and the {} were run on different machines: what differs may be theirs",
                against.role.name()
            ));
        }
        let found = against.huge_pages.iter().filter(|_| !judgement.is_refused());
        doubts.extend(found.map(|found| huge_pages(Role::Candidate.name(), against.role.name(), found)));
        let other = against.work.iter().filter(|work| !work.is_less());
        doubts.extend(other.map(|work: &Inequality| unequal("candidate", against.role.name(), work)));
    }
    doubts.extend(assumption(judgement).filter(|_| !judgement.is_refused()));
    doubts.extend(judgement.against.iter().filter_map(beyond));
    if !judgement.missing.is_empty() && !judgement.is_refused() {
        doubts.push(format!(
            "no data for {}: exit code 2, whatever --inconclusive says",
            judgement.missing.join(", ")
        ));
    }
    doubts.extend(judgement.strains.iter().map(strained));
    doubts
}

/// What answers through the as-shipped lens rest on, where not every side is calibrated.
fn assumption(judgement: &Judgement) -> Option<String> {
    let judged = judgement.against.iter();
    let judged = judged.flat_map(|against| against.primaries.iter().chain(&against.advisory));
    let known = judged.map(|judged| (judged.endpoint.known, judged.verdict.look));
    let budgets = judgement.budgets.iter().map(|kept| (kept.known, None));
    let assumed: Vec<Option<usize>> = known
        .chain(budgets)
        .filter(|(known, _)| *known == Known::Assumed)
        .map(|(_, look)| look)
        .collect();
    let fewest = assumed.iter().flatten().min();
    let missed = fewest.map_or_else(String::new, |runs| {
        format!(
            "; {} can miss a group with up to {} of all runs",
            units::counted(*runs as u64, "run"),
            units::percent(unseen(*runs))
        )
    });
    (!assumed.is_empty()).then(|| {
        format!(
            "as shipped, without calibrations of all sides: PASS needs {LEAST_TO_PASS} runs, and memory is assumed to vary by {} \
             or more, as two groups of runs up to 20 % apart do, whatever their shares{missed}; `lsp-soak calibrate` measures \
             how much it varies",
            units::percent(ASSUMED_VARIATION)
        )
    })
}

/// Runs that the verdict does not rest on, for it was reached before them.
fn beyond(against: &Against) -> Option<String> {
    let look = against.look.filter(|look| against.runs > *look)?;
    let (other, runs) = (against.role.name(), against.runs);
    Some(format!(
        "the verdict against the {other} rests on the first {look} of {runs} runs of each, where it was decided or the last \
         look was; `--runs {runs}` judges all of them at once"
    ))
}

fn endpoint(role: Role, judged: &Judged, decides: bool) -> Finding {
    let what = &judged.rule.what;
    let answer = judged.verdict.answer;
    let aside = if decides { "" } else { " (advises)" };
    Finding {
        about: About::Endpoint(what.to_string(), role),
        decides,
        answer,
        short: in_short(role, judged),
        text: format!("{what}{aside}: {}", evidence(role, judged)),
    }
}

fn in_short(role: Role, judged: &Judged) -> String {
    let bounds = match (&judged.verdict.evidence, judged.verdict.answer) {
        (Err(_), _) => "without usable data".to_owned(),
        (Ok(evidence), Answer::Fail) => format!("at least {}", change(evidence.lower)),
        (Ok(evidence), Answer::Pass) => format!("at most {}", change(evidence.upper)),
        (Ok(evidence), Answer::Inconclusive) => {
            format!("between {} and {}", change(evidence.lower), change(evidence.upper))
        }
    };
    let other = match role {
        Role::Anchor => " against the anchor",
        Role::Baseline | Role::Candidate => "",
    };
    format!("{} {bounds}{other}", judged.rule.what)
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
    let (fail, pass) = (limit(evidence.fail_above), limit(evidence.pass_below));
    let machines = match evidence.machines {
        0 | 1 => String::new(),
        several => format!(
            " on {several} machines (by machine {} to {})",
            change(evidence.spread.0),
            change(evidence.spread.1)
        ),
    };
    let p = exact(judged.p);
    match judged.verdict.answer {
        Answer::Fail => format!("at least {lower} against the {other}{machines}, {fail} is tolerated{p}"),
        Answer::Pass => format!("at most {upper} against the {other}{machines}, below {pass} passes{p}"),
        Answer::Inconclusive => format!(
            "between {lower} and {upper} against the {other}{machines}; it fails above {fail} and passes below {pass}{}{p}",
            more(judged.needed)
        ),
    }
}

/// The exact test of "no difference", which assumes nothing of the noise.
fn exact(p: Option<Exact>) -> String {
    p.map_or_else(String::new, |p| {
        format!("; permutation p {}", units::probability(p.permutation))
    })
}

fn more(needed: Option<usize>) -> String {
    match needed {
        Some(runs) => format!("; {} of each would probably decide", units::counted(runs as u64, "run")),
        None => "; no sensible number of runs would decide".to_owned(),
    }
}

fn budget(kept: &Kept) -> Finding {
    let unit = kept.limit.what.figure.unit();
    let name = format!("{} <= {}", kept.limit.what, amount(kept.limit.limit, as_set(unit)));
    let machines = match kept.verdict.machines {
        0 | 1 => String::new(),
        several => format!(" on the highest of {several} machines"),
    };
    let text = match &kept.verdict.interval {
        Err(why) => format!("no usable data of the candidate: {why}"),
        Ok((middle, low, high)) => format!(
            "{}, between {} and {}{machines}",
            amount(*middle, unit),
            amount(*low, unit),
            amount(*high, unit)
        ),
    };
    let kept_or_not = match kept.verdict.answer {
        Answer::Pass => "is kept",
        Answer::Fail => "is exceeded",
        Answer::Inconclusive => "is not decided",
    };
    Finding {
        short: format!("{name} {kept_or_not}"),
        text: format!("{name}: {text}"),
        about: About::Budget(name),
        decides: true,
        answer: kept.verdict.answer,
    }
}

/// The bounds that decided, of the last half of the rounds; and what would decide where they did not.
fn late(leak: &Leaking) -> String {
    let bounds = leak.verdict.late.map_or_else(String::new, |(_, lower, upper)| {
        let per = |value: f64| signed(value / 1024.0, 1);
        let (fail, pass) = (per(leak.limit.slope), per(leak.limit.ruled_out));
        let (lower, upper) = (per(lower), per(upper));
        format!("; in the last half at least {lower} and at most {upper} per round, it fails above {fail} and passes below {pass}")
    });
    let open = leak
        .verdict
        .open
        .map(|open| format!("; {}", reason(open, leak.verdict.needed)));
    bounds + &open.unwrap_or_default()
}

/// What is said of growth; as shipped it is what the allocator keeps, and no leak.
fn growth(leak: &Leaking, lens: Lens) -> Finding {
    let thing = match lens {
        Lens::Purged => "growth",
        Lens::AsShipped => "retention growth",
    };
    let slope = match leak.verdict.slope {
        None => format!("no slope is known{}", late(leak)),
        Some((middle, low, high)) => {
            let per = |value: f64| signed(value / 1024.0, 1);
            let span = |what: &str, (middle, low, high): (f64, f64, f64)| {
                format!("{} KiB per {what}, between {} and {}", per(middle), per(low), per(high))
            };
            let each = |value: f64| leak.sent.and_then(|sent| sent.per_message(value));
            let message = each(middle).zip(each(low)).zip(each(high)).zip(leak.sent);
            let message = message.map_or_else(String::new, |(((middle, low), high), sent)| {
                format!("; {}", span(sent.name(), (middle, low, high)))
            });
            let round = span("round", (middle, low, high));
            format!("{round}{message}; {}{}", named(leak.verdict.shape), late(leak))
        }
    };
    let name = format!("{thing} over {}", leak.name);
    let shown = match leak.verdict.answer {
        Answer::Pass => "is ruled out",
        Answer::Fail => "is shown",
        Answer::Inconclusive => "is not decided",
    };
    Finding {
        short: format!("{name} {shown}"),
        text: format!("{name}: {slope}"),
        about: About::Growth(name),
        decides: true,
        answer: leak.verdict.answer,
    }
}
