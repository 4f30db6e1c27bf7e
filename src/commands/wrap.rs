//! `lsp-soak wrap`: stands between an editor and its server.

use anyhow::Context;

use crate::cli;
use crate::wrap::{self, WrapPlan};

/// Ends this process as the server ended, unless the server could not be started.
pub fn run(options: cli::Wrap) -> anyhow::Result<u8> {
    let mut words = options.command.into_iter();
    let program = words.next().context("name the server's command after `--`")?;
    let name = program.to_string_lossy().into_owned();
    let plan = WrapPlan {
        program,
        args: words.collect(),
        out: options.out,
        contents: options.contents,
    };
    let relayed = super::block_on(async { Ok(wrap::relay(plan).await) })?;
    let status = relayed.with_context(|| format!("cannot start `{name}`: check the command after `--`"))?;
    wrap::end_like(status)
}
