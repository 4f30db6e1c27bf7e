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
/// since every machine brings a spread of its own. Differences between machines cancel, however unequal the counts are.
#[derive(Clone, Debug)]
pub struct Strata<M> {
    parts: Vec<Stratum<M>>,
}

impl<M> Stratum<M> {
    /// The ratio of geometric means, candidate over baseline.
    pub fn ratio(&self) -> f64 {
        (self.candidate.mean_log() - self.baseline.mean_log()).exp()
    }

    fn arm(&self, side: Side) -> &Arm {
        match side {
            Side::Baseline => &self.baseline,
            Side::Candidate => &self.candidate,
        }
    }

    fn weight(&self) -> f64 {
        let (a, b) = (self.baseline.len() as f64, self.candidate.len() as f64);
        a * b / (a + b)
    }
}

impl Strata<usize> {
    /// The runs of both sides by machine. A missing value is an error, also on a machine that is left out. An error that
    /// more runs cannot mend comes before one that they can.
    pub fn from_runs(baseline: &[Seen], candidate: &[Seen]) -> Result<Strata<usize>, (Side, Unusable)> {
        let mut errors: Vec<(Side, Unusable)> = Vec::new();
        for (side, runs) in [(Side::Baseline, baseline), (Side::Candidate, candidate)] {
            if let Err(why) = Arm::of_runs(&Seen::values(runs)) {
                errors.push((side, why));
            }
        }
        let lasting = errors.iter().find(|(_, why)| why.is_final());
        if let Some(error) = lasting.or(errors.first()) {
            return Err(*error);
        }
        Strata::new(&by_machine(baseline), &by_machine(candidate)).ok_or((Side::Candidate, Unusable::Apart))
    }
}

impl<M: Ord + Clone> Strata<M> {
    /// The machines that both sides have an arm of; `None` where there is none.
    pub fn new(baseline: &BTreeMap<M, Arm>, candidate: &BTreeMap<M, Arm>) -> Option<Strata<M>> {
        let mut parts: Vec<Stratum<M>> = Vec::new();
        for (machine, arm) in baseline {
            if let Some(other) = candidate.get(machine) {
                parts.push(Stratum {
                    machine: machine.clone(),
                    baseline: arm.clone(),
                    candidate: other.clone(),
                });
            }
        }
        if parts.is_empty() {
            return None;
        }
        Some(Strata { parts })
    }
}

impl<M> Strata<M> {
    pub fn parts(&self) -> &[Stratum<M>] {
        &self.parts
    }

    /// Runs of the baseline and of the candidate.
    pub fn runs(&self) -> (usize, usize) {
        let baseline = self.parts.iter().map(|part| part.baseline.len());
        let candidate = self.parts.iter().map(|part| part.candidate.len());
        (baseline.sum(), candidate.sum())
    }

    /// The geometric means of both sides, by the weights of the contrast.
    pub fn means(&self) -> (f64, f64) {
        (self.mean(Side::Baseline), self.mean(Side::Candidate))
    }

    fn mean(&self, side: Side) -> f64 {
        if let [part] = self.parts.as_slice() {
            return part.arm(side).geometric_mean();
        }
        let logs = self.weighted().map(|(weight, part)| weight * part.arm(side).mean_log());
        logs.sum::<f64>().exp()
    }

    pub fn contrast(&self, floor: NoiseFloor) -> Contrast {
        let mut contrasts: Vec<(f64, Contrast)> = Vec::new();
        for (weight, part) in self.weighted() {
            contrasts.push((weight, Contrast::welch(&part.baseline, &part.candidate, floor)));
        }
        Contrast::mean(&contrasts).expect("there is at least one machine")
    }

    /// The bounds that decide, over all machines.
    pub(super) fn bounds(&self, floor: NoiseFloor) -> Bounds {
        let mut sides = Vec::new();
        for (weight, part) in self.weighted() {
            let [baseline, candidate] = [&part.baseline, &part.candidate].map(Parted::new);
            sides.push(SidePart {
                weight: -weight,
                error: part.baseline.standard_error(floor),
                parted: baseline,
                other_distance: candidate.distance(),
            });
            sides.push(SidePart {
                weight,
                error: part.candidate.standard_error(floor),
                parted: candidate,
                other_distance: baseline.distance(),
            });
        }
        Bounds::new(self.contrast(floor), sides)
    }

    /// The lowest and the highest ratio that a machine has.
    pub fn spread(&self) -> (f64, f64) {
        let ratios = self.parts.iter().map(Stratum::ratio);
        (ratios.clone().fold(f64::INFINITY, f64::min), ratios.fold(0.0, f64::max))
    }

    /// The coefficient of variation within machines, of the side that varies more.
    pub fn variation(&self) -> f64 {
        self.variation_of(Side::Baseline)
            .max(self.variation_of(Side::Candidate))
    }

