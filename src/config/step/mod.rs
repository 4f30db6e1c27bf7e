//! The steps that a phase is made of, and what each needs of the server and of the workspace.

mod actions;
mod idle;
mod options;
mod release;
pub mod template;

pub use actions::{Change, Close, Edit, EditMode, Notification, Open, Pause, Pick, Restart, Save, Start, Touch, Type};
pub use idle::{Idle, IdleEnd, IdleMode, Light, Until};
pub use options::{
    Ask, AtPositions, CallHierarchy, Calls, CodeAction, CompleteOn, Completion, Count, Diagnostics, ExecuteCommand,
    Expect, PerDocument, References, Rename, Request, TypeAndComplete, WorkspaceSymbol,
};
pub use release::{Means, Release, SelfReport};

use schemars::JsonSchema;
use serde::Deserialize;

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Starts the server.
    Start(Start),
    /// Opens documents.
    Open(Open),
    /// Closes documents.
    Close(Close),
    /// Writes documents to disk.
    Save(Save),
    /// Changes documents.
    Edit(Edit),
    /// Types.
    Type(Type),
    /// Types and asks for completions.
    TypeAndComplete(TypeAndComplete),
    /// Goes to definitions.
    Definition(AtPositions),
    /// Goes to the definitions of types.
    TypeDefinition(AtPositions),
    /// Goes to implementations.
    Implementation(AtPositions),
    /// Finds references.
    References(References),
    /// Hovers.
    Hover(AtPositions),
    /// Asks for completions.
    Completion(Completion),
    /// Asks for signatures inside calls.
    SignatureHelp(AtPositions),
    /// Asks for other uses in the document.
    DocumentHighlight(AtPositions),
    /// Asks for the outline.
    DocumentSymbol(PerDocument),
    /// Searches symbols.
    WorkspaceSymbol(WorkspaceSymbol),
    /// Asks what a rename would change.
    Rename(Rename),
    /// Asks what can be done.
    CodeAction(CodeAction),
    /// Asks how the document would be formatted.
    Formatting(PerDocument),
    /// Asks for highlighting.
    SemanticTokens(PerDocument),
    /// Asks for inlay hints.
    InlayHint(PerDocument),
    /// Asks for folds.
    FoldingRange(PerDocument),
    /// Asks for calls.
    CallHierarchy(CallHierarchy),
    /// Pulls diagnostics.
    Diagnostics(Diagnostics),
    /// Runs a command.
    ExecuteCommand(ExecuteCommand),
    /// Sends any request.
    Request(Request),
    /// Sends any notification.
    Notification(Notification),
    /// Changes files on disk.
    Touch(Touch),
    /// Waits for memory to come back.
    Idle(Idle),
    /// Gives memory back by force.
    Release(Release),
    /// Asks the server what memory it accounts for.
    SelfReport(SelfReport),
    /// Waits.
    Pause(Pause),
    /// Restarts the server.
    Restart(Restart),
}

