//! The options of `lsp-soak tune`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use strum::VariantArray;

use crate::config::tune::Preset;
use crate::config::values::{Format, Ignored, RungPlan, ServerText, rungs, size};
use base::units::{Share, Size, Span};
use report::sweep::ship::Form;

use super::cold::PrintedFormat;
use super::options::{Exports, Measuring, Processors, ScenarioOptions, ServerExtras, Voice};

/// `lsp-soak tune`.
#[derive(Debug, Args)]
#[command(after_long_help = TUNING)]
pub struct Tune {
    /// Scenario to play
    #[arg(required_unless_present_any = ["command", "from", "resume"], value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// Server to tune: profile, program or path, with optional label and environment
    #[arg(
        long,
        required_unless_present_any = ["command", "from", "resume"],
        value_name = "[LABEL:] [K=V …] NAME|PATH",
        value_parser = ServerText,
        hide_possible_values = true,
        help_heading = "Servers"
    )]
    pub server: Option<String>,
    #[command(flatten)]
    pub extra: ServerExtras,
    /// Command to tune instead of a server, run to its end as by `cold`
    #[arg(long, value_name = "COMMAND", conflicts_with_all = [
        "scenario", "server", "from", "server_args", "init_options", "settings", "purge_shim", "file", "language", "files", "isolation",
    ], value_hint = ValueHint::CommandString, help_heading = "Servers", hide_short_help = true)]
    pub command: Option<String>,
    /// Read figures from the command's output: the numbers of its last line that is a JSON object
    #[arg(
        long,
        value_name = "FORMAT",
        requires = "command",
        help_heading = "Servers",
        hide_short_help = true
    )]
    pub figures: Option<PrintedFormat>,
    /// Weigh settings by this printed figure, a time in nanoseconds, instead of wall time
    #[arg(
        long,
        value_name = "FIGURE",
        requires = "figures",
        help_heading = "Servers",
        hide_short_help = true
    )]
    pub cost: Option<String>,
    /// Accept exit codes of the command other than 0: all, or these
    #[arg(short, long, value_name = "CODE,…", num_args = 0..=1, require_equals = true, default_missing_value = "all-non-zero", requires = "command", help_heading = "Servers", hide_short_help = true)]
    pub ignore_failure: Option<Ignored>,
    /// TOML file with settings to try
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Settings")]
    pub grid: Vec<PathBuf>,
    /// Built-in settings to try, for the server's allocator
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "NAME",
        help_heading = "Settings"
    )]
    pub preset: Vec<Preset>,
    /// List what would be tried and how long it takes, and start nothing
    #[arg(long, help_heading = "Settings")]
    pub list: bool,
    #[command(flatten)]
    pub choosing: Choosing,
    /// After how many runs settings are eliminated; the last is the total [default: 1,3,5,8]
    #[arg(long, value_name = "N,N,…", value_parser = rungs, help_heading = "Runs", hide_short_help = true)]
    pub rungs: Option<RungPlan>,
    /// Play no more runs than fit into this time
    #[arg(long, value_name = "TIME", help_heading = "Runs")]
    pub time_budget: Option<Span>,
    #[command(flatten)]
    pub scenario_options: ScenarioOptions,
    /// Count memory system calls in one more run of each setting (Linux, with strace)
    #[arg(long, help_heading = "Measuring", hide_short_help = true)]
    pub trace_syscalls: bool,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub processors: Processors,
    /// Directory for records, tune.md, tune.json and report.html [default: reports/UTC-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Choose from the records of an earlier sweep, and start nothing
    #[arg(
        long,
        num_args = 1..,
        value_name = "RECORDS",
        conflicts_with_all = ["scenario", "server", "cost", "grid", "preset", "list", "out", "time_budget", "trace_syscalls", "cpus", "jobs"], hide_short_help = true)]
    pub from: Vec<PathBuf>,
    /// Resume an interrupted run; no other option is needed
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub telling: Telling,
    #[command(flatten)]
    pub voice: Voice,
}

/// By what the best setting is chosen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Choice")]
pub struct Choosing {
    /// Choose the fastest setting below this much private memory
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_private: Option<Size>,
    /// Latency that a setting may add, as a share of the default's p95
    #[arg(long, value_name = "SHARE", default_value = "10%", hide_short_help = true)]
    pub allow_latency: Share,
    /// CPU time that a setting may add, as a share of the default's
    #[arg(long, value_name = "SHARE", default_value = "5%", hide_short_help = true)]
    pub allow_cpu: Share,
}

/// What is printed of a sweep.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Telling {
    /// Format to print
    #[arg(long, value_name = "FORMAT", value_parser = Format::among(&Format::OF_SWEEPS), default_value = "terminal")]
    pub format: Format,
    #[command(flatten)]
    pub exports: Exports,
    /// Print only the lines to paste, in these forms
    #[arg(long, value_parser = form(), value_delimiter = ',', value_name = "FORM")]
    pub print: Vec<Form>,
    /// Print this setting instead of the recommended one
    #[arg(long, value_name = "LABEL", requires = "print", hide_short_help = true)]
    pub cell: Option<String>,
}

const TUNING: &str = "\
Examples:
  lsp-soak tune scenarios/completions.toml --server ty --preset jemalloc
  lsp-soak tune scenarios/completions.toml --server clangd --preset glibc \\
      --workspace ~/src/myc --language c
  lsp-soak tune scenarios/completions.toml --server ty --grid grid.toml \\
      --max-private '200 MiB'
  lsp-soak tune --from reports/20261121-120000-completions --print vscode

Exit codes:
  0 a setting is recommended, or the default      1 none is below --max-private
  2 bad input or a failure of lsp-soak            3 too few runs to choose
  4 the server failed the scenario as it is       130 interrupted";

/// A form by its name.
fn form() -> impl TypedValueParser<Value = Form> {
    let forms = Form::VARIANTS.iter();
    let values = forms.map(|form| {
        PossibleValue::new(form.name()).help(match form {
            Form::Env => "`export` lines for a shell",
            Form::Rust => "A static for a Rust program built with jemalloc",
            Form::Cargo => "Build settings of jemalloc for cargo",
            Form::Vscode => "settings.json of Visual Studio Code",
        })
    });
    PossibleValuesParser::new(values).try_map(|name| Form::from_str(&name))
}
