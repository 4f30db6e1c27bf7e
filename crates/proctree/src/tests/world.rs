//! A simulated system: scripted processes, and a clock that passes a day in a second.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use crate::schedule::{self, SamplerCommand, Time, Wake};
use crate::source::{Effort, Failure, Found, Kin, Opened, Program, Reading, Source};
use crate::tree::Own;
use crate::watch::Watch;
use crate::{Options, Pulse, Sink};
use record::{Counters, Event, Nanos, Rollup, SharedMemory};

pub const MILLISECOND: Nanos = 1_000_000;
pub const SECOND: Nanos = 1_000_000_000;

/// The state shared between the script and the sampler's system.
#[derive(Default)]
pub struct World {
    processes: BTreeMap<u32, Made>,
    born: u64,
    /// True if there are processes that no look has seen.
    unlooked: bool,
    pub resets: usize,
    pub rollups: usize,
    /// True if the system refuses to compare address spaces.
    pub refuses_to_compare: bool,
    /// Duration of a rollup of the whole tree.
    pub rollup_cost: Nanos,
}

pub struct Made {
    started: u64,
    parent: u32,
    program: String,
    pub counters: Counters,
    /// The process in whose address space it runs, if not its own.
    pub memory_of: Option<u32>,
    /// Its shared memory in exact readings.
    pub shared_memory: SharedMemory,
    pub reaped: u64,
    pub fails: bool,
    pub refuses_reset: bool,
    pub mapped: Vec<PathBuf>,
    pub environment: Vec<&'static str>,
}

/// Counters of a process with this much private memory.
pub fn counters(size: u64) -> Counters {
    Counters {
        resident: Some(size),
        private: Some(size),
        high_water: Some(size),
        user: Some(0),
        system: Some(0),
        threads: Some(4),
        ..Counters::default()
    }
}

impl World {
    pub fn spawn(&mut self, pid: u32, parent: u32) {
        self.born += 1;
        self.unlooked = true;
        let made = Made {
            started: self.born,
            parent,
            program: "server".to_owned(),
            counters: counters(1 << 20),
            memory_of: None,
            shared_memory: SharedMemory::default(),
            reaped: 0,
            fails: false,
            refuses_reset: false,
            mapped: Vec::new(),
            environment: Vec::new(),
        };
        self.processes.insert(pid, made);
    }

    /// The process whose address space a process runs in.
    fn address_space(&self, pid: u32) -> u32 {
        let made = self.processes.get(&pid);
        made.and_then(|made| made.memory_of).unwrap_or(pid)
    }

    pub fn kill(&mut self, pid: u32) {
        self.processes.remove(&pid);
    }

    pub fn process(&mut self, pid: u32) -> &mut Made {
        self.processes
            .get_mut(&pid)
            .expect("the script names a process that is there")
    }

    pub fn set(&mut self, pid: u32, counters: Counters) {
        self.process(pid).counters = counters;
    }

    pub fn work(&mut self, pid: u32, time: Nanos) {
        self.process(pid).counters.user = Some(time);
    }

    pub fn exec(&mut self, pid: u32, program: &str) {
        self.process(pid).program = program.to_owned();
    }

    /// High-water marks that decreased between two samples.
    pub fn resets(events: &[(Nanos, Event)]) -> usize {
        let marks: Vec<_> = events
            .iter()
            .filter_map(|(_, event)| match event {
                Event::Sample(sample) => sample.counters.high_water,
                _ => None,
            })
            .collect();
        marks.windows(2).filter(|pair| pair[1] < pair[0]).count()
    }
}

type Change = Box<dyn FnOnce(&mut World)>;
type MakeCommand = Box<dyn FnOnce() -> SamplerCommand>;

