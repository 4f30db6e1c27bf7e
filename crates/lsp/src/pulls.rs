//! Decides when an editor pulls diagnostics, and of which documents. Pure: takes times.
//!
//! As Visual Studio Code does (vscode-languageclient 9, `diagnostic.ts`): every open document when it is opened and
//! after it is changed, then the other open ones if their diagnostics depend on each other; all of them when the server
//! asks for it; the workspace once it is offered, and anew when its request was answered. There a request at each key is
//! cancelled by the next; here the one after a pause is sent alone, so that the traffic of a session does not depend on
//! the speed of its server. And there the workspace is asked for every two seconds for ever; here only after something
//! has changed, and once more, which is the request that a server may keep open.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::provider::Provider;

/// Time that a document stays unchanged before it is pulled.
const PAUSE: Duration = Duration::from_millis(200);

/// Most documents whose answers are awaited at once.
const MOST_AT_ONCE: usize = 16;

/// Errors of a provider after which the workspace is not asked for any more.
const MOST_ERRORS: u32 = 5;

/// The next pull.
#[derive(Clone, Debug, PartialEq)]
pub enum NextPull {
    Document {
        uri: String,
        /// The providers that cover it.
        providers: Vec<Provider>,
    },
    Workspace(Provider),
    /// Not before this time.
    At(Instant),
    /// Not before something happens.
    Nothing,
}

/// The reason for pulling a document, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Changed,
    /// It was opened, or the server asked.
    Wanted,
    /// Another document was changed.
    Others,
}

#[derive(Debug)]
struct Document {
    language: String,
    due: Option<(Cause, Instant)>,
    /// The cause of the pull that is under way.
    under_way: Option<Cause>,
}

/// The requests for the workspace to one provider.
#[derive(Debug)]
struct Workspace {
    /// Requests still to send: after a change one, and one to be kept open.
    requests_due: u32,
    /// The first of them is not sent before this time.
    at: Instant,
    is_open: bool,
    errors: u32,
}

impl Workspace {
    fn new(at: Instant) -> Workspace {
        Workspace {
            requests_due: 2,
            at,
            is_open: false,
            errors: 0,
        }
    }

    fn may_send(&self) -> bool {
        self.requests_due > 0 && !self.is_open && self.errors < MOST_ERRORS
    }
}

/// The open documents, and what is to be pulled.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    documents: BTreeMap<String, Document>,
    /// By the identifier of the provider.
    workspaces: HashMap<Option<String>, Workspace>,
    /// True if the editor pulls at all.
    is_enabled: bool,
    /// True while nothing may be sent.
    is_held: bool,
    /// Requests for the workspace that a step has open. An editor has one at a time, and a server may end an older one
    /// for the next.
    own_by_steps: u32,
}

impl Pulls {
    pub fn open_document(&mut self, uri: &str, language: &str, now: Instant) {
        let document = Document {
            language: language.to_owned(),
            due: Some((Cause::Wanted, now)),
            under_way: None,
        };
        self.documents.insert(uri.to_owned(), document);
    }

    pub fn change_document(&mut self, uri: &str, now: Instant) {
        if let Some(document) = self.documents.get_mut(uri) {
            document.due = Some((Cause::Changed, now + PAUSE));
        }
        self.renew_workspaces(now);
    }

    pub fn close_document(&mut self, uri: &str, now: Instant) {
        self.documents.remove(uri);
        self.renew_workspaces(now);
    }

    /// Pulls everything again: the server asked for it, or has a new provider.
    pub fn refresh(&mut self, now: Instant) {
        for document in self.documents.values_mut() {
            document.due.get_or_insert((Cause::Wanted, now + PAUSE));
        }
        self.renew_workspaces(now);
    }

    fn renew_workspaces(&mut self, now: Instant) {
        for workspace in self.workspaces.values_mut() {
            (workspace.requests_due, workspace.at) = (2, now + PAUSE);
        }
    }

    /// Makes everything due that waits for a pause in typing.
    pub fn hurry(&mut self, now: Instant) {
        for document in self.documents.values_mut() {
            document.due = document.due.map(|(cause, at)| (cause, at.min(now)));
        }
        for workspace in self.workspaces.values_mut() {
            workspace.at = workspace.at.min(now);
        }
    }

    pub fn enable(&mut self) {
        self.is_enabled = true;
    }

