//! What a sweep takes: by the scenario's own waits before it begins, by the clock once something was run.

use std::time::Duration;

use anyhow::bail;

use crate::config::Loaded;
use crate::plan::{Blocks, outline};
use crate::resolve::ServerChoice;
use base::units::{self, Span};

pub struct Price {
    /// The least time of one run; `None` of a command.
    least: Option<Duration>,
    cells: u32,
    rungs: Vec<u32>,
    budget: Option<Span>,
    /// Runs that are played at once.
    jobs: u32,
    /// True if each cell is run once more, traced, when the others are over.
    is_traced: bool,
}

impl Price {
    /// For these cells, the default included.
    pub fn new(scenario: &Loaded, choices: &[ServerChoice], rungs: &[u32], budget: Option<Span>, jobs: u32) -> Price {
        let files = scenario.project.files.len() as u64;
        let is_command = choices.iter().any(|choice| choice.command.is_some());
        let least = if is_command {
            None
        } else {
            Some(outline(&scenario.scenario, files).total.least)
        };
        Price {
            least,
            cells: u32::try_from(choices.len()).unwrap_or(u32::MAX),
            rungs: rungs.to_vec(),
            budget,
            jobs,
            is_traced: false,
        }
    }

    /// With one more run of each cell, or without.
    pub fn traced(self, is_traced: bool) -> Price {
        Price { is_traced, ..self }
    }

    /// Runs of each cell, if none is eliminated.
    pub fn most(&self) -> u32 {
        self.rungs.last().copied().unwrap_or(1)
    }

    fn warm_up(&self) -> u32 {
        u32::from(self.most() > 1)
    }

    fn round(&self, run: Duration) -> Duration {
        run.saturating_mul(self.cells.div_ceil(self.jobs))
    }

    /// Refuses a budget that is too small for one round.
    pub fn require_budget(&self) -> anyhow::Result<()> {
        let needed = self.least.map(|least| self.round(least) + least * self.warm_up());
        match self.budget.zip(needed) {
            Some((budget, needed)) if budget.0 < needed => bail!(
                "`--time-budget {budget}` is too short for one run of each: {} and a warm-up take at least {}; use \
                 `--time-budget {}s` or more, or try fewer settings",
                units::count_of(u64::from(self.cells), "setting"),
                units::duration(needed),
                whole_seconds(needed)
            ),
            _ => Ok(()),
        }
    }

    /// The price as far as it is known before any run.
    pub fn text_before_runs(&self) -> String {
        let runs = self.cells.saturating_mul(self.most()).saturating_add(self.warm_up());
        // Nothing follows the last, after which settings could be eliminated.
        let rounds = self.rungs.split_last().map_or(&[][..], |(_, rounds)| rounds);
        let rounds: Vec<String> = rounds.iter().map(u32::to_string).collect();
        let settings = units::count_of(u64::from(self.cells), "setting");
        let all = units::count(u64::from(runs));
        let mut text = match self.least {
            None => format!("{settings}, including the default: {all} runs"),
            Some(least) => format!(
                "{settings}, including the default: a run takes at least {}, one of each {}, all {all} runs at least {}",
                units::duration(least),
                units::duration(self.round(least)),
                units::duration(least.saturating_mul(runs.div_ceil(self.jobs))),
            ),
        };
        match rounds.as_slice() {
            [] => {}
            [one] if one == "1" => text.push_str("; less if settings are eliminated after 1 run of each"),
            rounds => text.push_str(&format!(
                "; less if settings are eliminated after {} runs of each",
                rounds.join(", ")
            )),
        }
        if let Some(budget) = self.budget {
            text.push_str(&format!("; {budget} are there for it"));
        }
        if self.is_traced {
            text.push_str("; then each setting is run once more, traced");
        }
        text
    }

    /// The price when it is known how long a run takes.
    pub fn texts_after_run(&self, run: Duration) -> Vec<String> {
        let all = self.round(run).saturating_mul(self.most());
        let mut sentences = vec![format!(
            "the first run took {}: one of each takes about {}, all of them about {} if none stops",
            units::duration(run),
            units::duration(self.round(run)),
            units::duration(all)
        )];
        if let Some(budget) = self.budget {
            let remaining = budget.0.saturating_sub(run);
            sentences.push(match Blocks::fitting(remaining, self.round(run), false) {
                0 => format!("not even one run of each fits into {budget}: there will be no result"),
                rounds if rounds >= self.most() => format!("all fit into {budget}"),
                rounds => format!(
                    "{} of each fit into {budget} if none stops, more if some do",
                    units::count_of(u64::from(rounds), "run")
                ),
            });
        }
        sentences
    }
}

/// A time in whole seconds that is not less, to be typed.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(budget: Option<u64>) -> Price {
        Price {
            least: Some(Duration::from_secs(30)),
            cells: 10,
            rungs: vec![1, 3],
            budget: budget.map(Span::from_secs),
            jobs: 1,
            is_traced: false,
        }
    }

    #[test]
    fn the_price_is_no_more_than_it_takes_and_no_promise_is_made_from_one_run() {
        let sentences = price(None).text_before_runs();
        assert!(
            sentences.contains("a run takes at least 30.0 s, one of each 5 min 00 s, all 31 runs at least 15 min 30 s"),
            "{sentences}"
        );
        let sentences = price(None).texts_after_run(Duration::from_secs(60));
        assert!(
            sentences[0].contains("one of each takes about 10 min 00 s, all of them about 30 min 00 s if none stops"),
            "{sentences:?}"
        );
    }

    #[test]
    fn a_budget_that_is_too_little_for_one_round_is_refused() {
        assert!(price(Some(329)).require_budget().is_err());
        assert!(price(Some(330)).require_budget().is_ok());
        let mut odd = price(Some(95));
        (odd.least, odd.cells) = (Some(Duration::from_millis(31_800)), 2);
        let refused = odd.require_budget().unwrap_err().to_string();
        assert!(
            refused.contains("take at least 1 min 35 s; use `--time-budget 96s` or more"),
            "{refused}"
        );
        odd.budget = Some(Span::from_secs(96));
        assert!(odd.require_budget().is_ok(), "what it said is enough");
        let sentences = price(Some(1_300)).texts_after_run(Duration::from_secs(60));
        assert!(sentences[1].starts_with("2 runs of each fit"), "{sentences:?}");
        let sentences = price(Some(400)).texts_after_run(Duration::from_secs(60));
        assert!(
            sentences[1].starts_with("not even one run of each fits"),
            "{sentences:?}"
        );
    }
}
