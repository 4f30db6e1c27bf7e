//! Typing: one change per key at a cadence, with completions as in an editor, all undone at the end.

use serde_json::json;

use crate::config::step::{CompleteOn, EditMode, Type, TypeAndComplete};
use crate::drive::documents::OpenDocuments;
use crate::drive::snippet::{self, Ask, Key, Snippet};
use crate::drive::{Stage, Stop};

use super::documents::send;
use super::positions::complete;
use super::{Cadence, Scene, files};

pub async fn type_snippets<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &mut OpenDocuments,
    options: &Type,
) -> Result<(), Stop> {
    let Type {
        files,
        per_file,
        text,
        keystrokes,
        cadence,
    } = options.clone();
    let typed = TypeAndComplete {
        files,
        per_file,
        text,
        keystrokes,
        cadence,
        ..TypeAndComplete::default()
    };
    run(scene, documents, &typed, false).await
}

pub async fn completing<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &mut OpenDocuments,
    options: &TypeAndComplete,
) -> Result<(), Stop> {
    run(scene, documents, options, true).await
}

async fn run<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &mut OpenDocuments,
    typed: &TypeAndComplete,
    completes: bool,
) -> Result<(), Stop> {
    let triggers = scene.session.client.completion_triggers();
    let count = typed.per_file.get() as usize;
    let mut cadence = Cadence::new(typed.cadence.0);
    for index in 0..documents.reach(files(typed.files)) {
        let (seed, serial) = (documents.seed(), documents.serials(count));
        let document = documents.document(index);
        let snippets = snippet::compose(document.text(), document.language(), &triggers, count, seed, serial);
        for (snippet, serial) in snippets.into_iter().zip(serial..) {
            let keys = keys(snippet, typed, &triggers, serial);
            let mark = documents.document(index).mark();
            let mut offset = keys.offset;
            let mut in_word = false;
            for key in &keys.keys {
                cadence.tick().await;
                let document = documents.document_mut(index);
                let change = document.insert(offset, &key.text);
                send(scene, document, change, EditMode::Auto).await?;
                offset += key.text.len();
                if completes && let Some(context) = context(key, in_word, typed.complete_on) {
                    let position = document.position(offset);
                    let params =
                        json!({ "textDocument": document.identifier(), "position": position, "context": context });
                    complete(scene.asker, &params, typed.resolve).await?;
                }
                in_word = ends_word(key);
            }
            cadence.tick().await;
            let document = documents.document_mut(index);
            let change = document.undo_to(mark);
            send(scene, document, change, EditMode::Auto).await?;
        }
    }
    scene.asker.flushed().await
}

/// The keys to press: a composed snippet, or the scenario's own text made unique by its serial; cut to length.
fn keys(mut snippet: Snippet, typed: &TypeAndComplete, triggers: &[String], serial: u64) -> Snippet {
    if let Some(text) = &typed.text {
        snippet.keys = own_keys(text, triggers, serial);
    }
    if let Some(most) = typed.keystrokes {
        snippet.keys.truncate(most.get() as usize);
    }
    snippet
}

/// The keys of a text of the scenario. `${n}` is the serial, appended if absent. Completions are requested after each
/// trigger character and after the last key.
fn own_keys(text: &str, triggers: &[String], serial: u64) -> Vec<Key> {
    let number = serial.to_string();
    let text = if text.contains("${n}") {
        text.replace("${n}", &number)
    } else {
        format!("{text}{number}")
    };
    let mut keys = Vec::new();
    for key in text.chars() {
        let is_trigger = triggers.iter().any(|trigger| trigger.chars().eq([key]));
        keys.push(Key {
            text: key.to_string(),
            ask: if is_trigger { Some(Ask::Trigger(key)) } else { None },
        });
    }
    if let Some(last) = keys.last_mut() {
        last.ask.get_or_insert(Ask::Invoked);
    }
    keys
}

/// True if a key ends in a letter of a name.
fn ends_word(key: &Key) -> bool {
    key.text.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The completion context after this key; `None` if no completion is requested.
fn context(key: &Key, in_word: bool, on: CompleteOn) -> Option<serde_json::Value> {
    let invoked = json!({ "triggerKind": 1 });
    match (&key.ask, on) {
        (Some(Ask::Trigger(key)), _) => Some(json!({ "triggerKind": 2, "triggerCharacter": key.to_string() })),
        (Some(Ask::Invoked), _) | (None, CompleteOn::Key) => Some(invoked),
        (None, CompleteOn::Word) if ends_word(key) && !in_word => Some(invoked),
        (None, CompleteOn::Word) => None,
        (None, CompleteOn::Trigger) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_scenario_asks_after_triggers_and_at_its_end_and_is_never_the_same_twice() {
        let triggers = [".".to_owned()];
        for (text, serial, expected, places) in [
            ("x${n} = os.pa", 7, "x7 = os.pa", vec![7, 9]),
            ("os", 12, "os12", vec![3]),
        ] {
            let keys = own_keys(text, &triggers, serial);
            let typed: String = keys.iter().map(|key| key.text.as_str()).collect();
            let asks: Vec<usize> = (0..keys.len()).filter(|key| keys[*key].ask.is_some()).collect();
            assert_eq!((typed.as_str(), asks), (expected, places));
        }
        assert_eq!(
            own_keys("os.", &triggers, 1).last().and_then(|key| key.ask),
            Some(Ask::Invoked)
        );
    }
}
