//! Measures several things in one run, in turn and in changing order, so that a busy machine is busy for all of them.

use std::time::{Duration, Instant};

use base::units::{self, UNKNOWN};

use super::own;
use super::table::{Table, times};

/// The time that some repetitions took.
#[derive(Clone, Copy)]
pub struct Lap {
    /// Time by the clock.
    pub wall: Duration,
    /// Processor time of the process that measured.
    pub cpu: Duration,
}

impl Lap {
    /// Measures so many repetitions of some work of this process; `None` when the work is.
    pub fn measure(count: u32, mut work: impl FnMut() -> Option<()>) -> Option<Lap> {
        let (started, before) = (Instant::now(), own::cpu().ok()?);
        for _ in 0..count {
            work()?;
        }
        Some(Lap {
            wall: started.elapsed(),
            cpu: own::cpu().ok()?.saturating_sub(before),
        })
    }
}

/// Does a thing so many times and says what that took in all; `None` when it cannot be done here.
pub type Work<'a> = Box<dyn FnMut(u32) -> Option<Lap> + 'a>;

/// A thing that is measured against others.
pub struct Runner<'a> {
    /// Its name; what is missing goes there, too.
    name: String,
    work: Work<'a>,
    /// Nanoseconds of one, one value for each round.
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl<'a> Runner<'a> {
    /// A thing and how to do it.
    pub fn new(name: impl Into<String>, work: impl FnMut(u32) -> Option<Lap> + 'a) -> Runner<'a> {
        Runner {
            name: name.into(),
            work: Box::new(work),
            wall: Vec::new(),
            cpu: Vec::new(),
        }
    }

    /// The median time of one, in nanoseconds.
    pub fn median(&self) -> Option<f64> {
        quantile(&self.wall, 0.5)
    }

    /// The median processor time of one, in nanoseconds.
    pub fn median_cpu(&self) -> Option<f64> {
        quantile(&self.cpu, 0.5)
    }
}

/// Runs all of them `rounds` times, `batch` repetitions each; a first round, which warms caches up, is not counted.
pub fn race(runners: &mut [Runner], rounds: usize, batch: u32) {
    for round in 0..=rounds {
        for place in 0..runners.len() {
            let index = (round + place) % runners.len();
            let runner = &mut runners[index];
            if let Some(lap) = (runner.work)(batch)
                && round > 0
            {
                runner.wall.push(lap.wall.as_nanos() as f64 / f64::from(batch));
                runner.cpu.push(lap.cpu.as_nanos() as f64 / f64::from(batch));
            }
        }
    }
}

/// Prints what each needed for one, and the ratios to the first of them.
pub fn print(headline: &str, runners: &[Runner]) {
    let mut table = Table::new(headline, &["", "median", "lowest", "90 %", "ratio", "own CPU", "ratio"]);
    let first = runners.first();
    let first_wall = first.and_then(Runner::median);
    let first_cpu = first.and_then(Runner::median_cpu);
    for runner in runners {
        table.row([
            runner.name.clone(),
            units::or_unknown(runner.median(), nanos),
            units::or_unknown(quantile(&runner.wall, 0.0), nanos),
            units::or_unknown(quantile(&runner.wall, 0.9), nanos),
            ratio(runner.median(), first_wall),
            units::or_unknown(runner.median_cpu(), nanos),
            ratio(runner.median_cpu(), first_cpu),
        ]);
    }
    table.print();
}

fn ratio(value: Option<f64>, first: Option<f64>) -> String {
    match (value, first) {
        (Some(value), Some(first)) => times(value / first),
        _ => UNKNOWN.to_owned(),
    }
}

/// Nanoseconds as people read them.
pub fn nanos(value: f64) -> String {
    units::duration(Duration::from_nanos(value.round() as u64))
}

/// The value below which that part of all values lies.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * part).round() as usize).copied()
}
