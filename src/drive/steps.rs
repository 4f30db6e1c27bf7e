//! Executes each kind of step.

mod cursor;
mod documents;
mod idle;
mod positions;
mod queries;
mod release;
mod session;
mod typing;
mod watchers;
mod world;

use std::time::{Duration, Instant};

use crate::config::Step;
use crate::config::step::template::{self, Scope};
use crate::config::step::{Ask, Count};
use base::units::Span;
use lsp::Client;
use record::{Event, StepEnd, WindowStart};

pub use documents::take_back_touches;
pub use release::{at_checkpoint, releases_at_checkpoints};

use super::ask::Asker;
use super::documents::OpenDocuments;
use super::session::Session;
use super::target::TargetKind;
use super::{Job, Stage, Stop};

/// The context of a step, except the open documents.
pub struct Scene<'a, S: Stage> {
    pub session: &'a Session,
    pub stage: &'a S,
    pub asker: &'a Asker<'a, S>,
    pub job: &'a Job,
    /// The connections of the other windows.
    pub others: &'a [Client],
    pub place: WindowStart,
    /// True if no step follows.
    pub last: bool,
}

impl<S: Stage> Scene<'_, S> {
    /// The deadline of a step, or else of the scenario.
    fn deadline(&self, given: Option<Span>) -> Duration {
        given.unwrap_or_else(|| self.job.scenario.deadline()).0
    }

    /// Begins a window with a sample. Waits until the server has read all earlier messages, because the window must not
    /// include their work.
    async fn window(&self) -> Instant {
        self.stage.sample().await;
        let begun = Instant::now();
        self.stage.record(Event::WindowBegan(self.place.clone()));
        begun
    }
}

/// Plays one step. Besides the counts, sets `end` for idle windows and for memory that the server reports.
pub async fn act<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &mut OpenDocuments,
    step: &Step,
    end: &mut StepEnd,
) -> Result<(), Stop> {
    match step {
        // The player executes these: they replace the server.
        Step::Start(_) | Step::Restart(_) => Ok(()),
        Step::Open(options) => documents::open(scene, documents, options).await,
        Step::Close(options) => {
            documents::close(scene, documents, options).await?;
            end.left_open = Some(documents.reach(None) as u64);
            Ok(())
        }
        Step::Save(options) => documents::save(scene, documents, options).await,
        Step::Edit(options) => documents::edit(scene, documents, options).await,
        Step::Touch(options) => documents::touch(scene, documents, options).await,
        Step::Disk(_) | Step::Checkout(_) | Step::Shell(_) | Step::Settings(_) | Step::Folders(_) => {
            world::change(scene, documents, step).await
        }
        Step::Type(options) => typing::type_snippets(scene, documents, options).await,
        Step::Notification(options) => queries::notification(scene, documents, options).await,
        Step::Pause(options) => pause(options.time.0).await,
        Step::Session(options) => session::play(scene, options).await,
        Step::Idle(options) => {
            end.idle = Some(idle::wait(scene, documents, options).await?);
            Ok(())
        }
        Step::Release(options) => {
            end.release = Some(release::release(scene, options).await?);
            Ok(())
        }
        Step::SelfReport(options) => {
            end.self_report = Some(release::report(scene, options).await?);
            Ok(())
        }
        Step::TypeAndComplete(options) => typing::completing(scene, documents, options).await,
        Step::Definition(options)
        | Step::TypeDefinition(options)
        | Step::Implementation(options)
        | Step::Hover(options)
        | Step::DocumentHighlight(options)
        | Step::SelectionRange(options)
        | Step::SignatureHelp(options) => positions::request_per_place(scene, documents, step, options).await,
        Step::CursorWalk(options) => cursor::walk(scene, documents, options).await,
        Step::OnTypeFormatting(options) => cursor::format_on_type(scene, documents, options).await,
        Step::References(options) => positions::references(scene, documents, options).await,
        Step::Completion(options) => positions::completion(scene, documents, options).await,
        Step::Rename(options) => positions::rename(scene, documents, options).await,
        Step::CodeAction(options) => positions::code_action(scene, documents, options).await,
        Step::CallHierarchy(options) => positions::call_hierarchy(scene, documents, options).await,
        Step::DocumentSymbol(options)
        | Step::Formatting(options)
        | Step::SemanticTokens(options)
        | Step::InlayHint(options)
        | Step::FoldingRange(options)
        | Step::CodeLens(options)
        | Step::DocumentColor(options)
        | Step::DocumentLink(options) => queries::per_document(scene, documents, step, options).await,
        Step::WorkspaceSymbol(options) => queries::workspace_symbol(scene, options).await,
        Step::Diagnostics(options) => queries::diagnostics(scene, documents, options).await,
        Step::ExecuteCommand(options) => queries::execute_command(scene, documents, options).await,
        Step::Request(options) => queries::request(scene, documents, options).await,
    }
}

