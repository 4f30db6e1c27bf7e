//! The laboratory on jemalloc with its stock settings; jemalloc is not built for Windows.

#[cfg(not(windows))]
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(not(windows))]
fn main() -> std::process::ExitCode {
    lab::main("jemalloc")
}

#[cfg(windows)]
#[expect(clippy::print_stderr, reason = "the message is all this program has on Windows")]
fn main() -> std::process::ExitCode {
    eprintln!("jemalloc is not available on Windows: use `lab-mimalloc` or `lab-snmalloc`");
    std::process::ExitCode::from(2)
}