    pub fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// A step asks for the workspace, in place of the editor.
    pub fn begin_own_workspace_pull(&mut self) {
        self.own_by_steps += 1;
        for workspace in self.workspaces.values_mut() {
            workspace.requests_due = 0;
        }
    }

    pub fn end_own_workspace_pull(&mut self) {
        self.own_by_steps = self.own_by_steps.saturating_sub(1);
    }

    /// The next one, which then counts as under way.
    pub fn next(&mut self, now: Instant, providers: &[Provider]) -> NextPull {
        if self.is_held || !self.is_enabled {
            return NextPull::Nothing;
        }
        if let Some(provider) = self.take_workspace(now, providers) {
            return NextPull::Workspace(provider);
        }
        self.forget_uncovered(providers);
        let waiting = self.waiting();
        let due = waiting.iter().filter(|(_, at, _)| *at <= now).min();
        if let Some((cause, _, uri)) = due
            && let Some(document) = self.documents.get_mut(uri)
        {
            (document.due, document.under_way) = (None, Some(*cause));
            let covering = providers
                .iter()
                .filter(|provider| provider.covers(uri, &document.language));
            return NextPull::Document {
                uri: uri.clone(),
                providers: covering.cloned().collect(),
            };
        }
        let times = waiting.iter().map(|(_, at, _)| *at);
        match times.chain(self.workspace_times(providers)).min() {
            Some(at) => NextPull::At(at),
            None => NextPull::Nothing,
        }
    }

    /// The providers that the editor may ask for the workspace: none while a step has its own request open.
    fn workspace_providers<'p>(&self, providers: &'p [Provider]) -> impl Iterator<Item = &'p Provider> + use<'p> {
        let is_free = self.own_by_steps == 0;
        providers.iter().filter(move |provider| is_free && provider.workspace)
    }

    /// The moments from which workspaces may be pulled.
    fn workspace_times(&self, providers: &[Provider]) -> Vec<Instant> {
        let mut times = Vec::new();
        for provider in self.workspace_providers(providers) {
            let workspace = self.workspaces.get(&provider.identifier);
            times.extend(
                workspace
                    .filter(|workspace| workspace.may_send())
                    .map(|workspace| workspace.at),
            );
        }
        times
    }

    /// The documents that can be pulled when their time has come.
    fn waiting(&self) -> Vec<(Cause, Instant, String)> {
        let under_way: Vec<Cause> = self
            .documents
            .values()
            .filter_map(|document| document.under_way)
            .collect();
        if under_way.len() >= MOST_AT_ONCE {
            return Vec::new();
        }
        // Documents that nobody looks at are pulled one after the other.
        let is_other_under_way = under_way.contains(&Cause::Others);
        let mut waiting = Vec::new();
        for (uri, document) in &self.documents {
            if let (Some((cause, at)), None) = (document.due, document.under_way)
                && !(cause == Cause::Others && is_other_under_way)
            {
                waiting.push((cause, at, uri.clone()));
            }
        }
        waiting
    }

    /// Documents that no provider covers have nothing to pull until one is registered.
    fn forget_uncovered(&mut self, providers: &[Provider]) {
        for (uri, document) in &mut self.documents {
            if document.due.is_some() && !is_covered(uri, document, providers) {
                document.due = None;
            }
        }
    }

    fn take_workspace(&mut self, now: Instant, providers: &[Provider]) -> Option<Provider> {
        for provider in self.workspace_providers(providers) {
            let known = self.workspaces.entry(provider.identifier.clone());
            let workspace = known.or_insert_with(|| Workspace::new(now));
            if workspace.may_send() && workspace.at <= now {
                workspace.requests_due -= 1;
                workspace.is_open = true;
                return Some(provider.clone());
            }
        }
        None
    }

    /// The answers for a document are there. If it was changed, the diagnostics of others may have changed too.
    pub fn end_document(&mut self, uri: &str, now: Instant, providers: &[Provider]) {
        let Some(cause) = self
            .documents
            .get_mut(uri)
            .and_then(|document| document.under_way.take())
        else {
            return;
        };
        let depend = providers.iter().any(|provider| provider.inter_file);
        if cause != Cause::Changed || !depend {
            return;
        }
        for (_, other) in self.documents.iter_mut().filter(|(other, _)| *other != uri) {
            other.due.get_or_insert((Cause::Others, now));
        }
    }

    /// The request for the workspace has ended, perhaps with an error.
    pub fn end_workspace(&mut self, identifier: &Option<String>, is_error: bool) {
        if let Some(workspace) = self.workspaces.get_mut(identifier) {
            workspace.is_open = false;
            workspace.errors += u32::from(is_error);
        }
    }

    /// Requests for the workspace that the server keeps open.
    pub fn kept_open(&self) -> u64 {
        self.workspaces.values().filter(|workspace| workspace.is_open).count() as u64
    }

    /// True if something is still to be pulled or answered. A request for the workspace may stay open.
    pub fn is_pending(&self, providers: &[Provider]) -> bool {
        if !self.is_enabled {
            return false;
        }
        let has_document = self.documents.iter().any(|(uri, document)| {
            document.under_way.is_some() || (document.due.is_some() && is_covered(uri, document, providers))
        });
        let mut workspaces = providers.iter().filter(|provider| provider.workspace);
        has_document
            || workspaces.any(|provider| {
                let known = self.workspaces.get(&provider.identifier);
                known.is_none_or(Workspace::may_send)
            })
    }
}

