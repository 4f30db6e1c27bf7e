//! The forms of a setting to paste.

use strum::{IntoStaticStr, VariantArray};

/// Where to paste a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Form {
    /// `export` lines for a shell
    Env,
    /// A static for a Rust program built with jemalloc
    Rust,
    /// Build settings of jemalloc for cargo
    Cargo,
    /// settings.json of Visual Studio Code
    Vscode,
    /// Lua for Neovim
    Neovim,
    /// A systemd unit
    Systemd,
}

impl Form {
    /// The heading above the text, and the text's language for Markdown.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Form::Env => ("in a shell", "sh"),
            Form::Rust => ("in a Rust program", "rust"),
            Form::Cargo => ("when it is built", "toml"),
            Form::Vscode => ("settings.json of VS Code", "jsonc"),
            Form::Neovim => ("Neovim", "lua"),
            Form::Systemd => ("systemd", "ini"),
        }
    }

    pub fn name(self) -> &'static str {
        self.into()
    }
}
