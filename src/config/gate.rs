//! Turns a gate file and gate options into rules that name only existing things.

use std::ops::Range;

use analysis::figures::{Figure, GatedFigure, GatedFigureError, GatedPart, Leak, Rule, Rules, Unit, WorkLimits};
use analysis::growth::Per;
use base::band::{LEAST_ROUNDS, LeakLimit, MOST_ENDPOINTS, Tolerance, tolerance};
use base::lens::Lens;
use base::text::nearest;
use base::units::{Share, Size};

use super::check;
use super::decode::{Document, Segment};
use super::load::independent;
use super::problem::{Mistake, MistakeReport};
use super::wording::instead;
use file::{EndpointEntry, LeakEntry, WorkEntry};
use when::{BudgetRule, amount, inside};

pub use file::GateFile;

mod file;
#[cfg(test)]
mod tests;
mod when;

/// The names that a rule may use, and the options of the command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateContext {
    pub phases: Vec<String>,
    /// The methods that the steps request; other methods may be sent too.
    pub methods: Vec<String>,
    /// True if no other method is sent, so that any other is a mistake.
    pub all_methods: bool,
    /// Phases repeated often enough to detect growth.
    pub repeated: Vec<String>,
    /// The lenses of the runs.
    pub lenses: Vec<Lens>,
    /// Lenses that runs are made through only if a rule names them.
    pub optional_lenses: Vec<Lens>,
    /// True if runs through the purged lens report their live memory, which then decides.
    pub is_collected: bool,
    /// True if runs are played at once, so that no time decides.
    pub is_shared: bool,
    /// True if the runs are commands that were run to their end.
    pub is_command: bool,
    /// True if there is no baseline, so that only budgets and growth can decide.
    pub is_alone: bool,
    /// Default share that is tolerated.
    pub tol: Option<Share>,
    /// Default share that must be ruled out.
    pub fail: Option<Share>,
    /// Default size below which a difference never matters.
    pub floor: Option<Size>,
    /// Budgets in addition to the file's.
    pub budgets: Vec<String>,
}

/// A mistake: its description, and the cure.
type Wrong = (String, String);

const ONE_GROWTH: [&str; 2] = [
    "a gate has one limit of growth, and this is a second",
    "leave one of them out",
];

impl GateContext {
    /// The rules of a gate file (path and text) and of the command line; or every mistake in both.
    pub fn rules(&self, file: Option<(&str, &str)>) -> Result<Rules, MistakeReport> {
        let mut report = MistakeReport::default();
        let mut rules = Rules {
            lens: self.deciding(),
            primaries: Vec::new(),
            advisory: Vec::new(),
            budgets: Vec::new(),
            leak: None,
            work: WorkLimits::default(),
        };
        if let Some((path, text)) = file {
            let faults = self.file(text, &mut rules);
            report.add(path, text, faults);
        }
        for text in &self.budgets {
            if let Err((span, (title, cure))) = self.add_budget(text, &mut rules) {
                report.add("--budget", text, vec![Mistake::new(span, title, cure)]);
            }
        }
        let silent = rules.budgets.is_empty() && rules.leak.is_none();
        match (rules.primaries.is_empty(), rules.advisory.is_empty()) {
            _ if self.is_alone => self.limits_alone(silent, &mut report),
            (true, true) => self.usual(&mut rules, &mut report),
            // If every endpoint is only advisory, no other may decide by default.
            (true, false) if silent && report.is_empty() => report.add_loose(
                "every endpoint is advisory, so nothing decides",
                "leave `advisory` out of one, or add a budget or `[leak]`",
            ),
            (true, false) | (false, _) => {}
        }
        report.unless_empty(Some(rules))
    }

    /// Refuses options that are about a difference, and rules of which none can decide, where there is no baseline.
    fn limits_alone(&self, silent: bool, report: &mut MistakeReport) {
        let differences = [
            ("--tol", self.tol.is_some()),
            ("--fail", self.fail.is_some()),
            ("--floor", self.floor.is_some()),
        ];
        for (option, is_set) in differences {
            if is_set {
                let title = format!("`{option}` is about the difference from a baseline, and there is none");
                report.add_loose(title, "name one with --baseline, or leave the option out");
            }
        }
        if silent && report.is_empty() {
            report.add_loose(
                "without a baseline nothing decides",
                "name one with --baseline, or set a limit, such as --budget 'peak <= 600 MiB'",
            );
        }
    }

    /// The purged lens shows small changes in few runs, so it decides if present.
    fn deciding(&self) -> Lens {
        match self.lenses.contains(&Lens::Purged) {
            // Purging costs a command the time by which it is judged.
            true if self.is_command && self.lenses.contains(&Lens::AsShipped) => Lens::AsShipped,
            true => Lens::Purged,
            false => Lens::AsShipped,
        }
    }

