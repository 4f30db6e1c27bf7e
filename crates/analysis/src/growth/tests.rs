use crate::summary::StepSummary;
use record::{EmptyStep, Ending, Excess};

use super::*;

/// A run of these rounds: phase number, private memory, requests and notifications of its step.
fn run(rounds: &[(u32, u64, u64, u64)]) -> Summary {
    let mut summary = crate::golden::read("completed");
    let model = summary.phases[1].clone();
    assert!(model.checkpoint.is_some(), "a phase that was played to its end");
    summary.phases = rounds
        .iter()
        .map(|(number, private, requests, notifications)| {
            let mut phase = model.clone();
            phase.phase.phase = *number;
            phase.phase.name = format!("phase-{number}");
            phase.private = Some(*private);
            phase.steps = vec![StepSummary {
                step: 0,
                name: if *requests + *notifications == 0 {
                    "idle"
                } else {
                    "hover"
                }
                .to_owned(),
                method: None,
                took: Some(1),
                requests: Some(*requests),
                hits: Some(*requests),
                answered: Some(*requests),
                notifications: Some(*notifications),
                others: Some(0),
                files_watched: None,
                parked: Some(0),
                skipped: false,
                looked_for: None,
            }];
            phase
        })
        .collect();
    summary
}

fn names(summary: &Summary) -> Vec<String> {
    repeated_parts(summary).into_iter().map(|part| part.name).collect()
}

#[test]
fn each_phase_that_is_repeated_by_itself_has_its_rounds() {
    let mut rounds = vec![(0, 10, 1, 1)];
    rounds.extend((0..10).map(|round| (1, 100 + round * 20, 10, 0)));
    rounds.extend((0..8).map(|_| (2, 300, 0, 4)));
    rounds.extend((0..3).map(|_| (3, 300, 0, 0)));
    let all = repeated_parts(&run(&rounds));
    let sent: Vec<Option<Sent>> = all.iter().map(|part| part.sent).collect();
    assert_eq!(
        sent,
        [
            Some(Sent::Requests(10.0)),
            Some(Sent::Notifications(4.0)),
            Some(Sent::Nothing)
        ]
    );
    let growth = all[0].growth().unwrap();
    assert_eq!(growth.trend.slope, 20.0);
    assert_eq!(Sent::Requests(10.0).per_message(growth.trend.slope), Some(2.0));
    assert_eq!(all[1].growth().unwrap().trend.slope, 0.0);
    assert_eq!(all[2].growth(), None, "three rounds say nothing of a slope");
}

#[test]
fn rounds_of_the_whole_scenario_are_one_series_however_their_phases_are_repeated() {
    let mut rounds = vec![(0, 10, 1, 1)];
    for round in 0..9 {
        rounds.extend([(1, 50, 2, 0), (1, 60, 2, 0), (2, 100 + round, 1, 0)]);
    }
    let summary = run(&rounds);
    assert_eq!(names(&summary), [WHOLE]);
    let whole = &repeated_parts(&summary)[0];
    assert_eq!(whole.values.len(), 9);
    assert_eq!((whole.values[0], whole.values[8]), (Some(100), Some(108)));
    assert_eq!(whole.sent, Some(Sent::Requests(5.0)));
}

#[test]
fn a_round_that_was_cut_short_does_not_count() {
    let mut rounds = vec![(0, 10, 1, 1)];
    for round in 0..9 {
        rounds.extend([(1, 50, 2, 0), (2, 100 + round, 1, 0)]);
    }
    rounds.push((1, 50, 2, 0));
    assert_eq!(repeated_parts(&run(&rounds))[0].values.len(), 9);
}

#[test]
fn what_is_played_once_is_not_repeated() {
    assert_eq!(names(&run(&[(0, 10, 1, 1), (1, 20, 1, 1)])), Vec::<String>::new());
    assert_eq!(names(&run(&[])), Vec::<String>::new());
}

#[test]
fn a_value_that_is_not_known_makes_no_slope() {
    let rounds: Vec<(u32, u64, u64, u64)> = (0..10).map(|round| (1, 100 + round, 1, 0)).collect();
    let mut summary = run(&rounds);
    summary.phases[4].checkpoint = None;
    assert_eq!(repeated_parts(&summary)[0].values[4], None);
    assert_eq!(repeated_parts(&summary)[0].growth(), None);
}

