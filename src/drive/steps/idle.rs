//! Idle windows: without traffic, or with the light traffic of an editor whose user reads.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::config::step::{Idle, IdleEnd, IdleMode, Light};
use crate::drive::documents::OpenDocuments;
use crate::drive::quiet::{IdleWatch, Rules};
use crate::drive::settling::{Rule, Settling};
use crate::drive::target::{Target, TargetKind};
use crate::drive::{MemoryHolder, Stage, Stop, barrier, pull};
use crate::resolve::KnownDecay;
use allocator::RuntimeSettings;
use lsp::WATCHERS;
use record::{AllocatorDecay, IdleKind, IdleWindow, Nanos, WindowEnd};

use super::Scene;

const LOOK: Duration = Duration::from_millis(100);

/// Share of one processor that an idle server may use.
const RESTING: f64 = 0.01;

/// Messages per file notification: people save less often than they move the mouse.
const TOUCH_EVERY: usize = 10;

pub async fn wait<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &OpenDocuments,
    options: &Idle,
) -> Result<IdleWindow, Stop> {
    // Earlier messages are not part of the window, and asking during it would be traffic. A server that does not answer
    // in time is busy; it is asked again when the phase ends.
    let patience = scene.job.scenario.deadline().0;
    pull::wait_and_hold(&scene.session.client, patience).await;
    barrier::wait_for_barrier(&scene.session.client, patience).await;
    let begun = scene.window().await;
    let WindowDecay { decay, holder } = window_decay(scene).await;
    let mut simmer = Simmer::new(scene, documents, options);
    scene.stage.quiet(options.mode == IdleMode::Silent).await;
    if options.mode == IdleMode::Silent {
        // Reads exact counters at the start and end, whatever the duty limit: cheap counters miss lazily freed memory.
        scene.stage.exact().await;
    }
    let over = match options.end() {
        IdleEnd::After(time) => {
            while begun.elapsed() < time.0 {
                simmer.run_until(begun + time.0).await?;
            }
            Over::new(WindowEnd::Ended, None)
        }
        IdleEnd::Settled { .. } => settle(scene, &mut simmer, begun, options, decay).await?,
    };
    simmer.finish().await?;
    if options.mode == IdleMode::Silent {
        scene.stage.exact().await;
    }
    scene.stage.quiet(false).await;
    let kind = match options.mode {
        IdleMode::Silent => IdleKind::Silent,
        IdleMode::Simmer => IdleKind::Simmer,
    };
    Ok(IdleWindow {
        kind,
        settled: over.settled,
        took: begun.elapsed().as_nanos() as u64,
        end: Some(over.end),
        moving: over.moving,
        needed: over.needed,
        sent: simmer.sent,
        left_out: simmer.left_out,
        control: options.control,
        decay,
        holder,
    })
}

/// The way in which a tree releases memory, and by which program that was decided; empty of the server's own.
#[derive(Debug, Default, PartialEq, Eq)]
struct WindowDecay {
    decay: Option<AllocatorDecay>,
    holder: String,
}

/// The way in which the program with the most memory releases it. An allocator that was inspected in the server's program alone is
/// unknown if processes of another program have more memory; a runtime is recognised in these, too.
async fn window_decay<S: Stage>(scene: &Scene<'_, S>) -> WindowDecay {
    let job = scene.job;
    let holder = scene.stage.holder(&job.native).await;
    if let Some(holder) = holder
        && let Some(decay) = runtime_decay(job.decay, &job.runtime_settings, &holder)
    {
        return decay;
    }
    let Some(known) = job.decay else {
        return WindowDecay::default();
    };
    let is_unknown = known.in_program && scene.stage.leads(&job.native).await == Some(false);
    WindowDecay {
        decay: if is_unknown { None } else { Some(known.decay) },
        holder: String::new(),
    }
}

/// The way in which the runtime of a process releases memory, by the words that it was started with; `None` if it has none. `known` is
/// of the server's own program, or of whatever that starts if the profile says so.
fn runtime_decay(
    known: Option<KnownDecay>,
    settings: &BTreeMap<String, String>,
    holder: &MemoryHolder,
) -> Option<WindowDecay> {
    let known_of_holder = known.filter(|known| !known.in_program || holder.is_own);
    let (family, name) = match known_of_holder {
        Some(known) => (known.family, None),
        None => (holder.family?, holder.program.file_name()),
    };
    if !family.is_runtime() {
        return None;
    }
    let told = RuntimeSettings {
        env: settings,
        words: &holder.words,
    };
    Some(WindowDecay {
        decay: allocator::decay(family, &BTreeMap::new(), told),
        holder: name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
    })
}

