//! Settings that are built into a program: only a Rust program with a jemalloc of its own takes any so.

use record::variables::added;
use record::{AllocatorFacts, AllocatorFamily};

use super::Setting;
use super::escape::{bytes, comment, joined, json};

/// What the crate `tikv-jemalloc-sys` puts before jemalloc's names. A jemalloc without it may be of any program, and of a C
/// program's build nothing is known.
const RUST: &str = "_rjem_";

/// A static that jemalloc reads before `main`: a pointer to text that ends with NUL, under the name that its prefix gives.
pub(crate) fn rust(setting: &Setting<'_>) -> Result<String, String> {
    let (options, facts) = built_in(setting, "a static of the program")?;
    // It takes the place of a static that the program has already, and repeats what the build says.
    let options = with_baked(facts, options);
    // A byte more for the NUL that ends it.
    let length = options.len() + 1;
    let lines = [
        "/// Read by jemalloc before `main`; an environment variable wins over it.".to_owned(),
        format!("#[unsafe(export_name = \"{RUST}malloc_conf\")]"),
        format!("pub static MALLOC_CONF: &[u8; {length}] = b\"{}\\0\";", bytes(&options)),
    ];
    Ok(joined(lines.into_iter().chain(comments(setting, "//"))))
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
    Ok(joined(lines.into_iter().chain(comments(setting, "#"))))
}

/// Built-in options, extended by these.
fn with_baked(facts: &AllocatorFacts, options: &str) -> String {
    let baked = facts.baked.as_deref().unwrap_or_default();
    added("MALLOC_CONF", baked, options).unwrap_or_else(|| options.to_owned())
}

/// What else the cell sets, which no program can be built with.
fn comments(setting: &Setting<'_>, sign: &str) -> Vec<String> {
    let facts = setting.server.allocator.as_ref();
    let variable = facts.and_then(|facts| facts.variable.as_deref());
    let others = setting.env.iter().filter(|(name, _)| Some(name.as_str()) != variable);
    let others = others.map(|(name, value)| format!("and set {name}={value}"));
    others.chain(setting.rest()).map(|line| comment(sign, &line)).collect()
}

/// jemalloc's options and the facts of it; or why `what` cannot have them, and what to do instead.
fn built_in<'s>(setting: &'s Setting<'_>, what: &str) -> Result<(&'s str, &'s AllocatorFacts), String> {
    let cannot = |why: &str| Err(format!("{what} cannot have it: {why}"));
    if let Some(variable) = setting.preloading() {
        return cannot(&format!(
            "a library that is preloaded ({variable}) reads nothing of the program: use --print env"
        ));
    }
    let Some(facts) = &setting.server.allocator else {
        return cannot("the allocator is not known: use --print env");
    };
    let name = &setting.server.name;
    match (facts.family, facts.prefix.as_deref()) {
        (AllocatorFamily::Jemalloc, Some(RUST)) => {}
        (AllocatorFamily::Jemalloc, _) => {
            return cannot(&format!(
                "the jemalloc of {name} is not that of Rust's tikv-jemallocator, whose names begin with `{RUST}`: use \
                 --print env, or in a program in C `const char *malloc_conf`"
            ));
        }
        (AllocatorFamily::Unknown, _) => return cannot("the allocator is not known: use --print env"),
        (family, _) => return cannot(&format!("{family} reads nothing from there: use --print env")),
    }
    let options = facts.variable.as_deref().and_then(|variable| setting.env.get(variable));
    match options {
        Some(options) => Ok((options, facts)),
        None => cannot("it sets none of jemalloc's options: use --print env"),
    }
}