    /// The default endpoints: live memory at the end if it is reported, else private memory, and the peak if only the
    /// as-shipped lens is present. Of a command, its time and its peak.
    fn usual(&self, rules: &mut Rules, report: &mut MistakeReport) {
        let mut add = |figure: Figure, at: GatedPart, lens: Lens, decides: bool| {
            let what = GatedFigure {
                figure,
                at,
                lens: Some(lens),
            };
            let rule = self.tolerance(&what, &EndpointEntry::default());
            match rule {
                Ok(tolerance) if decides => rules.primaries.push(Rule {
                    subject: what,
                    tolerance,
                }),
                Ok(tolerance) => rules.advisory.push(Rule {
                    subject: what,
                    tolerance,
                }),
                Err((title, cure)) if report.is_empty() => report.add_loose(title, cure),
                Err(_) => {}
            }
        };
        if self.is_command {
            add(Figure::Peak, GatedPart::Run, self.deciding(), true);
            add(Figure::Wall, GatedPart::Run, self.deciding(), !self.is_shared);
            return;
        }
        let purged = self.lenses.contains(&Lens::Purged);
        if purged {
            if self.is_collected {
                add(Figure::Live, GatedPart::Result, Lens::Purged, true);
            }
            add(Figure::Private, GatedPart::Result, Lens::Purged, !self.is_collected);
        }
        if self.lenses.contains(&Lens::AsShipped) {
            add(Figure::Private, GatedPart::Result, Lens::AsShipped, !purged);
            add(Figure::Peak, GatedPart::Run, Lens::AsShipped, !purged);
        }
    }

