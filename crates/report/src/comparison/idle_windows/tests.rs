use super::*;
use analysis::summary;
use record::golden::Session;
use record::{Event, IdleKind, Reader};

/// A run with an idle window of 10 s that ended like this, while memory fell from 140 MiB.
fn a_run(end: WindowEnd, to: u64) -> Summary {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 140, 20);
    session.phase("decay");
    session.idle(IdleKind::Silent, 0, to, 10);
    if let Some(Event::StepEnded(step)) = session.entries.last_mut().map(|entry| &mut entry.event)
        && let Some(idle) = &mut step.idle
    {
        idle.end = Some(end);
        if end == WindowEnd::TooShort {
            (idle.settled, idle.needed) = (None, Some(12_000_000_000));
        }
    }
    let bytes = session.bytes();
    summary::read(Reader::new(bytes.as_slice()).unwrap()).unwrap()
}

fn remark(end: WindowEnd, to: u64) -> String {
    remarks(&a_run(end, to)).pop().expect("there is a word on it")
}

#[test]
fn what_kept_still_for_too_short_is_not_said_to_move() {
    assert_eq!(
        remark(WindowEnd::TooShort, 140),
        "idle in decay: too short: memory was stable, but the window ended after 10.0 s of the 12.0 s needed"
    );
}

#[test]
fn what_is_said_of_a_held_window_follows_its_curve() {
    let [still, little, much] = [140, 139, 60].map(|to| remark(WindowEnd::Held, to));
    assert!(still.ends_with("; nothing was released in 10.0 s"), "{still}");
    assert!(little.contains("its curve shows 1.0 MiB released"), "{little}");
    assert!(much.contains("its curve shows 80.0 MiB released"), "{much}");
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
fn what_less_than_half_of_the_runs_have_is_no_figure() {
    assert_eq!(median_text(&[None, None]), "–");
    assert_eq!(median_text(&[Some(12.0), None, Some(12.0), None, None]), "– (2 of 5)");
    assert_eq!(median_text(&[Some(12.0), None]), "12 (1 of 2)");
    assert_eq!(median_text(&[Some(12.0), Some(12.0)]), "12");
}
