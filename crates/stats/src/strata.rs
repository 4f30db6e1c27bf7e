//! Two sides on one machine or on several: compared within each, because machines differ more than servers do.

use std::collections::BTreeMap;

use base::band::NoiseFloor;

use super::arm::{Arm, Seen, Unusable};
use super::bounds::{Bounds, SidePart};
use super::contrast::Contrast;
use super::parted::Parted;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Baseline,
    Candidate,
}

/// Both sides on one machine, two runs of each at least.
#[derive(Clone, Debug)]
pub struct Stratum<M> {
    pub machine: M,
    pub baseline: Arm,
    pub candidate: Arm,
}

/// Every machine that has two runs of both sides. There is at least one.
///
/// Over several machines the contrast is the mean of what each says by itself, with weights in proportion to
/// `n₁n₂/(n₁+n₂)`: the best ones where noise is the same everywhere (Cochran, *The Combination of Estimates from Different
/// Experiments*, Biometrics 10, 1954), and known before the data are. Where noise differs the interval is still honest,
/// since every machine brings a spread of its own. What differs between machines cancels, however unequal the counts are.
#[derive(Clone, Debug)]
pub struct Strata<M> {
    parts: Vec<Stratum<M>>,
}

impl<M> Stratum<M> {
    /// The ratio of geometric means, candidate over baseline.
    pub fn ratio(&self) -> f64 {
        (self.candidate.mean_log() - self.baseline.mean_log()).exp()
    }

    fn weight(&self) -> f64 {
        let (a, b) = (self.baseline.len() as f64, self.candidate.len() as f64);
        a * b / (a + b)
    }
}

impl Strata<usize> {
    /// The runs of both sides by machine. A missing value is an error, also on a machine that is left out. An error that no
    /// more runs mend comes before one that they do.
    pub fn of(baseline: &[Seen], candidate: &[Seen]) -> Result<Strata<usize>, (Side, Unusable)> {
        let sides = [(Side::Baseline, baseline), (Side::Candidate, candidate)];
        let error = |(side, seen): (Side, &[Seen])| Arm::of_runs(&Seen::values(seen)).err().map(|why| (side, why));
        let errors: Vec<(Side, Unusable)> = sides.into_iter().filter_map(error).collect();
        let last = errors.iter().find(|(_, why)| why.is_final()).or(errors.first());
        if let Some(error) = last {
            return Err(*error);
        }
        Strata::new(&by_machine(baseline), &by_machine(candidate)).ok_or((Side::Candidate, Unusable::Apart))
    }
}

impl<M: Ord + Clone> Strata<M> {
    /// The machines that both sides have an arm of; `None` where there is none.
    pub fn new(baseline: &BTreeMap<M, Arm>, candidate: &BTreeMap<M, Arm>) -> Option<Strata<M>> {
        let both = |(machine, arm): (&M, &Arm)| {
            Some(Stratum {
                machine: machine.clone(),
                baseline: arm.clone(),
                candidate: candidate.get(machine)?.clone(),
            })
        };
        let parts: Vec<Stratum<M>> = baseline.iter().filter_map(both).collect();
        (!parts.is_empty()).then_some(Strata { parts })
    }
}

impl<M> Strata<M> {
    pub fn parts(&self) -> &[Stratum<M>] {
        &self.parts
    }

    /// Runs of the baseline and of the candidate.
    pub fn runs(&self) -> (usize, usize) {
        let count = |(baseline, candidate): (usize, usize), part: &Stratum<M>| {
            (baseline + part.baseline.len(), candidate + part.candidate.len())
        };
        self.parts.iter().fold((0, 0), count)
    }

    /// The geometric means of both sides, by the weights of the contrast.
    pub fn means(&self) -> (f64, f64) {
        let mean = |arm: fn(&Stratum<M>) -> &Arm| match self.parts.as_slice() {
            [part] => arm(part).geometric_mean(),
            _ => {
                let logs = self.weighted().map(|(weight, part)| weight * arm(part).mean_log());
                logs.sum::<f64>().exp()
            }
        };
        (mean(|part| &part.baseline), mean(|part| &part.candidate))
    }

    pub fn contrast(&self, floor: NoiseFloor) -> Contrast {
        let welch = |part: &Stratum<M>| Contrast::welch(&part.baseline, &part.candidate, floor);
        let parts: Vec<(f64, Contrast)> = self.weighted().map(|(weight, part)| (weight, welch(part))).collect();
        Contrast::mean(&parts).expect("there is at least one machine")
    }

    /// The bounds that decide, over all machines.
    pub(super) fn bounds(&self, floor: NoiseFloor) -> Bounds {
        let mut sides = Vec::new();
        for (weight, part) in self.weighted() {
            let [baseline, candidate] = [&part.baseline, &part.candidate].map(Parted::new);
            sides.push(SidePart {
                weight: -weight,
                error: part.baseline.error(floor),
                parted: baseline,
                other_distance: candidate.distance(),
            });
            sides.push(SidePart {
                weight,
                error: part.candidate.error(floor),
                parted: candidate,
                other_distance: baseline.distance(),
            });
        }
        Bounds::new(self.contrast(floor), sides)
    }

