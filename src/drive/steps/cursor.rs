//! Requests that an editor sends by itself while its cursor moves, and after a key that formats.

use lsp_types::{Position, Range};
use serde_json::json;

use crate::config::step::{CursorWalk, EditMode, OnTypeFormatting};
use crate::drive::document::Document;
use crate::drive::documents::OpenDocuments;
use crate::drive::target::{Target, TargetKind};
use crate::drive::{Stage, Stop};
use record::{Event, Warning, WarningKind};

use super::documents::send;
use super::positions::{ActionTrigger, Actions, each};
use super::{Cadence, Scene, files, lanes};

const ACTIONS: &str = "textDocument/codeAction";
const HINTS: &str = "textDocument/inlayHint";
const SIGNATURE: &str = "textDocument/signatureHelp";
const TOKENS: &str = "textDocument/semanticTokens/full";
const TOKENS_OF_RANGE: &str = "textDocument/semanticTokens/range";

/// Requested where the cursor stops.
const AT_CURSOR: [&str; 4] = [
    "textDocument/documentHighlight",
    "textDocument/hover",
    ACTIONS,
    SIGNATURE,
];

/// Lines that a window shows.
const PAGE: u32 = 50;

/// The page of a document that is in view.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Page {
    document: usize,
    number: u32,
}

/// `cursor-walk`: stops at places in their order, and requests what the imitated editor requests there and for the lines
/// that come into view.
pub async fn walk<S: Stage>(scene: &Scene<'_, S>, documents: &OpenDocuments, options: &CursorWalk) -> Result<(), Stop> {
    let at_cursor = offered_methods(scene, &AT_CURSOR);
    let in_view = offered_methods(scene, &[HINTS, TOKENS_OF_RANGE, TOKENS]);
    let targets = documents.targets(files(options.files), options.per_file.get() as usize, TargetKind::Name);
    let mut cadence = Cadence::new(options.cadence.0);
    let mut shown: Option<Page> = None;
    for target in &targets {
        cadence.tick().await;
        let document = documents.document(target.file);
        let page = Page {
            document: target.file,
            number: target.line / PAGE,
        };
        if shown != Some(page) {
            let is_new_document = shown.is_none_or(|shown| shown.document != page.document);
            shown = Some(page);
            show_page(scene, document, page.number, is_new_document, &in_view).await?;
        }
        each(&at_cursor, lanes(options.ask()), async |method| {
            ask_at_cursor(scene, document, target, method).await
        })
        .await?;
    }
    Ok(())
}

/// The methods that the imitated editor sends by itself and the server offers. Those that only the server lacks are named.
fn offered_methods<S: Stage>(scene: &Scene<'_, S>, methods: &[&'static str]) -> Vec<&'static str> {
    let mut offered = Vec::new();
    for method in methods {
        if !lsp::capabilities::asks_by_itself(&scene.job.capabilities, method) {
            continue;
        }
        if scene.session.offers(method) {
            offered.push(*method);
        } else {
            let text = format!("`cursor-walk` does without `{method}`, which the server does not offer");
            scene.stage.record(Event::Warning(Warning {
                kind: WarningKind::Scenario,
                text,
            }));
        }
    }
    offered
}

/// Requests what a page that comes into view needs. Tokens of a whole document are requested once, and only where the
/// server has none of a range.
async fn show_page<S: Stage>(
    scene: &Scene<'_, S>,
    document: &Document,
    number: u32,
    is_new_document: bool,
    in_view: &[&'static str],
) -> Result<(), Stop> {
    let first = Position::new(number * PAGE, 0);
    let last = document.position(document.text().len());
    let range = Range::new(first, last.min(Position::new((number + 1) * PAGE, 0)));
    let has_range = in_view.contains(&TOKENS_OF_RANGE);
    for method in in_view {
        let mut params = json!({ "textDocument": document.identifier() });
        if *method != TOKENS {
            params["range"] = json!(range);
        } else if has_range || !is_new_document {
            continue;
        }
        scene.asker.ask(method, &params).await?;
    }
    Ok(())
}

/// Sends one request of those at the cursor; a signature is requested only where a call begins.
async fn ask_at_cursor<S: Stage>(
    scene: &Scene<'_, S>,
    document: &Document,
    target: &Target,
    method: &str,
) -> Result<(), Stop> {
    let end = target.offset + target.name.len();
    match method {
        ACTIONS => {
            let params = Actions::at_name(scene, document, target, ActionTrigger::Automatic, &[]);
            scene.asker.ask(method, &params).await
        }
        SIGNATURE if !document.text()[end..].starts_with('(') => Ok(()),
        SIGNATURE => scene.asker.ask(method, &document.position_params(end + 1)).await,
        _ => scene.asker.ask(method, &document.position_params(target.offset)).await,
    }
}

/// `on-type-formatting`: types a character that the server formats after at ends of lines, requests the edits, and undoes it.
pub async fn format_on_type<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &mut OpenDocuments,
    options: &OnTypeFormatting,
) -> Result<(), Stop> {
    let triggers = scene.session.client.formatting_triggers();
    let targets = documents.targets(files(options.files), options.per_file.get() as usize, TargetKind::Name);
    for (target, trigger) in targets.iter().zip(triggers.iter().cycle()) {
        let document = documents.document_mut(target.file);
        let mark = document.mark();
        let rest = &document.text()[target.offset..];
        let end = target.offset + rest.find(['\r', '\n']).unwrap_or(rest.len());
        let change = document.insert(end, trigger);
        send(scene, document, change, EditMode::Auto).await?;
        let params = json!({
            "textDocument": document.identifier(),
            "position": document.position(end + trigger.len()),
            "ch": trigger,
            "options": { "tabSize": 4, "insertSpaces": true },
        });
        scene.asker.ask("textDocument/onTypeFormatting", &params).await?;
        let change = document.undo_to(mark);
        send(scene, document, change, EditMode::Auto).await?;
    }
    scene.asker.flushed().await
}
