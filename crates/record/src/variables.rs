//! Environment variables that change a server's memory: their names, list syntax and equality.

use std::collections::BTreeSet;

/// Variables of a user's shell that change a server's memory use. lsp-soak removes them from the server's environment
/// unless the run sets them. The header names the removed variables; runs that differ in them are not pooled.
///
/// The comparison ignores case, as mimalloc does. `X*` is a prefix, `*X` a suffix.
#[rustfmt::skip]
const MEMORY: &[&str] = &[
    // The loader: preloaded libraries, and the pages that it writes to.
    "LD_PRELOAD", "LD_AUDIT", "LD_BIND_NOW", "DYLD_INSERT_LIBRARIES",
    // Allocators. `MALLOC*` includes those of macOS, such as `MallocNanoZone`.
    "GLIBC_TUNABLES", "MALLOC*", "*MALLOC_CONF", "JEMALLOC_*", "MIMALLOC_*", "SNMALLOC_*", "TCMALLOC_*", "TBB_MALLOC_*",
    "HEAPPROFILE", "HEAP_PROFILE_*", "HEAPCHECK", "HEAP_CHECK_*", "SCUDO_OPTIONS", "*SAN_OPTIONS", "G_SLICE",
    "GLIBCXX_FORCE_NEW", "GLIBCXX_TUNABLES",
    // Garbage collectors: Boehm's, Go's, those of JavaScript.
    "GC_*", "GOGC", "GOMEMLIMIT", "GODEBUG", "NODE_OPTIONS", "NODE_V8_COVERAGE", "DENO_V8_FLAGS", "BUN_OPTIONS",
    "BUN_JSC_*", "BUN_GC_*",
    // Java and its start scripts.
    "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "IBM_JAVA_OPTIONS", "OPENJ9_JAVA_OPTIONS", "JAVA_OPTS",
    "JAVA_OPTIONS", "KOTLIN_LANGUAGE_SERVER_OPTS", "GRADLE_OPTS", "MAVEN_OPTS", "SBT_OPTS",
    // .NET and Mono.
    "COMPLUS_*", "CORECLR_*", "DOTNET_GC*", "DOTNET_TC_*", "DOTNET_TIERED*", "DOTNET_READYTORUN*",
    "DOTNET_PROCESSOR_COUNT", "MONO_GC_*", "MONO_ENV_OPTIONS",
    // Python, Ruby, Erlang, Haskell, OCaml, Julia, R, Dart.
    "PYTHONMALLOC*", "PYTHONTRACEMALLOC", "PYTHONDEVMODE", "PYTHONOPTIMIZE", "PYTHONNODEBUGRANGES", "PYTHON_JIT",
    "PYTHON_GIL", "RUBYOPT", "RUBY_GC_*", "RUBY_YJIT*", "RUBY_THREAD_*", "ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS",
    "ELIXIR_ERL_OPTIONS", "GHCRTS", "OCAMLRUNPARAM", "CAMLRUNPARAM", "JULIA_HEAP_SIZE_HINT", "JULIA_NUM_GC_THREADS",
    "R_MAX_VSIZE", "R_VSIZE", "R_NSIZE", "R_GC_*", "DART_VM_OPTIONS",
    // Number of threads, each with a stack and often an arena, and the stack size.
    "GOMAXPROCS", "*_NUM_THREADS", "RAYON_RS_NUM_CPUS", "TOKIO_WORKER_THREADS", "UV_THREADPOOL_SIZE", "OMP_STACKSIZE",
    "RUST_MIN_STACK",
];

pub fn sets_memory(variable: &str) -> bool {
    let name = variable.to_ascii_uppercase();
    MEMORY
        .iter()
        .any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) => name.ends_with(end),
            (None, Some(start)) => name.starts_with(start),
            (None, None) => name == *pattern,
        })
}

/// Options of jemalloc that accumulate: a later one does not replace an earlier one.
const ADDING: [&str; 2] = ["bin_shards", "slab_sizes"];

/// Separator of a variable that holds a list, which several axes can then extend.
pub fn separator(variable: &str) -> Option<&'static str> {
    match variable {
        "_RJEM_MALLOC_CONF" | "MALLOC_CONF" | "JE_MALLOC_CONF" | "GODEBUG" => Some(","),
        "GLIBC_TUNABLES" => Some(":"),
        "NODE_OPTIONS" => Some(" "),
        _ => None,
    }
}

