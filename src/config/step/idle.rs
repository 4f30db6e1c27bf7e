//! The options of a window in which nothing is asked of the server.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::units::Span;

/// Waits and watches what memory comes back.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Idle {
    /// Whether nothing at all is sent meanwhile.
    pub mode: IdleMode,
    /// How often something harmless is sent when simmering; 250 ms when not given.
    pub every: Option<Span>,
    /// What is sent when simmering; all of it when not given, as far as the server offers it.
    pub methods: Option<Vec<Light>>,
    /// Whether this is the control: light traffic before there is anything to give back, for what the traffic costs.
    pub control: bool,
    /// Until when; `settled` unless `for` is given.
    pub until: Option<Until>,
    /// How long, whatever happens.
    #[serde(rename = "for")]
    pub time: Option<Span>,
    /// How long to wait for the memory to settle; as long as the server's allocator may take when not given, which is
    /// 60 s where that is not known.
    pub at_most: Option<Span>,
    /// How long nothing may come back before memory counts as held, where the allocator is known to give nothing back in
    /// such a window; 12 s when not given. A server may still free something on a timer of its own.
    pub dwell: Option<Span>,
}

/// What is sent while idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleMode {
    /// Nothing: only what the server gives back by itself is seen.
    #[default]
    Silent,
    /// Light harmless traffic, as a person's editor makes.
    Simmer,
}

/// A kind of light traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
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

/// What an idle step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
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
    /// How long private memory must stay within a band to count as settled where nothing is known of the allocator.
    /// Allocators give back in steps with flat stretches of seven seconds between them; a look of two or five seconds
    /// stopped up to 28 % too high, one of eight did not.
    pub const STEADY: Span = Span::from_secs(8);

    /// See [`Idle::dwell`]. A server was seen to free on a timer of five seconds; and a worker thread of tokio ends after
    /// ten idle ones and gives its own store back, so that a look of ten seconds would see that or not by chance.
    pub const DWELL: Span = Span::from_secs(12);

    pub fn end(&self) -> IdleEnd {
        match self.time {
            Some(time) => IdleEnd::After(time),
            None => IdleEnd::Settled { at_most: self.at_most },
        }
    }

    /// How often something is sent; `None` when silent.
    pub fn traffic(&self) -> Option<Span> {
        match self.mode {
            IdleMode::Silent => None,
            IdleMode::Simmer => Some(self.every.unwrap_or(Span::from_millis(250))),
        }
    }
}
