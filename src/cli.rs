//! The syntax of the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};

use crate::config::values::{Format, Lenses, ServerText};
use base::text::nearest;

mod allocator;
mod bisect;
mod cache;
mod cold;
mod gate;
mod init;
mod options;
mod replay;
mod shared;
mod shell;
mod shrink;
mod tune;
mod watch;
mod wrap;

pub use allocator::AllocatorOptions;
pub use bisect::Bisect;
pub use cache::{Cache, CacheAction};
pub use cold::Cold;
pub use gate::{Gate, Holding, Inconclusive};
pub use init::Init;
pub use options::{
    Exports, Measuring, Output, Processors, Recording, Repeating, ScenarioOptions, Searching, ServerExtras,
    ServerOptions, Voice,
};
pub use replay::Replay;
pub use shared::shared_options;
pub use shell::{Completions, Man, Schema, SchemaOf};
pub use shrink::Shrink;
pub use tune::{Choosing, Telling, Tune};
pub use watch::Watch;
pub use wrap::Wrap;

/// Measure how much memory a language server uses and releases.
///
/// lsp-soak plays a scripted editing session on a language server, samples the memory of its process tree, and reports
/// what each phase cost, the peak, and how much was released.
#[derive(Debug, Parser)]
#[command(name = "lsp-soak", version, max_term_width = 100, after_long_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// When to use colours; `auto` follows NO_COLOR, CLICOLOR_FORCE and the terminal
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Output",
        hide_short_help = true
    )]
    pub color: Color,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    #[default]
    Auto,
    /// Wherever it is printed to
    Always,
    /// Never
    Never,
}

const EXAMPLES: &str = "\
Examples:
  lsp-soak run scenarios/completions.toml --server ty
  lsp-soak run scenarios/completions.toml --server rust-analyzer \\
      --workspace ~/src/mycrate --language rust
  lsp-soak run scenarios/goto.toml \\
      --server 'one-arena: MALLOC_ARENA_MAX=1 clangd' \\
      --workspace ~/src/myc --language c
  lsp-soak calibrate scenarios/completions.toml --server ty
  lsp-soak report reports/20261121-120000-completions --format csv

Exit codes:
  0 passed                                  1 a gate failed
  2 bad input or a failure of lsp-soak      3 a gate is inconclusive
  4 the server failed the scenario, or did less work than the baseline
  130 interrupted";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Play a scenario on servers and report their memory
    Run(Run),
    /// Print the report of records
    Report(Report),
    /// Compare servers by their records, from one machine or several
    #[command(after_long_help = COMPARE)]
    Compare(Records),
    /// Run a server against itself to measure its noise
    Calibrate(Calibrate),
    /// Decide by exit code whether a candidate uses more memory than a baseline
    Gate(Gate),
    /// Find the version or commit that changed a server's memory
    Bisect(Bisect),
    /// Try settings of a server and recommend one, with its cost
    Tune(Tune),
    /// Find the least of a scenario and its workspace that still shows a condition
    Shrink(Shrink),
    /// Run commands to their end and compare their time and peak memory
    Cold(Cold),
    /// Play a recorded session of an editor again, on servers and a project that you name
    Replay(Replay),
    /// Sample the memory of a server that runs already
    Watch(Watch),
    /// Stand between an editor and its server, and record the session
    Wrap(Wrap),
    /// Check a scenario and show what it would do
    Check(Check),
    /// Show which allocator a program has, how that is known, and whether its settings apply
    ///
    /// The program is run with `--version` in the current directory. With `--pid` nothing is run.
    Allocator(AllocatorOptions),
    /// List the known servers that are installed, with version and allocator
    Servers(Servers),
    /// List installed servers and pinned workspaces, or remove them
    Cache(Cache),
    /// Write a starter scenario and servers.toml for a project
    Init(Init),
    /// Print the completion script of a shell
    Completions(Completions),
    /// Print the manual page, or write all of them
    Man(Man),
    /// Print the JSON schema of a file format, for editors
    Schema(Schema),
}

