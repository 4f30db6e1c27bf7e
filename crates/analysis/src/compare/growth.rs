//! Whether a server grows from round to round, judged over all its runs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::growth::{
    Asked, LastGrowth, Repeated, Reservation, Sent, Unasked, asked_in_all, deny_only_asked, repeated, reserved_in_all,
    sent_by,
};
use crate::summary::Summary;
use base::band::LeakLimit;
use base::lens::Lens;
use stats::{LEAK_ALPHA, LeakVerdict, judge_leak};

/// The growth over one repeated activity.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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

/// Everything that these runs repeat, in the order of the scenario, and what grew until a run `failed`.
pub(super) fn grown(runs: &[&Summary], failed: &[&Summary]) -> Vec<Grown> {
    let first = runs.first().or(failed.first());
    let lens = first.map_or(Lens::AsShipped, |run| run.header.server.lens.name);
    let runs: Vec<Vec<Repeated>> = runs.iter().map(|run| repeated(run)).collect();
    let failed: Vec<Repeated> = failed.iter().flat_map(|run| repeated(run)).collect();
    let mut seen: Vec<(u32, &str)> = Vec::new();
    for one in runs.iter().flatten().chain(&failed) {
        if !seen.contains(&(one.phase, &one.name)) {
            seen.push((one.phase, &one.name));
        }
    }
    seen.sort_by_key(|(phase, _)| *phase);
    let judged = seen.into_iter().map(|(phase, name)| {
        let of_run = |run: &Vec<Repeated>| run.iter().find(|one| one.phase == phase && one.name == name).cloned();
        let mut grown = judge(name, lens, &runs.iter().map(of_run).collect::<Vec<Option<Repeated>>>());
        let all = failed.iter().chain(runs.iter().flatten());
        let mut ended = all.filter(|one| one.phase == phase && one.name == name && one.up_to_end.is_some());
        if let Some(one) = ended.next() {
            grown.up_to_end = one.up_to_end;
            grown.rounds = grown.rounds.max(one.values.len());
        }
        grown
    });
    judged.collect()
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
        sent: sent_by(runs.iter().flatten()),
        asked,
        unasked,
        reserved: reserved_in_all(runs.iter().flatten()),
        lens,
        verdict: deny_only_asked(verdict, asked),
        up_to_end: None,
    }
}
