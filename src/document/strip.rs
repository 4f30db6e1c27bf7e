//! Every run as a mark on a line, so that groups and outliers are seen and not averaged away.

/// Runs per place on a line of `columns` between `low` and `high`: `·` is one run, a digit several, `+` ten or more.
pub fn draw(values: impl Iterator<Item = f64>, low: f64, high: f64, columns: usize) -> String {
    let mut counts = vec![0_u32; columns];
    let span = high - low;
    for value in values {
        let share = if span > 0.0 { (value - low) / span } else { 0.5 };
        let place = (share * columns.saturating_sub(1) as f64).round() as usize;
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    let mark = |count: &u32| match count {
        0 => ' ',
        1 => '·',
        2..=9 => char::from_digit(*count, 10).unwrap_or('+'),
        _ => '+',
    };
    counts.iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_are_seen_as_two() {
        let runs = [317.0, 317.1, 340.0, 317.2, 341.0];
        assert_eq!(
            draw(runs.into_iter(), 317.0, 341.0, 11),
            "3          2".replacen("  ", " ", 1)
        );
    }

    #[test]
    fn equal_runs_stand_in_the_middle() {
        assert_eq!(draw([5.0; 12].into_iter(), 5.0, 5.0, 5), "  +  ");
        assert_eq!(draw(std::iter::empty(), 5.0, 5.0, 3), "   ");
    }
}