/// Options allowed with `--resume`: they change the output only, or which of the remaining runs this process plays.
const OUTPUT: [&str; 9] = [
    "details", "export_csv", "export_html", "export_json", "export_markdown", "format", "job", "quiet", "verbose",
];

/// Options of a gate and of a search that are allowed with `--resume` besides: they say how many runs it makes.
const MORE_RUNS: [&str; 2] = ["runs", "time_budget"];

/// Commands with `--resume`.
const RESUMED: [&str; 8] = ["run", "calibrate", "gate", "bisect", "tune", "cold", "replay", "shrink"];

/// The text that lsp-soak prints without arguments.
pub const FIRST: &str = "\
lsp-soak measures how much memory a language server uses in a scripted editing session.

  lsp-soak servers                 list the language servers that are installed
  lsp-soak init                    write a scenario for the project in this directory
  lsp-soak run lsp-soak/soak.toml --server NAME
                                   play it and print the server's memory

All commands and examples: lsp-soak --help";

/// Parses the command line. `--resume` conflicts with all options that change the session.
pub fn parse() -> Result<Cli, clap::Error> {
    parsed(command(), std::env::args_os().collect())
}

/// Parses an earlier command line with additional words, whose options override earlier ones.
pub fn parse_extended(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let last = |cli: clap::Command, name| cli.mut_subcommand(name, |command| command.args_override_self(true));
    parsed(RESUMED.into_iter().fold(command(), last), words)
}

/// The subcommand of a command line, also after global options.
pub fn subcommand(words: &[OsString]) -> Option<String> {
    let matches = command().try_get_matches_from(words).ok()?;
    matches.subcommand_name().map(str::to_owned)
}

fn parsed(command: clap::Command, words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut command = command;
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

fn command() -> clap::Command {
    let alone = |command: clap::Command| {
        let is_longer = ["gate", "shrink"].contains(&command.get_name());
        let is_more_runs = |id: &str| is_longer && MORE_RUNS.contains(&id);
        let ids = command.get_arguments().map(|arg| arg.get_id().clone());
        let others: Vec<clap::Id> = ids
            .filter(|id| *id != "resume" && !OUTPUT.contains(&id.as_str()) && !is_more_runs(id.as_str()))
            .collect();
        command.mut_arg("resume", |resume| resume.conflicts_with_all(others))
    };
    let cli = RESUMED
        .into_iter()
        .fold(Cli::command(), |cli, name| cli.mut_subcommand(name, alone));
    // A scenario is written without a server.
    cli.mut_subcommand("replay", |replay| {
        replay.mut_arg("servers", |server| {
            server.required_unless_present_any(["resume", "to_scenario"])
        })
    })
}

/// Adds the most similar subcommand to an error about an unknown one.
pub fn with_similar_command(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand).cloned() else {
        return error;
    };
    let command = Cli::command();
    if let Some(near) = nearest(&word, command.get_subcommands().map(clap::Command::get_name)) {
        let near = ContextValue::Strings(vec![near.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, near);
    }
    error
}

const RUN: &str = "\
Examples:
  lsp-soak run scenarios/completions.toml --server ty
  lsp-soak run scenarios/completions.toml --server ty \\
      --workspace ~/src/myproject --files 'src/**/*.py'
  lsp-soak run scenarios/goto.toml --server clangd \\
      --server 'one-arena: MALLOC_ARENA_MAX=1 clangd' --runs 8 \\
      --workspace ~/src/myc --language c
  lsp-soak run --resume reports/20261121-120000-goto";

/// `lsp-soak run`.
#[derive(Debug, Args)]
#[command(after_long_help = RUN)]
pub struct Run {
    /// Scenarios to play, in order
    #[arg(required_unless_present = "resume", value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub scenarios: Vec<PathBuf>,
    /// Resume an interrupted run; no other option is needed
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub servers: ServerOptions,
    #[command(flatten)]
    pub scenario: ScenarioOptions,
    #[command(flatten)]
    pub repeating: Repeating,
    #[command(flatten)]
    pub recording: Recording,
    /// Count memory system calls by phase in one more run of each server (Linux, with strace)
    #[arg(long, help_heading = "Measuring")]
    pub trace_syscalls: bool,
    #[command(flatten)]
    pub output: Output,
}

const CALIBRATE: &str = "\
Examples:
  lsp-soak calibrate scenarios/completions.toml --server ty
  lsp-soak calibrate scenarios/completions.toml --server ty \\
      --server ./new/ty --lens both";

/// `lsp-soak calibrate`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = CALIBRATE)]
pub struct Calibrate {
    /// Scenario to play
    #[arg(required_unless_present = "resume", value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// Resume an interrupted run; no other option is needed
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub resume: Option<PathBuf>,
    /// A server: profile, program or path, with optional label and environment
    #[arg(
        long = "server",
        value_name = "[LABEL:] [K=V …] NAME|PATH",
        required_unless_present = "resume",
        value_parser = ServerText,
        hide_possible_values = true,
        help_heading = "Servers"
    )]
    pub servers: Vec<String>,
    #[command(flatten)]
    pub extra: ServerExtras,
    /// Counted runs of each server, at least 6; from 12 on gates decide after 3 runs
    #[arg(
        long,
        value_name = "N",
        default_value_t = 12,
        value_parser = clap::value_parser!(u32).range(6..=10_000),
        help_heading = "Runs"
    )]
    pub runs: u32,
    #[command(flatten)]
    pub options: ScenarioOptions,
    /// Measure memory as shipped, purged, or both [default: as a gate: purged where possible]
    #[arg(long, value_enum, value_name = "LENS", help_heading = "Measuring")]
    pub lens: Option<Lenses>,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub processors: Processors,
    /// Directory for the records [default: reports/UTC-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub voice: Voice,
}