/// Plays in another window what a step does in each.
pub async fn follow<S: Stage>(scene: &Scene<'_, S>, documents: &mut OpenDocuments, step: &Step) -> Result<(), Stop> {
    match step {
        Step::Open(options) => documents::open(scene, documents, options).await,
        Step::Close(options) => documents::close(scene, documents, options).await,
        _ => Ok(()),
    }
}

async fn pause(time: Duration) -> Result<(), Stop> {
    tokio::time::sleep(time).await;
    Ok(())
}

/// The kind of place that a step needs; `None` if it needs none, or picks its own.
pub fn place(step: &Step) -> Option<TargetKind> {
    match step {
        Step::Hover(_)
        | Step::DocumentHighlight(_)
        | Step::CodeAction(_)
        | Step::SelectionRange(_)
        | Step::CursorWalk(_)
        | Step::OnTypeFormatting(_) => Some(TargetKind::Name),
        Step::Definition(_)
        | Step::TypeDefinition(_)
        | Step::Implementation(_)
        | Step::References(_)
        | Step::Rename(_)
        | Step::CallHierarchy(_) => Some(TargetKind::Use),
        Step::Completion(_) => Some(TargetKind::Member),
        Step::SignatureHelp(_) => Some(TargetKind::Call),
        Step::Request(options) => match options.params.as_ref().map(template::scope) {
            Some(Scope::Position) => Some(TargetKind::Name),
            _ => None,
        },
        _ => None,
    }
}

/// The target that a step without requests looked for: `names in 20 open python files`.
pub fn sought_target(step: &Step, documents: &OpenDocuments) -> String {
    let open = documents.reach(None);
    if open == 0 {
        return "open documents".to_owned();
    }
    let language = documents.document(0).language();
    let what = match (place(step), step) {
        (Some(place), _) => place.words(language),
        (None, Step::TypeAndComplete(_)) => "keys after which an editor asks",
        (None, _) => "documents",
    };
    let files = base::units::count_of(open as u64, &format!("open {language} file"));
    format!("{what} in {files}")
}

/// The number of files that a step uses.
fn files(count: Option<Count>) -> Option<usize> {
    count.map(|count| count.get() as usize)
}

/// Most requests that a step has open at once.
fn lanes(ask: Ask) -> usize {
    ask.concurrency.get() as usize
}

/// Keeps a cadence: ticks at least `every` apart.
struct Cadence(Option<tokio::time::Interval>);

impl Cadence {
    fn new(every: Duration) -> Cadence {
        if every.is_zero() {
            return Cadence(None);
        }
        let mut interval = tokio::time::interval(every);
        // A delayed user continues at the same pace; missed keys are not typed at once.
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        Cadence(Some(interval))
    }

    async fn tick(&mut self) {
        match &mut self.0 {
            Some(interval) => drop(interval.tick().await),
            // Yields to the reader, which a long step would otherwise starve.
            None => tokio::task::yield_now().await,
        }
    }
}