/// The rounds of one phase with this step.
fn with_step(step: &StepSummary) -> Repeated {
    let rounds: Vec<(u32, u64, u64, u64)> = (0..10).map(|round| (1, 100 + round, 1, 0)).collect();
    let mut summary = run(&rounds);
    for phase in &mut summary.phases {
        phase.steps = vec![step.clone()];
    }
    repeated_parts(&summary).remove(0)
}

fn idle_step() -> StepSummary {
    StepSummary {
        name: "idle".to_owned(),
        requests: Some(0),
        hits: Some(0),
        answered: Some(0),
        ..run(&[(1, 1, 1, 0)]).phases[0].steps[0].clone()
    }
}

/// A step that changes files on disk and leaves requests open.
fn touch_step(others: u64, parked: u64) -> StepSummary {
    StepSummary {
        name: "touch".to_owned(),
        others: Some(others),
        files_watched: None,
        parked: Some(parked),
        ..idle_step()
    }
}

#[test]
fn growth_is_the_servers_own_only_where_nothing_at_all_reached_it() {
    assert_eq!(with_step(&idle_step()).sent, Some(Sent::Nothing));
    let light = StepSummary {
        others: Some(24),
        files_watched: None,
        ..idle_step()
    };
    assert_eq!(with_step(&light).sent, Some(Sent::Others));
    let written = with_step(&touch_step(24, 0));
    assert_eq!(
        (written.sent, written.asked),
        (Some(Sent::Others), Asked::Unanswered),
        "it was not told"
    );
    let parked = with_step(&touch_step(3, 3));
    assert_eq!((parked.sent, parked.asked), (Some(Sent::Others), Asked::Unanswered));
    let nothing = with_step(&touch_step(0, 0));
    assert_eq!((nothing.sent, nothing.asked), (None, Asked::No));
    let skipped = StepSummary {
        skipped: true,
        ..touch_step(0, 0)
    };
    assert_eq!(with_step(&skipped).asked, Asked::No);
}

#[test]
fn a_request_left_open_before_and_a_command_at_the_checkpoint_are_no_silence() {
    let mut summary = run(&(0..10).map(|round| (1, 100 + round, 0, 0)).collect::<Vec<_>>());
    for phase in &mut summary.phases {
        phase.steps[0].name = "idle".to_owned();
    }
    assert_eq!(repeated_parts(&summary)[0].sent, Some(Sent::Nothing));
    for phase in &mut summary.phases {
        phase.kept_open = 1;
    }
    assert_eq!(repeated_parts(&summary)[0].sent, Some(Sent::Waiting));
    for phase in &mut summary.phases {
        phase.commands = 1;
    }
    assert_eq!(repeated_parts(&summary)[0].sent, Some(Sent::Others));
}

#[test]
fn answers_to_the_server_s_own_requests_are_sent_too() {
    let (six, eight) = (idle_with_server_requests(6), idle_with_server_requests(8));
    assert_eq!(six.sent, Some(Sent::Answers(6.0)));
    assert_eq!(sent_in_all([&six, &eight].into_iter()), Some(Sent::Answers(7.0)));
    let silent = idle_with_server_requests(0);
    assert_eq!(sent_in_all([&silent, &silent].into_iter()), Some(Sent::Nothing));
}

/// Twelve idle rounds, in each of which the server sends so many requests.
fn idle_with_server_requests(requests: u64) -> Repeated {
    let mut summary = run(&(0..12).map(|round| (1, 100 + round, 0, 0)).collect::<Vec<_>>());
    for phase in &mut summary.phases {
        phase.steps[0].name = "idle".to_owned();
        phase.server_requests = requests;
    }
    repeated_parts(&summary).remove(0)
}

/// A run of rounds with these sampled maxima in MiB, in whose last round the server crashes.
fn crashed_run(peaks: &[u64]) -> Summary {
    let rounds: Vec<(u32, u64, u64, u64)> = peaks.iter().map(|peak| (1, *peak << 20, 1, 0)).collect();
    let mut summary = run(&rounds);
    for (phase, peak) in summary.phases.iter_mut().zip(peaks) {
        phase.private_peak = Some(*peak << 20);
    }
    summary.phases.last_mut().unwrap().checkpoint = None;
    summary.ending = Some(Ending::Crashed {
        code: None,
        signal: Some(6),
        during: String::new(),
    });
    summary
}

