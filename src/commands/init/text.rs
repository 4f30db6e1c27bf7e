//! The starter files, each part explained where it stands.

use crate::config::glob;

use super::{Server, variant};

/// The scenario over the project that is one directory up.
pub fn scenario(language: &str) -> String {
    let files = glob::of_language(language);
    let files = files.as_ref().map_or("**/*", |pattern| pattern.as_str());
    format!(
        r##"#:schema ./schemas/scenario.json
# What is done with a language server while its memory is measured. `lsp-soak check` shows what this comes to, and every
# mistake in it; `lsp-soak schema scenario` lists everything that may stand here.
format = 1
name = "soak"
description = "a first look: definitions, completions, symbols, and what is released"

# The project. It is copied to a scratch directory for each run, so that nothing is ever written to it; write
# `isolation = "in-place"` where it is too large for that and no step saves.
[workspace]
path = ".."                     # relative to this file
language = "{language}"
# files = "{files}"            # which files to open; all of the language when left out
# exclude = ["**/generated/**"]

# A phase ends when the server has come to rest; its memory then is a row of the report.
[[phase]]
name = "start"
steps = [{{ start = {{}} }}]        # spawn, handshake, wait until the server is ready

# `optional`: left out where the server does not offer it. A step that finds nothing at all fails the run, for then
# nothing was measured; `expect = "anything"` allows it.
[[phase]]
name = "goto"
steps = [
    {{ open = {{ files = 20 }} }},
    {{ definition = {{ per-file = 20, optional = true }} }},
    {{ hover = {{ per-file = 5, optional = true }} }},
]

[[phase]]
name = "completions"
steps = [
    {{ completion = {{ per-file = 10, optional = true, expect = "anything" }} }},
    {{ type-and-complete = {{ files = 5, per-file = 3, cadence = "50ms", optional = true, expect = "anything" }} }},
]

[[phase]]
name = "symbols"
steps = [{{ workspace-symbol = {{ queries = ["a", "test", "config"], optional = true, expect = "anything" }} }}]

# What the server releases when it is left alone: without messages, and under the light traffic of an editor at rest. Each
# window ends when memory keeps still, or when the server's allocator cannot give any more back.
[[phase]]
name = "decay"
steps = [
    {{ idle = {{ mode = "silent", until = "settled", at-most = "60s" }} }},
    {{ idle = {{ mode = "simmer", every = "250ms", until = "settled", at-most = "30s" }} }},
]

# To see whether something grows, repeat it; eight rounds or more make a slope:
# [[phase]]
# name = "hover-again"
# repeat = {{ times = 20 }}
# steps = [{{ hover = {{ per-file = 20 }} }}]
"##
    )
}

/// The servers that are here, and how to add others.
pub fn servers(language: &str, servers: &[Server<'_>]) -> String {
    let mut text = format!(
        "#:schema ./schemas/servers.json\n\
         # Servers for {language}. lsp-soak knows how to start the well-known ones and when they are ready; what stands\n\
         # here goes over that, key by key. `lsp-soak servers --servers lsp-soak/servers.toml` lists them all.\n"
    );
    for server in servers.iter().filter(|server| server.program.is_some()) {
        text.push_str(&format!("\n[server.{}]\n", server.name));
        for note in &server.profile.notes {
            text.push_str(&format!("# {note}\n"));
        }
    }
    let (first, variant) = match servers.first() {
        Some(Server { name, profile, program }) => (*name, variant::setting(name, profile, program.as_deref())),
        None => ("own", variant::harmless()),
    };
    let (variable, value) = variant;
    text.push_str(&format!(
        r#"
# The same server under another setting, to be compared: --server {first} --server {first}-variant. Which variables its
# allocator reads says `lsp-soak allocator {first}`.
# [server.{first}-variant]
# inherits = "{first}"
# env = {{ {variable} = "{value}" }}

# A server that lsp-soak does not know. A path is relative to where lsp-soak is called. All but the first two may be said
# of a known one too.
# [server.own]
# programs = ["./target/release/my-server"]
# languages = ["{language}"]
# args = ["--stdio"]                              # how it is started
# env = {{ RUST_LOG = "error" }}
# init-options = {{ checkOnSave = false }}
# settings = {{ section = {{ key = true }} }}         # answers to `workspace/configuration`
# ready.limits = {{ quiet = "2s", timeout = "5min" }}  # when it counts as ready
"#
    ));
    text
}