/// A list with more entries at its end; `None` for a variable that holds no list. A repeated option is written once,
/// with the later value, as in a line to ship.
pub fn with_added_entries(variable: &str, own: &str, more: &str) -> Option<String> {
    let separator = separator(variable)?;
    // Quoted values may contain the separator.
    if own.contains(['"', '\'']) {
        let parts: Vec<&str> = [own, more].into_iter().filter(|part| !part.is_empty()).collect();
        return Some(parts.join(separator));
    }
    let replaced: BTreeSet<String> = entries(more, separator)
        .filter_map(|entry| option(variable, entry))
        .collect();
    let mut parts: Vec<&str> = entries(own, separator).collect();
    parts.retain(|entry| option(variable, entry).is_none_or(|name| !replaced.contains(&name)));
    parts.extend(entries(more, separator));
    Some(parts.join(separator))
}

fn entries<'a>(list: &'a str, separator: &'a str) -> impl Iterator<Item = &'a str> {
    list.split(separator).filter(|entry| !entry.is_empty())
}

/// The option name of an entry; `None` for options that may repeat.
fn option(variable: &str, entry: &str) -> Option<String> {
    match variable {
        "GODEBUG" | "GLIBC_TUNABLES" => entry.split_once('=').map(|(name, _)| name.to_owned()),
        "NODE_OPTIONS" => {
            let (name, _) = entry.split_once('=')?;
            // V8 accepts both spellings. Only sizes are known not to repeat: `--require` may.
            let name = name.replace('_', "-");
            if name.ends_with("-size") { Some(name) } else { None }
        }
        _ => {
            let (name, _) = entry.split_once(':')?;
            if ADDING.contains(&name) {
                return None;
            }
            Some(name.to_owned())
        }
    }
}

/// True if a list still contains every option of `asked` with its value. Of two equal options the last counts. False
/// for a variable that holds no list.
pub fn contains_options(variable: &str, asked: &str, list: &str) -> bool {
    let Some(separator) = separator(variable) else {
        return false;
    };
    let asked: Vec<&str> = asked.split(separator).collect();
    let list: Vec<&str> = list.split(separator).collect();
    asked.iter().all(|entry| match option(variable, entry) {
        Some(name) => last_entry(variable, &list, &name) == last_entry(variable, &asked, &name),
        None => list.contains(entry),
    })
}

/// The last entry that sets this option.
fn last_entry<'a>(variable: &str, entries: &[&'a str], name: &str) -> Option<&'a str> {
    let mut last_first = entries.iter().rev().copied();
    last_first.find(|entry| option(variable, entry).as_deref() == Some(name))
}

/// The `option:value` pairs of a jemalloc list.
pub fn pairs(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.split(',').filter_map(|entry| entry.split_once(':'))
}

/// Older variables and the tunables that replace them.
pub const LEGACY: [(&str, &str); 8] = [
    ("MALLOC_ARENA_MAX", "glibc.malloc.arena_max"),
    ("MALLOC_ARENA_TEST", "glibc.malloc.arena_test"),
    ("MALLOC_CHECK_", "glibc.malloc.check"),
    ("MALLOC_MMAP_MAX_", "glibc.malloc.mmap_max"),
    ("MALLOC_MMAP_THRESHOLD_", "glibc.malloc.mmap_threshold"),
    ("MALLOC_PERTURB_", "glibc.malloc.perturb"),
    ("MALLOC_TOP_PAD_", "glibc.malloc.top_pad"),
    ("MALLOC_TRIM_THRESHOLD_", "glibc.malloc.trim_threshold"),
];

/// True if `GLIBC_TUNABLES` sets the value of an older variable. Of two equal tunables the last counts.
pub fn has_equal_tunable(tunables: &str, variable: &str, value: &str) -> bool {
    let Some((_, tunable)) = LEGACY.iter().find(|(name, _)| *name == variable) else {
        return false;
    };
    let mut entries = tunables.split(':').filter_map(|entry| entry.split_once('='));
    entries
        .rfind(|(name, _)| name == tunable)
        .is_some_and(|(_, own)| are_equal_values(own, value))
}

/// True if two values are equal, as text or as numbers.
pub fn are_equal_values(a: &str, b: &str) -> bool {
    a == b || (number(a).is_some() && number(a) == number(b))
}