#[test]
fn growth_up_to_a_crash_counts() {
    let part = &repeated_parts(&crashed_run(&[80, 82, 81, 83, 160, 320, 640, 1_280]))[0];
    let growth = part.up_to_end.unwrap();
    assert_eq!((growth.from >> 20, growth.to >> 20), (82, 1_280));
    assert_eq!((growth.round, growth.end), (8, End::Crash));
    assert_eq!((part.values.len(), part.values[7]), (8, None));
    assert_eq!(part.series().len(), 7, "the rounds before the crash are judged");
}

#[test]
fn growth_up_to_a_crash_counts_though_a_collector_freed_some_just_before() {
    let part = &repeated_parts(&crashed_run(&[134, 135, 140, 140, 900, 3_296, 2_863]))[0];
    let growth = part.up_to_end.unwrap();
    assert_eq!((growth.from >> 20, growth.to >> 20, growth.round), (135, 2_863, 7));
}

#[test]
fn a_crash_that_memory_did_not_cause_is_no_growth() {
    for peaks in [
        &[80, 300, 80, 100][..],
        &[80, 80, 80, 90],
        &[300, 80, 90, 200],
        &[80, 900],
    ] {
        assert_eq!(
            repeated_parts(&crashed_run(peaks))
                .first()
                .and_then(|part| part.up_to_end),
            None
        );
    }
}

#[test]
fn growth_up_to_the_memory_limit_counts() {
    let mut summary = crashed_run(&[80, 160, 240, 320]);
    summary.ending = Some(Ending::OverLimit {
        excess: Excess {
            limit: 320 << 20,
            private: 330 << 20,
            is_exact: true,
            rate: None,
        },
        during: String::new(),
        in_flight: Vec::new(),
        before: Vec::new(),
    });
    let growth = repeated_parts(&summary)[0].up_to_end.unwrap();
    assert_eq!((growth.to >> 20, growth.end), (330, End::Limit));
}

#[test]
fn rounds_after_a_lost_process_are_not_judged() {
    let rounds: Vec<(u32, u64, u64, u64)> = (0..20).map(|round| (1, 100 + round * 20, 1, 0)).collect();
    let mut summary = run(&rounds);
    for phase in &mut summary.phases[12..] {
        (phase.private, phase.incomplete) = (Some(5), true);
    }
    let part = &repeated_parts(&summary)[0];
    assert_eq!((part.values[11], part.values[12]), (Some(320), None));
    assert_eq!(part.growth().unwrap().trend.slope, 20.0);
}

/// A step with these requests, of which so many were answered.
fn asking(name: &str, requests: u64, answered: u64) -> StepSummary {
    StepSummary {
        name: name.to_owned(),
        requests: Some(requests),
        hits: Some(answered),
        answered: Some(answered),
        ..run(&[(1, 1, 1, 0)]).phases[0].steps[0].clone()
    }
}

/// Steps that send notifications or change files.
fn changing(name: &str, notifications: u64, files_written: u64) -> StepSummary {
    StepSummary {
        notifications: Some(notifications),
        others: Some(files_written),
        files_watched: None,
        ..asking(name, 0, 0)
    }
}

/// Rounds of one phase with these steps, in the order of their places.
fn with_steps(steps: &[StepSummary]) -> Repeated {
    with_rounds(|_| steps.to_vec())
}

/// Thirty rounds of one phase whose memory is level.
fn with_rounds(steps: impl Fn(usize) -> Vec<StepSummary>) -> Repeated {
    let mut summary = run(&[(1, 100 << 20, 1, 0); 30]);
    for (round, phase) in summary.phases.iter_mut().enumerate() {
        phase.steps = steps(round);
        for (place, step) in phase.steps.iter_mut().enumerate() {
            step.step = place as u32;
        }
    }
    repeated_parts(&summary).remove(0)
}

fn unasked(part: &Repeated) -> Vec<(&str, WhyUnasked)> {
    part.unasked.iter().map(|step| (step.step.as_str(), step.why)).collect()
}

#[test]
fn errors_and_timeouts_are_no_answers() {
    let failed = with_steps(&[asking("hover", 5, 0)]);
    assert_eq!(failed.asked, Asked::Unanswered);
    assert_eq!(unasked(&failed), [("hover", WhyUnasked::Failed)]);
    assert_eq!(
        failed.growth().unwrap().growth,
        Growth::Unclear,
        "level, and not denied"
    );
    assert_eq!(with_steps(&[asking("hover", 5, 2)]).asked, Asked::Unanswered);
    let answered = with_steps(&[asking("hover", 5, 3)]);
    assert_eq!(answered.asked, Asked::Yes);
    assert_eq!(answered.growth().unwrap().growth, Growth::Below);
}