struct Over {
    end: WindowEnd,
    /// `None` if memory was not observed for long enough.
    settled: Option<bool>,
    moving: String,
    /// The length that a too short window would have needed.
    needed: Option<Nanos>,
}

impl Over {
    fn new(end: WindowEnd, settled: Option<bool>) -> Over {
        Over {
            end,
            settled,
            moving: String::new(),
            needed: None,
        }
    }
}

/// Waits until memory has settled and the server is idle, judging by its own traffic.
async fn settle<S: Stage>(
    scene: &Scene<'_, S>,
    simmer: &mut Simmer<'_, S>,
    begun: Instant,
    options: &Idle,
    decay: Option<AllocatorDecay>,
) -> Result<Over, Stop> {
    let silent = options.mode == IdleMode::Silent;
    let rule = Rule::for_window(decay, silent, options);
    // The first value is the start: a release before the first check belongs to the window.
    let mut settling = Settling::new(rule, scene.stage.private().await);
    let rules = Rules {
        period: rule.steady,
        cpu: RESTING,
    };
    let mut rest = IdleWatch::begin(&scene.session.client, scene.stage, rules).await;
    loop {
        simmer.run_until(Instant::now() + LOOK).await?;
        // The processor time of light traffic is no sign of work.
        let unrest = if silent {
            rest.unrest_except_messages(Instant::now()).await
        } else {
            rest.open_progress()
        };
        let private = scene.stage.private().await;
        let at = begun.elapsed();
        let moving = unrest.map(|(_, what)| what);
        match settling.look(at, private, moving.is_none()) {
            None => {}
            Some(WindowEnd::TimedOut) => {
                // If both are unsettled, report memory.
                let moving = if settling.moves() {
                    "its memory".to_owned()
                } else {
                    moving.unwrap_or_default()
                };
                return Ok(Over {
                    settled: if settling.is_whole(at) { Some(false) } else { None },
                    moving,
                    ..Over::new(WindowEnd::TimedOut, None)
                });
            }
            Some(WindowEnd::TooShort) => {
                return Ok(Over {
                    needed: Some(settling.needed().as_nanos() as u64),
                    ..Over::new(WindowEnd::TooShort, None)
                });
            }
            Some(end) => return Ok(Over::new(end, Some(true))),
        }
    }
}

/// Light traffic: the requests of the step that the server supports, at places of one document in turn. If none can be
/// sent, notifications about unchanged files.
struct Simmer<'a, S: Stage> {
    scene: &'a Scene<'a, S>,
    documents: &'a OpenDocuments,
    every: Option<Duration>,
    /// When the next message is due; `None` without traffic.
    next: Option<Instant>,
    targets: Vec<Target>,
    methods: Vec<&'static str>,
    touches: bool,
    /// Messages due so far, sent or not.
    turns: usize,
    asked: usize,
    sent: u64,
    left_out: u64,
    /// The pending answer.
    open: Option<Answer<'a>>,
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<(), Stop>> + 'a>>;

