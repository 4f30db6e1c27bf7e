//! The options of steps that send no requests: documents, time, and the server's own life.

use serde::Deserialize;

use super::options::Count;
use super::world::PathBelow;
use base::units::Span;

/// Starts the server: spawn, handshake, wait until it is ready.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Start {
    /// Number of editor windows on the project, each with a server. The steps are played in the first; the others have the same
    /// documents open and hear of files that change. Memory is that of all.
    pub instances: Count,
    /// Directory below the workspace that is opened instead of it, as in a monorepo.
    pub root: Option<PathBelow>,
    /// Time limit of the `initialize` request; the scenario's deadline when not given.
    pub deadline: Option<Span>,
}

impl Default for Start {
    fn default() -> Start {
        Start {
            instances: Count::ONE,
            root: None,
            deadline: None,
        }
    }
}

/// Stops the server and starts a new one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Restart {
    /// The way in which the server is stopped.
    pub by: StopBy,
    /// Opens the documents again that were open before.
    pub reopen: bool,
    /// Time limit of the `initialize` request; the scenario's deadline when not given.
    pub deadline: Option<Span>,
}

impl Default for Restart {
    fn default() -> Restart {
        Restart {
            by: StopBy::Shutdown,
            reopen: true,
            deadline: None,
        }
    }
}

/// The way in which a server is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StopBy {
    /// It is shut down as editors do.
    #[default]
    Shutdown,
    /// It is killed, as by the system or by a user.
    Kill,
    /// Its editor dies: the pipes close, and nothing is said. It has the scenario's deadline to end by itself.
    EditorDies,
}

/// Opens documents.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Open {
    /// Their number; fewer when the workspace has no more.
    pub files: Count,
    /// Which: the first of the seeded order, or the next after the last ones.
    pub pick: Pick,
    /// Time from one to the next.
    pub cadence: Span,
}

impl Default for Open {
    fn default() -> Open {
        Open {
            files: Count::TWENTY,
            pick: Pick::First,
            cadence: Span::from_millis(0),
        }
    }
}

/// Which documents are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// The first that are not open, always in the same order.
    #[default]
    First,
    /// Those after the ones opened last, around and around: churn over the whole workspace.
    Next,
}

/// Closes documents.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Close {
    /// Their number, the ones open longest first; all when not given.
    pub files: Option<Count>,
    /// Time from one to the next.
    pub cadence: Span,
}

/// Writes documents to disk and says so.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Save {
    /// Number of open documents; all when not given.
    pub files: Option<Count>,
    /// Time from one to the next.
    pub cadence: Span,
}

/// Changes documents in one stroke each; the changes are unique each time and undone at the end.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Edit {
    /// Number of open documents; all when not given.
    pub files: Option<Count>,
    /// Number of changes in each.
    pub per_file: Count,
    /// The form in which changes are sent.
    pub mode: EditMode,
    /// Time from one to the next.
    pub cadence: Span,
}

impl Default for Edit {
    fn default() -> Edit {
        Edit {
            files: None,
            per_file: Count::TEN,
            mode: EditMode::Auto,
            cadence: Span::from_millis(0),
        }
    }
}

/// The form in which changes are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EditMode {
    /// As the server asked for.
    #[default]
    Auto,
    /// The changed range alone.
    Incremental,
    /// The whole text.
    Full,
}

/// Types text key by key; the text is unique each time and undone at the end.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Type {
    /// Number of open documents; all when not given.
    pub files: Option<Count>,
    /// Number of texts to type in each.
    pub per_file: Count,
    /// The text to type; a line that fits the language when not given. `${n}` is a number that never comes twice.
    pub text: Option<String>,
    /// Stops each text after this many keys.
    pub keystrokes: Option<Count>,
    /// Time from one key to the next: 10 ms automated, 50 ms mashing, 150 ms a good typist.
    pub cadence: Span,
}

impl Default for Type {
    fn default() -> Type {
        Type {
            files: None,
            per_file: Count::TEN,
            text: None,
            keystrokes: None,
            cadence: Span::from_millis(50),
        }
    }
}

/// Changes files on disk, and notifies the server.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Touch {
    /// Number of files of the workspace, open or not.
    pub files: Count,
    /// The change to them.
    pub change: Change,
    /// Sends one notification for all rather than one for each.
    pub batch: bool,
    /// Time from one to the next.
    pub cadence: Span,
}

impl Default for Touch {
    fn default() -> Touch {
        Touch {
            files: Count::TEN,
            change: Change::Changed,
            batch: true,
            cadence: Span::from_millis(0),
        }
    }
}

/// A change of a file on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Written again with the same text.
    #[default]
    Changed,
    /// A copy of it is made beside it.
    Created,
    /// It is deleted and written again, reported as two changes.
    Recreated,
}

/// Sends any notification; placeholders as in a raw request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Notification {
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Option<serde_json::Value>,
    /// Number of open documents; all when not given.
    pub files: Option<Count>,
    /// Number of identifiers in each.
    pub per_file: Count,
    /// Number of times in all that.
    pub times: Count,
    /// Time from one to the next.
    pub cadence: Span,
}

impl Default for Notification {
    fn default() -> Notification {
        Notification {
            method: String::new(),
            params: None,
            files: None,
            per_file: Count::TWENTY,
            times: Count::ONE,
            cadence: Span::from_millis(0),
        }
    }
}

/// Pauses, like a person who thinks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Pause {
    /// Its length.
    #[serde(rename = "for")]
    pub time: Span,
}

impl Default for Pause {
    fn default() -> Pause {
        Pause {
            time: Span::from_secs(1),
        }
    }
}
