//! Which runs of two sides were made on the same machine.

use crate::compare::Played;

pub(super) struct Machines {
    /// Distinguishing names.
    names: Vec<String>,
    apart: bool,
}

impl Machines {
    pub fn of(baseline: &[&Played], candidate: &[&Played]) -> Machines {
        let of_side = |runs: &[&Played]| {
            let mut names: Vec<String> = runs.iter().map(|run| run.machine()).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let (one, other) = (of_side(baseline), of_side(candidate));
        let mut names = [one.as_slice(), other.as_slice()].concat();
        names.sort_unstable();
        names.dedup();
        Machines {
            names,
            apart: matches!((one.as_slice(), other.as_slice()), ([one], [other]) if one != other),
        }
    }

    /// Whether each side ran on one machine, and not the same one. These sides are compared as if on one machine, if
    /// the user allows that. Several machines per side give no such comparison.
    pub fn are_apart(&self) -> bool {
        self.apart
    }

    /// The number of a run's machine.
    pub fn place(&self, run: &Played) -> usize {
        let machine = run.machine();
        match self.apart {
            true => 0,
            false => self.names.partition_point(|name| *name < machine),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::compare::Played;
    use crate::figures::WorkLimits;
    use crate::figures::{Rule, Rules};
    use crate::gate::{Against, Sides, judge};
    use crate::golden;
    use base::band::Tolerance;
    use base::lens::Lens;
    use stats::Schedule;
    use stats::{Answer, Side, Unusable};

    /// Runs on a machine with every figure at this percentage of the golden record.
    fn on(machine: &str, label: &str, percent: u64, count: u32) -> Vec<Played> {
        let on = |number: u32| {
            let mut run = golden::run(label, number, percent);
            let scale = |value: u64| value * percent / 100;
            run.summary.header.host.cpu = Some(machine.to_owned());
            run.summary.header.server.lens.name = Lens::Purged;
            for program in &mut run.summary.programs {
                program.cpu = program.cpu.map(scale);
            }
            for method in &mut run.summary.methods {
                method.p50 = method.p50.map(scale);
            }
            run
        };
        (1..=count).map(on).collect()
    }

    fn judged(baseline: &[Vec<Played>], candidate: &[Vec<Played>]) -> Against {
        let rule = |what: &str| Rule {
            subject: what.parse().unwrap(),
            tolerance: Tolerance::new(0.01, 0.05, 0.0).unwrap(),
        };
        let rules = Rules {
            lens: Lens::Purged,
            primaries: ["private", "cpu", "p50 of textDocument/completion"].map(rule).to_vec(),
            advisory: Vec::new(),
            budgets: Vec::new(),
            leak: None,
            work: WorkLimits::default(),
        };
        let sides = Sides {
            baseline: Some(baseline.concat()),
            candidate: candidate.concat(),
            anchor: None,
        };
        let runs = sides.baseline.as_ref().unwrap().len().min(sides.candidate.len());
        let mut judgement = judge(&sides, &rules, &Schedule::once(runs, 0.05).unwrap());
        judgement.against.remove(0)
    }

    #[test]
    fn what_differs_between_machines_fails_nothing_and_hides_nothing() {
        let baseline = [on("a", "old", 100, 6), on("b", "old", 130, 2)];
        let same = judged(&baseline, &[on("a", "new", 100, 2), on("b", "new", 130, 6)]);
        assert_eq!(same.answer, Answer::Pass, "{same:?}");
        let less = [on("b", "old", 130, 6), on("a", "old", 100, 2)];
        let more = judged(&less, &[on("b", "new", 134, 2), on("a", "new", 103, 6)]);
        assert_eq!(more.answer, Answer::Fail);
        for judged in same.primaries.iter().chain(&more.primaries) {
            let evidence = judged.verdict.evidence.as_ref().unwrap();
            assert_eq!((evidence.machines, evidence.runs), (2, (8, 8)));
            assert!(evidence.upper / evidence.lower < 1.02, "{evidence:?}");
        }
    }

    #[test]
    fn sides_that_share_no_machine_are_compared_where_each_has_one_and_not_where_there_are_several() {
        let across = judged(&[on("a", "old", 100, 5)], &[on("b", "new", 130, 5)]);
        assert!(across.apart && across.answer == Answer::Fail);
        let several = judged(
            &[on("a", "old", 100, 3), on("b", "old", 130, 3)],
            &[on("c", "new", 100, 3), on("d", "new", 130, 3)],
        );
        assert!(!several.apart && several.answer == Answer::Inconclusive);
        let evidence = &several.primaries[0].verdict.evidence;
        assert_eq!(evidence, &Err((Side::Candidate, Unusable::Apart)));
    }
}
