//! Typing: one change per key at a cadence, completions where an editor asks for them, all undone at the end.

use std::time::Duration;

use serde_json::json;

use crate::config::step::{CompleteOn, Count, EditMode, Type, TypeAndComplete};
use crate::drive::desk::Desk;
use crate::drive::snippet::{self, Ask, Key, Snippet};
use crate::drive::{Stage, Stop};

use super::documents::send;
use super::positions::complete;
use super::{Cadence, Scene, files};

/// `type`: keys only.
pub async fn plain<S: Stage>(scene: &Scene<'_, S>, desk: &mut Desk, options: &Type) -> Result<(), Stop> {
    let typed = Typed {
        files: options.files,
        per_file: options.per_file,
        text: options.text.as_deref(),
        keystrokes: options.keystrokes,
        cadence: options.cadence.0,
    };
    run(scene, desk, &typed, None).await
}

/// `type-and-complete`: keys, and completions.
pub async fn completing<S: Stage>(
    scene: &Scene<'_, S>,
    desk: &mut Desk,
    options: &TypeAndComplete,
) -> Result<(), Stop> {
    let typed = Typed {
        files: options.files,
        per_file: options.per_file,
        text: options.text.as_deref(),
        keystrokes: options.keystrokes,
        cadence: options.cadence.0,
    };
    run(scene, desk, &typed, Some((options.complete_on, options.resolve))).await
}

struct Typed<'a> {
    files: Option<Count>,
    per_file: Count,
    text: Option<&'a str>,
    keystrokes: Option<Count>,
    cadence: Duration,
}

async fn run<S: Stage>(
    scene: &Scene<'_, S>,
    desk: &mut Desk,
    typed: &Typed<'_>,
    completing: Option<(CompleteOn, u32)>,
) -> Result<(), Stop> {
    let triggers = scene.session.offered.completion_triggers();
    let count = typed.per_file.get() as usize;
    let mut cadence = Cadence::new(typed.cadence);
    for index in 0..desk.reach(files(typed.files)) {
        let (seed, serial) = (desk.seed(), desk.serials(count));
        let document = desk.document(index);
        let snippets = snippet::compose(document.text(), document.language(), &triggers, count, seed, serial);
        for (snippet, serial) in snippets.into_iter().zip(serial..) {
            let keys = keys(snippet, typed, serial);
            let mark = desk.document(index).mark();
            let mut offset = keys.offset;
            for key in &keys.keys {
                cadence.tick().await;
                let document = desk.document_mut(index);
                let change = document.insert(offset, &key.text);
                send(scene, document, change, EditMode::Auto);
                offset += key.text.len();
                if let Some((on, resolve)) = completing
                    && let Some(context) = context(key, on)
                {
                    let position = document.position(offset);
                    let params =
                        json!({ "textDocument": document.identifier(), "position": position, "context": context });
                    complete(scene.asker, &params, resolve).await?;
                }
            }
            cadence.tick().await;
            let document = desk.document_mut(index);
            let change = document.undo_to(mark);
            send(scene, document, change, EditMode::Auto);
        }
    }
    scene.session.client.flushed().await;
    Ok(())
}

/// The keys to press: the composed ones, or the scenario's own text made unique by its number, cut to length.
fn keys(snippet: Snippet, typed: &Typed<'_>, serial: u64) -> Snippet {
    let mut snippet = snippet;
    if let Some(text) = typed.text {
        let text = format!("{text}{serial}");
        snippet.keys = text
            .chars()
            .map(|key| Key {
                text: key.to_string(),
                ask: None,
            })
            .collect();
    }
    if let Some(most) = typed.keystrokes {
        snippet.keys.truncate(most.get() as usize);
    }
    snippet
}

/// The completion context when an editor asks after this key; `None` when it does not.
fn context(key: &Key, on: CompleteOn) -> Option<serde_json::Value> {
    let invoked = json!({ "triggerKind": 1 });
    match (&key.ask, on) {
        (Some(Ask::Trigger(key)), _) => Some(json!({ "triggerKind": 2, "triggerCharacter": key.to_string() })),
        (Some(Ask::Invoked), _) | (None, CompleteOn::Key) => Some(invoked),
        (None, CompleteOn::Word) => key
            .text
            .ends_with(|c: char| c.is_alphanumeric() || c == '_')
            .then_some(invoked),
        (None, CompleteOn::Trigger) => None,
    }
}
