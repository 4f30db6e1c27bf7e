//! The task of `bisect`: the versions, the question, and how each is measured.

use anyhow::{Context, anyhow, bail};

use crate::campaign::Repeating;
use crate::cli::Bisect;
use crate::commands::lenses::servers_through_deciding;
use crate::commands::plan::CampaignPlan;
use crate::commands::resume::Place;
use crate::commands::{explain, gate, prepare, when};
use crate::config::values::{Lenses, Runs};
use crate::config::{GateContext, Loaded};
use crate::resolve::ServerChoice;
use analysis::bisect::Question;
use analysis::figures::{Figure, GatedFigure};
use analysis::when::When;
use base::lens::Lens;
use stats::Schedule;

use super::versions::{Versions, one_line};

/// A bisection that can begin.
pub struct BisectPlan<'o> {
    options: &'o Bisect,
    pub scenario: Loaded,
    pub versions: Versions,
    /// The first and the last version.
    pub ends: Vec<ServerChoice>,
    lens: Lens,
    pub question: Question,
    pub campaign: CampaignPlan,
    pub notes: Vec<String>,
}

/// The question as it was typed, before the lenses of the ends are known.
enum Asked {
    By(f64, Option<GatedFigure>),
    When(When),
}

impl<'o> BisectPlan<'o> {
    /// The bisection of the command line, or every mistake in it. The ends are installed or built, and nothing was started yet.
    pub fn from_typed(options: &'o Bisect, place: &Place) -> anyhow::Result<BisectPlan<'o>> {
        let campaign = CampaignPlan::of_search("bisect", &options.searching)?;
        if options.extra.preload.len() > 1 || options.lens == Some(Lenses::Both) {
            bail!("a bisection compares versions in one way: name one allocator with --preload, and one --lens");
        }
        let (mut scenarios, _) = understood(options, &[], Lenses::AsShipped, Some(place))?;
        let scenario = scenarios.pop().context("a bisection takes one scenario: name it")?;
        let asked = asked(options, &scenario)?;
        let catalogue = prepare::catalogue(options.extra.file.as_deref(), options.scenario.as_deref())?;
        let versions = Versions::from_typed(options, catalogue)?;
        let mut servers = Vec::new();
        for end in [0, versions.len() - 1] {
            let name = versions.version(end).name;
            let server = versions.server(end);
            servers
                .push(server.map_err(|why| anyhow!("the end `{name}` cannot be tried: {why}; name another version"))?);
        }
        let lenses = asked.lenses(options.lens);
        let (_, choices) = understood(options, &servers, lenses.unwrap_or(Lenses::AsShipped), None)?;
        let (ends, notes) = servers_through_deciding(lenses, choices);
        let lens = ends.first().context("no server was named")?.lens.lens;
        let question = asked.question(&scenario, &ends)?;
        Ok(BisectPlan {
            options,
            scenario,
            versions,
            ends,
            lens,
            question,
            campaign,
            notes,
        })
    }

    pub fn looks(&self) -> &Schedule {
        &self.options.looks.0
    }

    pub fn repeating(&self) -> Repeating {
        Repeating {
            runs: Some(Runs::Auto),
            looks: self.looks().clone(),
            // A server that fails while it warms up is not run again, and a condition may be about that failure.
            warm_ups: match self.question {
                Question::By { .. } => None,
                Question::When(_) => Some(0),
            },
            ..Repeating::default()
        }
    }

    /// The server of a version, installed or built; or why it cannot be tried.
    pub fn choice(&self, version: usize) -> Result<ServerChoice, String> {
        let last = self.versions.len() - 1;
        if version == 0 || version == last {
            return Ok(self.ends[usize::from(version == last)].clone());
        }
        let server = self.versions.server(version)?;
        let lenses = match self.lens {
            Lens::AsShipped => Lenses::AsShipped,
            Lens::Purged => Lenses::Purged,
        };
        let understood = understood(self.options, &[server], lenses, None);
        let (_, mut choices) = understood.map_err(|error| {
            let text = explain(&error);
            one_line(&anstream::adapter::strip_str(&text).to_string())
        })?;
        choices.pop().ok_or_else(|| "it names no server".to_owned())
    }
}

fn understood(
    options: &Bisect,
    servers: &[String],
    lenses: Lenses,
    place: Option<&Place>,
) -> anyhow::Result<(Vec<Loaded>, Vec<ServerChoice>)> {
    prepare::understand(&prepare::TypedCommand {
        scenarios: options.scenario.as_slice(),
        options: &options.scenario_options,
        servers,
        extras: &options.extra,
        lenses,
        out: place.and_then(Place::new_directory),
        only_checks: false,
    })
}

/// The question, whose names exist in the scenario.
fn asked(options: &Bisect, scenario: &Loaded) -> anyhow::Result<Asked> {
    let understood = match (&options.when, options.by) {
        (Some(text), _) => when::understand(text, scenario, &[]).map(Asked::When),
        (None, Some(share)) => {
            let mut context = gate::planned(GateContext::default(), scenario, &[], true);
            // It is not known yet what the ends can.
            (context.lenses, context.is_collected) = (Lens::ALL.to_vec(), true);
            let figure = options.figure.as_deref();
            let figure = figure
                .map(|figure| context.named_figure("--figure", figure))
                .transpose();
            figure.map(|figure| Asked::By(share.0, figure))
        }
        (None, None) => bail!("a bisection needs a question: --by 3%, or --when 'peak > 2 GiB'"),
    };
    match understood {
        Ok(asked) => Ok(asked),
        Err(report) => {
            prepare::refuse_mistakes(report)?;
            bail!("the question has a mistake")
        }
    }
}

impl Asked {
    /// The lenses to measure through: the typed one, or the one of the figure; `None` for that which decides a gate.
    fn lenses(&self, typed: Option<Lenses>) -> Option<Lenses> {
        let (figure, named) = match self {
            Asked::By(_, Some(subject)) => (Some(subject.figure), subject.lens),
            Asked::By(_, None) => (None, None),
            Asked::When(when) => match when {
                When::Level(level) => (Some(level.subject.figure), level.subject.lens),
                When::Rising(rising) => (None, rising.lens),
                When::Crash => return typed.or(Some(Lenses::AsShipped)),
            },
        };
        let of_use = |figure: Figure| figure == Figure::Peak || figure.is_time();
        match named {
            Some(Lens::Purged) => Some(Lenses::Purged),
            Some(Lens::AsShipped) => Some(Lenses::AsShipped),
            None if typed.is_none() && figure.is_some_and(of_use) => Some(Lenses::AsShipped),
            None => typed,
        }
    }

    /// The question for these ends; without a figure about the first that decides a gate.
    fn question(self, scenario: &Loaded, ends: &[ServerChoice]) -> anyhow::Result<Question> {
        let (share, subject) = match self {
            Asked::When(when) => return Ok(Question::When(when)),
            Asked::By(share, Some(subject)) => (share, subject),
            Asked::By(share, None) => {
                let context = gate::planned(GateContext::default(), scenario, ends, true);
                let mut primaries = gate::rules(&context, None)?.primaries.into_iter();
                let first = primaries.next().context("no figure decides: name one with --figure")?;
                (share, first.subject)
            }
        };
        Ok(Question::By { subject, share })
    }
}
