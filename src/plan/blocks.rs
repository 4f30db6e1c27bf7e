//! The order of runs: randomised blocks, so that drift of the machine affects all servers equally.

use std::time::Duration;

use crate::config::values::Partition;
use base::random::Random;

/// One run of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRun {
    /// Position in the whole plan, from 1; names the record, on whichever machine it is made.
    pub number: u32,
    /// Index of the server, from 0.
    pub server: usize,
    /// The block: every block has each server once. 0 is the warm-up block; measured blocks count from 1.
    pub block: u32,
    /// True if it only warms up the machine (page cache, disk, clocks) and is discarded.
    pub warm_up: bool,
}

/// Each server once, in the order given: a plan without blocks to compare.
pub fn once(servers: usize) -> Vec<PlannedRun> {
    number((0..servers).map(|server| (server, 1)))
}

/// A plan of randomised blocks (Fisher, *The Design of Experiments*, 1935).
///
/// The order within a block is random, and balanced: in each group of as many blocks as there are servers, every server
/// has every place once, as in a Latin square whose rows and columns were shuffled. Two servers alternate as AB BA or
/// BA AB. A plan with more blocks begins with the runs of one with fewer, so that runs can be added until a look decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    pub servers: usize,
    /// Number of measured blocks: runs per server.
    pub blocks: u32,
    /// The servers of a discarded block that comes first on every machine.
    pub warm_up: Vec<usize>,
    /// Seed of the order.
    pub seed: u64,
}

impl Blocks {
    /// Number of measured blocks of this length that fit into `budget`, after the warm-up.
    pub fn fitting(budget: Duration, block: Duration, warm_up: bool) -> u32 {
        let all = budget.as_nanos().checked_div(block.as_nanos()).unwrap_or(0);
        u32::try_from(all.saturating_sub(u128::from(warm_up))).unwrap_or(u32::MAX)
    }

    /// The whole plan in order.
    pub fn runs(&self) -> Vec<PlannedRun> {
        let warm_up = self.warm_up.iter().map(|server| (*server, 0));
        let mut random = Random::for_use(self.seed, "blocks");
        let mut order = Vec::new();
        while order.len() < self.blocks as usize && self.servers > 0 {
            order.extend(square(self.servers, &mut random));
        }
        order.truncate(self.blocks as usize);
        let measured = order
            .into_iter()
            .zip(1..)
            .flat_map(|(servers, block)| servers.into_iter().map(move |server| (server, block)));
        number(warm_up.chain(measured))
    }

    /// The runs of one machine. Every block stays whole, because machines differ more than servers do: a ratio is valid
    /// only within one machine. Every part has the warm-up; a part without measured blocks has no runs.
    pub fn share(&self, partition: Partition) -> Vec<PlannedRun> {
        let blocks = partition.blocks(self.blocks);
        let mut runs = self.runs();
        runs.retain(|run| blocks.contains(&run.block) || (run.warm_up && !blocks.is_empty()));
        runs
    }
}

/// The blocks of a plan; those that can be played at once are together. After the warm-up, and after each of `looks` runs of every
/// server, nothing has begun that comes later.
pub fn batches<'p>(plan: &'p [PlannedRun], at_once: u32, looks: &[u32]) -> Vec<&'p [PlannedRun]> {
    let mut batches: Vec<&[PlannedRun]> = Vec::new();
    let (mut first, mut end) = (0, 0);
    for block in plan.chunk_by(|a, b| a.block == b.block) {
        let is_full = end - first + block.len() > at_once as usize;
        let must_end = match plan[first..end].last() {
            Some(last) => last.warm_up || looks.contains(&last.block),
            None => false,
        };
        if is_full || must_end {
            first = end;
        } else {
            batches.pop();
        }
        end += block.len();
        batches.push(&plan[first..end]);
    }
    batches
}

/// As many orders of the servers as there are servers, each of which has every place once.
fn square(servers: usize, random: &mut Random) -> Vec<Vec<usize>> {
    let mut first: Vec<usize> = (0..servers).collect();
    random.shuffle(&mut first);
    let mut rows: Vec<Vec<usize>> = (0..servers)
        .map(|shift| {
            let mut row = first.clone();
            row.rotate_left(shift);
            row
        })
        .collect();
    random.shuffle(&mut rows);
    rows
}

