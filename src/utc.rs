//! The date and time of day, as records and names of directories have it.

use std::fmt;
use std::time::{Duration, SystemTime};

/// A moment in Coordinated Universal Time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    millisecond: u32,
}

impl Utc {
    pub fn now() -> Utc {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Utc::after_epoch(since.unwrap_or_default())
    }

    /// The formula for the date is Neri and Schneider's (2022, <https://doi.org/10.1002/spe.3172>): years begin in March, so
    /// that the leap day is a year's last.
    fn after_epoch(since: Duration) -> Utc {
        let seconds = since.as_secs();
        let in_centuries = 4 * (seconds / 86_400 + 719_468) + 3;
        let century = in_centuries / 146_097;
        let in_years = 4 * (in_centuries % 146_097 / 4) + 3;
        let day_of_year = in_years % 1461 / 4;
        let in_months = 2141 * day_of_year + 197_913;
        let month = in_months / 65_536;
        let is_next_year = month > 12;
        Utc {
            year: 100 * century + in_years / 1461 + u64::from(is_next_year),
            month: if is_next_year { month - 12 } else { month },
            day: in_months % 65_536 / 2141 + 1,
            hour: seconds / 3600 % 24,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            millisecond: since.subsec_millis(),
        }
    }

    /// To the second, for the name of a file: `20260305-143059`.
    pub fn compact(&self) -> String {
        let Utc { year, month, day, .. } = self;
        let Utc {
            hour, minute, second, ..
        } = self;
        format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
    }

    /// To the second, as RFC 3339 has it.
    pub fn seconds(&self) -> String {
        let Utc { year, month, day, .. } = self;
        let Utc {
            hour, minute, second, ..
        } = self;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// To the millisecond, as RFC 3339 has it.
impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds();
        write!(f, "{}.{:03}Z", seconds.trim_end_matches('Z'), self.millisecond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_four_centuries_is_as_in_the_calendar() {
        for day in 0..146_097_i64 {
            let time = jiff::Timestamp::new(day * 86_400 + day % 86_400, 7_000_000).unwrap();
            let since = Duration::try_from(time.duration_since(jiff::Timestamp::UNIX_EPOCH)).unwrap();
            let utc = Utc::after_epoch(since);
            assert_eq!(utc.to_string(), time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string());
        }
    }

    #[test]
    fn a_moment_is_written_for_records_and_for_names() {
        let utc = Utc::after_epoch(Duration::from_millis(951_827_696_789));
        assert_eq!(utc.to_string(), "2000-02-29T12:34:56.789Z");
        assert_eq!(utc.seconds(), "2000-02-29T12:34:56Z");
        assert_eq!(utc.compact(), "20000229-123456");
    }
}
