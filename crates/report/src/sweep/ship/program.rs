//! Settings that are built into a program, which only works for a Rust program with a jemalloc of its own.

use record::variables::with_added_entries;
use record::{AllocatorFacts, AllocatorFamily};

use super::Setting;
use super::escape::{byte_string, comment, join_lines, json};

/// Prefix of jemalloc's names in the crate `tikv-jemalloc-sys`. A jemalloc without it may be of any program, and of a C
/// program's build nothing is known.
const RUST_PREFIX: &str = "_rjem_";

/// A static that jemalloc reads before `main`: a pointer to text that ends with NUL, under the name that its prefix gives.
pub(crate) fn rust(setting: &Setting<'_>) -> Result<String, String> {
    let (options, facts) = built_in(setting, "a static of the program")?;
    // It takes the place of a static that the program has already, and repeats what the build says.
    let options = with_baked(facts, options);
    // A byte more for the NUL that ends it.
    let length = options.len() + 1;
    let lines = [
        "/// Read by jemalloc before `main`; an environment variable wins over it.".to_owned(),
        format!("#[unsafe(export_name = \"{RUST_PREFIX}malloc_conf\")]"),
        format!(
            "pub static MALLOC_CONF: &[u8; {length}] = b\"{}\\0\";",
            byte_string(&options)
        ),
    ];
    Ok(join_lines(lines.into_iter().chain(comments(setting, "//"))))
}

/// The variable that the build script of `tikv-jemalloc-sys` reads, and the feature for the thread.
pub(crate) fn cargo(setting: &Setting<'_>) -> Result<String, String> {
    let (options, facts) = built_in(setting, "the build")?;
    let options = with_baked(facts, options);
    let mut lines = vec![
        "# .cargo/config.toml".to_owned(),
        "[env]".to_owned(),
        // A basic string of TOML takes all escapes of JSON, and this writes every odd character as one.
        format!("JEMALLOC_SYS_WITH_MALLOC_CONF = {}", json(&options.as_str().into())),
    ];
    if options.contains("background_thread:true") {
        let feature =
            "# for the thread alone there is a feature: cargo add tikv-jemallocator --features background_threads";
        lines.push(feature.to_owned());
    }
    Ok(join_lines(lines.into_iter().chain(comments(setting, "#"))))
}

/// Built-in options, extended by these.
fn with_baked(facts: &AllocatorFacts, options: &str) -> String {
    let baked = facts.baked.as_deref().unwrap_or_default();
    with_added_entries("MALLOC_CONF", baked, options).unwrap_or_else(|| options.to_owned())
}

/// Comments on the settings that cannot be built into a program.
fn comments(setting: &Setting<'_>, sign: &str) -> Vec<String> {
    let facts = setting.server.allocator.as_ref();
    let variable = facts.and_then(|facts| facts.variable.as_deref());
    let mut comments = Vec::new();
    for (name, value) in &setting.env {
        if Some(name.as_str()) != variable {
            comments.push(comment(sign, &format!("and set {name}={value}")));
        }
    }
    for instruction in setting.instructions() {
        comments.push(comment(sign, &instruction));
    }
    comments
}

/// jemalloc's options and the allocator's facts. The error is a sentence on why `place` cannot have them, and what to do
/// instead.
fn built_in<'s>(setting: &'s Setting<'_>, place: &str) -> Result<(&'s str, &'s AllocatorFacts), String> {
    rust_jemalloc_options(setting).map_err(|why| format!("{place} cannot have it: {why}"))
}

fn rust_jemalloc_options<'s>(setting: &'s Setting<'_>) -> Result<(&'s str, &'s AllocatorFacts), String> {
    if let Some(variable) = setting.preload_variable() {
        return Err(format!(
            "a library that is preloaded ({variable}) reads nothing of the program: use --print env"
        ));
    }
    let Some(facts) = &setting.server.allocator else {
        return Err("the allocator is not known: use --print env".to_owned());
    };
    match (facts.family, facts.prefix.as_deref()) {
        (AllocatorFamily::Jemalloc, Some(RUST_PREFIX)) => {}
        (AllocatorFamily::Jemalloc, _) => {
            let name = &setting.server.name;
            return Err(format!(
                "the jemalloc of {name} is not that of Rust's tikv-jemallocator, whose names begin with \
                 `{RUST_PREFIX}`: use --print env, or in a program in C `const char *malloc_conf`"
            ));
        }
        (AllocatorFamily::Unknown, _) => return Err("the allocator is not known: use --print env".to_owned()),
        (family, _) => return Err(format!("{family} reads nothing from there: use --print env")),
    }
    let options = facts.variable.as_deref().and_then(|variable| setting.env.get(variable));
    match options {
        Some(options) => Ok((options, facts)),
        None => Err("it sets none of jemalloc's options: use --print env".to_owned()),
    }
}
