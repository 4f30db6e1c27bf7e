//! Settings that are built into a program: only jemalloc takes any so.

use crate::record::AllocatorFamily;

use super::Setting;
use super::shell::joined;

/// A static that jemalloc reads before `main`: a pointer to text that ends with NUL, under the name that its prefix gives.
pub(super) fn rust(setting: &Setting<'_>) -> Result<String, String> {
    let (options, facts) = setting
        .jemalloc()
        .ok_or_else(|| cannot(setting, "a static of the program"))?;
    let prefix = facts.prefix.as_deref().unwrap_or_default();
    let symbol = format!("{prefix}malloc_conf");
    // A byte more for the NUL that ends it.
    let length = options.len() + 1;
    let text = options.replace('\\', "\\\\").replace('"', "\\\"");
    let lines = [
        "/// Read by jemalloc before `main`; an environment variable wins over it.".to_owned(),
        format!("#[unsafe(export_name = \"{symbol}\")]"),
        format!("pub static MALLOC_CONF: &[u8; {length}] = b\"{text}\\0\";"),
    ];
    Ok(joined(lines.into_iter().chain(comments(setting, "// "))))
}

/// The variable that the build script of `tikv-jemalloc-sys` reads, and the feature for the thread.
pub(super) fn cargo(setting: &Setting<'_>) -> Result<String, String> {
    let (options, facts) = setting.jemalloc().ok_or_else(|| cannot(setting, "the build"))?;
    // It takes the place of what was built in before.
    let baked = facts.baked.as_deref().filter(|baked| !baked.is_empty());
    let options = baked.map_or_else(|| options.to_owned(), |baked| format!("{baked},{options}"));
    let mut lines = vec![
        "# .cargo/config.toml".to_owned(),
        "[env]".to_owned(),
        format!(
            "JEMALLOC_SYS_WITH_MALLOC_CONF = {}",
            toml::Value::from(options.as_str())
        ),
    ];
    if options.contains("background_thread:true") {
        let feature =
            "# for the thread alone there is a feature: cargo add tikv-jemallocator --features background_threads";
        lines.push(feature.to_owned());
    }
    Ok(joined(lines.into_iter().chain(comments(setting, "# "))))
}

/// What else the cell sets, which no program can be built with.
fn comments(setting: &Setting<'_>, sign: &str) -> Vec<String> {
    let variable = setting
        .server
        .allocator
        .as_ref()
        .and_then(|facts| facts.variable.as_deref());
    let others = setting.env.iter().filter(|(name, _)| Some(name.as_str()) != variable);
    let others = others.map(|(name, value)| format!("and set {name}={value}"));
    others
        .chain(setting.rest(true))
        .map(|line| format!("{sign}{line}"))
        .collect()
}

fn cannot(setting: &Setting<'_>, what: &str) -> String {
    let family = setting.server.allocator.as_ref().map(|facts| facts.family);
    match family {
        Some(AllocatorFamily::Jemalloc) => {
            format!("this setting is none of jemalloc's options, so {what} cannot have it: use --print env")
        }
        Some(family) => format!("{what} cannot have it, for {family} reads nothing from there: use --print env"),
        None => format!("{what} cannot have it, for the allocator is not known: use --print env"),
    }
}