/// A script: timed events, the end, and the sampler's options.
pub struct Scene {
    pub options: Options,
    pub world: Rc<RefCell<World>>,
    end: Nanos,
    changes: RefCell<BTreeMap<Nanos, Vec<Change>>>,
    commands: RefCell<VecDeque<(Nanos, MakeCommand)>>,
    /// A wait that would end at the first time ends this much later.
    oversleep: RefCell<Option<(Nanos, Nanos)>>,
}

impl Scene {
    /// A server with the process id 100.
    pub fn new() -> Scene {
        let mut world = World::default();
        world.spawn(100, 10);
        Scene {
            options: Options::default(),
            world: Rc::new(RefCell::new(world)),
            end: 0,
            changes: RefCell::default(),
            commands: RefCell::default(),
            oversleep: RefCell::default(),
        }
    }

    pub fn until(self, end: Nanos) -> Scene {
        Scene { end, ..self }
    }

    pub fn change_at(&self, at: Nanos, change: impl FnOnce(&mut World) + 'static) {
        self.changes.borrow_mut().entry(at).or_default().push(Box::new(change));
    }

    /// Commands must be given in their order.
    pub fn command(&self, at: Nanos, command: impl FnOnce() -> SamplerCommand + 'static) {
        self.commands.borrow_mut().push_back((at, Box::new(command)));
    }

    pub fn oversleep(&self, at: Nanos, by: Nanos) {
        *self.oversleep.borrow_mut() = Some((at, by));
    }

    pub fn play(self) -> Vec<(Nanos, Event)> {
        self.play_with_pulse().0
    }

    pub fn play_with_pulse(self) -> (Vec<(Nanos, Event)>, Pulse) {
        let kept = Kept::default();
        let pulse = self.play_into(Box::new(kept.clone()));
        let events = std::mem::take(&mut *kept.0.lock().unwrap());
        (events, pulse)
    }

    pub fn play_into(self, sink: Box<dyn Sink>) -> Pulse {
        let pulse = Pulse::default();
        let now = Rc::new(RefCell::new(0));
        let source = Fake {
            world: Rc::clone(&self.world),
            now: Rc::clone(&now),
        };
        let own = Own {
            pid: 10,
            group: None,
            session: None,
        };
        let mut watch = Watch::new(source, own, &self.options, pulse.clone(), sink);
        watch.follow(100, &|| *now.borrow());
        let options = self.options.clone();
        schedule::run(&mut watch, &mut Script { scene: self, now }, &options);
        pulse
    }
}

struct Script {
    scene: Scene,
    now: Rc<RefCell<Nanos>>,
}

impl Time for Script {
    fn now(&self) -> Nanos {
        *self.now.borrow()
    }

    fn wait(&mut self, until: Nanos) -> Wake {
        let mut now = self.now.borrow_mut();
        let mut reached = until.max(*now);
        let mut has_command = false;
        if let Some((at, _)) = self.scene.commands.borrow().front()
            && *at <= reached
        {
            has_command = true;
            reached = (*at).max(*now);
        }
        if reached > self.scene.end {
            return Wake::Stop;
        }
        let mut oversleep = self.scene.oversleep.borrow_mut();
        if let Some((at, by)) = *oversleep
            && at <= reached
        {
            reached += by;
            *oversleep = None;
        }
        *now = reached;
        let mut changes = self.scene.changes.borrow_mut();
        while let Some(entry) = changes.first_entry()
            && *entry.key() <= reached
        {
            for change in entry.remove() {
                change(&mut self.scene.world.borrow_mut());
            }
        }
        if has_command && let Some((_, command)) = self.scene.commands.borrow_mut().pop_front() {
            Wake::Command(command())
        } else {
            Wake::Due
        }
    }
}

struct Fake {
    world: Rc<RefCell<World>>,
    now: Rc<RefCell<Nanos>>,
}

fn as_found(pid: u32, made: &Made) -> Found {
    Found {
        pid,
        parent: made.parent,
        group: None,
        session: None,
        started: Some(made.started),
    }
}

impl Source for Fake {
    type Process = (u32, u64);

