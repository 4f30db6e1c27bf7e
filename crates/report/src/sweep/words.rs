//! A sweep in sentences: what to ship and why, its cost, and the caveats.

use crate::comparison::{figures, notes};
use analysis::compare::Why as Excluded;
use analysis::figures::Figure;
use analysis::findings::setting;
use analysis::summary::decay::WindowKind;
use analysis::tune::{
    CellResult, Cost, KeepReason, LEAST_RUNS, Recommendation, Sweep, Timed, WhyNot, as_fast, cost_of,
};
use base::text::{Sentence, Tone};
use base::units;
use record::KnobFacts;

use super::columns::{after_phase, amount, difference_from_default};
use super::doubts::{doubts, unsettled};
use super::why;

/// The recommended cell, if any.
pub fn chosen_cell(sweep: &Sweep) -> Option<&CellResult> {
    match sweep.choice {
        Recommendation::Use(place) => sweep.cells.get(place),
        Recommendation::Default(_) | Recommendation::None(_) | Recommendation::Unknown => None,
    }
}

/// The answer in one sentence, with a warning if memory was still changing.
pub fn headline(sweep: &Sweep) -> String {
    let moving = sweep.cells.iter().filter(|cell| cell.rest.moving > 0).count();
    let is_open = matches!(
        sweep.choice,
        Recommendation::Default(KeepReason::TooFew) | Recommendation::Unknown
    );
    if is_open || moving == 0 {
        return answer(sweep);
    }
    let moving_settings = match chosen_cell(sweep) {
        Some(chosen) if chosen.rest.moving == 0 => {
            let default = if sweep.cells[0].rest.moving > 0 {
                ", the default among them"
            } else {
                ""
            };
            format!("{moving} of {} other settings{default}", sweep.cells.len() - 1)
        }
        _ => format!("{moving} of {}", units::count_of(sweep.cells.len() as u64, "setting")),
    };
    format!("{}; memory was still changing in {moving_settings}", answer(sweep))
}

fn answer(sweep: &Sweep) -> String {
    let limit = units::or_unknown(sweep.rules.max_private, units::exact_bytes);
    match sweep.choice {
        Recommendation::Use(place) => {
            let cell = &sweep.cells[place];
            let ratio = cell.figure(Figure::Private).ratio.as_ref();
            let saved = match ratio.and_then(figures::difference) {
                Some(saved) => format!(", {saved}"),
                None => String::new(),
            };
            format!(
                "use {}: {} {}{} instead of {}{saved}",
                cell.label,
                private_memory(cell),
                sweep.places.name(Figure::Private),
                after_phase(sweep),
                private_memory(&sweep.cells[0])
            )
        }
        Recommendation::Default(KeepReason::TooFew) => match cut_short(sweep) {
            Some(cut) => format!("no recommendation: {cut}, and {LEAST_RUNS} are needed"),
            None => format!("no recommendation: fewer than {LEAST_RUNS} runs of each setting; use more --rungs"),
        },
        Recommendation::Default(KeepReason::OthersFailed) => "keep the default: every other setting failed".to_owned(),
        Recommendation::Default(KeepReason::NothingLess) => "keep the default: no setting shows less memory".to_owned(),
        Recommendation::Default(KeepReason::Barred(place)) => why::barred(sweep, &sweep.cells[place]),
        Recommendation::Default(KeepReason::CostOpen(place)) => why::cost_open(sweep, &sweep.cells[place]),
        Recommendation::Default(KeepReason::TooDear(place)) => format!(
            "keep the default: settings with less memory cost more than the limits allow, such as {} ({})",
            sweep.cells[place].label,
            why::cost_clause(sweep, &sweep.cells[place], &dear_figures(sweep, &sweep.cells[place]))
        ),
        Recommendation::Default(KeepReason::Fastest) if !as_fast(sweep).is_empty() => {
            format!("keep the default: no setting under {limit} is faster")
        }
        Recommendation::Default(KeepReason::Fastest) => format!("keep the default: it is the fastest under {limit}"),
        Recommendation::None(None) => format!("no setting stays under {limit}"),
        Recommendation::None(Some(place)) => format!(
            "no setting stays under {limit}: {} comes nearest, with up to {}",
            sweep.cells[place].label,
            units::or_unknown(highest_private(&sweep.cells[place]), |most| amount(
                most,
                Figure::Private
            ))
        ),
        Recommendation::Unknown => "no result: the server failed with its defaults".to_owned(),
    }
}

fn private_memory(cell: &CellResult) -> String {
    units::or_unknown(cell.median(Figure::Private), |value| amount(value, Figure::Private))
}