impl<'a, S: Stage> Simmer<'a, S> {
    fn new(scene: &'a Scene<'a, S>, documents: &'a OpenDocuments, options: &Idle) -> Simmer<'a, S> {
        let wanted = options.methods.as_deref().unwrap_or(&Light::ALL);
        let mut methods: Vec<&'static str> = wanted.iter().filter_map(method).collect();
        methods.retain(|method| scene.session.offers(method));
        let every = options.traffic().map(|every| every.0);
        let targets = match every {
            Some(_) => documents.targets(Some(1), 10, TargetKind::Name),
            None => Vec::new(),
        };
        Simmer {
            scene,
            documents,
            every,
            next: every.map(|_| Instant::now()),
            targets,
            methods,
            touches: wanted.contains(&Light::Touch),
            turns: 0,
            asked: 0,
            sent: 0,
            left_out: 0,
            open: None,
        }
    }

    /// Sends messages as they become due, until `end`. A message due while an answer is pending is dropped, so that
    /// traffic does not depend on the server's speed.
    async fn run_until(&mut self, end: Instant) -> Result<(), Stop> {
        loop {
            let next = self.next.filter(|next| *next <= end);
            let wake = tokio::time::sleep_until(next.unwrap_or(end).into());
            match &mut self.open {
                Some(open) => tokio::select! {
                    biased;
                    answered = open => {
                        self.open = None;
                        answered?;
                        continue;
                    }
                    () = wake => {}
                },
                None => wake.await,
            }
            if next.is_none() {
                return Ok(());
            }
            self.send_due();
        }
    }

    /// Waits for the pending answer.
    async fn finish(&mut self) -> Result<(), Stop> {
        match self.open.take() {
            Some(open) => open.await,
            None => Ok(()),
        }
    }

    /// Sends the due message. Messages missed because lsp-soak was late are not sent later.
    fn send_due(&mut self) {
        let (Some(every), Some(next)) = (self.every, self.next) else {
            return;
        };
        let late = Instant::now().saturating_duration_since(next).as_nanos() / every.as_nanos().max(1);
        let late = u32::try_from(late).unwrap_or(u32::MAX);
        self.left_out += u64::from(late);
        self.next = Some(next + every.saturating_mul(late.saturating_add(1)));
        self.turns += 1;
        let nothing = self.targets.is_empty() || self.methods.is_empty();
        if nothing || (self.touches && self.turns.is_multiple_of(TOUCH_EVERY)) {
            self.sent += 1;
            self.touch();
        } else if self.open.is_some() {
            self.left_out += 1;
        } else {
            self.sent += 1;
            self.ask();
        }
    }

    fn ask(&mut self) {
        let turn = self.asked;
        self.asked += 1;
        let target = &self.targets[turn / self.methods.len() % self.targets.len()];
        let params = self.documents.document(target.file).position_params(target.offset);
        let method = self.methods[turn % self.methods.len()];
        let asker = self.scene.asker;
        self.open = Some(Box::pin(async move { asker.follow(method, &params).await.map(drop) }));
    }

    /// Reports a change of an unchanged open file, so that the server looks and finds nothing new.
    fn touch(&self) {
        let mut changes = Vec::new();
        if self.touches && self.documents.reach(Some(1)) > 0 {
            changes.push(json!({ "uri": self.documents.document(0).uri().as_str(), "type": 2 }));
        }
        let params = json!({ "changes": changes });
        self.scene.asker.notify_now(WATCHERS, &params);
    }
}

/// The request of a kind of light traffic; `None` of notifications.
fn method(light: &Light) -> Option<&'static str> {
    match light {
        Light::Hover => Some("textDocument/hover"),
        Light::DocumentHighlight => Some("textDocument/documentHighlight"),
        Light::Touch => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{AllocatorFamily, Delay, Runtime};

    fn holder(program: &str, family: Option<AllocatorFamily>, words: &[&str]) -> MemoryHolder {
        MemoryHolder {
            program: program.into(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            family,
            is_own: family.is_none(),
        }
    }

    fn known_decay(family: AllocatorFamily, in_program: bool) -> Option<KnownDecay> {
        let decay = AllocatorDecay {
            idle: false,
            delay: Delay::Untimed,
            lazy: false,
            runtime: None,
        };
        Some(KnownDecay {
            family,
            decay,
            in_program,
        })
    }

    fn runtime_and_holder(before: Option<KnownDecay>, holder: &MemoryHolder) -> Option<(Option<Runtime>, String)> {
        let known = runtime_decay(before, &BTreeMap::new(), holder)?;
        Some((known.decay.and_then(|decay| decay.runtime), known.holder))
    }

    #[test]
    fn the_program_that_has_most_of_the_memory_decides() {
        let go = known_decay(AllocatorFamily::Go, true);
        let own = holder("/bin/gopls", None, &["gopls"]);
        assert_eq!(runtime_and_holder(go, &own), Some((Some(Runtime::Go), String::new())));
        let helper = holder("/usr/bin/node", Some(AllocatorFamily::V8), &["node", "helper.js"]);
        assert_eq!(
            runtime_and_holder(go, &helper),
            Some((Some(Runtime::V8), "node".to_owned()))
        );
        assert_eq!(
            runtime_and_holder(None, &helper),
            Some((Some(Runtime::V8), "node".to_owned()))
        );
        let native = holder("/bin/helper", Some(AllocatorFamily::Glibc), &["helper"]);
        assert_eq!(runtime_and_holder(go, &native), None);
        // The profile knows what a launcher starts.
        let java = holder("/bin/java", Some(AllocatorFamily::Jvm), &["java", "-XX:+UseZGC"]);
        let declared = known_decay(AllocatorFamily::Jvm, false);
        assert_eq!(
            runtime_and_holder(declared, &java),
            Some((Some(Runtime::Zgc), String::new()))
        );
        let unread = holder("/bin/java", Some(AllocatorFamily::Jvm), &["java", "@options"]);
        assert_eq!(runtime_and_holder(declared, &unread), Some((None, String::new())));
    }
}
