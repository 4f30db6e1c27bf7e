//! A stage without a process, whose processor time the test controls.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lsp_soak::drive::{Activity, Crash, Frame, MemoryHolder, ReleaseResult, Stage};
use record::{Event, Nanos, PhaseRef, Survivor};

#[derive(Clone)]
pub struct Fake(Arc<State>);

struct State {
    begun: Instant,
    busy: AtomicBool,
    /// Last reading of the clock, and the processor time until then.
    cpu: Mutex<(Nanos, Nanos)>,
    events: Mutex<Vec<Event>>,
}

impl Fake {
    pub fn idle() -> Fake {
        let state = State {
            begun: Instant::now(),
            busy: AtomicBool::new(false),
            cpu: Mutex::new((0, 0)),
            events: Mutex::default(),
        };
        Fake(Arc::new(state))
    }

    /// A server that keeps one processor busy until `set_busy(false)`.
    pub fn busy() -> Fake {
        let stage = Fake::idle();
        stage.set_busy(true);
        stage
    }

    pub fn set_busy(&self, busy: bool) {
        self.reading();
        self.0.busy.store(busy, Ordering::SeqCst);
    }

    /// All recorded events so far.
    #[cfg(unix)]
    pub fn events(&self) -> Vec<Event> {
        self.0.events.lock().unwrap().clone()
    }

    fn reading(&self) -> Activity {
        let at = self.now();
        let mut cpu = self.0.cpu.lock().unwrap();
        if self.0.busy.load(Ordering::SeqCst) {
            cpu.1 += at - cpu.0;
        }
        cpu.0 = at;
        Activity {
            at,
            used: cpu.1,
            private: None,
        }
    }
}

impl Stage for Fake {
    fn now(&self) -> Nanos {
        self.0.begun.elapsed().as_nanos() as u64
    }

    fn record(&self, event: Event) {
        self.0.events.lock().unwrap().push(event);
    }

    fn spawned(&self, _pid: u32) -> std::io::Result<()> {
        Ok(())
    }

    fn crash(&self) -> Option<Crash> {
        None
    }

    fn exclude_process(&self, _pid: u32) {}

    fn is_over_limit(&self) -> bool {
        false
    }

    async fn activity(&self) -> Option<Activity> {
        Some(self.reading())
    }

    async fn private(&self) -> Option<u64> {
        None
    }

    async fn resident(&self) -> Option<u64> {
        None
    }

    async fn leads(&self, _program: &std::path::Path) -> Option<bool> {
        None
    }

    async fn holder(&self, _own: &std::path::Path) -> Option<MemoryHolder> {
        None
    }

    fn watched(&self, paths: &[PathBuf]) -> Vec<bool> {
        vec![false; paths.len()]
    }

    async fn release_memory(&self, _patience: Duration) -> ReleaseResult {
        ReleaseResult::default()
    }

    async fn collect(&self, _patience: Duration) -> ReleaseResult {
        ReleaseResult::default()
    }

    async fn quiet(&self, _yes: bool) {}

    async fn exact(&self) {}

    async fn sample(&self) {}

    async fn survivors(&self, _patience: impl Future<Output = ()>) -> Vec<Survivor> {
        Vec::new()
    }

    async fn checkpoint(&self, _frame: Frame) {}

    async fn peak(&self, _phase: PhaseRef) {}
}
