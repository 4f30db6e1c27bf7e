//! Requests about whole documents or the whole workspace, and custom requests.

use serde_json::{Value, json};

use crate::config::Step;
use crate::config::step::template::{self, Scope, Values};
use crate::config::step::{Count, Diagnostics, ExecuteCommand, Notification, PerDocument, Request, WorkspaceSymbol};
use crate::drive::document::Document;
use crate::drive::documents::OpenDocuments;
use crate::drive::pull::WORKSPACE;
use crate::drive::target::TargetKind;
use crate::drive::{Stage, Stop, uri};
use lsp::{Client, Id, Provider, Reports};

use super::positions::each;
use super::{Cadence, Scene, files, lanes};

/// One request per document: symbols, formatting, tokens, hints, folds, lenses, colours, links.
pub async fn per_document<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    step: &Step,
    options: &PerDocument,
) -> Result<(), Stop> {
    let method = step.method().unwrap_or_default();
    for _ in 0..options.times.get() {
        let indices: Vec<usize> = (0..documents.reach(files(options.files))).collect();
        each(&indices, lanes(options.ask()), async |index| {
            let document = documents.document(*index);
            let mut params = json!({ "textDocument": document.identifier() });
            match step {
                Step::Formatting(_) => params["options"] = json!({ "tabSize": 4, "insertSpaces": true }),
                Step::InlayHint(_) => {
                    let end = document.position(document.text().len());
                    params["range"] = json!({ "start": { "line": 0, "character": 0 }, "end": end });
                }
                _ => {}
            }
            scene.asker.ask(method, &params).await
        })
        .await?;
    }
    Ok(())
}

pub async fn workspace_symbol<S: Stage>(scene: &Scene<'_, S>, options: &WorkspaceSymbol) -> Result<(), Stop> {
    for _ in 0..options.times.get() {
        each(&options.queries, lanes(options.ask()), async |query| {
            scene.asker.ask("workspace/symbol", &json!({ "query": query })).await
        })
        .await?;
    }
    Ok(())
}

/// `diagnostics`: pulled for each document, or for the whole workspace.
pub async fn diagnostics<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    options: &Diagnostics,
) -> Result<(), Stop> {
    for _ in 0..options.times.get() {
        if options.workspace {
            workspace_diagnostics(scene).await?;
            continue;
        }
        let indices: Vec<usize> = (0..documents.reach(files(options.files))).collect();
        each(&indices, lanes(options.ask()), async |index| {
            document_diagnostics(scene, documents.document(*index)).await
        })
        .await?;
    }
    Ok(())
}

/// Asks every provider that covers a document.
async fn document_diagnostics<S: Stage>(scene: &Scene<'_, S>, document: &Document) -> Result<(), Stop> {
    let (client, uri) = (&scene.session.client, document.uri().as_str());
    for provider in providers(client) {
        if !provider.covers(uri, document.language()) {
            continue;
        }
        let identifier = provider.identifier.as_deref();
        let params = client.document_diagnostic_params(identifier, uri);
        let report = scene.asker.fetch("textDocument/diagnostic", &params).await?;
        if let Some(report) = report {
            client.store_document_report(identifier, uri, &report);
        }
    }
    Ok(())
}

async fn workspace_diagnostics<S: Stage>(scene: &Scene<'_, S>) -> Result<(), Stop> {
    let client = &scene.session.client;
    for provider in providers(client).into_iter().filter(|provider| provider.workspace) {
        let identifier = provider.identifier.as_deref();
        let (params, _) = client.workspace_diagnostic_params(identifier);
        let reports = in_parts(scene, WORKSPACE, &params, true).await?;
        client.pulled_workspace(identifier, &reports);
    }
    Ok(())
}

/// The providers of the server; of one that announces none, its answer is asked for all the same.
fn providers(client: &Client) -> Vec<Provider> {
    let known = client.providers();
    if !known.is_empty() {
        return known;
    }
    let mut unknown = Provider::default();
    unknown.workspace = true;
    vec![unknown]
}

