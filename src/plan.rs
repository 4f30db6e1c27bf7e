//! Scenario and servers to an ordered, seeded list of runs, and what one run will do. Pure: nothing is read or spawned.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod estimate;
mod text;

pub use estimate::{Amount, Outline, PhaseOutline, StepOutline, outline};
pub use text::describe;

/// One server under one scenario, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its place in the plan, from 1; names its record.
    pub number: u32,
    /// Which of the servers, from 0.
    pub server: usize,
    /// Which block, from 0: every block has each server once, so that drift of the machine hits all alike.
    pub block: u32,
}

/// The runs in order: `blocks` blocks, the first with the servers as given, the others shuffled from the seed.
pub fn runs(servers: usize, blocks: u32, seed: u64) -> Vec<Run> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut runs = Vec::new();
    for block in 0..blocks {
        let mut order: Vec<usize> = (0..servers).collect();
        if block > 0 {
            random.shuffle(&mut order);
        }
        runs.extend(
            order
                .into_iter()
                .zip(runs.len() as u32 + 1..)
                .map(|(server, number)| Run { number, server, block }),
        );
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_block_keeps_the_order_of_the_command_line() {
        let order: Vec<(u32, usize)> = runs(3, 1, 7).iter().map(|run| (run.number, run.server)).collect();
        assert_eq!(order, [(1, 0), (2, 1), (3, 2)]);
    }

    #[test]
    fn every_block_has_each_server_once_and_the_seed_decides_the_order() {
        let plan = runs(4, 20, 7);
        assert_eq!(plan, runs(4, 20, 7));
        assert_ne!(plan, runs(4, 20, 8));
        for block in plan.chunks(4) {
            let mut servers: Vec<usize> = block.iter().map(|run| run.server).collect();
            servers.sort_unstable();
            assert_eq!(servers, [0, 1, 2, 3]);
        }
        assert!(plan.iter().zip(1..).all(|(run, number)| run.number == number));
    }
}