#[test]
fn one_step_that_was_answered_makes_no_other_step_asked() {
    let skipped = StepSummary {
        skipped: true,
        ..asking("rename", 0, 0)
    };
    let mixed = with_steps(&[asking("hover", 5, 5), skipped]);
    assert_eq!(mixed.asked, Asked::Partly);
    assert_eq!(unasked(&mixed), [("rename", WhyUnasked::NotOffered)]);
    assert_eq!(mixed.growth().unwrap().growth, Growth::Unclear);
    let placeless = StepSummary {
        looked_for: Some("names".to_owned()),
        ..asking("definition", 0, 0)
    };
    let mixed = with_steps(&[changing("edit", 4, 0), placeless]);
    assert_eq!(unasked(&mixed), [("definition", WhyUnasked::NoPlace)]);
}

#[test]
fn edits_and_written_files_are_no_save() {
    let unsaved = with_steps(&[changing("edit", 4, 0), changing("save", 0, 3)]);
    assert_eq!(unasked(&unsaved), [("save", WhyUnasked::NothingSent)]);
    let saved = with_steps(&[changing("edit", 4, 0), changing("save", 3, 3)]);
    assert_eq!(saved.asked, Asked::Yes);
    assert_eq!(
        unasked(&with_steps(&[changing("touch", 0, 3)])),
        [("touch", WhyUnasked::NotTold)]
    );
    assert_eq!(with_steps(&[changing("touch", 1, 3)]).asked, Asked::Yes);
}

#[test]
fn a_step_is_asked_if_most_rounds_ask_it() {
    // All files are open after the first round.
    let opened = with_rounds(|round| vec![changing("open", u64::from(round == 0), 0), changing("edit", 4, 0)]);
    assert_eq!(unasked(&opened), [("open", WhyUnasked::NothingSent)]);
    let failed_once = with_rounds(|round| vec![asking("hover", 5, if round == 7 { 0 } else { 5 })]);
    assert_eq!(failed_once.asked, Asked::Yes);
}

/// Thirty rounds whose hovers are so many, answered and with so many hits; results are required if `is_required`.
fn finding(requests: u64, answered: u64, hits: u64, is_required: bool) -> Repeated {
    let mut summary = run(&[(1, 100 << 20, 1, 0); 30]);
    for phase in &mut summary.phases {
        phase.steps = vec![StepSummary {
            hits: Some(hits),
            ..asking("hover", requests, answered)
        }];
    }
    if is_required {
        let empty = EmptyStep {
            phase: "phase-1".to_owned(),
            step: "hover".to_owned(),
            requests,
            errors: 0,
            error: None,
            looked_for: None,
            parked: 0,
            lacks: None,
        };
        summary.ending = Some(Ending::Empty { steps: vec![empty] });
    }
    repeated_parts(&summary).remove(0)
}

#[test]
fn growth_is_not_denied_of_what_found_nothing_though_it_should() {
    let missed = finding(5, 5, 0, true);
    assert_eq!(missed.asked, Asked::Unanswered);
    assert_eq!(unasked(&missed), [("hover", WhyUnasked::FoundNothing)]);
    assert_eq!(missed.growth().unwrap().growth, Growth::Unclear);
    // One empty round among many that found something.
    assert_eq!(finding(5, 5, 5, true).asked, Asked::Yes);
}

#[test]
fn a_denial_names_what_failed_and_what_found_nothing() {
    for (part, expected) in [
        (finding(5, 3, 3, false), Some((Some(0.4), false))),
        (finding(5, 5, 0, false), Some((None, true))),
        (finding(5, 5, 1, false), None),
        // One in 500 is not worth it.
        (finding(500, 499, 499, false), None),
    ] {
        assert_eq!(part.asked, Asked::Yes);
        let reservation = part.reserved.first();
        let reserved = reservation.map(|reservation| (reservation.failed, reservation.found_nothing));
        assert_eq!(reserved, expected);
    }
    let both = [finding(5, 3, 3, false), finding(5, 5, 0, false)];
    let all = reserved_in_all(both.iter());
    assert_eq!((all.len(), all[0].failed, all[0].found_nothing), (1, Some(0.4), true));
}
