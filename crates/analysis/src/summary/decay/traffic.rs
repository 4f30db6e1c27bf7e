//! The cost of light traffic alone, from the control window: reported beside the windows, never subtracted.

use serde::Serialize;

use record::Nanos;

use super::{Window, WindowKind};

/// The cost of light traffic alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Traffic {
    /// Change of private memory over the control windows, in bytes; below 0 if it fell.
    pub bytes: f64,
    /// Messages in it.
    pub sent: u64,
    /// How long it was.
    pub took: Nanos,
    /// The same for as many messages as the windows of light traffic had that are no controls; `None` if there are none.
    pub in_windows: Option<f64>,
}

impl Traffic {
    /// In bytes a minute.
    pub fn per_minute(&self) -> f64 {
        self.bytes * 60e9 / self.took.max(1) as f64
    }
}

/// Computes the cost of light traffic from the control windows of a run; `None` if there are none, or if their memory is
/// unknown.
pub fn traffic(windows: &[Window]) -> Option<Traffic> {
    let (controls, others): (Vec<&Window>, Vec<&Window>) = windows
        .iter()
        .filter(|window| window.kind == WindowKind::Simmer)
        .partition(|window| window.control);
    let releases = controls.iter().map(|window| Some(window.private.as_ref()?.released()));
    let bytes = -(releases.sum::<Option<i64>>()? as f64);
    let messages = count_messages(&controls);
    if messages == 0 {
        return None;
    }
    let in_windows = if others.is_empty() {
        None
    } else {
        Some(bytes * count_messages(&others) as f64 / messages as f64)
    };
    Some(Traffic {
        bytes,
        sent: messages,
        took: controls.iter().map(|window| window.took).sum(),
        in_windows,
    })
}

fn count_messages(windows: &[&Window]) -> u64 {
    windows.iter().map(|window| window.sent).sum()
}
