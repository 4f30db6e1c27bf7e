//! The options of an idle window.

use serde::Deserialize;

use base::units::Span;

/// Waits and measures released memory.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Idle {
    /// True if any message is sent meanwhile.
    pub mode: IdleMode,
    /// Interval of harmless messages when simmering; 250 ms when not given.
    pub every: Option<Span>,
    /// The messages of light traffic; by default all that the server supports.
    pub methods: Option<Vec<Light>>,
    /// True if this is the control: light traffic before there is memory to release, which measures the traffic's own
    /// cost.
    pub control: bool,
    /// Until when; `settled` unless `for` is given.
    pub until: Option<Until>,
    /// Length, whatever happens.
    #[serde(rename = "for")]
    pub time: Option<Span>,
    /// Longest wait for the memory to settle; as long as the server's allocator may take when not given, which is
    /// 60 s where that is not known.
    pub at_most: Option<Span>,
    /// Time that memory must stay unchanged to count as held, if the allocator is known not to purge in this kind of
    /// window; 12 s by default. A server may still free memory on a timer of its own.
    pub dwell: Option<Span>,
    /// True if a window that waits for the memory to settle lasts as long as the server's runtime or allocator may keep
    /// freed memory, whatever `at-most` says. A window that does not wait for a garbage collector ends as soon as memory
    /// is stable.
    pub full_decay: bool,
}

/// The traffic of an idle window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum IdleMode {
    /// No messages: only what the server releases by itself shows.
    #[default]
    Silent,
    /// Light harmless traffic, as a person's editor makes.
    Simmer,
}

/// A kind of light traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Light {
    /// A hover at the cursor.
    Hover,
    /// A document highlight at the cursor.
    DocumentHighlight,
    /// Word that an open file was written to, though it was not; every tenth message.
    Touch,
}

impl Light {
    /// Everything that a person's editor sends while its user reads.
    pub const ALL: [Light; 3] = [Light::Hover, Light::DocumentHighlight, Light::Touch];
}

/// The end of an idle step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// Memory no longer moves.
    Settled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleEnd {
    After(Span),
    Settled {
        /// The cap, where one was asked for.
        at_most: Option<Span>,
    },
}

impl Idle {
    /// Time that private memory must stay within a band to count as settled, for an unknown allocator. Allocators
    /// release in steps with flat stretches of seven seconds. A window of two or five seconds stopped up to 28 % too
    /// high, one of eight did not.
    pub const STEADY: Span = Span::from_secs(8);

    /// See [`Idle::dwell`]. One server frees on a five-second timer. A tokio worker thread ends after ten idle seconds
    /// and releases its own cache, so a window of ten seconds would see that only by chance.
    pub const DWELL: Span = Span::from_secs(12);

    pub fn end(&self) -> IdleEnd {
        match self.time {
            Some(time) => IdleEnd::After(time),
            None => IdleEnd::Settled { at_most: self.at_most },
        }
    }

    /// Interval of light traffic; `None` if silent.
    pub fn traffic(&self) -> Option<Span> {
        match self.mode {
            IdleMode::Silent => None,
            IdleMode::Simmer => Some(self.every.unwrap_or(Span::from_millis(250))),
        }
    }
}
