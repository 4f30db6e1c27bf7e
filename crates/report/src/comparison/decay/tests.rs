use super::*;
use analysis::summary::decay::{Short, WindowKind};
use record::Runtime;

fn a_run(kind: WindowKind, mib: f64) -> Gave {
    Gave {
        kind,
        released: mib.max(0.0) * f64::from(1 << 20),
        share: None,
        fell: 0.0,
        for_a_while: 0.0,
        taken: -mib.min(0.0) * f64::from(1 << 20),
        noise: f64::from(1 << 19),
        much: mib > 0.5,
        took: mib < -0.5,
        held: false,
        never: false,
        unknown: false,
        passive: None,
        short: None,
        shared: 0.0,
        lazily: None,
        much_lazily: false,
    }
}

/// A window in which each run released so many MiB, or took them if negative.
fn a_window(kind: WindowKind, mib: &[f64]) -> Given {
    let runs: Vec<Gave> = mib.iter().map(|mib| a_run(kind, *mib)).collect();
    let middle = runs[runs.len() / 2];
    Given { runs, middle }
}

fn a_short_window(kind: WindowKind, mib: &[f64]) -> Given {
    let mut window = a_window(kind, mib);
    let short = Some(Short {
        took: 9_000_000_000,
        needed: 17_000_000_000,
        runtime: Runtime::V8,
        full_decay_helps: true,
    });
    for run in &mut window.runs {
        run.short = short;
    }
    window.middle.short = short;
    window
}

fn light_traffic(mib: &[f64]) -> String {
    sentence(&[a_window(WindowKind::Simmer, mib)]).unwrap()
}

fn median_text(values: &[Option<f64>]) -> String {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let cell = FigureCell {
        values: values.to_vec(),
        median: stats::median_interval(&known, 0.95),
        ratio: None,
        clusters: Vec::new(),
        outliers: Vec::new(),
    };
    median(&cell, |value| format!("{value}"))
}

#[test]
fn runs_that_disagree_on_what_they_released_are_counted() {
    use WindowKind::{Silent, Simmer};
    assert_eq!(
        sentence(&[
            a_window(Silent, &[0.0, 0.01, 0.0, 0.0, 0.0]),
            a_window(Simmer, &[25.1, 0.02, 6.1, 0.0, 0.0])
        ])
        .unwrap(),
        "nothing released while idle; 25.1 and 6.1 MiB released in light traffic in 2 of 5 runs, nothing in 3"
    );
    assert_eq!(
        light_traffic(&[7.0, 6.1, 25.1, 8.0, 0.0]),
        "6.1 to 25.1 MiB released in light traffic in 4 of 5 runs, nothing in 1"
    );
    assert_eq!(
        light_traffic(&[7.0, -3.0]),
        "7.0 MiB released in light traffic in 1 of 2 runs, nothing in 1; 3.0 MiB more taken in 1 of 2 runs"
    );
    assert_eq!(
        light_traffic(&[0.0, -3.0, -4.0]),
        "nothing released in light traffic; 4.0 and 3.0 MiB more taken in 2 of 3 runs"
    );
    let mut left = a_window(Silent, &[0.0, 0.0, 0.0]);
    (left.runs[1].lazily, left.runs[1].much_lazily) = (Some(f64::from(107 << 20)), true);
    assert_eq!(
        sentence(&[left]).unwrap(),
        "nothing released while idle; 107.0 MiB left for the kernel to reclaim in 1 of \
         3 runs"
    );
    assert_eq!(sentence(&[]), None);
}

#[test]
fn what_the_table_of_any_run_prints_is_not_called_nothing() {
    assert_eq!(light_traffic(&[0.0, 0.0]), "nothing released in light traffic");
    assert_eq!(
        light_traffic(&[0.0, 0.2, 0.4]),
        "at most 0.4 MiB released in light traffic, within noise (0.5 MiB)"
    );
    assert_eq!(
        light_traffic(&[7.0, 0.2, 0.0]),
        "7.0 MiB released in light traffic in 1 of 3 runs, at most 0.2 MiB in 2"
    );
    let mut fell = a_window(WindowKind::Simmer, &[0.0, 0.0]);
    fell.runs[1].for_a_while = f64::from(3 << 20);
    assert_eq!(
        sentence(&[fell]).unwrap(),
        "nothing released for good in light traffic; 3.0 MiB released and taken again in 1 of 2 runs"
    );
    let mut shared = a_window(WindowKind::Simmer, &[0.04, 0.0]);
    shared.runs[0].share = Some(0.03);
    assert_eq!(
        sentence(&[shared]).unwrap(),
        "at most 41.0 KiB released in light traffic, within noise (0.5 MiB)"
    );
}

#[test]
fn runs_that_left_an_unknown_size_to_the_kernel_are_counted() {
    let mut window = a_window(WindowKind::Silent, &[0.0, 0.0, 0.0]);
    window.runs[0].much_lazily = true;
    assert_eq!(
        sentence(&[window.clone()]).unwrap(),
        "nothing released while idle; an unknown amount left for the kernel to reclaim in 1 of 3 runs"
    );
    (window.runs[1].lazily, window.runs[1].much_lazily) = (Some(f64::from(107 << 20)), true);
    assert_eq!(
        sentence(&[window.clone()]).unwrap(),
        "nothing released while idle; 107.0 MiB left for the kernel to reclaim in 1 of \
         3 runs; \
         an unknown amount left for the kernel to reclaim in 1 of 3 runs"
    );
    window.runs.truncate(1);
    window.middle = window.runs[0];
    assert_eq!(
        sentence(&[window]).unwrap(),
        "nothing released while idle, but an unknown amount left for the kernel to reclaim"
    );
}

#[test]
fn what_less_than_half_of_the_runs_have_is_no_figure() {
    assert_eq!(median_text(&[None, None]), "–");
    assert_eq!(median_text(&[Some(12.0), None, Some(12.0), None, None]), "– (2 of 5)");
    assert_eq!(median_text(&[Some(12.0), None]), "12 (1 of 2)");
    assert_eq!(median_text(&[Some(12.0), Some(12.0)]), "12");
}

#[test]
fn nothing_follows_from_runs_whose_windows_were_too_short() {
    let why = "not known: the window was 9 s, V8 needs about 17 s (`--full-decay`)";
    assert_eq!(
        brief(&[a_short_window(WindowKind::Silent, &[0.0, 0.0])]).unwrap(),
        format!("what is released while idle is {why}")
    );
    assert_eq!(
        brief(&[a_short_window(WindowKind::Silent, &[7.0, 9.0])]).unwrap(),
        format!("released 7.0 to 9.0 MiB while idle; what else is released while idle is {why}")
    );
    assert_eq!(
        sentence(&[a_short_window(WindowKind::Silent, &[0.0, -3.0])]).unwrap(),
        format!("3.0 MiB more taken in 1 of 2 runs; what is released while idle is {why}")
    );
    let both = [
        a_window(WindowKind::Simmer, &[0.0, 0.0]),
        a_short_window(WindowKind::Silent, &[0.0, 0.0]),
    ];
    assert_eq!(
        brief(&both).unwrap(),
        format!("nothing released in light traffic; what is released while idle is {why}")
    );
}