impl Step {
    /// As written in scenarios and records.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Start(_) => "start",
            Step::Open(_) => "open",
            Step::Close(_) => "close",
            Step::Save(_) => "save",
            Step::Edit(_) => "edit",
            Step::Type(_) => "type",
            Step::TypeAndComplete(_) => "type-and-complete",
            Step::Definition(_) => "definition",
            Step::TypeDefinition(_) => "type-definition",
            Step::Implementation(_) => "implementation",
            Step::References(_) => "references",
            Step::Hover(_) => "hover",
            Step::Completion(_) => "completion",
            Step::SignatureHelp(_) => "signature-help",
            Step::DocumentHighlight(_) => "document-highlight",
            Step::DocumentSymbol(_) => "document-symbol",
            Step::WorkspaceSymbol(_) => "workspace-symbol",
            Step::Rename(_) => "rename",
            Step::CodeAction(_) => "code-action",
            Step::Formatting(_) => "formatting",
            Step::SemanticTokens(_) => "semantic-tokens",
            Step::InlayHint(_) => "inlay-hint",
            Step::FoldingRange(_) => "folding-range",
            Step::CallHierarchy(_) => "call-hierarchy",
            Step::Diagnostics(_) => "diagnostics",
            Step::ExecuteCommand(_) => "execute-command",
            Step::Request(_) => "request",
            Step::Notification(_) => "notification",
            Step::Touch(_) => "touch",
            Step::Idle(_) => "idle",
            Step::Release(_) => "release",
            Step::SelfReport(_) => "self-report",
            Step::Pause(_) => "pause",
            Step::Restart(_) => "restart",
        }
    }

    /// The method that the server must offer for this step; `None` when it needs none, or none that is announced.
    pub fn method(&self) -> Option<&str> {
        Some(match self {
            Step::TypeAndComplete(_) | Step::Completion(_) => "textDocument/completion",
            Step::Definition(_) => "textDocument/definition",
            Step::TypeDefinition(_) => "textDocument/typeDefinition",
            Step::Implementation(_) => "textDocument/implementation",
            Step::References(_) => "textDocument/references",
            Step::Hover(_) => "textDocument/hover",
            Step::SignatureHelp(_) => "textDocument/signatureHelp",
            Step::DocumentHighlight(_) => "textDocument/documentHighlight",
            Step::DocumentSymbol(_) => "textDocument/documentSymbol",
            Step::WorkspaceSymbol(_) => "workspace/symbol",
            Step::Rename(_) => "textDocument/rename",
            Step::CodeAction(_) => "textDocument/codeAction",
            Step::Formatting(_) => "textDocument/formatting",
            Step::SemanticTokens(_) => "textDocument/semanticTokens/full",
            Step::InlayHint(_) => "textDocument/inlayHint",
            Step::FoldingRange(_) => "textDocument/foldingRange",
            Step::CallHierarchy(_) => "textDocument/prepareCallHierarchy",
            Step::Diagnostics(options) if options.workspace => "workspace/diagnostic",
            Step::Diagnostics(_) => "textDocument/diagnostic",
            Step::ExecuteCommand(_) => "workspace/executeCommand",
            Step::Request(options) => &options.method,
            Step::Start(_)
            | Step::Open(_)
            | Step::Close(_)
            | Step::Save(_)
            | Step::Edit(_)
            | Step::Type(_)
            | Step::Notification(_)
            | Step::Touch(_)
            | Step::Idle(_)
            | Step::Release(_)
            | Step::SelfReport(_)
            | Step::Pause(_)
            | Step::Restart(_) => return None,
        })
    }

    /// The methods that the step may send besides, for what comes of the first.
    pub fn follows(&self) -> &'static [&'static str] {
        match self {
            Step::TypeAndComplete(_) | Step::Completion(_) => &["completionItem/resolve"],
            Step::CodeAction(_) => &["codeAction/resolve"],
            Step::CallHierarchy(_) => &["callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"],
            _ => &[],
        }
    }

    /// The method that the scenario itself names, of a `request` or `notification`.
    pub fn raw(&self) -> Option<&str> {
        match self {
            Step::Request(options) => Some(&options.method),
            Step::Notification(options) => Some(&options.method),
            _ => None,
        }
    }

    /// What is said about the step's requests; `None` when it sends none.
    pub fn ask(&self) -> Option<Ask> {
        Some(match self {
            Step::Definition(options)
            | Step::TypeDefinition(options)
            | Step::Implementation(options)
            | Step::Hover(options)
            | Step::SignatureHelp(options)
            | Step::DocumentHighlight(options) => options.ask(),
            Step::DocumentSymbol(options)
            | Step::Formatting(options)
            | Step::SemanticTokens(options)
            | Step::InlayHint(options)
            | Step::FoldingRange(options) => options.ask(),
            Step::TypeAndComplete(options) => options.ask(),
            Step::References(options) => options.ask(),
            Step::Completion(options) => options.ask(),
            Step::WorkspaceSymbol(options) => options.ask(),
            Step::Rename(options) => options.ask(),
            Step::CodeAction(options) => options.ask(),
            Step::CallHierarchy(options) => options.ask(),
            Step::Diagnostics(options) => options.ask(),
            Step::ExecuteCommand(options) => options.ask(),
            Step::Request(options) => options.ask(),
            Step::Start(_)
            | Step::Open(_)
            | Step::Close(_)
            | Step::Save(_)
            | Step::Edit(_)
            | Step::Type(_)
            | Step::Notification(_)
            | Step::Touch(_)
            | Step::Idle(_)
            | Step::Release(_)
            | Step::SelfReport(_)
            | Step::Pause(_)
            | Step::Restart(_) => return None,
        })
    }

    /// Whether it tells the server of something new, which it has to work on though nothing is asked.
    pub fn changes(&self) -> bool {
        matches!(
            self,
            Step::Edit(_)
                | Step::Type(_)
                | Step::TypeAndComplete(_)
                | Step::Save(_)
                | Step::Touch(_)
                | Step::Notification(_)
        )
    }

    /// Whether files of the workspace are written, which an in-place workspace forbids.
    pub fn writes(&self) -> bool {
        matches!(self, Step::Save(_) | Step::Touch(_))
    }

    /// Whether the step works on open documents.
    pub fn needs_open(&self) -> bool {
        match self {
            Step::Start(_)
            | Step::Open(_)
            | Step::WorkspaceSymbol(_)
            | Step::Touch(_)
            | Step::Idle(_)
            | Step::Release(_)
            | Step::SelfReport(_)
            | Step::Pause(_)
            | Step::Restart(_) => false,
            Step::Diagnostics(options) => !options.workspace,
            Step::ExecuteCommand(options) => options
                .arguments
                .iter()
                .any(|value| template::scope(value).needs_open()),
            Step::Request(options) => options
                .params
                .as_ref()
                .is_some_and(|value| template::scope(value).needs_open()),
            Step::Notification(options) => options
                .params
                .as_ref()
                .is_some_and(|value| template::scope(value).needs_open()),
            Step::Close(_)
            | Step::Save(_)
            | Step::Edit(_)
            | Step::Type(_)
            | Step::TypeAndComplete(_)
            | Step::Definition(_)
            | Step::TypeDefinition(_)
            | Step::Implementation(_)
            | Step::References(_)
            | Step::Hover(_)
            | Step::Completion(_)
            | Step::SignatureHelp(_)
            | Step::DocumentHighlight(_)
            | Step::DocumentSymbol(_)
            | Step::Rename(_)
            | Step::CodeAction(_)
            | Step::Formatting(_)
            | Step::SemanticTokens(_)
            | Step::InlayHint(_)
            | Step::FoldingRange(_)
            | Step::CallHierarchy(_) => true,
        }
    }
}