    fn file(&self, text: &str, rules: &mut Rules) -> Vec<Mistake> {
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(faults) => return faults,
        };
        let version = document.integer("format");
        if let Some(fault) = version.and_then(|version| check::format(version, document.span(&["format".into()]))) {
            return vec![fault];
        }
        let (file, mut faults) = document.read::<GateFile>();
        let mut later = Vec::new();
        for (index, entry) in file.iter().flat_map(|file| file.endpoint.iter().enumerate()) {
            let place = EndpointPlace {
                document: &document,
                index,
            };
            match self.endpoint(entry, &place, &mut later) {
                Some(rule) if entry.advisory => rules.advisory.push(rule),
                Some(_) if rules.primaries.len() == MOST_ENDPOINTS => {
                    let title = format!("more than {MOST_ENDPOINTS} endpoints decide");
                    let cure = "each one's share of α is too small to ever fail; mark the others `advisory = true`";
                    later.push(Mistake::new(place.span("metric"), title, cure));
                }
                Some(rule) => rules.primaries.push(rule),
                None => {}
            }
        }
        for (index, text) in file.iter().flat_map(|file| file.budgets.iter().enumerate()) {
            if let Err((within, wrong)) = self.add_budget(text, rules) {
                let span = document.span(&["budgets".into(), index.into()]);
                later.push(fault(inside(span, text, within), wrong));
            }
        }
        if let Some(file) = &file {
            match file.leak.as_ref().map(|leak| self.leak(leak)) {
                None => {}
                Some(Ok(_)) if rules.leak.is_some() => {
                    later.push(fault(leak_span(&document), ONE_GROWTH.map(str::to_owned).into()));
                }
                Some(Ok(leak)) => rules.leak = Some(leak),
                Some(Err(wrong)) => later.push(fault(leak_span(&document), wrong)),
            }
            rules.work = work(&file.work);
            if self.is_alone && file.work != WorkEntry::default() {
                let cure = "name one with --baseline, or leave `[work]` out";
                let title = "`[work]` compares the candidate with a baseline, and there is none";
                later.push(Mistake::new(document.span(&["work".into()]), title, cure));
            }
        }
        faults.extend(independent(later, &faults));
        faults
    }

    fn endpoint(&self, entry: &EndpointEntry, place: &EndpointPlace<'_>, faults: &mut Vec<Mistake>) -> Option<Rule> {
        let before = faults.len();
        let what = match measured(entry, place) {
            Ok(what) => what.with_lens(entry.lens),
            Err(wrong) => {
                faults.push(wrong);
                return None;
            }
        };
        if let Err(wrong) = self.figure(what.figure) {
            faults.push(fault(place.span("metric"), wrong));
        }
        if let Err(wrong) = self.phase(&what.at) {
            faults.push(fault(place.span("phase"), wrong));
        }
        if let Err(wrong) = self.method(&what.at) {
            faults.push(fault(place.span("method"), wrong));
        }
        if let Err(wrong) = self.lens(entry.lens) {
            faults.push(fault(place.span("lens"), wrong));
        }
        let what = self.as_shipped(what);
        if self.is_alone {
            let title = format!(
                "an endpoint compares `{}` with a baseline, and there is none",
                what.figure.name()
            );
            let cure = "name one with --baseline, or set a limit in `budgets`, such as \"peak <= 600 MiB\"";
            faults.push(Mistake::new(place.span("metric"), title, cure));
        }
        match self.tolerance(&what, entry) {
            Ok(tolerance) if faults.len() == before => Some(Rule {
                subject: what,
                tolerance,
            }),
            Ok(_) => None,
            Err(wrong) => {
                let key = if entry.fail.is_some() || entry.floor.is_none() {
                    "fail"
                } else {
                    "floor"
                };
                faults.push(fault(place.span(key), wrong));
                None
            }
        }
    }

    /// Checks that a phase exists in the scenario.
    fn phase(&self, at: &GatedPart) -> Result<(), Wrong> {
        let GatedPart::Phase(name) = at else {
            return Ok(());
        };
        let names: Vec<&str> = self.phases.iter().map(String::as_str).collect();
        if names.contains(&name.as_str()) {
            Ok(())
        } else {
            Err((format!("the scenario has no phase `{name}`"), instead(name, &names)))
        }
    }

    /// Checks that a method was sent, or at least is no misspelling of a requested one.
    fn method(&self, at: &GatedPart) -> Result<(), Wrong> {
        let GatedPart::Method(name) = at else {
            return Ok(());
        };
        let known = || self.methods.iter().map(String::as_str);
        if known().any(|known| known == name) {
            return Ok(());
        }
        let cure = match nearest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.all_methods => format!("there are {}", known().collect::<Vec<_>>().join(", ")),
            None => return Ok(()),
        };
        Err((format!("the scenario asks for no `{name}`"), cure))
    }

    /// Checks that it decides anything.
    fn figure(&self, figure: Figure) -> Result<(), Wrong> {
        match figure {
            Figure::Live if !self.is_collected => Err((
                "no server reports its live memory after a forced collection".to_owned(),
                "use `private` through the purged lens".to_owned(),
            )),
            figure if self.is_shared && figure.is_time() => Err((
                format!("{} decides nothing among runs that are played at once", figure.words()),
                "leave `--jobs` out, or this rule".to_owned(),
            )),
            figure if self.is_command && !figure.is_of_commands() => Err((
                format!("a command has no {}", figure.words()),
                format!("there are {}", names(Figure::is_of_commands)),
            )),
            figure if !self.is_command && !figure.is_of_servers() => Err((
                format!("only commands that `lsp-soak cold` ran have {}", figure.words()),
                format!("of a server there are {}", names(Figure::is_of_servers)),
            )),
            _ => Ok(()),
        }
    }

    /// Peaks and times mean a server as it is: a rule about them asks for those runs, unless it or the command line names the
    /// purged lens.
    fn as_shipped(&self, what: GatedFigure) -> GatedFigure {
        let is_of_use = what.figure == Figure::Peak || what.figure.is_time();
        let is_played = self.lenses.contains(&Lens::AsShipped) || self.optional_lenses.contains(&Lens::AsShipped);
        match what.lens {
            None if is_of_use && is_played => what.with_lens(Some(Lens::AsShipped)),
            _ => what,
        }
    }

    /// Checks that a lens is used.
    fn lens(&self, lens: Option<Lens>) -> Result<(), Wrong> {
        match lens {
            Some(lens) if !self.lenses.contains(&lens) && !self.optional_lenses.contains(&lens) => Err((
                format!("no run uses the {lens} lens"),
                "ask for it with --lens both, or leave `lens` out".to_owned(),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// The tolerance: from the entry, then the command line, then the default of the lens.
    fn tolerance(&self, what: &GatedFigure, entry: &EndpointEntry) -> Result<Tolerance, Wrong> {
        let usual = tolerance(what.lens.unwrap_or(self.deciding()));
        let unit = what.figure.unit();
        let floor = match (&entry.floor, self.floor, unit) {
            (Some(text), _, unit) => amount(text, unit)?,
            (None, Some(size), Unit::Bytes) => size.0 as f64,
            (None, None, Unit::Bytes) => usual.floor(),
            (None, ..) => 0.0,
        };
        let tol = entry.tol.or(self.tol).map(|share| share.0);
        let fail = entry.fail.or(self.fail).map(|share| share.0);
        // A larger tolerance than the default also raises the default of the share to rule out.
        let least = tol.unwrap_or(0.0);
        Tolerance::new(
            tol.unwrap_or(usual.tol().min(fail.unwrap_or(usual.tol()))),
            fail.unwrap_or(usual.fail().max(least)),
            floor,
        )
        .map_err(|error| (error.to_string(), "see docs/gate.md, \"What a gate checks\"".to_owned()))
    }

    /// Checks that there are rounds to see growth in.
    fn repeated_phase(&self, phase: Option<&str>, otherwise: &str) -> Result<(), Wrong> {
        let is_known = phase.is_none_or(|phase| self.repeated.iter().any(|known| known == phase));
        if is_known && !self.repeated.is_empty() {
            return Ok(());
        }
        let title = match phase {
            Some(phase) => format!("`{phase}` is not repeated {LEAST_ROUNDS} times or more, so no growth can be seen"),
            None => format!("nothing is repeated {LEAST_ROUNDS} times or more, so no growth can be seen"),
        };
        let repeated = self.repeated.iter().map(String::as_str);
        let cure = match phase.and_then(|phase| nearest(phase, repeated)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("give a phase `repeat = {{ times = {LEAST_ROUNDS} }}`, or {otherwise}"),
        };
        Err((title, cure))
    }

    /// Adds a budget of the command line or of a file.
    fn add_budget(&self, text: &str, rules: &mut Rules) -> Result<(), (Range<usize>, Wrong)> {
        match self.budget(text)? {
            BudgetRule::Limit(limit) => rules.budgets.push(limit),
            BudgetRule::Growth(_) if rules.leak.is_some() => {
                return Err((0..text.len(), ONE_GROWTH.map(str::to_owned).into()));
            }
            BudgetRule::Growth(leak) => rules.leak = Some(leak),
        }
        Ok(())
    }

    fn leak(&self, entry: &LeakEntry) -> Result<Leak, Wrong> {
        self.repeated_phase(entry.phase.as_deref(), "leave `[leak]` out")?;
        let slope = entry.slope.as_deref();
        let slope = slope.map(|text| amount(text, Unit::Bytes)).transpose()?;
        Ok(Leak {
            phase: entry.phase.clone(),
            limit: slope.map_or_else(LeakLimit::default, LeakLimit::from_slope),
            per: Per::Round,
        })
    }
}

fn work(entry: &WorkEntry) -> WorkLimits {
    let usual = WorkLimits::default();
    WorkLimits {
        requests: entry.requests.map_or(usual.requests, |share| share.0),
        hits: entry.hits.map_or(usual.hits, |share| share.0),
        size: entry.size.map_or(usual.size, |share| share.0),
    }
}

fn metrics() -> String {
    names(|_| true)
}

/// The names of the metrics that are of a kind.
fn names(is_of: impl Fn(Figure) -> bool) -> String {
    let all = Figure::COMPARED.into_iter().filter(|figure| is_of(*figure));
    all.map(Figure::name).collect::<Vec<&str>>().join(", ")
}

/// Where an endpoint stands in its file.
struct EndpointPlace<'d> {
    document: &'d Document<'d>,
    index: usize,
}

impl EndpointPlace<'_> {
    fn span(&self, key: &'static str) -> Range<usize> {
        self.document.span(&["endpoint".into(), self.index.into(), key.into()])
    }
}

fn measured(entry: &EndpointEntry, place: &EndpointPlace<'_>) -> Result<GatedFigure, Mistake> {
    let all = || format!("there are {}", metrics());
    let Some(metric) = &entry.metric else {
        return Err(Mistake::new(
            place.span("metric"),
            "an endpoint without a metric",
            all(),
        ));
    };
    let Some(figure) = Figure::from_name(metric) else {
        let near = nearest(metric, Figure::COMPARED.map(Figure::name));
        let fault = Mistake::new(place.span("metric"), format!("unknown metric `{metric}`"), all());
        return Err(fault.label(near.map_or_else(String::new, |near| format!("did you mean `{near}`?"))));
    };
    GatedFigure::new(figure, entry.phase.clone(), entry.method.clone()).map_err(|error| {
        let (key, cure) = match error {
            GatedFigureError::Method(_) => ("metric", "leave `method` out"),
            GatedFigureError::Both(_) => ("phase", "leave `phase` out"),
            GatedFigureError::NoMethod(_) | GatedFigureError::Metric(_) | GatedFigureError::Rest(..) => (
                "metric",
                "add `method = \"textDocument/completion\"`, or whichever is meant",
            ),
        };
        let text = error.to_string();
        let title = text.split_once(": ").map_or(text.as_str(), |(title, _)| title);
        Mistake::new(place.span(key), title, cure)
    })
}

fn fault(span: Range<usize>, (title, cure): Wrong) -> Mistake {
    Mistake::new(span, title, cure)
}

fn leak_span(document: &Document<'_>) -> Range<usize> {
    let path: [Segment<'_>; 2] = ["leak".into(), "phase".into()];
    document.span(&path)
}
