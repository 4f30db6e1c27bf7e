//! Which figure of a run a measure is, and how much of it is noise.

use std::sync::Arc;

use crate::figures::{Figure, Measure, MeasuredPart, Unit};
use crate::summary::{MethodSummary, Peak, ProgramSummary, ResidentMetric};
use base::band::NoiseFloor;

use super::*;

/// One run in which every figure is another number.
fn distinct() -> Summary {
    let mut summary = Arc::unwrap_or_clone(run("a", 1, 100).summary);
    summary.phases.truncate(2);
    for (place, phase) in (1..).zip(&mut summary.phases) {
        phase.private = Some(place * 1_000 + 1);
        phase.peak = peak(place * 1_000 + 2);
        let taken = phase.checkpoint.as_mut().unwrap();
        taken.resident = Some(place * 1_000 + 3);
        taken.proportional = Some(place * 1_000 + 4);
        taken.zombies = Some(place * 1_000 + 8);
        taken.processes = place * 1_000 + 9;
        taken.threads = Some(place * 1_000 + 10);
        taken.descriptors = Some(place * 1_000 + 11);
        phase.cpu = Some(place * 1_000 + 5);
        phase.minor_faults = Some(place * 1_000 + 6);
        phase.major_faults = Some(place * 1_000 + 7);
    }
    summary.memory.peak = peak(9_001);
    summary.memory.resident_metric = ResidentMetric::Resident;
    summary.processes.programs = vec![program(Some(4_000)), program(Some(300))];
    summary.traffic.methods = vec![MethodSummary {
        method: "textDocument/hover".to_owned(),
        p50: Some(50),
        p95: Some(95),
        max: Some(99),
        ..MethodSummary::default()
    }];
    summary
}

/// At least this, and no more than twice as much.
fn peak(lower: u64) -> Option<Peak> {
    Some(Peak {
        lower,
        upper: Some(lower * 2),
        unseen: false,
    })
}

fn program(cpu: Option<u64>) -> ProgramSummary {
    ProgramSummary {
        cpu,
        ..ProgramSummary::default()
    }
}

fn value_of(summary: &Summary, place: &MeasuredPart, figure: Figure) -> Option<f64> {
    let measure = Measure {
        place: place.clone(),
        figure,
    };
    measure.value(summary)
}

fn second(summary: &Summary) -> MeasuredPart {
    MeasuredPart::Phase {
        number: summary.phases[1].phase.phase,
        name: summary.phases[1].phase.name.clone(),
    }
}

#[test]
fn every_figure_is_found_where_it_is_and_nowhere_else() {
    let summary = distinct();
    let hover = MeasuredPart::Method("textDocument/hover".to_owned());
    for (figure, phase, whole, method) in [
        (Figure::Private, Some(2_001.0), None, None),
        (Figure::Peak, Some(2_002.0), Some(9_001.0), None),
        (Figure::Resident, Some(2_003.0), None, None),
        (Figure::Cpu, Some(2_005.0), Some(4_300.0), None),
        (Figure::Faults, Some(2_006.0), Some(3_012.0), None),
        (Figure::Zombies, Some(2_008.0), None, None),
        (Figure::Processes, Some(2_009.0), None, None),
        (Figure::Threads, Some(2_010.0), None, None),
        (Figure::Descriptors, Some(2_011.0), None, None),
        (Figure::P50, None, None, Some(50.0)),
        (Figure::P95, None, None, Some(95.0)),
    ] {
        assert_eq!(value_of(&summary, &second(&summary), figure), phase, "{figure:?}");
        assert_eq!(value_of(&summary, &MeasuredPart::Run, figure), whole, "{figure:?}");
        assert_eq!(value_of(&summary, &hover, figure), method, "{figure:?}");
        let other = MeasuredPart::Method("textDocument/rename".to_owned());
        assert_eq!(value_of(&summary, &other, figure), None, "{figure:?}");
    }
}

#[test]
fn of_a_tree_the_proportional_size_is_what_is_resident() {
    let mut summary = distinct();
    summary.memory.resident_metric = ResidentMetric::Proportional;
    assert_eq!(value_of(&summary, &second(&summary), Figure::Resident), Some(2_004.0));
}

