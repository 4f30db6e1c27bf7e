//! Everything that a gate found, in sentences with their numbers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::growth::{named, reason, reservations, unasked_steps};
use crate::comparison::{amount, as_set, difference, huge_pages, strained, unequal};
use crate::run::decay;
use analysis::compare::Inequality;
use analysis::compare::calibration::LEAST_RUNS;
use analysis::gate::{Basis, Judged, Judgement, Kept, Leaking, Missing, Role, StillGrowing};
use analysis::summary::decay::Short;
use base::exit::Exit;
use base::lens::Lens;
use base::units;
use record::LensFacts;
use stats::{Answer, Evidence, Known, LEAST_TO_DECIDE, Open, Side, unseen};

use super::cure::runs_for_budget;
use super::words::{REFUSED, bounds, change, limit, word};

/// One thing that a gate found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
    /// Its answer in capitals.
    pub fn word(&self) -> &'static str {
        self.answer.map_or(REFUSED, word)
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

/// What decides first, then what advises. Where a server failed or did less, that alone.
pub fn findings(judgement: &Judgement) -> Vec<Finding> {
    let mut sentences: Vec<Finding> = refusals(judgement);
    if judgement.is_refused() {
        return sentences;
    }
    // Whoever asks for leaks repeats one activity at a time, and the rest only follows from their growth.
    sentences.extend(judgement.leaks.iter().map(|leak| growth(leak, judgement.lens)));
    for against in &judgement.against {
        let primaries = against.primaries.iter();
        sentences.extend(primaries.map(|judged| endpoint(against.role, judged, true)));
    }
    sentences.extend(judgement.budgets.iter().map(budget));
    for against in &judgement.against {
        let advice = against.advisory.iter();
        sentences.extend(advice.map(|judged| endpoint(against.role, judged, false)));
    }
    sentences
}

fn refusals(judgement: &Judgement) -> Vec<Finding> {
    let refusal = |about: About, short: String, text: String| Finding {
        about,
        decides: true,
        answer: None,
        short,
        is_short: false,
        text,
    };
    let broken = judgement.broken.iter().map(|broken| {
        let what = if broken.incomplete {
            "lost the process with most of its memory"
        } else {
            "failed the scenario"
        };
        let short = format!("the {} {what}: {}", broken.role.name(), broken.how);
        let text = format!("{short} (`{}`)", broken.record);
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
                "the candidate and the {} ran on different machines, which may cause the difference",
                against.role.name()
            ));
        }
        let sentences = against.huge_pages.iter().filter(|_| !judgement.is_refused());
        doubts.extend(sentences.map(|sentences| huge_pages(Role::Candidate.name(), against.role.name(), sentences)));
        let other = against.work.iter().filter(|work| !work.less);
        doubts.extend(other.map(|work: &Inequality| unequal("candidate", against.role.name(), work)));
    }
    if !judgement.is_refused() {
        doubts.extend(beyond(judgement));
    }
    doubts.extend(judgement.strains.iter().map(strained));
    doubts
}

/// What a pass through the purged lens alone says nothing of.
pub fn unmeasured(judgement: &Judgement) -> Option<String> {
    let is_shipped = |lens: &LensFacts| lens.name == Lens::AsShipped;
    let shipped = judgement.parties.iter().flat_map(|party| &party.lenses).any(is_shipped);
    let passes = judgement.exit() == Exit::Passed && judgement.lens == Lens::Purged;
    (passes && !shipped).then(|| "as shipped: not measured (`--lens both`)".to_owned())
}

/// What does not follow from idle windows that were too short for a side's garbage collector.
pub fn not_known(judgement: &Judgement) -> Option<String> {
    let of_sides = judgement
        .parties
        .iter()
        .filter_map(|party| Some((party.role.name(), party.too_short_for.as_ref()?.short())));
    let of_sides: Vec<(&str, Short)> = of_sides.collect();
    let shortest = of_sides.iter().map(|(_, short)| *short).min()?;
    let roles: Vec<String> = of_sides.iter().map(|(role, _)| format!("the {role}")).collect();
    Some(format!(
        "what {} may release later is not known: {}",
        decay::list(&roles),
        decay::needs(&[shortest.took], shortest)
    ))
}

