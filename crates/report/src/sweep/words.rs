//! A sweep in sentences: what to ship and why, its cost, and the caveats.

use std::time::Duration;

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

use super::columns::{after, against, amount, stop};
use super::doubts::{doubts, unsettled};
use super::why;

/// The recommended cell, if any.
pub fn chosen(sweep: &Sweep) -> Option<&CellResult> {
    match sweep.choice {
        Recommendation::Use(place) => sweep.cells.get(place),
        Recommendation::Default(_) | Recommendation::None(_) | Recommendation::Unknown => None,
    }
}

/// The answer in one sentence, with what makes it no answer for good.
pub fn headline(sweep: &Sweep) -> String {
    let moving = sweep.cells.iter().filter(|cell| cell.rest.moving > 0).count();
    let is_open = matches!(
        sweep.choice,
        Recommendation::Default(KeepReason::TooFew) | Recommendation::Unknown
    );
    if is_open || moving == 0 {
        return answer(sweep);
    }
    let all = units::counted(sweep.cells.len() as u64, "setting");
    let all = match chosen(sweep) {
        Some(chosen) if chosen.rest.moving == 0 => {
            let default = if sweep.cells[0].rest.moving > 0 {
                ", the default among them"
            } else {
                ""
            };
            format!("{moving} of {} other settings{default}", sweep.cells.len() - 1)
        }
        _ => format!("{moving} of {all}"),
    };
    format!("{}; memory was still changing in {all}", answer(sweep))
}

fn answer(sweep: &Sweep) -> String {
    let label = |place: usize| {
        sweep
            .cells
            .get(place)
            .map_or(units::UNKNOWN, |cell| cell.label.as_str())
    };
    let private =
        |cell: &CellResult| units::or_unknown(cell.median(Figure::Private), |value| amount(value, Figure::Private));
    let limit = units::or_unknown(sweep.rules.max_private, units::exact_bytes);
    match sweep.choice {
        Recommendation::Use(place) => {
            let cell = &sweep.cells[place];
            let default = &sweep.cells[0];
            let saved = cell
                .figure(Figure::Private)
                .ratio
                .as_ref()
                .and_then(figures::difference);
            let saved = saved.map_or_else(String::new, |saved| format!(", {saved}"));
            format!(
                "use {}: {} {}{} instead of {}{saved}",
                cell.label,
                private(cell),
                sweep.places.name(Figure::Private),
                after(sweep),
                private(default)
            )
        }
        Recommendation::Default(KeepReason::TooFew) => match cut(sweep) {
            Some(cut) => format!("no recommendation: {cut}, and {LEAST_RUNS} are needed"),
            None => format!("no recommendation: fewer than {LEAST_RUNS} runs of each setting; use more --rungs"),
        },
        Recommendation::Default(KeepReason::OthersFailed) => "keep the default: every other setting failed".to_owned(),
        Recommendation::Default(KeepReason::NothingLess) => "keep the default: no setting shows less memory".to_owned(),
        Recommendation::Default(KeepReason::Barred(place)) => why::barred(sweep, &sweep.cells[place]),
        Recommendation::Default(KeepReason::CostOpen(place)) => why::cost_open(sweep, &sweep.cells[place]),
        Recommendation::Default(KeepReason::TooDear(place)) => format!(
            "keep the default: settings with less memory cost more than the limits allow, such as {} ({})",
            label(place),
            why::limits(sweep, &sweep.cells[place], &dear(sweep, &sweep.cells[place]))
        ),
        Recommendation::Default(KeepReason::Fastest) if !as_fast(sweep).is_empty() => {
            format!("keep the default: no setting under {limit} is faster")
        }
        Recommendation::Default(KeepReason::Fastest) => format!("keep the default: it is the fastest under {limit}"),
        Recommendation::None(None) => format!("no setting stays under {limit}"),
        Recommendation::None(Some(place)) => format!(
            "no setting stays under {limit}: {} comes nearest, with up to {}",
            label(place),
            units::or_unknown(nearest(&sweep.cells[place]), |most| amount(most, Figure::Private))
        ),
        Recommendation::Unknown => "no result: the server failed with its defaults".to_owned(),
    }
}

