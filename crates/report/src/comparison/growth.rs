//! Growth from round to round as text: slopes, shapes, and which part of a scenario grows.

use std::collections::BTreeMap;

use crate::document::page::Keys;
use crate::document::{Section, Weight};
use crate::pictures::{self, Named};
use analysis::compare::{Comparison, Grown};
use analysis::growth::{Asked, End, LastGrowth, Reservation, Sent, Unasked, WhyUnasked};
use base::band::LEAST_ROUNDS;
use base::group_values;
use base::lens::Lens;
use base::units;
use stats::{Answer, Bounded, Growth, LEAST_RUNS, Open, Shape, WARM_UP_CYCLES};

use base::text::table::{Column, Table};
use base::text::{Sentence, Tone};

/// The word for growth. An allocator as it was shipped keeps memory that is free, and perhaps more of it with every
/// round, which is no leak; and one run is not enough to call growth a leak.
fn word(lens: Lens, runs: usize) -> &'static str {
    match lens {
        Lens::AsShipped => "retention growth",
        Lens::Purged if runs == 1 => "growth",
        Lens::Purged => "leak",
    }
}

/// One line of a table of growth: a part that is repeated, in one run or in several.
#[derive(Clone, Debug)]
pub(crate) struct GrowthLine {
    pub name: String,
    /// The server; empty for a single run.
    pub server: String,
    rounds: usize,
    sent: Option<Sent>,
    asked: Asked,
    unasked: Vec<Unasked>,
    reserved: Vec<Reservation>,
    /// The least slope per round that would have been seen in 80 of 100 cases.
    detectable: Option<f64>,
    /// Per round, with the ends of the interval.
    slope: Option<Bounded>,
    shape: Option<Shape>,
    growth: Growth,
    /// The reason why several runs decide nothing, and the number of rounds that probably would.
    open: Option<(Open, Option<usize>)>,
    /// Growth up to a crash or another end.
    up_to_end: Option<LastGrowth>,
}

impl GrowthLine {
    /// `server` is empty for a single run.
    pub fn new(server: &str, grown: &Grown) -> GrowthLine {
        GrowthLine {
            name: grown.name.clone(),
            server: server.to_owned(),
            rounds: grown.rounds,
            sent: grown.sent,
            asked: grown.asked,
            unasked: grown.unasked.clone(),
            reserved: grown.reserved.clone(),
            detectable: grown.verdict.detectable,
            slope: grown.verdict.slope,
            shape: grown.verdict.shape,
            growth: match grown.verdict.answer {
                _ if grown.up_to_end.is_some() => Growth::Above,
                Answer::Fail => Growth::Above,
                Answer::Pass => Growth::Below,
                Answer::Inconclusive => Growth::Unclear,
            },
            open: grown.verdict.open.map(|open| (open, grown.verdict.needed)),
            up_to_end: grown.up_to_end,
        }
    }

    /// The reason why growth is neither shown nor denied.
    fn why_open(&self) -> String {
        match self.open {
            Some((Open::Rounds, _)) if self.rounds < LEAST_ROUNDS => {
                format!(
                    "{}, the rule needs {LEAST_ROUNDS}",
                    units::count_of(self.rounds as u64, "round")
                )
            }
            Some((Open::Runs, _)) if self.server.is_empty() => "one run does not decide it".to_owned(),
            Some((open, needed)) => reason(open, needed),
            None => units::UNKNOWN.to_owned(),
        }
    }

