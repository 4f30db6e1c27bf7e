//! Mistakes in a named server, with the cure.

use record::{Preload, PreloadName};

/// A mistake in the name or settings of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error("`--server {0}` names no server: write a name or a path, such as --server ty")]
    Empty(String),
    /// A colon with no label before it.
    #[error(
        "`--server '{0}'` has no label before the colon: write one, such as --server 'old: ty', or remove the colon"
    )]
    EmptyLabel(String),
    /// The value of a variable begins with a quote and goes on for ever.
    #[error("in `{text}` the quote `{quote}` is not closed: write another `{quote}` where the value ends")]
    OpenQuote { text: String, quote: char },
    /// The wanted preload cannot be one.
    #[error(transparent)]
    Preload(#[from] PreloadName),
    #[error(
        "one server has both `preload={first}` and `preload={second}`: remove one, or try both with --preload \
         {first},{second}"
    )]
    PreloadTwice { first: Preload, second: Preload },
    /// A label that cannot name files.
    #[error(
        "`{0}` cannot be a label: it names files, so use up to 64 letters, digits, `-`, `_` and `.`, and begin with a \
         letter or digit"
    )]
    Label(String),
    #[error("two servers are called `{0}`: give one a label of its own, such as --server 'second: {0}'")]
    Duplicate(String),
    /// A profile whose program is missing.
    #[error("`{name}` is not installed: there is no {programs} on PATH; install it{with}, or name its path{here}")]
    NotInstalled {
        name: String,
        programs: String,
        /// The command that installs it, as the end of a clause.
        with: String,
        /// The servers that are installed, as a clause of its own.
        here: String,
    },
    /// A program of rustup for a component that is not there.
    #[error(
        "`{name}` is a proxy of rustup, and its component is missing: run `{cure}`, or name another program's path"
    )]
    Component { name: String, cure: String },
    /// A profile with the name of an allocator behind it, and no such program.
    #[error(
        "there is no program `{target}` on PATH: build `{profile}` with {allocator} and name the file \
         `{target}`{preload}{here}"
    )]
    Variant {
        target: String,
        profile: String,
        /// The allocator, as it stands in a sentence.
        allocator: String,
        /// Advice to preload the allocator instead, as the end of a clause; empty where that is impossible.
        preload: String,
        /// The servers that are installed, as a clause of its own.
        here: String,
    },
    /// A profile with the name of an allocator behind it, where the server has this allocator anyway.
    #[error("there is no program `{target}` on PATH, but `{profile}` itself has {allocator}: use --server {profile}")]
    Itself {
        target: String,
        profile: String,
        allocator: String,
    },
    #[error("there is no program `{0}`: check the path, or build it first")]
    Missing(String),
    /// A path where nothing can be run.
    #[error("`{0}` is not executable: name a program, or make it one with `chmod +x`")]
    NotRunnable(String),
    /// A path where a directory is.
    #[error("`{0}` is a directory: name the program in it")]
    Directory(String),
    /// Not a name, nor a path.
    #[error("there is no server `{name}`, neither in {looked} nor as a program on PATH: {cure}{here}")]
    Unknown {
        name: String,
        looked: String,
        /// Near names, or what else to try.
        cure: String,
        /// The servers that are installed, as a clause of its own.
        here: String,
    },
}