/// Runs of these servers and blocks, numbered in order.
fn number(runs: impl Iterator<Item = (usize, u32)>) -> Vec<PlannedRun> {
    runs.zip(1..)
        .map(|((server, block), number)| PlannedRun {
            number,
            server,
            block,
            warm_up: block == 0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(servers: usize, blocks: u32, seed: u64) -> Blocks {
        Blocks {
            servers,
            blocks,
            warm_up: (0..servers).collect(),
            seed,
        }
    }

    /// The servers of each block, the warm-up first.
    fn orders(blocks: Blocks) -> Vec<Vec<usize>> {
        let runs = blocks.runs();
        runs.chunk_by(|a, b| a.block == b.block)
            .map(|block| block.iter().map(|run| run.server).collect())
            .collect()
    }

    #[test]
    fn blocks_are_played_at_once_up_to_the_next_look() {
        let plan = plan(2, 6, 1).runs();
        let lengths = |at_once, looks: &[u32]| {
            let batches = batches(&plan, at_once, looks);
            assert_eq!(batches.concat(), plan);
            batches.iter().map(|batch| batch.len()).collect::<Vec<_>>()
        };
        assert_eq!(lengths(1, &[]), [2; 7]);
        assert_eq!(lengths(4, &[]), [2, 4, 4, 4]);
        assert_eq!(lengths(5, &[3]), [2, 4, 2, 4, 2]);
        assert_eq!(lengths(64, &[3, 5]), [2, 6, 4, 2]);
    }

    #[test]
    fn one_block_keeps_the_order_of_the_command_line() {
        let order: Vec<(u32, usize)> = once(3).iter().map(|run| (run.number, run.server)).collect();
        assert_eq!(order, [(1, 0), (2, 1), (3, 2)]);
        assert!(once(3).iter().all(|run| !run.warm_up));
    }

    #[test]
    fn the_first_block_warms_up_and_the_others_are_measured() {
        let runs = plan(2, 3, 7).runs();
        assert_eq!(runs.len(), 8);
        assert!(runs.iter().zip(1..).all(|(run, number)| run.number == number));
        assert!(runs.iter().all(|run| run.warm_up == (run.number <= 2)));
        let once = Blocks {
            warm_up: vec![1],
            ..plan(2, 3, 7)
        };
        let first = once.runs()[..2]
            .iter()
            .map(|run| (run.server, run.block))
            .collect::<Vec<_>>();
        assert_eq!((first[0], first[1].1, once.runs().len()), ((1, 0), 1, 7));
        let cold = Blocks {
            warm_up: Vec::new(),
            ..plan(2, 3, 7)
        };
        assert!(cold.runs().iter().all(|run| !run.warm_up && run.block > 0));
    }

    #[test]
    fn every_block_has_each_server_once_and_the_seed_decides_the_order() {
        assert_eq!(orders(plan(4, 20, 7)), orders(plan(4, 20, 7)));
        assert_ne!(orders(plan(4, 20, 7)), orders(plan(4, 20, 8)));
        for mut block in orders(plan(4, 20, 7)) {
            block.sort_unstable();
            assert_eq!(block, [0, 1, 2, 3]);
        }
    }

    #[test]
    fn every_server_has_every_place_equally_often() {
        for servers in 1..6 {
            let orders = orders(plan(servers, servers as u32 * 3, 11));
            for place in 0..servers {
                for server in 0..servers {
                    let times = orders[1..].iter().filter(|order| order[place] == server).count();
                    assert_eq!(times, 3, "server {server} at place {place} of {servers}");
                }
            }
        }
    }

    #[test]
    fn both_orders_of_two_servers_come_first_for_some_seed() {
        let first = |seed| orders(plan(2, 1, seed))[1].clone();
        let ab = (0..400).filter(|seed| first(*seed) == [0, 1]).count();
        assert!((150..250).contains(&ab), "{ab}");
    }

    #[test]
    fn a_longer_plan_begins_with_the_shorter_one() {
        let long = plan(3, 12, 5).runs();
        for blocks in 0..12 {
            let short = plan(3, blocks, 5).runs();
            assert_eq!(short[..], long[..short.len()]);
        }
    }

    #[test]
    fn the_parts_are_the_plan_and_no_block_is_torn() {
        for (blocks, of) in [(8, 3), (12, 4), (5, 5), (7, 1)] {
            let whole = plan(3, blocks, 9);
            let parts: Vec<Vec<PlannedRun>> = (1..=of)
                .map(|part| whole.share(Partition::new(part, of).unwrap()))
                .collect();
            let measured: Vec<PlannedRun> = parts.concat().into_iter().filter(|run| !run.warm_up).collect();
            let planned: Vec<PlannedRun> = whole.runs().into_iter().filter(|run| !run.warm_up).collect();
            assert_eq!(measured, planned);
            for part in &parts {
                assert!(part[..3].iter().all(|run| run.warm_up), "each machine warms up");
                assert!(part.chunk_by(|a, b| a.block == b.block).all(|block| block.len() == 3));
            }
            let sizes = parts.iter().map(Vec::len);
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 3);
        }
    }

    #[test]
    fn a_part_without_blocks_does_not_even_warm_up() {
        assert_eq!(plan(2, 1, 3).share(Partition::new(1, 3).unwrap()), []);
        assert_eq!(plan(2, 1, 3).share(Partition::new(3, 3).unwrap()).len(), 4);
        assert_eq!(plan(2, 4, 3).share(Partition::WHOLE), plan(2, 4, 3).runs());
        assert_eq!(plan(0, 4, 3).runs(), []);
    }

    #[test]
    fn parts_count_from_one() {
        assert!(Partition::new(0, 3).is_err());
        assert!(Partition::new(4, 3).is_err());
        assert!(Partition::new(1, 0).is_err());
        assert_eq!(
            Partition::new(4, 3).unwrap_err().to_string(),
            "there is no part 4 of 3: the first part is 1"
        );
    }

    #[test]
    fn as_many_blocks_fit_as_the_time_allows() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        assert_eq!(Blocks::fitting(minutes(30), minutes(4), true), 6);
        assert_eq!(Blocks::fitting(minutes(30), minutes(4), false), 7);
        assert_eq!(Blocks::fitting(minutes(3), minutes(4), true), 0);
        assert_eq!(Blocks::fitting(minutes(3), Duration::ZERO, true), 0);
    }
}
