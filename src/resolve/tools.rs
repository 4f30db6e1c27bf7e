//! Finds the user's tools for a server whose home is a directory of its run.

use std::ffi::OsString;
use std::path::PathBuf;

/// Variables that locate tools in the user's home, for a server with another `HOME`. Only existing directories count,
/// and variables that the user has not set.
pub fn tools() -> Vec<(OsString, Option<OsString>)> {
    const TOOLS: [(&str, &str); 9] = [
        ("ASDF_DATA_DIR", ".asdf"),
        ("CARGO_HOME", ".cargo"),
        ("GOPATH", "go"),
        ("NVM_DIR", ".nvm"),
        ("PYENV_ROOT", ".pyenv"),
        ("PYTHONUSERBASE", ".local"),
        ("RUSTUP_HOME", ".rustup"),
        ("SDKMAN_DIR", ".sdkman"),
        ("VOLTA_HOME", ".volta"),
    ];
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else {
        return Vec::new();
    };
    let missing = TOOLS.into_iter().filter(|(name, _)| std::env::var_os(name).is_none());
    missing
        .map(|(name, directory)| (name, home.join(directory)))
        .filter(|(_, path)| path.is_dir())
        .map(|(name, path)| (name.into(), Some(path.into())))
        .collect()
}
