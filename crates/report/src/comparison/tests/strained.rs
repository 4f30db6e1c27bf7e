use crate::comparison::notes::strained;
use analysis::compare::compare;

use super::*;

/// The sentences about the machine of two servers, of three runs each: load and pressure of each run.
fn sentences(of_a: [(f64, f64); 3], of_b: [(f64, f64); 3]) -> Vec<String> {
    let runs = [runs_under("a", of_a), runs_under("b", of_b)].concat();
    compare(&runs, None).strains.iter().map(strained).collect()
}

/// Three runs with this load and memory pressure.
fn runs_under(label: &str, strains: [(f64, f64); 3]) -> Vec<Played> {
    let mut runs = runs(label, &[100, 101, 99]);
    for (run, (load, pressure)) in runs.iter_mut().zip(strains) {
        let host = &mut run.summary_mut().header.host;
        (host.cpus, host.load, host.memory_pressure) = (Some(4), Some(load), Some(pressure));
    }
    runs
}

#[test]
fn a_quiet_machine_is_no_word_worth() {
    assert_eq!(sentences([(4.0, 0.9); 3], [(0.1, 0.0); 3]), [] as [String; 0]);
}

#[test]
fn a_busy_machine_is_told_once_and_by_sides_only_where_they_differ() {
    let even = sentences(
        [(11.66, 0.0), (9.0, 0.0), (1.0, 0.0)],
        [(1.0, 0.0), (5.0, 0.0), (6.0, 0.0)],
    );
    let odd = sentences([(5.0, 0.0); 3], [(1.0, 0.0), (1.0, 0.0), (6.0, 0.0)]);
    insta::assert_snapshot!([even, odd].concat().join("\n"), @r#"
    the machine was busy when 4 of 6 runs started (load up to 11.7 on 4 processors), which lengthens all times
    the machine was busy when 4 of 6 runs started (load up to 6.0 on 4 processors; a 3 of 3, b 1 of 3), which lengthens all times
    "#);
}

#[test]
fn short_memory_is_told_with_the_most_of_it() {
    insta::assert_snapshot!(sentences([(1.0, 7.2); 3], [(9.0, 12.5); 3]).join("\n"), @r#"
    the machine was busy when 3 of 6 runs started (load up to 9.0 on 4 processors; a 0 of 3, b 3 of 3), which lengthens all times
    memory was short in all 6 runs (processes waited up to 12 % of the time), so resident figures may be too low
    "#);
}

#[test]
fn every_form_of_a_comparison_says_that_the_machine_was_busy() {
    let mut busy = two();
    for run in &mut busy {
        run.summary_mut().header.host.load = run.summary.header.host.cpus.map(|cpus| 3.0 * cpus as f64);
    }
    let scenarios = compared(busy.clone());
    let json = crate::comparison::json::render(&scenarios, &busy).unwrap();
    let page = page::render(&document(&scenarios, &busy));
    for text in [drawn(busy.clone(), 160), pasted(busy), json, page] {
        assert!(text.contains("the machine was busy when all 12 runs started"), "{text}");
    }
}

#[test]
fn every_form_of_a_comparison_says_that_looks_decided_how_many_runs_there_are() {
    let mut looked = two();
    for run in &mut looked {
        run.summary_mut().header.plan.looks = vec![3, 5, 8, 12];
    }
    let scenarios = compared(looked.clone());
    let json = crate::comparison::json::render(&scenarios, &looked).unwrap();
    let page = page::render(&document(&scenarios, &looked));
    assert!(json.contains("\"looks\": ["), "{json}");
    for text in [drawn(looked.clone(), 160), pasted(looked), page] {
        assert!(text.contains("makes interim analyses"), "{text}");
    }
    assert!(!drawn(two(), 160).contains("makes interim analyses"));
}
