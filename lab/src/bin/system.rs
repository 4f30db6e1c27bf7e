//! The laboratory on the C library's `malloc`, which a preloaded allocator replaces.

fn main() -> std::process::ExitCode {
    lab::main("system")
}
