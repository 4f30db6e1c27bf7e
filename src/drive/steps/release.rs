//! Forced releases, and the memory that a server itself reports. Neither is a request of the scenario: their time is
//! recorded, but counts in no latency.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::config;
use crate::config::step::{PurgeMethod, Release as Options, SelfReport as ReportOptions};
use crate::drive::{Job, ReleaseResult, Stage, Stop, barrier, pull, reported_total};
use crate::resolve::Collector;
use base::units;
use lsp::{Client, Reply, RequestOptions};
use record::{Release, ReleasedBy, Releaser, SelfReport};

use super::Scene;

/// Characters kept from the beginning and from the end of an answer.
const KEPT: usize = 2000;

pub async fn release<S: Stage>(scene: &Scene<'_, S>, options: &Options) -> Result<Release, Stop> {
    let deadline = scene.deadline(options.deadline);
    // Earlier messages are not part of the release. A server that does not answer in time is busy: continue.
    pull::wait_and_hold(&scene.session.client, deadline).await;
    barrier::wait_for_barrier(&scene.session.client, deadline).await;
    // A release may be shorter than one interval, so the window is recorded explicitly.
    let begun = scene.window().await;
    let mut release = Release {
        before: scene.stage.private().await,
        ..Release::default()
    };
    let mut absent = Vec::new();
    for means in options.purge_methods() {
        absent.extend(match means {
            PurgeMethod::Server => by_server(&scene.session.client, scene.job, deadline, &mut release).await?,
            PurgeMethod::Allocator => by_allocator(scene.stage, scene.job, deadline, &mut release).await,
        });
    }
    // If one of the two methods worked and no method was requested, the missing one is no news.
    if options.by.is_some() || release.used.is_empty() {
        release.missing.extend(absent);
    }
    release.after = scene.stage.private().await;
    release.took = begun.elapsed().as_nanos() as u64;
    scene.stage.sample().await;
    Ok(release)
}

/// Asks the server to release memory; an error if it has no command for it.
async fn by_server(
    client: &Client,
    job: &Job,
    deadline: Duration,
    release: &mut Release,
) -> Result<Option<String>, Stop> {
    let command = match &job.choice.profile.self_report {
        Some(command) if command.releases => command,
        _ => {
            let why = "the profile of the server has no command that releases memory";
            return Ok(Some(why.to_owned()));
        }
    };
    let answered = question(client, command, deadline).await?;
    match answered.text {
        Ok(text) => release.used.push(Releaser {
            by: ReleasedBy::Server,
            what: command.ask.name().to_owned(),
            pid: None,
            answer: cut(&text),
            accounted: reported_total::total(command.total, &text),
            took: answered.took,
        }),
        Err(why) => release.missing.push(why),
    }
    Ok(None)
}

/// Asks the allocators with the preloaded library to release memory; an error if none was preloaded.
async fn by_allocator<S: Stage>(stage: &S, job: &Job, patience: Duration, release: &mut Release) -> Option<String> {
    if job.library.is_none() {
        return Some(job.no_library.clone());
    }
    by_means(stage.release_memory(patience).await, release);
    None
}

fn by_means(given: ReleaseResult, release: &mut Release) {
    release.used.extend(given.used);
    release.missing.extend(given.missing);
}

/// True if a release precedes each checkpoint: the lens asks for it, or the scenario does and the server has a command.
pub fn releases_at_checkpoints(job: &Job) -> bool {
    let lens = &job.choice.lens;
    let self_report = job.choice.profile.self_report.as_ref();
    let has_command = self_report.is_some_and(|command| command.releases && !command.destructive);
    lens.forced || lens.collected_by.is_some() || (job.scenario.collect && has_command)
}

