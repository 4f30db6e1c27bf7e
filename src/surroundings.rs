//! Variables by which somebody's shell would change how much memory a server takes, without anybody having asked for it.
//!
//! There is no other such list: what is on it is taken from a server's environment unless it was set for the run, the
//! header names what was taken, and runs of one server that were given different ones are not pooled.

/// Their names, in whatever case: mimalloc reads its own so. `X*` is all that begin so, `*X` all that end so.
#[rustfmt::skip]
const MEMORY: &[&str] = &[
    // The loader: what else is in the process, and which pages it writes to.
    "LD_PRELOAD", "LD_AUDIT", "LD_BIND_NOW", "DYLD_INSERT_LIBRARIES",
    // Allocators. Those of macOS are called `MallocNanoZone` and the like.
    "GLIBC_TUNABLES", "MALLOC*", "*MALLOC_CONF", "JEMALLOC_*", "MIMALLOC_*", "SNMALLOC_*", "TCMALLOC_*", "TBB_MALLOC_*",
    "HEAPPROFILE", "HEAP_PROFILE_*", "HEAPCHECK", "HEAP_CHECK_*", "SCUDO_OPTIONS", "*SAN_OPTIONS", "G_SLICE",
    "GLIBCXX_FORCE_NEW", "GLIBCXX_TUNABLES",
    // Collectors: Boehm's, Go's, those of JavaScript.
    "GC_*", "GOGC", "GOMEMLIMIT", "GODEBUG", "NODE_OPTIONS", "NODE_V8_COVERAGE", "DENO_V8_FLAGS", "BUN_OPTIONS",
    "BUN_JSC_*", "BUN_GC_*",
    // Java, and the scripts that start it.
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
    // How many threads there are, each with a stack and often an arena, and how large the stacks are.
    "GOMAXPROCS", "*_NUM_THREADS", "RAYON_RS_NUM_CPUS", "TOKIO_WORKER_THREADS", "UV_THREADPOOL_SIZE", "OMP_STACKSIZE",
    "RUST_MIN_STACK",
];

/// Whether it is one of them.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
