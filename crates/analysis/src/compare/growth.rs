//! Whether a server grows from round to round, judged over all its runs.

use serde::Serialize;

use crate::growth::{
    Asked, LastGrowth, Repeated, Reservation, Sent, Unasked, asked_in_all, deny_only_asked, repeated_parts,
    reserved_in_all, sent_in_all,
};
use crate::summary::Summary;
use base::band::{LEAST_ROUNDS, LeakLimit};
use base::lens::Lens;
use stats::{Answer, Growth, LEAK_ALPHA, LeakVerdict, Open, judge_leak};

/// The growth over one repeated activity.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grown {
    /// The phase's name, or that of whole rounds.
    pub name: String,
    /// The most rounds that a run has of it.
    pub rounds: usize,
    /// What one round sends; `None` where it is not known, or not the same in all runs.
    #[serde(skip)]
    pub sent: Option<Sent>,
    /// The least that any run asked: growth is denied only of what all runs asked and the server answered.
    pub asked: Asked,
    /// Steps that a run did not ask or the server did not answer.
    pub unasked: Vec<Unasked>,
    /// What is said with a denial of growth.
    #[serde(skip)]
    pub reserved: Vec<Reservation>,
    /// What memory was looked at through: only the purged lens can call growth a leak.
    #[serde(skip)]
    pub lens: Lens,
    #[serde(flatten)]
    pub verdict: LeakVerdict,
    /// Growth up to a crash or another end, of the first run with such an end.
    pub up_to_end: Option<LastGrowth>,
}

impl Grown {
    /// The growth that a single run shows, which is no verdict yet.
    pub fn in_one_run(repeated: &Repeated, lens: Lens) -> Grown {
        let judged_rounds = repeated.series().len();
        let growth = repeated.growth();
        let answer = match growth.map(|growth| growth.growth) {
            Some(Growth::Above) => Answer::Fail,
            Some(Growth::Below) => Answer::Pass,
            Some(Growth::Unclear) | None => Answer::Inconclusive,
        };
        let open = if growth.is_none() || judged_rounds < LEAST_ROUNDS {
            Some(Open::Rounds)
        } else if answer == Answer::Inconclusive {
            Some(Open::Runs)
        } else {
            None
        };
        let rounds = match repeated.up_to_end {
            Some(_) => repeated.values.len(),
            None => judged_rounds,
        };
        Grown {
            name: repeated.name.clone(),
            rounds,
            sent: repeated.sent,
            asked: repeated.asked,
            unasked: repeated.unasked.clone(),
            reserved: repeated.reserved.clone(),
            lens,
            verdict: LeakVerdict {
                answer,
                runs: vec![growth],
                slope: growth.map(|growth| growth.trend.bounded()),
                late: None,
                detectable: growth.map(|growth| growth.detectable),
                shape: growth.map(|growth| growth.shape),
                open,
                needed: None,
            },
            up_to_end: repeated.up_to_end,
        }
    }
}

/// Everything that these runs repeat, in the order of the scenario, and what grew until a run `failed`.
pub(super) fn grown(runs: &[&Summary], failed: &[&Summary]) -> Vec<Grown> {
    let first = runs.first().or(failed.first());
    let lens = first.map_or(Lens::AsShipped, |run| run.header.server.lens.name);
    let runs: Vec<Vec<Repeated>> = runs.iter().map(|run| repeated_parts(run)).collect();
    let failed: Vec<Repeated> = failed.iter().flat_map(|run| repeated_parts(run)).collect();
    let mut parts: Vec<(u32, &str)> = Vec::new();
    for repeated in runs.iter().flatten().chain(&failed) {
        if !parts.contains(&(repeated.phase, &repeated.name)) {
            parts.push((repeated.phase, &repeated.name));
        }
    }
    parts.sort_by_key(|(phase, _)| *phase);
    let mut all = Vec::new();
    for (phase, name) in parts {
        let of_runs: Vec<Option<Repeated>> = runs.iter().map(|run| find_part(run, phase, name).cloned()).collect();
        let mut grown = judge(name, lens, &of_runs);
        let ended = failed
            .iter()
            .chain(runs.iter().flatten())
            .find(|repeated| repeated.phase == phase && repeated.name == name && repeated.up_to_end.is_some());
        if let Some(ended) = ended {
            grown.up_to_end = ended.up_to_end;
            grown.rounds = grown.rounds.max(ended.values.len());
        }
        all.push(grown);
    }
    all
}

fn find_part<'r>(run: &'r [Repeated], phase: u32, name: &str) -> Option<&'r Repeated> {
    run.iter()
        .find(|repeated| repeated.phase == phase && repeated.name == name)
}

fn judge(name: &str, lens: Lens, runs: &[Option<Repeated>]) -> Grown {
    let series: Vec<Vec<Option<f64>>> = runs
        .iter()
        .map(|run| run.as_ref().map_or_else(Vec::new, Repeated::series))
        .collect();
    let (asked, unasked) = asked_in_all(runs.iter().flatten());
    let verdict = judge_leak(&series, &LeakLimit::default(), LEAK_ALPHA);
    Grown {
        name: name.to_owned(),
        rounds: series.iter().map(Vec::len).max().unwrap_or(0),
        sent: sent_in_all(runs.iter().flatten()),
        asked,
        unasked,
        reserved: reserved_in_all(runs.iter().flatten()),
        lens,
        verdict: deny_only_asked(verdict, asked),
        up_to_end: None,
    }
}
