//! The scenario that a recorded session amounts to: its steps by method, with counts, rates and pauses.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use base::units;
use record::Nanos;

use super::scenario::head;
use super::{Params, Recorded, Sent, SentKind};

/// A gap between two messages from which on it is a pause.
const PAUSE: Nanos = 3_000_000_000;

/// Time between two changes of a document that one person types.
const SLOWEST_KEY: Nanos = 1_000_000_000;

/// The steps of methods that have one.
const STEPS: [(&str, &str); 20] = [
    ("textDocument/definition", "definition"),
    ("textDocument/typeDefinition", "type-definition"),
    ("textDocument/implementation", "implementation"),
    ("textDocument/references", "references"),
    ("textDocument/hover", "hover"),
    ("textDocument/completion", "completion"),
    ("textDocument/signatureHelp", "signature-help"),
    ("textDocument/documentHighlight", "document-highlight"),
    ("textDocument/documentSymbol", "document-symbol"),
    ("textDocument/rename", "rename"),
    ("textDocument/codeAction", "code-action"),
    ("textDocument/formatting", "formatting"),
    ("textDocument/semanticTokens/full", "semantic-tokens"),
    ("textDocument/inlayHint", "inlay-hint"),
    ("textDocument/foldingRange", "folding-range"),
    ("textDocument/codeLens", "code-lens"),
    ("textDocument/documentColor", "document-color"),
    ("textDocument/documentLink", "document-link"),
    ("textDocument/selectionRange", "selection-range"),
    ("textDocument/prepareCallHierarchy", "call-hierarchy"),
];

/// Steps that ask at places of documents, as often as `per-file` says.
const AT_PLACES: [&str; 11] = [
    "definition", "type-definition", "implementation", "references", "hover", "completion", "signature-help",
    "document-highlight", "rename", "code-action", "selection-range",
];

/// Messages of one method between two pauses.
struct Burst<'s> {
    method: &'s str,
    messages: Vec<&'s Sent>,
}

impl Burst<'_> {
    fn count(&self) -> u64 {
        self.messages.len() as u64
    }

    /// Documents that they were about.
    fn documents(&self) -> u64 {
        let keys: BTreeSet<String> = self.messages.iter().filter_map(|sent| document(sent)).collect();
        keys.len().max(1) as u64
    }

    /// The middle of the times from one to the next; `None` of a single one.
    fn cadence(&self) -> Option<Nanos> {
        let mut gaps = Vec::new();
        for pair in self.messages.windows(2) {
            gaps.push(pair[1].at.saturating_sub(pair[0].at));
        }
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied()
    }
}

/// The text of a scenario of this name.
pub fn text(name: &str, recorded: &Recorded) -> String {
    let mut text = head(name, recorded);
    let _ = write!(
        text,
        "\n[[phase]]\nname = \"start\"\nsteps = [{{ start = {{}} }}]\n\n\
         # {} of an editor in {}, {} of them requests.\n[[phase]]\nname = \"session\"\nsteps = [\n",
        units::count_of(recorded.messages.len() as u64, "message"),
        span(recorded.length()),
        units::count(recorded.requests()),
    );
    let mut others = BTreeSet::new();
    for part in recorded.messages.chunk_by(|one, next| next.at - one.at < PAUSE) {
        for burst in bursts(part) {
            match step(&burst) {
                Some(step) => {
                    let _ = writeln!(text, "    {{ {step} }},{}", rate(&burst));
                }
                None => {
                    others.insert(burst.method.to_owned());
                }
            }
        }
        if let Some(next) = recorded.messages.iter().find(|sent| sent.at > part[part.len() - 1].at) {
            let gap = next.at - part[part.len() - 1].at;
            let _ = writeln!(text, "    {{ pause = {{ for = \"{}\" }} }},", span(gap));
        }
    }
    text.push_str("]\n");
    if !others.is_empty() {
        let _ = writeln!(
            text,
            "# Without a step: {}",
            others.into_iter().collect::<Vec<_>>().join(", ")
        );
    }
    text
}

/// The messages of a part by their methods, in the order in which each came first.
fn bursts(part: &[Sent]) -> Vec<Burst<'_>> {
    let mut bursts: Vec<Burst<'_>> = Vec::new();
    for sent in part {
        if matches!(sent.kind, SentKind::Cancel(_)) {
            continue;
        }
        match bursts.iter_mut().find(|burst| burst.method == sent.method) {
            Some(burst) => burst.messages.push(sent),
            None => bursts.push(Burst {
                method: &sent.method,
                messages: vec![sent],
            }),
        }
    }
    bursts
}

/// The step for a burst; `None` if there is none.
fn step(burst: &Burst<'_>) -> Option<String> {
    let (count, documents) = (burst.count(), burst.documents());
    let per_document = count.div_ceil(documents);
    let cadence = match burst.cadence() {
        Some(gap) if gap > 0 => format!(", cadence = \"{}\"", span(gap)),
        Some(_) | None => String::new(),
    };
    Some(match burst.method {
        "textDocument/didOpen" => format!("open = {{ files = {count}, pick = \"next\"{cadence} }}"),
        "textDocument/didClose" => format!("close = {{ files = {count}{cadence} }}"),
        "textDocument/didSave" => format!("save = {{ files = {documents}{cadence} }}"),
        "textDocument/didChange" if burst.cadence().is_some_and(|gap| gap < SLOWEST_KEY) => {
            format!("type = {{ files = {documents}, per-file = 1, keystrokes = {per_document}{cadence} }}")
        }
        "textDocument/didChange" => format!("edit = {{ files = {documents}, per-file = {per_document}{cadence} }}"),
        "workspace/didChangeWatchedFiles" => format!("touch = {{ files = {count}{cadence} }}"),
        "workspace/symbol" => format!("workspace-symbol = {{ times = {count} }}"),
        "textDocument/diagnostic" => format!("diagnostics = {{ files = {documents}, times = {per_document} }}"),
        "workspace/diagnostic" => format!("diagnostics = {{ workspace = true, times = {count} }}"),
        method => {
            let (_, name) = STEPS.iter().find(|(known, _)| *known == method)?;
            let member = if AT_PLACES.contains(name) { "per-file" } else { "times" };
            if *name == "call-hierarchy" {
                format!("{name} = {{ files = {documents}, expect = \"anything\" }}")
            } else {
                format!("{name} = {{ files = {documents}, {member} = {per_document}, expect = \"anything\" }}")
            }
        }
    })
}

/// A comment with the rate of requests, which steps send one after the other.
fn rate(burst: &Burst<'_>) -> String {
    let is_request = burst
        .messages
        .iter()
        .any(|sent| matches!(sent.kind, SentKind::Request { .. }));
    let (Some(first), Some(last)) = (burst.messages.first(), burst.messages.last()) else {
        return String::new();
    };
    if !is_request || last.at == first.at {
        return String::new();
    }
    format!(
        " # {} in {}",
        units::count_of(burst.count(), "request"),
        span(last.at - first.at)
    )
}

/// The document that a message is about.
fn document(sent: &Sent) -> Option<String> {
    match &sent.params {
        Params::Whole(params) => params["textDocument"]["uri"].as_str().map(str::to_owned),
        Params::Outline(outline) => Some(outline.document.as_ref()?.hash.clone()),
    }
}

/// A time as scenarios take it.
fn span(nanos: Nanos) -> String {
    let time = Duration::from_nanos(nanos);
    if time < Duration::from_secs(1) {
        format!("{}ms", time.as_millis())
    } else {
        format!("{:.1}s", time.as_secs_f64())
    }
}
