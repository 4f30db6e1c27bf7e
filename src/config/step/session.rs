//! The options of a step that plays a recorded session.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::config::recorded::Recorded;

/// Plays what an editor sent in a recorded session, to a server that was started with its `initialize`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Session {
    /// The file, relative to that of the scenario: a record of `lsp-soak wrap`, VS Code's verbose trace, a replay file of
    /// typescript-go, or what `lsp-devtools record --to-file` wrote.
    pub file: String,
    /// `"1x"` plays it as it was recorded, `"10x"` in a tenth of the time, `"max"` without pauses.
    pub speed: Speed,
    /// The session in the file.
    #[serde(skip)]
    #[cfg_attr(test, schemars(skip))]
    pub recorded: Arc<Recorded>,
}

/// The pace at which a recorded session is played.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(test, schemars(!try_from, with = "String"))]
pub enum Speed {
    /// This many times as fast as it was recorded.
    Times(f64),
    /// Each message as soon as the answers that came before it are there.
    Max,
}

impl Speed {
    /// The moment of a message that was sent this long after the beginning.
    pub fn scale(self, at: Duration) -> Duration {
        match self {
            Speed::Times(times) => at.div_f64(times),
            Speed::Max => Duration::ZERO,
        }
    }
}

impl Default for Speed {
    fn default() -> Speed {
        Speed::Times(1.0)
    }
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Speed, String> {
        if text == "max" {
            return Ok(Speed::Max);
        }
        let times = text.strip_suffix('x').and_then(|number| number.parse::<f64>().ok());
        match times {
            Some(times) if (0.001..=100_000.0).contains(&times) => Ok(Speed::Times(times)),
            Some(_) | None => Err(format!("`{text}` is no speed: write `1x`, `10x`, or `max`")),
        }
    }
}

impl TryFrom<String> for Speed {
    type Error = String;

    fn try_from(text: String) -> Result<Speed, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_factor_or_max() {
        let second = Duration::from_secs(1);
        for (text, moment) in [("1x", 1_000), ("10x", 100), ("0.5x", 2_000), ("max", 0)] {
            let speed: Speed = text.parse().unwrap();
            assert_eq!(speed.scale(second), Duration::from_millis(moment), "{text}");
        }
        for text in ["", "fast", "10", "0x", "-1x", "NaNx", "1e9x"] {
            assert!(text.parse::<Speed>().unwrap_err().contains("is no speed"), "{text}");
        }
    }
}
