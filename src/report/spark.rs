//! The curve of a window of idleness, drawn with characters.

use crate::record::Nanos;
use crate::summary::decay::Window;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The least that a curve's height stands for: what moves less is drawn flat.
const LEAST: u64 = 1 << 20;

/// What curves that stand together are drawn against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    low: u64,
    high: u64,
    longest: Nanos,
}

impl Scale {
    /// One for all of these windows.
    pub fn of<'w>(windows: impl Iterator<Item = &'w Window> + Clone) -> Scale {
        let values = || windows.clone().flat_map(|window| window.curve.iter().copied());
        let low = values().min().unwrap_or(0);
        Scale {
            low,
            high: values().max().unwrap_or(0).max(low.saturating_add(LEAST)),
            longest: windows.clone().map(|window| window.took).max().unwrap_or(0).max(1),
        }
    }

    /// The curve of a window in at most `columns`, as many as its time is of the longest; each shows the highest value of
    /// its stretch, so that no spike is lost. Empty where it is not known.
    pub fn draw(&self, window: &Window, columns: usize) -> String {
        let values = &window.curve;
        if values.is_empty() {
            return String::new();
        }
        let columns = (columns as f64 * window.took as f64 / self.longest as f64).round() as usize;
        let columns = columns.clamp(1, values.len());
        let cell = |place: usize| {
            let stretch = &values[place * values.len() / columns..(place + 1) * values.len() / columns];
            let highest = stretch
                .iter()
                .max()
                .map_or(0, |highest| highest.saturating_sub(self.low));
            let part = highest as f64 / self.high.saturating_sub(self.low).max(1) as f64;
            BLOCKS[((part * (BLOCKS.len() - 1) as f64) as usize).min(BLOCKS.len() - 1)]
        };
        (0..columns).map(cell).collect()
    }
}