/// Caveats of a cell that a user wants to ship: not recommended, or not settled.
pub fn reservations(sweep: &Sweep, cell: &CellResult) -> Vec<String> {
    let label = &cell.label;
    let default = sweep.cells.first().filter(|default| default.label != *label);
    let moving = unsettled(default.into_iter().chain([cell]));
    if chosen_cell(sweep).is_some_and(|chosen| chosen.label == *label) {
        return moving.into_iter().collect();
    }
    let mut sentences = Vec::new();
    if let Some(stopped) = &cell.stopped {
        sentences.push(format!("{label} stopped {}", why::elimination_clause(stopped)));
    }
    if cell.runs.is_empty() {
        let failed = cell.left.iter().filter(|left| left.why == Excluded::Failed).count() as u64;
        sentences.push(match failed {
            0 => format!("no run of {label} counts"),
            failed => format!(
                "no run of {label} counts: the server failed the scenario in {}",
                units::count_of(failed, "run")
            ),
        });
    }
    sentences.extend(unequal(cell));
    sentences.extend(cell.ineffective_settings().map(|knob| not_taken(label, knob)));
    if sentences.is_empty() {
        let why = why::why_not(sweep, cell).unwrap_or_else(|| headline(sweep));
        sentences.push(format!("{label} is not recommended: {why}"));
    }
    sentences.extend(moving);
    sentences
}

fn not_taken(label: &str, knob: &KnobFacts) -> String {
    format!("{label}: {}, so it is not recommended", setting(knob))
}

/// The upper bound of a cell's private memory, or else its median.
fn highest_private(cell: &CellResult) -> Option<f64> {
    cell.most_private().or_else(|| cell.median(Figure::Private))
}

/// The figures in which a cell is shown to cost more than is allowed.
fn dear_figures(sweep: &Sweep, cell: &CellResult) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (figure, most) in sweep.rules.allowed() {
        if cost_of(cell, figure, most) == Cost::Dear {
            figures.push(figure);
        }
    }
    figures
}

/// The reason, the price, and all caveats. Eliminated cells have sentences of their own.
pub fn sentences(sweep: &Sweep) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    if let Some(cell) = chosen_cell(sweep) {
        sentences.push(plain(reason(sweep, cell)));
        sentences.push(plain(price(sweep, cell)));
        sentences.extend(prediction(sweep, cell).map(plain));
    }
    sentences.extend(doubts(sweep).into_iter().map(warning));
    for cell in &sweep.cells {
        if let Some(text) = unequal(cell) {
            let tone = if cell.did_less() { Tone::Bad } else { Tone::Warning };
            sentences.push(note(tone, text));
        }
        for knob in cell.ineffective_settings() {
            sentences.push(warning(not_taken(&cell.label, knob)));
        }
    }
    sentences.extend(unconfirmed(sweep).map(warning));
    if sweep.choice != Recommendation::Default(KeepReason::TooFew) {
        sentences.extend(cut_short(sweep).map(warning));
    }
    if sweep.was_played_otherwise() {
        let text = "settings were eliminated for another --max-private and may suit this one: run the sweep with it";
        sentences.push(warning(text.to_owned()));
    }
    if sweep.missing > 0 {
        let missing = units::count_of(u64::from(sweep.missing), "setting");
        let verb = if sweep.missing == 1 { "has" } else { "have" };
        sentences.push(warning(format!("{missing} of the sweep {verb} no run yet")));
    }
    sentences
}

fn plain(text: String) -> Sentence {
    Sentence::answer("tune.sentence", Tone::Plain, text)
}

fn warning(text: String) -> Sentence {
    note(Tone::Warning, text)
}

fn note(tone: Tone, text: String) -> Sentence {
    Sentence::answer("tune.sentence", tone, text).marked("note")
}

/// `the sweep ended after 4 of 8 runs of each`; `None` if it was played to its end.
fn cut_short(sweep: &Sweep) -> Option<String> {
    let (had, most) = sweep.cut_short()?;
    let ended = match sweep.planned.as_ref().and_then(|planned| planned.time_budget) {
        Some(budget) => format!("the time budget of {} ended the sweep", units::nanoseconds(budget)),
        None => "the sweep ended".to_owned(),
    };
    let runs = units::count_of(u64::from(most), "run");
    Some(format!("{ended} after {had} of {runs} of each"))
}

/// The interval in which one new run is expected.
fn prediction(sweep: &Sweep, cell: &CellResult) -> Option<String> {
    let (low, high) = cell.promise?;
    Some(format!(
        "expect {} to {} {}{} in one new run (95 %); the best of many settings flatters its own figures",
        amount(low, Figure::Private),
        amount(high, Figure::Private),
        sweep.places.name(Figure::Private),
        after_phase(sweep)
    ))
}

/// A sentence on settings that no allocator confirms: those of the chosen cell, or else the labels of all such cells.
fn unconfirmed(sweep: &Sweep) -> Option<String> {
    if let Some(cell) = chosen_cell(sweep) {
        let settings: Vec<String> = cell.untold().map(KnobFacts::assignment).collect();
        if !settings.is_empty() {
            return Some(format!(
                "whether {} is in force is not known, except that the figures differ from the default's",
                settings.join(" and ")
            ));
        }
    }
    let mut labels: Vec<&str> = Vec::new();
    for cell in &sweep.cells {
        if cell.untold().next().is_some() {
            labels.push(&cell.label);
        }
    }
    if labels.is_empty() {
        return None;
    }
    Some(format!(
        "whether these are in force is not known, except where their figures differ from the default's: {}",
        labels.join(", ")
    ))
}

