//! `lsp-soak completions`, `lsp-soak man` and `lsp-soak schema`: the command line and the formats, for other programs.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{self, Cli, SchemaOf};
use crate::config;

use super::print;

/// The name under which it is called.
const NAME: &str = "lsp-soak";

/// Prints what a shell completes the command line by.
pub fn completions(options: &cli::Completions) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), NAME, &mut script);
    let script = String::from_utf8_lossy(&script);
    // clap_complete 4.6.11 takes the hyphen in the name for the blank before a subcommand, and bash finds none.
    let script = script.replace("lsp__subcmd__soak", "lsp__soak");
    print(&or_path(options.shell, &script, crate::config::values::server_names()))?;
    Ok(0)
}

/// The script, extended to offer files beside the names of servers. For a fixed list of names clap_complete's zsh and
/// fish offer nothing else, though a server may be a path; bash falls back to files.
fn or_path(shell: Shell, script: &str, names: &[String]) -> String {
    match (shell, names.first()) {
        (Shell::Zsh, _) => {
            let all = names.join(" ");
            let both = format!(r#"{{_alternative "servers\:server\:({all})" "programs\:program\:_files"}}"#);
            // A colon parts a specification, unless it is escaped.
            let script = script.replace("[LABEL:]", r"[LABEL\:]");
            script.replace(&format!(":({all})'"), &format!(":{both}'"))
        }
        (Shell::Fish, Some(first)) => {
            let only = format!("-r -f -a \"{first}\\t");
            script.replace(&only, &only.replace("-r -f", "-r -F"))
        }
        _ => script.to_owned(),
    }
}

/// Prints the first page of the manual, or writes all of them.
pub fn man(options: &cli::Man) -> anyhow::Result<u8> {
    let Some(out) = &options.out else {
        let mut page = Vec::new();
        // As `generate_to` has it.
        clap_mangen::Man::new(described().disable_help_subcommand(true))
            .render(&mut page)
            .context("cannot make the page")?;
        print(&String::from_utf8_lossy(&page))?;
        return Ok(0);
    };
    fs::create_dir_all(out).with_context(|| about(out))?;
    clap_mangen::generate_to(described(), out).with_context(|| about(out))?;
    Ok(0)
}

/// The command line for the manual, which leaves out the description of what the short help hides.
fn described() -> clap::Command {
    let shown = |command: clap::Command| command.mut_args(|arg| arg.hide_short_help(false));
    shown(Cli::command()).mut_subcommands(shown)
}

fn about(out: &Path) -> String {
    format!("cannot write to `{}`, name another directory with --out", out.display())
}

/// Prints the schema of a format.
pub fn schema(options: &cli::Schema) -> anyhow::Result<u8> {
    print(config::schema::text(kind(options.of)))?;
    Ok(0)
}

fn kind(of: SchemaOf) -> config::Kind {
    match of {
        SchemaOf::Scenario => config::Kind::Scenario,
        SchemaOf::Servers => config::Kind::Servers,
        SchemaOf::Gate => config::Kind::Gate,
        SchemaOf::Grid => config::Kind::Grid,
    }
}
