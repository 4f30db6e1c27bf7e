//! The options of steps. Everything has a default, so that `{ hover = {} }` is a step.

use serde::Deserialize;

use base::units::Span;

use super::template::{self, Scope};

/// A whole number of things, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "i64")]
#[cfg_attr(test, schemars(!try_from, with = "u32"))]
pub struct Count(u32);

impl Count {
    /// One thing.
    pub const ONE: Count = Count(1);
    /// Ten things.
    pub const TEN: Count = Count(10);
    /// Twenty things.
    pub const TWENTY: Count = Count(20);

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number, to multiply by.
    pub fn times(self) -> u64 {
        u64::from(self.0)
    }
}

impl TryFrom<i64> for Count {
    type Error = String;

    fn try_from(number: i64) -> Result<Count, String> {
        match u32::try_from(number) {
            Ok(number @ 1..) => Ok(Count(number)),
            Ok(0) | Err(_) => Err(format!("`{number}` is not a count: write a whole number from 1 up")),
        }
    }
}

/// The results that a step must have for the scenario to pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    /// At least one result that is neither null nor empty: a step that measures nothing fails.
    #[default]
    Something,
    /// Whatever comes.
    Anything,
}

/// Options of every step that sends requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Time limit of one request; the scenario's deadline when not given.
    pub deadline: Option<Span>,
    /// Time after which each request is cancelled, as an editor does whose user went on.
    pub cancel_after: Option<Span>,
    /// The results that it must have.
    pub expect: Expect,
    /// True if the step is left out when the server does not offer its method.
    pub optional: bool,
    /// Requests in flight at once.
    pub concurrency: Count,
}

/// Number of open documents, of which the number of requests depends.
pub type Reach<'r> = &'r dyn Fn(Option<Count>) -> u64;

/// Number of times that a template is sent.
pub fn sent(params: Option<&serde_json::Value>, files: Option<Count>, per_file: Count, open: Reach<'_>) -> u64 {
    match params.map_or(Scope::Once, template::scope) {
        Scope::Once => 1,
        Scope::Document => open(files),
        Scope::Position => open(files) * per_file.times(),
    }
}