fn reason(sweep: &Sweep, chosen: &CellResult) -> String {
    let rules = &sweep.rules;
    let memory = sweep.places.memory();
    if rules.is_shared {
        return format!(
            "chosen: the least {memory}; latency and CPU time decide nothing among runs that are played at once"
        );
    }
    let limits = format!(
        "{} at most {} and CPU at most {} above the default (95 % bounds)",
        sweep.places.name(Figure::P95),
        units::percent(rules.latency),
        units::percent(rules.cpu)
    );
    match rules.max_private {
        Some(limit) => format!(
            "chosen: the fastest with {memory} under {} (upper end of the interval)",
            units::exact_bytes(limit)
        ),
        None if is_undercut(sweep, chosen) => {
            format!("chosen: within 1 % of the least {memory} with {limits}")
        }
        None => format!("chosen: the least {memory} with {limits}"),
    }
}

/// True if a setting with less memory was not chosen because the difference is within the slack, where other figures decide.
fn is_undercut(sweep: &Sweep, chosen: &CellResult) -> bool {
    let Some(most) = chosen.median(Figure::Private) else {
        return false;
    };
    let least = most / (1.0 + Figure::Private.slack());
    sweep.cells.iter().any(|cell| {
        let private = cell.median(Figure::Private);
        let is_near = private.is_some_and(|private| private >= least && private < most);
        let loses_by_other_figures = matches!(
            cell.why_not,
            Some(WhyNot::MoreCpu(_) | WhyNot::Beaten(_) | WhyNot::Stopped)
        );
        is_near && loses_by_other_figures
    })
}

/// The cost of the chosen cell against the default.
fn price(sweep: &Sweep, cell: &CellResult) -> String {
    let mut costs = Vec::new();
    for figure in [Figure::P50, Figure::P95, Figure::Cpu, Figure::Faults, Figure::Peak] {
        let difference = difference_from_default(cell, figure);
        if sweep.rules.decides_by(figure) && !difference.is_empty() {
            costs.push(format!("{} {difference}", sweep.places.name(figure)));
        }
    }
    if costs.is_empty() {
        return "its cost is not known".to_owned();
    }
    format!("against the default: {}", costs.join(", "))
}

/// Unequal work in short; less work comes first.
fn unequal(cell: &CellResult) -> Option<String> {
    let worst = cell.work.iter().find(|work| work.less).or(cell.work.first())?;
    let more = match cell.work.len() {
        1 => String::new(),
        all => format!("; and {} more", units::count(all as u64 - 1)),
    };
    let consequence = if cell.did_less() {
        "; so it is not recommended"
    } else {
        ""
    };
    Some(format!(
        "{}{more}{consequence}",
        notes::unequal(&cell.label, "default", worst)
    ))
}

/// Explains the columns, in one paragraph.
pub fn legend(sweep: &Sweep) -> String {
    if let Some(timed) = &sweep.places.command {
        return format!(
            "medians, sizes in MiB · peak: the kernel's mark of the largest process, of a tree at least its sampled sum; \
             interval: of the median (* full range: too few runs for 95 %) · against default: 95 % interval of the ratio · \
             private-peak: sampled · {}: {} · front: no other setting is as good in peak, {} and CPU and clearly better in one",
            sweep.places.name(Figure::P95),
            match timed {
                Timed::Printed(_) => "as the command prints it",
                Timed::Wall => "time from start to end",
            },
            sweep.places.name(Figure::P95),
        );
    }
    let window = match sweep.places.window {
        Some(WindowKind::Simmer) => "the simmer window",
        Some(_) => "the silent window",
        None => "a window of 1 s or more (there is none)",
    };
    let method = sweep
        .places
        .method
        .as_deref()
        .unwrap_or("no method (none was asked often enough)");
    let mut played = sweep.cells.iter().filter(|cell| !cell.runs.is_empty());
    let settled = if played.clone().all(|cell| cell.rest.settled) {
        "settled, "
    } else if played.all(|cell| cell.rest.moving == 0) {
        ""
    } else {
        "not settled everywhere, "
    };
    format!(
        "medians, sizes in MiB · private: {settled}at the checkpoint{}; interval: of the median (* full range: too few runs \
         for 95 %) · against default: 95 % interval of the ratio · returned: share of the growth so far that was released \
         (resident memory for one process, private for several) · t90: time until nine tenths of the fall in {window} · \
         p50, p95: latency of {method} · CPU, faults: over the whole run · front: no other setting is as good in {} and \
         clearly better in one",
        after_phase(sweep),
        if sweep.rules.is_shared {
            "private"
        } else {
            "private, p95 and CPU"
        }
    )
}