    pub fn shape(&self) -> &'static str {
        if self.is_never_asked() {
            return units::UNKNOWN;
        }
        shape_name(self.shape)
    }

    /// The middle and the interval of the slope per round. Memory in rounds in which nothing was asked says nothing.
    pub fn per_round(&self) -> (String, String) {
        if self.is_never_asked() {
            return ("not asked".to_owned(), String::new());
        }
        let interval = self.slope.map(|slope| units::slope_range(slope.low, slope.high));
        (
            units::or_unknown(self.slope, |slope| units::slope(slope.value)),
            interval.unwrap_or_default(),
        )
    }

    /// The slope per message: `+64.0 KiB per request`.
    pub fn per_message(&self) -> String {
        if self.is_never_asked() {
            return units::UNKNOWN.to_owned();
        }
        let Some((sent, slope)) = self.sent.zip(self.slope) else {
            return units::UNKNOWN.to_owned();
        };
        match (sent.per_message(slope.value), sent) {
            (Some(slope), _) => format!("{} per {}", units::slope(slope), sent.name()),
            (None, Sent::Answers(_)) => "only answers are sent".to_owned(),
            (None, _) => "nothing is sent".to_owned(),
        }
    }

    /// Growth up to an end, or with its slope and shape.
    fn growth_in_words(&self) -> String {
        let Some(growth) = self.up_to_end else {
            return format!("{}, {}", self.slope_in_words(), self.shape());
        };
        let end = match growth.end {
            End::Crash => "when a process crashed",
            End::Limit => "at the memory limit",
            End::Loss => "when the process with most of it ended",
        };
        format!(
            "from {} in the first rounds to {} in round {}, {end}",
            units::bytes(growth.from),
            units::bytes(growth.to),
            growth.round
        )
    }

    /// The least growth per round that would have been seen in 80 of 100 cases.
    fn would_find(&self) -> String {
        if self.cannot_deny_growth() {
            return units::UNKNOWN.to_owned();
        }
        units::or_unknown(self.detectable, units::slope)
    }

    /// The slope and its shape if the interval lies above 0: it is seen, though nothing is decided by it.
    fn visible_growth(&self) -> Option<String> {
        let Bounded { low, .. } = self.slope?;
        if low > 0.0 {
            Some(format!("{}, {}", self.slope_in_words(), self.shape()))
        } else {
            None
        }
    }

    /// The slope with its interval, per message where there are any.
    fn slope_in_words(&self) -> String {
        let Some(Bounded {
            value: slope,
            low,
            high,
        }) = self.slope
        else {
            return units::UNKNOWN.to_owned();
        };
        match self.sent {
            Some(sent) => match (sent.per_message(slope), sent.per_message(low), sent.per_message(high)) {
                (Some(slope), Some(low), Some(high)) => units::slope_with_range(slope, low, high, sent.name()),
                _ => units::slope_with_range(slope, low, high, "round"),
            },
            None => units::slope_with_range(slope, low, high, "round"),
        }
    }

    /// True if the server did not do all that the part repeats, so that growth cannot be denied.
    fn cannot_deny_growth(&self) -> bool {
        self.asked != Asked::Yes && self.growth != Growth::Above
    }

    fn is_never_asked(&self) -> bool {
        self.cannot_deny_growth() && self.asked == Asked::No
    }

    /// Growth stands out; open answers step back.
    pub fn tone(&self) -> Tone {
        match self.growth {
            Growth::Above => Tone::Warning,
            Growth::Below => Tone::Plain,
            Growth::Unclear => Tone::Quiet,
        }
    }

    /// The answer in one word.
    pub fn answer(&self) -> &'static str {
        if self.cannot_deny_growth() {
            return match self.asked {
                Asked::Partly => "partly asked",
                Asked::Unanswered => "not answered",
                Asked::No | Asked::Yes => "not asked",
            };
        }
        match self.growth {
            Growth::Above => "grows",
            Growth::Below => "does not",
            Growth::Unclear => "not decided",
        }
    }
}

/// The table's columns, after the names.
fn columns<'l>(names: Table<'l, GrowthLine>) -> Table<'l, GrowthLine> {
    names
        .number("rounds", 5, |line| line.rounds.to_string())
        .number("per round", 1, |line| (line.tone(), line.per_round().0))
        .text("interval", 1, |line| (Tone::Quiet, line.per_round().1))
        .number("would find", 1, |line| (Tone::Quiet, line.would_find()))
        .text("per message", 4, GrowthLine::per_message)
        .text("shape", 3, GrowthLine::shape)
}

/// Explains the columns of the least growth and of the interval.
const LEGEND: &str = "would find: the least growth per round that shows in 80 of 100 cases; interval: spans the 95 % \
                                  intervals of all runs";

fn note() -> String {
    format!("private memory at the end of each round, without the first {WARM_UP_CYCLES}")
}

