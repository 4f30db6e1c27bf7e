//! The laboratory on mimalloc with its stock settings.

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    lab::main("mimalloc")
}
