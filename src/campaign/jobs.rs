//! Who plays the runs of a campaign.

/// Who plays the runs of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Jobs {
    /// This process, one after the other.
    Alone,
    /// A process each, as many at once as there are shares of processors. They are called with this command.
    Beside {
        command: &'static str,
        shares: Vec<Vec<usize>>,
    },
    /// This process is one of so many, and plays this run only.
    Of { run: u32, jobs: u32 },
}

impl Jobs {
    /// True if this process plays one run for another process, which reports it.
    pub fn is_part(&self) -> bool {
        matches!(self, Jobs::Of { .. })
    }

    /// The processors of the first of the runs that are played at once; none if each has the machine to itself.
    pub fn cpus_of_each(&self) -> &[usize] {
        match self {
            Jobs::Beside { shares, .. } => shares.first().map_or(&[], Vec::as_slice),
            Jobs::Alone | Jobs::Of { .. } => &[],
        }
    }

    /// How many runs are played at once; `None` if each has the machine to itself.
    pub fn at_once(&self) -> Option<u32> {
        match self {
            Jobs::Alone => None,
            Jobs::Beside { shares, .. } => u32::try_from(shares.len()).ok(),
            Jobs::Of { jobs, .. } => Some(*jobs),
        }
    }
}