/// Sentences on the parts that grow, that do not, and that are not decided. A single run cannot deny growth.
pub(crate) fn growth_sentences(lines: &[GrowthLine], lens: Lens, runs: usize) -> Vec<String> {
    let word = word(lens, runs);
    let growing = lines_with(lines, Growth::Above);
    let mut sentences: Vec<String> = growing
        .iter()
        .map(|line| format!("{word} in {}: {}", line.name, line.growth_in_words()))
        .collect();
    for line in &growing {
        if line.sent == Some(Sent::Nothing) {
            sentences.push(format!(
                "{} grows while nothing is sent, so growth in other parts may have the same source",
                line.name
            ));
        }
        if line.sent == Some(Sent::Waiting) {
            sentences.push(format!(
                "{} grows while only a request stays open, so growth in other parts may have the same source",
                line.name
            ));
        }
        if let Some(Sent::Answers(count)) = line.sent {
            sentences.push(format!(
                "nothing is asked in {}, but the server asks by itself: {count:.1} requests per round, which lsp-soak \
                 answers",
                line.name
            ));
        }
    }
    let still = lines_with(lines, Growth::Below);
    if !still.is_empty() {
        let seen = still.iter().filter_map(|line| line.detectable).fold(0.0, f64::max);
        let still: Vec<String> = still
            .iter()
            .map(|line| format!("{}{}", line.name, reservations(&line.reserved)))
            .collect();
        let (still, seen) = (still.join(", "), units::slope(seen));
        sentences.push(if runs == 1 {
            format!("this run does not show growth in {still}: it would show {seen} per round in 80 of 100 cases")
        } else {
            format!("no {word} in {still}: {seen} per round or more would have been seen in 80 of 100 cases")
        });
    }
    sentences.extend(undecided(lines));
    sentences.extend(unasked(lines));
    sentences
}

/// The lines with this answer; a denial only of what was asked and answered.
fn lines_with(lines: &[GrowthLine], answer: Growth) -> Vec<&GrowthLine> {
    let asked = lines.iter().filter(|line| !line.cannot_deny_growth());
    asked.filter(|line| line.growth == answer).collect()
}

/// Limits of a denial of growth, in brackets: ` (40 % of the hover requests failed)`.
pub(crate) fn reservations(reserved: &[Reservation]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for reservation in reserved {
        let step = &reservation.step;
        if let Some(share) = reservation.failed {
            parts.push(format!("{} of the `{step}` requests failed", units::percent(share)));
        }
        if reservation.found_nothing {
            parts.push(format!("`{step}` found nothing"));
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    format!(" ({})", parts.join(", "))
}

/// Sentences on parts whose growth is open, grouped by reason; with the slope where one is seen.
fn undecided(lines: &[GrowthLine]) -> Vec<String> {
    let mut open = Vec::new();
    for line in lines_with(lines, Growth::Unclear) {
        let name = match line.visible_growth() {
            Some(growth) => format!("{} (seen: {growth})", line.name),
            None => line.name.clone(),
        };
        open.push((line.why_open(), name));
    }
    let mut sentences = Vec::new();
    for (why, names) in group_values(open) {
        sentences.push(format!("not decided in {}: {why}", names.join(", ")));
    }
    sentences
}

/// Steps that the server was not asked or did not answer, grouped by reason. Of a part that did other work too, the
/// step is named.
fn unasked(lines: &[GrowthLine]) -> Vec<String> {
    let mut groups: BTreeMap<WhyUnasked, Vec<String>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.cannot_deny_growth()) {
        for step in &line.unasked {
            let is_named_alike = step.step == line.name || (line.unasked.len() == 1 && line.asked != Asked::Partly);
            let mut name = if is_named_alike {
                line.name.clone()
            } else {
                format!("`{}` in {}", step.step, line.name)
            };
            if step.why.is_in_vain()
                && let Some(growth) = line.visible_growth()
            {
                name.push_str(&format!(" (seen: {growth})"));
            }
            groups.entry(step.why).or_default().push(name);
        }
    }
    let mut sentences = Vec::new();
    for (why, names) in groups {
        sentences.push(format!("{}: {} ({})", why.heading(), names.join(", "), why.reason()));
    }
    sentences
}

/// The steps that a part did not ask, in one clause: ``not asked: `save` (there was nothing to send)``.
pub(crate) fn unasked_steps(unasked: &[Unasked]) -> String {
    let named: Vec<String> = unasked
        .iter()
        .map(|step| format!("`{}` ({})", step.step, step.why.reason()))
        .collect();
    let first = unasked.first().map_or("not asked", |step| step.why.heading());
    let is_alike = unasked.iter().all(|step| step.why.heading() == first);
    let what = if is_alike { first } else { "not asked" };
    format!("{what}: {}", named.join(", "))
}

/// The reason why growth is neither shown nor ruled out, and what would decide it.
pub(crate) fn reason(open: Open, needed: Option<usize>) -> String {
    let why = match open {
        Open::Runs => return format!("it takes {LEAST_RUNS} runs"),
        Open::Unasked => return "the server was not asked, or did not answer".to_owned(),
        Open::Rounds => return format!("it takes {LEAST_ROUNDS} rounds whose memory is known"),
        Open::Slowing => "the growth slows down, as when a cache fills",
        Open::Falling => "memory rises and falls by as much",
        Open::Noise => "the noise is larger than the growth that matters",
    };
    match needed {
        Some(rounds) => format!("{why}; about {rounds} rounds will probably decide"),
        None => format!("{why}; no reasonable number of rounds decides"),
    }
}

/// The name of a shape; `n/a` if it is unknown.
pub(crate) fn shape_name(shape: Option<Shape>) -> &'static str {
    let Some(shape) = shape else {
        return units::UNKNOWN;
    };
    match shape {
        Shape::Flat => "flat",
        Shape::Step => "a step",
        Shape::Decelerating => "decelerating",
        Shape::Linear => "linear",
        Shape::Runaway => "runaway",
    }
}

