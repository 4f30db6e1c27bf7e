//! The forms in which a setting is pasted somewhere.

/// Where a setting is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Form {
    /// `export` lines for a shell
    Env,
    /// A static of a Rust program that is built with jemalloc
    Rust,
    /// What cargo builds jemalloc with
    Cargo,
    /// Visual Studio Code's settings.json
    Vscode,
    /// Neovim's Lua
    Neovim,
    /// A unit of systemd
    Systemd,
}

impl Form {
    /// Every form, in the order in which they are shown.
    pub const ALL: [Form; 6] = [
        Form::Env,
        Form::Rust,
        Form::Cargo,
        Form::Vscode,
        Form::Neovim,
        Form::Systemd,
    ];

    /// What it is, above its text.
    pub fn title(self) -> &'static str {
        match self {
            Form::Env => "in a shell",
            Form::Rust => "in a Rust program",
            Form::Cargo => "when it is built",
            Form::Vscode => "settings.json of VS Code",
            Form::Neovim => "Neovim",
            Form::Systemd => "systemd",
        }
    }

    /// The language of its text, for Markdown.
    pub fn language(self) -> &'static str {
        match self {
            Form::Env => "sh",
            Form::Rust => "rust",
            Form::Cargo => "toml",
            Form::Vscode => "jsonc",
            Form::Neovim => "lua",
            Form::Systemd => "ini",
        }
    }

    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Form::Env => "env",
            Form::Rust => "rust",
            Form::Cargo => "cargo",
            Form::Vscode => "vscode",
            Form::Neovim => "neovim",
            Form::Systemd => "systemd",
        }
    }
}
