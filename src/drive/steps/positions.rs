//! Requests at places in open documents.

use futures_util::{StreamExt, TryStreamExt, stream};
use lsp_types::{Range, TextDocumentIdentifier};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::config::Step;
use crate::config::step::{AtPositions, CallHierarchy, Calls, CodeAction, Completion, References, Rename};
use crate::drive::ask::{Asker, Body};
use crate::drive::document::Document;
use crate::drive::documents::OpenDocuments;
use crate::drive::target::{Target, TargetKind};
use crate::drive::{Stage, Stop};

use super::{Scene, files, lanes};

/// One request per place: definition, hover, signature help, selection range and similar.
pub async fn request_per_place<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    step: &Step,
    options: &AtPositions,
) -> Result<(), Stop> {
    let method = step.method().unwrap_or_default();
    let place = super::place(step).unwrap_or(TargetKind::Name);
    let targets = documents.targets(files(options.files), options.per_file.get() as usize, place);
    each(&targets, lanes(options.ask()), async |target| {
        let mut params = position_params(documents, target);
        if matches!(step, Step::SelectionRange(_))
            && let Some(position) = params.as_object_mut().and_then(|params| params.remove("position"))
        {
            params["positions"] = json!([position]);
        }
        scene.asker.ask(method, &params).await
    })
    .await
}

pub async fn references<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    options: &References,
) -> Result<(), Stop> {
    let targets = documents.targets(files(options.files), options.per_file.get() as usize, TargetKind::Use);
    each(&targets, lanes(options.ask()), async |target| {
        let mut params = position_params(documents, target);
        params["context"] = json!({ "includeDeclaration": options.include_declaration });
        scene.asker.ask("textDocument/references", &params).await
    })
    .await
}

/// `completion` after a member operator; resolves the first items of each list if requested.
pub async fn completion<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    options: &Completion,
) -> Result<(), Stop> {
    let targets = documents.targets(
        files(options.files),
        options.per_file.get() as usize,
        TargetKind::Member,
    );
    each(&targets, lanes(options.ask()), async |target| {
        let mut params = position_params(documents, target);
        params["context"] = json!({ "triggerKind": 1 });
        complete(scene.asker, &params, options.resolve).await
    })
    .await
}

/// Asks for completions and resolves the first few.
pub(super) async fn complete<S: Stage>(asker: &Asker<'_, S>, params: &Value, resolve: u32) -> Result<(), Stop> {
    const METHOD: &str = "textDocument/completion";
    if resolve == 0 {
        return asker.ask(METHOD, params).await;
    }
    let body = asker.fetch(METHOD, params).await?;
    for item in items(&body).into_iter().take(resolve as usize) {
        asker.follow("completionItem/resolve", item).await?;
    }
    Ok(())
}

/// `rename`: prepared if the server supports it, then computed; the edit is not applied.
pub async fn rename<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &mut OpenDocuments,
    options: &Rename,
) -> Result<(), Stop> {
    let targets = documents.targets(files(options.files), options.per_file.get() as usize, TargetKind::Use);
    let first = documents.serials(targets.len());
    let prepares = options.prepare && scene.session.offers("textDocument/prepareRename");
    let numbered: Vec<(u64, Target)> = (first..).zip(targets).collect();
    let documents = &*documents;
    each(&numbered, lanes(options.ask()), async |(serial, target)| {
        let mut params = position_params(documents, target);
        if prepares {
            scene.asker.follow("textDocument/prepareRename", &params).await?;
        }
        let name = options.new_name.clone().unwrap_or_else(|| format!("soak_{serial}"));
        params["newName"] = Value::String(name);
        scene.asker.ask("textDocument/rename", &params).await
    })
    .await
}

