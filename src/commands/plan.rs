//! What the options mean that several commands share.

use std::path::Path;

use anyhow::{Context, bail};

use crate::campaign::{self, Jobs, Measuring, Repeating};
use crate::cli::{self, Exports, Processors, Voice};
use crate::config::values::{CpuList, Format};
use crate::progress::Verbosity;
use crate::trace::{Tracer, Untraceable};
use base::units;
use proctree::host;
use record::HugePages;

use super::exports::{self, Target};
use super::prepare;

/// How the runs of a command are played, whatever they are runs of.
pub struct CampaignPlan {
    pub measuring: Measuring,
    pub jobs: Jobs,
    pub talk: Verbosity,
}

impl CampaignPlan {
    /// The plan of a command that searches.
    pub fn of_search(command: &'static str, searching: &cli::Searching) -> anyhow::Result<CampaignPlan> {
        CampaignPlan::from_typed(command, &searching.processors(), &searching.measuring, searching.voice)
    }

    /// The plan of `command`. From here on this process keeps to its processors.
    pub fn from_typed(
        command: &'static str,
        processors: &Processors,
        measuring: &cli::Measuring,
        voice: Voice,
    ) -> anyhow::Result<CampaignPlan> {
        Ok(CampaignPlan {
            jobs: share(processors, measuring.thp, command)?,
            measuring: Measuring {
                interval: measuring.interval.0,
                huge_pages: measuring.thp,
                resets_peaks: !measuring.no_peak_reset,
                memory_limit: measuring.memory_limit.map(|size| size.0),
                allows_unsupported: measuring.allow_unsupported,
            },
            talk: match (voice.quiet, voice.verbose) {
                (true, _) => Verbosity::Quiet,
                (false, true) => Verbosity::Verbose,
                (false, false) => Verbosity::Usual,
            },
        })
    }
}

/// Where a result goes, and how much of it.
pub struct OutputPlan {
    pub targets: Vec<Target>,
    /// True if the evidence is printed too.
    pub details: bool,
    pub is_quiet: bool,
}

impl OutputPlan {
    pub fn from_output(typed: &cli::Output) -> anyhow::Result<OutputPlan> {
        OutputPlan::from_typed(typed.format, &typed.exports, typed.export_csv.as_deref(), typed.voice)
    }

    /// The output of a command that searches.
    pub fn of_search(searching: &cli::Searching) -> anyhow::Result<OutputPlan> {
        OutputPlan::from_typed(searching.format, &searching.exports, None, searching.voice)
    }

    /// An unwritable file is refused here, before any measurement.
    pub fn from_typed(
        format: Format,
        exports: &Exports,
        csv: Option<&Path>,
        voice: Voice,
    ) -> anyhow::Result<OutputPlan> {
        let files = [
            (Format::Markdown, exports.export_markdown.as_deref()),
            (Format::Json, exports.export_json.as_deref()),
            (Format::Html, exports.export_html.as_deref()),
            (Format::Csv, csv),
        ];
        Ok(OutputPlan {
            targets: exports::targets(format, files)?,
            details: voice.details,
            is_quiet: voice.quiet,
        })
    }
}

impl From<&cli::Repeating> for Repeating {
    fn from(typed: &cli::Repeating) -> Repeating {
        Repeating {
            runs: typed.runs,
            looks: typed.looks.0.clone(),
            time_budget: typed.time_budget,
            partition: typed.partition,
            baseline: typed.baseline.clone(),
            warm_ups: None,
        }
    }
}

/// Keeps everything from here on to some processors and huge pages, and decides how the runs of `command` share the processors.
/// Before any thread is started that works, for only later ones follow.
fn share(processors: &Processors, huge_pages: Option<HugePages>, command: &'static str) -> anyhow::Result<Jobs> {
    let job = processors.job.as_ref();
    let cpus = job.map(|job| &job.cpus).or(processors.cpus.as_ref());
    if let Some(CpuList(cpus)) = cpus {
        host::keep_to(cpus).context("cannot keep to the processors of `--cpus`, name others or leave it out")?;
    }
    if let Some(mode) = huge_pages {
        host::limit_huge_pages(mode).with_context(|| format!("cannot do `--thp {}`, leave it out", mode.name()))?;
    }
    if let Some(job) = job {
        return Ok(Jobs::Of {
            run: job.run,
            jobs: processors.jobs,
        });
    }
    if processors.jobs == 1 {
        return Ok(Jobs::Alone);
    }
    let cpus = host::cpus_by_core().context("cannot play runs at once, leave `--jobs` out")?;
    let jobs = processors.jobs as usize;
    if cpus.len() < jobs {
        let is = if cpus.len() == 1 { "is" } else { "are" };
        let most = units::count_of(cpus.len() as u64, "processor");
        bail!(
            "`--jobs {jobs}` needs a processor for each, and there {is} {most}: use --jobs {}",
            cpus.len()
        );
    }
    Ok(Jobs::Beside {
        command,
        shares: cpus
            .chunks_exact(cpus.len() / jobs)
            .take(jobs)
            .map(<[usize]>::to_vec)
            .collect(),
    })
}

/// The tracer of memory calls, before other mistakes of the command line are known.
pub enum Tracing {
    Unwanted,
    Ready(Tracer),
    Impossible(Untraceable),
}

/// Finds the tracer of memory calls, if it is wanted. A process that plays a run for another traces nothing.
pub fn find_tracer(is_wanted: bool, jobs: &Jobs) -> anyhow::Result<Tracing> {
    if !is_wanted || jobs.is_part() {
        return Ok(Tracing::Unwanted);
    }
    Ok(match campaign::tracer()? {
        Ok(tracer) => Tracing::Ready(tracer),
        Err(error) => Tracing::Impossible(error),
    })
}

/// The result with the tracer, if one is wanted; a tracer that cannot trace is one more mistake.
pub fn require_tracer<T>(tracing: Tracing, understood: anyhow::Result<T>) -> anyhow::Result<(Option<Tracer>, T)> {
    match tracing {
        Tracing::Unwanted => Ok((None, understood?)),
        Tracing::Ready(tracer) => Ok((Some(tracer), understood?)),
        Tracing::Impossible(error) => Ok((
            None,
            prepare::with_mistake(understood, &error.to_string(), error.cure())?,
        )),
    }
}