/// Caveats of a cell that a user wants to ship: not recommended, or not settled.
pub fn reservations(sweep: &Sweep, cell: &CellResult) -> Vec<String> {
    let label = &cell.label;
    let is_default = |one: &&CellResult| one.label == *label;
    let default = sweep.cells.first().filter(|one| !is_default(one));
    let moving = unsettled(default.into_iter().chain([cell]));
    if chosen(sweep).is_some_and(|chosen| chosen.label == *label) {
        return moving.into_iter().collect();
    }
    let mut sentences = Vec::new();
    let stopped = cell
        .stopped
        .as_ref()
        .map(|stopped| format!("{label} stopped {}", stop(stopped)));
    sentences.extend(stopped);
    if cell.runs.is_empty() {
        let failed = cell.left.iter().filter(|left| left.why == Excluded::Failed).count() as u64;
        sentences.push(match failed {
            0 => format!("no run of {label} counts"),
            failed => format!(
                "no run of {label} counts: the server failed the scenario in {}",
                units::counted(failed, "run")
            ),
        });
    }
    sentences.extend(unequal(cell));
    sentences.extend(cell.refused().map(|knob| not_taken(label, knob)));
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

/// What a cell that is over the limit needs at most, as far as that is known.
fn nearest(cell: &CellResult) -> Option<f64> {
    cell.most_private().or_else(|| cell.median(Figure::Private))
}

/// The figures in which a cell is shown to cost more than is allowed.
fn dear(sweep: &Sweep, cell: &CellResult) -> Vec<Figure> {
    let allowed = sweep.rules.allowed().into_iter();
    let dear = allowed.filter(|(figure, most)| cost_of(cell, *figure, *most) == Cost::Dear);
    dear.map(|(figure, _)| figure).collect()
}

/// The reason, the price, and all caveats. Eliminated cells have sentences of their own.
pub fn sentences(sweep: &Sweep) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let mut add = |tone: Tone, text: String| {
        let mark = if tone == Tone::Plain { "" } else { "note" };
        sentences.push(Sentence::answer("tune.sentence", tone, text).marked(mark));
    };
    if let Some(cell) = chosen(sweep) {
        add(Tone::Plain, reason(sweep, cell));
        add(Tone::Plain, price(sweep, cell));
        if let Some(text) = promised(sweep, cell) {
            add(Tone::Plain, text);
        }
    }
    for text in doubts(sweep) {
        add(Tone::Warning, text);
    }
    for cell in &sweep.cells {
        if let Some(text) = unequal(cell) {
            let tone = if cell.did_less() { Tone::Bad } else { Tone::Warning };
            add(tone, text);
        }
        for knob in cell.refused() {
            add(Tone::Warning, not_taken(&cell.label, knob));
        }
    }
    if let Some(text) = untold(sweep) {
        add(Tone::Warning, text);
    }
    if sweep.choice != Recommendation::Default(KeepReason::TooFew)
        && let Some(text) = cut(sweep)
    {
        add(Tone::Warning, text);
    }
    if sweep.was_played_otherwise() {
        let text = "settings were eliminated for another --max-private and may suit this one: run the sweep with it";
        add(Tone::Warning, text.to_owned());
    }
    if sweep.missing > 0 {
        let missing = units::counted(u64::from(sweep.missing), "setting");
        let verb = if sweep.missing == 1 { "has" } else { "have" };
        add(Tone::Warning, format!("{missing} of the sweep {verb} no run yet"));
    }
    sentences
}

/// What ended it before its end, and after how many runs of each.
fn cut(sweep: &Sweep) -> Option<String> {
    let (had, most) = sweep.cut_short()?;
    let ended = match sweep.planned.as_ref().and_then(|planned| planned.time_budget) {
        Some(budget) => format!(
            "the time budget of {} ended the sweep",
            units::duration(Duration::from_nanos(budget))
        ),
        None => "the sweep ended".to_owned(),
    };
    let runs = units::counted(u64::from(most), "run");
    Some(format!("{ended} after {had} of {runs} of each"))
}