const REPORT: &str = "\
Examples:
  lsp-soak report reports/20261121-120000-completions
  lsp-soak report run.jsonl --format json | jq .peak
  lsp-soak report run.jsonl --export-html page.html --export-csv samples.csv
  zcat run.jsonl.gz | lsp-soak report - --format markdown";

/// `lsp-soak report`.
#[derive(Debug, Args)]
#[command(after_long_help = REPORT)]
pub struct Report {
    #[command(flatten)]
    pub records: Records,
    /// Print every run by itself instead of the comparison
    #[arg(long)]
    pub each: bool,
}

const COMPARE: &str = "\
Examples:
  lsp-soak compare reports/20261121-120000-completions --baseline ty-system
  lsp-soak compare linux/ mac/ --format markdown";

/// `lsp-soak compare`, and what `report` has of it.
#[derive(Debug, Args)]
pub struct Records {
    /// Records, directories of records, or `-` for standard input
    #[arg(required = true, value_name = "RECORD|DIR")]
    pub records: Vec<PathBuf>,
    /// Server to compare with [default: the first]
    #[arg(long, value_name = "LABEL")]
    pub baseline: Option<String>,
    /// Format to print
    #[arg(long, value_name = "FORMAT", value_parser = Format::among(&Format::OF_RECORDS), default_value = "terminal")]
    pub format: Format,
    #[command(flatten)]
    pub exports: Exports,
    /// Also write every sample to a CSV file; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub export_csv: Option<PathBuf>,
    /// Also print the evidence: every table, definitions, how to reproduce it
    #[arg(long)]
    pub details: bool,
}

const CHECK: &str = "\
Examples:
  lsp-soak check scenarios/completions.toml
  lsp-soak check scenarios/completions.toml \\
      --server ty --server pyright --runs 8";

/// `lsp-soak check`.
#[derive(Debug, Args)]
#[command(after_long_help = CHECK)]
pub struct Check {
    /// Scenarios to check
    #[arg(required = true, value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub scenarios: Vec<PathBuf>,
    /// Also start this server and check that it offers what the steps need
    #[arg(
        long = "server",
        value_name = "[LABEL:] [K=V …] NAME|PATH",
        value_parser = ServerText,
        hide_possible_values = true
    )]
    pub servers: Vec<String>,
    #[command(flatten)]
    pub extra: ServerExtras,
    #[command(flatten)]
    pub scenario: ScenarioOptions,
    #[command(flatten)]
    pub repeating: Repeating,
    /// Show the plan as shipped, purged, or both
    #[arg(long, value_enum, value_name = "LENS", default_value_t)]
    pub lens: Lenses,
    /// Explain a condition, such as 'growth in edit > 64KiB per request' or 'crash'
    #[arg(long, value_name = "CONDITION")]
    pub when: Option<String>,
}