    fn variation_of(&self, side: Side) -> f64 {
        let arms = self.parts.iter().map(|part| part.arm(side));
        let freedom: usize = arms.clone().map(|arm| arm.len() - 1).sum();
        let squares: f64 = arms.map(|arm| arm.sd_log().powi(2) * (arm.len() - 1) as f64).sum();
        (squares / freedom as f64).exp_m1().sqrt()
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
    let mut arms = BTreeMap::new();
    for (machine, values) in machines {
        if let Ok(arm) = Arm::new(&values) {
            arms.insert(machine, arm);
        }
    }
    arms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sum_of_uniforms;
    use base::random::Random;

    const MIB: f64 = 1_048_576.0;

    /// Runs around this many MiB, two KiB apart.
    fn runs(machine: usize, mib: f64, count: usize) -> Vec<Seen> {
        (0..count)
            .map(|run| Seen {
                machine,
                value: Some(mib * MIB + 2048.0 * run as f64),
            })
            .collect()
    }

    fn contrast(baseline: &[Seen], candidate: &[Seen]) -> Contrast {
        let strata = Strata::from_runs(baseline, candidate).unwrap();
        strata.contrast(NoiseFloor::MEMORY)
    }

    #[test]
    fn unequal_counts_on_unequal_machines_make_no_difference() {
        let baseline = [runs(0, 100.0, 6), runs(1, 130.0, 2)].concat();
        let candidate = [runs(0, 100.0, 2), runs(1, 130.0, 6)].concat();
        let strata = Strata::from_runs(&baseline, &candidate).unwrap();
        assert_eq!((strata.parts().len(), strata.runs()), (2, (8, 8)));
        let (low, high) = strata.contrast(NoiseFloor::MEMORY).interval(0.95);
        assert!(low > 0.995 && low < 1.0 && high > 1.0 && high < 1.005, "{low} {high}");
        let (base, other) = strata.means();
        assert!((other / base - strata.contrast(NoiseFloor::MEMORY).ratio()).abs() < 1e-12);
        assert!(base > 110.0 * MIB && base < 118.0 * MIB, "{base}");
        // Pooled as if of one machine they would be 14 % apart.
        let [base, other] = [&baseline, &candidate].map(|runs| {
            let pooled = Arm::of_runs(&Seen::values(runs)).unwrap();
            pooled.geometric_mean()
        });
        assert!(other / base > 1.13, "{}", other / base);
    }

    #[test]
    fn a_machine_with_few_runs_makes_the_interval_of_many_no_wider() {
        let ten = [runs(0, 100.0, 10), runs(0, 103.0, 10)];
        let alone = contrast(&ten[0], &ten[1]);
        let [mut a, mut b] = ten;
        a.extend(runs(1, 300.0, 2));
        b.extend(runs(1, 309.0, 2));
        let both = contrast(&a, &b);
        assert!((both.ratio() - 1.03).abs() < 1e-3, "{}", both.ratio());
        let [both, alone] = [both, alone].map(|contrast| contrast.upper(0.0125) / contrast.lower(0.0125) - 1.0);
        assert!(both < 1.05 * alone, "{both} {alone}");
    }

    #[test]
    fn a_machine_without_two_runs_of_both_says_nothing_and_none_is_no_data() {
        let baseline = [runs(0, 100.0, 3), runs(1, 130.0, 3)].concat();
        let candidate = [runs(0, 100.0, 3), runs(1, 200.0, 1), runs(2, 300.0, 5)].concat();
        let strata = Strata::from_runs(&baseline, &candidate).unwrap();
        assert_eq!((strata.parts().len(), strata.runs()), (1, (3, 3)));
        let error = Strata::from_runs(&runs(0, 100.0, 3), &runs(1, 100.0, 3)).unwrap_err();
        assert_eq!(error, (Side::Candidate, Unusable::Apart));
        let mut missing = candidate;
        missing[3].value = None;
        assert_eq!(
            Strata::from_runs(&baseline, &missing).unwrap_err(),
            (Side::Candidate, Unusable::Missing { run: 3 })
        );
    }

    #[test]
    fn machines_of_unequal_noise_keep_the_error_rate() {
        let mut random = Random::for_use(7, "strata");
        let rounds = 2_000;
        let mut wrong = 0;
        for _ in 0..rounds {
            let baseline = quiet_and_loud(&mut random, 6, 3);
            let candidate = quiet_and_loud(&mut random, 3, 5);
            if contrast(&baseline, &candidate).lower(0.05) > 1.0 {
                wrong += 1;
            }
        }
        // 5 % and three standard errors of 2,000 rounds.
        assert!(f64::from(wrong) / f64::from(rounds) < 0.065, "{wrong}");
    }

    /// Runs of a quiet machine and of a loud one.
    fn quiet_and_loud(random: &mut Random, quiet: usize, loud: usize) -> Vec<Seen> {
        let mut runs = noisy_runs(random, 0, 100.0, 0.003, quiet);
        runs.extend(noisy_runs(random, 1, 130.0, 0.05, loud));
        runs
    }

    fn noisy_runs(random: &mut Random, machine: usize, mib: f64, cv: f64, count: usize) -> Vec<Seen> {
        (0..count)
            .map(|_| Seen {
                machine,
                value: Some(mib * MIB * (cv * sum_of_uniforms(random)).exp()),
            })
            .collect()
    }
}
