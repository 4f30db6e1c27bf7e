//! Runs a command to its end instead of a server.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::resolve::CommandPlan;
use crate::starter::{self, Line, Starter};
use proctree::child::Stream;
use proctree::process::{Launch, ServerProcess};
use record::{Close, CommandEnd, Ending, Event, PhaseRef, Shutdown, ShutdownStage};

use super::{Job, Stage, Stop, printed_figures};

/// The name of its only phase.
pub const PHASE: &str = "run";

/// Pause between two looks for the process id of the command: seldom enough that few fall into a command of a millisecond.
const LOOK: Duration = Duration::from_millis(5);

/// Time limit for processes of the command to end after it.
const FOLLOW: Duration = Duration::from_secs(2);

/// Runs the command of a job, and records what it used. Its report goes to a file in `scratch`.
pub async fn play<S: Stage>(job: &Job, plan: &CommandPlan, stage: &S) -> Result<(), Stop> {
    let report = job.report.clone().ok_or_else(|| {
        let error = io::Error::other("there is no directory for the report of the command");
        Stop::failed("start the command")(error)
    })?;
    let phase = PhaseRef {
        phase: 0,
        cycle: 0,
        name: PHASE.to_owned(),
    };
    stage.record(Event::PhaseStarted(phase.clone()));
    let launch = launch(job, plan, &report).map_err(Stop::failed("start the command"))?;
    let server = ServerProcess::spawn(&launch).map_err(Stop::failed("start the command"))?;
    stage.exclude_process(server.pid);
    let pid = wait_for_pid(&server, &report, job).await?;
    stage.record(Event::Spawned {
        pid,
        restarts: 0,
        window: 0,
    });
    stage
        .spawned(pid)
        .map_err(Stop::failed("watch the memory of the command"))?;
    server.exited().await;
    stage.record(Event::PhaseDriven(phase));
    let ended = starter::lines(&report).into_iter().find_map(|line| match line {
        Line::Ended(end) => Some(end),
        Line::Started(_) | Line::Unstarted(_) => None,
    });
    let mut end = ended.ok_or_else(|| {
        let error = io::Error::other("the process that starts it was killed");
        Stop::failed("learn how the command ended")(error)
    })?;
    if plan.prints {
        let output = output(&report);
        end.printed = Some(printed_figures::figures(&output).map_err(Stop::failed("read what the command printed"))?);
    }
    record_leftovers(&server, &end, stage).await;
    stage.record(Event::Command(end.clone()));
    // As shells tell it.
    let code = end.code.or_else(|| Some(128 + end.signal?));
    if plan.accepts(code) {
        return Ok(());
    }
    Err(Stop::Ended(Ending::Crashed {
        code: end.code,
        signal: end.signal,
        during: "the command".to_owned(),
    }))
}

/// The small process that starts the command, with the streams of the command.
fn launch(job: &Job, plan: &CommandPlan, report: &Path) -> io::Result<Launch> {
    let command = &job.launch;
    let program: OsString = command.program.clone().into();
    // A tracer counts the calls of the command, not of its parent.
    let before = command.before.iter().cloned();
    let words = before
        .chain(std::iter::once(program))
        .chain(command.args.iter().cloned());
    let mut starter = Starter::find()?;
    starter.args.extend(starter::words(report, &command.env, words));
    Ok(Launch {
        before: Vec::new(),
        program: starter.program,
        args: starter.args,
        env: Vec::new(),
        input: plan.input.clone(),
        output: if plan.prints {
            Stream::File(output(report))
        } else {
            plan.output.clone()
        },
        ..command.clone()
    })
}

/// The file to which a command prints its figures.
fn output(report: &Path) -> PathBuf {
    report.with_extension("output")
}

/// Waits for the process id of the command.
async fn wait_for_pid(server: &ServerProcess, report: &Path, job: &Job) -> Result<u32, Stop> {
    loop {
        let is_over = server.exit().is_some();
        match starter::lines(report).into_iter().next() {
            Some(Line::Started(pid)) => return Ok(pid),
            Some(Line::Unstarted(why)) => {
                let what = format!("start `{}`", job.launch.program.display());
                return Err(Stop::failed(what)(io::Error::other(why)));
            }
            Some(Line::Ended(_)) | None if is_over => {
                let error = io::Error::other(server.stderr_tail());
                return Err(Stop::failed("start the command")(error));
            }
            Some(Line::Ended(_)) | None => tokio::time::sleep(LOOK).await,
        }
    }
}

/// Records the leftovers of a command: processes, which are killed, and the end of its stderr.
async fn record_leftovers<S: Stage>(server: &ServerProcess, end: &CommandEnd, stage: &S) {
    let survivors = stage.survivors(tokio::time::sleep(FOLLOW)).await;
    let shutdown = Shutdown {
        stage: ShutdownStage::Exit,
        reply: None,
        exit_sent: None,
        code: end.code,
        signal: end.signal,
        took: None,
        orphaned: None,
        survivors,
    };
    stage.record(Event::Shutdown(shutdown));
    // A process that survived its killing holds it open: what was read so far is its tail.
    let _ = tokio::time::timeout(FOLLOW, server.stderr_ended()).await;
    stage.record(Event::Closed(Close {
        stderr: server.stderr_bytes(),
        stderr_tail: server.stderr_tail(),
        stderr_head: server.stderr_head(),
        ..Close::default()
    }));
}