/// A number as the loader and jemalloc read it: decimal, `0x` hexadecimal or `0` octal, with an optional sign.
pub fn number(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = if let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        (hexadecimal, 16)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (digits, 8)
    } else {
        (digits, 10)
    };
    // The standard library would accept a second sign.
    if !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_two_set_is_there_once_with_the_later_value() {
        for (variable, own, more, both) in [
            (
                "MALLOC_CONF",
                "narenas:2,dirty_decay_ms:0",
                "dirty_decay_ms:5",
                "narenas:2,dirty_decay_ms:5",
            ),
            (
                "MALLOC_CONF",
                "bin_shards:1-8:2",
                "bin_shards:9-16:4",
                "bin_shards:1-8:2,bin_shards:9-16:4",
            ),
            ("MALLOC_CONF", "", "narenas:1", "narenas:1"),
            ("MALLOC_CONF", "narenas:1", "", "narenas:1"),
            (
                "GLIBC_TUNABLES",
                "glibc.malloc.arena_max=1:glibc.a.b=2",
                "glibc.malloc.arena_max=4",
                "glibc.a.b=2:glibc.malloc.arena_max=4",
            ),
            (
                "GODEBUG",
                "madvdontneed=0,gctrace=1",
                "madvdontneed=1",
                "gctrace=1,madvdontneed=1",
            ),
            (
                "NODE_OPTIONS",
                "--require=a --max_old_space_size=9",
                "--require=b --max-old-space-size=7",
                "--require=a --require=b --max-old-space-size=7",
            ),
            (
                "NODE_OPTIONS",
                "--require='a  b'",
                "--expose-gc",
                "--require='a  b' --expose-gc",
            ),
        ] {
            assert_eq!(with_added_entries(variable, own, more).as_deref(), Some(both));
        }
        assert_eq!(with_added_entries("MALLOC_ARENA_MAX", "1", "2"), None);
    }

    #[test]
    fn a_list_that_was_only_added_to_sets_all_that_was_asked_for() {
        for (variable, asked, list, holds_all) in [
            ("MALLOC_CONF", "dirty_decay_ms:0", "dirty_decay_ms:0,narenas:2", true),
            ("MALLOC_CONF", "dirty_decay_ms:0", "narenas:2,dirty_decay_ms:0", true),
            ("MALLOC_CONF", "narenas:1,narenas:2", "narenas:2,thp:never", true),
            (
                "MALLOC_CONF",
                "dirty_decay_ms:0",
                "dirty_decay_ms:0,dirty_decay_ms:5",
                false,
            ),
            ("MALLOC_CONF", "dirty_decay_ms:0", "narenas:2", false),
            ("GODEBUG", "madvdontneed=1", "gctrace=1,madvdontneed=1", true),
            ("NODE_OPTIONS", "--require='a b'", "--expose-gc --require='a b'", true),
            (
                "NODE_OPTIONS",
                "--max-old-space-size=9",
                "--max-old-space-size=9 --max_old_space_size=7",
                false,
            ),
            ("GOGC", "5", "50", false),
        ] {
            assert_eq!(contains_options(variable, asked, list), holds_all, "{variable}={list}");
        }
    }

    #[test]
    fn what_changes_memory_is_told_from_what_a_server_needs_to_start() {
        for variable in [
            "PYTHONMALLOC",
            "PYTHONMALLOCSTATS",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "NODE_OPTIONS",
            "DENO_V8_FLAGS",
            "TBB_MALLOC_USE_HUGE_PAGES",
            "mimalloc_purge_delay",
            "MIMALLOC_PURGE_DELAY",
            "GOGC",
            "MALLOC_ARENA_MAX",
            "MallocNanoZone",
            "_RJEM_MALLOC_CONF",
            "_rjem_je_MALLOC_CONF",
            "DOTNET_gcServer",
            "DOTNET_GCHeapHardLimit",
            "COMPlus_GCgen0size",
            "GLIBC_TUNABLES",
            "RUST_MIN_STACK",
            "LD_PRELOAD",
            "GHCRTS",
            "RAYON_NUM_THREADS",
            "ASAN_OPTIONS",
            "OCAMLRUNPARAM",
        ] {
            assert!(sets_memory(variable), "{variable}");
        }
        for variable in [
            "PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "NODE_PATH", "JAVA_HOME",
            "DOTNET_ROOT", "DOTNET_CLI_HOME", "GOPATH", "GOFLAGS", "CARGO_HOME", "RUSTUP_HOME", "ERL_LIBS", "R_HOME",
            "R_LIBS", "JULIA_DEPOT_PATH", "GEM_HOME", "RUBYLIB", "XDG_CACHE_HOME", "VIRTUAL_ENV", "TMPDIR",
        ] {
            assert!(!sets_memory(variable), "{variable}");
        }
    }

    #[test]
    fn numbers_are_read_as_the_loader_does() {
        for (text, value) in [
            ("12", Some(12)),
            ("0x10", Some(16)),
            ("010", Some(8)),
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("12k", None),
            ("abc", None),
            ("0x", None),
            ("", None),
            ("08", None),
        ] {
            assert_eq!(number(text), value, "{text}");
        }
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        for written in ["5", "+5", "05", "0x5"] {
            assert!(are_equal_values("5", written), "{written}");
        }
        assert!(!are_equal_values("5", "-5") && !are_equal_values("5", "+-5") && !are_equal_values("5", "5k"));
    }
}