const SERVERS: &str = "\
Examples:
  lsp-soak servers
  lsp-soak servers --all
  lsp-soak servers --servers lsp-soak/servers.toml";

/// `lsp-soak servers`.
#[derive(Debug, Args)]
#[command(after_long_help = SERVERS)]
pub struct Servers {
    /// Also list the servers that are not installed, with the command that installs each
    #[arg(long)]
    pub all: bool,
    /// Your own server profiles [default: servers.toml in the current directory]
    #[arg(long = "servers", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `-h` or `--help` in a terminal of 100 columns.
    fn help(command: &str, long: bool) -> String {
        let mut cli = <Cli as clap::CommandFactory>::command().term_width(100);
        cli.build();
        let command = cli.find_subcommand_mut(command).expect("there is such a command");
        let text = if long {
            command.render_long_help()
        } else {
            command.render_help()
        };
        text.to_string()
    }

    fn commands() -> Vec<String> {
        let cli = <Cli as clap::CommandFactory>::command();
        cli.get_subcommands()
            .map(|command| command.get_name().to_owned())
            .collect()
    }

    #[test]
    fn short_help_fits_a_screen_and_long_help_has_examples() {
        for command in commands() {
            let lines = help(&command, false).lines().count();
            assert!(lines <= 50, "{command}: {lines}");
            assert!(help(&command, true).contains("\nExamples:\n"), "{command}");
        }
    }

    #[test]
    fn every_option_and_command_has_a_help_of_one_line() {
        let cli = <Cli as clap::CommandFactory>::command();
        let mut texts: Vec<(String, Option<String>)> = Vec::new();
        for command in std::iter::once(&cli).chain(cli.get_subcommands()) {
            let name = command.get_name();
            texts.push((name.to_owned(), command.get_about().map(ToString::to_string)));
            let help = |arg: &clap::Arg| {
                (
                    format!("{name} {}", arg.get_id()),
                    arg.get_help().map(ToString::to_string),
                )
            };
            texts.extend(command.get_arguments().map(help));
        }
        for (name, text) in texts {
            let text = text.unwrap_or_else(|| panic!("{name} has no help"));
            assert!(text.chars().count() <= 90 && !text.ends_with('.'), "{name}: {text}");
        }
    }

    /// A line that clap wraps cannot be copied.
    #[test]
    fn examples_fit_a_terminal_of_eighty_columns_and_break_where_a_shell_reads_on() {
        let all = commands().into_iter().map(|command| help(&command, true));
        for text in all.chain([EXAMPLES.to_owned()]) {
            let examples = text.split("Examples:\n").nth(1).expect("each has some");
            let lines: Vec<&str> = examples.lines().take_while(|line| !line.is_empty()).collect();
            for (line, next) in lines.iter().zip(lines.iter().skip(1).chain([&""])) {
                assert!(line.chars().count() < 80, "{line}");
                assert_eq!(line.ends_with(" \\"), next.starts_with("      "), "{line}\n{next}");
            }
        }
    }

    #[test]
    fn a_mistyped_subcommand_is_told_with_the_one_that_was_meant() {
        for (typed, tip) in [
            ("rnu", "a similar subcommand exists: 'run'"),
            ("chekc", "a similar subcommand exists: 'check'"),
        ] {
            let error = with_similar_command(Cli::try_parse_from(["lsp-soak", typed]).unwrap_err()).to_string();
            assert!(error.contains(tip), "{error}");
        }
        let error = with_similar_command(Cli::try_parse_from(["lsp-soak", "xyzzy"]).unwrap_err()).to_string();
        assert!(!error.contains("similar"), "{error}");
    }

    #[test]
    fn the_help_of_a_run() {
        insta::assert_snapshot!("help-run-short", help("run", false));
        insta::assert_snapshot!("help-run-long", help("run", true));
    }

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