fn is_covered(uri: &str, document: &Document, providers: &[Provider]) -> bool {
    providers
        .iter()
        .any(|provider| provider.covers(uri, &document.language))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The state of an editor that pulls.
    fn pulls() -> Pulls {
        Pulls {
            is_enabled: true,
            ..Pulls::default()
        }
    }

    fn provider(options: Value) -> Provider {
        Provider::from_options(&options)
    }

    /// Takes everything that is due, without answering it.
    fn take_due(pulls: &mut Pulls, now: Instant, providers: &[Provider]) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            match pulls.next(now, providers) {
                NextPull::Document { uri, .. } => all.push(uri),
                NextPull::Workspace(_) => all.push("workspace".to_owned()),
                NextPull::At(_) | NextPull::Nothing => return all,
            }
        }
    }

    #[test]
    fn a_document_is_pulled_when_opened_and_after_each_burst_of_changes() {
        let (mut pulls, begun, providers) = (pulls(), Instant::now(), [Provider::default()]);
        pulls.open_document("a", "python", begun);
        assert!(pulls.is_pending(&providers));
        assert_eq!(take_due(&mut pulls, begun, &providers), ["a"]);
        pulls.end_document("a", later(begun, 10), &providers);
        assert!(!pulls.is_pending(&providers));
        for key in [100, 200, 300] {
            pulls.change_document("a", later(begun, key));
            assert_eq!(
                pulls.next(later(begun, key), &providers),
                NextPull::At(later(begun, key) + PAUSE)
            );
        }
        assert_eq!(take_due(&mut pulls, later(begun, 500), &providers), ["a"]);
        pulls.change_document("a", later(begun, 510));
        pulls.hurry(later(begun, 520));
        assert_eq!(
            pulls.next(later(begun, 520), &providers),
            NextPull::Nothing,
            "one at a time"
        );
        pulls.end_document("a", later(begun, 530), &providers);
        assert_eq!(take_due(&mut pulls, later(begun, 530), &providers), ["a"]);
    }

    fn later(begun: Instant, millis: u64) -> Instant {
        begun + Duration::from_millis(millis)
    }

    #[test]
    fn other_documents_follow_one_by_one_where_files_depend_on_each_other() {
        for (depend, expected) in [(true, vec!["b", "c"]), (false, vec![])] {
            let (mut pulls, now) = (pulls(), Instant::now());
            let providers = [provider(json!({ "interFileDependencies": depend }))];
            for uri in ["a", "b", "c"] {
                pulls.open_document(uri, "python", now);
            }
            for uri in take_due(&mut pulls, now, &providers) {
                pulls.end_document(&uri, now, &providers);
            }
            pulls.change_document("a", now);
            assert_eq!(take_due(&mut pulls, now + PAUSE, &providers), ["a"]);
            let mut others = Vec::new();
            let mut ended = "a".to_owned();
            loop {
                pulls.end_document(&ended, now, &providers);
                let next = take_due(&mut pulls, now, &providers);
                let [uri] = &next[..] else { break };
                ended = uri.clone();
                others.push(uri.clone());
            }
            assert_eq!(others, expected);
        }
    }

    #[test]
    fn nothing_is_sent_while_pulls_are_held_and_nothing_is_forgotten() {
        let (mut pulls, now, providers) = (pulls(), Instant::now(), [Provider::default()]);
        pulls.hold(true);
        pulls.open_document("a", "python", now);
        pulls.refresh(now);
        assert_eq!(pulls.next(now, &providers), NextPull::Nothing);
        pulls.hold(false);
        assert_eq!(take_due(&mut pulls, now, &providers), ["a"]);
    }

    #[test]
    fn an_editor_that_pulls_nothing_waits_for_nothing() {
        let (mut pulls, now, providers) = (Pulls::default(), Instant::now(), [Provider::default()]);
        pulls.open_document("a", "python", now);
        assert_eq!(pulls.next(now, &providers), NextPull::Nothing);
        assert!(!pulls.is_pending(&providers));
    }

    #[test]
    fn a_refresh_pulls_every_open_document_and_the_workspace() {
        let (mut pulls, now) = (pulls(), Instant::now());
        let providers = [provider(json!({ "workspaceDiagnostics": true }))];
        pulls.open_document("a", "python", now);
        pulls.open_document("b", "python", now);
        assert_eq!(take_due(&mut pulls, now, &providers), ["workspace", "a", "b"]);
        pulls.end_document("a", now, &providers);
        pulls.end_document("b", now, &providers);
        assert!(
            !pulls.is_pending(&providers),
            "the request for the workspace is kept open"
        );
        pulls.end_workspace(&None, false);
        assert_eq!(take_due(&mut pulls, now, &providers), ["workspace"]);
        pulls.end_workspace(&None, false);
        assert!(take_due(&mut pulls, now, &providers).is_empty(), "nothing has changed");
        pulls.refresh(now);
        assert_eq!(take_due(&mut pulls, now + PAUSE, &providers), ["workspace", "a", "b"]);
    }

    #[test]
    fn a_step_that_asks_for_the_workspace_does_it_in_place_of_the_editor() {
        let (mut pulls, now) = (pulls(), Instant::now());
        let providers = [provider(json!({ "workspaceDiagnostics": true }))];
        assert_eq!(take_due(&mut pulls, now, &providers), ["workspace"]);
        pulls.begin_own_workspace_pull();
        // The server ends the older request for that of the step.
        pulls.end_workspace(&None, false);
        assert!(take_due(&mut pulls, now, &providers).is_empty());
        pulls.refresh(now);
        assert!(
            take_due(&mut pulls, now + PAUSE, &providers).is_empty(),
            "it is still open"
        );
        let next = pulls.next(now + PAUSE, &providers);
        assert!(
            matches!(next, NextPull::Nothing),
            "there is no time to wait for: {next:?}"
        );
        pulls.end_own_workspace_pull();
        assert_eq!(
            take_due(&mut pulls, now + PAUSE, &providers),
            ["workspace"],
            "of the refresh"
        );
    }

    #[test]
    fn a_workspace_that_answers_with_errors_is_given_up() {
        let (mut pulls, now) = (pulls(), Instant::now());
        let providers = [provider(json!({ "workspaceDiagnostics": true }))];
        let mut sent = 0;
        for _ in 0..20 {
            sent += take_due(&mut pulls, now, &providers).len();
            pulls.end_workspace(&None, true);
            pulls.refresh(now);
            pulls.hurry(now);
        }
        assert_eq!(sent, MOST_ERRORS as usize);
        assert!(!pulls.is_pending(&providers));
    }

    #[test]
    fn only_covered_documents_are_pulled_by_each_of_their_providers() {
        let (mut pulls, now) = (pulls(), Instant::now());
        let providers = ["python", "rust"]
            .map(|language| provider(json!({ "documentSelector": [language], "identifier": language })));
        pulls.open_document("a", "python", now);
        pulls.open_document("b", "go", now);
        let NextPull::Document { uri, providers: asked } = pulls.next(now, &providers) else {
            panic!("a document is open");
        };
        assert_eq!((uri.as_str(), asked), ("a", providers[..1].to_vec()));
        assert_eq!(pulls.next(now, &providers), NextPull::Nothing);
        pulls.end_document("a", now, &providers);
        assert!(!pulls.is_pending(&providers));
    }
}