/// `code-action` on the name at each place.
pub async fn code_action<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    options: &CodeAction,
) -> Result<(), Stop> {
    const METHOD: &str = "textDocument/codeAction";
    let targets = documents.targets(files(options.files), options.per_file.get() as usize, TargetKind::Name);
    each(&targets, lanes(options.ask()), async |target| {
        let document = documents.document(target.file);
        let params = Actions::at_name(scene, document, target, ActionTrigger::Invoked, &options.only);
        let body = scene.asker.fetch(METHOD, &params).await?;
        for item in items(&body).into_iter().take(options.resolve as usize) {
            scene.asker.follow("codeAction/resolve", item).await?;
        }
        Ok(())
    })
    .await
}

/// `call-hierarchy`: prepared at each place, then the calls of each returned item.
pub async fn call_hierarchy<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    options: &CallHierarchy,
) -> Result<(), Stop> {
    let targets = documents.targets(files(options.files), options.per_file.get() as usize, TargetKind::Use);
    let (incoming, outgoing) = match options.direction {
        Calls::Incoming => (true, false),
        Calls::Outgoing => (false, true),
        Calls::Both => (true, true),
    };
    each(&targets, lanes(options.ask()), async |target| {
        let body = scene
            .asker
            .fetch("textDocument/prepareCallHierarchy", &position_params(documents, target))
            .await?;
        for item in items(&body) {
            let params = OfItem { item };
            if incoming {
                scene.asker.follow("callHierarchy/incomingCalls", &params).await?;
            }
            if outgoing {
                scene.asker.follow("callHierarchy/outgoingCalls", &params).await?;
            }
        }
        Ok(())
    })
    .await
}

/// Parameters of a request about an item, in the server's own JSON.
#[derive(Serialize)]
struct OfItem<'a> {
    item: &'a RawValue,
}

/// Parameters of a request for actions.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Actions<'a> {
    text_document: TextDocumentIdentifier,
    range: Range,
    context: ActionContext<'a>,
}

/// Who asks for actions, as numbered by the protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ActionTrigger {
    Invoked = 1,
    Automatic = 2,
}

impl<'a> Actions<'a> {
    /// Those on a name, or at the cursor before it where the editor asks by itself.
    pub(super) fn at_name<S: Stage>(
        scene: &Scene<'_, S>,
        document: &Document,
        target: &Target,
        trigger: ActionTrigger,
        only: &'a [String],
    ) -> Actions<'a> {
        let start = document.position(target.offset);
        let name = Range::new(start, document.position(target.offset + target.name.len()));
        Actions {
            text_document: document.identifier(),
            range: match trigger {
                ActionTrigger::Invoked => name,
                ActionTrigger::Automatic => Range::new(start, start),
            },
            context: ActionContext {
                // Some servers offer only quick fixes.
                diagnostics: scene.session.client.diagnostics_at(document.uri().as_str(), name),
                trigger_kind: trigger as u8,
                only,
            },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ActionContext<'a> {
    /// Raw JSON: parsed trees take many times as much memory.
    diagnostics: Vec<Box<RawValue>>,
    trigger_kind: u8,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    only: &'a [String],
}

/// The document and position of a place.
fn position_params(documents: &OpenDocuments, target: &Target) -> Value {
    let document = documents.document(target.file);
    json!({ "textDocument": document.identifier(), "position": document.position(target.offset) })
}

/// The elements of a list result or of its `items`; none if the body was too large to keep.
fn items(body: &Body) -> Vec<&RawValue> {
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    let Some(body) = body else { return Vec::new() };
    serde_json::from_str(body.get())
        .or_else(|_| serde_json::from_str(body.get()).map(|list: List<'_>| list.items))
        .unwrap_or_default()
}

/// Runs `work` for each element, `lanes` at once.
pub(super) async fn each<T>(all: &[T], lanes: usize, work: impl AsyncFn(&T) -> Result<(), Stop>) -> Result<(), Stop> {
    stream::iter(all)
        .map(|one| work(one))
        .buffer_unordered(lanes)
        .try_collect::<()>()
        .await
}
