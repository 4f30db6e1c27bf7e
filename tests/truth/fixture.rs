//! Paths of the fixture's programs, which `cargo test` builds beside lsp-soak for `fixtures/server/tests`.

const DIRECTORY: &str = {
    let program = env!("CARGO_BIN_EXE_lsp-soak");
    program.split_at(program.len() - "lsp-soak".len()).0
};

const fn joined<const N: usize>(name: &str) -> [u8; N] {
    let mut path = [0; N];
    let (directory, file) = path.split_at_mut(DIRECTORY.len());
    directory.copy_from_slice(DIRECTORY.as_bytes());
    file.copy_from_slice(name.as_bytes());
    path
}

macro_rules! programs {
    ($($constant:ident = $name:literal;)*) => {$(
        pub const $constant: &str = {
            const PATH: [u8; DIRECTORY.len() + $name.len()] = joined($name);
            match str::from_utf8(&PATH) {
                Ok(path) => path,
                Err(_) => unreachable!(),
            }
        };
    )*};
}

programs! {
    SYSTEM = "fixture-system";
    JEMALLOC = "fixture-jemalloc";
    MIMALLOC = "fixture-mimalloc";
    SNMALLOC = "fixture-snmalloc";
}