/// Sends a request, and takes the parts of its result if the parameters name a token for them. `parks` if the server may
/// keep it open.
async fn in_parts<S: Stage>(scene: &Scene<'_, S>, method: &str, params: &Value, parks: bool) -> Result<Reports, Stop> {
    let client = &scene.session.client;
    let token = Id::from_value(&params["partialResultToken"]);
    if let Some(token) = &token {
        client.expect_parts(token, method, params["identifier"].as_str());
    }
    let is_workspace = method == WORKSPACE;
    if is_workspace {
        client.begin_own_workspace_pull();
    }
    let result = if parks {
        scene.asker.park(method, params, token.as_ref()).await
    } else {
        let asked = scene.asker.ask_in_parts(method, params, token.as_ref()).await;
        asked.map(|()| Reports::default())
    };
    if is_workspace {
        client.end_own_workspace_pull();
    }
    if let Some(token) = &token {
        client.end_parts(token);
    }
    result
}

/// Sends a request, as a long poll if the server is known to keep it open.
async fn raw<S: Stage>(scene: &Scene<'_, S>, method: &str, params: &Value) -> Result<(), Stop> {
    // The protocol lets servers keep workspace diagnostics open until something changes.
    let mut parks = scene
        .job
        .choice
        .profile
        .parks
        .iter()
        .map(String::as_str)
        .chain([WORKSPACE]);
    let parks = parks.any(|parks| parks == method);
    in_parts(scene, method, params, parks).await.map(drop)
}

pub async fn execute_command<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    options: &ExecuteCommand,
) -> Result<(), Stop> {
    let arguments = Value::Array(options.arguments.clone());
    let all = filled(scene, documents, Some(&arguments), Some(Count::ONE), Count::ONE);
    for _ in 0..options.times.get() {
        for arguments in &all {
            let params = json!({ "command": options.command, "arguments": arguments });
            scene.asker.ask("workspace/executeCommand", &params).await?;
        }
    }
    Ok(())
}

/// `request`: any method, once per document or place when its parameters name one.
pub async fn request<S: Stage>(scene: &Scene<'_, S>, documents: &OpenDocuments, options: &Request) -> Result<(), Stop> {
    let all = filled(
        scene,
        documents,
        options.params.as_ref(),
        options.files,
        options.per_file,
    );
    for _ in 0..options.times.get() {
        each(&all, lanes(options.ask()), async |params| {
            raw(scene, &options.method, params).await
        })
        .await?;
    }
    Ok(())
}

pub async fn notification<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    options: &Notification,
) -> Result<(), Stop> {
    let all = filled(
        scene,
        documents,
        options.params.as_ref(),
        options.files,
        options.per_file,
    );
    let mut cadence = Cadence::new(options.cadence.0);
    for _ in 0..options.times.get() {
        for params in &all {
            cadence.tick().await;
            scene.asker.notify(&options.method, params).await?;
        }
    }
    scene.asker.flushed().await
}

/// A template with its placeholders filled, once per request.
fn filled<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    template: Option<&Value>,
    of_files: Option<Count>,
    per_file: Count,
) -> Vec<Value> {
    let template = template.unwrap_or(&Value::Null);
    let scope = template::scope(template);
    let values = values(scene, documents, files(of_files), per_file.get() as usize, scope);
    values.iter().map(|values| template::fill(template, values)).collect()
}

/// The values of the placeholders, per request.
fn values<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    files: Option<usize>,
    per_file: usize,
    scope: Scope,
) -> Vec<Values> {
    let root = &scene.job.root;
    let common = Values {
        workspace: root.display().to_string(),
        workspace_uri: uri::from_path(root),
        ..Values::default()
    };
    let values_of = |index: usize| Values {
        uri: documents.document(index).uri().as_str().to_owned(),
        file: documents.path(documents.file(index)).display().to_string(),
        ..common.clone()
    };
    match scope {
        Scope::Once => vec![common],
        Scope::Document => (0..documents.reach(files)).map(values_of).collect(),
        Scope::Position => {
            let targets = documents.targets(files, per_file, TargetKind::Name);
            let mut values = Vec::new();
            for target in &targets {
                let position = documents.document(target.file).position(target.offset);
                values.push(Values {
                    position: (position.line, position.character),
                    ..values_of(target.file)
                });
            }
            values
        }
    }
}
