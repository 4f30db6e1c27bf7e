//! The steps of a phase, and what each needs from the server and the workspace.

mod actions;
mod idle;
mod options;
mod release;
mod session;
pub mod template;
mod world;

pub use actions::{
    Change, Close, Edit, EditMode, Notification, Open, Pause, Pick, Restart, Save, Start, StopBy, Touch, Type,
};
pub use idle::{Idle, IdleEnd, IdleMode, Light, Until};
pub use options::{
    Ask, AtPositions, CallHierarchy, Calls, CodeAction, CompleteOn, Completion, Count, CursorWalk, Diagnostics,
    ExecuteCommand, Expect, OnTypeFormatting, PerDocument, Reach, References, Rename, Request, TypeAndComplete,
    WorkspaceSymbol, sent,
};
pub use release::{PurgeMethod, Release, SelfReport};
pub use session::{Session, Speed};
pub use world::{Checkout, Disk, DiskAction, Folders, PathBelow, Replacement, Settings, Shell, in_round};

use serde::Deserialize;

/// Declares the steps: name, whether it works on open documents, and the method that the server must support.
macro_rules! steps {
    ($(
        $(#[$doc:meta])*
        $step:ident($options:ident) = $name:literal $(on $open:ident)? $(asks $method:literal)?,
    )*) => {
        /// One thing that is done.
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        pub enum Step {$(
            $(#[$doc])*
            $step($options),
        )*}

        impl Step {
            /// As written in scenarios and records.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Step::$step(_) => $name,)*
                }
            }

            /// Number of requests, if every file has enough places.
            pub fn requests(&self, open: Reach<'_>) -> u64 {
                match self {
                    $(Step::$step(_options) => steps!(@requests _options open $($method)?),)*
                }
            }

            fn row(&self) -> Row {
                match self {
                    $(Step::$step(_options) => Row {
                        open: steps!(@open $($open)?),
                        asks: steps!(@asks _options $($method)?),
                    },)*
                }
            }
        }
    };
    (@open) => { false };
    (@open open) => { true };
    (@requests $options:ident $open:ident) => { 0 };
    (@requests $options:ident $open:ident $method:literal) => { $options.requests($open) };
    (@asks $options:ident) => { None };
    (@asks $options:ident $method:literal) => { Some(($method, $options.ask())) };
}

struct Row {
    open: bool,
    asks: Option<(&'static str, Ask)>,
}

steps! {
    /// Starts the server.
    Start(Start) = "start",
    /// Opens documents.
    Open(Open) = "open",
    /// Closes documents.
    Close(Close) = "close" on open,
    /// Writes documents to disk.
    Save(Save) = "save" on open,
    /// Changes documents.
    Edit(Edit) = "edit" on open,
    /// Types.
    Type(Type) = "type" on open,
    /// Types and asks for completions.
    TypeAndComplete(TypeAndComplete) = "type-and-complete" on open asks "textDocument/completion",
    /// Goes to definitions.
    Definition(AtPositions) = "definition" on open asks "textDocument/definition",
    /// Goes to the definitions of types.
    TypeDefinition(AtPositions) = "type-definition" on open asks "textDocument/typeDefinition",
    /// Goes to implementations.
    Implementation(AtPositions) = "implementation" on open asks "textDocument/implementation",
    /// Finds references.
    References(References) = "references" on open asks "textDocument/references",
    /// Hovers.
    Hover(AtPositions) = "hover" on open asks "textDocument/hover",
    /// Asks for completions.
    Completion(Completion) = "completion" on open asks "textDocument/completion",
    /// Asks for signatures inside calls.
    SignatureHelp(AtPositions) = "signature-help" on open asks "textDocument/signatureHelp",
    /// Asks for other uses in the document.
    DocumentHighlight(AtPositions) = "document-highlight" on open asks "textDocument/documentHighlight",
    /// Asks for the outline.
    DocumentSymbol(PerDocument) = "document-symbol" on open asks "textDocument/documentSymbol",
    /// Searches symbols.
    WorkspaceSymbol(WorkspaceSymbol) = "workspace-symbol" asks "workspace/symbol",
    /// Asks what a rename would change.
    Rename(Rename) = "rename" on open asks "textDocument/rename",
    /// Asks what can be done.
    CodeAction(CodeAction) = "code-action" on open asks "textDocument/codeAction",
    /// Asks how the document would be formatted.
    Formatting(PerDocument) = "formatting" on open asks "textDocument/formatting",
    /// Asks for highlighting.
    SemanticTokens(PerDocument) = "semantic-tokens" on open asks "textDocument/semanticTokens/full",
    /// Asks for inlay hints.
    InlayHint(PerDocument) = "inlay-hint" on open asks "textDocument/inlayHint",
    /// Asks for folds.
    FoldingRange(PerDocument) = "folding-range" on open asks "textDocument/foldingRange",
    /// Asks for the commands above functions.
    CodeLens(PerDocument) = "code-lens" on open asks "textDocument/codeLens",
    /// Asks for colours.
    DocumentColor(PerDocument) = "document-color" on open asks "textDocument/documentColor",
    /// Asks for links.
    DocumentLink(PerDocument) = "document-link" on open asks "textDocument/documentLink",
    /// Asks for ever larger selections.
    SelectionRange(AtPositions) = "selection-range" on open asks "textDocument/selectionRange",
    /// Moves the cursor through documents.
    CursorWalk(CursorWalk) = "cursor-walk" on open asks "textDocument/hover",
    /// Asks for formatting after a key.
    OnTypeFormatting(OnTypeFormatting) = "on-type-formatting" on open asks "textDocument/onTypeFormatting",
    /// Asks for calls.
    CallHierarchy(CallHierarchy) = "call-hierarchy" on open asks "textDocument/prepareCallHierarchy",
    /// Pulls diagnostics.
    Diagnostics(Diagnostics) = "diagnostics" asks "textDocument/diagnostic",
    /// Runs a command.
    ExecuteCommand(ExecuteCommand) = "execute-command" asks "workspace/executeCommand",
    /// Sends any request.
    Request(Request) = "request" asks "",
    /// Sends any notification.
    Notification(Notification) = "notification",
    /// Changes files on disk.
    Touch(Touch) = "touch",
    /// Changes chosen files on disk in a chosen way.
    Disk(Disk) = "disk",
    /// Checks out a commit.
    Checkout(Checkout) = "checkout",
    /// Runs a command.
    Shell(Shell) = "shell",
    /// Changes settings.
    Settings(Settings) = "settings",
    /// Adds and removes workspace folders.
    Folders(Folders) = "folders",
    /// Waits for memory to be released.
    Idle(Idle) = "idle",
    /// Gives memory back by force.
    Release(Release) = "release",
    /// Asks the server what memory it accounts for.
    SelfReport(SelfReport) = "self-report",
    /// Plays a recorded session.
    Session(Session) = "session",
    /// Waits.
    Pause(Pause) = "pause",
    /// Restarts the server.
    Restart(Restart) = "restart",
}

impl Step {
    /// The method that the server must support for this step; `None` if it needs none, or one that is never announced.
    pub fn method(&self) -> Option<&str> {
        match self {
            Step::Diagnostics(options) if options.workspace => Some("workspace/diagnostic"),
            Step::Request(options) => Some(&options.method),
            Step::Folders(_) => Some("workspace/didChangeWorkspaceFolders"),
            // It does without what the server lacks.
            Step::CursorWalk(_) => None,
            _ => self.row().asks.map(|(method, _)| method),
        }
    }

