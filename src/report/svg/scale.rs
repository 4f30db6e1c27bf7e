//! Axes: where round values lie.

/// Distances of ticks on an axis of time, in seconds.
const STEPS: [f64; 20] = [
    0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0,
    14_400.0, 21_600.0, 43_200.0,
];

/// At most this many of them beside 0.
const TICKS: f64 = 9.0;

/// Ticks from 0 to `until` seconds, each with its text.
pub fn times(until: f64) -> Vec<(f64, String)> {
    let step = STEPS.into_iter().find(|step| until / step <= TICKS);
    let step = step.unwrap_or_else(|| (until / TICKS / 86_400.0).ceil() * 86_400.0);
    let ticks = (0..=TICKS as u64).map(|tick| tick as f64 * step);
    ticks
        .take_while(|at| *at <= until)
        .map(|at| (at, if until < 60.0 { short(at, step) } else { clock(at) }))
        .collect()
}

fn short(seconds: f64, step: f64) -> String {
    let digits = usize::from(step < 1.0);
    format!("{seconds:.digits$} s")
}

fn clock(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3_600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let texts = |until| times(until).into_iter().map(|(_, text)| text).collect::<Vec<String>>();
        assert_eq!(texts(2.3), ["0.0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]);
        assert_eq!(texts(34.0), ["0 s", "5 s", "10 s", "15 s", "20 s", "25 s", "30 s"]);
        assert_eq!(texts(130.0)[1], "0:15");
        assert_eq!(texts(86_400.0)[1], "4:00:00");
        for until in [0.01, 1.0, 59.0, 61.0, 4_000.0, 1e6, 1e9] {
            assert!(times(until).len() <= 10, "{until}");
        }
    }
}