/// What a fresh run will have.
fn promised(sweep: &Sweep, cell: &CellResult) -> Option<String> {
    let (low, high) = cell.promise?;
    Some(format!(
        "expect {} to {} {}{} in one new run (95 %); the best of many settings flatters its own figures",
        amount(low, Figure::Private),
        amount(high, Figure::Private),
        sweep.places.name(Figure::Private),
        after(sweep)
    ))
}

/// The cells with settings that no allocator confirms, in one sentence.
fn untold(sweep: &Sweep) -> Option<String> {
    let of = |cell: &&CellResult| cell.untold().next().is_some();
    if let Some(cell) = chosen(sweep).filter(of) {
        let settings: Vec<String> = cell.untold().map(KnobFacts::written).collect();
        return Some(format!(
            "whether {} is in force is not known, except that the figures differ from the default's",
            settings.join(" and ")
        ));
    }
    let labels: Vec<&str> = sweep.cells.iter().filter(of).map(|cell| cell.label.as_str()).collect();
    (!labels.is_empty()).then(|| {
        format!(
            "whether these are in force is not known, except where their figures differ from the default's: {}",
            labels.join(", ")
        )
    })
}

fn reason(sweep: &Sweep, chosen: &CellResult) -> String {
    let share = |share: f64| units::percent(share);
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
        share(rules.latency),
        share(rules.cpu)
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
    let is_near = |cell: &&CellResult| {
        cell.median(Figure::Private)
            .is_some_and(|private| private >= least && private < most)
    };
    let mut near = sweep.cells.iter().filter(is_near);
    near.any(|cell| {
        matches!(
            cell.why_not,
            Some(WhyNot::MoreCpu(_) | WhyNot::Beaten(_) | WhyNot::Stopped)
        )
    })
}

/// What the chosen cell costs against the default.
fn price(sweep: &Sweep, cell: &CellResult) -> String {
    let figures = [Figure::P50, Figure::P95, Figure::Cpu, Figure::Faults, Figure::Peak];
    let figures = figures.into_iter().filter(|figure| sweep.rules.decides_by(*figure));
    let costs = figures.filter_map(|figure| {
        let text = against(cell, figure);
        (!text.is_empty()).then(|| format!("{} {text}", sweep.places.name(figure)))
    });
    let costs: Vec<String> = costs.collect();
    match costs.is_empty() {
        true => "its cost is not known".to_owned(),
        false => format!("against the default: {}", costs.join(", ")),
    }
}

/// Unequal work in short; less work comes first.
fn unequal(cell: &CellResult) -> Option<String> {
    let worst = cell.work.iter().find(|work| work.less).or(cell.work.first())?;
    let more = match cell.work.len() {
        1 => String::new(),
        all => format!("; and {} more", units::count(all as u64 - 1)),
    };
    let so = if cell.did_less() {
        "; so it is not recommended"
    } else {
        ""
    };
    Some(format!("{}{more}{so}", notes::unequal(&cell.label, "default", worst)))
}

/// What the columns are, in one paragraph.
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
    let all = |is: fn(&CellResult) -> bool| sweep.cells.iter().filter(|cell| !cell.runs.is_empty()).all(is);
    let settled = match (all(|cell| cell.rest.settled), all(|cell| cell.rest.moving == 0)) {
        (true, _) => "settled, ",
        (false, true) => "",
        (false, false) => "not settled everywhere, ",
    };
    format!(
        "medians, sizes in MiB · private: {settled}at the checkpoint{}; interval: of the median (* full range: too few runs \
         for 95 %) · against default: 95 % interval of the ratio · returned: share of the growth so far that was released \
         (resident memory for one process, private for several) · t90: time until nine tenths of the fall in {window} · \
         p50, p95: latency of {method} · CPU, faults: over the whole run · front: no other setting is as good in {} and \
         clearly better in one",
        after(sweep),
        match sweep.rules.is_shared {
            true => "private",
            false => "private, p95 and CPU",
        }
    )
}