/// The rules that were not judged, and what would mend it.
pub fn missing(judgement: &Judgement) -> Vec<String> {
    if judgement.is_refused() {
        return Vec::new();
    }
    let missing: &[Missing] = &judgement.missing;
    let of_each = if judgement.is_alone() { "" } else { " of each" };
    let rules = |too_few: bool| -> Vec<&str> {
        let rules = missing.iter().filter(|one| one.is_too_few() == too_few);
        let mut rules: Vec<&str> = rules.map(|one| one.rule.as_str()).collect();
        rules.dedup();
        rules
    };
    let exit = match judgement.exit() {
        Exit::OwnFailure => " (exit code 2, whatever --inconclusive says)",
        _other => "",
    };
    let early = missing.iter().find(|one| one.is_too_few()).map(|one| {
        format!(
            "too few runs to judge {}: the first interim analysis needs {}{of_each}; run more, or lower --runs or \
             --looks{exit}",
            rules(true).join(", "),
            units::counted(one.first as u64, "run")
        )
    });
    let unknown = Some(rules(false)).filter(|rules| !rules.is_empty());
    let unknown = unknown.map(|rules| format!("no data for {}{exit}", rules.join(", ")));
    early.into_iter().chain(unknown).collect()
}

/// The share of runs that a second group may have and yet have been missed, for rules without calibrations of both versions.
pub fn missed_groups(judgement: &Judgement) -> Vec<String> {
    if judgement.is_refused() {
        return Vec::new();
    }
    let of_each = if judgement.is_alone() { "" } else { " of each" };
    let judged = judgement.against.iter();
    let judged = judged.flat_map(|against| against.primaries.iter().chain(&against.advisory));
    let compared = judged.map(|judged| {
        (
            judged.rule.subject.to_string(),
            judged.endpoint.known,
            judged.verdict.answer,
            judged.basis.look,
        )
    });
    let budgets = judgement.budgets.iter().map(|kept| {
        let subject = kept.limit.subject.to_string();
        (subject, kept.known, kept.verdict.answer, kept.basis.look)
    });
    let rules: Vec<(String, Known, Answer, Option<usize>)> = compared.chain(budgets).collect();
    let mut sentences = Vec::new();
    for (known, source) in [
        (Known::Seen, "more runs show it, or `lsp-soak calibrate`"),
        (Known::OtherVersion, "the calibrations are of another version"),
    ] {
        let mut names: Vec<&str> = Vec::new();
        let mut least: Option<usize> = None;
        for (name, of_rule, answer, look) in &rules {
            if *of_rule != known || *answer == Answer::Inconclusive {
                continue;
            }
            least = least.into_iter().chain(*look).min();
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        if let Some(runs) = least {
            sentences.push(format!(
                "a second group of under {} of the runs is not ruled out for {} ({}{of_each}): {source}",
                units::percent(unseen(runs)),
                names.join(", "),
                units::counted(runs as u64, "run")
            ));
        }
    }
    sentences
}

/// Later runs that a deciding rule does not use, because an earlier interim analysis answered it.
fn beyond(judgement: &Judgement) -> Option<String> {
    let endpoints = judgement.against.iter().flat_map(|against| {
        let named = |judged: &Judged| {
            (
                About::Endpoint(judged.rule.subject.to_string(), against.role),
                judged.basis,
            )
        };
        against.primaries.iter().map(named).collect::<Vec<_>>()
    });
    let budgets = judgement.budgets.iter();
    let budgets = budgets.map(|kept| (About::Budget(budget_name(kept)), kept.basis));
    let growth = judgement.leaks.iter();
    let growth = growth.map(|leak| (About::Growth(growth_name(leak, judgement.lens)), leak.basis));
    let rules: Vec<(About, Basis)> = endpoints.chain(budgets).chain(growth).collect();
    let parts: Vec<String> = rules
        .iter()
        .filter_map(|(about, Basis { look, runs })| {
            let look = look.filter(|look| look < runs)?;
            Some(format!("{} uses the first {look} of {runs} runs", about.title()))
        })
        .collect();
    // What has fewer runs would not be judged by more than it has.
    let all = rules.iter().map(|(_, basis)| basis.runs).min()?;
    (!parts.is_empty()).then(|| {
        format!(
            "{}: interim analyses stop at the first answer; `--runs {all}` judges all {all} at once",
            parts.join(", ")
        )
    })
}

fn endpoint(role: Role, judged: &Judged, decides: bool) -> Finding {
    let what = &judged.rule.subject;
    let answer = judged.verdict.answer;
    let aside = if decides { "" } else { " (advises)" };
    Finding {
        about: About::Endpoint(what.to_string(), role),
        decides,
        answer: Some(answer),
        short: in_short(role, judged),
        is_short: judged.verdict.evidence.is_ok(),
        text: format!("{what}{aside}: {}", evidence(role, judged)),
    }
}

/// What would decide a rule that is open.
fn deciding(fail: &str, pass: &str) -> String {
    format!("fails if all above {fail}, passes if all below {pass}")
}

fn in_short(role: Role, judged: &Judged) -> String {
    let growing = open_by_growth(judged.verdict.answer, judged.still_growing.as_ref());
    let bounds = match (&judged.verdict.evidence, judged.verdict.answer) {
        (Err(_), _) => "without usable data".to_owned(),
        (Ok(evidence), _) if let Some(growing) = growing => format!("{} ({})", bounds(evidence), growing.reason()),
        (Ok(evidence), answer) => {
            let why = match answer {
                Answer::Fail => format!("limit {}", limit(judged, evidence.fail_above)),
                Answer::Pass => format!("passes below {}", limit(judged, evidence.pass_below)),
                Answer::Inconclusive => format!("{}; {}", why_open(judged, evidence), more(judged.needed)),
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
    let against = format!("against the {other} {}{machines}", after(judged.basis, " of each"));
    if let Some(growing) = open_by_growth(judged.verdict.answer, judged.still_growing.as_ref()) {
        return format!("between {lower} and {upper} {against}; {}", growing.reason());
    }
    match judged.verdict.answer {
        Answer::Fail => format!("at least {lower} {against} (limit {fail})"),
        Answer::Pass => format!("at most {upper} {against} (passes below {pass})"),
        Answer::Inconclusive => format!(
            "between {lower} and {upper} {against} ({}); {}; {}",
            deciding(&fail, &pass),
            why_open(judged, evidence),
            more(judged.needed)
        ),
    }
}

/// Why a rule is open that no number of runs would let pass.
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

/// That there are too few runs to decide anything without calibrations.
fn too_early(known: Known, basis: Basis, of: &str) -> Option<String> {
    let is_early = basis.look.unwrap_or(basis.runs) < known.least_to_decide();
    is_early.then(|| {
        format!(
            "nothing is decided before {LEAST_TO_DECIDE} runs{of}, or {LEAST_RUNS} calibration runs{}",
            if of.is_empty() { "" } else { " of both" }
        )
    })
}

/// A coefficient of variation.
fn spread(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// How many runs a rule was judged by: `after 3 runs of each`.
fn after(basis: Basis, of: &str) -> String {
    match basis.look {
        Some(runs) => format!("after {}{of}", units::counted(runs as u64, "run")),
        None => "before the first interim analysis".to_owned(),
    }
}

fn more(needed: Option<usize>) -> String {
    match needed {
        Some(runs) => format!("{} of each will probably decide", units::counted(runs as u64, "run")),
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
        Ok((middle, low, high)) => format!(
            "{}, between {} and {} {}{machines}{}",
            amount(*middle, unit),
            amount(*low, unit),
            amount(*high, unit),
            after(kept.basis, ""),
            match (growing, kept.verdict.answer) {
                (Some(growing), _) => format!("; {}", growing.reason()),
                (None, Answer::Inconclusive) => format!("; {}", budget_reason(kept)),
                (None, Answer::Pass | Answer::Fail) => String::new(),
            }
        ),
    };
    let kept_or_not = match (growing, kept.verdict.answer) {
        (_, Answer::Pass) => "is kept".to_owned(),
        (_, Answer::Fail) => "is exceeded".to_owned(),
        (Some(growing), Answer::Inconclusive) => format!("is not decided: {}", growing.reason()),
        (None, Answer::Inconclusive) if kept.verdict.interval.is_ok() => {
            format!("is not decided ({})", budget_reason(kept))
        }
        (None, Answer::Inconclusive) => "is not decided".to_owned(),
    };
    Finding {
        short: format!("{name} {kept_or_not}"),
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
        Some(runs) => format!("{} will probably decide", units::counted(runs as u64, "run")),
        None => "no reasonable number of runs decides".to_owned(),
    };
    format!("{reason}; {cure}")
}

/// The bounds that decided, of the last half of the rounds; and what would decide where they did not.
fn late(leak: &Leaking) -> String {
    let bounds = leak.verdict.late.map_or_else(String::new, |(_, lower, upper)| {
        let (fail, pass) = (units::slope(leak.limit.slope), units::slope(leak.limit.ruled_out));
        format!(
            "; in the last half {} per round ({})",
            units::slope_range(lower, upper),
            deciding(&fail, &pass)
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

/// As shipped it is what the allocator keeps, and no leak.
pub(super) fn growth_name(leak: &Leaking, lens: Lens) -> String {
    let thing = match lens {
        Lens::Purged => "growth",
        Lens::AsShipped => "retention growth",
    };
    format!("{thing} over {}", leak.name)
}

fn growth(leak: &Leaking, lens: Lens) -> Finding {
    let slope = match leak.verdict.slope {
        None => format!("no slope is known{}", late(leak)),
        Some((middle, low, high)) => {
            let each = |value: f64| leak.sent.and_then(|sent| sent.per_message(value));
            let message = each(middle).zip(each(low)).zip(each(high)).zip(leak.sent);
            let message = message.map_or_else(String::new, |(((middle, low), high), sent)| {
                format!("; {}", units::slope_with_range(middle, low, high, sent.name()))
            });
            let round = units::slope_with_range(middle, low, high, "round");
            format!("{round}{message}; {}{}", named(leak.verdict.shape), late(leak))
        }
    };
    let name = growth_name(leak, lens);
    let per = leak.verdict.slope.map_or_else(String::new, |(middle, ..)| {
        let message = leak
            .sent
            .and_then(|sent| Some((sent.per_message(middle)?, sent.name())));
        let (value, what) = message.unwrap_or((middle, "round"));
        format!(" of {} per {what}", units::slope(value))
    });
    let shown = match leak.verdict.answer {
        Answer::Pass => format!("is ruled out{}", reservations(&leak.reserved)),
        Answer::Fail => format!("{per} is shown").trim_start().to_owned(),
        Answer::Inconclusive if leak.verdict.open == Some(Open::Unasked) => {
            format!("is not decided, {}", unasked_steps(&leak.unasked))
        }
        Answer::Inconclusive => match &leak.still_growing {
            Some(growing) => format!("is not decided: {}", growing.reason()),
            None => "is not decided".to_owned(),
        },
    };
    Finding {
        short: format!("{name} {shown}"),
        is_short: false,
        text: format!(
            "{name}{} {}: {slope}",
            reservations(&leak.reserved),
            after(leak.basis, "")
        ),
        about: About::Growth(name),
        decides: true,
        answer: Some(leak.verdict.answer),
    }
}