/// Takes the release that is due at a checkpoint: the server collects its garbage by its own command, what was loaded into
/// it purges or collects on a signal, or Java is told by its tool.
pub async fn at_checkpoint<S: Stage>(
    client: &Client,
    stage: &S,
    job: &Job,
    patience: Duration,
) -> Result<Release, Stop> {
    let begun = Instant::now();
    let mut release = Release {
        before: stage.private().await,
        ..Release::default()
    };
    let absent = match job.choice.lens.collected_by {
        Some(Collector::Command(_)) => by_server(client, job, patience, &mut release).await?,
        Some(Collector::Java) => {
            by_means(stage.collect(patience).await, &mut release);
            None
        }
        None if !job.choice.lens.forced => by_server(client, job, patience, &mut release).await?,
        Some(Collector::Node) | None => by_allocator(stage, job, patience, &mut release).await,
    };
    release.missing.extend(absent);
    release.after = stage.private().await;
    release.took = begun.elapsed().as_nanos() as u64;
    Ok(release)
}

pub async fn report<S: Stage>(scene: &Scene<'_, S>, options: &ReportOptions) -> Result<SelfReport, Stop> {
    let deadline = scene.deadline(options.deadline);
    pull::wait_and_hold(&scene.session.client, deadline).await;
    barrier::wait_for_barrier(&scene.session.client, deadline).await;
    let Some(own) = &scene.job.choice.profile.self_report else {
        return Ok(missing_report(
            "the profile of the server has no command that reports memory",
        ));
    };
    let name = own.ask.name();
    if own.destructive && !(options.destructive && scene.last) {
        let cure = "make `self-report = { destructive = true }` the last step";
        return Ok(missing_report(&format!("`{name}` frees what it counts: {cure}")));
    }
    let (private, resident) = (scene.stage.private().await, scene.stage.resident().await);
    let answered = question(&scene.session.client, own, deadline).await?;
    let (text, missing) = match answered.text {
        Ok(text) => (text, String::new()),
        Err(why) => (String::new(), why),
    };
    Ok(SelfReport {
        asked: Some(name.to_owned()),
        missing,
        accounted: reported_total::total(own.total, &text),
        answer: cut(&text),
        private,
        resident,
        took: Some(answered.took),
    })
}

fn missing_report(why: &str) -> SelfReport {
    SelfReport {
        missing: why.to_owned(),
        ..SelfReport::default()
    }
}

struct Answered {
    /// The raw result, or the error.
    text: Result<String, String>,
    /// Nanoseconds.
    took: u64,
}

/// Sends a request that counts nowhere.
async fn question(client: &Client, own: &config::SelfReport, deadline: Duration) -> Result<Answered, Stop> {
    let (method, params) = match &own.ask {
        config::Question::Request(method) => (method.as_str(), Value::Null),
        config::Question::Command(command) => {
            let params = json!({ "command": command, "arguments": [] });
            ("workspace/executeCommand", params)
        }
    };
    let name = own.ask.name();
    let begun = Instant::now();
    let ask = RequestOptions::with_deadline(deadline).keeping();
    let reply = client.request(method, &params, ask).await;
    let text = match reply {
        Reply::Answer { body: Ok(body), .. } => Ok(body.get().to_owned()),
        Reply::Answer { body: Err(why), .. } => Err(format!("the answer to `{name}` cannot be read: {why}")),
        Reply::Error { code, message, .. } => {
            let words: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let words = cut(&words.join(" "));
            Err(format!("`{name}` was answered with an error: {code}: {words}"))
        }
        Reply::Unreadable { why, .. } => Err(format!("the answer to `{name}` cannot be read: {why}")),
        Reply::TimedOut | Reply::Parked => Err(format!("`{name}` was not answered in {}", units::duration(deadline))),
        Reply::Lost => return Err(Stop::Gone),
    };
    Ok(Answered {
        text,
        took: begun.elapsed().as_nanos() as u64,
    })
}

/// The beginning and end of a long text.
fn cut(text: &str) -> String {
    let length = text.chars().count();
    if length <= 2 * KEPT {
        return text.to_owned();
    }
    let head: String = text.chars().take(KEPT).collect();
    let tail: String = text.chars().skip(length - KEPT).collect();
    format!("{head} … {tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_answer_both_ends_are_kept() {
        let long = format!("{}{}", "ä".repeat(KEPT), "b".repeat(3 * KEPT));
        let kept = cut(&long);
        assert!(kept.starts_with('ä') && kept.ends_with('b') && kept.chars().count() == 2 * KEPT + 3);
        assert_eq!(cut("short"), "short");
    }
}