    fn look(&mut self, _: Nanos, effort: Effort, out: &mut Vec<Found>) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        if !std::mem::take(&mut world.unlooked) && effort != Effort::Thorough {
            return Ok(());
        }
        out.extend(world.processes.iter().rev().map(|(pid, made)| as_found(*pid, made)));
        Ok(())
    }

    fn open(&mut self, pid: u32) -> io::Result<((u32, u64), Opened)> {
        let world = self.world.borrow();
        let made = world.processes.get(&pid).ok_or(io::ErrorKind::NotFound)?;
        let opened = Opened {
            found: as_found(pid, made),
            started: made.started,
            name: made.program.clone(),
        };
        Ok(((pid, made.started), opened))
    }

    fn read(&mut self, process: &mut (u32, u64), failures: &mut Vec<Failure>) -> Option<Reading> {
        let world = self.world.borrow();
        let made = world
            .processes
            .get(&process.0)
            .filter(|made| made.started == process.1)?;
        if made.fails {
            failures.push(Failure {
                what: "status",
                error: io::ErrorKind::PermissionDenied.into(),
            });
            return Some(Reading::default());
        }
        let program = made.program.len() as u64;
        let kin = Kin {
            parent: made.parent,
            group: None,
            session: None,
            reaped: Some(made.reaped),
            program,
        };
        Some(Reading {
            counters: made.counters,
            kin: Some(kin),
        })
    }

    fn shares_memory(&mut self, one: &(u32, u64), other: &(u32, u64)) -> Option<bool> {
        let world = self.world.borrow();
        if world.refuses_to_compare {
            return None;
        }
        Some(world.address_space(one.0) == world.address_space(other.0))
    }

    fn kill(&mut self, process: &(u32, u64)) {
        self.world.borrow_mut().kill(process.0);
    }

    fn describe(&mut self, process: &(u32, u64)) -> Option<Program> {
        let world = self.world.borrow();
        let made = world.processes.get(&process.0)?;
        Some(Program {
            name: made.program.clone(),
            command: vec![made.program.clone()],
            huge_pages: Some(true),
        })
    }

    fn mapped(&mut self, process: &(u32, u64)) -> Option<Vec<PathBuf>> {
        let world = self.world.borrow();
        Some(world.processes.get(&process.0)?.mapped.clone())
    }

    fn environment(&mut self, process: &(u32, u64)) -> Option<Vec<Vec<u8>>> {
        let world = self.world.borrow();
        let own = &world.processes.get(&process.0)?.environment;
        Some(own.iter().map(|entry| entry.as_bytes().to_vec()).collect())
    }

    fn rollup(&mut self, process: &(u32, u64), number: u32) -> Result<Option<Rollup>, Failure> {
        let mut world = self.world.borrow_mut();
        world.rollups += 1;
        let cost = world.rollup_cost + world.rollups as u64;
        *self.now.borrow_mut() += world.rollup_cost;
        let Some(made) = world.processes.get(&process.0) else {
            return Ok(None);
        };
        let anonymous = made.counters.private.unwrap_or(0);
        Ok(Some(Rollup {
            process: number,
            proportional: anonymous,
            proportional_anonymous: Some(anonymous),
            anonymous,
            shared_memory: Some(made.shared_memory),
            cost,
            ..Rollup::default()
        }))
    }

    fn reset_peak(&mut self, process: &(u32, u64)) -> Result<bool, Failure> {
        let mut world = self.world.borrow_mut();
        world.resets += 1;
        let made = world.process(process.0);
        if made.refuses_reset {
            return Err(Failure {
                what: "clear_refs",
                error: io::ErrorKind::PermissionDenied.into(),
            });
        }
        made.counters.high_water = made.counters.resident;
        Ok(true)
    }
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(Nanos, Event)>>>);

impl Sink for Kept {
    fn put(&mut self, at: Nanos, event: Event) {
        self.0.lock().unwrap().push((at, event));
    }
}
