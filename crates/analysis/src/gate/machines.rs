//! Which runs of two sides were made on the same machine.

use std::collections::BTreeSet;

use crate::compare::Played;

/// The machines that two sides were run on.
pub(super) struct Machines {
    /// Distinguishing names, in their order.
    names: Vec<String>,
    apart: bool,
}

impl Machines {
    pub fn new(baseline: &[&Played], candidate: &[&Played]) -> Machines {
        let (one, other) = (machine_names(baseline), machine_names(candidate));
        let apart = one.len() == 1 && other.len() == 1 && one != other;
        let names: BTreeSet<String> = one.into_iter().chain(other).collect();
        Machines {
            names: names.into_iter().collect(),
            apart,
        }
    }

    /// True if each side ran on one machine, and not the same one. These sides are compared as if on one machine, if
    /// the user allows that. Several machines per side give no such comparison.
    pub fn are_apart(&self) -> bool {
        self.apart
    }

    /// The number of a run's machine.
    pub fn place(&self, run: &Played) -> usize {
        if self.apart {
            return 0;
        }
        let machine = run.machine();
        self.names.partition_point(|name| *name < machine)
    }
}

fn machine_names(runs: &[&Played]) -> BTreeSet<String> {
    runs.iter().map(|run| run.machine()).collect()
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
    fn runs_on(machine: &str, label: &str, percent: u64, count: u32) -> Vec<Played> {
        let mut runs: Vec<Played> = (1..=count).map(|number| golden::run(label, number, percent)).collect();
        for run in &mut runs {
            run.summary_mut().header.host.cpu = Some(machine.to_owned());
            run.summary_mut().header.server.lens.name = Lens::Purged;
            for program in &mut run.summary_mut().processes.programs {
                program.cpu = program.cpu.map(|cpu| cpu * percent / 100);
            }
            for method in &mut run.summary_mut().traffic.methods {
                method.p50 = method.p50.map(|p50| p50 * percent / 100);
            }
        }
        runs
    }

    fn judged(baseline: &[Vec<Played>], candidate: &[Vec<Played>]) -> Against {
        let subjects = ["private", "cpu", "p50 of textDocument/completion"];
        let rules = Rules {
            lens: Lens::Purged,
            primaries: subjects.map(rule).to_vec(),
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
        let mut judgement = judge(&sides, &rules, &Schedule::single_look(runs, 0.05).unwrap());
        judgement.against.remove(0)
    }

    fn rule(subject: &str) -> Rule {
        Rule {
            subject: subject.parse().unwrap(),
            tolerance: Tolerance::new(0.01, 0.05, 0.0).unwrap(),
        }
    }

    #[test]
    fn what_differs_between_machines_fails_nothing_and_hides_nothing() {
        let baseline = [runs_on("a", "old", 100, 6), runs_on("b", "old", 130, 2)];
        let same = judged(&baseline, &[runs_on("a", "new", 100, 2), runs_on("b", "new", 130, 6)]);
        assert_eq!(same.answer, Answer::Pass, "{same:?}");
        let less = [runs_on("b", "old", 130, 6), runs_on("a", "old", 100, 2)];
        let more = judged(&less, &[runs_on("b", "new", 134, 2), runs_on("a", "new", 103, 6)]);
        assert_eq!(more.answer, Answer::Fail);
        for judged in same.primaries.iter().chain(&more.primaries) {
            let evidence = judged.verdict.evidence.as_ref().unwrap();
            assert_eq!(
                (evidence.machines, evidence.runs.baseline, evidence.runs.candidate),
                (2, 8, 8)
            );
            assert!(evidence.upper / evidence.lower < 1.02, "{evidence:?}");
        }
    }

    #[test]
    fn sides_that_share_no_machine_are_compared_where_each_has_one_and_not_where_there_are_several() {
        let across = judged(&[runs_on("a", "old", 100, 5)], &[runs_on("b", "new", 130, 5)]);
        assert!(across.apart && across.answer == Answer::Fail);
        let several = judged(
            &[runs_on("a", "old", 100, 3), runs_on("b", "old", 130, 3)],
            &[runs_on("c", "new", 100, 3), runs_on("d", "new", 130, 3)],
        );
        assert!(!several.apart && several.answer == Answer::Inconclusive);
        let evidence = &several.primaries[0].verdict.evidence;
        assert_eq!(evidence, &Err((Side::Candidate, Unusable::Apart)));
    }
}
