//! The laboratory on snmalloc with its stock settings.

#[global_allocator]
static GLOBAL: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

fn main() -> std::process::ExitCode {
    lab::main("snmalloc")
}