/// A line for each repeated part and each server; the lines of one part follow one another.
pub(crate) fn lines(comparison: &Comparison) -> Vec<GrowthLine> {
    let mut names: Vec<&str> = Vec::new();
    for grown in comparison.sides.iter().flat_map(|side| &side.growth) {
        if !names.contains(&grown.name.as_str()) {
            names.push(&grown.name);
        }
    }
    let mut lines = Vec::new();
    for name in names {
        for side in &comparison.sides {
            let grown = side.growth.iter().find(|grown| grown.name == name);
            lines.extend(grown.map(|grown| GrowthLine::new(&side.label, grown)));
        }
    }
    lines
}

fn table(lines: &[GrowthLine], has_several_servers: bool) -> Vec<Column> {
    let mut names = Table::new(lines).text("repeated", 0, |line| (Tone::Strong, &line.name));
    if has_several_servers {
        names = names.text("server", 0, |line| &line.server);
    }
    let table = columns(names);
    // One run is no verdict.
    if lines.iter().all(|line| line.server.is_empty()) {
        return table.columns();
    }
    table.text("answer", 1, |line| (line.tone(), line.answer())).columns()
}

/// The table of these lines with a chart; `None` where nothing was repeated.
pub(crate) fn section(id: &str, lines: &[GrowthLine], servers: &[(&str, Vec<Named>)], keys: Keys) -> Option<Section> {
    if lines.is_empty() {
        return None;
    }
    Some(
        Section::new(format!("{id}growth"), "Growth per round", Weight::Answer)
            .noted(note())
            .with_block(pictures::growth::all_runs(servers, keys))
            .with_block(table(lines, servers.len() > 1))
            .with_block(Sentence::definition("growth.legend", LEGEND)),
    )
}

/// Sentences on the growth of each server.
pub(crate) fn verdict(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for side in &comparison.sides {
        let grown = side.growth.iter();
        let lines: Vec<GrowthLine> = grown.map(|grown| GrowthLine::new(&side.label, grown)).collect();
        let lens = side.growth.first().map_or(Lens::AsShipped, |grown| grown.lens);
        for sentence in growth_sentences(&lines, lens, side.runs.len().max(1)) {
            sentences.push(format!("{}: {sentence}", side.label));
        }
    }
    sentences
}