#[test]
fn a_phase_without_a_checkpoint_has_no_figures() {
    let mut summary = distinct();
    summary.phases[1].checkpoint = None;
    for figure in Figure::OF_PHASES.into_iter().chain(Figure::HELD) {
        assert_eq!(value_of(&summary, &second(&summary), figure), None, "{figure:?}");
    }
}

#[test]
fn processor_time_of_which_a_part_is_not_known_is_not_known() {
    let mut summary = distinct();
    summary.processes.programs.push(program(None));
    assert_eq!(value_of(&summary, &MeasuredPart::Run, Figure::Cpu), None);
    summary.processes.programs.clear();
    assert_eq!(value_of(&summary, &MeasuredPart::Run, Figure::Cpu), None);
}

#[test]
fn everything_is_listed_once_in_the_order_in_which_it_was_played() {
    let mut summary = distinct();
    // Rounds of the whole scenario: the phases come again.
    let mut again = summary.phases.clone();
    for phase in &mut again {
        phase.phase.cycle = 1;
    }
    summary.phases.extend(again);
    let listed: Vec<(String, Figure)> = Measure::all(&summary)
        .into_iter()
        .map(|measure| match measure.place {
            MeasuredPart::Phase { name, .. } => (name, measure.figure),
            MeasuredPart::Run => ("run".to_owned(), measure.figure),
            place => (place.name().to_owned(), measure.figure),
        })
        .collect();
    let phases = summary.phases[..2].iter().map(|phase| phase.phase.name.clone());
    let mut expected: Vec<(String, Figure)> = phases
        .flat_map(|name| {
            let figures = Figure::OF_PHASES.into_iter().chain(Figure::HELD);
            figures.map(move |figure| (name.clone(), figure))
        })
        .collect();
    expected.extend([Figure::Peak, Figure::Cpu].map(|figure| ("run".to_owned(), figure)));
    expected.extend([Figure::P50, Figure::P95].map(|figure| ("textDocument/hover".to_owned(), figure)));
    assert_eq!(listed, expected);
}

#[test]
fn figures_have_the_names_units_and_noise_of_the_method() {
    let tick = NoiseFloor {
        absolute: 10_000_000.0,
        ..NoiseFloor::RELATIVE
    };
    let faults = NoiseFloor {
        absolute: 16.0,
        ..NoiseFloor::RELATIVE
    };
    let expected = [
        ("private", Unit::Bytes, NoiseFloor::MEMORY),
        ("peak", Unit::Bytes, NoiseFloor::MEMORY),
        ("resident", Unit::Bytes, NoiseFloor::MEMORY),
        ("live", Unit::Bytes, NoiseFloor::MEMORY),
        ("cpu", Unit::CpuNanos, tick),
        ("faults", Unit::Count, faults),
        ("p50", Unit::Nanos, NoiseFloor::RELATIVE),
        ("p95", Unit::Nanos, NoiseFloor::RELATIVE),
        ("wall", Unit::Nanos, NoiseFloor::RELATIVE),
        ("user", Unit::Nanos, NoiseFloor::RELATIVE),
        ("system", Unit::Nanos, NoiseFloor::RELATIVE),
        ("private-peak", Unit::Bytes, NoiseFloor::MEMORY),
        ("major-faults", Unit::Count, faults),
        ("switches", Unit::Count, faults),
        ("read", Unit::Bytes, NoiseFloor::MEMORY),
        ("written", Unit::Bytes, NoiseFloor::MEMORY),
    ];
    let facts = Figure::COMPARED.map(|figure| (figure.name(), figure.unit(), figure.noise()));
    assert_eq!(facts, expected);
}

#[test]
fn processor_time_in_nanoseconds_has_no_ticks() {
    let exact = [41_234_567.0, 39_876_543.0];
    assert_eq!(Figure::Cpu.noise_of(exact), NoiseFloor::RELATIVE);
    for ticks in [0.0, 40_000_000.0, 15_625_000.0] {
        assert_eq!(Figure::Cpu.noise_of([exact[0], ticks]), Figure::Cpu.noise(), "{ticks}");
    }
    assert_eq!(Figure::Faults.noise_of(exact), Figure::Faults.noise());
}
