//! Invented sweeps: the golden record with one difference for each cell.

use record::{AllocatorFacts, AllocatorFamily, CellFacts, Ending};

use crate::compare::Played;
use crate::tune::{Rules, eliminated_cells};

/// Per cent of the golden record's private memory, p95 and processor time.
pub type Percents = (u64, u64, u64);

/// A run of one of `cells` cells in a block; its noise is given by the block, a little different in each figure.
pub fn run(label: &str, cells: u32, block: u32, (private, p95, cpu): Percents) -> Played {
    let mut summary = super::read("completed");
    let noise = [0, 7, 3, 9, 5, 1, 8, 4, 6][block as usize % 9];
    let header = &mut summary.header;
    header.server.label = label.to_owned();
    header.server.profile = Some("ty".to_owned());
    header.server.version = Some("ty 0.0.104".to_owned());
    header.server.args = vec!["server".to_owned()];
    header.server.allocator = Some(AllocatorFacts {
        family: AllocatorFamily::Jemalloc,
        version: Some("5.3.0".to_owned()),
        prefix: Some("_rjem_".to_owned()),
        variable: Some("_RJEM_MALLOC_CONF".to_owned()),
        ..AllocatorFacts::default()
    });
    header.plan.run = block * 10;
    header.plan.block = block;
    header.plan.warm_up = block == 0;
    let conf = format!("dirty_decay_ms:{}", label.trim_start_matches("dirty-"));
    let is_default = label == "default";
    header.plan.cell = Some(CellFacts {
        of: cells,
        default: is_default,
        env: if is_default {
            [].into()
        } else {
            [("_RJEM_MALLOC_CONF".to_owned(), conf)].into()
        },
        ..CellFacts::default()
    });
    for phase in &mut summary.phases {
        phase.private = phase.private.map(|value| scaled(value, private, noise));
    }
    for method in &mut summary.traffic.methods {
        method.p50 = method.p50.map(|value| scaled(value, p95, 10 * noise));
        method.p95 = method.p50.map(|value| value * 3);
    }
    for program in &mut summary.processes.programs {
        program.cpu = program.cpu.map(|value| scaled(value, cpu, 5 * noise));
    }
    Played::new(format!("run-{block:03}-{label}.jsonl"), summary)
}

/// This many per cent of a value, and as many hundredths of a per cent of it as noise.
fn scaled(value: u64, percent: u64, noise: u64) -> u64 {
    value * (percent * 100 + noise) / 10_000
}

/// The runs of cells in blocks 1 to `blocks`; eliminated cells have no more.
pub fn played(cells: &[(&str, Percents)], blocks: u32, rules: &Rules) -> Vec<Played> {
    let count = cells.len() as u32;
    let mut runs = vec![run("default", count, 0, cells[0].1)];
    for block in 1..=blocks {
        let halving = eliminated_cells(&runs, rules);
        for (label, percents) in cells {
            if !halving.eliminated.contains_key(*label) {
                runs.push(run(label, count, block, *percents));
            }
        }
    }
    runs
}

/// A sweep of ty: one cell that pays, one that is fast and large, one that is hopeless, one that is slow.
pub fn cells() -> Vec<(&'static str, Percents)> {
    vec![
        ("default", (100, 100, 100)),
        ("dirty-0", (70, 102, 135)),
        ("dirty-1000", (75, 101, 101)),
        ("dirty-5000", (95, 90, 100)),
        ("dirty-hopeless", (140, 130, 130)),
    ]
}

/// Lets the server of a run crash.
pub fn crashes(run: &mut Played) {
    run.summary_mut().ending = Some(Ending::Crashed {
        signal: Some(6),
        code: None,
        during: "goto".to_owned(),
    });
}

/// A sweep in which one cell needs far less than any other; `fault` spoils its runs.
pub fn with_impostor(fault: impl Fn(&mut Played)) -> Vec<Played> {
    let rules = Rules::default();
    let mut cells = cells();
    cells.push(("dirty-impostor", (20, 60, 60)));
    let count = cells.len() as u32;
    let mut runs = vec![run("default", count, 0, cells[0].1)];
    for block in 1..=8 {
        let halving = eliminated_cells(&runs, &rules);
        for (label, percents) in cells
            .iter()
            .filter(|(label, _)| !halving.eliminated.contains_key(*label))
        {
            let mut played = run(label, count, block, *percents);
            if *label == "dirty-impostor" {
                fault(&mut played);
            }
            runs.push(played);
        }
    }
    runs
}