/// Declares the options of requesting steps: the request count, their own fields, then those of [`Ask`].
macro_rules! requests {
    ($(
        $(#[$about:meta])*
        pub struct $name:ident sends $sends:expr => {$(
            $(#[$doc:meta])*
            pub $field:ident: $kind:ty = $default:expr,
        )*}
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
        pub struct $name {
            $($(#[$doc])* pub $field: $kind,)*
            /// Time limit of one request; the scenario's deadline when not given.
            pub deadline: Option<Span>,
            /// Cancels each request that is not answered by then, and waits for its answer.
            pub cancel_after: Option<Span>,
            /// `"something"`: a step whose results are all null or empty fails. `"anything"`: it does not.
            pub expect: Expect,
            /// Leaves the step out when the server does not offer its method.
            pub optional: bool,
            /// Requests in flight at once.
            pub concurrency: Count,
        }

        impl Default for $name {
            fn default() -> $name {
                $name {
                    $($field: $default,)*
                    deadline: None,
                    cancel_after: None,
                    expect: Expect::Something,
                    optional: false,
                    concurrency: Count::ONE,
                }
            }
        }

        impl $name {
            /// Number of requests, if every file has enough places.
            pub fn requests(&self, open: Reach<'_>) -> u64 {
                let sends: fn(&$name, Reach<'_>) -> u64 = $sends;
                sends(self, open)
            }

            /// The options that every requesting step has.
            pub fn ask(&self) -> Ask {
                Ask {
                    deadline: self.deadline,
                    cancel_after: self.cancel_after,
                    expect: self.expect,
                    optional: self.optional,
                    concurrency: self.concurrency,
                }
            }
        }
    )*};
}

requests! {
    /// Options of a step that asks at identifiers.
    pub struct AtPositions sends |own, open| open(own.files) * own.per_file.times() => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of identifiers in each.
        pub per_file: Count = Count::TWENTY,
    }

    /// Options of a step that asks about whole documents.
    pub struct PerDocument sends |own, open| open(own.files) * own.times.times() => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of times each.
        pub times: Count = Count::ONE,
    }

    /// Asks for the places where an identifier is used.
    pub struct References sends |own, open| open(own.files) * own.per_file.times() => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of identifiers in each.
        pub per_file: Count = Count::TEN,
        /// True if the declaration counts as a use.
        pub include_declaration: bool = true,
    }

    /// Asks for completions after existing `name.` sites, without typing.
    pub struct Completion sends |own, open| open(own.files) * own.per_file.times() * (1 + u64::from(own.resolve)) => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of sites in each.
        pub per_file: Count = Count::TEN,
        /// Number of items of each list to resolve.
        pub resolve: u32 = 0,
    }

    /// Types text key by key and asks for completions on the way; the text is unique each time and undone at the end.
    pub struct TypeAndComplete sends |own, open| open(own.files) * own.per_file.times() * (1 + u64::from(own.resolve)) => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of texts to type in each.
        pub per_file: Count = Count::TEN,
        /// The text to type; a line that fits the language when not given. `${n}` is a number that never comes twice.
        pub text: Option<String> = None,
        /// Stops each text after this many keys.
        pub keystrokes: Option<Count> = None,
        /// Time from one key to the next: 10 ms automated, 50 ms mashing, 150 ms a good typist.
        pub cadence: Span = Span::from_millis(50),
        /// Which keys ask for completions.
        pub complete_on: CompleteOn = CompleteOn::Trigger,
        /// Number of items of each list to resolve.
        pub resolve: u32 = 0,
    }

    /// Searches symbols by name over the whole workspace.
    pub struct WorkspaceSymbol sends |own, _| own.queries.len() as u64 * own.times.times() => {
        /// The names; an empty one asks for everything.
        pub queries: Vec<String> = ["a", "test", "config"].map(str::to_owned).to_vec(),
        /// Number of times each.
        pub times: Count = Count::ONE,
    }

    /// Asks what a rename would change; nothing is renamed.
    pub struct Rename sends |own, open| open(own.files) * own.per_file.times() * (1 + u64::from(own.prepare)) => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of identifiers in each.
        pub per_file: Count = Count(5),
        /// Asks first whether the place can be renamed, where the server offers that.
        pub prepare: bool = true,
        /// The new name; one that fits the language when not given.
        pub new_name: Option<String> = None,
    }

    /// Asks what can be done at identifiers, and sends the diagnostics that overlap them, of those that the server pushed
    /// or that a `diagnostics` step pulled; nothing is done.
    pub struct CodeAction sends |own, open| open(own.files) * own.per_file.times() * (1 + u64::from(own.resolve)) => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of identifiers in each.
        pub per_file: Count = Count(5),
        /// Kinds of code action, such as `quickfix`; all when empty.
        pub only: Vec<String> = Vec::new(),
        /// Number of actions of each list to resolve.
        pub resolve: u32 = 0,
    }

    /// Moves the cursor from identifier to identifier, and asks what the imitated editor asks by itself at each and for the
    /// lines that come into view.
    pub struct CursorWalk sends |own, open| open(own.files) * own.per_file.times() * 3 => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of identifiers in each.
        pub per_file: Count = Count::TWENTY,
        /// Time from one to the next.
        pub cadence: Span = Span::from_millis(50),
    }

    /// Types a character after which the server formats at ends of lines, and asks for the edits; they are not made, and the
    /// character is taken back.
    pub struct OnTypeFormatting sends |own, open| open(own.files) * own.per_file.times() => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of lines in each.
        pub per_file: Count = Count::TEN,
    }

    /// Asks for the calls into and out of functions.
    pub struct CallHierarchy sends |own, open| open(own.files) * own.per_file.times() * (2 + u64::from(own.direction == Calls::Both)) => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of identifiers in each.
        pub per_file: Count = Count(5),
        /// Which way to look.
        pub direction: Calls = Calls::Both,
    }

    /// Pulls diagnostics.
    pub struct Diagnostics sends |own, open| own.times.times() * if own.workspace { 1 } else { open(own.files) } => {
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of times each.
        pub times: Count = Count::ONE,
        /// Asks for the whole workspace instead, once each time; servers may park that request.
        pub workspace: bool = false,
    }
}

requests! {
    /// Runs a command of the server; edits that it asks for are refused.
    pub struct ExecuteCommand sends |own, _| own.times.times() => {
        /// Its name.
        pub command: String = String::new(),
        /// Its arguments; placeholders as in [`Request`].
        pub arguments: Vec<serde_json::Value> = Vec::new(),
        /// Number of times.
        pub times: Count = Count::ONE,
    }

    /// Sends any request. Strings in `params` may hold `${uri}`, `${file}` and `${position}` of an open document, and
    /// `${workspace}` and `${workspace-uri}`; with `${position}` it is sent `per-file` times, with `${uri}` or `${file}`
    /// once for each document.
    pub struct Request sends |own, open| sent(own.params.as_ref(), own.files, own.per_file, open) * own.times.times() => {
        /// The method.
        pub method: String = String::new(),
        /// Its parameters.
        pub params: Option<serde_json::Value> = None,
        /// Number of open documents; all when not given.
        pub files: Option<Count> = None,
        /// Number of identifiers in each.
        pub per_file: Count = Count::TWENTY,
        /// Number of times in all that.
        pub times: Count = Count::ONE,
    }
}

/// Which keys ask for completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CompleteOn {
    /// Those the server named as trigger characters, and the last one.
    #[default]
    Trigger,
    /// Those, and the first letter of each word, as editors do.
    Word,
    /// Every key.
    Key,
}

/// Which way to look for calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// The calling function.
    Incoming,
    /// The called function.
    Outgoing,
    /// Both.
    #[default]
    Both,
}
