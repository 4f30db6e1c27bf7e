//! The options of `lsp-soak cache`.

use clap::{Args, Subcommand};

/// `lsp-soak cache`.
#[derive(Debug, Args)]
#[command(after_long_help = CACHE)]
pub struct Cache {
    #[command(subcommand)]
    pub action: Option<CacheAction>,
}

/// What is done with the cache, instead of listing it.
#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// Remove installed servers and pinned workspaces; the exit code is 2 if a running lsp-soak uses one
    Clear {
        /// NAME, NAME@VERSION or the origin of a workspace; all when none is named
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

const CACHE: &str = "\
Examples:
  lsp-soak cache
  lsp-soak cache clear ty@0.0.104
  lsp-soak cache clear pypi:prefect==3.9.1
  lsp-soak cache clear";
