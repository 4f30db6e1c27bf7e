//! The plan of the interim analyses, and the α that each may spend.

/// Runs per arm at each interim analysis, and the α that all of them share.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    runs: Vec<usize>,
    alpha: f64,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    #[error("no interim analysis: name at least one number of runs")]
    None,
    #[error("an interim analysis needs at least 2 runs, not {runs}: one run has no spread")]
    TooFew { runs: usize },
    #[error("interim analyses at {earlier} and then {later} runs: name them in rising order, each once")]
    NotRising { earlier: usize, later: usize },
    #[error("alpha `{alpha}` is not between 0 and 0.5: 0.05 is usual")]
    Alpha { alpha: f64 },
}

impl Schedule {
    pub fn new(runs: Vec<usize>, alpha: f64) -> Result<Schedule, ScheduleError> {
        let first = *runs.first().ok_or(ScheduleError::None)?;
        if first < 2 {
            return Err(ScheduleError::TooFew { runs: first });
        }
        if let Some(pair) = runs.windows(2).find(|pair| pair[1] <= pair[0]) {
            let (earlier, later) = (pair[0], pair[1]);
            return Err(ScheduleError::NotRising { earlier, later });
        }
        // This form also refuses NaN.
        if !(alpha > 0.0 && alpha < 0.5) {
            return Err(ScheduleError::Alpha { alpha });
        }
        Ok(Schedule { runs, alpha })
    }

    /// One analysis after a fixed number of runs: it spends all of α.
    pub fn single_look(runs: usize, alpha: f64) -> Result<Schedule, ScheduleError> {
        Schedule::new(vec![runs], alpha)
    }

    pub fn runs(&self) -> &[usize] {
        &self.runs
    }

    pub fn first(&self) -> usize {
        self.runs[0]
    }

    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// α split equally (Bonferroni), so the chance of a false answer at any analysis is at most α. Spending functions
    /// like O'Brien and Fleming's (Biometrics 35, 1979; Lan and DeMets, Biometrika 70, 1983) keep more for the last
    /// analysis. For four analyses an equal split costs little and is easy to explain.
    pub fn alpha_each(&self) -> f64 {
        self.alpha / self.runs.len() as f64
    }

    /// The first analysis with more than `runs` runs.
    pub fn next_after(&self, runs: usize) -> Option<usize> {
        self.runs.iter().copied().find(|look| *look > runs)
    }
}

impl Default for Schedule {
    /// After 3, 5, 8 and 12 runs, with α 0.05 in total.
    fn default() -> Schedule {
        Schedule {
            runs: vec![3, 5, 8, 12],
            alpha: 0.05,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_looks_spend_a_quarter_each() {
        let looks = Schedule::default();
        assert_eq!(looks.alpha_each() * 4.0, looks.alpha());
        assert_eq!(Schedule::new(looks.runs().to_vec(), 0.05), Ok(looks.clone()));
        assert_eq!(
            [0, 3, 4, 8, 12].map(|runs| looks.next_after(runs)),
            [Some(3), Some(5), Some(5), Some(12), None]
        );
    }

    fn refused(runs: &[usize], alpha: f64) -> ScheduleError {
        Schedule::new(runs.to_vec(), alpha).unwrap_err()
    }

    #[test]
    fn looks_that_make_no_test_are_refused() {
        assert_eq!(refused(&[], 0.05), ScheduleError::None);
        assert_eq!(refused(&[1, 3], 0.05), ScheduleError::TooFew { runs: 1 });
        assert_eq!(
            refused(&[3, 8, 8], 0.05),
            ScheduleError::NotRising { earlier: 8, later: 8 }
        );
        assert!(matches!(refused(&[3], f64::NAN), ScheduleError::Alpha { .. }));
        assert!(matches!(refused(&[3], 0.0), ScheduleError::Alpha { .. }));
    }
}
