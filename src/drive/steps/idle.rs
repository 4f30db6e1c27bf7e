//! Windows in which nothing is asked of the server: silent, or with the light traffic of an editor whose user reads.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::config::step::{Idle, IdleEnd, IdleMode};
use crate::drive::desk::Desk;
use crate::drive::quiet::{Rules, Watch};
use crate::drive::target::{Place, Target};
use crate::drive::{Stage, Stop, barrier};
use crate::record::{IdleKind, IdleWindow};

use super::Scene;

/// See [`Idle::STEADY`].
const STEADY: Duration = Idle::STEADY.0;

/// The band: half a per cent, but at least 512 KiB.
const BAND_SHARE: f64 = 0.005;
const BAND_LEAST: u64 = 512 << 10;

/// How often to look.
const LOOK: Duration = Duration::from_millis(100);

/// Plays an `idle` step.
pub async fn wait<S: Stage>(scene: &Scene<'_, S>, desk: &Desk, options: &Idle) -> Result<IdleWindow, Stop> {
    // What came before is not part of the window: a server that has not read it is not at rest, and asking whether it has
    // would end the silence. One that does not answer for long is busy; it is asked again when the phase ends.
    barrier::pass(&scene.session.client, scene.job.scenario.deadline().0).await;
    let begun = Instant::now();
    let mut simmer = Simmer::new(scene, desk, options.traffic().map(|every| every.0));
    scene.stage.quiet(options.mode == IdleMode::Silent).await;
    let settled = match options.end() {
        IdleEnd::After(time) => {
            while begun.elapsed() < time.0 {
                simmer.until(begun + time.0).await?;
            }
            None
        }
        IdleEnd::Settled { at_most } => steady(scene, &mut simmer, begun, at_most.0).await?,
    };
    scene.stage.quiet(false).await;
    let kind = match options.mode {
        IdleMode::Silent => IdleKind::Silent,
        IdleMode::Simmer => IdleKind::Simmer,
    };
    Ok(IdleWindow {
        kind,
        settled,
        took: begun.elapsed().as_nanos() as u64,
    })
}

/// Waits until memory is steady and, in silence, the processors are idle; false when the time was up before, `None`
/// when memory was not seen for long enough to tell.
async fn steady<S: Stage>(
    scene: &Scene<'_, S>,
    simmer: &mut Simmer<'_, S>,
    begun: Instant,
    at_most: Duration,
) -> Result<Option<bool>, Stop> {
    let mut band = Band::default();
    let rules = Rules {
        period: Duration::from_secs(1),
        cpu: 0.05,
    };
    let mut rest = Watch::begin(&scene.session.client, scene.stage, rules).await;
    while begun.elapsed() < at_most {
        simmer.until(Instant::now() + LOOK).await?;
        let resting = simmer.every.is_some() || rest.judge(Instant::now()).await.is_none();
        let private = scene.stage.private().await;
        let steady = private.is_some_and(|private| band.steady(Instant::now(), private));
        if resting && steady {
            return Ok(Some(true));
        }
    }
    Ok(band.is_whole(Instant::now()).then_some(false))
}

/// The values of the last while.
#[derive(Default)]
struct Band(VecDeque<(Instant, u64)>);

impl Band {
    /// Takes a value; whether all values of the last [`STEADY`] lie within the band.
    fn steady(&mut self, now: Instant, private: u64) -> bool {
        self.0.push_back((now, private));
        while self.0.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= STEADY) {
            self.0.pop_front();
        }
        let values = || self.0.iter().map(|(_, value)| *value);
        let (Some(least), Some(most)) = (values().min(), values().max()) else {
            return false;
        };
        let band = ((most as f64 * BAND_SHARE) as u64).max(BAND_LEAST);
        self.is_whole(now) && most - least <= band
    }

    /// Whether values were seen all of that while.
    fn is_whole(&self, now: Instant) -> bool {
        self.0.front().is_some_and(|(at, _)| now.duration_since(*at) >= STEADY)
    }
}

/// The light traffic: hover and document highlight at places of one document in turn, where the server offers them,
/// otherwise word of no changed file.
struct Simmer<'a, S: Stage> {
    scene: &'a Scene<'a, S>,
    desk: &'a Desk,
    every: Option<Duration>,
    next: Instant,
    targets: Vec<Target>,
    methods: Vec<&'static str>,
    sent: usize,
}

impl<'a, S: Stage> Simmer<'a, S> {
    fn new(scene: &'a Scene<'a, S>, desk: &'a Desk, every: Option<Duration>) -> Simmer<'a, S> {
        let methods = ["textDocument/hover", "textDocument/documentHighlight"];
        let methods = methods
            .into_iter()
            .filter(|method| scene.session.offers(method))
            .collect();
        let targets = match every {
            Some(_) => desk.targets(Some(1), 10, Place::Name),
            None => Vec::new(),
        };
        Simmer {
            scene,
            desk,
            every,
            next: Instant::now(),
            targets,
            methods,
            sent: 0,
        }
    }

    /// Waits until `end`, sending what is due meanwhile.
    async fn until(&mut self, end: Instant) -> Result<(), Stop> {
        match self.every {
            Some(every) if self.next <= end => {
                tokio::time::sleep_until(self.next.into()).await;
                self.next = Instant::now() + every;
                self.send().await
            }
            Some(_) | None => {
                tokio::time::sleep_until(end.into()).await;
                Ok(())
            }
        }
    }

    async fn send(&mut self) -> Result<(), Stop> {
        let turn = self.sent;
        self.sent += 1;
        if self.targets.is_empty() || self.methods.is_empty() {
            self.scene
                .asker
                .notify("workspace/didChangeWatchedFiles", &json!({ "changes": [] }));
            return Ok(());
        }
        let target = &self.targets[turn / self.methods.len() % self.targets.len()];
        let params = self.desk.document(target.file).at(target.offset);
        self.scene
            .asker
            .follow(self.methods[turn % self.methods.len()], &params)
            .await
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_stretch_counts_only_when_it_is_long_enough() {
        let mut band = Band::default();
        let start = Instant::now();
        let second = |n: u64| start + Duration::from_secs(n);
        for n in 0..8 {
            assert!(!band.steady(second(n), 100 << 20), "after {n} s");
        }
        assert!(band.steady(second(8), 100 << 20));
        assert!(!band.steady(second(9), 90 << 20), "it fell");
        assert!(!band.steady(second(16), 90 << 20), "the fall is still in the window");
        assert!(band.steady(second(17), 90 << 20));
    }

    #[test]
    fn small_servers_may_move_by_half_a_mebibyte() {
        let mut band = Band::default();
        let start = Instant::now();
        for n in 0..=8 {
            let steady = band.steady(start + Duration::from_secs(n), (10 << 20) + n * (60 << 10));
            assert_eq!(steady, n == 8);
        }
    }
}