    /// The options of the step's requests; `None` if it sends none.
    pub fn ask(&self) -> Option<Ask> {
        self.row().asks.map(|(_, ask)| ask)
    }

    /// True if it is left out where it cannot be played.
    pub fn is_optional(&self) -> bool {
        match self {
            Step::Checkout(options) => options.optional,
            Step::Folders(options) => options.optional,
            _ => self.ask().is_some_and(|ask| ask.optional),
        }
    }

    /// Other methods that the step may send after the first.
    pub fn follows(&self) -> &'static [&'static str] {
        match self {
            Step::TypeAndComplete(_) | Step::Completion(_) => &["completionItem/resolve"],
            Step::CodeAction(_) => &["codeAction/resolve"],
            Step::CursorWalk(_) => &[
                "textDocument/documentHighlight",
                "textDocument/codeAction",
                "textDocument/signatureHelp",
                "textDocument/inlayHint",
                "textDocument/semanticTokens/range",
                "textDocument/semanticTokens/full",
            ],
            Step::CallHierarchy(_) => &["callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"],
            _ => &[],
        }
    }

    /// The method in a `request` or `notification` step.
    pub fn raw(&self) -> Option<&str> {
        match self {
            Step::Request(options) => Some(&options.method),
            Step::Notification(options) => Some(&options.method),
            _ => None,
        }
    }

    /// True if it causes work for the server without a request.
    pub fn changes(&self) -> bool {
        matches!(
            self,
            Step::Edit(_)
                | Step::Type(_)
                | Step::TypeAndComplete(_)
                | Step::OnTypeFormatting(_)
                | Step::Save(_)
                | Step::Touch(_)
                | Step::Disk(_)
                | Step::Checkout(_)
                | Step::Shell(_)
                | Step::Settings(_)
                | Step::Folders(_)
                | Step::Session(_)
                | Step::Notification(_)
        )
    }

    /// True if it writes files of the workspace, which an in-place workspace forbids.
    pub fn writes(&self) -> bool {
        matches!(
            self,
            Step::Save(_) | Step::Touch(_) | Step::Disk(_) | Step::Checkout(_) | Step::Shell(_) | Step::Session(_)
        )
    }

    /// True if the step works on open documents.
    pub fn needs_open(&self) -> bool {
        let names_one = |value| template::scope(value).needs_open();
        match self {
            Step::Diagnostics(options) => !options.workspace,
            Step::ExecuteCommand(options) => options.arguments.iter().any(names_one),
            Step::Request(Request { params, .. }) | Step::Notification(Notification { params, .. }) => {
                params.as_ref().is_some_and(names_one)
            }
            _ => self.row().open,
        }
    }
}