    /// The lowest and the highest ratio that a machine has.
    pub fn spread(&self) -> (f64, f64) {
        let ratios = || self.parts.iter().map(Stratum::ratio);
        (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max))
    }

    /// The coefficient of variation within machines, of the side that varies more.
    pub fn variation(&self) -> f64 {
        let side = |arm: fn(&Stratum<M>) -> &Arm| {
            let arms = || self.parts.iter().map(arm);
            let freedom: usize = arms().map(|arm| arm.len() - 1).sum();
            let squares: f64 = arms().map(|arm| arm.sd_log().powi(2) * (arm.len() - 1) as f64).sum();
            (squares / freedom as f64).exp_m1().sqrt()
        };
        side(|part| &part.baseline).max(side(|part| &part.candidate))
    }

    /// Each machine with its weight; together they are 1.
    fn weighted(&self) -> impl Iterator<Item = (f64, &Stratum<M>)> {
        let all: f64 = self.parts.iter().map(Stratum::weight).sum();
        self.parts.iter().map(move |part| (part.weight() / all, part))
    }
}

/// The arm of each machine that has two runs.
fn by_machine(runs: &[Seen]) -> BTreeMap<usize, Arm> {
    let mut machines: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for seen in runs {
        machines.entry(seen.machine).or_default().extend(seen.value);
    }
    let arms = machines
        .into_iter()
        .filter_map(|(machine, values)| Some((machine, Arm::new(&values).ok()?)));
    arms.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    /// Runs around this many MiB, two KiB apart.
    fn runs(machine: usize, mib: f64, count: usize) -> Vec<Seen> {
        let value = |run: usize| Some(mib * MIB + 2048.0 * run as f64);
        (0..count)
            .map(|run| Seen {
                machine,
                value: value(run),
            })
            .collect()
    }

    #[test]
    fn unequal_counts_on_unequal_machines_make_no_difference() {
        let baseline = [runs(0, 100.0, 6), runs(1, 130.0, 2)].concat();
        let candidate = [runs(0, 100.0, 2), runs(1, 130.0, 6)].concat();
        let strata = Strata::of(&baseline, &candidate).unwrap();
        assert_eq!((strata.parts().len(), strata.runs()), (2, (8, 8)));
        let (low, high) = strata.contrast(NoiseFloor::MEMORY).interval(0.95);
        assert!(low > 0.995 && low < 1.0 && high > 1.0 && high < 1.005, "{low} {high}");
        let (base, other) = strata.means();
        assert!((other / base - strata.contrast(NoiseFloor::MEMORY).ratio()).abs() < 1e-12);
        assert!(base > 110.0 * MIB && base < 118.0 * MIB, "{base}");
        // Pooled as if of one machine they would be 14 % apart.
        let pooled = |runs: &[Seen]| Arm::of_runs(&Seen::values(runs)).unwrap();
        let ratio = pooled(&candidate).geometric_mean() / pooled(&baseline).geometric_mean();
        assert!(ratio > 1.13, "{ratio}");
    }

    #[test]
    fn a_machine_with_few_runs_makes_the_interval_of_many_no_wider() {
        let ten = [runs(0, 100.0, 10), runs(0, 103.0, 10)];
        let alone = Strata::of(&ten[0], &ten[1]).unwrap().contrast(NoiseFloor::MEMORY);
        let [mut a, mut b] = ten;
        a.extend(runs(1, 300.0, 2));
        b.extend(runs(1, 309.0, 2));
        let both = Strata::of(&a, &b).unwrap().contrast(NoiseFloor::MEMORY);
        assert!((both.ratio() - 1.03).abs() < 1e-3, "{}", both.ratio());
        let width = |contrast: Contrast| contrast.upper(0.0125) / contrast.lower(0.0125) - 1.0;
        assert!(width(both) < 1.05 * width(alone), "{} {}", width(both), width(alone));
    }

    #[test]
    fn a_machine_without_two_runs_of_both_says_nothing_and_none_is_no_data() {
        let baseline = [runs(0, 100.0, 3), runs(1, 130.0, 3)].concat();
        let candidate = [runs(0, 100.0, 3), runs(1, 200.0, 1), runs(2, 300.0, 5)].concat();
        let strata = Strata::of(&baseline, &candidate).unwrap();
        assert_eq!((strata.parts().len(), strata.runs()), (1, (3, 3)));
        let apart = Strata::of(&runs(0, 100.0, 3), &runs(1, 100.0, 3)).unwrap_err();
        assert_eq!(apart, (Side::Candidate, Unusable::Apart));
        let mut missing = candidate;
        missing[3].value = None;
        assert_eq!(
            Strata::of(&baseline, &missing).unwrap_err(),
            (Side::Candidate, Unusable::Missing { run: 3 })
        );
    }

    #[test]
    fn machines_of_unequal_noise_keep_the_error_rate() {
        let mut random = base::random::Random::for_use(7, "strata");
        let mut normal = move || {
            (0..12)
                .map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20))
                .sum::<f64>()
                - 6.0
        };
        let rounds = 2_000;
        let wrong = (0..rounds)
            .filter(|_| {
                let mut side = |quiet: usize, loud: usize| {
                    let mut of = |machine: usize, level: f64, cv: f64, count: usize| -> Vec<Seen> {
                        let value = |_| Seen {
                            machine,
                            value: Some(level * MIB * (cv * normal()).exp()),
                        };
                        (0..count).map(value).collect()
                    };
                    [of(0, 100.0, 0.003, quiet), of(1, 130.0, 0.05, loud)].concat()
                };
                let (baseline, candidate) = (side(6, 3), side(3, 5));
                let contrast = Strata::of(&baseline, &candidate).unwrap().contrast(NoiseFloor::MEMORY);
                contrast.lower(0.05) > 1.0
            })
            .count();
        // 5 % and three standard errors of 2,000 rounds.
        assert!(wrong as f64 / f64::from(rounds) < 0.065, "{wrong}");
    }
}
