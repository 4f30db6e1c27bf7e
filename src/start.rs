//! The `lsp-soak-start` program: starts one command and reports what it used.

use std::process::ExitCode;

fn main() -> ExitCode {
    lsp_soak::starter::main()
}
